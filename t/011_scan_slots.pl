# Which processes a scan sees: all that live, none that ended, soon after
# they start, also in a process array of thousands of slots.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Session;
use Test::More;

my $base_conf = q{
autovacuum = off
log_connections = on
log_line_prefix = '%p '
};

# The pids of a scan, the caller included.
sub scan
{
	my ($session) = @_;
	my %pids = map { $_ => 1 }
	  split /\n/, $session->query('SELECT pid FROM wsc_test_scan(true, true, 0)');
	return \%pids;
}

sub expected_pids
{
	my ($session) = @_;
	$session->query('SELECT pg_stat_clear_snapshot()');
	return $session->query(q{
		SELECT string_agg(pid::text, ' ' ORDER BY pid) FROM pg_stat_activity});
}

sub as_list
{
	my ($pids) = @_;
	return join ' ', sort { $a <=> $b } keys %$pids;
}

# One tick sees what pg_stat_activity does.
sub check_scan
{
	my ($session, $name) = @_;
	is(as_list(scan($session)), expected_pids($session), $name);
}

# Sessions start; how many of them does each of the next ticks see?
sub start_sessions
{
	my ($node, $n) = @_;
	return map { Session->new($node) } 1 .. $n;
}

sub count_seen
{
	my ($session, @others) = @_;
	my $pids = scan($session);
	return scalar grep { $pids->{ $_->pid } } @others;
}

sub end_sessions
{
	my ($session, @others) = @_;
	$_->quit foreach @others;
	# psql is gone a moment before its backend is.
	my $pids = join ',', map { $_->pid } @others;
	for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		return if $session->query(qq{
			SELECT pg_stat_clear_snapshot(), count(*) = 0
			  FROM pg_stat_activity WHERE pid IN ($pids)}) =~ /t$/;
	}
	die 'sessions do not end';
}

#
# A short array: all slots at each tick.
#
my $node = PostgreSQL::Test::Cluster->new('short');
$node->init;
$node->append_conf('postgresql.conf', $base_conf);
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION wsc_test_scan');

my $session = Session->new($node);
my ($slots, $delay, $problem) =
  split /\|/, $session->query('SELECT * FROM wsc_test_scanner_open(false)'), -1;
is($problem, '', 'status entries can be read');
is($delay, 1, 'short: seen at the next tick');
check_scan($session, 'short: a scan sees what pg_stat_activity does');

# Pids of ended processes stay in their slots before 17: they are no life.
my $version = $node->safe_psql('postgres', 'SHOW server_version_num');
my @others = start_sessions($node, 5);
check_scan($session, 'short: with more sessions');
end_sessions($session, @others);
my $stale;
for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
{
	$stale = $session->query('SELECT wsc_test_stale_pids()');
	last if $version < 170000 || $stale == 0;
}
ok($version < 170000 ? $stale >= 4 : $stale == 0,
	"short: $stale slots keep pids of ended processes");
check_scan($session, 'short: which a scan does not take for processes');

# Who is left out, and who is only counted.
my $own_pid = $session->pid;
my $other = Session->new($node);
my $other_pid = $other->pid;

