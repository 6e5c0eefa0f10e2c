description='many lock the same few rows together, as foreign keys to them do'
chapter='MultiXact: many lock the same row'
settings=('synchronous_commit = off')
setup="CREATE TABLE parent (id integer PRIMARY KEY, page text);
ALTER TABLE parent ALTER page SET STORAGE PLAIN;
INSERT INTO parent SELECT i, repeat('x', 5000) FROM generate_series(1, 8) i;
CREATE TABLE child (parent_id integer REFERENCES parent);"
clients=64
script='\set id random(1, 8)
BEGIN;
INSERT INTO child VALUES (:id);
SELECT 1;
COMMIT;'
expected="SELECT tranche, samples, shared_samples, exclusive_samples
	FROM pg_waitscope_lwlocks WHERE tranche LIKE 'MultiXact%'
	ORDER BY samples DESC LIMIT 1"
