# What the numbers mean: known loads come out as the time they took.

use strict;
use warnings;

use IPC::Run;
use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Session;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('accuracy');
$node->init;
$node->append_conf('postgresql.conf', q{
shared_preload_libraries = 'pg_waitscope'
pg_waitscope.history_period = 1
});
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION pg_waitscope');

# Runs statements in sessions of their own, at the same time.
sub run_sessions
{
	my ($sessions, $sql) = @_;
	my @running = map {
		IPC::Run::start(
			[ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c', $sql ],
			'<', '/dev/null', '>', \my $out, '2>', '/dev/null')
	} 1 .. $sessions;
	$_->finish foreach @running;
}

sub is_within
{
	my ($got, $low, $high, $name) = @_;
	ok($got > $low && $got < $high, "$name: $got, from $low to $high");
}

# Within a share of the truth?
sub is_near
{
	my ($got, $want, $share, $name) = @_;
	is_within($got, $want * (1 - $share), $want * (1 + $share), $name);
}

# The truth is what the server's clock says about each sleep.
$node->safe_psql('postgres', q{
CREATE TABLE slept (began timestamptz, ended timestamptz);
CREATE FUNCTION sleep_and_tell(seconds double precision) RETURNS void AS $$
DECLARE
	began timestamptz := clock_timestamp();
BEGIN
	PERFORM pg_sleep(seconds);
	INSERT INTO slept VALUES (began, clock_timestamp());
END $$ LANGUAGE plpgsql;});

# The same three ways of counting, in ms.
my @estimates = (
	[ 'events', 'sum(est_time)' ],
	[ 'history', 'sum(weight_time)' ],
	[ 'profile', 'sum(est_time)' ]);
my $sums_sql = 'SELECT ' . join(', ', map {
	"(SELECT coalesce($_->[1], 0) FROM pg_waitscope_$_->[0]
	   WHERE wait_event = 'PgSleep')" } @estimates) . q{,
	(SELECT covered_time FROM pg_waitscope_status),
	extract(epoch FROM clock_timestamp()) * 1000};

foreach my $period (10, 1)
{
	$node->safe_psql('postgres',
		"ALTER SYSTEM SET pg_waitscope.sample_period = $period");
	$node->safe_psql('postgres', 'SELECT pg_reload_conf()');
	ok( $node->poll_query_until('postgres',
			"SELECT period = $period FROM pg_waitscope_status"),
		"period of $period ms");

	my $truth_sql = q{
		SELECT coalesce(sum(extract(epoch FROM ended - began)) * 1000, 0)
		  FROM slept};
	my $slept = $node->safe_psql('postgres', $truth_sql);
	my @before = split /\|/, $node->safe_psql('postgres', $sums_sql);
	run_sessions(4, 'SELECT sleep_and_tell(3)');
	my @after = split /\|/, $node->safe_psql('postgres', $sums_sql);
	my $truth = $node->safe_psql('postgres', $truth_sql) - $slept;

	# On a busy machine some of the time is not covered, and said to be so; any
	# part of that may be sleep.
	my $uncovered = ($after[4] - $before[4]) - ($after[3] - $before[3]);
	is_within($after[$_] - $before[$_],
		($truth - 4 * $uncovered) * 0.97, $truth * 1.03,
		"4 sessions asleep, by $estimates[$_]->[0]")
	  foreach 0 .. 2;
	is_near($after[2] - $before[2], $after[0] - $before[0],
		1e-9, 'events and profile agree to the last sample');
}

# True windows, right after a load of 10 s.
$node->safe_psql('postgres',
	'ALTER SYSTEM RESET pg_waitscope.sample_period');
$node->safe_psql('postgres', 'SELECT pg_reload_conf()');
ok( $node->poll_query_until('postgres', q{
		SELECT covered_time > 25000 FROM pg_waitscope_status}),
	'the load will end with half of a minute covered');
my ($covered_before, $began) = split /\|/, $node->safe_psql('postgres', q{
	SELECT covered_time, extract(epoch FROM clock_timestamp()) * 1000
	  FROM pg_waitscope_status});
run_sessions(4, 'SELECT sleep_and_tell(10)');
my $windows = q{
SELECT aas_10s, slept_in('10 s'), aas_1m, slept_in('1 min')
  FROM pg_waitscope_summary WHERE wait_event = 'PgSleep'};
$node->safe_psql('postgres', q{
CREATE FUNCTION slept_in(width interval) RETURNS double precision AS $$
	SELECT sum(extract(epoch FROM ended -
					   greatest(began, clock_timestamp() - width))) /
		   extract(epoch FROM least(width, clock_timestamp() -
									(SELECT sampler_start
									   FROM pg_waitscope_status)))
	  FROM slept WHERE ended > clock_timestamp() - width
$$ LANGUAGE sql;});
my ($aas_10s, $truth_10s, $aas_1m, $truth_1m) = split /\|/,
  $node->safe_psql('postgres', $windows);

# The averages are over the time that is covered.
my ($covered_10s, $covered_1m) = split /\|/, $node->safe_psql('postgres', qq{
	SELECT (covered_time - $covered_before) /
		   (extract(epoch FROM clock_timestamp()) * 1000 - $began),
		   covered_time /
		   (extract(epoch FROM clock_timestamp() - sampler_start) * 1000)
	  FROM pg_waitscope_status});
foreach (
	[ 'last 10 s', $aas_10s, $truth_10s, $covered_10s ],
	[ 'last minute', $aas_1m, $truth_1m, $covered_1m ])
{
	my ($window, $got, $truth, $share) = @$_;
	is_within($got, ($truth - 4 * (1 - $share)) * 0.95,
		$truth / $share * 1.05, "average of the $window");
}

# Taken and missed add up to what was due.
$node->restart;
ok($node->poll_query_until('postgres',
		'SELECT ticks > 300 FROM pg_waitscope_status'), '300 ticks');
ok( $node->poll_query_until('postgres', q{
		SELECT abs(ticks + ticks_missed -
				   extract(epoch FROM clock_timestamp() - sampler_start) *
				   1000 / period) <= 3
		  FROM pg_waitscope_status}),
	'every tick is taken or missed');

$node->stop;
done_testing();
