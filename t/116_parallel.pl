# Parallel workers: sampled as load of the leader's statement, and shown as
# the server reports them, those of maintenance commands, too.  (What was
# sampled does not tell kinds of background workers apart.)

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Session;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('parallel');
$node->init;
$node->append_conf('postgresql.conf', q{
shared_preload_libraries = 'pg_waitscope'
pg_waitscope.profile_by = 'backend_type, database, user, query, pid'
autovacuum = off
max_worker_processes = 8
parallel_setup_cost = 0
parallel_tuple_cost = 0
min_parallel_table_scan_size = 0
min_parallel_index_scan_size = 0
max_parallel_workers_per_gather = 2
max_parallel_maintenance_workers = 2
maintenance_work_mem = 128MB
});
$node->start;
my $have_ids = $node->safe_psql('postgres', 'SHOW server_version_num') >= 140000;
$node->safe_psql('postgres', q{
CREATE EXTENSION pg_waitscope;
CREATE TABLE items (id int, n int) WITH (parallel_workers = 2);
INSERT INTO items SELECT g, g FROM generate_series(1, 20000) g;
CREATE INDEX ON items (id);
CREATE INDEX ON items (n);
ANALYZE items;
CREATE FUNCTION slow(a int) RETURNS int IMMUTABLE PARALLEL SAFE
	LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(600); RETURN a; END';
});

my $leader = Session->new($node);
my $pid = $leader->pid;

sub wait_for
{
	my ($condition, $name) = @_;
	ok($node->poll_query_until('postgres', "SELECT $condition"), $name);
}

# A process that ends in the middle makes the two views differ; then again.
my $core_id = $have_ids ? 'query_id' : 'NULL';
my $columns = 'pid, leader_pid, backend_type, state, usesysid, datid';
sub shown_as_reported
{
	my ($workers, $event) = @_;
	return qq{count(*) = $workers AND bool_and(same)
		  FROM (SELECT ours.pid <> ours.leader_pid
					   AND ours.state_class = 'foreground'
					   AND (ours.leader_pid, ours.backend_type, ours.state,
							ours.usesysid, ours.datid, ours.wait_event)
						 = (servers.leader_pid, servers.backend_type,
							servers.state, servers.usesysid, servers.datid,
							servers.wait_event)
					   AND ours.queryid IS NOT DISTINCT FROM $core_id AS same
				  FROM (SELECT * FROM pg_waitscope_activity OFFSET 0) ours
				  JOIN (SELECT * FROM pg_stat_activity OFFSET 0) servers
				 USING (pid)
				 WHERE ours.backend_type = 'parallel worker'
				   AND ours.leader_pid = $pid
				   AND ours.wait_event = '$event') workers};
}

sub cancel
{
	$node->safe_psql('postgres', "SELECT pg_cancel_backend($pid)");
	$leader->finish;
	like($leader->errors, qr/canceling statement/, '... until it is cancelled');
	wait_for(qq{count(*) = 0 FROM pg_waitscope_activity
		 WHERE leader_pid = $pid}, '... and no worker is left');
	return;
}

sub leader_id
{
	return $node->safe_psql('postgres', "SELECT $core_id FROM pg_stat_activity
		WHERE pid = $pid");
}

# A query; leader and workers sleep.
$leader->send("SELECT count(*) FROM items WHERE pg_sleep(600) IS NULL;\n");
wait_for(shown_as_reported(2, 'PgSleep'), 'workers of a query are as reported');
my $queryid = leader_id();
like($queryid, $have_ids ? qr/^-?\d+$/ : qr/^$/, 'the leader has a query id');
is( $node->safe_psql('postgres', qq{
		SELECT DISTINCT queryid FROM pg_waitscope_activity
		 WHERE leader_pid = $pid}),
	$queryid, '... that the workers share');
wait_for(qq{count(*) = 3 AND bool_and(seen > 5)
	  FROM (SELECT pid, count(*) AS seen FROM pg_waitscope_history
			 WHERE wait_event = 'PgSleep' AND state_class = 'foreground'
			   AND (pid = $pid AND leader_pid IS NULL
					AND backend_type = 'client backend'
					OR leader_pid = $pid AND backend_type = 'background worker')
			   AND coalesce(queryid::text, '') = '$queryid'
			   AND datname = 'postgres' AND usename = current_user
			 GROUP BY pid) processes},
	'the history has leader and workers under one id');
is( $node->safe_psql('postgres', qq{
		SELECT backend_type, count(*), bool_and(samples > 5)
		  FROM pg_waitscope_profile
		 WHERE wait_event = 'PgSleep'
		   AND coalesce(queryid::text, '') = '$queryid'
		 GROUP BY 1 ORDER BY 1}),
	"background worker|2|t\nclient backend|1|t", 'so has the profile');
cancel();

# The workers are load, each for itself.  Figures belong together while
# sampling is off.
my @counts = split /\|/, do
{
	$node->append_conf('postgresql.conf', 'pg_waitscope.sampling = off');
	$node->reload;
	wait_for('NOT sampling FROM pg_waitscope_status', 'sampling is off');
	$node->safe_psql('postgres', q{
		SELECT (SELECT samples FROM pg_waitscope_events
				 WHERE wait_event = 'PgSleep'),
			   (SELECT sum(samples) FROM pg_waitscope_profile
				 WHERE wait_event = 'PgSleep'),
			   (SELECT max(samples) FROM pg_waitscope_profile
				 WHERE wait_event = 'PgSleep')});
};
is($counts[0], $counts[1], 'events count leader and workers as the profile does');
cmp_ok($counts[0], '>', 2 * $counts[2], '... more than twice the leader\'s samples');
$node->append_conf('postgresql.conf', 'pg_waitscope.sampling = on');
$node->reload;
wait_for('sampling FROM pg_waitscope_status', 'sampling is on');

# Building an index; leader and workers sleep in its expression.
$leader->send("CREATE INDEX ON items (slow(id));\n");
wait_for(shown_as_reported(2, 'PgSleep'),
	'workers that build an index are as reported');
sub sampled_as_shown
{
	my ($event) = @_;
	return qq{count(*) > 5 FROM pg_waitscope_history h
		  JOIN pg_waitscope_activity a
		 USING (pid, leader_pid, state_class, wait_event)
		 WHERE a.backend_type = 'parallel worker' AND wait_event = '$event'
		   AND h.queryid IS NOT DISTINCT FROM a.queryid};
}
wait_for(sampled_as_shown('PgSleep'), '... and sampled so');
cancel();

# Vacuum of indexes, slowed down by its cost.
$node->safe_psql('postgres', 'DELETE FROM items WHERE id % 2 = 0');
$leader->query('SET vacuum_cost_delay = 100; SET vacuum_cost_limit = 1');
$leader->send("VACUUM (PARALLEL 2, INDEX_CLEANUP on) items;\n");
wait_for(shown_as_reported(1, 'VacuumDelay'),
	'a worker that vacuums an index is as reported');
wait_for(sampled_as_shown('VacuumDelay'), '... and sampled so');
cancel();

$leader->quit;
$node->stop('fast');
done_testing();
