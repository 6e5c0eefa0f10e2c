# Copies of a data directory made while the sampler is at work: each starts
# with empty stores of its own; and a standby that is promoted goes on
# counting as if nothing had happened.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use File::Find;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Session;
use Test::More;

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1);
$primary->append_conf('postgresql.conf', q{
shared_preload_libraries = 'pg_waitscope'
autovacuum = off
});
$primary->start;
$primary->safe_psql('postgres', 'CREATE EXTENSION pg_waitscope');

sub wait_for
{
	my ($node, $condition, $name) = @_;
	ok($node->poll_query_until('postgres', "SELECT $condition"), $name);
}

sub status
{
	my ($node, $columns) = @_;
	return $node->safe_psql('postgres',
		"SELECT $columns FROM pg_waitscope_status");
}

my $sleeps = q{(SELECT coalesce(sum(samples), 0) FROM pg_waitscope_events
	WHERE wait_event = 'PgSleep')};
my $sleep = "SELECT pg_sleep(600);\n";

# The stores of the primary are full of what no copy has seen.
my $sleeper = Session->new($primary);
$sleeper->send($sleep);
wait_for($primary, "$sleeps > 10", 'the primary has something in its stores');
$primary->backup('base');

my @files;
find(sub { push @files, $_ if /waitscope/ }, $primary->backup_dir . '/base');
is("@files", '', 'nothing of it is in a copy of the files');

my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;
my $clone = PostgreSQL::Test::Cluster->new('clone');
$clone->init_from_backup($primary, 'base');
$clone->start;

my %epochs = (status($primary, 'epoch') => 'primary');
foreach my $node ($standby, $clone)
{
	my $name = $node->name;

	wait_for($node, 'ticks > 10 FROM pg_waitscope_status',
		"the $name samples");
	is( $node->safe_psql('postgres', q{
			SELECT count(*) FROM (
				SELECT wait_event FROM pg_waitscope_events UNION ALL
				SELECT wait_event FROM pg_waitscope_profile UNION ALL
				SELECT wait_event FROM pg_waitscope_history) seen
			 WHERE wait_event = 'PgSleep'}),
		'0', '... with stores of its own');
	$epochs{ status($node, 'epoch') } = $name;
	is( status($node, q{server_start = pg_postmaster_start_time(), restarts}),
		't|0', '... from its own start on');
}
is(join(' ', sort values %epochs), 'clone primary standby',
	'each has an epoch of its own');
is( $clone->safe_psql('postgres', 'SELECT pg_is_in_recovery()'),
	'f', 'the clone is a primary');
my $visitor = Session->new($clone);
$visitor->send($sleep);
wait_for($clone, "$sleeps > 10", '... that counts what happens there');
$clone->safe_psql('postgres', 'CREATE TABLE written AS SELECT 1');
$clone->safe_psql('postgres',
	'SELECT pg_cancel_backend(' . $visitor->pid . ')');
$visitor->finish;
$visitor->quit;
$clone->stop('fast');

# Promotion.  A session sleeps all through it.  Sampling is off where figures
# are read, hence they belong together to the last sample.
sub switch_sampling
{
	my ($value) = @_;
	$standby->append_conf('postgresql.conf', "pg_waitscope.sampling = $value");
	$standby->reload;
	wait_for($standby, "sampling = '$value' FROM pg_waitscope_status",
		"sampling is $value");
	return;
}

my $figures = qq{ticks, ticks_missed, round(covered_time), $sleeps,
	(SELECT round(sum(est_time)) FROM pg_waitscope_events
	  WHERE wait_event = 'PgSleep'),
	(SELECT sum(samples) FROM pg_waitscope_profile
	  WHERE wait_event = 'PgSleep')};
my $identity = q{epoch, restarts, sampler_pid, keeper_pid,
	(SELECT min(stats_reset) FROM pg_waitscope_stores)};

my $watcher = Session->new($standby);
$watcher->send($sleep);
wait_for($standby, "$sleeps > 10", 'a session sleeps on the standby');
switch_sampling('off');
my @before = split /\|/, status($standby, $figures);
my $identity_before = status($standby, $identity);
switch_sampling('on');
my $earliest = status($standby, 'ticks + ticks_missed, clock_timestamp()');
wait_for($standby, "ticks > $before[0] + 20 FROM pg_waitscope_status",
	'the standby samples');

$standby->promote;
is($standby->safe_psql('postgres', 'SELECT pg_is_in_recovery()'),
	'f', 'the standby is promoted');
is(status($standby, $identity), $identity_before,
	'same workers, same epoch, no reset');
my $promoted = status($standby, $sleeps);
wait_for($standby, "$sleeps > $promoted + 20", 'counters go on');

# All instants since the first reading have been sampled or are counted as
# missed, up to that of the last one.
my ($base, $since) = split /\|/, $earliest;
my $expected = $standby->safe_psql('postgres', qq{SELECT $base - 2 + floor(
	extract(epoch FROM clock_timestamp() - '$since') * 100)});
wait_for($standby, "ticks + ticks_missed >= $expected
	FROM pg_waitscope_status", 'no gap but what is counted as missed');

switch_sampling('off');
my @after = split /\|/, status($standby, $figures);
my ($ticks, $missed, $covered, $samples, $est_time, $in_profile) =
  map { $after[$_] - $before[$_] } 0 .. $#after;
is($samples, $ticks, "the session is in each of $ticks samples");
is($in_profile, $samples, '... in the profile, too');
is($est_time, $covered, "... for all of the $covered ms covered");
my $most = $standby->safe_psql('postgres', qq{SELECT $base + 2 + ceil(
	extract(epoch FROM clock_timestamp() - '$since') * 100)});
cmp_ok($after[0] + $after[1], '<=', $most, 'none is counted twice');
note("missed $missed of " . ($ticks + $missed));

is( $standby->safe_psql('postgres', q{
		SELECT count(*) FROM pg_waitscope_activity
		 WHERE backend_type IN ('startup', 'walreceiver')}),
	'0', 'what ended with recovery is not shown any more');
is( $standby->safe_psql('postgres', q{
		SELECT count(DISTINCT pid) FROM pg_waitscope_history
		 WHERE wait_event = 'PgSleep' AND state_class = 'foreground'}),
	'1', 'the history has the session');
$standby->safe_psql('postgres', 'CREATE TABLE written AS SELECT 1');
switch_sampling('on');
wait_for($standby, "ticks > $after[0] FROM pg_waitscope_status",
	'the new primary samples');

foreach my $session ([ $standby, $watcher ], [ $primary, $sleeper ])
{
	$session->[0]->safe_psql('postgres',
		'SELECT pg_cancel_backend(' . $session->[1]->pid . ')');
	$session->[1]->finish;
	$session->[1]->quit;
}
$standby->stop('fast');
$primary->stop('fast');
done_testing();
