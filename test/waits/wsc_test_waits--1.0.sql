/* pg_waitscope/test/waits/wsc_test_waits--1.0.sql */

\echo Use "CREATE EXTENSION wsc_test_waits" to load this file. \quit

-- Reports a wait with that code until cancelled.
CREATE FUNCTION wsc_test_wait(code bigint)
RETURNS void AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT;

-- Code of the tranche requested at server start; preloaded only.
CREATE FUNCTION wsc_test_named_tranche()
RETURNS bigint AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT;

-- Code of a new tranche; before 19 only this session knows its name.
CREATE FUNCTION wsc_test_new_tranche(name text)
RETURNS bigint AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT;

-- Code of a custom event; before 17 the one for all extensions.
CREATE FUNCTION wsc_test_new_event(name text)
RETURNS bigint AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT;

-- Holds the first page of a table until cancelled: pin, shared, share
-- exclusive (from 19 on), exclusive.
CREATE FUNCTION wsc_test_hold_page(of_table regclass, mode text)
RETURNS void AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT;

-- Takes and releases it; also: cleanup.
CREATE FUNCTION wsc_test_take_page(of_table regclass, mode text)
RETURNS void AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT;

-- Holds an LWLock of the server's main array until cancelled: shared or
-- exclusive.  Tranches: BtreeVacuum, BufferMapping, LockManager,
-- PredicateLockManager; if preloaded also WscTestNamed and WscTestSecond.
CREATE FUNCTION wsc_test_hold_lock(tranche text, index integer, mode text)
RETURNS void AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT;

-- Takes and releases it.
CREATE FUNCTION wsc_test_take_lock(tranche text, index integer, mode text)
RETURNS void AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT;

-- Takes and releases the first so many locks at random until cancelled.
CREATE FUNCTION wsc_test_hammer_locks(tranche text, locks integer, mode text)
RETURNS void AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT;

-- Says that it is of another tranche; returns the one it was in.
CREATE FUNCTION wsc_test_set_tranche(of_tranche text, index integer,
	tranche integer)
RETURNS integer AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT;
