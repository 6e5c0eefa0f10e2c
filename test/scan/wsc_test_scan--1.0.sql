/* pg_waitscope/test/scan/wsc_test_scan--1.0.sql */

\echo Use "CREATE EXTENSION wsc_test_scan" to load this file. \quit

-- kind: client, walsender, worker, server; an event is given by its name in
-- pg_stat_activity, NULL is no wait.
CREATE FUNCTION wsc_test_classify(kind text, state text, event_type text,
	event text)
RETURNS text AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE;

-- A load that is busy for 30 % of each period from a phase on, sampled with
-- a simulated clock.  wake_up_late: mean lateness in periods.
CREATE FUNCTION wsc_test_simulate(phase double precision, jitter boolean,
	wake_up_late double precision, cells bigint,
	OUT by_weight double precision, OUT by_elapsed double precision,
	OUT by_count double precision,
	OUT ticks bigint, OUT ticks_missed bigint, OUT cells_passed bigint,
	OUT covered_periods double precision, OUT max_weight double precision,
	OUT outside_cell bigint, OUT not_newest bigint)
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT;

-- A scanner that lives as long as the session; blind: as if it could
-- not read status entries.
CREATE FUNCTION wsc_test_scanner_open(blind boolean, OUT slots int, OUT delay int,
	OUT problem text)
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT;

CREATE FUNCTION wsc_test_scan(idle boolean, self boolean, skip_pid int,
	OUT pid int, OUT state_class int, OUT flags int)
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT;

-- Sum of the counts of the last scan.
CREATE FUNCTION wsc_test_scan_count()
RETURNS bigint AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT;

-- Slots that are free and have the pid of an ended process.
CREATE FUNCTION wsc_test_stale_pids()
RETURNS int AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT;

-- Slots that are scanned, the first auxiliary process's, and for how many
-- memory is asked for.
CREATE FUNCTION wsc_test_slots(OUT slots int, OUT first_auxiliary int,
	OUT max_procs int)
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT;

-- A free list from its head on: 0 client backends, 1 autovacuum, 2 background
-- workers, 3 walsenders.
CREATE FUNCTION wsc_test_free_slots(list int, OUT place int, OUT slot int)
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT;

CREATE FUNCTION wsc_test_used_slots(OUT slot int, OUT pid int)
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT;

-- Holds an LWLock until cancelled.
CREATE FUNCTION wsc_test_hold_lwlock()
RETURNS void AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT;

-- Takes and releases it: exclusive, shared, until free.
CREATE FUNCTION wsc_test_take_lwlock(mode text)
RETURNS void AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT;

-- Scans that many process arrays of random contents; the result is how many
-- samples were wrong or missing.
CREATE FUNCTION wsc_test_synthetic(slots int, arrays int, seed int)
RETURNS bigint AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT;
