-- What clients may rely on: columns of the views, and rules that every
-- object of the extension keeps.
CREATE EXTENSION pg_waitscope;

SELECT c.relname AS view, a.attnum AS n, a.attname AS "column",
       format_type(a.atttypid, a.atttypmod) AS type
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
WHERE c.relname IN ('pg_waitscope_summary', 'pg_waitscope_events',
                    'pg_waitscope_history', 'pg_waitscope_profile',
                    'pg_waitscope_lwlocks', 'pg_waitscope_lwlock_instances',
                    'pg_waitscope_hot_blocks', 'pg_waitscope_wait_lengths', 'pg_waitscope_lock_waits',
                    'pg_waitscope_lock_wait_history', 'pg_waitscope_lock_blockers',
                    'pg_waitscope_lock_chains',
                    'pg_waitscope_fmlocks', 'pg_waitscope_status',
                    'pg_waitscope_stores')
ORDER BY c.relname COLLATE "C", a.attnum;

-- All objects of the extension
CREATE TEMP VIEW members AS
SELECT d.classid, d.objid,
       (pg_identify_object(d.classid, d.objid, 0)).*
FROM pg_depend d
WHERE d.refclassid = 'pg_extension'::regclass
  AND d.refobjid = (SELECT oid FROM pg_extension
                    WHERE extname = 'pg_waitscope')
  AND d.deptype = 'e';

-- Only views and functions; from 17 on the types of the views' rows, and of
-- arrays of them, are members, too.
SELECT DISTINCT m.type
FROM members m
     LEFT JOIN pg_type t ON m.classid = 'pg_type'::regclass AND m.objid = t.oid
     LEFT JOIN pg_type row_type ON row_type.oid IN (t.oid, t.typelem)
                                   AND row_type.typrelid <> 0
     LEFT JOIN members v ON v.type = 'view' AND v.objid = row_type.typrelid
WHERE v.objid IS NULL
ORDER BY type;

-- Without a comment: none
SELECT identity FROM members
WHERE type IN ('view', 'function')
  AND coalesce(obj_description(objid, classid::regclass::name), '') = '';
SELECT m.identity, a.attname
FROM members m JOIN pg_attribute a ON a.attrelid = m.objid
WHERE m.type = 'view' AND a.attnum > 0
  AND coalesce(col_description(m.objid, a.attnum), '') = '';
-- A view's comment that does not tell how consistent it is: none
SELECT identity FROM members
WHERE type = 'view'
  AND obj_description(objid, 'pg_class') !~* 'each row is consistent, the set is not';

-- Named without the prefix, or with a reserved word: none
SELECT identity FROM members
WHERE type IN ('view', 'function') AND identity !~ '^public\.pg_waitscope_';
WITH names AS (
	SELECT m.identity, a.attname AS name
	FROM members m JOIN pg_attribute a ON a.attrelid = m.objid
	WHERE m.type = 'view' AND a.attnum > 0
	UNION ALL
	SELECT m.identity, argument
	FROM members m JOIN pg_proc p ON p.oid = m.objid,
	     unnest(p.proargnames) AS argument
	WHERE m.type = 'function')
SELECT identity, name
FROM names JOIN pg_get_keywords() k ON k.word = names.name
WHERE k.catcode IN ('R', 'T');

-- Functions behind views read shared memory anew with each call, which the
-- memory of a parallel worker cannot do for its leader; names do not change
-- within a query.  Exceptions to the rules: none but reset, lock_bench, and
-- sample, which refuses NULL as lock_bench does
SELECT m.identity, p.provolatile, p.proparallel, p.proisstrict, p.proretset,
       p.prorows
FROM members m JOIN pg_proc p ON p.oid = m.objid
WHERE m.type = 'function'
  AND NOT (p.proparallel = 'r' AND (p.proisstrict OR p.pronargs = 0)
           AND (p.proretset AND p.provolatile = 'v' AND p.prorows <> 1000
                OR NOT p.proretset AND p.provolatile = 's'))
ORDER BY m.identity COLLATE "C";

-- Moments, counts and durations have one type each.  Exceptions: none but
-- the windows and their share, which are rounded for eyes
SELECT c.relname, a.attname, format_type(a.atttypid, NULL) AS type
FROM members m JOIN pg_class c ON c.oid = m.objid
     JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
WHERE m.type = 'view'
  AND (a.attname ~ '_time$' AND a.atttypid <> 'float8'::regtype
       OR a.attname ~ '(_at|_seen|_reset|_start)$' AND a.atttypid <> 'timestamptz'::regtype
       OR a.attname ~ 'samples|ticks|evictions|entries|bytes' AND a.atttypid <> 'int8'::regtype
       OR a.attname ~ 'pid$' AND a.atttypid <> 'int4'::regtype
       OR a.atttypid IN ('interval'::regtype, 'numeric'::regtype))
ORDER BY c.relname COLLATE "C", a.attnum;

-- Anybody may read the views, and call the functions but reset and lock_bench;
-- exceptions: those that need the privileges of pg_read_all_stats.
SELECT identity FROM members
WHERE type = 'view'
  AND NOT EXISTS (SELECT 1 FROM pg_class c, aclexplode(c.relacl) a
                  WHERE c.oid = objid AND a.grantee = 0
                    AND a.privilege_type = 'SELECT')
ORDER BY identity COLLATE "C";
SELECT identity FROM members JOIN pg_proc p ON p.oid = objid
WHERE type = 'function' AND p.proacl IS NOT NULL
ORDER BY identity COLLATE "C";
SELECT m.identity, a.grantee::regrole, a.privilege_type
FROM members m LEFT JOIN pg_class c ON m.type = 'view' AND c.oid = m.objid
     LEFT JOIN pg_proc p ON m.type = 'function' AND p.oid = m.objid,
     aclexplode(coalesce(c.relacl, p.proacl)) a
WHERE a.grantee NOT IN (0, coalesce(c.relowner, p.proowner))
ORDER BY m.identity COLLATE "C";

-- What is not used costs nothing: no name, no join
EXPLAIN (COSTS OFF) SELECT count(*) FROM pg_waitscope_history;
EXPLAIN (COSTS OFF) SELECT count(*) FROM pg_waitscope_profile;

-- Names of codes
SELECT pg_waitscope_event_type(0), pg_waitscope_event_name(0);
SELECT pg_waitscope_event_type(-1), pg_waitscope_event_name(-1),
       pg_waitscope_event_type(65536), pg_waitscope_event_name(65536);
SELECT code, pg_waitscope_state_class_name(code) AS state_class,
       pg_waitscope_lwlock_mode_name(code) AS lwlock_mode
FROM generate_series(-1, 6) AS code;
SELECT count(*) FILTER (WHERE pg_waitscope_backend_type_name(code) = 'client backend') AS client_backend,
       count(*) FILTER (WHERE pg_waitscope_backend_type_name(code) = 'walwriter') AS walwriter,
       count(*) FILTER (WHERE pg_waitscope_backend_type_name(code) ~ '^$|not init') AS nothing
FROM generate_series(-1, 300) AS code;
SELECT code, pg_waitscope_locktype_name(code) AS locktype,
       pg_waitscope_lock_mode_name(code) AS lock_mode
FROM generate_series(-1, 11) AS code;
SELECT pg_waitscope_lock_mode_name(1000), pg_waitscope_locktype_name(1000);

DROP EXTENSION pg_waitscope CASCADE;
