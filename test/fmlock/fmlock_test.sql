/* test/fmlock/fmlock_test.sql: all variants of the extension are made of it. */

\echo Use CREATE EXTENSION. \quit

-- What the lock guards: every worker's operations, and their sums.
CREATE FUNCTION hammer(ops int, write_pct int, hold_us int,
	OUT reads bigint, OUT writes bigint, OUT torn bigint)
AS 'MODULE_PATHNAME', 'fmtest_hammer' LANGUAGE C STRICT;

CREATE FUNCTION totals(OUT a bigint, OUT b bigint, OUT reads bigint,
	OUT writes bigint, OUT torn bigint)
AS 'MODULE_PATHNAME', 'fmtest_totals' LANGUAGE C;

-- Players meet before each round, then all take the lock once.
CREATE FUNCTION duel(players int, rounds int, write_pct int) RETURNS void
AS 'MODULE_PATHNAME', 'fmtest_duel' LANGUAGE C STRICT;

CREATE FUNCTION reset_duel() RETURNS void
AS 'MODULE_PATHNAME', 'fmtest_reset_duel' LANGUAGE C;

-- Read again and again until the gate is open; no reader leaves before
-- another has come, or none came for 100 ms, so that there is no gap.
CREATE FUNCTION read_on(gate int) RETURNS void
AS 'MODULE_PATHNAME', 'fmtest_read_on' LANGUAGE C STRICT;

CREATE FUNCTION prefer_writers(preferred boolean) RETURNS void
AS 'MODULE_PATHNAME', 'fmtest_prefer_writers' LANGUAGE C STRICT;

-- Hold the lock until the gate is open, then end by 'release', 'error' or
-- 'fatal'.  Gate 0 is always open.
CREATE FUNCTION hold(mode text, gate int, ending text) RETURNS void
AS 'MODULE_PATHNAME', 'fmtest_hold' LANGUAGE C STRICT PARALLEL SAFE;

CREATE FUNCTION set_gate(gate int, open boolean) RETURNS void
AS 'MODULE_PATHNAME', 'fmtest_set_gate' LANGUAGE C STRICT;

CREATE FUNCTION try(mode text) RETURNS boolean
AS 'MODULE_PATHNAME', 'fmtest_try' LANGUAGE C STRICT;

-- The postmaster's attempt at server start.
CREATE FUNCTION postmaster_tried() RETURNS boolean
AS 'MODULE_PATHNAME', 'fmtest_postmaster_tried' LANGUAGE C;

-- Take so many of the 17 other locks at once.
CREATE FUNCTION nest(first int, depth int) RETURNS void
AS 'MODULE_PATHNAME', 'fmtest_nest' LANGUAGE C STRICT;

-- Release one that is not held.
CREATE FUNCTION release() RETURNS void
AS 'MODULE_PATHNAME', 'fmtest_release' LANGUAGE C;

-- Take the lock while the process exits, and leave it.
CREATE FUNCTION hold_at_exit() RETURNS void
AS 'MODULE_PATHNAME', 'fmtest_hold_at_exit' LANGUAGE C;

CREATE FUNCTION leftovers(OUT held int, OUT holdoff int)
AS 'MODULE_PATHNAME', 'fmtest_leftovers' LANGUAGE C;

-- A wakeup from somebody else; how many of them are left to be had.
CREATE FUNCTION post(pid int) RETURNS void
AS 'MODULE_PATHNAME', 'fmtest_post' LANGUAGE C STRICT;

CREATE FUNCTION count_posts() RETURNS int
AS 'MODULE_PATHNAME', 'fmtest_count_posts' LANGUAGE C;

CREATE FUNCTION register(name text) RETURNS int
AS 'MODULE_PATHNAME', 'fmtest_register' LANGUAGE C STRICT;

CREATE FUNCTION count_stats() RETURNS int
AS 'MODULE_PATHNAME', 'fmtest_count_stats' LANGUAGE C;

CREATE FUNCTION read_stats(lock int, mode text, OUT name text,
	OUT gets bigint, OUT misses bigint, OUT cas_retries bigint,
	OUT spin_gets bigint, OUT sleeps bigint, OUT wait_us bigint,
	OUT max_wait_us bigint, OUT histogram bigint[])
AS 'MODULE_PATHNAME', 'fmtest_read_stats' LANGUAGE C STRICT;

CREATE FUNCTION reset_stats() RETURNS void
AS 'MODULE_PATHNAME', 'fmtest_reset_stats' LANGUAGE C;

CREATE VIEW stats AS
SELECT mode, s.*
FROM generate_series(0, count_stats() - 1) AS lock,
	unnest('{exclusive,shared}'::text[]) AS mode,
	read_stats(lock, mode) AS s;

-- So many uncontended pairs, for callgrind: 'fmlock' or 'lwlock'.
CREATE FUNCTION pairs(kind text, mode text, n int) RETURNS void
AS 'MODULE_PATHNAME', 'fmtest_pairs' LANGUAGE C STRICT;

-- What fetch_mask_add returns and stores, in both orders and both outcomes.
CREATE FUNCTION fetch_mask_add(form text, value bigint, mask bigint,
	add bigint, OUT returned bigint, OUT stored bigint)
AS 'MODULE_PATHNAME', 'fmtest_fetch_mask_add' LANGUAGE C STRICT;
