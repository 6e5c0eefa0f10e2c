\echo Use "CREATE EXTENSION wsc_test_stores" to load this file. \quit

/* What each function does stands at its C function. */

CREATE FUNCTION stores_init(ring_slots integer, profile_max integer,
	dimensions integer) RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
CREATE FUNCTION store_reset(store text) RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
CREATE FUNCTION reset_ahead() RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
CREATE FUNCTION store_info(store text, OUT entries bigint,
	OUT max_entries bigint, OUT span_ms float8, OUT evictions bigint,
	OUT overwritten bigint, OUT stats_reset timestamptz)
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
CREATE FUNCTION written_ticks() RETURNS bigint
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
CREATE FUNCTION parked_pid() RETURNS integer
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
CREATE FUNCTION stop_calls() RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

CREATE FUNCTION dict_give(first_code bigint, codes integer,
	OUT own_ids integer, OUT others integer, OUT wrong integer)
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
CREATE FUNCTION dict_id(code bigint) RETURNS integer
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
CREATE FUNCTION dict_name(id integer) RETURNS text
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
CREATE FUNCTION code_name(code bigint) RETURNS text
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
CREATE FUNCTION new_tranche(name text) RETURNS bigint
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
CREATE FUNCTION lock_gets(shared boolean) RETURNS bigint
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

CREATE FUNCTION cut_off_change() RETURNS text
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

CREATE FUNCTION ring_write(ms integer, per_tick integer, OUT ticks bigint,
	OUT ns_per_record float8)
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
CREATE FUNCTION ring_read(ms integer, OUT passes bigint, OUT checked bigint,
	OUT torn bigint)
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
CREATE FUNCTION ring_read_parked(OUT passes bigint, OUT checked bigint,
	OUT torn bigint)
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
CREATE FUNCTION ring_skip(back bigint, skip boolean, OUT got bigint,
	OUT surplus bigint)
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
CREATE FUNCTION ring_read_reset(OUT before bigint, OUT pending bigint,
	OUT after bigint)
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
CREATE FUNCTION profile_write(ms integer, keys integer, per_tick integer,
	OUT samples bigint, OUT ns_per_update float8)
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
CREATE FUNCTION profile_hammer(ms integer, keys integer, OUT samples bigint)
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
CREATE FUNCTION profile_read(ms integer, OUT passes bigint,
	OUT checked bigint, OUT torn bigint)
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
CREATE FUNCTION profile_at_rest(OUT entries bigint, OUT keys bigint,
	OUT samples bigint, OUT faults bigint)
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
CREATE FUNCTION profile_revisit() RETURNS bigint
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
CREATE FUNCTION totals_write(ms integer, events integer, OUT samples bigint)
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
CREATE FUNCTION totals_read(ms integer, OUT passes bigint,
	OUT samples bigint, OUT torn bigint)
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

CREATE FUNCTION feed(first_ms float8, ticks integer, period_ms float8,
	weight_ms float8, sessions integer, code bigint, state_class integer,
	lwlock_mode integer) RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
CREATE FUNCTION events_window(now_ms float8, window_ms float8, code bigint,
	OUT time_ms float8, OUT covered_ms float8)
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
CREATE FUNCTION events_totals(code bigint, OUT samples bigint,
	OUT time_ms float8, OUT background_samples bigint,
	OUT background_time_ms float8)
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
CREATE FUNCTION lwlock_totals(code bigint, OUT samples bigint,
	OUT time_ms float8, OUT shared bigint, OUT exclusive bigint,
	OUT until_free bigint, OUT waiting_ticks bigint, OUT waiter_sum bigint,
	OUT max_waiters bigint)
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

CREATE FUNCTION hot_add(relation integer, block integer, waiters integer,
	shared integer, time_ns bigint, rest_ns bigint) RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
CREATE FUNCTION hot_write(ms integer, relations integer, blocks integer)
	RETURNS bigint
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
CREATE FUNCTION hot_read(ms integer, OUT passes bigint, OUT checked bigint,
	OUT torn bigint)
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
CREATE FUNCTION hot_sums(OUT relations bigint, OUT samples bigint,
	OUT time_ns bigint, OUT other_samples bigint, OUT other_time_ns bigint)
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
CREATE FUNCTION hot_relation(relation integer) RETURNS text
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
