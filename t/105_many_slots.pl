# A server for 10000 connections: it starts, takes the memory that it says,
# and the sampler finds sessions in whatever slot they are, at bounded cost.
# (t/011_scan_slots.pl has the scan alone.)

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Session;
use Test::More;
use Time::HiRes qw(time);

my $node = PostgreSQL::Test::Cluster->new('slots');
$node->init;
$node->append_conf('postgresql.conf', q{
shared_preload_libraries = 'pg_waitscope'
max_connections = 10000
shared_buffers = 16MB
max_locks_per_transaction = 10
max_pred_locks_per_transaction = 10
autovacuum = off
log_statement = none
pg_waitscope.history_period = 10
});
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION pg_waitscope');
my $admin = Session->new($node);

# Memory: what is said is what is taken.
is( $admin->query(q{
		SELECT string_agg(format('%s %s', a.name, a.size - s.bytes), ', '
						  ORDER BY a.name)
		  FROM pg_shmem_allocations a
		  JOIN pg_waitscope_stores s ON a.name = CASE s.store
				WHEN 'fmlocks' THEN 'pg_waitscope locks'
				ELSE 'pg_waitscope ' || replace(s.store, '_', ' ') END
		 WHERE a.size <> s.bytes OR a.allocated_size < s.bytes}),
	'', 'stores report the memory that they have');
is( $admin->query(q{
		SELECT (SELECT count(*) FROM pg_waitscope_stores),
			   (SELECT count(*) FROM pg_shmem_allocations
				 WHERE name ~ '^pg_waitscope')}),
	'17|17', '... all of it');
cmp_ok($admin->query('SELECT sum(bytes) FROM pg_waitscope_stores') / 1048576,
	'<', 40, '... a few dozen MB');

# Ticks of a sampler that has nothing to do.
ok($admin->poll('SELECT ticks > 20 FROM pg_waitscope_status'), 'it samples');
my ($period, $delay_time) = split /\|/, $admin->query(
	'SELECT period, scan_delay_time FROM pg_waitscope_status');
cmp_ok($delay_time, '<=', 64 * $period,
	'status says within which time a process is found');
cmp_ok($delay_time, '>', $period, '... as the array is not read at once');
my $delay = $delay_time / $period;

#
# Many sessions start at the same time and stay; then again, in slots that
# were used before and left to the far ends of the free list.
#
my $dir = PostgreSQL::Test::Utils::tempdir();
append_to_file("$dir/sleep.sql", "SELECT pg_sleep(600);\n");

sub start_sleepers
{
	my ($n) = @_;
	return IPC::Run::start(
		[
			'pgbench', '--no-vacuum', "--client=$n", '--transactions=1',
			"--file=$dir/sleep.sql", $node->connstr('postgres')
		],
		'<', \undef, '>', "$dir/sleep.out", '2>&1');
}

my $sleepers = q{backend_type = 'client backend' AND wait_event = 'PgSleep'};

sub end_sleepers
{
	my ($run) = @_;
	$run->signal('TERM');
	$run->finish;
	$admin->query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE $sleepers");
	$admin->poll("SELECT count(*) = 0 FROM pg_stat_activity WHERE $sleepers")
	  or die 'they do not end';
	return;
}

