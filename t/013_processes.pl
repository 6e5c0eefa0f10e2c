# What the versions of the server do differently: where the status entry of a
# process is, whether there are query ids, what is known without
# track_activities, and which numbers of ours nobody may keep.

use strict;
use warnings;

use File::Find;
use FindBin;
use lib $FindBin::RealBin;

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Session;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('processes');
$node->init(allows_streaming => 1, has_archiving => 1);
$node->append_conf('postgresql.conf', q{
shared_preload_libraries = 'pg_waitscope'
autovacuum = on
autovacuum_naptime = 1d
max_parallel_workers_per_gather = 2
});
$node->start;
my $version = $node->safe_psql('postgres', 'SHOW server_version_num');
my $have_ids = $version >= 140000;
$node->safe_psql('postgres', q{
CREATE EXTENSION pg_waitscope;
CREATE TABLE wide WITH (parallel_workers = 2) AS
	SELECT g FROM generate_series(1, 10000) g;});

sub query
{
	my ($sql) = @_;
	return $node->safe_psql('postgres', $sql);
}

sub wait_for
{
	my ($condition, $name) = @_;
	ok($node->poll_query_until('postgres', "SELECT $condition"), $name);
}

# A client, parallel workers, a walsender, and one that does not report.
my $leader = Session->new($node);
my $silent = Session->new($node, options => '-c track_activities=off');
$leader->query($_)
  foreach 'SET parallel_setup_cost = 0', 'SET parallel_tuple_cost = 0',
  'SET min_parallel_table_scan_size = 0';
$leader->send("SELECT count(*) FROM wide WHERE pg_sleep(600) IS NULL;\n");
$silent->send("SELECT pg_sleep(600);\n");
my ($leader_pid, $silent_pid) = map { $_->pid } $leader, $silent;
my $wal_dir = PostgreSQL::Test::Utils::tempdir();
my $receiver = IPC::Run::start(
	[ 'pg_receivewal', '-n', '-D', $wal_dir, '-d', $node->connstr('postgres') ],
	'<', '/dev/null', '>', '/dev/null', '2>', '/dev/null');
wait_for(q{count(*) = 1 FROM pg_stat_replication WHERE state = 'streaming'},
	'a walsender sends');
wait_for("count(*) = 2 FROM pg_stat_activity
	WHERE leader_pid = $leader_pid AND wait_event = 'PgSleep'",
	'two workers help');

#
# Each process has the status entry that the server gave it.  How to find it
# differs: by a number of its own, by its kind, or by its slot.
#
my @types = (
	'autovacuum launcher', 'background writer', 'checkpointer',
	'client backend', 'logical replication launcher', 'parallel worker',
	'pg_waitscope keeper', 'pg_waitscope sampler', 'walsender', 'walwriter');
push @types, 'archiver' if $version >= 140000;
push @types, 'io worker' if $version >= 180000;
is( query(q{
		SELECT string_agg(backend_type, ', ' ORDER BY backend_type COLLATE "C")
		  FROM (SELECT DISTINCT backend_type FROM pg_waitscope_activity) t}),
	join(', ', sort @types), 'there is one of each kind');
my $columns = q{pid, leader_pid, backend_type, datid, usesysid,
	nullif(application_name, ''), client_addr, state};
wait_for(qq{count(*) = 0
	  FROM (WITH ours AS MATERIALIZED (
				SELECT $columns FROM pg_waitscope_activity),
			 servers AS MATERIALIZED (
				SELECT $columns FROM pg_stat_activity)
			((TABLE ours EXCEPT TABLE servers) UNION ALL
			 (TABLE servers EXCEPT TABLE ours))) differences},
	'each is as in pg_stat_activity');

# The sampler's scan finds the same entries.
foreach my $type ('client backend', 'background worker')
{
	wait_for(qq{count(*) > 0 FROM pg_waitscope_profile
		 WHERE backend_type = '$type' AND datname = 'postgres'
		   AND wait_event = 'PgSleep'}, "a $type is sampled as what it is");
}

#
# Query ids from 14 on; without them their columns are NULL, and never 0.
# One view needs a wait for a lock; lock_chains, one that goes on.
#
my $holder = Session->new($node);
$holder->ask('SELECT pg_advisory_lock(1)');
$node->psql('postgres', q{SET lock_timeout = '200ms'; SELECT pg_advisory_lock(1)});
$holder->quit;
my @with_ids = split /\n/, query(q{
	SELECT attrelid::regclass || '.' || attname
	  FROM pg_attribute
	 WHERE attrelid::regclass::text LIKE 'pg\_waitscope\_%'
	   AND attrelid::regclass::text <> 'pg_waitscope_lock_chains'
	   AND attname LIKE '%queryid' AND attnum > 0});
is(scalar(@with_ids), 5, 'five views have query ids');
foreach my $column (@with_ids)
{
	my ($view, $name) = split /\./, $column;
	wait_for(($have_ids ? '' : 'NOT ')
		. "EXISTS (SELECT FROM $view WHERE $name IS NOT NULL)",
		"$view has " . ($have_ids ? 'some' : 'none'));
	is(query("SELECT count(*) FROM $view WHERE $name = 0"),
		'0', '... and no 0');
}

#
# track_activities = off.  Before 14 that takes waits with it.
#
my $silent_row = "SELECT state, state_class, wait_event_type, wait_event,
	queryid FROM pg_waitscope_activity WHERE pid = $silent_pid";
is( query($silent_row),
	$have_ids ? 'disabled|foreground|Timeout|PgSleep|' : 'disabled|hidden|||',
	'what is known of a session that does not report');
my $hidden = query('SELECT hidden_samples FROM pg_waitscope_status');
$leader->send("\n");
$node->safe_psql('postgres', "SELECT pg_cancel_backend($leader_pid)");
$leader->finish;
wait_for("count(*) = 0 FROM pg_stat_activity
	WHERE leader_pid = $leader_pid", 'the only other load ends');
my $sleeps = q{coalesce(sum(samples), 0) FROM pg_waitscope_events
	WHERE wait_event = 'PgSleep'};
my $before = query("SELECT $sleeps");
if ($have_ids)
{
	wait_for("$before + 20 < $sleeps", 'its waits are load');
}
else
{
	wait_for("hidden_samples > $hidden + 20 FROM pg_waitscope_status",
		'it is counted as hidden');
	is(query("SELECT $sleeps"), $before, '... and only so');
}

#
# Codes of events move from version to version: they live in memory only, and
# the views tell names.
#
is( query(q{
		SELECT string_agg(format('%s.%s', attrelid::regclass, attname), ' ')
		  FROM pg_attribute a JOIN pg_class c ON c.oid = attrelid
		 WHERE relname LIKE 'pg\_waitscope\_%' AND attnum > 0
		   AND (attname ~ 'event|tranche|mode|locktype|class|backend_type'
				AND atttypid NOT IN ('text'::regtype, 'name'::regtype)
				OR attname ~ '_(code|id|info)$')}),
	'', 'no view shows a code');
is( query(q{
		SELECT count(*) FROM pg_extension
		 WHERE extname = 'pg_waitscope' AND extconfig IS NOT NULL}),
	'0', 'a dump takes nothing along');
$receiver->kill_kill;
$leader->quit;
$node->safe_psql('postgres', "SELECT pg_terminate_backend($silent_pid)");
$node->stop('fast');
my @files;
find(sub { push @files, $File::Find::name if /waitscope/ }, $node->data_dir);
is("@files", '', 'nor is there a file when the server is down');

done_testing();
