# Life of the sampler: whatever ends or stops it, the server does not notice,
# what was counted stays, and sampling goes on.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Session;
use File::Copy;
use IPC::Run;
use Test::More;
use Time::HiRes qw(time);

my $node = PostgreSQL::Test::Cluster->new('sampler');
$node->init;
$node->append_conf('postgresql.conf', q{
shared_preload_libraries = 'pg_waitscope'
restart_after_crash = on
statement_timeout = 60s
});
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION pg_waitscope');

sub status
{
	my ($columns) = @_;
	return $node->safe_psql('postgres',
		"SELECT $columns FROM pg_waitscope_status");
}

# Waits until an expression over the status is true.
sub wait_for
{
	my ($condition, $name) = @_;
	ok( $node->poll_query_until('postgres',
			"SELECT $condition FROM pg_waitscope_status"),
		$name);
}

wait_for('ticks > 10', 'it samples');
is( $node->safe_psql('postgres', q{
		SELECT s.sampler_pid = a.pid FROM pg_waitscope_status s,
			   pg_stat_activity a
		 WHERE a.backend_type = 'pg_waitscope sampler'}),
	't', 'it shows in pg_stat_activity');
my $version = $node->safe_psql('postgres', 'SHOW server_version_num');
is( $node->safe_psql('postgres', q{
		SELECT split_part(d, ':', 1)
		  FROM pg_waitscope_status, unnest(degraded) AS d}),
	$version >= 140000 ? '' : 'query_ids_unavailable',
	'nothing is missing that the server has');
is( $node->safe_psql('postgres', q{
		SELECT count(*) FROM pg_waitscope_events e, pg_waitscope_status s
		 WHERE e.wait_event ~ 'Waitscope'}),
	'0', 'it is nobody\'s load');

# A load whose counts must survive all of this.
my $load = IPC::Run::start(
	[
		'psql', '-X', '-d', $node->connstr('postgres'), '-c',
		'SET statement_timeout = 0', '-c', 'SELECT pg_sleep(600)'
	],
	'<', '/dev/null', '>', '/dev/null', '2>', '/dev/null');
my $sleep = q{(SELECT coalesce(sum(samples), 0) FROM pg_waitscope_events
				WHERE wait_event = 'PgSleep')};
wait_for("$sleep > 10", 'the load is counted');

# Cancelling it means nothing.
my $pid = status('sampler_pid');
$node->safe_psql('postgres', "SELECT pg_cancel_backend($pid)");
my $ticks = status('ticks');
wait_for("ticks > $ticks + 20", 'it ignores a cancel');
is(status('sampler_pid'), $pid, '... in the same process');

