description='many update the same row'
chapter='transactionid, tuple: all on the same row'
settings=('synchronous_commit = off')
setup='CREATE TABLE hot_row (id integer PRIMARY KEY, n bigint);
INSERT INTO hot_row VALUES (1, 0);'
clients=16
script='UPDATE hot_row SET n = n + 1 WHERE id = 1;'
expected="SELECT locktype, relation, mode, waits, round(est_time)
	FROM pg_waitscope_lock_waits
	WHERE locktype = 'tuple' AND relation = 'hot_row'::regclass"
