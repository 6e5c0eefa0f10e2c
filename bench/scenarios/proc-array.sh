description='many take snapshots and undo savepoints'
chapter='ProcArray: snapshots and ends of transactions'
settings=('synchronous_commit = off' 'client_min_messages = warning')
setup='CREATE FUNCTION undo_each(n integer) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	CREATE TEMPORARY TABLE IF NOT EXISTS mine AS SELECT 1;
	FOR i IN 1 .. n LOOP
		BEGIN
			PERFORM 1 FROM mine FOR UPDATE;
			RAISE division_by_zero;
		EXCEPTION WHEN division_by_zero THEN
			NULL;
		END;
	END LOOP;
END $$;'
clients=64
script='SELECT undo_each(50);'
expected="SELECT tranche, samples, shared_samples, exclusive_samples
	FROM pg_waitscope_lwlocks WHERE tranche = 'ProcArray'"
