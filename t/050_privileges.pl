# Who may see what.  Walks all objects of the extension as a role without
# privileges, and fails on one that it has no expectation for.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Session;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('privileges');
$node->init;
$node->append_conf('postgresql.conf', q{
shared_preload_libraries = 'pg_waitscope'
pg_waitscope.track_idle = on
pg_waitscope.history_period = 20
max_parallel_workers_per_gather = 1
autovacuum = off
});
$node->start;

# 13 has no query ids: nobody sees any.
my $have_ids =
  $node->safe_psql('postgres', 'SHOW server_version_num') >= 140000;
my $ids_shown = $have_ids ? 'IS NOT NULL' : 'IS NULL';

# Alice works; Bob is nobody; the heir has her privileges and the member has
# not; the monitor is the role that dashboards should use.
$node->safe_psql('postgres', q{
CREATE EXTENSION pg_waitscope;
CREATE ROLE regress_alice LOGIN;
CREATE ROLE regress_bob LOGIN;
CREATE ROLE regress_heir LOGIN IN ROLE regress_alice;
CREATE ROLE regress_member LOGIN NOINHERIT IN ROLE regress_alice;
CREATE ROLE regress_monitor LOGIN IN ROLE pg_monitor;
CREATE TABLE account AS SELECT 1 AS id;
ALTER TABLE account OWNER TO regress_alice;
CREATE TABLE wide WITH (parallel_workers = 1) AS
	SELECT g FROM generate_series(1, 10000) g;
GRANT SELECT ON wide TO regress_alice;
});
my @roles = qw(postgres regress_monitor regress_bob regress_heir regress_member);

# The superuser's name is that of whoever runs the tests.
my %session = map { $_ => Session->new($node, user => $_) } grep { !/postgres/ } @roles;
$session{postgres} = Session->new($node);

sub query
{
	my ($role, $sql) = @_;
	return $session{$role}->ask($sql);
}

# The error of a query that must fail.
sub query_error
{
	my ($role, $sql) = @_;
	$session{$role}->query($sql);
	return $session{$role}->errors;
}

sub wait_for
{
	my ($condition, $name) = @_;
	ok($node->poll_query_until('postgres', "SELECT $condition"), $name)
	  or BAIL_OUT("no use going on: $name");
}

# One session holds a row, the next waits for its transaction, the third for
# the row; another runs in parallel.
my ($holder, $waiter, $queued, $leader) =
  map { Session->new($node, user => 'regress_alice') } 1 .. 4;
