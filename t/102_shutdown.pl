# Shutdown of each kind at random moments under load: as fast as without the
# library, nothing to be recovered afterwards, nothing left behind.
#
# WSC_TEST_SEED in the environment repeats a run's moments.

use strict;
use warnings;

use IPC::Run;
use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Session;
use Test::More;
use Time::HiRes qw(time usleep);

my $seed = $ENV{WSC_TEST_SEED} || int(rand(1e9));
srand $seed;
note "WSC_TEST_SEED=$seed";

my $node = PostgreSQL::Test::Cluster->new('shutdown');
$node->init;
$node->append_conf('postgresql.conf', q{
log_line_prefix = '%p %b: '
log_statement = none
autovacuum_naptime = 1s
});
$node->start;
$node->safe_psql('postgres', q{
CREATE EXTENSION pg_waitscope;
CREATE TABLE hot (id int PRIMARY KEY, n int);
INSERT INTO hot SELECT i, 0 FROM generate_series(1, 3) i;
});
$node->stop;

my $dir = PostgreSQL::Test::Utils::tempdir();
my %scripts = (
	load => q{
\set id random(1, 3)
UPDATE hot SET n = n + 1 WHERE id = :id;
SELECT pg_sleep(0.001 * :id);
},
	views => q{
SELECT count(t::text) FROM pg_waitscope_history t;
SELECT count(t::text) FROM pg_waitscope_summary t;
SELECT count(t::text) FROM pg_waitscope_activity t;
SELECT pg_waitscope_reset('profile');
SELECT count(*) FROM pg_waitscope_sample(duration => '100 ms', period => '10 ms');
});
foreach (keys %scripts)
{
	open my $fh, '>', "$dir/$_.sql" or die "$_: $!";
	print $fh $scripts{$_};
	close $fh;
}

# Clients that start now and go on until they are ended.
sub start_clients
{
	my ($script, $n) = @_;
	my $out = '';
	my $run = IPC::Run::start(
		[
			'pgbench', '--no-vacuum', "--client=$n", '--time=600',
			"--file=$dir/$script.sql", $node->connstr('postgres')
		],
		'<', \undef, '>', \$out, '2>&1');
	return $run;
}

# The System V segment that guards the data folder; all other shared memory
# goes with the last process.
sub segment_id
{
	my ($line) = (split /\n/,
		slurp_file($node->data_dir . '/postmaster.pid'))[6];
	return (split ' ', $line)[1];
}

sub segment_exists
{
	my ($id) = @_;
	return scalar grep { (split ' ')[1] eq $id }
	  split /\n/, slurp_file('/proc/sysvipc/shm');
}

# One life of the server; returns how long its end took.
sub live
{
	my ($name, $mode, $preloaded) = @_;
	my $offset = -s $node->logfile;
	$node->start;

	# Ready to take connections is not ready with starting workers.
	my $sampler = 0;
	if ($preloaded)
	{
		ok( $node->poll_query_until('postgres',
				'SELECT sampler_pid IS NOT NULL FROM pg_waitscope_status'),
			"$name: the sampler is there");
		$sampler = $node->safe_psql('postgres',
			'SELECT sampler_pid FROM pg_waitscope_status');
	}
	my $segment = segment_id();
	ok(segment_exists($segment), "$name: there is a shared memory segment");

	# Views of an absent sampler would only be errors.
	my @clients = start_clients('load', 6);
	push @clients, start_clients('views', 2) if $preloaded;
	my $moment = rand(0.7);
	usleep(1e6 * $moment);

	# A smart shutdown waits for the clients, and begins with their end.
	my $began = time;
	my $stopper = IPC::Run::start(
		[ 'pg_ctl', 'stop', '-w', '-t', 60, '-m', $mode, '-D',
			$node->data_dir ],
		'<', '/dev/null', '>', '/dev/null', '2>', '/dev/null');
	if ($mode eq 'smart')
	{
		usleep(100_000);
		$_->signal('TERM') foreach @clients;
		$began = time;
	}
	ok($stopper->finish, "$name: pg_ctl sees its end");
	my $took = time - $began;
	$_->finish foreach @clients;
	$node->_update_pid(0);

	my $log = slurp_file($node->logfile, $offset);
	is(join("\n", $log =~ /^.*(?:PANIC|TRAP|terminated by signal).*$/mg),
		'', "$name: nothing crashed");
	is( join("\n",
			grep { /pg_waitscope/ && !/LOG: |STATEMENT: |CONTEXT: / }
			  split /\n/, $log),
		'', "$name: no word of ours above LOG");
	ok(!segment_exists($segment), "$name: the segment is gone");
	ok(!kill(0, $sampler), "$name: and the sampler") if $preloaded;
	return ($took, $log);
}

sub core_files
{
	return glob $node->data_dir . '/core*';
}

sub median
{
	my @sorted = sort { $a <=> $b } @_;
	return $sorted[ $#sorted / 2 ];
}

# Was the end before this start an orderly one?
my $last = 'smart';

sub check_recovery
{
	my ($name, $log) = @_;
	my $recovers = $log =~ /not properly shut down/ ? 'recovery' : 'none';
	is($recovers, $last eq 'immediate' ? 'recovery' : 'none',
		"$name: recovery after $last");
	return;
}

# Twenty lives with the library, whether it samples often or sleeps for long,
# and six without it in between, so that a busy machine slows down both.
my @modes = qw(smart fast immediate);
my @periods = qw(0.2 10 10000);
my (%with, %without);
foreach my $round (0 .. 25)
{
	my $preloaded = $round % 4 != 1 || $round > 21;
	my $taken = $preloaded ? \%with : \%without;
	my $mode = $modes[ map({ @$_ } values %$taken) % 3 ];
	my $period = $periods[ rand @periods ];
	my $name = "$round, $mode, " . ($preloaded ? "$period ms" : 'without');

	$node->append_conf('postgresql.conf',
		$preloaded
		? "shared_preload_libraries = 'pg_waitscope'\n"
		  . "pg_waitscope.sample_period = '${period}ms'"
		: "shared_preload_libraries = ''");
	my ($took, $log) = live($name, $mode, $preloaded);
	check_recovery($name, $log);
	$last = $mode;
	push @{ $taken->{$mode} }, $took;
}
is(scalar(map { @$_ } values %with), 20, 'twenty times');

foreach my $mode (@modes)
{
	my ($with, $without) = map { median(@{ $_->{$mode} }) } \%with, \%without;
	my ($longest) = sort { $b <=> $a } @{ $with{$mode} };
	note sprintf '%s: %.2f s, longest %.2f s; %.2f s without the library',
	  $mode, $with, $longest, $without;
	cmp_ok($with, '<', 2 * $without + 1, "$mode shutdown is as fast as without");
	cmp_ok($longest, '<', 30, '... each time');
}
is(join(' ', core_files()), '', 'no core files');
done_testing();
