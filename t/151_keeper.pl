# Life of the keeper: whatever ends or stops it, sampling goes on, and the
# status says what is missing; and what it costs.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Session;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('keeper');
$node->init;
$node->append_conf('postgresql.conf', q{
shared_preload_libraries = 'pg_waitscope'
autovacuum = off
restart_after_crash = on
});
$node->start;
$node->safe_psql('postgres', q{
CREATE EXTENSION pg_waitscope;
CREATE EXTENSION wsc_test_waits;
CREATE TABLE page AS SELECT 1 AS id;
CHECKPOINT;
});
my $content = q{wait_event IN ('BufferContent', 'BufferExclusive')};
my $blocks = 'pg_waitscope_hot_blocks';
my $status = 'pg_waitscope_status';
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
	  or diag query("SELECT * FROM $status");
	return;
}

sub set_and_reload
{
	my ($name, $value) = @_;
	query("ALTER SYSTEM SET pg_waitscope.$name = '$value'");
	query('SELECT pg_reload_conf()');
	wait_for("current_setting('pg_waitscope.$name') = '$value'",
		"$name is $value");
	return;
}

sub keeper
{
	wait_for("keeper_pid IS NOT NULL FROM $status", 'the keeper runs');
	return query("SELECT keeper_pid FROM $status");
}

# Sessions that wait for a page until end_waits().
my @sessions;

sub start_waits
{
	@sessions = map { Session->new($node) } 0 .. 3;
	my ($holder, @waiters) = @sessions;

	$holder->send("SELECT wsc_test_hold_page('page', 'exclusive');\n");
	$admin->poll(q{SELECT wait_event = 'Extension' FROM pg_stat_activity
		 WHERE pid = } . $holder->pid) or die 'the page is not held';
	$_->send("SELECT wsc_test_take_page('page', 'exclusive');\n")
	  foreach @waiters;
	wait_for("count(*) = 3 FROM pg_stat_activity WHERE $content",
		'sessions wait for a page');
	return;
}

sub end_waits
{
	query('SELECT pg_cancel_backend(' . $sessions[0]->pid . ')');
	$_->finish foreach @sessions;
	$_->quit foreach @sessions;
	return;
}

sub sees_waits
{
	my ($name) = @_;
	my $samples =
	  query("SELECT coalesce(sum(samples), 0) FROM $blocks");
	wait_for("sum(samples) > $samples + 20 FROM $blocks", $name);
	return;
}

# At rest.
my $pid = keeper();
wait_for("state_class = 'background idle' FROM pg_waitscope_activity
	WHERE backend_type = 'pg_waitscope keeper' AND pid = $pid",
	'... shows as a process that waits for work');
is(query("SELECT $Session::missing FROM $status"), '0', 'nothing is missing');

