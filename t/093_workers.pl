# Processes as the server names them: our own sampler and its sleep, the
# library itself, and the workers for I/O that 18 brought.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Session;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('workers');
$node->init;
$node->append_conf('postgresql.conf', q{
shared_preload_libraries = 'pg_waitscope'
pg_waitscope.history_period = 20
pg_waitscope.sample_period = 2
shared_buffers = 1MB
autovacuum = off
});
$node->start;
my $version = $node->safe_psql('postgres', 'SHOW server_version_num');
my $have_io_workers = $version >= 180000;
# 19 starts more of them when there is work.
$node->append_conf('postgresql.conf', "io_method = worker\n" . (
		$version < 190000 ? 'io_workers = 3'
		: "io_min_workers = 3\nio_max_workers = 3"))
  if $have_io_workers;
$node->restart if $have_io_workers;
$node->safe_psql('postgres', 'CREATE EXTENSION pg_waitscope');

my $reader = Session->new($node);

sub query
{
	my ($sql) = @_;
	return $reader->ask($sql);
}

# The sampler's sleep has a name of its own where the server has such.
my $sleep = 'Extension/'
  . ($version >= 170000 ? 'PgWaitscopeSampler' : 'Extension');
foreach my $view ('pg_stat_activity', 'pg_waitscope_activity')
{
	ok( $node->poll_query_until('postgres', qq{
			SELECT wait_event_type || '/' || wait_event = '$sleep'
			  FROM $view WHERE backend_type = 'pg_waitscope sampler'}),
		"the sampler sleeps in $sleep, says $view");
}
is(query(q{SELECT count(*) FROM pg_wait_events WHERE type = 'Extension'
		AND name = 'PgWaitscopeSampler'}),
	'1', '... and pg_wait_events has it')
  if $version >= 170000;
ok( $node->poll_query_until('postgres', q{
		SELECT state_class = 'background idle' FROM pg_waitscope_activity
		 WHERE backend_type = 'pg_waitscope sampler'}),
	'... which is no load');

# So has the sleep of sample().
my $sampling = Session->new($node);
$sampling->send("SELECT * FROM pg_waitscope_sample('1 h', '10 s');\n");
my $name = $version >= 170000 ? 'PgWaitscopeSample' : 'Extension';
ok( $node->poll_query_until('postgres', qq{
		SELECT wait_event_type = 'Extension' AND wait_event = '$name'
		  FROM pg_stat_activity WHERE pid = } . $sampling->pid),
	"sample() sleeps in $name");
query('SELECT pg_cancel_backend(' . $sampling->pid . ')');
$sampling->finish;
$sampling->quit;

# The library tells its name and version.
my $installed = query(q{SELECT name, default_version
	FROM pg_available_extensions WHERE name = 'pg_waitscope'});
like($installed, qr/^pg_waitscope\|\d/, "installed: $installed");
is(query(q{SELECT module_name, version FROM pg_get_loaded_modules()
		WHERE file_name ~ '^pg_waitscope'}),
	$installed, 'the loaded library tells the same')
  if $version >= 180000;

# Workers for I/O: seen, no load while they wait for work, never load of the
# foreground.
if ($have_io_workers)
{
	ok( $node->poll_query_until('postgres', q{
			SELECT count(*) = 3 FROM pg_waitscope_activity
			 WHERE backend_type = 'io worker' AND
				   state_class = 'background idle' AND
				   wait_event_type = 'Activity' AND
				   wait_event = 'IoWorkerMain'}),
		'three idle workers for I/O');
	is( query(q{SELECT array_agg(pid ORDER BY pid) FROM pg_waitscope_activity
			WHERE backend_type = 'io worker'}),
		query(q{SELECT array_agg(pid ORDER BY pid) FROM pg_stat_activity
			WHERE backend_type = 'io worker'}),
		'... the same as in pg_stat_activity');

	# At work.
	query('CREATE TABLE big AS SELECT i, repeat(\'x\', 500) AS pad
		FROM generate_series(1, 100000) AS i');
	my @scans = map { Session->new($node) } 1 .. 2;
	$_->send("DO 'BEGIN LOOP PERFORM count(*) FROM big; END LOOP; END';\n")
	  foreach @scans;
	ok( $node->poll_query_until('postgres', q{
			SELECT coalesce(sum(samples), 0) > 0 FROM pg_waitscope_profile
			 WHERE backend_type = 'io worker'}),
		'workers for I/O at work');
	query('SELECT pg_cancel_backend(' . $_->pid . ')') foreach @scans;
	$_->finish, $_->quit foreach @scans;
	is( query(q{SELECT count(*) FROM pg_waitscope_history
			WHERE backend_type = 'io worker'
			  AND state_class <> 'background work'}),
		'0', '... are background work');
}

# Nobody who waits for work is in any sum.
my $idle = query(q{SELECT background_idle_samples FROM pg_waitscope_status});
ok( $node->poll_query_until('postgres', qq{
		SELECT background_idle_samples > $idle + 100 FROM pg_waitscope_status}),
	'idle processes are counted');
is( query(q{SELECT count(*) FROM pg_waitscope_events
		WHERE wait_event_type = 'Activity' OR wait_event = 'PgWaitscopeSampler'}),
	'0', '... but not as load');
is(query("SELECT count(*) FROM pg_waitscope_$_
		WHERE wait_event_type = 'Activity' OR wait_event = 'PgWaitscopeSampler'"),
	'0', "... nor in $_") foreach qw(history profile summary);

$reader->quit;
$node->stop;
done_testing();