sub scan_with
{
	my ($arguments) = @_;
	return $session->query("SELECT string_agg(pid::text, ' ') FROM
		wsc_test_scan($arguments) WHERE pid IN ($own_pid, $other_pid)")
	  . '/'
	  . $session->query('SELECT wsc_test_scan_count()');
}
my $all = $session->query('SELECT count(*) FROM pg_stat_activity');
is(scan_with('true, false, 0'), "$other_pid/" . ($all - 1),
	'the caller is neither returned nor counted');
is(scan_with("true, false, $other_pid"), '/' . ($all - 2),
	'nor is the one to skip');
is(scan_with("true, true, $other_pid"), "$own_pid/" . ($all - 1),
	'the caller can be had');
is(scan_with('false, true, 0'), "$own_pid/$all",
	'idle ones are counted but not returned');
$other->quit;

# When status entries cannot be read the waits are still there.
my $blind = Session->new($node);
my $sleeper = Session->new($node);
$sleeper->send("SELECT pg_sleep(600);\n");
$node->poll_query_until('postgres', "SELECT wait_event = 'PgSleep'
	FROM pg_stat_activity WHERE pid = " . $sleeper->pid)
  or die 'it does not sleep';
is($blind->query('SELECT problem FROM wsc_test_scanner_open(true)'),
	'blind', 'blind: the scanner says so');
is( $blind->query('SELECT count(*) = (SELECT count(*) FROM pg_stat_activity)
			   AND min(flags) = 1 FROM wsc_test_scan(true, true, 0)'),
	't', 'blind: all processes are seen, none with its status');
my $classes = 'SELECT pid, state_class FROM wsc_test_scan(false, false, 0)';
is($blind->query($classes), $sleeper->pid . '|0',
	'blind: a session that waits is load');
$node->safe_psql('postgres',
	'SELECT pg_cancel_backend(' . $sleeper->pid . ')');
$sleeper->finish;
is($blind->query($classes), '', 'blind: one that is idle is not');
$_->quit foreach $blind, $sleeper;

# A storm of connections: no pid that never was.
my $script = PostgreSQL::Test::Utils::tempdir() . '/storm.sql';
append_to_file($script, "SELECT 1;\n");
my ($storm_out, $storm_err) = ('', '');
my $storm = IPC::Run::start(
	[ 'pgbench', '-n', '-C', '-c', '4', '-t', '15', '-f', $script,
		'-d', $node->connstr('postgres') ],
	'<', '/dev/null', '>', \$storm_out, '2>', \$storm_err);
my %seen;
my $storm_scans = 0;
do
{
	my $pids = scan($session);
	$seen{$_} = 1 foreach keys %$pids;
	$storm_scans++;
	$storm->pump_nb;
} while $storm->pumpable;
ok($storm->finish, 'storm: pgbench ran') or diag $storm_err;
my %logged = map { $_ => 1 }
  slurp_file($node->logfile) =~ /^(\d+) LOG:  connection received/mg;
my %known = map { $_ => 1 } split / /, expected_pids($session);
cmp_ok(scalar(grep { $logged{$_} && !$known{$_} } keys %seen),
	'>', 0, 'storm: short sessions were seen');
is(join(' ', grep { !$logged{$_} && !$known{$_} } keys %seen),
	'', "storm: no pid in $storm_scans scans that never was");
check_scan($session, 'storm: afterwards all is as it is');
$session->quit;
$node->stop;

#
# A long array: a list of slots, heads of free lists, and slices.
#
$node = PostgreSQL::Test::Cluster->new('long');
$node->init;
$node->append_conf('postgresql.conf', $base_conf . q{
max_connections = 10000
shared_buffers = 16MB
});
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION wsc_test_scan');
$session = Session->new($node);
($slots, $delay) =
  split /\|/, $session->query('SELECT slots, delay FROM wsc_test_scanner_open(false)');
cmp_ok($slots, '>', 10000, 'long: the array is long');
cmp_ok($delay, '<=', 64, 'long: the delay is bounded');
check_scan($session, 'long: the first scan sees all');

@others = start_sessions($node, 8);
is(count_seen($session, @others), 8,
	'long: new sessions are seen at the next tick');
check_scan($session, 'long: and all others, once each');
end_sessions($session, @others);
check_scan($session, 'long: ended ones are no longer seen');

# Slots that were given back, and long forgotten by the scanner.
scan($session) for 1 .. 40;
@others = start_sessions($node, 8);
is(count_seen($session, @others), 8,
	'long: so are sessions in slots that were used before');

# More starts between two ticks than are looked for: slices find the rest.
my @more = start_sessions($node, 40);
my $ticks = 1;
$ticks++ while count_seen($session, @more) < 40 && $ticks < 1000;
cmp_ok($ticks, '<=', $delay,
	"long: 40 sessions at once are all seen, after $ticks of $delay ticks");
check_scan($session, 'long: and all others, once each');
end_sessions($session, @others, @more);
check_scan($session, 'long: after many have ended');

# Sessions of about 20 ms, one after another, each seen while it lives: a
# tick is taken between its start and its end.
my $missed = 0;
for (1 .. 20)
{
	my $short = Session->new($node);
	$missed++ unless count_seen($session, $short);
	$short->quit;
}
is($missed, 0, 'long: no short session is missed by the tick in its life');
$session->quit;
$node->stop;

done_testing();
