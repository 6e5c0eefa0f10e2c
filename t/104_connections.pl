# Nearly all connections of a server at once, then sessions that come and go
# without end: nobody is lost, nobody stays, and all sums agree.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Session;
use Test::More;
use Time::HiRes qw(time usleep);

my $clients = 290;
my $churn_s = 20;

my $node = PostgreSQL::Test::Cluster->new('many');
$node->init;
$node->append_conf('postgresql.conf', q{
shared_preload_libraries = 'pg_waitscope'
max_connections = 300
shared_buffers = 16MB
autovacuum = off
log_statement = none
log_connections = off
log_disconnections = off
deadlock_timeout = 1h
pg_waitscope.track_idle = on
pg_waitscope.sampling = off
});
$node->start;
$node->safe_psql('postgres', q{
CREATE EXTENSION pg_waitscope;
CREATE TABLE slept (pid int, ms float8);
CREATE FUNCTION nap() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	nap record;
BEGIN
	SELECT clock_timestamp() AS a, pg_sleep(0.02), clock_timestamp() AS b
	  INTO nap;
	INSERT INTO slept VALUES (pg_backend_pid(),
		1000 * extract(epoch FROM nap.b - nap.a));
END $$;
});

my $dir = PostgreSQL::Test::Utils::tempdir();
my $admin = Session->new($node);

sub start_pgbench
{
	my ($name, $script, @options) = @_;

	open my $fh, '>', "$dir/$name.sql" or die "$name: $!";
	print $fh $script;
	close $fh;
	return IPC::Run::start(
		[
			'pgbench', '--no-vacuum', "--file=$dir/$name.sql", @options,
			$node->connstr('postgres')
		],
		'<', \undef, '>', "$dir/$name.out", '2>&1');
}

# Off, sums stand still; on, a new grid begins.
# Only the sampler is told to read its settings: it wakes the others, too.
sub set_sampling
{
	my ($value) = @_;
	$admin->query("ALTER SYSTEM SET pg_waitscope.sampling = $value");
	kill 'HUP', $admin->query('SELECT sampler_pid FROM pg_waitscope_status');
	die "sampling is not $value"
	  unless $admin->poll(
		"SELECT sampling = '$value' FROM pg_waitscope_status");
	return;
}

my $counters = q{
	ticks, ticks_missed, covered_time, idle_samples,
	idle_in_transaction_samples, 1000 * extract(epoch FROM clock_timestamp())};

sub counters
{
	return split /\|/,
	  $admin->query("SELECT $counters FROM pg_waitscope_status");
}

# What the stores say of the same ticks.
sub check_sums
{
	my ($name) = @_;

	is( $admin->query(q{
			SELECT (SELECT sum(samples + background_samples)
					  FROM pg_waitscope_events) -
				   (SELECT sum(samples) FROM pg_waitscope_profile),
				   round((SELECT sum(est_time + background_time)
							FROM pg_waitscope_events) -
						 (SELECT sum(est_time) FROM pg_waitscope_profile)),
				   (SELECT coalesce(sum(samples + background_samples), 0)
					  FROM pg_waitscope_events
					 WHERE wait_event_type = 'LWLock'
						OR wait_event_type = 'Buffer' AND wait_event <> 'BufferCleanup') -
				   (SELECT coalesce(sum(samples), 0) FROM pg_waitscope_lwlocks),
				   (SELECT sum(evictions) FROM pg_waitscope_stores)}),
		'0|0|0|0', "$name: totals of events, profile and lwlocks agree");
	is( $admin->query(q{
			SELECT count(*) FROM pg_waitscope_lwlocks
			 WHERE samples <> shared_samples + exclusive_samples
							  + until_free_samples
				OR samples <> waiter_sum}),
		'0', "$name: ... so do modes and queues of LWLocks");
	is($admin->query('SELECT sum(overwritten) FROM pg_waitscope_stores'),
		'0', "$name: no reader had to do without anything");
	return;
}

