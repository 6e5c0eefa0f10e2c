/* pg_waitscope--1.0--1.1-test.sql */

\echo Use "ALTER EXTENSION pg_waitscope UPDATE" to load this file. \quit

/*
 * A view that is replaced keeps what depends on it; the function behind it
 * cannot be, so it has a successor.
 */
CREATE FUNCTION pg_waitscope_get_stores_1_1(
	OUT store text,
	OUT entries bigint,
	OUT max_entries bigint,
	OUT bytes bigint,
	OUT span double precision,
	OUT evictions bigint,
	OUT overwritten bigint,
	OUT stats_reset timestamptz,
	OUT share double precision)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 10;

COMMENT ON FUNCTION pg_waitscope_get_stores_1_1() IS
'Rows of the view pg_waitscope_stores.';

CREATE OR REPLACE VIEW pg_waitscope_stores AS
SELECT s.store,
       s.entries,
       s.max_entries,
       s.bytes,
       s.span,
       s.evictions,
       s.overwritten,
       s.stats_reset,
       s.share
FROM pg_waitscope_get_stores_1_1() s;

COMMENT ON COLUMN pg_waitscope_stores.share IS
'Part of the shared memory of the extension, from 0 to 1. Never NULL.';

ALTER EXTENSION pg_waitscope DROP FUNCTION pg_waitscope_get_stores();
DROP FUNCTION pg_waitscope_get_stores();

CREATE FUNCTION pg_waitscope_total_bytes()
RETURNS bigint
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_waitscope_total_bytes() IS
'Shared memory of the extension.';

REVOKE ALL ON FUNCTION pg_waitscope_total_bytes() FROM PUBLIC;
