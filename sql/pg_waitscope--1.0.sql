/* pg_waitscope--1.0.sql */

\echo Use "CREATE EXTENSION pg_waitscope" to load this file. \quit

/*
 * Functions return ids and codes; the names are made in the select lists of
 * the views, by the functions of the first section, so that a query that
 * does not use a name does not pay for it.  What other roles do is hidden by
 * the functions, not by the views.
 */

------------------------------------------------------------------------
-- Names of ids and codes
------------------------------------------------------------------------

CREATE FUNCTION pg_waitscope_event_type(event_id integer)
RETURNS text
AS 'MODULE_PATHNAME'
LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_waitscope_event_type(integer) IS
'Type of the wait event with this id, as in pg_stat_activity; "CPU" if no wait was reported. NULL if there is no such id. Ids are good until the server is restarted.';

CREATE FUNCTION pg_waitscope_event_name(event_id integer)
RETURNS text
AS 'MODULE_PATHNAME'
LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_waitscope_event_name(integer) IS
'Name of the wait event with this id, as in pg_stat_activity; "CPU" if no wait was reported. A name that no process has told yet reads "extension:<tranche>" or "unknown:<code>". NULL if there is no such id.';

CREATE FUNCTION pg_waitscope_backend_type_name(code integer)
RETURNS text
AS 'MODULE_PATHNAME'
LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_waitscope_backend_type_name(integer) IS
'Name of a backend type of this server version, as in pg_stat_activity; background workers of all kinds read "background worker". NULL for none.';

CREATE FUNCTION pg_waitscope_state_class_name(code integer)
RETURNS text
AS 'MODULE_PATHNAME'
LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_waitscope_state_class_name(integer) IS
'Name of a state class: foreground, idle in transaction, idle, background work, background idle, hidden. NULL if there is no such class.';

CREATE FUNCTION pg_waitscope_lwlock_mode_name(code integer)
RETURNS text
AS 'MODULE_PATHNAME'
LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_waitscope_lwlock_mode_name(integer) IS
'Name of the mode in which an LWLock, or since PostgreSQL 19 the content of a buffer, is waited for: exclusive, shared, until free, share exclusive. NULL for none.';

CREATE FUNCTION pg_waitscope_locktype_name(code integer)
RETURNS text
AS 'MODULE_PATHNAME'
LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_waitscope_locktype_name(integer) IS
'Name of the type of a lockable object, as in pg_locks. NULL for none.';

CREATE FUNCTION pg_waitscope_lock_mode_name(code integer)
RETURNS text
AS 'MODULE_PATHNAME'
LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_waitscope_lock_mode_name(integer) IS
'Name of a lock mode, as in pg_locks. NULL for none.';

------------------------------------------------------------------------
-- events: exact totals per wait event
------------------------------------------------------------------------

