description='many commit small transactions'
chapter='WALWrite: many commits'
settings=('fsync = on')
setup='CREATE TABLE commits (id bigserial, at timestamptz);'
clients=16
script='INSERT INTO commits (at) VALUES (now());'
expected="SELECT tranche, until_free_samples, exclusive_samples
	FROM pg_waitscope_lwlocks
	WHERE tranche = 'WALWrite' AND until_free_samples > exclusive_samples"
