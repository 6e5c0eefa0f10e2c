description='many change many rows, each its own table'
chapter='WALInsert: much WAL at a time'
settings=('synchronous_commit = off' 'wal_buffers = 64MB')
setup="SELECT format('CREATE TABLE wal_insert_%s WITH (fillfactor = 50) AS
		SELECT 0 AS n FROM generate_series(1, 100)', i)
	FROM generate_series(0, 31) i \gexec"
clients=32
script='UPDATE wal_insert_:client_id SET n = n + 1;'
expected="SELECT tranche, samples, max_waiters
	FROM pg_waitscope_lwlocks WHERE tranche = 'WALInsert'"
