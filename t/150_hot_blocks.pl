# Which block of which relation is waited for: what the keeper finds out.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Session;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('hot');
$node->init;
$node->append_conf('postgresql.conf', q{
shared_preload_libraries = 'pg_waitscope'
autovacuum = off
max_connections = 60
});
$node->start;
$node->safe_psql('postgres', q{
CREATE EXTENSION pg_waitscope;
CREATE EXTENSION wsc_test_waits;
CREATE DATABASE other;
CREATE TABLE page AS SELECT 1 AS id;
CHECKPOINT;
});
$node->safe_psql('other', q{
CREATE EXTENSION wsc_test_waits;
CREATE TABLE page AS SELECT 1 AS id;
CHECKPOINT;
});
my $version = $node->safe_psql('postgres', 'SHOW server_version_num');
my $content = $version >= 190000
  ? "('BufferShared', 'BufferExclusive', 'BufferShareExclusive')"
  : "('BufferContent')";

my $admin = Session->new($node);

sub query
{
	my ($sql) = @_;
	return $admin->ask($sql);
}

sub wait_for
{
	my ($condition, $name) = @_;
	ok($admin->poll("SELECT $condition"), $name)
	  or diag query('SELECT * FROM pg_waitscope_hot_blocks') . "\n"
	  . query('SELECT * FROM pg_waitscope_lwlocks');
	return;
}

sub cancel
{
	my @sessions = @_;
	my $pids = join ', ', map { $_->pid } @sessions;
	query("SELECT pg_cancel_backend(pid) FROM pg_stat_activity
			WHERE pid IN ($pids)");
	return;
}

# One holds the first page of a table, so many wait for it.  Returns a
# function that ends that.
sub start_waits
{
	my ($table, $mode, $count, %params) = @_;
	my ($holder, @waiters) =
	  map { Session->new($node, %params) } 0 .. $count;

	$holder->send("SELECT wsc_test_hold_page('$table', 'exclusive');\n");
	$admin->poll(q{SELECT wait_event = 'Extension' FROM pg_stat_activity
		 WHERE pid = } . $holder->pid) or die 'the page is not held';
	$_->send("SELECT wsc_test_take_page('$table', '$mode');\n")
	  foreach @waiters;
	return sub {
		cancel($holder);
		$_->finish foreach $holder, @waiters;
		$_->quit foreach $holder, @waiters;
	};
}

my $blocks = 'pg_waitscope_hot_blocks';
query('SELECT pg_waitscope_reset()');

# Known waits: 2 for one page, 3 for one of the same name elsewhere.
my $end_here = start_waits('page', 'exclusive', 2);
wait_for("count(*) = 1 FROM $blocks WHERE samples > 20", 'waits are found');
my $file = query(q{SELECT d.oid, 'postgres', 'page', d.dattablespace,
		pg_relation_filenode('page'), 0, 0
	FROM pg_database d WHERE datname = current_database()});
is( query("SELECT datid, datname, relation, reltablespace, relfilenode,
			relforknumber, relblocknumber FROM $blocks WHERE samples > 0"),
	$file, '... at the right block, with its names');
my $end_there = start_waits('page', 'shared', 3, database => 'other');
wait_for("count(*) = 1 FROM $blocks WHERE datname = 'other' AND samples > 60",
	'waits in another database are found');
$_->() foreach $end_here, $end_there;
is( query("SELECT datname, relation, relblocknumber, samples > 20,
			shared_samples = samples, exclusive_samples = samples
			FROM $blocks WHERE samples > 0 ORDER BY datname DESC"),
	"postgres|page|0|t|f|t\nother||0|t|t|f",
	'... unresolved; each with its mode');
wait_for("abs(sum(h.est_time) - (SELECT sum(est_time) FROM pg_waitscope_lwlocks
		WHERE tranche IN $content)) < 1 FROM $blocks h",
	'the sum is the time that the sampler has counted');
note query("SELECT * FROM $blocks");
note query('SELECT tranche, samples, est_time FROM pg_waitscope_lwlocks');
note query('SELECT keeper_cpu_time, sampler_cpu_time, covered_time FROM pg_waitscope_status');

$admin->quit;
$node->stop;
done_testing();
