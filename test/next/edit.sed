# The view "stores" gets a column, hence the function behind it an argument,
# a name and a C symbol; the extension gets another function.
s/pg_waitscope_get_stores/pg_waitscope_get_stores_1_1/
/^CREATE FUNCTION pg_waitscope_get_stores_1_1/,/^LANGUAGE/ {
	s/OUT stats_reset timestamptz)/OUT stats_reset timestamptz,\
	OUT share double precision)/
}
/^CREATE VIEW pg_waitscope_stores/,/^FROM/ {
	s/s\.stats_reset$/s.stats_reset,\
       s.share/
}
/^COMMENT ON COLUMN pg_waitscope_stores.stats_reset/i\
COMMENT ON COLUMN pg_waitscope_stores.share IS\
'Part of the shared memory of the extension, from 0 to 1. Never NULL.';
/^-- reset$/i\
-- all bytes\
------------------------------------------------------------------------\
\
CREATE FUNCTION pg_waitscope_total_bytes()\
RETURNS bigint\
AS 'MODULE_PATHNAME'\
LANGUAGE C VOLATILE PARALLEL RESTRICTED;\
\
COMMENT ON FUNCTION pg_waitscope_total_bytes() IS\
'Shared memory of the extension.';\
\
REVOKE ALL ON FUNCTION pg_waitscope_total_bytes() FROM PUBLIC;\
\
------------------------------------------------------------------------
