# A next version of the extension: its library serves the objects that the
# present script has made, and after ALTER EXTENSION UPDATE the catalog is
# that of a fresh install.  test/next has that version; it is put into an
# installation made here, which takes the server over.

use strict;
use warnings;

use File::Basename;
use File::Copy;
use File::Path;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

sub pg_config
{
	my ($what) = @_;
	my ($out, $err) = run_command([ 'pg_config', $what ]);
	return $out;
}

# A folder with links to all that is in $from, in the same place below $to.
sub link_folder
{
	my ($from, $to) = @_;
	mkpath("$to$from");
	symlink($_, "$to$from/" . basename($_)) || die "symlink: $!"
	  foreach glob("$from/*");
	return "$to$from";
}

# The real file instead of the link to it.
sub put
{
	my ($file, $place) = @_;
	unlink($place);
	copy($file, $place) || die "$file: $!";
	chmod((stat $file)[2] & 07777, $place);
}

# The server finds its other files by where its program is.
my $next = PostgreSQL::Test::Utils::tempdir() . '/next';
my $bin = link_folder(pg_config('--bindir'), $next);
my $lib = link_folder(pg_config('--pkglibdir'), $next);
my $share = link_folder(pg_config('--sharedir'), $next);
unlink("$share/extension");
link_folder(pg_config('--sharedir') . '/extension', $next);
put(pg_config('--bindir') . "/$_", "$bin/$_") foreach qw(postgres pg_ctl);
put(pg_config('--pkglibdir') . '/pg_waitscope_next.so',
	"$lib/pg_waitscope.so");
foreach my $script (glob(pg_config('--sharedir')
		  . '/extension/pg_waitscope_next--*.sql'))
{
	put($script, "$share/extension/" . basename($script) =~ s/_next//r);
}

# All that the extension has in the catalog, without what differs between
# databases.
my $catalog = q{
	SELECT string_agg(line, chr(10) ORDER BY line COLLATE "C") FROM (
	SELECT concat_ws(' ', pg_describe_object(classid, objid, 0), deptype,
			pg_get_functiondef(p.oid), pg_get_viewdef(c.oid),
			'owner', c.relowner, p.proowner, 'acl', c.relacl, p.proacl,
			'initially', i.initprivs, 'options', c.reloptions,
			obj_description(objid, classid::regclass::text::name)) AS line
	  FROM pg_depend
	  LEFT JOIN pg_class c ON c.oid = objid AND classid = 'pg_class'::regclass
	  LEFT JOIN pg_proc p ON p.oid = objid AND classid = 'pg_proc'::regclass
	  LEFT JOIN pg_init_privs i ON i.objoid = objid AND i.classoid = classid
	   AND i.objsubid = 0
	 WHERE refclassid = 'pg_extension'::regclass
	   AND refobjid = (SELECT oid FROM pg_extension
						WHERE extname = 'pg_waitscope')
	UNION ALL
	SELECT concat_ws(' ', attrelid::regclass, attnum, attname,
			format_type(atttypid, atttypmod),
			col_description(attrelid, attnum))
	  FROM pg_attribute
	 WHERE attrelid::regclass::text LIKE 'pg_waitscope%'
	UNION ALL
	SELECT extversion FROM pg_extension) lines};

my $node = PostgreSQL::Test::Cluster->new('upgrade');
$node->init;
$node->append_conf('postgresql.conf', q{
	shared_preload_libraries = 'pg_waitscope'
	pg_waitscope.sample_period = 1});
$node->start;
$node->safe_psql('postgres', "CREATE DATABASE $_") foreach qw(old fresh);
$node->safe_psql('old', q{
	CREATE EXTENSION pg_waitscope;
	CREATE VIEW mine AS SELECT store, bytes FROM pg_waitscope_stores});
my $objects = $node->safe_psql('old', $catalog);
my $stores = $node->safe_psql('old', 'TABLE mine');
like($stores, qr/^history\|/m, 'the present version works');

# What an update of the package does.
$node->stop;
{
	local $ENV{PATH} = "$bin:$ENV{PATH}";
	$node->start;
}
is($node->safe_psql('old', $catalog), $objects,
	'the objects are the present ones');
foreach my $view (qw(summary events history profile lwlocks hot_blocks
		fmlocks status
	stores activity))
{
	is($node->psql('old', "TABLE pg_waitscope_$view"),
		0, "$view works with the next library");
}
is($node->psql('old', 'SELECT pg_waitscope_reset()'),
	0, 'reset works with the next library');
is($node->safe_psql('old', 'TABLE mine'), $stores, 'a view of a user works');

$node->safe_psql('old', q{ALTER EXTENSION pg_waitscope UPDATE TO '1.1-test'});
is($node->safe_psql('old', 'TABLE mine'),
	$stores, 'a view of a user works after the update');
cmp_ok($node->safe_psql('old',
	'SELECT abs(sum(share) - 1) FROM pg_waitscope_stores'),
	'<', 1e-9, 'the new column is there');
is( $node->safe_psql('old', q{SELECT pg_waitscope_total_bytes() = sum(bytes)
	FROM pg_waitscope_stores}), 't', 'the new function is there');

$node->safe_psql('fresh',
	"CREATE EXTENSION pg_waitscope VERSION '1.1-test'");
my $updated = $node->safe_psql('old', $catalog);
like($updated, qr/total_bytes.*\n.*get_stores_1_1/s,
	'the catalog is read as it is');
is($updated, $node->safe_psql('fresh', $catalog),
	'the catalog is that of a fresh install');
$node->safe_psql('old', 'DROP VIEW mine; DROP EXTENSION pg_waitscope');
is( $node->safe_psql('old', q{SELECT count(*) FROM pg_class
	WHERE relname LIKE 'pg_waitscope%'}), '0', 'nothing is left behind');

$node->stop;
done_testing();