CREATE FUNCTION pg_waitscope_get_events(
	OUT event_id integer,
	OUT samples bigint,
	OUT est_time double precision,
	OUT background_samples bigint,
	OUT background_time double precision,
	OUT stats_reset timestamptz,
	OUT epoch bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 100;

COMMENT ON FUNCTION pg_waitscope_get_events() IS
'Rows of the view pg_waitscope_events, with the id of each event instead of its name.';

CREATE VIEW pg_waitscope_events AS
SELECT pg_waitscope_event_type(e.event_id) AS wait_event_type,
       pg_waitscope_event_name(e.event_id) AS wait_event,
       e.samples,
       e.est_time,
       e.background_samples,
       e.background_time,
       e.stats_reset,
       e.epoch
FROM pg_waitscope_get_events() e;

COMMENT ON VIEW pg_waitscope_events IS
'Totals per wait event since stats_reset, for exporters: one row per event seen, monotonic, not rounded, never evicted. Idle processes are not counted. Each row is consistent, the set is not.';
COMMENT ON COLUMN pg_waitscope_events.wait_event_type IS
'Type of the wait event; "CPU" if the processes waited for nothing that is reported. Never NULL.';
COMMENT ON COLUMN pg_waitscope_events.wait_event IS
'Name of the wait event; "CPU" if the processes waited for nothing that is reported. Never NULL.';
COMMENT ON COLUMN pg_waitscope_events.samples IS
'How often client backends and parallel workers were seen in this event while active. Never NULL.';
COMMENT ON COLUMN pg_waitscope_events.est_time IS
'Estimated time they spent in it, in milliseconds: the sum of the time each sample stands for. Never NULL.';
COMMENT ON COLUMN pg_waitscope_events.background_samples IS
'How often server processes at work were seen in this event. Never NULL.';
COMMENT ON COLUMN pg_waitscope_events.background_time IS
'Estimated time server processes spent in it, in milliseconds. Never NULL.';
COMMENT ON COLUMN pg_waitscope_events.stats_reset IS
'When this store was last reset, or made. Never NULL.';
COMMENT ON COLUMN pg_waitscope_events.epoch IS
'Changes if and only if a counter may have gone back without a reset. Never NULL.';

------------------------------------------------------------------------
-- summary: the first look, for eyes
------------------------------------------------------------------------

CREATE FUNCTION pg_waitscope_get_summary(
	OUT event_id integer,
	OUT aas_10s double precision,
	OUT aas_1m double precision,
	OUT aas_5m double precision,
	OUT aas_15m double precision,
	OUT pct_1m double precision,
	OUT top_queryid bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 30;

COMMENT ON FUNCTION pg_waitscope_get_summary() IS
'Rows of the view pg_waitscope_summary, neither rounded nor ordered, with the id of each event instead of its name; the row without an id is the total.';

CREATE VIEW pg_waitscope_summary AS
SELECT CASE WHEN s.event_id IS NULL THEN 'total'
            ELSE pg_waitscope_event_type(s.event_id)
       END AS wait_event_type,
       pg_waitscope_event_name(s.event_id) AS wait_event,
       round(s.aas_10s::numeric, 2) AS aas_10s,
       round(s.aas_1m::numeric, 2) AS aas_1m,
       round(s.aas_5m::numeric, 2) AS aas_5m,
       round(s.aas_15m::numeric, 2) AS aas_15m,
       round(s.pct_1m::numeric, 1) AS pct_1m,
       s.top_queryid
FROM pg_waitscope_get_summary() s
WHERE s.event_id IS NULL
   OR greatest(s.aas_10s, s.aas_1m, s.aas_5m, s.aas_15m)
      >= 0.005::double precision
ORDER BY s.event_id IS NOT NULL,
         s.aas_1m DESC NULLS LAST,
         s.aas_10s DESC NULLS LAST,
         s.aas_5m DESC NULLS LAST,
         s.aas_15m DESC NULLS LAST,
         s.event_id;

COMMENT ON VIEW pg_waitscope_summary IS
'What active sessions have been waiting for, for eyes: rounded, biggest first, below a row "total"; events that would show as 0.00 in every window are left out. Each row is consistent, the set is not.';
COMMENT ON COLUMN pg_waitscope_summary.wait_event_type IS
'Type of the wait event; "CPU" if the sessions waited for nothing that is reported; "total" in the first row. Never NULL.';
COMMENT ON COLUMN pg_waitscope_summary.wait_event IS
'Name of the wait event; "CPU" if the sessions waited for nothing that is reported. NULL in the first row.';
COMMENT ON COLUMN pg_waitscope_summary.aas_10s IS
'Average number of active sessions in this event over the last 10 s. NULL while less than half of the window is covered by samples.';
COMMENT ON COLUMN pg_waitscope_summary.aas_1m IS
'The same over the last minute.';
COMMENT ON COLUMN pg_waitscope_summary.aas_5m IS
'The same over the last 5 minutes.';
COMMENT ON COLUMN pg_waitscope_summary.aas_15m IS
'The same over the last 15 minutes.';
COMMENT ON COLUMN pg_waitscope_summary.pct_1m IS
'Share of aas_1m in that of the total, in percent. NULL while aas_1m is NULL, or the total is 0.';
COMMENT ON COLUMN pg_waitscope_summary.top_queryid IS
'Identifier of the query seen most often in this event within the last minute, as in pg_stat_statements. NULL if there is none in the history, or if it ran under a role whose sessions you may not see.';

------------------------------------------------------------------------
-- history: the ring of recent samples
------------------------------------------------------------------------

CREATE FUNCTION pg_waitscope_get_history(
	OUT sampled_at timestamptz,
	OUT pid integer,
	OUT leader_pid integer,
	OUT backend_type_code integer,
	OUT datid oid,
	OUT usesysid oid,
	OUT state_class_code integer,
	OUT event_id integer,
	OUT lwlock_mode_code integer,
	OUT locktype_code integer,
	OUT lock_datid oid,
	OUT lock_relid oid,
	OUT lock_mode_code integer,
	OUT queryid bigint,
	OUT weight_time double precision)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 100000;

COMMENT ON FUNCTION pg_waitscope_get_history() IS
'Rows of the view pg_waitscope_history, with ids and codes instead of names.';

CREATE VIEW pg_waitscope_history AS
SELECT h.sampled_at,
       h.pid,
       h.leader_pid,
       pg_waitscope_backend_type_name(h.backend_type_code) AS backend_type,
       h.datid,
       d.datname,
       h.usesysid,
       u.rolname AS usename,
       pg_waitscope_state_class_name(h.state_class_code) AS state_class,
       pg_waitscope_event_type(h.event_id) AS wait_event_type,
       pg_waitscope_event_name(h.event_id) AS wait_event,
       pg_waitscope_lwlock_mode_name(h.lwlock_mode_code) AS lwlock_mode,
       pg_waitscope_locktype_name(h.locktype_code) AS locktype,
       h.lock_datid,
       h.lock_relid,
       pg_waitscope_lock_mode_name(h.lock_mode_code) AS lock_mode,
       h.queryid,
       h.weight_time
FROM pg_waitscope_get_history() h
     LEFT JOIN pg_database d ON d.oid = h.datid
     LEFT JOIN pg_authid u ON u.oid = h.usesysid;

COMMENT ON VIEW pg_waitscope_history IS
'Recent samples, oldest first: one row per process and sample kept, until overwritten. Of sessions of other roles you see as much as in pg_stat_activity. Each row is consistent, the set is not.';
COMMENT ON COLUMN pg_waitscope_history.sampled_at IS
'When the sample was taken. Never NULL.';
COMMENT ON COLUMN pg_waitscope_history.pid IS
'Process id. Never NULL.';
COMMENT ON COLUMN pg_waitscope_history.leader_pid IS
'Process id of the leader of a parallel worker. NULL for other processes, or if hidden.';
COMMENT ON COLUMN pg_waitscope_history.backend_type IS
'Type of the process, as in pg_stat_activity; background workers of all kinds read "background worker". NULL if not known yet, or hidden.';
COMMENT ON COLUMN pg_waitscope_history.datid IS
'OID of the database the process was connected to. NULL for none.';
COMMENT ON COLUMN pg_waitscope_history.datname IS
'Name of that database. NULL for none, or if it was dropped.';
COMMENT ON COLUMN pg_waitscope_history.usesysid IS
'OID of the role that was logged in. NULL for none.';
COMMENT ON COLUMN pg_waitscope_history.usename IS
'Name of that role. NULL for none, or if it was dropped.';
COMMENT ON COLUMN pg_waitscope_history.state_class IS
'What the process counts as: foreground, idle in transaction, background work; with track_idle on also idle, background idle, hidden. NULL if hidden from you.';
COMMENT ON COLUMN pg_waitscope_history.wait_event_type IS
'Type of the wait event; "CPU" if the process waited for nothing that is reported. NULL if hidden.';
COMMENT ON COLUMN pg_waitscope_history.wait_event IS
'Name of the wait event; "CPU" if the process waited for nothing that is reported. NULL if hidden.';
COMMENT ON COLUMN pg_waitscope_history.lwlock_mode IS
'Mode in which an LWLock was waited for: exclusive, shared, until free; since PostgreSQL 19 also for the content of a buffer, then share exclusive, too. NULL if none was, or hidden.';
COMMENT ON COLUMN pg_waitscope_history.locktype IS
'Type of the object whose heavyweight lock was waited for, as in pg_locks. NULL if none was, or hidden.';
COMMENT ON COLUMN pg_waitscope_history.lock_datid IS
'OID of the database that object is in. NULL if no lock was waited for, if the object is in no database, or if hidden.';
COMMENT ON COLUMN pg_waitscope_history.lock_relid IS
'OID of the relation that was locked, or that the locked page or tuple is in. NULL if there is none, or if hidden.';
COMMENT ON COLUMN pg_waitscope_history.lock_mode IS
'Lock mode waited for, as in pg_locks. NULL if no lock was waited for, or if hidden.';
COMMENT ON COLUMN pg_waitscope_history.queryid IS
'Identifier of the running query, as in pg_stat_statements. NULL if none was active, if identifiers are not computed, or if hidden.';
COMMENT ON COLUMN pg_waitscope_history.weight_time IS
'Time this sample stands for, in milliseconds. Never NULL.';

------------------------------------------------------------------------
-- profile: totals per chosen dimensions
------------------------------------------------------------------------

CREATE FUNCTION pg_waitscope_get_profile(
	OUT backend_type_code integer,
	OUT datid oid,
	OUT usesysid oid,
	OUT queryid bigint,
	OUT pid integer,
	OUT event_id integer,
	OUT lwlock_mode_code integer,
	OUT samples bigint,
	OUT est_time double precision,
	OUT first_seen timestamptz,
	OUT last_seen timestamptz)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 5000;

COMMENT ON FUNCTION pg_waitscope_get_profile() IS
'Rows of the view pg_waitscope_profile, with ids and codes instead of names.';

CREATE VIEW pg_waitscope_profile AS
SELECT pg_waitscope_backend_type_name(p.backend_type_code) AS backend_type,
       p.datid,
       d.datname,
       p.usesysid,
       u.rolname AS usename,
       p.queryid,
       p.pid,
       pg_waitscope_event_type(p.event_id) AS wait_event_type,
       pg_waitscope_event_name(p.event_id) AS wait_event,
       pg_waitscope_lwlock_mode_name(p.lwlock_mode_code) AS lwlock_mode,
       p.samples,
       p.est_time,
       p.first_seen,
       p.last_seen
FROM pg_waitscope_get_profile() p
     LEFT JOIN pg_database d ON d.oid = p.datid
     LEFT JOIN pg_authid u ON u.oid = p.usesysid;

COMMENT ON VIEW pg_waitscope_profile IS
'Totals since the last reset per wait event and the dimensions of the setting pg_waitscope.profile_by, in a table of pg_waitscope.profile_max entries; evictions are counted in pg_waitscope_stores. Entries of roles whose sessions you may not see are added up in one row without any dimension or event; if the user is not a dimension, those are all entries. Each row is consistent, the set is not.';
COMMENT ON COLUMN pg_waitscope_profile.backend_type IS
'Type of the process, as in pg_stat_activity; background workers of all kinds read "background worker". NULL if not a dimension, or hidden.';
COMMENT ON COLUMN pg_waitscope_profile.datid IS
'OID of the database. NULL for none, if not a dimension, or hidden.';
COMMENT ON COLUMN pg_waitscope_profile.datname IS
'Name of the database. NULL for none, if it was dropped, if not a dimension, or hidden.';
COMMENT ON COLUMN pg_waitscope_profile.usesysid IS
'OID of the role. NULL for none, if not a dimension, or hidden.';
COMMENT ON COLUMN pg_waitscope_profile.usename IS
'Name of the role. NULL for none, if it was dropped, if not a dimension, or hidden.';
COMMENT ON COLUMN pg_waitscope_profile.queryid IS
'Identifier of the query, as in pg_stat_statements. NULL for none, if not a dimension, or hidden.';
COMMENT ON COLUMN pg_waitscope_profile.pid IS
'Process id. NULL if not a dimension, which is the default, or hidden.';
COMMENT ON COLUMN pg_waitscope_profile.wait_event_type IS
'Type of the wait event; "CPU" if the processes waited for nothing that is reported. NULL if hidden.';
COMMENT ON COLUMN pg_waitscope_profile.wait_event IS
'Name of the wait event; "CPU" if the processes waited for nothing that is reported. NULL if hidden.';
COMMENT ON COLUMN pg_waitscope_profile.lwlock_mode IS
'Mode in which an LWLock was waited for: exclusive, shared, until free; since PostgreSQL 19 also for the content of a buffer, then share exclusive, too. NULL if none was, or hidden.';
COMMENT ON COLUMN pg_waitscope_profile.samples IS
'How often processes were seen so. Never NULL.';
COMMENT ON COLUMN pg_waitscope_profile.est_time IS
'Estimated time spent so, in milliseconds: the sum of the time each sample stands for. Never NULL.';
COMMENT ON COLUMN pg_waitscope_profile.first_seen IS
'When a process was first seen so, since the reset or since the entry was made. Never NULL.';
COMMENT ON COLUMN pg_waitscope_profile.last_seen IS
'When a process was last seen so. Never NULL.';

------------------------------------------------------------------------
-- lwlocks: per tranche
------------------------------------------------------------------------

CREATE FUNCTION pg_waitscope_get_lwlocks(
	OUT event_id integer,
	OUT samples bigint,
	OUT est_time double precision,
	OUT shared_samples bigint,
	OUT exclusive_samples bigint,
	OUT until_free_samples bigint,
	OUT waiting_ticks bigint,
	OUT waiter_sum bigint,
	OUT max_waiters bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 50;

COMMENT ON FUNCTION pg_waitscope_get_lwlocks() IS
'Rows of the view pg_waitscope_lwlocks, with the id of each event instead of the name of the tranche.';

CREATE VIEW pg_waitscope_lwlocks AS
SELECT pg_waitscope_event_name(l.event_id) AS tranche,
       l.samples,
       l.est_time,
       l.shared_samples,
       l.exclusive_samples,
       l.until_free_samples,
       l.waiting_ticks,
       l.waiter_sum,
       l.max_waiters,
       NULL::bigint AS exact_sleeps,
       NULL::double precision AS exact_time,
       NULL::double precision AS exact_max_time,
       NULL::bigint[] AS exact_histogram
FROM pg_waitscope_get_lwlocks() l;

COMMENT ON VIEW pg_waitscope_lwlocks IS
'Waits for LWLocks per tranche since the last reset, of active sessions and server processes alike; since PostgreSQL 19 also for the content of buffers, one row per mode. Each row is consistent, the set is not.';
COMMENT ON COLUMN pg_waitscope_lwlocks.tranche IS
'Name of the tranche: the wait_event of type LWLock, or from PostgreSQL 19 BufferShared, BufferShareExclusive and BufferExclusive of type Buffer. Never NULL.';
COMMENT ON COLUMN pg_waitscope_lwlocks.samples IS
'How often processes were seen waiting for a lock of it. Never NULL.';
COMMENT ON COLUMN pg_waitscope_lwlocks.est_time IS
'Estimated time they waited, in milliseconds. Never NULL.';
COMMENT ON COLUMN pg_waitscope_lwlocks.shared_samples IS
'Of the samples, those waiting for shared mode. Never NULL.';
COMMENT ON COLUMN pg_waitscope_lwlocks.exclusive_samples IS
'Of the samples, those waiting for exclusive mode. Never NULL.';
COMMENT ON COLUMN pg_waitscope_lwlocks.until_free_samples IS
'Of the samples, those waiting only until the lock is free. Never NULL.';
COMMENT ON COLUMN pg_waitscope_lwlocks.waiting_ticks IS
'At how many instants sampled at least one process was waiting. Never NULL.';
COMMENT ON COLUMN pg_waitscope_lwlocks.waiter_sum IS
'Waiting processes summed over those instants; divided by waiting_ticks it is the average queue while there is one. Never NULL.';
COMMENT ON COLUMN pg_waitscope_lwlocks.max_waiters IS
'Most processes seen waiting at one instant. Never NULL.';
COMMENT ON COLUMN pg_waitscope_lwlocks.exact_sleeps IS
'Number of sleeps, counted, not sampled. NULL: this version has no exact mode.';
COMMENT ON COLUMN pg_waitscope_lwlocks.exact_time IS
'Time slept, measured, in milliseconds. NULL: this version has no exact mode.';
COMMENT ON COLUMN pg_waitscope_lwlocks.exact_max_time IS
'Longest sleep, measured, in milliseconds. NULL: this version has no exact mode.';
COMMENT ON COLUMN pg_waitscope_lwlocks.exact_histogram IS
'Number of sleeps per class of length. NULL: this version has no exact mode.';

------------------------------------------------------------------------
-- lwlock_instances: per single LWLock
------------------------------------------------------------------------

CREATE FUNCTION pg_waitscope_get_lwlock_instances(
	OUT event_id integer,
	OUT lock_index integer,
	OUT samples bigint,
	OUT shared_samples bigint,
	OUT exclusive_samples bigint,
	OUT max_waiters bigint,
	OUT est_time double precision,
	OUT last_seen timestamptz)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 50;

COMMENT ON FUNCTION pg_waitscope_get_lwlock_instances() IS
'Rows of the view pg_waitscope_lwlock_instances, with the id of each event instead of the name of the tranche.';

CREATE VIEW pg_waitscope_lwlock_instances AS
SELECT pg_waitscope_event_name(l.event_id) AS tranche,
       l.lock_index,
       l.samples,
       l.shared_samples,
       l.exclusive_samples,
       l.max_waiters,
       l.est_time,
       l.last_seen
FROM pg_waitscope_get_lwlock_instances() l;

COMMENT ON VIEW pg_waitscope_lwlock_instances IS
'Waits per single LWLock since the last reset, for the locks of the main array of the server: partitions of the buffer mapping (BufferMapping), of the lock manager (LockManager) and of the predicate lock manager (PredicateLockManager), locks with a name of their own, and tranches that libraries requested while they were preloaded. The rows of a tranche add up to its row in pg_waitscope_lwlocks. Each row is consistent, the set is not.';
COMMENT ON COLUMN pg_waitscope_lwlock_instances.tranche IS
'Name of the tranche, as in pg_waitscope_lwlocks. Never NULL.';
COMMENT ON COLUMN pg_waitscope_lwlock_instances.lock_index IS
'Position of the lock within its tranche, from 0: LockManager 7 is partition 7 of the lock manager. NULL for waiters that were already in no queue when it was looked at, mostly because they had been woken and had not got a CPU yet; they waited for any lock of the tranche.';
COMMENT ON COLUMN pg_waitscope_lwlock_instances.samples IS
'How often processes were seen waiting for this lock. Those waiting only until it is free are in neither of the following two. Never NULL.';
COMMENT ON COLUMN pg_waitscope_lwlock_instances.shared_samples IS
'Of the samples, those waiting for shared mode. Never NULL.';
COMMENT ON COLUMN pg_waitscope_lwlock_instances.exclusive_samples IS
'Of the samples, those waiting for exclusive mode. Never NULL.';
COMMENT ON COLUMN pg_waitscope_lwlock_instances.max_waiters IS
'Most processes seen waiting for it at one instant. Never NULL.';
COMMENT ON COLUMN pg_waitscope_lwlock_instances.est_time IS
'Estimated time they waited, in milliseconds. Never NULL.';
COMMENT ON COLUMN pg_waitscope_lwlock_instances.last_seen IS
'When a process was last seen waiting for it. Never NULL.';

REVOKE ALL ON FUNCTION pg_waitscope_get_lwlock_instances() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pg_waitscope_get_lwlock_instances() TO pg_read_all_stats;
GRANT SELECT ON pg_waitscope_lwlock_instances TO pg_read_all_stats;

------------------------------------------------------------------------
-- hot_blocks: which blocks are waited for
------------------------------------------------------------------------

CREATE FUNCTION pg_waitscope_get_hot_blocks(
	OUT datid oid,
	OUT reltablespace oid,
	OUT relfilenode oid,
	OUT relforknumber smallint,
	OUT relblocknumber bigint,
	OUT samples bigint,
	OUT shared_samples bigint,
	OUT exclusive_samples bigint,
	OUT est_time double precision,
	OUT last_seen timestamptz)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 200;

COMMENT ON FUNCTION pg_waitscope_get_hot_blocks() IS
'Rows of the view pg_waitscope_hot_blocks, without names.';

/*
 * Not by pg_filenode_relation(), which before 18 may raise an error if a
 * temporary relation has the same number.  System catalogs with a 0 for a
 * number are found by asking for it.
 */
CREATE VIEW pg_waitscope_hot_blocks AS
SELECT h.datid,
       d.datname,
       (SELECT c.oid::pg_catalog.regclass
        FROM pg_catalog.pg_class c
        WHERE h.here
          AND c.reltablespace = h.own_tablespace
          AND c.relpersistence <> 't'
          AND (c.relfilenode = h.relfilenode
               OR c.relfilenode = 0
               AND c.relkind IN ('r', 'i', 't')
               AND pg_catalog.pg_relation_filenode(c.oid) = h.relfilenode)
        LIMIT 1) AS relation,
       h.reltablespace,
       h.relfilenode,
       h.relforknumber,
       h.relblocknumber,
       h.samples,
       h.shared_samples,
       h.exclusive_samples,
       h.est_time,
       h.last_seen
FROM (SELECT b.*,
             b.relfilenode IS NOT NULL
             AND coalesce(b.datid = o.oid, true) AS here,
             CASE b.reltablespace WHEN o.dattablespace THEN 0::oid
                                  ELSE b.reltablespace
             END AS own_tablespace
      FROM pg_waitscope_get_hot_blocks() b
           JOIN pg_catalog.pg_database o
                ON o.datname = pg_catalog.current_database()) h
     LEFT JOIN pg_catalog.pg_database d ON d.oid = h.datid;

COMMENT ON VIEW pg_waitscope_hot_blocks IS
'Which blocks of which relations were waited for by processes that waited for the content of a buffer, since the last reset: looked for by the keeper, while the samples say that somebody waits so. No row holds what another one holds, so that rows can be added up: of each relation, of which there are up to 256, those 8 blocks have rows of their own that were seen most; the row without relblocknumber has the other blocks of the relation, and the row without relfilenode has what belongs to no other row. Each row is consistent, the set is not, but for the rows of one relation. Needs the privileges of pg_read_all_stats.';
COMMENT ON COLUMN pg_waitscope_hot_blocks.datid IS
'OID of the database the relation is in. NULL if it is shared by all databases, and in the row without relfilenode.';
COMMENT ON COLUMN pg_waitscope_hot_blocks.datname IS
'Name of that database. NULL if datid is, or if it was dropped.';
COMMENT ON COLUMN pg_waitscope_hot_blocks.relation IS
'The relation. NULL if it is in another database, or no longer there in this file: it was dropped, truncated or rewritten.';
COMMENT ON COLUMN pg_waitscope_hot_blocks.reltablespace IS
'OID of the tablespace the relation is in, as in pg_buffercache. NULL in the row without relfilenode.';
COMMENT ON COLUMN pg_waitscope_hot_blocks.relfilenode IS
'Number of the file of the relation, as in pg_buffercache. NULL in one row, which holds what belongs to no other: waits for relations that made room for others, and, only in est_time, waits whose block was not found.';
COMMENT ON COLUMN pg_waitscope_hot_blocks.relforknumber IS
'Fork of the relation: 0 main, 1 free space map, 2 visibility map, 3 initialization. NULL in the row without relfilenode.';
COMMENT ON COLUMN pg_waitscope_hot_blocks.relblocknumber IS
'Number of the block in it. NULL for all blocks of the relation that have no row of their own.';
COMMENT ON COLUMN pg_waitscope_hot_blocks.samples IS
'How many waiting processes the keeper saw at the block. The keeper does not look at each sample of the sampler, so they are fewer than in other views. Never NULL.';
COMMENT ON COLUMN pg_waitscope_hot_blocks.shared_samples IS
'Of the samples, those waiting for shared mode. Never NULL.';
COMMENT ON COLUMN pg_waitscope_hot_blocks.exclusive_samples IS
'Of the samples, those waiting for exclusive mode. Never NULL.';
COMMENT ON COLUMN pg_waitscope_hot_blocks.est_time IS
'Estimated time waited for it, in milliseconds: the time that the sampler has found to be waited for the content of buffers since the keeper looked before, shared out in equal parts to the waiters that the keeper saw. Never NULL.';
COMMENT ON COLUMN pg_waitscope_hot_blocks.last_seen IS
'When a waiter was last seen there. Never NULL.';

REVOKE ALL ON FUNCTION pg_waitscope_get_hot_blocks() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pg_waitscope_get_hot_blocks() TO pg_read_all_stats;
GRANT SELECT ON pg_waitscope_hot_blocks TO pg_read_all_stats;

------------------------------------------------------------------------
-- wait_lengths: how long waits are, estimated
------------------------------------------------------------------------

CREATE FUNCTION pg_waitscope_get_wait_lengths(
	OUT event_id integer,
	OUT runs bigint,
	OUT est_time double precision,
	OUT max_est_time double precision,
	OUT histogram bigint[])
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 50;

COMMENT ON FUNCTION pg_waitscope_get_wait_lengths() IS
'Rows of the view pg_waitscope_wait_lengths, with ids instead of names.';

CREATE VIEW pg_waitscope_wait_lengths AS
SELECT pg_waitscope_event_type(w.event_id) AS wait_event_type,
       pg_waitscope_event_name(w.event_id) AS wait_event,
       w.runs,
       w.est_time,
       w.max_est_time,
       w.histogram
FROM pg_waitscope_get_wait_lengths() w;

COMMENT ON VIEW pg_waitscope_wait_lengths IS
'How long waits are, per wait event, estimated from samples in a row since the last reset: a run is a process that one sample after another has found in the same wait event, and as long as these samples stand for. It is an estimate with a floor: a wait seen in one sample counts as one sampling period, however short it was, most shorter waits are not seen at all, and waits for the same event that follow each other within a period count as one. Waits for heavyweight locks are measured in pg_waitscope_lock_waits. Each row is consistent, the set is not.';
COMMENT ON COLUMN pg_waitscope_wait_lengths.wait_event_type IS
'Type of the wait event. Never NULL.';
COMMENT ON COLUMN pg_waitscope_wait_lengths.wait_event IS
'Name of the wait event. Never NULL.';
COMMENT ON COLUMN pg_waitscope_wait_lengths.runs IS
'Runs that have ended. Never NULL.';
COMMENT ON COLUMN pg_waitscope_wait_lengths.est_time IS
'Estimated length of all these together, in milliseconds. Never NULL.';
COMMENT ON COLUMN pg_waitscope_wait_lengths.max_est_time IS
'Estimated length of the longest of these, in milliseconds. Never NULL.';
COMMENT ON COLUMN pg_waitscope_wait_lengths.histogram IS
'These runs per class of length: below 1 ms, then each class twice as long as the one before: from 1 ms, 2 ms, 4 ms and so on; the last one has no upper limit. Never NULL.';

------------------------------------------------------------------------
-- lock_waits: for which relations, in which mode, how long
------------------------------------------------------------------------

CREATE FUNCTION pg_waitscope_get_lock_waits(
	OUT locktype_code integer,
	OUT datid oid,
	OUT relid oid,
	OUT mode_code integer,
	OUT samples bigint,
	OUT waits bigint,
	OUT wait_time double precision,
	OUT max_wait_time double precision,
	OUT histogram bigint[],
	OUT given_up bigint,
	OUT est_time double precision,
	OUT waiting bigint,
	OUT max_waiting bigint,
	OUT last_seen timestamptz)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 50;

COMMENT ON FUNCTION pg_waitscope_get_lock_waits() IS
'Rows of the view pg_waitscope_lock_waits, with codes instead of names.';

CREATE VIEW pg_waitscope_lock_waits AS
SELECT pg_waitscope_locktype_name(w.locktype_code) AS locktype,
       w.datid,
       d.datname,
       (SELECT c.oid::pg_catalog.regclass
        FROM pg_catalog.pg_class c
        WHERE c.oid = w.relid
          AND coalesce(w.datid = o.oid, true)) AS relation,
       w.relid,
       pg_waitscope_lock_mode_name(w.mode_code) AS mode,
       w.samples,
       w.waits,
       w.wait_time,
       w.max_wait_time,
       w.histogram,
       w.given_up,
       w.est_time,
       w.waiting,
       w.max_waiting,
       w.last_seen
FROM pg_waitscope_get_lock_waits() w
     JOIN pg_catalog.pg_database o
          ON o.datname = pg_catalog.current_database()
     LEFT JOIN pg_catalog.pg_database d ON d.oid = w.datid;

COMMENT ON VIEW pg_waitscope_lock_waits IS
'Waits for heavyweight locks since the last reset, per type of object, database, relation and wanted mode: all that lasted longer than a sampling period, and shorter ones as often as chance has it. waits, wait_time, max_wait_time, histogram and given_up count waits that have ended, each by its length, which is known to a period; samples, est_time, waiting and max_waiting also count those that go on. Up to 512 rows; the row without locktype has what made room. Each row is consistent, the set is not. Needs the privileges of pg_read_all_stats.';
COMMENT ON COLUMN pg_waitscope_lock_waits.locktype IS
'Type of the object, as in pg_locks. NULL in one row, which holds what belongs to no other.';
COMMENT ON COLUMN pg_waitscope_lock_waits.datid IS
'OID of the database the object is in. NULL if it is in none, as transactions are, or shared by all.';
COMMENT ON COLUMN pg_waitscope_lock_waits.datname IS
'Name of that database. NULL if datid is, or if it was dropped.';
COMMENT ON COLUMN pg_waitscope_lock_waits.relation IS
'The relation. NULL if it is in another database or was dropped, and if relid is NULL.';
COMMENT ON COLUMN pg_waitscope_lock_waits.relid IS
'OID of the relation that is locked, or that the page or tuple is in. NULL for other types of objects, and if the lock was no longer to be seen.';
COMMENT ON COLUMN pg_waitscope_lock_waits.mode IS
'Mode wanted, as in pg_locks. NULL if the lock was no longer to be seen: the process had been woken, but had not yet run.';
COMMENT ON COLUMN pg_waitscope_lock_waits.samples IS
'How often processes were seen waiting for it. Never NULL.';
COMMENT ON COLUMN pg_waitscope_lock_waits.waits IS
'Waits that have ended, however they did. Never NULL.';
COMMENT ON COLUMN pg_waitscope_lock_waits.wait_time IS
'How long these took together, in milliseconds. Never NULL.';
COMMENT ON COLUMN pg_waitscope_lock_waits.max_wait_time IS
'How long the longest of these took, in milliseconds. Never NULL.';
COMMENT ON COLUMN pg_waitscope_lock_waits.histogram IS
'These waits per class of length: below 1 ms, then each class twice as long as the one before: from 1 ms, 2 ms, 4 ms and so on; the last one has no upper limit. Never NULL.';
COMMENT ON COLUMN pg_waitscope_lock_waits.given_up IS
'Those of these waits that ended without the lock: cancelled, timed out, or ended to break a deadlock. Some end unseen: a process that waits again within the same period has hidden how its last wait ended. Never NULL.';
COMMENT ON COLUMN pg_waitscope_lock_waits.est_time IS
'Estimated time waited, in milliseconds: the time that the samples stand for. Unlike wait_time it grows while a wait goes on. Never NULL.';
COMMENT ON COLUMN pg_waitscope_lock_waits.waiting IS
'Processes waiting in the last sample. Never NULL.';
COMMENT ON COLUMN pg_waitscope_lock_waits.max_waiting IS
'The most processes waiting in one sample. Never NULL.';
COMMENT ON COLUMN pg_waitscope_lock_waits.last_seen IS
'When a process was last seen waiting for it. Never NULL.';

REVOKE ALL ON FUNCTION pg_waitscope_get_lock_waits() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pg_waitscope_get_lock_waits() TO pg_read_all_stats;
GRANT SELECT ON pg_waitscope_lock_waits TO pg_read_all_stats;

------------------------------------------------------------------------
-- lock_blockers: the same waits by who was in the way
------------------------------------------------------------------------

CREATE FUNCTION pg_waitscope_get_lock_blockers(
	OUT locktype_code integer,
	OUT datid oid,
	OUT relid oid,
	OUT mode_code integer,
	OUT blocker_mode_code integer,
	OUT blocker_queued boolean,
	OUT blocker_type_code integer,
	OUT waits bigint,
	OUT wait_time double precision,
	OUT max_wait_time double precision,
	OUT histogram bigint[],
	OUT last_seen timestamptz)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 50;

COMMENT ON FUNCTION pg_waitscope_get_lock_blockers() IS
'Rows of the view pg_waitscope_lock_blockers, with codes instead of names.';

CREATE VIEW pg_waitscope_lock_blockers AS
SELECT pg_waitscope_locktype_name(w.locktype_code) AS locktype,
       w.datid,
       d.datname,
       (SELECT c.oid::pg_catalog.regclass
        FROM pg_catalog.pg_class c
        WHERE c.oid = w.relid
          AND coalesce(w.datid = o.oid, true)) AS relation,
       w.relid,
       pg_waitscope_lock_mode_name(w.mode_code) AS mode,
       pg_waitscope_lock_mode_name(w.blocker_mode_code) AS blocker_mode,
       w.blocker_queued,
       pg_waitscope_backend_type_name(w.blocker_type_code) AS blocker_backend_type,
       w.waits,
       w.wait_time,
       w.max_wait_time,
       w.histogram,
       w.last_seen
FROM pg_waitscope_get_lock_blockers() w
     JOIN pg_catalog.pg_database o
          ON o.datname = pg_catalog.current_database()
     LEFT JOIN pg_catalog.pg_database d ON d.oid = w.datid;

COMMENT ON VIEW pg_waitscope_lock_blockers IS
'The waits that pg_waitscope_lock_waits has counted when they ended, told apart by who was in the way, as in pg_waitscope_lock_wait_history: in which mode, and what kind of process. Up to 512 rows; the row without locktype has what made room. Each row is consistent, the set is not. Needs the privileges of pg_read_all_stats.';
COMMENT ON COLUMN pg_waitscope_lock_blockers.locktype IS
'Type of the object, as in pg_locks. NULL in one row, which holds what belongs to no other.';
COMMENT ON COLUMN pg_waitscope_lock_blockers.datid IS
'OID of the database the object is in. NULL if it is in none, as transactions are, or shared by all.';
COMMENT ON COLUMN pg_waitscope_lock_blockers.datname IS
'Name of that database. NULL if datid is, or if it was dropped.';
COMMENT ON COLUMN pg_waitscope_lock_blockers.relation IS
'The relation. NULL if it is in another database or was dropped, and if relid is NULL.';
COMMENT ON COLUMN pg_waitscope_lock_blockers.relid IS
'OID of the relation that is locked, or that the page or tuple is in. NULL for other types of objects, and if the lock was no longer to be seen.';
COMMENT ON COLUMN pg_waitscope_lock_blockers.mode IS
'Mode wanted, as in pg_locks. NULL if the lock was no longer to be seen.';
COMMENT ON COLUMN pg_waitscope_lock_blockers.blocker_mode IS
'The strongest mode in the way: ShareUpdateExclusiveLock is that of VACUUM, AccessExclusiveLock that of most DDL, RowExclusiveLock that of changes of rows. NULL if not known: the wait was too short for the keeper, or pg_waitscope.track_blockers is off.';
COMMENT ON COLUMN pg_waitscope_lock_blockers.blocker_queued IS
'Whether the blocker did not hold the lock itself, but was ahead in the queue for it. NULL if blocker_mode is.';
COMMENT ON COLUMN pg_waitscope_lock_blockers.blocker_backend_type IS
'Type of the process in the way, as in pg_stat_activity. NULL if not known, and for a prepared transaction.';
COMMENT ON COLUMN pg_waitscope_lock_blockers.waits IS
'Waits that have ended, however they did. Never NULL.';
COMMENT ON COLUMN pg_waitscope_lock_blockers.wait_time IS
'How long these took together, in milliseconds. Never NULL.';
COMMENT ON COLUMN pg_waitscope_lock_blockers.max_wait_time IS
'How long the longest of these took, in milliseconds. Never NULL.';
COMMENT ON COLUMN pg_waitscope_lock_blockers.histogram IS
'These waits per class of length, as in pg_waitscope_lock_waits. Never NULL.';
COMMENT ON COLUMN pg_waitscope_lock_blockers.last_seen IS
'When one last ended. Never NULL.';

REVOKE ALL ON FUNCTION pg_waitscope_get_lock_blockers() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pg_waitscope_get_lock_blockers() TO pg_read_all_stats;
GRANT SELECT ON pg_waitscope_lock_blockers TO pg_read_all_stats;

------------------------------------------------------------------------
-- lock_wait_history: the last waits that have ended
------------------------------------------------------------------------

CREATE FUNCTION pg_waitscope_get_lock_wait_history(
	OUT started_at timestamptz,
	OUT wait_time double precision,
	OUT outcome text,
	OUT pid integer,
	OUT datid oid,
	OUT usesysid oid,
	OUT queryid bigint,
	OUT locktype_code integer,
	OUT lock_datid oid,
	OUT lock_relid oid,
	OUT mode_code integer,
	OUT blocker_pid integer,
	OUT blocker_mode_code integer,
	OUT blocker_queued boolean,
	OUT blocker_type_code integer,
	OUT blocker_state text,
	OUT root_pid integer,
	OUT root_state text)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 2000;

COMMENT ON FUNCTION pg_waitscope_get_lock_wait_history() IS
'Rows of the view pg_waitscope_lock_wait_history, with codes instead of names.';

CREATE VIEW pg_waitscope_lock_wait_history AS
SELECT w.started_at,
       w.wait_time,
       w.outcome,
       w.pid,
       w.datid,
       d.datname,
       w.usesysid,
       u.rolname AS usename,
       w.queryid,
       pg_waitscope_locktype_name(w.locktype_code) AS locktype,
       w.lock_datid,
       w.lock_relid,
       (SELECT c.oid::pg_catalog.regclass
        FROM pg_catalog.pg_class c
        WHERE c.oid = w.lock_relid
          AND coalesce(w.lock_datid = o.oid, true)) AS relation,
       pg_waitscope_lock_mode_name(w.mode_code) AS mode,
       w.blocker_pid,
       pg_waitscope_lock_mode_name(w.blocker_mode_code) AS blocker_mode,
       w.blocker_queued,
       pg_waitscope_backend_type_name(w.blocker_type_code) AS blocker_backend_type,
       w.blocker_state,
       w.root_pid,
       w.root_state
FROM pg_waitscope_get_lock_wait_history() w
     JOIN pg_catalog.pg_database o
          ON o.datname = pg_catalog.current_database()
     LEFT JOIN pg_catalog.pg_database d ON d.oid = w.datid
     LEFT JOIN pg_catalog.pg_roles u ON u.oid = w.usesysid;

COMMENT ON VIEW pg_waitscope_lock_wait_history IS
'The last 4096 waits for heavyweight locks that have ended, in the order in which they did: all that lasted longer than a sampling period, and shorter ones as often as chance has it. Each row is consistent, the set is not. Needs the privileges of pg_read_all_stats.';
COMMENT ON COLUMN pg_waitscope_lock_wait_history.started_at IS
'When the wait began. Before PostgreSQL 14 the server does not tell: then in the middle of the period before it was first seen. Never NULL.';
COMMENT ON COLUMN pg_waitscope_lock_wait_history.wait_time IS
'How long it took, in milliseconds; it ended in the middle of the period after it was last seen. Never NULL.';
COMMENT ON COLUMN pg_waitscope_lock_wait_history.outcome IS
'How it ended: granted, or given up (cancelled, timed out, or ended to break a deadlock). NULL if not known: the process had ended, or waited again within the same period.';
COMMENT ON COLUMN pg_waitscope_lock_wait_history.pid IS
'Process that waited. Never NULL.';
COMMENT ON COLUMN pg_waitscope_lock_wait_history.datid IS
'OID of the database it was connected to. NULL for none.';
COMMENT ON COLUMN pg_waitscope_lock_wait_history.datname IS
'Name of that database. NULL for none, or if it was dropped.';
COMMENT ON COLUMN pg_waitscope_lock_wait_history.usesysid IS
'OID of the role that was logged in. NULL for none.';
COMMENT ON COLUMN pg_waitscope_lock_wait_history.usename IS
'Name of that role. NULL for none, or if it was dropped.';
COMMENT ON COLUMN pg_waitscope_lock_wait_history.queryid IS
'Identifier of the query that waited, as in pg_stat_statements. NULL if none was active, if identifiers are not computed, or not yet: most waits for whole relations come before that.';
COMMENT ON COLUMN pg_waitscope_lock_wait_history.locktype IS
'Type of the object waited for, as in pg_locks. Never NULL.';
COMMENT ON COLUMN pg_waitscope_lock_wait_history.lock_datid IS
'OID of the database that object is in. NULL if it is in none, or shared by all.';
COMMENT ON COLUMN pg_waitscope_lock_wait_history.lock_relid IS
'OID of the relation that is locked, or that the page or tuple is in. NULL if there is none, or if the lock was no longer to be seen.';
COMMENT ON COLUMN pg_waitscope_lock_wait_history.relation IS
'That relation. NULL if it is in another database or was dropped, and if lock_relid is NULL.';
COMMENT ON COLUMN pg_waitscope_lock_wait_history.mode IS
'Mode wanted, as in pg_locks. NULL if the lock was no longer to be seen: the process had been woken, but had not yet run.';
COMMENT ON COLUMN pg_waitscope_lock_wait_history.blocker_pid IS
'Process that kept it waiting at most of the moments at which the keeper looked, or one of them if there is none such; 0 for a prepared transaction, as in pg_blocking_pids(). NULL if not known: the keeper looks at most 10 times a second, and not at waits of less than 5 ms, or pg_waitscope.track_blockers is off.';
COMMENT ON COLUMN pg_waitscope_lock_wait_history.blocker_mode IS
'The strongest mode in the way that it held, or wanted if it was only queued. NULL if blocker_pid is.';
COMMENT ON COLUMN pg_waitscope_lock_wait_history.blocker_queued IS
'Whether that process did not hold the lock itself, but was ahead in the queue for it. NULL if blocker_pid is.';
COMMENT ON COLUMN pg_waitscope_lock_wait_history.blocker_backend_type IS
'Type of that process, as in pg_stat_activity. NULL if not known, and for a prepared transaction.';
COMMENT ON COLUMN pg_waitscope_lock_wait_history.blocker_state IS
'State of that process at that moment, as in pg_stat_activity. NULL if not known, for a prepared transaction, and for server processes.';
COMMENT ON COLUMN pg_waitscope_lock_wait_history.root_pid IS
'The process at the end of the chain: blocks, directly or not, and waits for no lock; 0 for a prepared transaction. NULL if not known, and in a deadlock.';
COMMENT ON COLUMN pg_waitscope_lock_wait_history.root_state IS
'State of that process at that moment: "idle in transaction" is the classic one. NULL as for blocker_state.';

REVOKE ALL ON FUNCTION pg_waitscope_get_lock_wait_history() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pg_waitscope_get_lock_wait_history() TO pg_read_all_stats;
GRANT SELECT ON pg_waitscope_lock_wait_history TO pg_read_all_stats;

------------------------------------------------------------------------
-- fmlocks: own locks
------------------------------------------------------------------------

CREATE FUNCTION pg_waitscope_get_fmlocks(
	OUT name text,
	OUT mode text,
	OUT gets bigint,
	OUT misses bigint,
	OUT cas_retries bigint,
	OUT spin_gets bigint,
	OUT sleeps bigint,
	OUT wait_time double precision,
	OUT max_wait_time double precision,
	OUT histogram bigint[])
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 10;

COMMENT ON FUNCTION pg_waitscope_get_fmlocks() IS
'Rows of the view pg_waitscope_fmlocks.';

CREATE VIEW pg_waitscope_fmlocks AS
SELECT f.name,
       f.mode,
       f.gets,
       f.misses,
       f.cas_retries,
       f.spin_gets,
       f.sleeps,
       f.wait_time,
       f.max_wait_time,
       f.histogram
FROM pg_waitscope_get_fmlocks() f;

COMMENT ON VIEW pg_waitscope_fmlocks IS
'The locks of this extension, counted exactly since the last reset: one row per name and mode. Each row is consistent, the set is not: the counters of a lock in use are read one after the other.';
COMMENT ON COLUMN pg_waitscope_fmlocks.name IS
'Name of the lock, or of several locks that share it. Never NULL.';
COMMENT ON COLUMN pg_waitscope_fmlocks.mode IS
'Mode it was acquired in: exclusive or shared. Never NULL.';
COMMENT ON COLUMN pg_waitscope_fmlocks.gets IS
'How often it was acquired, in any way. Never NULL.';
COMMENT ON COLUMN pg_waitscope_fmlocks.misses IS
'How often the first attempt failed: spin_gets, sleeps, and conditional attempts that were refused. Never NULL.';
COMMENT ON COLUMN pg_waitscope_fmlocks.cas_retries IS
'How often another process changed the state of the lock under an attempt. Never NULL.';
COMMENT ON COLUMN pg_waitscope_fmlocks.spin_gets IS
'How often it was acquired after the first attempt failed, without sleeping. Never NULL.';
COMMENT ON COLUMN pg_waitscope_fmlocks.sleeps IS
'How often it was acquired after sleeping. Never NULL.';
COMMENT ON COLUMN pg_waitscope_fmlocks.wait_time IS
'Time of these sleeps, measured, in milliseconds. Never NULL.';
COMMENT ON COLUMN pg_waitscope_fmlocks.max_wait_time IS
'Longest sleep, in milliseconds. Never NULL.';
COMMENT ON COLUMN pg_waitscope_fmlocks.histogram IS
'Number of sleeps per class of length: below 1 us, then each class twice as long as the one before: from 1 us, 2 us, 4 us and so on; the last one has no upper limit. Never NULL.';

------------------------------------------------------------------------
-- status: is it working
------------------------------------------------------------------------

CREATE FUNCTION pg_waitscope_get_status(
	OUT sampler_pid integer,
	OUT sampler_start timestamptz,
	OUT keeper_pid integer,
	OUT restarts bigint,
	OUT sampling boolean,
	OUT period double precision,
	OUT ticks bigint,
	OUT ticks_missed bigint,
	OUT max_lateness double precision,
	OUT covered_time double precision,
	OUT sampler_cpu_time double precision,
	OUT keeper_cpu_time double precision,
	OUT cpus integer,
	OUT idle_samples bigint,
	OUT idle_in_transaction_samples bigint,
	OUT background_idle_samples bigint,
	OUT hidden_samples bigint,
	OUT degraded text[],
	OUT exact_state text,
	OUT exact_reason text,
	OUT server_start timestamptz,
	OUT epoch bigint,
	OUT scan_delay_time double precision)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 1;

COMMENT ON FUNCTION pg_waitscope_get_status() IS
'The row of the view pg_waitscope_status.';

CREATE VIEW pg_waitscope_status AS
SELECT s.sampler_pid,
       s.sampler_start,
       s.keeper_pid,
       s.restarts,
       s.sampling,
       s.period,
       s.ticks,
       s.ticks_missed,
       s.max_lateness,
       s.covered_time,
       s.sampler_cpu_time,
       s.keeper_cpu_time,
       s.cpus,
       s.idle_samples,
       s.idle_in_transaction_samples,
       s.background_idle_samples,
       s.hidden_samples,
       s.degraded,
       s.exact_state,
       s.exact_reason,
       s.server_start,
       s.epoch,
       s.scan_delay_time
FROM pg_waitscope_get_status() s;

COMMENT ON VIEW pg_waitscope_status IS
'One row: is it working, what does it cost, what is missing and why. All columns from sampler_pid to sampler_cpu_time but keeper_pid, and the four counts are NULL in the rare case that the sampler was stopped while it changed them. Each row is consistent, the set is not: degraded is worked out at the moment of the query.';
COMMENT ON COLUMN pg_waitscope_status.sampler_pid IS
'Process id of the sampler. NULL if it does not run.';
COMMENT ON COLUMN pg_waitscope_status.sampler_start IS
'When the present sampler, or the last one, started. NULL if none ever has.';
COMMENT ON COLUMN pg_waitscope_status.keeper_pid IS
'Process id of the keeper, which finds the blocks of pg_waitscope_hot_blocks. NULL if it does not run.';
COMMENT ON COLUMN pg_waitscope_status.restarts IS
'How often the sampler was started again since epoch began; the keeper is not counted. 0 is normal.';
COMMENT ON COLUMN pg_waitscope_status.sampling IS
'Whether samples are taken: the setting pg_waitscope.sampling as the sampler knows it.';
COMMENT ON COLUMN pg_waitscope_status.period IS
'Time between two samples, in milliseconds: the setting pg_waitscope.sample_period as the sampler knows it.';
COMMENT ON COLUMN pg_waitscope_status.ticks IS
'Instants at which a sample was taken.';
COMMENT ON COLUMN pg_waitscope_status.ticks_missed IS
'Instants that passed without a sample because the sampler woke up too late. Time while sampling is off is not missed.';
COMMENT ON COLUMN pg_waitscope_status.max_lateness IS
'Longest time from an instant to its sample, in milliseconds.';
COMMENT ON COLUMN pg_waitscope_status.covered_time IS
'Time the samples stand for, in milliseconds; what is missing to the time elapsed is not covered by any.';
COMMENT ON COLUMN pg_waitscope_status.sampler_cpu_time IS
'CPU time used by all samplers so far, in milliseconds.';
COMMENT ON COLUMN pg_waitscope_status.keeper_cpu_time IS
'CPU time used by all keepers so far, in milliseconds. Never NULL.';
COMMENT ON COLUMN pg_waitscope_status.cpus IS
'CPUs online: more active sessions on CPU than this have to wait for one. Never NULL.';
COMMENT ON COLUMN pg_waitscope_status.idle_samples IS
'How often client backends were seen idle. Counted here only.';
COMMENT ON COLUMN pg_waitscope_status.idle_in_transaction_samples IS
'How often client backends were seen idle in a transaction. Not part of any average of active sessions.';
COMMENT ON COLUMN pg_waitscope_status.background_idle_samples IS
'How often server processes were seen waiting for work. Counted here only.';
COMMENT ON COLUMN pg_waitscope_status.hidden_samples IS
'How often sessions were seen that waited for nothing and whose state is not known: track_activities is off for them, or they were just starting or ending. Counted here only.';
COMMENT ON COLUMN pg_waitscope_status.degraded IS
'What is missing and why: a stable word, a colon and a sentence each. The words are sampler_not_running, sampler_stalled, sampler_status_unreadable, keeper_not_running, keeper_stalled, sampling_off, status_entries_unavailable, lwlock_instances_unavailable, query_ids_unavailable, track_activities_off. Empty if all is well, never NULL.';
COMMENT ON COLUMN pg_waitscope_status.exact_state IS
'State of the exact mode; always "off" in this version. Never NULL.';
COMMENT ON COLUMN pg_waitscope_status.exact_reason IS
'Why the exact mode is in that state. Never NULL in this version.';
COMMENT ON COLUMN pg_waitscope_status.server_start IS
'When the server was started. Never NULL.';
COMMENT ON COLUMN pg_waitscope_status.epoch IS
'Changes if and only if a counter may have gone back without a reset. Never NULL.';
COMMENT ON COLUMN pg_waitscope_status.scan_delay_time IS
'Longest time until a new process is first looked at, in milliseconds: one period, or more where the process array has more than 512 slots and is not read as a whole each time. NULL if the sampler stands still while it changes its figures.';

------------------------------------------------------------------------
-- stores: what is kept, in how much memory
------------------------------------------------------------------------

CREATE FUNCTION pg_waitscope_get_stores(
	OUT store text,
	OUT entries bigint,
	OUT max_entries bigint,
	OUT bytes bigint,
	OUT span double precision,
	OUT evictions bigint,
	OUT overwritten bigint,
	OUT stats_reset timestamptz)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 10;

COMMENT ON FUNCTION pg_waitscope_get_stores() IS
'Rows of the view pg_waitscope_stores.';

CREATE VIEW pg_waitscope_stores AS
SELECT s.store,
       s.entries,
       s.max_entries,
       s.bytes,
       s.span,
       s.evictions,
       s.overwritten,
       s.stats_reset
FROM pg_waitscope_get_stores() s;

COMMENT ON VIEW pg_waitscope_stores IS
'One row per piece of shared memory of the extension, stores and others. Each row is consistent, the set is not.';
COMMENT ON COLUMN pg_waitscope_stores.store IS
'Name of the store, as pg_waitscope_reset() takes it, or of another piece of shared memory. Never NULL.';
COMMENT ON COLUMN pg_waitscope_stores.entries IS
'Entries in use. NULL if it is not a store.';
COMMENT ON COLUMN pg_waitscope_stores.max_entries IS
'Most entries it can hold. NULL if it is not a store.';
COMMENT ON COLUMN pg_waitscope_stores.bytes IS
'Shared memory it takes, all of it from server start. Never NULL.';
COMMENT ON COLUMN pg_waitscope_stores.span IS
'Time from its oldest entry to its newest, in milliseconds. NULL if that means nothing for it.';
COMMENT ON COLUMN pg_waitscope_stores.evictions IS
'Entries that made room for others since the last reset. NULL if it never evicts.';
COMMENT ON COLUMN pg_waitscope_stores.overwritten IS
'Pieces that readers did without: records of the history that were overwritten before they could be copied, rows that kept changing or whose writer stood still in the middle. NULL if that cannot happen.';
COMMENT ON COLUMN pg_waitscope_stores.stats_reset IS
'When it was last reset, or made. NULL if it is not a store.';

------------------------------------------------------------------------
-- reset
------------------------------------------------------------------------

CREATE FUNCTION pg_waitscope_reset(store text DEFAULT NULL)
RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION pg_waitscope_reset(text) IS
'Empties one store, or all of them if the argument is NULL or left out. It has taken effect on return, also while the sampler is stopped or down. Only superusers may call it until it is granted.';

REVOKE ALL ON FUNCTION pg_waitscope_reset(text) FROM PUBLIC;

GRANT SELECT ON pg_waitscope_summary, pg_waitscope_events,
	pg_waitscope_history, pg_waitscope_profile, pg_waitscope_lwlocks,
	pg_waitscope_wait_lengths,
	pg_waitscope_fmlocks, pg_waitscope_status, pg_waitscope_stores TO PUBLIC;

------------------------------------------------------------------------
-- live: what works without preloading
------------------------------------------------------------------------

CREATE FUNCTION pg_waitscope_get_activity(
	OUT pid integer,
	OUT leader_pid integer,
	OUT backend_type text,
	OUT datid oid,
	OUT usesysid oid,
	OUT application_name text,
	OUT client_addr inet,
	OUT state text,
	OUT state_class text,
	OUT wait_event_type text,
	OUT wait_event text,
	OUT lwlock_mode text,
	OUT locktype text,
	OUT relid oid,
	OUT mode text,
	OUT wait_start timestamptz,
	OUT queryid bigint,
	OUT query text)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 100;

COMMENT ON FUNCTION pg_waitscope_get_activity() IS
'Processes with their waits, for the view pg_waitscope_activity, which adds names, relation and blockers.';

CREATE VIEW pg_waitscope_activity AS
SELECT
	a.pid,
	a.leader_pid,
	a.backend_type,
	a.datid,
	d.datname,
	a.usesysid,
	r.rolname AS usename,
	a.application_name,
	a.client_addr,
	a.state,
	a.state_class,
	a.wait_event_type,
	a.wait_event,
	a.lwlock_mode,
	a.locktype,
	(SELECT c.oid::pg_catalog.regclass
	 FROM pg_catalog.pg_class c
	 WHERE c.oid = a.relid) AS relation,
	a.mode,
	a.wait_start,
	CASE WHEN a.wait_event_type = 'Lock'
		THEN pg_catalog.pg_blocking_pids(a.pid)
	END AS blocked_by,
	a.queryid,
	a.query
FROM pg_waitscope_get_activity() a
LEFT JOIN pg_catalog.pg_database d ON d.oid = a.datid
LEFT JOIN pg_catalog.pg_roles r ON r.oid = a.usesysid;

GRANT SELECT ON pg_waitscope_activity TO PUBLIC;

COMMENT ON VIEW pg_waitscope_activity IS
'Every process now, read by the calling backend itself, also without preloading. Each row is consistent, the set is not. Of sessions of other roles the columns that pg_stat_activity hides are NULL, unless the reader has the privileges of pg_read_all_stats.';
COMMENT ON COLUMN pg_waitscope_activity.pid IS
'Process id.';
COMMENT ON COLUMN pg_waitscope_activity.leader_pid IS
'Process id of the leader of a parallel worker; NULL for all other processes.';
COMMENT ON COLUMN pg_waitscope_activity.backend_type IS
'Kind of process, as in pg_stat_activity; NULL while the process starts or ends.';
COMMENT ON COLUMN pg_waitscope_activity.datid IS
'Database the process is connected to; NULL if none.';
COMMENT ON COLUMN pg_waitscope_activity.datname IS
'Name of that database; NULL if there is none.';
COMMENT ON COLUMN pg_waitscope_activity.usesysid IS
'Role that logged in; NULL for processes of the server.';
COMMENT ON COLUMN pg_waitscope_activity.usename IS
'Name of that role; NULL if there is none.';
COMMENT ON COLUMN pg_waitscope_activity.application_name IS
'Name of the application that is connected; NULL if it gave none.';
COMMENT ON COLUMN pg_waitscope_activity.client_addr IS
'Address of the client; NULL for a Unix socket and for processes without a client.';
COMMENT ON COLUMN pg_waitscope_activity.state IS
'State, as in pg_stat_activity; NULL for processes that have none.';
COMMENT ON COLUMN pg_waitscope_activity.state_class IS
'What the process counts as: foreground, idle in transaction, idle, background work, background idle, hidden (track_activities is off and no wait is shown).';
COMMENT ON COLUMN pg_waitscope_activity.wait_event_type IS
'Type of the event the process waits for; NULL: it does not wait.';
COMMENT ON COLUMN pg_waitscope_activity.wait_event IS
'Name of the event the process waits for; NULL: it does not wait.';
COMMENT ON COLUMN pg_waitscope_activity.lwlock_mode IS
'Mode in which an LWLock is wanted: exclusive, shared, until free; since PostgreSQL 19 also for the content of a buffer, then share exclusive, too; NULL: waits for none, or not known.';
COMMENT ON COLUMN pg_waitscope_activity.locktype IS
'Type of the heavyweight lock the process waits for, as in pg_locks; NULL: waits for none.';
COMMENT ON COLUMN pg_waitscope_activity.relation IS
'Relation of that lock; NULL if it has none, or one of another database.';
COMMENT ON COLUMN pg_waitscope_activity.mode IS
'Mode in which that lock is wanted, as in pg_locks; NULL: waits for none.';
COMMENT ON COLUMN pg_waitscope_activity.wait_start IS
'Moment since when the process waits for that lock; NULL: waits for none, or not known (just begun; on a standby; before PostgreSQL 14).';
COMMENT ON COLUMN pg_waitscope_activity.blocked_by IS
'Process ids that hold up the process, by pg_blocking_pids(); NULL: waits for no heavyweight lock.';
COMMENT ON COLUMN pg_waitscope_activity.queryid IS
'Id of the running statement, as in pg_stat_statements; NULL while none runs, if ids are not computed, and before PostgreSQL 14.';
COMMENT ON COLUMN pg_waitscope_activity.query IS
'Text of the running, or else the last, statement, cut at track_activity_query_size; NULL if there is none.';

CREATE FUNCTION pg_waitscope_sample(
	duration interval DEFAULT '1 s',
	period interval DEFAULT '10 ms',
	OUT wait_event_type text,
	OUT wait_event text,
	OUT lwlock_mode text,
	OUT datid oid,
	OUT queryid bigint,
	OUT samples bigint,
	OUT aas double precision,
	OUT ticks bigint,
	OUT ticks_missed bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 100;

COMMENT ON FUNCTION pg_waitscope_sample(interval, interval) IS
'Samples active sessions for the given duration, one tick in each period, in the calling backend, also without preloading; the caller is left out, and its snapshot is held meanwhile. wait_event_type, wait_event: what was waited for; CPU when no wait was reported. lwlock_mode: exclusive, shared, until free, share exclusive; NULL if no LWLock. datid, queryid: database and statement; NULL if none, or of other roles unless the reader has the privileges of pg_read_all_stats. samples: sightings. aas: average active sessions. ticks, ticks_missed: of the whole call, the same in each row. If nothing was active there is one row with 0 samples and no event.';

CREATE FUNCTION pg_waitscope_get_lock_chains(
	OUT line integer,
	OUT read_at timestamptz,
	OUT depth integer,
	OUT pid integer,
	OUT leader_pid integer,
	OUT prepared_xid xid,
	OUT root_pid integer,
	OUT blocked_count bigint,
	OUT in_cycle boolean,
	OUT held_by integer[],
	OUT queued_behind integer[],
	OUT locktype text,
	OUT lock_datid oid,
	OUT lock_relid oid,
	OUT lock_key text,
	OUT mode text,
	OUT blocker_mode text,
	OUT wait_start timestamptz,
	OUT wait_time double precision,
	OUT backend_type text,
	OUT state text,
	OUT state_time double precision,
	OUT xact_time double precision,
	OUT wait_event_type text,
	OUT wait_event text,
	OUT datid oid,
	OUT usesysid oid,
	OUT application_name text,
	OUT queryid bigint,
	OUT query text)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 50;

COMMENT ON FUNCTION pg_waitscope_get_lock_chains() IS
'Rows of the view pg_waitscope_lock_chains, in their order, without names and without what is known of prepared transactions elsewhere.';

CREATE VIEW pg_waitscope_lock_chains AS
SELECT
	l.line,
	pg_catalog.repeat('  ', l.depth)
		|| coalesce(l.pid::text,
					'prepared ' || coalesce(p.gid, l.prepared_xid::text))
		|| CASE WHEN l.in_cycle THEN ' (cycle)' ELSE '' END AS tree,
	l.depth,
	l.pid,
	p.gid,
	l.leader_pid,
	l.root_pid,
	l.blocked_count,
	l.in_cycle,
	l.held_by,
	l.queued_behind,
	l.locktype,
	l.lock_datid,
	l.lock_relid,
	(SELECT c.oid::pg_catalog.regclass
	 FROM pg_catalog.pg_class c
	 WHERE c.oid = l.lock_relid
	   AND coalesce(l.lock_datid = (SELECT o.oid
									FROM pg_catalog.pg_database o
									WHERE o.datname =
										  pg_catalog.current_database()),
					true)) AS relation,
	l.lock_key,
	l.mode,
	l.blocker_mode,
	l.wait_start,
	l.wait_time,
	l.backend_type,
	CASE WHEN l.prepared_xid IS NULL THEN l.state ELSE 'prepared' END AS state,
	coalesce(l.state_time,
			 1000 * greatest(pg_catalog.date_part('epoch',
												  l.read_at - p.prepared),
							 0)) AS state_time,
	l.xact_time,
	l.wait_event_type,
	l.wait_event,
	coalesce(l.datid, p.dbid) AS datid,
	d.datname,
	coalesce(l.usesysid, p.ownerid) AS usesysid,
	r.rolname AS usename,
	l.application_name,
	l.queryid,
	l.query,
	l.read_at
FROM pg_waitscope_get_lock_chains() l
LEFT JOIN pg_catalog.pg_prepared_xact() p ON p.transaction = l.prepared_xid
LEFT JOIN pg_catalog.pg_database d ON d.oid = coalesce(l.datid, p.dbid)
LEFT JOIN pg_catalog.pg_roles r ON r.oid = coalesce(l.usesysid, p.ownerid)
ORDER BY l.line;

COMMENT ON VIEW pg_waitscope_lock_chains IS
'Who waits for whom now, for heavyweight locks: those that hold up others and wait for nobody first, each with those that wait for it below. A process that waits for several stands below one that holds the lock, if possible one that waits for nobody itself, else the one that has waited longest; or, if it only has to queue, below the first in the queue that is in its way. Read by the calling backend itself, also without preloading. Locks, queues and who waits for whom are of one moment, the columns from backend_type on are read right after it: each row is consistent, the set is not. A wait that begins just then may not be in it.';
COMMENT ON COLUMN pg_waitscope_lock_chains.line IS
'Number of the row, by which the view is ordered: each tree from its root, trees with most processes behind their root first. Never NULL.';
COMMENT ON COLUMN pg_waitscope_lock_chains.tree IS
'The process id, or the name of a prepared transaction, indented by depth; "(cycle)" as in in_cycle. Never NULL.';
COMMENT ON COLUMN pg_waitscope_lock_chains.depth IS
'0: on top of a tree; else one more than the row it stands below. Never NULL.';
COMMENT ON COLUMN pg_waitscope_lock_chains.pid IS
'Process id. NULL: prepared transaction.';
COMMENT ON COLUMN pg_waitscope_lock_chains.gid IS
'Name that was given to a prepared transaction. NULL: a process, or the transaction was finished meanwhile.';
COMMENT ON COLUMN pg_waitscope_lock_chains.leader_pid IS
'Process id of the leader of a parallel worker; leader and workers hold locks together. NULL for all other processes.';
COMMENT ON COLUMN pg_waitscope_lock_chains.root_pid IS
'Process id on top of the tree. NULL: prepared transaction.';
COMMENT ON COLUMN pg_waitscope_lock_chains.blocked_count IS
'Number of processes that wait for this one, directly or for one that does, wherever they stand in the view. Never NULL.';
COMMENT ON COLUMN pg_waitscope_lock_chains.in_cycle IS
'Does it wait for itself by way of others? A deadlock, unless it can be solved by changing the order of a queue; the server looks after deadlock_timeout. Of a circle the process that has waited longest may stand on top. Never NULL.';
COMMENT ON COLUMN pg_waitscope_lock_chains.held_by IS
'Process ids that hold the lock in a mode that conflicts with the one wanted: of a parallel query the leader, 0 for a prepared transaction. Together with queued_behind what pg_blocking_pids() returns. NULL: waits for no heavyweight lock.';
COMMENT ON COLUMN pg_waitscope_lock_chains.queued_behind IS
'Process ids that do not hold it so, but want it in a mode that conflicts, and stand before it in the queue. NULL: waits for no heavyweight lock.';
COMMENT ON COLUMN pg_waitscope_lock_chains.locktype IS
'Type of the lock it waits for, as in pg_locks. NULL: waits for none.';
COMMENT ON COLUMN pg_waitscope_lock_chains.lock_datid IS
'OID of the database of what is to be locked. NULL: waits for no lock, or it is in no database.';
COMMENT ON COLUMN pg_waitscope_lock_chains.lock_relid IS
'OID of the relation that is to be locked, or that the page or tuple is in. NULL: there is none.';
COMMENT ON COLUMN pg_waitscope_lock_chains.relation IS
'That relation. NULL if there is none, if it is in another database, or not visible: dropped, or not committed yet.';
COMMENT ON COLUMN pg_waitscope_lock_chains.lock_key IS
'What else names the lock: number of a page, (page,tuple), transaction id, virtual transaction id, transaction id/token of a speculative insertion, key or (key,key) of an advisory lock, classid/objid/objsubid of any other object. NULL: nothing else does, or waits for none.';
COMMENT ON COLUMN pg_waitscope_lock_chains.mode IS
'Mode in which it wants the lock, as in pg_locks. NULL: waits for none.';
COMMENT ON COLUMN pg_waitscope_lock_chains.blocker_mode IS
'Mode in which the process above is in the way: the strongest that conflicts of those that it holds, or the one that it wants. NULL: waits for none.';
COMMENT ON COLUMN pg_waitscope_lock_chains.wait_start IS
'Moment since when it waits for the lock. NULL: waits for none, or not known (just begun; replay on a standby; before PostgreSQL 14).';
COMMENT ON COLUMN pg_waitscope_lock_chains.wait_time IS
'How long that is, in milliseconds. NULL: as wait_start.';
COMMENT ON COLUMN pg_waitscope_lock_chains.backend_type IS
'Kind of process, as in pg_stat_activity. NULL: prepared transaction, or not known.';
COMMENT ON COLUMN pg_waitscope_lock_chains.state IS
'State, as in pg_stat_activity; "prepared" for a prepared transaction. NULL: it has none, or not known.';
COMMENT ON COLUMN pg_waitscope_lock_chains.state_time IS
'How long it has been in that state, in milliseconds. NULL: as state.';
COMMENT ON COLUMN pg_waitscope_lock_chains.xact_time IS
'How long ago its transaction began, in milliseconds. NULL: it is in none; prepared transaction; not known.';
COMMENT ON COLUMN pg_waitscope_lock_chains.wait_event_type IS
'Type of the event it waits for, as in pg_stat_activity. NULL: it does not wait; prepared transaction; not known.';
COMMENT ON COLUMN pg_waitscope_lock_chains.wait_event IS
'Name of that event. A row in no tree is replay on a standby that is held up by something else than a lock, as RecoveryConflictSnapshot: the server does not tell by whom. NULL: as wait_event_type.';
COMMENT ON COLUMN pg_waitscope_lock_chains.datid IS
'Database it is connected to, or that a prepared transaction is of. NULL: none.';
COMMENT ON COLUMN pg_waitscope_lock_chains.datname IS
'Name of that database. NULL: none.';
COMMENT ON COLUMN pg_waitscope_lock_chains.usesysid IS
'Role that logged in, or that prepared the transaction. NULL: process of the server.';
COMMENT ON COLUMN pg_waitscope_lock_chains.usename IS
'Name of that role. NULL: there is none.';
COMMENT ON COLUMN pg_waitscope_lock_chains.application_name IS
'Name of the application that is connected. NULL: it gave none.';
COMMENT ON COLUMN pg_waitscope_lock_chains.queryid IS
'Id of the running statement, as in pg_stat_statements. NULL while none runs, if ids are not computed, and before PostgreSQL 14.';
COMMENT ON COLUMN pg_waitscope_lock_chains.query IS
'Text of the running, or else the last, statement, cut at track_activity_query_size. NULL: there is none.';
COMMENT ON COLUMN pg_waitscope_lock_chains.read_at IS
'When the locks were read, the same in each row. Never NULL.';

REVOKE ALL ON FUNCTION pg_waitscope_get_lock_chains() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pg_waitscope_get_lock_chains() TO pg_read_all_stats;
GRANT SELECT ON pg_waitscope_lock_chains TO pg_read_all_stats;

------------------------------------------------------------------------
-- lock_bench
------------------------------------------------------------------------

CREATE FUNCTION pg_waitscope_lock_bench(
	variants text[] DEFAULT '{rmw,lwlock,fmlock,spinlock}',
	clients integer[] DEFAULT NULL,
	write_pct integer[] DEFAULT '{0,5,50,100}',
	duration interval DEFAULT '100 ms',
	rounds integer DEFAULT 3,
	hold integer DEFAULT 0,
	think integer DEFAULT 0,
	OUT variant text,
	OUT clients integer,
	OUT write_pct integer,
	OUT ops_per_sec double precision,
	OUT min_ops_per_sec double precision,
	OUT max_ops_per_sec double precision,
	OUT ratio_to_lwlock double precision,
	OUT cpu_time double precision,
	OUT p50_wait_us double precision,
	OUT p99_wait_us double precision,
	OUT max_wait_us double precision,
	OUT fairness double precision,
	OUT lost bigint,
	OUT torn bigint,
	OUT reason text,
	OUT cpu_share double precision)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 48;

COMMENT ON FUNCTION pg_waitscope_lock_bench(text[], integer[], integer[], interval, integer, integer, integer) IS
'Compares locks on this machine: background workers take and release one lock as fast as they can. A slice of the given duration is run for each variant, number of clients, share of writes and round; variants take turns within a round. clients: numbers of workers; NULL: 1, one for each CPU, and 4 for each CPU or as many as there are worker slots. write_pct: percentages of operations that change what the lock guards. hold, think: turns of an empty loop (about a nanosecond each) while the lock is held, and between operations. Columns: ops_per_sec: median over the rounds, min_, max_: the least and the most; ratio_to_lwlock: median of the ratios to the variant lwlock in the same round, NULL without it; cpu_time: CPU time in milliseconds that the workers got in a slice (median); p50_wait_us, p99_wait_us, max_wait_us: time to acquire, of one in 64 acquisitions drawn at random, with the time to read the clock, NULL if none was drawn; fairness: operations of the slowest worker to those of the fastest (median); lost, torn: writes that were lost, reads that saw half of one, anything but 0 is a fault of the lock, NULL for rmw, which is no lock; reason: why this machine cannot run the variant, then all figures are NULL, else NULL; cpu_share: cpu_time to what that many workers could have had, 1 on a quiet machine unless waiters sleep. Nothing survives the call but the name pg_waitscope_lock_bench in pg_waitscope_fmlocks, with the counts of the variant fmlock. The caller''s snapshot is held meanwhile. Only superusers may call it until it is granted.';

REVOKE ALL ON FUNCTION pg_waitscope_lock_bench(text[], integer[], integer[], interval, integer, integer, integer) FROM PUBLIC;

CREATE VIEW pg_waitscope_lock_bench_pivot AS
SELECT b.clients,
       b.write_pct,
       round(max(b.ops_per_sec) FILTER (WHERE b.variant = 'lwlock'))::bigint
           AS lwlock,
       round(max(b.ops_per_sec) FILTER (WHERE b.variant = 'fmlock'))::bigint
           AS fmlock,
       max(b.ratio_to_lwlock) FILTER (WHERE b.variant = 'fmlock') AS ratio,
       round(max(b.ops_per_sec) FILTER (WHERE b.variant = 'spinlock'))::bigint
           AS spinlock,
       round(max(b.ops_per_sec) FILTER (WHERE b.variant = 'rmw'))::bigint
           AS rmw,
       max(b.cpu_share) AS cpu_share
FROM pg_waitscope_lock_bench() b
GROUP BY b.clients, b.write_pct
ORDER BY b.clients, b.write_pct;

COMMENT ON VIEW pg_waitscope_lock_bench_pivot IS
'Each read RUNS pg_waitscope_lock_bench() with its defaults, which takes about 15 seconds and all CPUs, and shows one row per number of clients and share of writes, one column per lock. For arguments of your own pivot its rows yourself: SELECT clients, write_pct, max(ops_per_sec) FILTER (WHERE variant = ''lwlock'') AS a, max(ops_per_sec) FILTER (WHERE variant = ''fm_native'') AS b, max(ratio_to_lwlock) FILTER (WHERE variant = ''fm_native'') AS ratio FROM pg_waitscope_lock_bench(variants => ''{lwlock,fm_native}'') GROUP BY 1, 2 ORDER BY 1, 2. Each row is consistent, the set is not: cells are measured one after the other, in turn. Only superusers may read it until it and the function are granted.';
COMMENT ON COLUMN pg_waitscope_lock_bench_pivot.clients IS
'Number of workers that use the lock. Never NULL.';
COMMENT ON COLUMN pg_waitscope_lock_bench_pivot.write_pct IS
'Percentage of operations that change what the lock guards, with the lock held exclusively. Never NULL.';
COMMENT ON COLUMN pg_waitscope_lock_bench_pivot.lwlock IS
'Operations per second with the server''s LWLock. Never NULL.';
COMMENT ON COLUMN pg_waitscope_lock_bench_pivot.fmlock IS
'Operations per second with the lock of the extension. Never NULL.';
COMMENT ON COLUMN pg_waitscope_lock_bench_pivot.ratio IS
'fmlock to lwlock, the median of the ratios within a round; above 1: the lock of the extension is faster. NULL if one of the rounds had no operation.';
COMMENT ON COLUMN pg_waitscope_lock_bench_pivot.spinlock IS
'Operations per second with the server''s spinlock, which knows no shared mode. Never NULL.';
COMMENT ON COLUMN pg_waitscope_lock_bench_pivot.rmw IS
'Pairs per second of an atomic addition and subtraction, which guard nothing: what any lock of two such operations costs at least. Never NULL.';
COMMENT ON COLUMN pg_waitscope_lock_bench_pivot.cpu_share IS
'CPU time the workers got to what they could have had, the largest of these locks; far below 1: the machine was busy, or all waiters slept. Never NULL.';
