# The extension in a server that has not loaded the library, in a schema of
# an odd name, created and dropped again, and where no worker can be had.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Session;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('install');
$node->init;
$node->start;

# Not preloaded: creating the extension works, what needs shared memory says
# what to do.
is($node->psql('postgres', 'CREATE EXTENSION pg_waitscope'),
	0, 'CREATE EXTENSION works without preloading');
my $objects = $node->safe_psql('postgres', q{
	SELECT CASE WHEN classid = 'pg_class'::regclass
				THEN 'TABLE ' || objid::regclass
				ELSE 'SELECT ' || p.proname || '(' ||
					 CASE p.pronargs WHEN 0 THEN '' ELSE '0' END || ')'
		   END
	  FROM pg_depend LEFT JOIN pg_proc p ON p.oid = objid
	 WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e'
	   AND refobjid = (SELECT oid FROM pg_extension
						WHERE extname = 'pg_waitscope')
	   AND classid IN ('pg_class'::regclass, 'pg_proc'::regclass)
	 ORDER BY 1});
my $refused = 0;
foreach my $sql (split /\n/, $objects)
{
	$sql =~ s/'?0'?\)/'0')/ if $sql =~ /reset/;
	$sql =~ s/\(0\)/('10 ms', '1 ms')/ if $sql =~ /_sample/;
	$sql =~ s/\(0\)/()/ if $sql =~ /_lock_bench/;
	my ($ret, $out, $err) =
	  $node->psql('postgres', "\\set VERBOSITY verbose\n$sql;");

	if ($sql =~ /activity|lock_chains|_sample|(backend_type|state_class|locktype|mode)_name/)
	{
		is($err, '', "$sql: works without preloading");
		next;
	}
	$refused++;
	like( $err,
		qr/ERROR:\s+55000:\ pg_waitscope\ must\ be\ loaded\ via\ "shared_preload_libraries"\n
			HINT:\ .*"shared_preload_libraries".*pg_waitscope_activity.*pg_waitscope_sample\(\)/x,
		"$sql: tells what to do without preloading");
}
cmp_ok($refused, '>=', 20, 'that was all of them');
$node->safe_psql('postgres', 'DROP EXTENSION pg_waitscope');

# Any schema will do, and dropping leaves nothing behind.
$node->append_conf('postgresql.conf',
	"shared_preload_libraries = 'pg_waitscope'");
$node->restart;
my $count = q{SELECT (SELECT count(*) FROM pg_class)
	+ (SELECT count(*) FROM pg_proc) + (SELECT count(*) FROM pg_type)};
my $before = $node->safe_psql('postgres', $count);
foreach my $schema ('"Odd name; -- \'x"', '"a ""quoted"" $one$"')
{
	$node->safe_psql('postgres', "CREATE SCHEMA $schema;
		CREATE EXTENSION pg_waitscope SCHEMA $schema");
	foreach my $view (qw(summary events history profile lwlocks hot_blocks
		fmlocks status
		stores activity lock_chains))
	{
		is( $node->psql('postgres', "TABLE $schema.pg_waitscope_$view"),
			0, "$view works in schema $schema");
	}
	is($node->safe_psql('postgres', "SELECT $schema.pg_waitscope_reset()"),
		'', "reset works in schema $schema");
	$node->safe_psql('postgres', "DROP EXTENSION pg_waitscope;
		DROP SCHEMA $schema");
}
is($node->safe_psql('postgres', $count), $before, 'nothing is left behind');

# What was sampled does not depend on the extension being there.
$node->safe_psql('postgres', 'CREATE EXTENSION pg_waitscope');
ok( $node->poll_query_until('postgres', 'SELECT ticks > 10
		FROM pg_waitscope_status'),
	'it samples as soon as it is preloaded');
is( $node->safe_psql('postgres', 'SELECT count(*) FROM pg_waitscope_events
		WHERE samples + background_samples > 0') > 0,
	1, 'and counts what it sees');

# No worker slot: the server starts, all views answer, the status says why.
$node->append_conf('postgresql.conf', 'max_worker_processes = 0');
$node->restart;
is( $node->psql('postgres', "TABLE pg_waitscope_$_"),
	0, "$_ answers without a sampler")
  foreach qw(summary events history profile lwlocks hot_blocks
		fmlocks stores activity lock_chains);
like( $node->safe_psql('postgres', q{SELECT sampler_pid, sampler_start,
		restarts, sampling, period, ticks, degraded[1]
		FROM pg_waitscope_status}),
	qr/^\|\|0\|t\|10\|0\|sampler_not_running: .*max_worker_processes/,
	'the status says that there is no sampler, and what to do');

$node->stop('fast');
done_testing();
