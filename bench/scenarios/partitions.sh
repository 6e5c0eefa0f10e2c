description='many read a table of 100 partitions by a column that prunes none'
chapter='LockManager: many relations in each statement'
settings=()
setup="CREATE TABLE partitions (id integer PRIMARY KEY, v integer)
	PARTITION BY RANGE (id);
SELECT format('CREATE TABLE partitions_%s PARTITION OF partitions '
		'FOR VALUES FROM (%s) TO (%s)', i, 10 * i, 10 * i + 10)
	FROM generate_series(0, 99) i \gexec
INSERT INTO partitions SELECT i, i FROM generate_series(0, 999) i;"
clients=32
script='SELECT count(*) FROM partitions WHERE v = 1;'
expected="SELECT tranche, samples, max_waiters
	FROM pg_waitscope_lwlocks WHERE tranche = 'LockManager'"