# What it costs: the budget, whatever the number of ticks with waiters; and
# nothing but its naps when it has nothing to do, or is not to.
sub cost_of
{
	my ($ms) = @_;
	my $now = "keeper_cpu_time,
		1000 * extract(epoch FROM clock_timestamp())";
	my ($cpu0, $ms0) = split /\|/, query("SELECT $now FROM $status");
	my $waits0 = query(
		"SELECT coalesce(sum(samples), 0) FROM pg_waitscope_events WHERE $content");

	$admin->poll("SELECT clock_timestamp() >
		to_timestamp($ms0 / 1000.0) + interval '$ms ms'");
	my ($cpu1, $ms1) = split /\|/, query("SELECT $now FROM $status");
	my $waits1 = query(
		"SELECT coalesce(sum(samples), 0) FROM pg_waitscope_events WHERE $content");
	note sprintf '%.1f ms of CPU in %.0f ms; %d samples of waits',
	  $cpu1 - $cpu0, $ms1 - $ms0, $waits1 - $waits0;
	return ($cpu1 - $cpu0, $ms1 - $ms0, $waits1 - $waits0);
}

start_waits();
set_and_reload('sample_period', '1ms');
sees_waits('the keeper sees them');
my ($cpu, $elapsed, $waits) = cost_of(5000);
cmp_ok($waits, '>', 1000, 'many samples of waits');
cmp_ok($cpu, '<=', 0.01 * $elapsed + 10, '... cost no more than allowed');
set_and_reload('hot_block_cpu_pct', '0.1');
($cpu, $elapsed, $waits) = cost_of(5000);
cmp_ok($cpu, '<=', 0.001 * $elapsed + 10, '... nor if less is allowed');
set_and_reload('hot_block_cpu_pct', '1');

# How often a process has slept.
sub naps
{
	my ($pid) = @_;
	my ($naps) = slurp_file("/proc/$pid/status") =~
	  /^voluntary_ctxt_switches:\s+(\d+)/m;
	return $naps;
}
set_and_reload('hot_blocks', 'off');
wait_for("max(last_seen) < now() - interval '2 s' FROM $blocks
	WHERE samples > 0", 'switched off it looks no more');
my $naps = naps($pid);
my $samples = query("SELECT sum(samples) FROM $blocks");
($cpu, $elapsed, $waits) = cost_of(3000);
cmp_ok($waits, '>', 500, '... whatever waits');
is(query("SELECT sum(samples) FROM $blocks"), $samples, '... finds nothing');
cmp_ok(naps($pid) - $naps, '<=', 2 * $elapsed / 1000 + 3,
	'... and is not even woken');
is(query("SELECT $Session::missing FROM $status"), '0',
	'... which is not called missing');
set_and_reload('hot_blocks', 'on');
sees_waits('switched on it looks again');
set_and_reload('sample_period', '10ms');

# Ended on request, or by an error's like: another one, and nothing is lost.
$samples = query("SELECT sum(samples) FROM $blocks");
query("SELECT pg_terminate_backend($pid)");
wait_for("keeper_pid <> $pid FROM $status", 'terminated: there is a new one');
$pid = keeper();
is(query("SELECT restarts, $Session::missing FROM $status"), '0|0',
	'... the same sampler, nothing is missing');
cmp_ok(query("SELECT sum(samples) FROM $blocks"), '>=', $samples,
	'... with what the old one knew');
sees_waits('... and it looks');

# Stopped: sampling goes on, and readers, and resets.
kill 'STOP', $pid or die "kill: $!";
my $ticks = query("SELECT ticks FROM $status");
my ($time0) = query("SELECT sum(est_time) FROM pg_waitscope_events
	WHERE $content");
wait_for("bool_or(d LIKE 'keeper_stalled: %')
	FROM $status, unnest(degraded) AS d", 'stopped: the status says so');
wait_for("ticks > $ticks + 500 AND cardinality(degraded) > 0 FROM $status",
	'... sampling goes on');
is(query("SELECT keeper_pid, sampler_pid IS NOT NULL FROM $status"),
	"$pid|t", '... it is still there');
cmp_ok(query("SELECT count(*) FROM $blocks"), '>', 0, '... the view answers');
query("SELECT pg_waitscope_reset('hot_blocks')");
is(query("SELECT (SELECT count(*) FROM $blocks), entries
		FROM pg_waitscope_stores WHERE store = 'hot_blocks'"),
	'0|0', '... a reset has happened when it returns');

# The time of that gap is nobody's: what is seen afterwards tells nothing of
# it.
my ($time1) = query("SELECT sum(est_time) FROM pg_waitscope_events
	WHERE $content");
kill 'CONT', $pid;
sees_waits('continued it looks again');
cmp_ok(
	query("SELECT est_time FROM $blocks WHERE relfilenode IS NULL"),
	'>=', $time1 - $time0 - 3 * 1200,
	'... the time between belongs to no block');
is(query("SELECT $Session::missing, keeper_pid FROM $status"), "0|$pid",
	'... nothing is missing');

# Killed: the server starts all its processes anew.
my $epoch = query("SELECT epoch FROM $status");
kill 'KILL', $pid;
eval { $_->quit } foreach @sessions, $admin;
ok( $node->poll_query_until('postgres', "
		SELECT epoch > $epoch AND sampler_pid IS NOT NULL
			   AND keeper_pid IS NOT NULL FROM $status"),
	'killed: crash restart');
$admin = Session->new($node);
is(query("SELECT count(*) FROM $blocks"), '0', '... the store is empty');
start_waits();
sees_waits('... and the keeper looks');
end_waits();

# No room for it: the sampler does without.
$admin->quit;
$node->append_conf('postgresql.conf', 'max_worker_processes = 2');
$node->restart;
$admin = Session->new($node);
wait_for("ticks > 10 FROM $status", 'without a keeper there is a sampler');
is( query(q{SELECT string_agg(d, '') FROM pg_waitscope_status,
		unnest(degraded) AS d
		WHERE d ~ '^keeper_not_running: .*max_worker_processes'}) ne '',
	1, '... and the status says what to do');
$admin->quit;
unlike(slurp_file($node->logfile), qr/PANIC|TRAP/, 'no PANIC, no assertion');
$node->stop;
done_testing();