#
# All at once: a quarter each is idle, idle in a transaction, asleep and
# waiting for a lock.
#
my $holder = Session->new($node);
$holder->query('SELECT pg_advisory_lock(1)');
my $everybody = start_pgbench(
	'everybody', q{
\if :client_id % 4 = 0
SELECT 1;
\sleep 600 s
\elif :client_id % 4 = 1
BEGIN;
SELECT 1;
\sleep 600 s
\elif :client_id % 4 = 2
SELECT pg_sleep(600);
\else
SELECT pg_advisory_lock_shared(1);
\endif
}, '--client=' . $clients, '--transactions=1');
my $mine = join ',', $admin->pid, $holder->pid;
my $theirs = "backend_type = 'client backend' AND pid NOT IN ($mine)";
ok( $admin->poll(qq{
		SELECT array_agg(n ORDER BY n) = '{72,72,73,73}'
		  FROM (SELECT count(*) AS n FROM pg_stat_activity
				 WHERE $theirs
				   AND (state, wait_event) IN (('idle', 'ClientRead'),
					   ('idle in transaction', 'ClientRead'),
					   ('active', 'PgSleep'), ('active', 'advisory'))
				 GROUP BY state, wait_event) s}),
	"$clients sessions are in their states");
is( $admin->query(qq{
		SELECT count(*), count(s.pid), count(a.pid)
		  FROM (SELECT pid, backend_type, datname, usename, state,
					   wait_event_type, wait_event
				  FROM pg_stat_activity WHERE $theirs) s
		  FULL JOIN
			   (SELECT pid, backend_type, datname, usename, state,
					   wait_event_type, wait_event
				  FROM pg_waitscope_activity WHERE $theirs) a
		 USING (pid, backend_type, datname, usename, state, wait_event_type,
				wait_event)}),
	"$clients|$clients|$clients",
	'activity shows all of them as pg_stat_activity does');
is( $admin->query(qq{
		SELECT count(*) FROM pg_waitscope_activity
		 WHERE wait_event = 'advisory' AND state_class = 'foreground'
		   AND mode = 'ShareLock' AND } . $holder->pid . q{ = ANY (blocked_by)}),
	'72', '... and who blocks those that wait');

# Every tick has all of them, exactly.
$admin->query('SELECT pg_waitscope_reset()');
my ($ticks0, $missed0, $covered0, $idle0, $in_xact0) = counters();
set_sampling('on');
$admin->poll("SELECT ticks > $ticks0 + 100 FROM pg_waitscope_status")
  or die 'no samples';
set_sampling('off');
my ($ticks1, $missed1, $covered1, $idle1, $in_xact1) = counters();
my $ticks = $ticks1 - $ticks0;
is( $admin->query(q{
		SELECT string_agg(samples::text, ' ' ORDER BY wait_event)
		  FROM pg_waitscope_events WHERE wait_event IN ('PgSleep', 'advisory')}),
	72 * $ticks . ' ' . 72 * $ticks,
	"each of $ticks ticks has all sessions that sleep or wait");
is($in_xact1 - $in_xact0, 73 * $ticks, '... all that idle in transactions');
cmp_ok($idle1 - $idle0, '>=', 74 * $ticks, '... all that are idle');
cmp_ok($idle1 - $idle0, '<=', 75 * $ticks, '... and no more');
is( $admin->query(qq{
		SELECT count(*) > 5, min(n), max(n)
		  FROM (SELECT count(*) FILTER (WHERE pid NOT IN ($mine)
					AND backend_type = 'client backend') AS n
				  FROM pg_waitscope_history GROUP BY sampled_at) s}),
	"t|$clients|$clients", '... also in the history');
check_sums('all at once');

# They end all at once.
$everybody->signal('TERM');
$everybody->finish;
$admin->query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity
	WHERE $theirs");
ok($admin->poll("SELECT count(*) = 0 FROM pg_stat_activity WHERE $theirs"),
	'they end');
is($admin->query("SELECT count(*) FROM pg_waitscope_activity WHERE $theirs"),
	'0', '... and nothing is left of them');

#
# Sessions of a few ms without end, beside some that stay.
#
my @staying = map { Session->new($node) } 1 .. 5;
$_->send("SELECT pg_sleep(600);\n") foreach @staying;
my $staying = join ',', map { $_->pid } @staying;
my $sleeping = "SELECT count(*) = 5 FROM pg_stat_activity
	WHERE pid IN ($staying) AND wait_event = 'PgSleep'";
$admin->poll($sleeping) or die 'they do not sleep';
my $churn = start_pgbench('churn', q{
SELECT nap();
\sleep 200 ms
}, '--connect', '--client=40', '--jobs=10', "--time=" . ($churn_s + 4));
$admin->poll('SELECT count(*) > 40 FROM slept') or die 'no churn';
$admin->query('SELECT pg_waitscope_reset()');
my $slept = 'SELECT count(*), count(DISTINCT pid), sum(ms) FROM slept';
($ticks0, $missed0, $covered0) = counters();
set_sampling('on');
my ($naps0, undef, $ms0) = split /\|/, $admin->query($slept);
my (undef, undef, $covered_on, undef, undef, $clock0) = counters();