# Ended by an administrator.
my ($before, $reset) = split /\|/,
  $node->safe_psql('postgres', "SELECT $sleep, min(stats_reset)
	FROM pg_waitscope_events");
my $epoch = status('epoch');
$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid)");
wait_for("sampler_pid <> $pid AND restarts = 1", 'a new one starts');
wait_for("$sleep > $before + 10", 'counts go on from where they were');
is($node->safe_psql('postgres', 'SELECT min(stats_reset)
	FROM pg_waitscope_events'), $reset, '... without a reset');
is(status('epoch'), $epoch, '... and in the same epoch');
cmp_ok(status('sampler_cpu_time > 0'), 'eq', 't', 'CPU time is told');

# Many times over.
foreach my $i (1 .. 3)
{
	$pid = status('sampler_pid');
	$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid)");
	wait_for("sampler_pid <> $pid", "restart $i");
}

# Stopped: readers answer, backends work, the gap is counted.
my $state = q{ticks || '|' || ticks_missed || '|' || covered_time};
$pid = status('sampler_pid');
wait_for('ticks > 0', 'it is at work');
my ($ticks0, $missed0, $covered0) = split /\|/, status($state);
my $stopped_at = time;
kill 'STOP', $pid;
my $answered = 0;
until ($answered && time - $stopped_at > 3)
{
	$node->safe_psql('postgres', q{
		SELECT count(*) FROM pg_waitscope_history;
		SELECT count(*) FROM pg_waitscope_profile;
		SELECT count(*) FROM pg_waitscope_summary;
		CREATE TABLE probe (a int);
		DROP TABLE probe;});
	$answered = 1;
}
ok($answered, 'readers and statements go on while it is stopped');
like(status('degraded'), qr/sampler_stalled/, 'status says so');
kill 'CONT', $pid;
my $stopped_ms = 1000 * (time - $stopped_at);
wait_for("ticks > $ticks0 + 20", 'it goes on');
my ($ticks1, $missed1, $covered1) = split /\|/, status($state);
cmp_ok($missed1 - $missed0, '>', $stopped_ms / 10 * 0.9,
	'what was missed is counted');
cmp_ok($covered1 - $covered0, '<', 1000 * (time - $stopped_at) -
	  $stopped_ms + 500, '... and not covered');

# Switched off and on: a gap that is neither covered nor missed.
$node->safe_psql('postgres', 'ALTER SYSTEM SET pg_waitscope.sampling = off');
$node->safe_psql('postgres', 'SELECT pg_reload_conf()');
wait_for('NOT sampling', 'switched off');
like(status('degraded'), qr/sampling_off/, 'status says so');
my $off = status($state);
$node->safe_psql('postgres', 'SELECT pg_sleep(0.5)');
is(status($state), $off, 'no ticks, none missed');
$node->safe_psql('postgres', 'ALTER SYSTEM RESET pg_waitscope.sampling');
$node->safe_psql('postgres', 'SELECT pg_reload_conf()');
my ($off_ticks) = split /\|/, $off;
wait_for("sampling AND ticks > $off_ticks", 'on again');

# Another period.
foreach my $period ('1', '0.1', '50')
{
	$node->safe_psql('postgres',
		"ALTER SYSTEM SET pg_waitscope.sample_period = $period");
	$node->safe_psql('postgres', 'SELECT pg_reload_conf()');
	wait_for("period = $period", "period of $period ms");
	$ticks = status('ticks');
	wait_for("ticks > $ticks + 5", '... is sampled at');
}
$node->safe_psql('postgres',
	'ALTER SYSTEM RESET pg_waitscope.sample_period');
$node->safe_psql('postgres', 'SELECT pg_reload_conf()');

# Long periods do not make it deaf.
$node->safe_psql('postgres',
	"ALTER SYSTEM SET pg_waitscope.sample_period = '10s'");
$node->safe_psql('postgres', 'SELECT pg_reload_conf()');
wait_for('period = 10000', 'period of 10 s');
$node->safe_psql('postgres',
	'ALTER SYSTEM RESET pg_waitscope.sample_period');
$node->safe_psql('postgres', 'SELECT pg_reload_conf()');
wait_for('period = 10', 'left within the wait of a poll');

# A second copy of the library.
my $libdir = $node->safe_psql('postgres',
	"SELECT setting FROM pg_config WHERE name = 'PKGLIBDIR'");
my $copy = PostgreSQL::Test::Utils::tempdir() . '/pg_waitscope_copy.so';
copy("$libdir/pg_waitscope.so", $copy) or die "copy: $!";
my ($rc, $out, $err) = $node->psql('postgres', "LOAD '$copy'");
like($err, qr/another copy of pg_waitscope is already loaded/,
	'a second copy is refused');
like($err, qr/HINT/, '... with a hint');
$ticks = status('ticks');
wait_for("ticks > $ticks", '... and harms nothing');

# A crash of the server: all memory is new, settings are still in force.
$epoch = status('epoch');
$pid = status('sampler_pid');
kill 'KILL', $pid;
ok( $node->poll_query_until('postgres', "
		SELECT sampler_pid <> $pid AND ticks > 0 AND period = 10
		  FROM pg_waitscope_status"),
	'SIGKILL: crash restart, and it samples');
cmp_ok(status('epoch'), '>', $epoch, '... in a new epoch');
is(status('restarts'), '0', '... with restarts counted anew');
$load->finish;

# Each kind of shutdown, with the sampler at work.
foreach my $mode ('smart', 'fast', 'immediate')
{
	my $began = time;
	$node->stop($mode);
	cmp_ok(time - $began, '<', 30, "$mode shutdown ends");
	$node->start;
	wait_for('ticks > 0', "it samples after a $mode shutdown");
}

# No worker slot: the server starts, views answer, and say what to do.
$node->append_conf('postgresql.conf', 'max_worker_processes = 0');
$node->restart;
is(status('sampler_pid IS NULL'), 't', 'no worker slot: no sampler');
like(status('degraded'), qr/sampler_not_running.*max_worker_processes/s,
	'... status names the setting');
is($node->safe_psql('postgres',
		'SELECT count(*) FROM pg_waitscope_history'),
	'0', '... views answer');
is( $node->safe_psql('postgres', q{
		SELECT count(*) > 0 FROM pg_waitscope_activity}),
	't', '... activity works');
$node->stop;

done_testing();
