# Names of waits as the server has them: tranches, custom events, and codes
# that nobody knows a name for, with which no view or worker of ours fails.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Session;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('names');
$node->init;
$node->append_conf('postgresql.conf', q{
shared_preload_libraries = 'pg_waitscope, wsc_test_waits'
pg_waitscope.history_period = 20
pg_waitscope.profile_by = 'pid, query'
autovacuum = off
});
$node->start;
$node->safe_psql('postgres', q{
CREATE EXTENSION pg_waitscope;
CREATE EXTENSION wsc_test_waits;
});
my $version = $node->safe_psql('postgres', 'SHOW server_version_num');

my $reader = Session->new($node);

# Sessions that wait, each with a code.
my %waiters;

sub wait_with
{
	my ($code) = @_;
	my $session = Session->new($node);
	$session->send("SELECT wsc_test_wait($code);\n");
	$waiters{$code} = $session;
	return;
}

# By code: what activity shows, or one of the stores, read by a session; less
# what a session does on its way to the wait.
my %views = (
	activity => 'FROM pg_waitscope_activity WHERE pid = %d',
	history => 'FROM pg_waitscope_history WHERE pid = %d
		AND wait_event_type NOT IN (\'CPU\', \'IO\') AND state_class = \'foreground\'',
	profile => 'FROM pg_waitscope_profile WHERE pid = %d
		AND wait_event_type NOT IN (\'CPU\', \'IO\')');

sub shown
{
	my ($session, $view, $code) = @_;
	return $session->ask(sprintf(
			"SELECT string_agg(DISTINCT wait_event_type || '/' || wait_event, ' ')
			 $views{$view}", $waiters{$code}->pid));
}

# All views show these names, as many times as there are codes for them.
sub check_names
{
	my ($name, %expected) = @_;
	foreach my $code (sort keys %expected)
	{
		my $pid = $waiters{$code}->pid;
		ok( $node->poll_query_until('postgres', qq{
				SELECT count(*) > 1 FROM pg_waitscope_history
				 WHERE pid = $pid AND wait_event_type NOT IN ('CPU', 'IO')}),
			"$name: $expected{$code} is sampled");
		is(shown($reader, $_, $code), $expected{$code}, "... shown by $_")
		  foreach sort keys %views;
	}
	my @names = sort values %expected;
	is( $reader->ask(sprintf(
				"SELECT string_agg(wait_event_type || '/' || wait_event, ' '
						ORDER BY (wait_event_type || '/' || wait_event) COLLATE \"C\")
				 FROM pg_waitscope_events
				 WHERE samples > 0 AND wait_event_type || '/' || wait_event
					   IN ('%s')", join("', '", @names))),
		"@names", "$name: one row each in events");
	my @tranches = map { m{^LWLock/(.*)} ? $1 : () } @names;
	is( $reader->ask(sprintf(
				"SELECT string_agg(tranche, ' ' ORDER BY tranche COLLATE \"C\")
				 FROM pg_waitscope_lwlocks WHERE tranche IN ('%s')",
				join("', '", @tranches))),
		"@tranches", "$name: one row each in lwlocks");
	return;
}

sub end_waits
{
	$reader->ask('SELECT pg_cancel_backend(' . $_->pid . ')')
	  foreach values %waiters;
	foreach my $session (values %waiters)
	{
		$session->finish;
		$session->quit;
	}
	%waiters = ();
	return;
}

# As the server shows it.
sub core_name
{
	my ($code) = @_;
	return $reader->ask(q{SELECT wait_event_type || '/' || wait_event
		FROM pg_stat_activity WHERE pid = } . $waiters{$code}->pid);
}

# A tranche requested at server start, by another library.
my $named = $reader->ask('SELECT wsc_test_named_tranche()');
wait_with($named);
check_names('named tranche', $named => 'LWLock/WscTestNamed');
is(core_name($named), 'LWLock/WscTestNamed', '... as the server has it');
end_waits();

# Two tranches whose names only one session knows, before 19: they are shown
# apart, by number, until that session has finished a transaction, whatever
# that did.
my $owner = Session->new($node);
my @codes = map { $owner->ask("SELECT wsc_test_new_tranche('WscTest$_')") }
  qw(Apple Pear);
my %known = map { $codes[$_] => 'LWLock/WscTest' . qw(Apple Pear) [$_] } 0, 1;
my %unknown = map { $_ => 'LWLock/extension:' . ($_ & 0xFFFF) } @codes;
wait_with($_) foreach @codes;
if ($version < 190000)
{
	check_names('foreign tranche', %unknown);
	is(core_name($_), 'LWLock/extension', '... without a name in the server')
	  foreach @codes;
	$owner->ask('SELECT 1');
}
else
{
	is(core_name($_), $known{$_}, 'the server has the name for all')
	  foreach @codes;
}
check_names('tranche that its owner named', %known);
end_waits();
$owner->quit;

# Its name outlives the session, and nobody takes the other's.
wait_with($_) foreach reverse @codes;
check_names('tranche whose owner is gone', %known);
end_waits();

# A custom event, as named in one session.
my $custom = $reader->ask(q{SELECT wsc_test_new_event('WscTestEvent')});
my $custom_name =
  $version >= 170000 ? 'Extension/WscTestEvent' : 'Extension/Extension';
wait_with($custom);
check_names('custom event', $custom => $custom_name);
is(core_name($custom), $custom_name, '... as the server has it');
end_waits();

# Codes without a name.  With some of them the server's own view fails.
my %nameless = (
	0x0100FFF0 => $version < 190000 ? 'LWLock/extension:65520'
	: 'LWLock/unknown:0100fff0',
	0x030000C8 => 'Lock/unknown:030000c8',
	0x050000F0 => 'Activity/unknown:050000f0',
	0x42000001 => 'Unknown/unknown:42000001');
$nameless{0x07001234} = 'Extension/unknown:07001234',
  $nameless{0x0B001234} = 'InjectionPoint/unknown:0b001234'
  if $version >= 170000;
my $sampler = $reader->ask('SELECT sampler_pid FROM pg_waitscope_status');
wait_with($_) foreach keys %nameless;
check_names('nameless', %nameless);

if ($version >= 170000)
{
	my $pid = $waiters{0x07001234}->pid;
	my ($rc, $out, $err) = $node->psql('postgres',
		"SELECT wait_event FROM pg_stat_activity WHERE pid = $pid");
	isnt($rc, 0, 'the server fails with an unknown custom event');
}
$reader->ask('BEGIN');
is( $reader->ask(sprintf(
			q{SELECT count(*) FROM pg_waitscope_sample('200 ms', '10 ms')
			  WHERE wait_event_type || '/' || wait_event IN ('%s')
				AND samples > 0},
			join("', '", values %nameless))),
	scalar(keys %nameless), 'sample() has a row for each');
$reader->ask("SELECT count(*) FROM pg_waitscope_$_")
  foreach qw(summary events activity history profile lwlocks hot_blocks
		fmlocks status
  stores);
is($reader->ask('SELECT pg_backend_pid()'),
	$reader->pid, 'all views can be read in one transaction');
$reader->ask('COMMIT');
is( $reader->ask('SELECT sampler_pid, restarts FROM pg_waitscope_status'),
	"$sampler|0", 'the sampler did not notice');

# An error that was caught left no lock behind.
$reader->ask(q{SELECT wsc_test_new_event('WscTestAfterwards')});
end_waits();

# When all custom names are used up, there is the name for all.
if ($version >= 170000)
{
	$reader->quit;
	$node->restart;
	$reader = Session->new($node);
	$sampler = $reader->ask('SELECT sampler_pid FROM pg_waitscope_status');
	is( $reader->ask(q{
			SELECT count(*) > 100 AND count(*) < 1000
			  FROM generate_series(1, 1000) AS i,
				   wsc_test_new_event('WscTestEvent' || i) AS code
			 WHERE code <> x'07000000'::bigint}),
		't', 'names of custom events are used up');
	my $sleeper = Session->new($node);
	$sleeper->send("SELECT * FROM pg_waitscope_sample('1 h', '10 s');\n");
	ok( $node->poll_query_until('postgres', q{
			SELECT wait_event_type || '/' || wait_event = 'Extension/Extension'
			  FROM pg_stat_activity WHERE pid = } . $sleeper->pid),
		'sample() works nevertheless');
	is($reader->ask(q{SELECT wsc_test_new_event('WscTestEvent1') <>
			x'07000000'::bigint}),
		't', '... and leaves no lock behind');
	$reader->ask('SELECT pg_cancel_backend(' . $sleeper->pid . ')');
	$sleeper->finish;
	$sleeper->quit;
	$reader->ask("SELECT pg_terminate_backend($sampler)");
	ok( $node->poll_query_until('postgres', qq{
			SELECT sampler_pid <> $sampler AND ticks > 0
			  FROM pg_waitscope_status}),
		'and so does a new sampler');
}
unlike(slurp_file($node->logfile), qr/sampler.*ERROR|ERROR.*sampler/,
	'no error of the sampler in the log');

$reader->quit;
$node->stop;
done_testing();