my $bob = Session->new($node, user => 'regress_bob');
my $update = 'UPDATE account SET id = id';
$holder->query('BEGIN');
$holder->query($update);
$waiter->send("$update;\n");
wait_for("count(*) = 1 FROM pg_locks
	WHERE NOT granted AND locktype = 'transactionid'", 'a session waits');
$queued->send("$update;\n");
$leader->query($_)
  foreach 'SET parallel_setup_cost = 0', 'SET parallel_tuple_cost = 0',
  'SET min_parallel_table_scan_size = 0';
$leader->send("SELECT count(*) FROM wide WHERE pg_sleep(300) IS NULL;\n");
$bob->send("SELECT pg_sleep(300);\n");

wait_for($_->[0], "seen: $_->[1]")
  foreach (
	[
		"count(*) > 5 FROM pg_waitscope_history
		  WHERE pid = " . $queued->pid . " AND locktype = 'tuple'
			AND lock_relid = 'account'::regclass
			AND lock_mode = 'ExclusiveLock' AND queryid $ids_shown",
		'a lock wait'
	],
	[
		"count(*) > 5 FROM pg_waitscope_history
		  WHERE leader_pid = " . $leader->pid,
		'a parallel worker'
	],
	[
		"count(*) > 5 FROM pg_waitscope_history
		  WHERE pid = " . $bob->pid . " AND wait_event = 'PgSleep'",
		'a session of the role without privileges'
	],
	[
		"count(*) > 5 FROM pg_waitscope_history
		  WHERE state_class = 'background idle' AND usesysid IS NULL",
		'a process of the server'
	],
	[
		"count(*) = 2 FROM pg_waitscope_profile
		  WHERE usename IN ('regress_alice', 'regress_bob') AND wait_event = 'PgSleep'
			AND backend_type = 'client backend'",
		'both roles in the profile'
	]);

# Does a role see of each process the same as in pg_stat_activity?  Of a
# process whose type is hidden there, all of the columns given must be NULL,
# and else those of the second list must not.
sub compare_with_activity
{
	my ($role, $name, $rows, $hidden, $shown) = @_;
	my ($nonnulls, $nulls) =
	  map { join ', ', map { "h.$_" } split } ($hidden, $shown);

	my $wrong = query($role, qq{
		SELECT a.pid FROM ($rows) h JOIN pg_stat_activity a USING (pid)
		 WHERE a.pid <> pg_backend_pid()
		   AND ((a.datid, a.datname, a.usesysid, a.usename) IS DISTINCT FROM
				(h.datid, h.datname, h.usesysid, h.usename)
				OR CASE WHEN a.backend_type IS NULL
						THEN num_nonnulls($nonnulls) > 0
						ELSE num_nulls($nulls) > 0
							 OR h.leader_pid IS DISTINCT FROM a.leader_pid
				   END)});
	is($wrong, '', "$name shows $role as much as pg_stat_activity");
}

# Whose processes of the load does a role see, by one column?
sub visible
{
	my ($role, $relation, $column) = @_;
	return query($role, "SELECT string_agg(DISTINCT coalesce(r.rolname, '-'),
			' ' ORDER BY coalesce(r.rolname, '-'))
		  FROM $relation LEFT JOIN pg_roles r ON r.oid = usesysid
		 WHERE $column IS NOT NULL
		   AND coalesce(r.rolname, '-') IN ('regress_alice', 'regress_bob', '-')");
}
my %visible = (
	postgres        => '- regress_alice regress_bob',
	regress_monitor => '- regress_alice regress_bob',
	regress_bob     => 'regress_bob',
	regress_heir    => 'regress_alice',
	regress_member  => '');

sub test_history
{
	my ($object) = @_;
	foreach my $column (
		$object =~ /get_/
		? qw(state_class_code event_id)
		: qw(state_class wait_event wait_event_type))
	{
		is(visible($_, $object, $column),
			$visible{$_}, "$object: $column as seen by $_")
		  foreach @roles;
	}
	is( query('regress_bob', "SELECT count(*) FROM $object
			WHERE num_nulls(sampled_at, pid, weight_time) > 0"),
		'0', "$object: the rest is open");
}

sub test_history_function
{
	my ($object) = @_;
	test_history($object);
	is( query('regress_bob', "SELECT count(*) FROM $object
			WHERE usesysid IS DISTINCT FROM 'regress_bob'::regrole::oid
			  AND num_nonnulls(backend_type_code, leader_pid, state_class_code,
				event_id, lwlock_mode_code, locktype_code, lock_datid,
				lock_relid, lock_mode_code, queryid) > 0"),
		'0', "$object: nothing of other roles");
}

sub test_profile
{
	my ($object) = @_;
	my $event = $object =~ /get_/ ? 'event_id' : 'wait_event';
	my $type = $object =~ /get_/ ? 'backend_type_code' : 'backend_type';
	my $sums = "SELECT sum(samples), round(sum(est_time)), min(first_seen),
		max(last_seen) FROM $object";
	my $rest = "$event IS NULL";

	foreach my $role (@roles)
	{
		is(visible($role, $object, $event),
			$visible{$role}, "$object: events as seen by $role");
		is(query($role, $sums), query('postgres', $sums),
			"$object: sums are true for $role");
		is( query($role, "SELECT count(*) FROM $object WHERE $rest"),
			$role =~ /postgres|regress_monitor/ ? 0 : 1,
			"$object: one remainder for $role, if anything is hidden");
	}
	is( query('regress_bob', "SELECT count(*) FROM $object WHERE $rest
			AND num_nonnulls($type, datid, usesysid, queryid, pid) > 0"),
		'0', "$object: the remainder tells nothing but sums");
}

# Sums without role, object or query are the same for everybody.
sub test_open
{
	my ($object) = @_;
	my $sql = "SELECT * FROM $object";
	is(query('regress_bob', $sql), query('postgres', $sql),
		"$object: the same for everybody");
	is( query('regress_bob', "SELECT count(*) FROM (SELECT to_jsonb(o) AS o
			FROM $object o) o, jsonb_object_keys(o.o) AS key
			WHERE key ~ '^(pid|leader_pid|usesysid|usename|datid|datname|queryid|query|relation|relid)\$'"),
		'0', "$object: no role, object or query in it");
}

# Their figures go on changing, but hold nothing of anybody.
sub test_changing
{
	my ($object) = @_;
	is( query('regress_bob', "SELECT count(*) = (SELECT count(*) FROM $object)
			FROM $object"),
		't', "$object: open to everybody");
}

sub test_summary
{
	my ($object) = @_;
	my $event = $object =~ /get_/
	  ? 'pg_waitscope_event_name(event_id)' : 'wait_event';
	my $sql = "SELECT top_queryid FROM $object WHERE $event = 'tuple'";
	my $queryid = query('postgres', 'SELECT queryid FROM pg_waitscope_history
		WHERE pid = ' . $queued->pid . " AND wait_event = 'tuple' LIMIT 1");

	wait_for("count(*) = 1 FROM $object WHERE $event = 'tuple'
		AND aas_10s > 0", "$object: there is a wait for a row");
	isnt($queryid, '', "$object: of a known query") if $have_ids;
	is(query($_, $sql), $queryid, "$object: $_ sees the query")
	  foreach qw(postgres regress_monitor regress_heir);
	is(query($_, $sql), '', "$object: $_ does not see the query")
	  foreach qw(regress_bob regress_member);
	is(query('regress_bob', "SELECT count(*) FROM $object WHERE $event = 'tuple'"),
		'1', "$object: but the event");
}

sub test_activity
{
	my ($object) = @_;
	my $view = $object !~ /get_/;
	my $hidden = 'backend_type leader_pid client_addr state state_class
		wait_event_type wait_event lwlock_mode locktype mode wait_start
		queryid query ' . ($view ? 'relation blocked_by' : 'relid');

	foreach my $role (@roles)
	{
		is(visible($role, $object, 'state_class'),
			$visible{$role}, "$object: processes as seen by $role");
		compare_with_activity($role, $object, "SELECT * FROM $object", $hidden,
			'backend_type state_class')
		  if $view;
	}
	is( query('regress_bob', 'SELECT count(*) FROM ' . $object . " h
			WHERE usesysid IS DISTINCT FROM 'regress_bob'::regrole::oid
			  AND num_nonnulls(" . join(', ', split ' ', $hidden) . ') > 0'),
		'0', "$object: nothing of other roles");
}

sub test_sample
{
	my $sample = "pg_waitscope_sample('200 ms', '10 ms')";
	my $ids = $have_ids ? 't' : 'f';
	my $sql = "SELECT DISTINCT datid IS NOT NULL, queryid IS NOT NULL
		FROM $sample WHERE wait_event = ";

	is(query($_, "$sql 'tuple'"), "t|$ids", "$sample: $_ sees the query")
	  foreach qw(postgres regress_monitor regress_heir);
	is(query($_, "$sql 'tuple'"), 'f|f', "$sample: $_ sees only the event")
	  foreach qw(regress_bob regress_member);
	is( query('regress_bob', "$sql 'PgSleep' ORDER BY 1, 2"),
		"f|f\nt|$ids", "$sample: regress_bob sees his own query beside");
}

sub test_name
{
	my ($object) = @_;
	my ($function) = $object =~ /(\w+)\(/;
	isnt(query('regress_bob', "SELECT string_agg($function(code), ',')
			FROM generate_series(0, 5) AS code"),
		'', "$object: names are no secret");
}

sub test_reset
{
	my ($object) = @_;
	like(query_error($_, 'SELECT pg_waitscope_reset()'),
		qr/permission denied for function pg_waitscope_reset/,
		"$object: refused for $_")
	  foreach grep { $_ ne 'postgres' } @roles;
	$node->safe_psql('postgres',
		'GRANT EXECUTE ON FUNCTION pg_waitscope_reset TO regress_monitor');
	is(query('regress_monitor', "SELECT pg_waitscope_reset('lwlocks')"),
		'', "$object: allowed where granted");
}

sub test_refused
{
	my ($object) = @_;
	like(query_error($_, "SELECT * FROM $object"),
		qr/permission denied for (view|function) pg_waitscope_/,
		"$object: refused for $_")
	  foreach qw(regress_bob regress_heir regress_member);
	is(query_error($_, "SELECT count(*) FROM $object"),
		'', "$object: $_ may look at it")
	  foreach qw(postgres regress_monitor);
}

sub test_lock_bench
{
	my ($object) = @_;
	my $function = 'pg_waitscope_lock_bench';
	my $args = "'{rmw}', '{1}', '{0}', '10 ms', 1";
	my $view = $object =~ /pivot/;
	my $sql = $view ? "SELECT * FROM $object" : "SELECT * FROM $function($args)";

	like(query_error($_, $sql),
		qr/permission denied for (function|view) pg_waitscope_lock_bench/,
		"$object: refused for $_")
	  foreach grep { $_ ne 'postgres' } @roles;
	return if $view;
	$node->safe_psql('postgres',
		"GRANT EXECUTE ON FUNCTION $function TO regress_monitor");
	# It warns of a busy machine.
	query('regress_monitor', 'SET client_min_messages = error');
	is(query('regress_monitor', "SELECT count(*) FROM $function($args)"),
		'1', "$object: allowed where granted");
	query('regress_monitor', 'RESET client_min_messages');
}

# What must be looked at while the sampler runs.
my %expected_moving = (
	'pg_waitscope_activity'                  => \&test_activity,
	'pg_waitscope_get_activity()'            => \&test_activity,
	'pg_waitscope_sample(interval,interval)' => \&test_sample,
	'pg_waitscope_summary'                   => \&test_summary,
	'pg_waitscope_get_summary()'             => \&test_summary);

# All else is looked at when nothing is counted any more.
my %expected = (
	'pg_waitscope_events'                     => \&test_open,
	'pg_waitscope_get_events()'               => \&test_open,
	'pg_waitscope_wait_lengths'               => \&test_open,
	'pg_waitscope_get_wait_lengths()'         => \&test_open,
	'pg_waitscope_lwlocks'                    => \&test_open,
	'pg_waitscope_get_lwlocks()'              => \&test_open,
	'pg_waitscope_hot_blocks'                 => \&test_refused,
	'pg_waitscope_get_hot_blocks()'           => \&test_refused,
	'pg_waitscope_lock_chains'                => \&test_refused,
	'pg_waitscope_get_lock_chains()'          => \&test_refused,
	'pg_waitscope_stores'                     => \&test_open,
	'pg_waitscope_get_stores()'               => \&test_open,
	'pg_waitscope_lock_blockers'              => \&test_refused,
	'pg_waitscope_get_lock_blockers()'        => \&test_refused,
	'pg_waitscope_lock_wait_history'          => \&test_refused,
	'pg_waitscope_get_lock_wait_history()'    => \&test_refused,
	'pg_waitscope_lock_waits'                 => \&test_refused,
	'pg_waitscope_get_lock_waits()'           => \&test_refused,
	'pg_waitscope_lwlock_instances'           => \&test_refused,
	'pg_waitscope_get_lwlock_instances()'     => \&test_refused,
	'pg_waitscope_fmlocks'                    => \&test_changing,
	'pg_waitscope_get_fmlocks()'              => \&test_changing,
	'pg_waitscope_status'                     => \&test_changing,
	'pg_waitscope_get_status()'               => \&test_changing,
	'pg_waitscope_history'                    => \&test_history,
	'pg_waitscope_get_history()'              => \&test_history_function,
	'pg_waitscope_profile'                    => \&test_profile,
	'pg_waitscope_get_profile()'              => \&test_profile,
	'pg_waitscope_event_type(integer)'        => \&test_name,
	'pg_waitscope_event_name(integer)'        => \&test_name,
	'pg_waitscope_backend_type_name(integer)' => \&test_name,
	'pg_waitscope_state_class_name(integer)'  => \&test_name,
	'pg_waitscope_lwlock_mode_name(integer)'  => \&test_name,
	'pg_waitscope_locktype_name(integer)'     => \&test_name,
	'pg_waitscope_lock_mode_name(integer)'    => \&test_name,
	'pg_waitscope_lock_bench_pivot'           => \&test_lock_bench,
	'pg_waitscope_lock_bench(text[],integer[],integer[],interval,integer,integer,integer)'
	  => \&test_lock_bench,
	'pg_waitscope_reset(text)'                => \&test_reset);

my $members = q{pg_depend
	 WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e'
	   AND refobjid = (SELECT oid FROM pg_extension
						WHERE extname = 'pg_waitscope')};
my %found = map { $_ => 1 } split /\n/, query('regress_bob', qq{
	SELECT objid::regprocedure::text FROM $members
	   AND classid = 'pg_proc'::regclass
	UNION ALL
	SELECT objid::regclass::text FROM $members
	   AND classid = 'pg_class'::regclass});

foreach my $object (sort keys %found)
{
	fail("$object: there is an expectation of what it shows to whom")
	  if !$expected{$object} && !$expected_moving{$object};
}
is(join(' ', grep { !$found{$_} } sort keys %expected, keys %expected_moving),
	'', 'no expectation without an object');

compare_with_activity($_, 'pg_waitscope_history', 'SELECT DISTINCT ON (pid) * FROM
	pg_waitscope_history ORDER BY pid, sampled_at DESC',
	'backend_type leader_pid state_class wait_event_type wait_event
	lwlock_mode locktype lock_datid lock_relid lock_mode queryid',
	'backend_type state_class wait_event_type wait_event')
  foreach @roles;
$expected_moving{$_}->($_) foreach sort keys %expected_moving;

$node->safe_psql('postgres', 'ALTER SYSTEM SET pg_waitscope.sampling = off');
$node->reload;
wait_for('NOT sampling FROM pg_waitscope_status', 'sampling is off');
$expected{$_}->($_) foreach sort keys %expected;

# Without the user an entry belongs to nobody known: only sums are shown.
$_->quit foreach values %session;
$node->append_conf('postgresql.conf', "pg_waitscope.profile_by = 'query'");
$node->safe_psql('postgres', 'ALTER SYSTEM RESET pg_waitscope.sampling');
$node->restart;
%session = (regress_bob => Session->new($node, user => 'regress_bob'));
query('regress_bob', 'SELECT pg_sleep(0.5)');
wait_for("count(*) > 0 FROM pg_waitscope_profile WHERE wait_event = 'PgSleep'
	AND queryid $ids_shown
	AND num_nonnulls(backend_type, datid, usesysid, pid) = 0",
	'dimensions that are off are NULL');
is( query('regress_bob', 'SELECT count(*), count(wait_event), count(queryid)
		FROM pg_waitscope_profile'),
	'1|0|0', 'without the user regress_bob sees nothing but sums');

$node->stop('immediate');
done_testing();