my $readers = 0;
my $until = time + $churn_s;
while (time < $until)
{
	$admin->query("SELECT count(t::text) FROM pg_waitscope_$_ t")
	  foreach qw(activity history profile summary);
	$readers++;
	usleep(500_000);
}
cmp_ok($readers, '>', 5, 'churn: views are read meanwhile');

my (undef, undef, $covered_off, undef, undef, $clock1) = counters();
my ($naps1, $pids, $ms1) = split /\|/, $admin->query($slept);
set_sampling('off');
($ticks1, $missed1, $covered1) = counters();
$ticks = $ticks1 - $ticks0;
my $missed = $missed1 - $missed0;
my $naps = $naps1 - $naps0;
cmp_ok($naps, '>', 10 * $churn_s, "churn: $naps sessions");

# On and off come a moment before and after the clock was read.
cmp_ok(10 * ($ticks + $missed), '>=', $clock1 - $clock0 - 20,
	"churn: $ticks ticks taken and $missed missed are all");
cmp_ok($covered1 - $covered0, '<=', 10 * ($ticks + $missed),
	'... and what is covered is no more');
cmp_ok($covered1 - $covered0, '>=', 10 * $ticks,
	'... and no less than what was taken');
cmp_ok($missed, '<', $ticks, '... and few are missed');

# Who stays is in every tick.
is( $admin->query(qq{
		SELECT count(*) > 50, min(n), max(n)
		  FROM (SELECT count(*) FILTER (WHERE pid IN ($staying)
					AND wait_event = 'PgSleep') AS n
				  FROM pg_waitscope_history GROUP BY sampled_at) s}),
	't|5|5', '... each with all that stay');

# The naps, as measured by those who took them.
my $est = $admin->query(q{
	SELECT est_time FROM pg_waitscope_events WHERE wait_event = 'PgSleep'})
  - 5 * ($covered1 - $covered0);
my $share = ($est / ($covered1 - $covered0)) /
  (($ms1 - $ms0) / ($clock1 - $clock0));
note sprintf 'naps: %.0f ms estimated, %.0f ms measured, ratio %.3f', $est,
  $ms1 - $ms0, $share;
cmp_ok(abs($share - 1), '<', 0.2, 'churn: short sessions are counted');
check_sums('churn');
is( $admin->query(q{
		SELECT abs(sum(weight_time) / (SELECT sum(est_time)
				FROM pg_waitscope_events WHERE wait_event = 'PgSleep') - 1) < 0.1
		  FROM pg_waitscope_history WHERE wait_event = 'PgSleep'}),
	't', 'churn: the history stands for the same time')
  or diag $admin->query(q{SELECT sum(weight_time)
		FROM pg_waitscope_history WHERE wait_event = 'PgSleep'});

# Nobody stays who has left.
ok($churn->finish, 'the churn ends');
ok($admin->poll("SELECT count(*) = 0 FROM pg_stat_activity
		WHERE $theirs AND pid NOT IN ($staying)"), '... with all its sessions');
is( $admin->query(q{
		SELECT string_agg(pid::text, ' ' ORDER BY pid)
		  FROM pg_waitscope_activity}),
	$admin->query(q{
		SELECT string_agg(pid::text, ' ' ORDER BY pid) FROM pg_stat_activity}),
	'activity shows those that are left');
my $now = $admin->query('SELECT now()');
set_sampling('on');
ok( $admin->poll(qq{
		SELECT count(DISTINCT sampled_at) > 5 FROM pg_waitscope_history
		 WHERE sampled_at > '$now'}),
	'it samples');
is( $admin->query(qq{
		SELECT count(*) FROM pg_waitscope_history
		 WHERE sampled_at > '$now'
		   AND pid NOT IN (SELECT pid FROM pg_stat_activity)}),
	'0', '... nobody else');
is($admin->query("SELECT $Session::missing FROM pg_waitscope_status"),
	'0', 'nothing is missing');

$admin->query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity
	WHERE pid IN ($staying)");
$_->quit foreach $admin, $holder;
eval { $_->quit } foreach @staying;
unlike(slurp_file($node->logfile), qr/PANIC|TRAP/, 'no PANIC, no assertion');
$node->stop;
done_testing();
