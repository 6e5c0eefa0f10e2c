# Settings: defaults, ranges, unknown words, sizes of shared memory.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Session;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('settings');
$node->init;

# Free space of the server's own estimate, to compare with below.
my $free_sql =
  q{SELECT size FROM pg_shmem_allocations WHERE name IS NULL};
$node->start;
my $free_without = $node->safe_psql('postgres', $free_sql);
$node->stop;
$node->append_conf('postgresql.conf',
	"shared_preload_libraries = 'pg_waitscope'");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION pg_waitscope');

# Names, defaults, units and contexts are a promise.
is( $node->safe_psql(
		'postgres', q{
		SELECT string_agg(format('%s %s%s %s', name, setting, unit, context),
						  E'\n' ORDER BY name)
		  FROM pg_settings WHERE name LIKE 'pg_waitscope.%'}),
	q{pg_waitscope.history_period 100ms sighup
pg_waitscope.history_size 16384kB postmaster
pg_waitscope.hot_block_cpu_pct 1 sighup
pg_waitscope.hot_blocks on sighup
pg_waitscope.jitter on sighup
pg_waitscope.lwlock_instances on sighup
pg_waitscope.profile_by backend_type, database, user, query postmaster
pg_waitscope.profile_max 5000 postmaster
pg_waitscope.sample_period 10ms sighup
pg_waitscope.sampling on sighup
pg_waitscope.track_blockers on sighup
pg_waitscope.track_idle off sighup
pg_waitscope.track_queries on postmaster},
	'settings, defaults, units, contexts');

# Out of range: refused when set, with the range (and units, in newer
# servers).
my ($ms, $kb) = ('(?: ms)?', '(?: kB)?');
foreach my $case (
	[ 'sample_period', '0.05', qr/0\.1$ms \.\. 10000$ms/ ],
	[ 'sample_period', '20000', qr/0\.1$ms \.\. 10000$ms/ ],
	[ 'history_period', '0', qr/1$ms \.\. 10000$ms/ ],
	[ 'history_size', '1000', qr/1024$kb \.\. 16777216$kb/ ],
	[ 'profile_max', '99', qr/100 \.\. 1000000/ ],
	[ 'sampling', 'maybe', qr/requires a Boolean value/ ],
	[
		'profile_by',
		'database, application',
		qr/application.*Known dimensions are backend_type, database, user, query, pid/s
	],)
{
	my ($name, $value, $want) = @$case;
	my ($rc, $out, $err) = $node->psql('postgres',
		"ALTER SYSTEM SET pg_waitscope.$name = '$value'");
	isnt($rc, 0, "$name = $value is refused");
	like($err, $want, "$name = $value: the message says what is allowed");
}

# A misspelt setting is refused, too: the prefix is ours.  Before 15 the
# server only warns, of those in its files, and when it starts.
my $version = $node->safe_psql('postgres', 'SHOW server_version_num');
my ($rc, $out, $err) =
  $node->psql('postgres', "SET pg_waitscope.sampel_period = 1");
like($err,
	$version >= 150000 ? qr/invalid configuration parameter name/ : qr/^$/,
	'misspelt name');
my $start_of_log = -s $node->logfile;
$node->append_conf('postgresql.conf', 'pg_waitscope.sampel_period = 1');
$node->restart;
like(slurp_file($node->logfile, $start_of_log),
	qr/WARNING: .*"pg_waitscope\.sampel_period"/,
	'misspelt name in a file: the log says so');

# Units are understood.
$node->safe_psql('postgres',
	"ALTER SYSTEM SET pg_waitscope.sample_period = '0.02s'");
$node->safe_psql('postgres', 'SELECT pg_reload_conf()');
ok( $node->poll_query_until(
		'postgres', q{SELECT period = 20 FROM pg_waitscope_status}),
	'a period with a unit, by reload');
$node->safe_psql('postgres',
	'ALTER SYSTEM RESET pg_waitscope.sample_period');

# What is requested is what is allocated.  The server rounds the total up to
# 8 kB once, hence the tolerance.
sub check_sizes
{
	my ($what, @settings) = @_;

	$node->stop;
	$node->append_conf('postgresql.conf', "pg_waitscope.$_->[0] = $_->[1]")
	  foreach @settings;
	$node->start;
	is($node->safe_psql('postgres', "SHOW pg_waitscope.$_->[0]"),
		$_->[1], "$_->[0] is in force")
	  foreach @settings;
	my $free = $node->safe_psql('postgres', $free_sql);
	cmp_ok(abs($free - $free_without),
		'<=', 16384, "request equals allocation, $what");
	is( $node->safe_psql(
			'postgres', q{
			SELECT sum(bytes) FROM pg_waitscope_stores}),
		$node->safe_psql(
			'postgres', q{
			SELECT sum(size) FROM pg_shmem_allocations
			 WHERE name LIKE 'pg_waitscope %'}),
		"stores tells all memory, $what");
}

check_sizes('defaults');
cmp_ok(
	$node->safe_psql(
		'postgres', q{
		SELECT sum(allocated_size) FROM pg_shmem_allocations
		 WHERE name LIKE 'pg_waitscope %'}),
	'<=', 64 * 1024 * 1024, 'defaults take at most 64 MB');
check_sizes('minimum', [ 'history_size', '1MB' ], [ 'profile_max', '100' ]);

# The maximum of history_size, or what this machine can have of it.
my ($memory_kb) = slurp_file('/proc/meminfo') =~ /^MemTotal:\s+(\d+)/m;
my $most = int($memory_kb * 0.7 / 1024 / 1024);
$most = 16 if $most > 16;
check_sizes("maximum, $most GB of 16",
	[ 'history_size', "${most}GB" ], [ 'profile_max', '1000000' ]);

# More than there is: refused at start, naming the setting.
$node->stop;
my $logstart = -s $node->logfile;
my $start = system_log('sh', '-c',
	    'ulimit -v 2000000; exec "$0" "$@"',
	'pg_ctl', '--wait', '--timeout', '60', '--pgdata', $node->data_dir,
	'--log', $node->logfile, 'start');
isnt($start, 0, 'too little memory: the server does not start');
my $log = slurp_file($node->logfile, $logstart);
like($log, qr/pg_waitscope needs more shared memory/, '... and says why');
like($log, qr/Reduce "pg_waitscope.history_size"/, '... and what to change');

done_testing();
