\echo Use "CREATE EXTENSION apiuser" to load this file. \quit

-- The example: integer keys, each with a counter.

CREATE FUNCTION put(key integer, n bigint) RETURNS bigint
LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'apiuser_put';
COMMENT ON FUNCTION put(integer, bigint) IS
'Adds n to the counter of the key, and returns the sum.';

CREATE FUNCTION get(key integer) RETURNS bigint
LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'apiuser_get';
COMMENT ON FUNCTION get(integer) IS
'The counter of the key; NULL if there is none.';

CREATE FUNCTION lock_kind() RETURNS text
LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'apiuser_lock_kind';
COMMENT ON FUNCTION lock_kind() IS
'fmlock: of pg_waitscope; lwlock: of the server.';

-- What the test needs beyond it.

CREATE FUNCTION hold(mode text, ending text) RETURNS void
LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'apiuser_hold';
COMMENT ON FUNCTION hold(text, text) IS
'Holds the lock until let_go(); ends with "release", or with "error" while it is held.';

CREATE FUNCTION let_go() RETURNS void
LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'apiuser_let_go';

CREATE FUNCTION try(mode text) RETURNS boolean
LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'apiuser_try';

CREATE FUNCTION held() RETURNS boolean
LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'apiuser_held';

CREATE FUNCTION new_locks(n integer) RETURNS integer
LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'apiuser_new_locks';
COMMENT ON FUNCTION new_locks(integer) IS
'Makes locks of that many new names, and returns how many were possible.';

CREATE FUNCTION nest(n integer) RETURNS void
LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'apiuser_nest';
COMMENT ON FUNCTION nest(integer) IS
'Holds that many locks at once.';

CREATE FUNCTION prefer_writers() RETURNS void
LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'apiuser_prefer_writers';
COMMENT ON FUNCTION prefer_writers() IS
'From now on a writer that waits holds back readers that come later.';

CREATE FUNCTION pairs(mode text, n integer) RETURNS void
LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'apiuser_pairs';
COMMENT ON FUNCTION pairs(text, integer) IS
'So many times lock and unlock, for callgrind.';
