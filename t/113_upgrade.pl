# pg_upgrade with the library preloaded on both sides.  The older server is
# the installation that the environment variable oldinstall names, with
# pg_waitscope built for it (tools/old-server makes one).

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Session;
use Test::More;

my $oldinstall = $ENV{oldinstall} || '';
my ($from) = `'$oldinstall/bin/pg_config' --version 2>&1` =~ /PostgreSQL (\d+)/;
my ($to) = `pg_config --version` =~ /PostgreSQL (\d+)/;
plan skip_all => 'oldinstall names no older server'
  unless defined $from && $from < $to;

my @preload = ('postgresql.conf', q{
shared_preload_libraries = 'pg_waitscope'
autovacuum = off
});
my $old = PostgreSQL::Test::Cluster->new('old',
	install_path => $oldinstall);
$old->init;
$old->append_conf(@preload);
$old->start;
my $new = PostgreSQL::Test::Cluster->new('new');

# From 18 on initdb does something else by default.
$new->init($to >= 18 ? (extra => ['--no-data-checksums']) : ());
$new->append_conf(@preload);

sub wait_for
{
	my ($node, $condition, $name) = @_;
	ok($node->poll_query_until('postgres', "SELECT $condition"), $name);
}

# In two databases, one schema of an odd name, with rights and a view of a
# user's own.
$old->safe_psql('postgres', q{
CREATE EXTENSION pg_waitscope;
CREATE ROLE regress_monitor LOGIN IN ROLE pg_monitor;
GRANT EXECUTE ON FUNCTION pg_waitscope_reset(text) TO regress_monitor;
CREATE VIEW dashboard AS
	SELECT wait_event, samples, queryid, lwlock_mode FROM pg_waitscope_profile;
CREATE DATABASE regress_other;
});
$old->safe_psql('regress_other', q{
CREATE SCHEMA "odd ""name";
CREATE EXTENSION pg_waitscope SCHEMA "odd ""name";
});
wait_for($old, 'ticks > 10 FROM pg_waitscope_status', 'the old server samples');
my $old_epoch =
  $old->safe_psql('postgres', 'SELECT epoch FROM pg_waitscope_status');
$old->stop('fast');

my $bindir = $new->config_data('--bindir');
chdir $PostgreSQL::Test::Utils::tmp_check or die "chdir: $!";
command_ok(
	[
		'pg_upgrade', '--no-sync', '--retain',
		'-d', $old->data_dir, '-D', $new->data_dir,
		'-b', "$oldinstall/bin", '-B', $bindir,
		'-s', $new->host, '-p', $old->port, '-P', $new->port
	],
	"upgrade from $from to $to");

# The servers that it started have loaded the library, and not sampled.
my ($log) = glob($new->data_dir . '/pg_upgrade_output.d/*/log/pg_upgrade_server.log');
my $said = slurp_file($log);
cmp_ok(scalar(() = $said =~ /ready to accept connections/g),
	'>=', 2, 'pg_upgrade has started both servers');
unlike($said, qr/waitscope sampler/, '... without a sampler');

$new->start;
wait_for($new, 'ticks > 10 FROM pg_waitscope_status', 'the new server samples');
like(slurp_file($new->logfile), qr/waitscope sampler started/,
	'... and says so');
is( $new->safe_psql('postgres', qq{
		SELECT epoch > $old_epoch, restarts, degraded
		  FROM pg_waitscope_status}),
	't|0|{}', '... in an epoch of its own, with nothing missing');
foreach my $where ([ 'postgres', 'public' ], [ 'regress_other', '"odd ""name"' ])
{
	my ($database, $schema) = @$where;
	foreach my $view (qw(summary events history profile lwlocks hot_blocks
		fmlocks status
		stores activity))
	{
		is($new->psql($database, "TABLE $schema.pg_waitscope_$view"),
			0, "$view works in $database");
	}
}
is($new->psql('postgres', 'SELECT pg_waitscope_reset()',
		extra_params => [ '-U', 'regress_monitor' ]),
	0, 'a right that was granted is still there');
ok( $new->poll_query_until('postgres', q{
		SELECT count(*) > 0 FROM pg_waitscope_events}),
	'it counts');
is($new->psql('postgres', 'TABLE dashboard'), 0, 'a user\'s own view works');

# Nothing is different from an extension that was created there.
my $catalog = q{
	SELECT pg_describe_object(d.classid, d.objid, 0),
		   obj_description(d.objid, d.classid::regclass::name),
		   pg_get_viewdef(c.oid), c.relacl, c.reloptions,
		   (SELECT array_agg(format('%s %s %s', attname, atttypid::regtype,
									 col_description(c.oid, attnum))
							 ORDER BY attnum)
			  FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0),
		   CASE WHEN p.oid IS NOT NULL THEN pg_get_functiondef(p.oid) END,
		   i.initprivs
	  FROM pg_depend d
	  LEFT JOIN pg_class c ON d.classid = 'pg_class'::regclass
						  AND c.oid = d.objid
	  LEFT JOIN pg_proc p ON d.classid = 'pg_proc'::regclass
						 AND p.oid = d.objid
	  LEFT JOIN pg_init_privs i
		ON (i.classoid, i.objoid) = (d.classid, d.objid)
	 WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
	   AND d.refobjid = (SELECT oid FROM pg_extension
						  WHERE extname = 'pg_waitscope')
	 ORDER BY 1};
my $upgraded = $new->safe_psql('postgres', $catalog);
$new->safe_psql('postgres', 'CREATE DATABASE regress_fresh');
$new->safe_psql('regress_fresh', 'CREATE EXTENSION pg_waitscope');
my $fresh = $new->safe_psql('regress_fresh', $catalog);
cmp_ok(scalar(() = $fresh =~ /^/mg), '>', 50, 'the catalog tells of it');
is($upgraded, $fresh, 'the catalog is that of a fresh extension');
my $count = q{SELECT (SELECT count(*) FROM pg_class)
	+ (SELECT count(*) FROM pg_proc) + (SELECT count(*) FROM pg_type)};
$new->safe_psql('postgres', 'DROP VIEW dashboard; DROP EXTENSION pg_waitscope');
$new->safe_psql('regress_fresh', 'DROP EXTENSION pg_waitscope');
is($new->safe_psql('postgres', $count), $new->safe_psql('regress_fresh', $count),
	'dropping it leaves nothing behind');

$new->stop('fast');
done_testing();
