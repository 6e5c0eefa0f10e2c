# The sampler's own memory and its file descriptors stay what they are, over
# ticks, resets and reloads.  WSC_TEST_TICKS sets how many ticks to take
# (default 50,000); 1,000,000 take some minutes.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Session;
use Test::More;

plan skip_all => 'no /proc' unless -r '/proc/self/status';

my $ticks = $ENV{WSC_TEST_TICKS} || 50_000;

my $node = PostgreSQL::Test::Cluster->new('memory');
$node->init;
$node->append_conf('postgresql.conf', q{
	shared_preload_libraries = 'pg_waitscope'
	pg_waitscope.sample_period = 0.1
	autovacuum = off});
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION pg_waitscope;
	CREATE TABLE hot AS SELECT 1 AS n});

my $session = Session->new($node);
my $blocker = Session->new($node);
my $pid = $session->query('SELECT sampler_pid FROM pg_waitscope_status');

# Memory that is the sampler's own, in kB, and its descriptors.
sub measure
{
	my ($rss) = slurp_file("/proc/$pid/status") =~ /^RssAnon:\s*(\d+)/m;
	my @files = glob("/proc/$pid/fd/*");
	return ($rss, scalar @files);
}

# Waits of several kinds, new sessions, resets and reloads, until the sampler
# has taken so many ticks more.
sub work
{
	my ($more) = @_;
	my $taken = $session->query('SELECT ticks FROM pg_waitscope_status');
	my $until = $taken + $more;
	my $round = 0;

	while ($taken < $until)
	{
		$blocker->query('BEGIN; UPDATE hot SET n = n + 1');
		my $waiter = Session->new($node);
		$waiter->send("UPDATE hot SET n = n + 1; SELECT pg_sleep(0.01);\n");
		$session->query(q{SELECT pg_sleep(0.05); SELECT count(*)
			FROM pg_waitscope_history; SELECT pg_waitscope_reset();
			SELECT set_config('application_name', md5(random()::text), false)});
		$blocker->query('COMMIT');
		$waiter->finish;
		$waiter->quit;

		# Reload: other timers, another jitter.
		my $period = $round++ % 2 ? '0.1' : '0.2';
		$session->query(
			"ALTER SYSTEM SET pg_waitscope.sample_period = $period;
			SELECT pg_reload_conf()");
		$taken = $session->query('SELECT ticks FROM pg_waitscope_status');
	}
	return $round;
}

work($ticks / 5);
my ($rss_before, $fds_before) = measure();
my $rounds = work($ticks);
my ($rss_after, $fds_after) = measure();

note("$ticks ticks, $rounds resets and reloads: "
	  . "$rss_before kB and $fds_before descriptors before, "
	  . "$rss_after kB and $fds_after after");
cmp_ok($rounds, '>', 10, 'there was something to do');
is($session->query('SELECT sampler_pid FROM pg_waitscope_status'),
	$pid, 'the sampler is the same');
cmp_ok($fds_before, '>', 3, 'descriptors are counted');
is($fds_after, $fds_before, 'as many descriptors as before');
cmp_ok($rss_before, '>', 100, 'memory is measured');

# What else a process touches for the first time is some pages.
cmp_ok($rss_after - $rss_before, '<=', 64, 'no more memory than before');

$node->stop;
done_testing();