my $n = 120;
foreach my $round (1, 2)
{
	my $run = start_sleepers($n);
	ok( $admin->poll(
			"SELECT count(*) = $n FROM pg_stat_activity WHERE $sleepers"),
		"$round: $n sessions sleep");
	is( $admin->query(qq{
			SELECT count(*), count(a.pid)
			  FROM (SELECT pid FROM pg_stat_activity WHERE $sleepers) s
			  FULL JOIN (SELECT pid FROM pg_waitscope_activity WHERE $sleepers) a
			 USING (pid)}),
		"$n|$n", "$round: activity shows them at once");
	ok( $admin->poll(qq{
			SELECT count(DISTINCT h.pid) = $n FROM pg_waitscope_history h
			  JOIN pg_stat_activity a USING (pid)
			 WHERE a.wait_event = 'PgSleep' AND sampled_at > backend_start}),
		"$round: all are sampled");

	# In ticks, which a busy machine does not change: those of a session's
	# life that were taken before it was first seen.  Every tick is kept.
	my ($longest) = $admin->query(qq{
		WITH ticks AS MATERIALIZED (
			SELECT sampled_at FROM pg_waitscope_history GROUP BY 1),
		seen AS (
			SELECT h.pid, a.query_start, min(h.sampled_at) AS first
			  FROM pg_waitscope_history h JOIN pg_stat_activity a USING (pid)
			 WHERE a.wait_event = 'PgSleep' AND h.sampled_at > a.backend_start
			 GROUP BY 1, 2)
		SELECT max((SELECT count(*) FROM ticks
					 WHERE sampled_at > query_start AND sampled_at <= first))
		  FROM seen});
	cmp_ok($longest, '<=', $delay + 1,
		"$round: the last one after $longest of $delay ticks");

	# Found once, seen always.
	my $now = $admin->query('SELECT clock_timestamp()');
	ok( $admin->poll(qq{
			SELECT count(DISTINCT sampled_at) > 50 FROM pg_waitscope_history
			 WHERE sampled_at > '$now'}),
		"$round: ticks are taken");
	is( $admin->query(qq{
			SELECT min(n), max(n)
			  FROM (SELECT count(*) FILTER (WHERE wait_event = 'PgSleep') AS n
					  FROM pg_waitscope_history WHERE sampled_at > '$now'
					 GROUP BY sampled_at) s}),
		"$n|$n", "$round: each has all of them");
	end_sleepers($run);
	is($admin->query(
			"SELECT count(*) FROM pg_waitscope_activity WHERE $sleepers"),
		'0', "$round: nothing is left of them");
}

# Every view answers.
foreach my $view (split /\n/, $admin->query(q{
	SELECT relname FROM pg_class WHERE relkind = 'v'
	   AND relname ~ '^pg_waitscope_'
	   AND relname <> 'pg_waitscope_lock_bench_pivot' ORDER BY 1}))
{
	cmp_ok($admin->query("SELECT count(t::text) FROM $view t"),
		'>=', $view =~ /lwlock|hot_blocks|lock_wait|lock_block|lock_chains|wait_lengths/
		? 0 : 1, "$view answers");
}
cmp_ok($admin->query(q{SELECT count(*)
		FROM pg_waitscope_sample(duration => '200 ms', period => '10 ms')}),
	'>', 0, 'pg_waitscope_sample() answers');

# What a tick costs, in CPU time.
my ($cpu0, $ticks0) = split /\|/, $admin->query(
	'SELECT sampler_cpu_time, ticks FROM pg_waitscope_status');
$admin->poll("SELECT ticks > $ticks0 + 300 AND sampler_cpu_time > $cpu0
	FROM pg_waitscope_status");
my ($cpu1, $ticks1) = split /\|/, $admin->query(
	'SELECT sampler_cpu_time, ticks FROM pg_waitscope_status');
my $per_tick = ($cpu1 - $cpu0) / ($ticks1 - $ticks0);
note sprintf 'a tick costs %.0f us of CPU time', 1000 * $per_tick;
cmp_ok($per_tick, '<', 0.2 * $period, 'a tick costs little of its period');
is($admin->query("SELECT $Session::missing FROM pg_waitscope_status"),
	'0', 'nothing is missing');
$admin->quit;

foreach my $mode ('fast', 'immediate')
{
	my $began = time;
	$node->stop($mode);
	note sprintf '%s shutdown: %.1f s', $mode, time - $began;
	cmp_ok(time - $began, '<', 60, "$mode shutdown ends");
	$began = time;
	$node->start;
	note sprintf 'start: %.1f s', time - $began;
	ok( $node->poll_query_until('postgres',
			'SELECT ticks > 0 FROM pg_waitscope_status'),
		"it samples after the $mode shutdown");
}
unlike(slurp_file($node->logfile), qr/PANIC|TRAP/, 'no PANIC, no assertion');
$node->stop;
done_testing();
