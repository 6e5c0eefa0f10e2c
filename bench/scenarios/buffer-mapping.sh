description='many read more pages than fit into shared_buffers'
chapter='BufferMapping: pages come and go'
settings=('shared_buffers = 4MB')
setup="CREATE TABLE pages (id integer PRIMARY KEY, v text) WITH (fillfactor = 10);
INSERT INTO pages SELECT i, repeat('x', 100) FROM generate_series(1, 100000) i;
VACUUM ANALYZE pages;"
clients=64
script='\set from random(1, 99000)
SELECT sum(length(v)) FROM pages WHERE id BETWEEN :from AND :from + 1000;'
expected="SELECT tranche, samples, max_waiters
	FROM pg_waitscope_lwlocks WHERE tranche = 'BufferMapping'"
