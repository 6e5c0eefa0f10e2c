# A sampler that stands still for 30 s under load: nobody notices but those
# who ask for samples.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Session;
use IPC::Run;
use Test::More;
use Time::HiRes qw(time usleep);

my $stopped_for = 30;
my $window = 8;
my $clients = 80;

my $node = PostgreSQL::Test::Cluster->new('stopped');
$node->init;
$node->append_conf('postgresql.conf', q{
shared_preload_libraries = 'pg_waitscope'
autovacuum = off
synchronous_commit = off
});
$node->start;
$node->safe_psql('postgres', q{
CREATE EXTENSION pg_waitscope;
CREATE TABLE accounts AS SELECT i AS id, 0 AS n FROM generate_series(1, 1000) i;
CREATE UNIQUE INDEX ON accounts (id);
});

# Each client thinks for half a second, more or less, lest all do the same at
# once, and writes and reads.  So the rate hangs neither on chance (its standard
# deviation is 0.7 % in a window) nor on the machine, as long as statements take
# much less than that: it falls if they do not.
my $dir = PostgreSQL::Test::Utils::tempdir();

sub start_pgbench
{
	my ($name, $script, @options) = @_;
	my $out = '';

	open my $fh, '>', "$dir/$name.sql" or die "$name: $!";
	print $fh $script;
	close $fh;
	return IPC::Run::start(
		[
			'pgbench', '--no-vacuum', '--log', "--log-prefix=$dir/$name",
			"--file=$dir/$name.sql", @options, $node->connstr('postgres')
		],
		'<', \undef, '>', \$out, '2>&1',
		IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
}

# When each transaction ended.
sub transaction_ends
{
	my ($name) = @_;
	my @ends;

	foreach my $file (glob "$dir/$name.[0-9]*")
	{
		foreach (split /\n/, slurp_file($file))
		{
			my @fields = split / /;
			push @ends, $fields[4] + $fields[5] / 1e6;
		}
	}
	return @ends;
}

sub rate
{
	my ($from, $to, @ends) = @_;
	return (grep { $_ >= $from && $_ < $to } @ends) / ($to - $from);
}

my $duration = $stopped_for + 2 * $window + 6;
my @loads = (
	start_pgbench(
		'load', qq{
\\set think random(250, 750)
\\sleep :think ms
\\set id random(1, 1000)
UPDATE accounts SET n = n + 1 WHERE id = :id;
SELECT n FROM accounts WHERE id = :id;
}, '-c', $clients, '-j', 2, '-T', $duration),
	start_pgbench(
		'connect', qq{
\\sleep 300 ms
SELECT 1;
}, '--connect', '-c', 2, '-T', $duration));

my $admin = Session->new($node);
ok( $admin->poll(qq{
		SELECT count(*) > $clients FROM pg_stat_activity
		 WHERE backend_type = 'client backend'}),
	'the load runs');
my $pid = $admin->query('SELECT sampler_pid FROM pg_waitscope_status');
my $all_status = q{
	SELECT ticks, ticks_missed, covered_time,
		   1000 * extract(epoch FROM clock_timestamp())
	  FROM pg_waitscope_status};

# Waits of ours, which nobody is to be in.  The sampler itself sleeps in
# "Extension", or under a name of its own.
my @waits;

sub look_for_waits
{
	push @waits, grep { length } $admin->query(qq{
		SELECT pid || ' ' || wait_event FROM pg_stat_activity
		 WHERE (wait_event ~* 'waitscope' OR wait_event_type = 'Extension')
		   AND backend_type !~ '^pg_waitscope '});
	return;
}

# Before.
my $before = time;
while (time < $before + $window)
{
	look_for_waits();
	usleep(500_000);
}

# While it is stopped: everything that can be asked for, again and again.
my ($ticks0, $missed0, $covered0, $ms0) = split /\|/, $admin->query($all_status);
my @views = split /\n/, $admin->query(q{
	SELECT relname FROM pg_class WHERE relkind = 'v' AND relname ~ '^pg_waitscope_'
	   AND relname <> 'pg_waitscope_lock_bench_pivot'
	 ORDER BY 1});
cmp_ok(scalar @views, '>', 10, 'all views');
kill 'STOP', $pid or die "kill: $!";
my $stopped_at = time;
my $slowest = 0;
my $rounds = 0;
while (time < $stopped_at + $stopped_for)
{
	my $began = time;
	$admin->query("SELECT count(t::text) FROM $_ t") foreach @views;
	$admin->query(q{SELECT count(*)
		FROM pg_waitscope_sample(duration => '20 ms', period => '10 ms')});
	$slowest = time - $began if time - $began > $slowest;
	look_for_waits();
	if (++$rounds == 10)
	{
		is($admin->query(q{
			SELECT bool_or(s LIKE 'sampler_stalled: %')
			  FROM pg_waitscope_status, unnest(degraded) s}), 't', 'status says that it stands still');
		my $reset = $admin->query(q{
			SELECT max(stats_reset) FROM pg_waitscope_stores});
		$admin->query('SELECT pg_waitscope_reset()');
		is( $admin->query(qq{
				SELECT sum(entries),
					   bool_and(stats_reset > '$reset'
								OR stats_reset IS NULL)
				  FROM pg_waitscope_stores WHERE store <> 'fmlocks'}),
			'0|t', 'a reset has happened when it returns');
		is( $admin->query(q{
				SELECT (SELECT count(*) FROM pg_waitscope_history),
					   (SELECT count(*) FROM pg_waitscope_events),
					   (SELECT count(*) FROM pg_waitscope_profile),
					   (SELECT count(*) FROM pg_waitscope_lwlocks)}),
			'0|0|0|0', '... nothing is left to be read');
	}
	usleep(500_000);
}
kill 'CONT', $pid;
my $continued_at = time;
cmp_ok($rounds, '>', 20, 'all views were read all the time');
cmp_ok($slowest, '<', 10, '... in a bounded time');

# After: what was missed is counted, not covered.
ok($admin->poll("SELECT ticks > $ticks0 + 100 FROM pg_waitscope_status"),
	'it goes on');
my ($ticks1, $missed1, $covered1, $ms1) = split /\|/, $admin->query($all_status);
my $stopped_ms = 1000 * ($continued_at - $stopped_at);
cmp_ok($missed1 - $missed0, '>=', $stopped_ms / 10 - 2,
	'every instant of the gap is counted as missed');
my $elapsed = ($ms1 - $ms0) / 10;
cmp_ok(abs($ticks1 - $ticks0 + $missed1 - $missed0 - $elapsed), '<=', 2,
	'... taken and missed are all that there were');
cmp_ok($covered1 - $covered0, '<=', $ms1 - $ms0 - $stopped_ms + 40 + 20,
	'... and the gap is not covered');
is( $admin->query(qq{
		SELECT $Session::missing, sampler_pid = $pid
		  FROM pg_waitscope_status}),
	'0|t', 'nothing is missing now, in the same process');
is( $admin->query(sprintf(q{
			SELECT count(*) FROM pg_waitscope_history WHERE sampled_at
			BETWEEN to_timestamp(%f) AND to_timestamp(%f)},
			$stopped_at + 1, $continued_at - 0.1)),
	'0', 'no sample claims to be of it');

my $after = time;
while (time < $after + $window)
{
	look_for_waits();
	usleep(500_000);
}
my $end = time;
is("@waits", '', 'no backend was in a wait of ours');
$admin->quit;
$_->finish foreach @loads;

# A transaction takes a while, so one can be counted in the next window.
my @ends = transaction_ends('load');
my $tps_before = rate($before, $before + $window, @ends);
my $tps_stopped = rate($stopped_at, $continued_at, @ends);
my $tps_after = rate($after, $end, @ends);
note sprintf 'transactions per second: %.1f before, %.1f stopped, %.1f after',
  $tps_before, $tps_stopped, $tps_after;
cmp_ok($tps_before, '>', $clients, 'there is load');
cmp_ok($tps_stopped, '>=', 0.95 * $tps_before, 'as many as before');
cmp_ok($tps_stopped, '>=', 0.95 * $tps_after, '... and as after');

@ends = transaction_ends('connect');
cmp_ok(rate($stopped_at, $continued_at, @ends),
	'>=', 0.8 * rate($before, $before + $window, @ends),
	'connections are opened and closed as before');
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|ERROR:/, 'no error');
$node->stop;
done_testing();
