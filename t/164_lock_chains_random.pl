# Sessions that lock tables and advisory keys at random, in all modes, until
# many of them wait, deadlocks and all: pg_waitscope_lock_chains says the same
# as pg_blocking_pids() and pg_locks.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use Chains;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('random_chains');
$node->init;
$node->append_conf('postgresql.conf', q{
autovacuum = off
deadlock_timeout = 10min
});
$node->start;
$node->safe_psql('postgres', q{
CREATE EXTENSION pg_waitscope;
CREATE TABLE t1 (a int);
CREATE TABLE t2 (a int);
CREATE TABLE t3 (a int);
});
my $chains = Chains->new($node);

# To repeat a run: CHAINS_SEED.
my $seed = $ENV{CHAINS_SEED} || int(rand(1e9));
srand($seed);
note "CHAINS_SEED=$seed";

my @modes = ('ACCESS SHARE', 'ROW SHARE', 'ROW EXCLUSIVE',
	'SHARE UPDATE EXCLUSIVE', 'SHARE', 'SHARE ROW EXCLUSIVE', 'EXCLUSIVE',
	'ACCESS EXCLUSIVE');
my @names = map { "s$_" } 1 .. 10;

sub any { return $_[ int(rand(@_)) ]; }

sub request
{
	return 'LOCK TABLE t' . any(1 .. 3) . ' IN ' . any(@modes) . ' MODE'
	  if rand() < 0.7;
	return 'SELECT pg_advisory_xact_lock' . any('', '_shared') . '('
	  . any(1 .. 2) . ')';
}

# Lets it ask for a lock; true if it has to wait.
my $number = 0;
sub goes_on
{
	my ($name, $sql) = @_;
	my $pid = $chains->pid($name);
	my $mark = ++$number;
	my $condition = "pid = $pid AND query ~ 'number $mark\\M'";

	$chains->waits_otherwise($name, "$sql /* number $mark */");
	$chains->poll("SELECT count(*) = 1 FROM pg_stat_activity
		WHERE $condition AND (state = 'idle in transaction'
			OR state = 'active' AND wait_event_type = 'Lock')")
	  or die "$name is lost: $sql";
	return $chains->ask("SELECT count(*) FROM pg_stat_activity
		WHERE $condition AND state = 'active'") == 1;
}

my ($deepest, $circles) = (0, 0);
foreach my $round (1 .. 4)
{
	my @free = @names;

	$chains->start(@names);
	$chains->does($_ => 'BEGIN') foreach @names;
	for (1 .. 40)
	{
		my $name = any(@free);

		if (goes_on($name, request()))
		{
			@free = grep { $_ ne $name } @free;
			last if @free <= 2;
		}
		else { $chains->does($name) }
	}
	$chains->check("round $round, @{[ @names - @free ]} wait");
	my ($depth, $in_cycle) = split /\|/,
	  $chains->ask('SELECT max(depth), count(*) FILTER (WHERE in_cycle)
		FROM pg_waitscope_lock_chains');
	$deepest = $depth if $depth > $deepest;
	$circles += $in_cycle > 0;
	$chains->end;
}
cmp_ok($deepest, '>=', 2, "the deepest tree had $deepest levels");
note "$circles rounds with circles";

$node->stop('fast');
done_testing();
