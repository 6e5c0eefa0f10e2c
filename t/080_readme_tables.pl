# The tables of README.md: settings, columns of the views, words of degraded;
# chapters of troubleshooting, links within the page.  Its blocks are run by
# tools/readme-check.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $readme = slurp_file('README.md');

# Rows of the table that starts with this header row, each a list of cells.
sub table
{
	my ($header) = @_;
	my ($rows) = $readme =~ /^\Q$header\E.*\n\|[-|]+\n((?:\|.*\n)+)/m;

	return map {
		[ map { s/^\s+|\s+$//gr } (split(/\|/, $_, -1))[ 1 .. tr/|// - 1 ] ]
	} split(/\n/, $rows // '');
}

# What stands between backticks.
sub names
{
	return $_[0] =~ /`([^`]+)`/g;
}

my $node = PostgreSQL::Test::Cluster->new('readme');
$node->init;
$node->append_conf('postgresql.conf',
	"shared_preload_libraries = 'pg_waitscope'");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION pg_waitscope');

# Settings: name, default, context, range.
my $shown = join "\n",
  sort map { join ' | ', (names($_->[0]))[0], @$_[ 1 .. 3 ] }
  table('| name | default | context | range | meaning |');
my $real = $node->safe_psql(
	'postgres', q{
	SELECT format('%s | %s | %s | %s', substr(name, length('pg_waitscope.') + 1),
				  concat_ws(' ', boot_val, unit), context,
				  CASE WHEN min_val IS NOT NULL
					   THEN concat_ws(' ', min_val, 'to', max_val, unit) END)
	  FROM pg_settings WHERE name LIKE 'pg_waitscope.%'
	 ORDER BY name COLLATE "C"});
is($shown, $real, 'settings');

# Columns, in their order, of every view.
foreach my $view (
	split /\n/,
	$node->safe_psql(
		'postgres', q{
		SELECT viewname FROM pg_views WHERE viewname LIKE 'pg_waitscope%'}))
{
	is( join(' ', map { names($_->[0]) } table("| `$view` |")),
		$node->safe_psql(
			'postgres', qq{
			SELECT string_agg(attname, ' ' ORDER BY attnum) FROM pg_attribute
			 WHERE attrelid = '$view'::regclass AND attnum > 0}),
		"columns of $view");
}

# The words of degraded are listed in its comment.
my ($words) = $node->safe_psql(
	'postgres', q{
	SELECT col_description(attrelid, attnum) FROM pg_attribute
	 WHERE attrelid = 'pg_waitscope_status'::regclass
	   AND attname = 'degraded'}) =~ /The words are ([^.]+)\./;
is( join(', ', map { names($_->[0]) } table('| word | what to do |')),
	$words, 'words of degraded');

# Troubleshooting: each chapter has a query, and a scenario that runs it.
my ($part) = $readme =~ /^## Troubleshooting\n(.*?)^## /ms;
my (undef, @chapters) = split /^### /m, $part;
my @scenarios = map { slurp_file($_) =~ /^chapter='(.+)'$/m }
  glob 'bench/scenarios/*.sh';
is( join("\n", sort map { /^([^\n]+)\n.*?^```sql/ms } @chapters),
	join("\n", sort @scenarios), 'chapters of troubleshooting');

# Links to headings.
my %headings = map { lc(s/[^\w\s-]//gr) =~ tr/ /-/r => 1 }
  $readme =~ /^#+ (.+)$/mg;
my @links = $readme =~ /\]\(#([^)]+)\)/g;
cmp_ok(@links, '>', 0, 'there are links');
is(join(' ', grep { !$headings{$_} } @links), '', '... and each leads somewhere');

done_testing();
