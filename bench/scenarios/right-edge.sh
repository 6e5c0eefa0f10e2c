description='many insert, and each new key belongs on the last page of two indexes'
chapter='BufferContent: all on the same page'
settings=('synchronous_commit = off')
setup='CREATE TABLE right_edge (id bigserial PRIMARY KEY,
	at timestamptz DEFAULT clock_timestamp());
CREATE INDEX ON right_edge (at);'
clients=16
script='INSERT INTO right_edge SELECT FROM generate_series(1, 50);'
expected="SELECT relation, sum(samples), sum(exclusive_samples)
	FROM pg_waitscope_hot_blocks WHERE relation::text ~ '^right_edge_.*(idx|pkey)'
	GROUP BY relation ORDER BY 2 DESC LIMIT 1"
