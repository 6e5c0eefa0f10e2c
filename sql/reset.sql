-- Reset: errors, and that it has happened when it returns.
CREATE EXTENSION pg_waitscope;

SELECT pg_waitscope_reset('nonsense');
SELECT pg_waitscope_reset('');
SELECT pg_waitscope_reset('sampler');
SELECT pg_waitscope_reset('HISTORY');

-- Waits until each store holds something of this session.
CREATE FUNCTION wait_for(condition text) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
	result boolean;
BEGIN
	FOR i IN 1 .. 6000 LOOP
		EXECUTE 'SELECT ' || condition INTO result;
		IF result THEN
			RETURN true;
		END IF;
		PERFORM pg_sleep(0.01);
	END LOOP;
	RETURN false;
END $$;

SELECT wait_for($$ EXISTS (SELECT 1 FROM pg_waitscope_history
                           WHERE pid = pg_backend_pid()) $$);
SELECT wait_for($$ EXISTS (SELECT 1 FROM pg_waitscope_profile
                           WHERE wait_event = 'PgSleep') $$);
SELECT wait_for($$ EXISTS (SELECT 1 FROM pg_waitscope_events
                           WHERE wait_event = 'PgSleep'
                             AND samples > 20) $$);

-- One store: the others keep what they have.
SELECT clock_timestamp() AS before \gset
SELECT pg_waitscope_reset('profile');
SELECT count(*) AS older FROM pg_waitscope_profile WHERE first_seen < :'before';
SELECT stats_reset >= :'before' AS is_reset, store
FROM pg_waitscope_stores WHERE stats_reset IS NOT NULL
ORDER BY store COLLATE "C";
SELECT count(*) > 0 AS older FROM pg_waitscope_history
WHERE sampled_at < :'before';
SELECT samples > 20 AS older FROM pg_waitscope_events
WHERE wait_event = 'PgSleep';

-- All of them.
SELECT clock_timestamp() AS before \gset
SELECT pg_waitscope_reset();
SELECT count(*) AS older FROM pg_waitscope_profile WHERE first_seen < :'before';
SELECT count(*) AS older FROM pg_waitscope_history WHERE sampled_at < :'before';
SELECT count(*) AS older FROM pg_waitscope_events WHERE stats_reset < :'before';
SELECT count(*) AS older FROM pg_waitscope_events
WHERE wait_event = 'PgSleep' AND samples > 20;
SELECT stats_reset >= :'before' AS is_reset, store
FROM pg_waitscope_stores WHERE stats_reset IS NOT NULL
ORDER BY store COLLATE "C";
SELECT pg_waitscope_reset(NULL);

-- Counting goes on.
SELECT wait_for($$ EXISTS (SELECT 1 FROM pg_waitscope_profile
                           WHERE wait_event = 'PgSleep') $$);

DROP FUNCTION wait_for(text);
DROP EXTENSION pg_waitscope;
