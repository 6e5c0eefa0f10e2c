description='many NOTIFY, and all listen'
chapter='object, NotifyQueue: NOTIFY, one after another'
settings=('synchronous_commit = off')
setup=''
clients=64
script="LISTEN news;
NOTIFY news, 'something';"
expected="SELECT tranche, samples, shared_samples, exclusive_samples
	FROM pg_waitscope_lwlocks WHERE tranche LIKE 'Notify%'
	ORDER BY samples DESC LIMIT 1"
