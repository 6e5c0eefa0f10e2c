# The locks as other extensions use them: test/apiuser guards a map with one,
# or with an LWLock where there is no pg_waitscope, or none that is new enough.
# Needs the driver of test/apiuser: make install-test-drivers.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Session;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('lock_api');
$node->init;
$node->append_conf('postgresql.conf', 'autovacuum = off');
$node->append_conf('postgresql.conf', 'restart_after_crash = on');
$node->start;
my $names_are_shared =
  $node->safe_psql('postgres', 'SHOW server_version_num') >= 190000;
$node->safe_psql('postgres', 'CREATE EXTENSION pg_waitscope');
$node->safe_psql('postgres', 'CREATE EXTENSION apiuser');

sub query
{
	my ($sql) = @_;
	return $node->safe_psql('postgres', $sql);
}

sub start_with
{
	my ($libraries, $version) = @_;
	$node->append_conf('postgresql.conf', qq{
shared_preload_libraries = '$libraries'
apiuser.api_version = $version
});
	$node->restart;
	return;
}

# Several sessions count in the same map; each key gets the same sum, which
# a put of nothing returns, too.
sub test_map
{
	my ($name) = @_;
	my @sessions = map { Session->new($node) } 1 .. 4;

	$_->send(q{
		SELECT count(apiuser.put(key, 1)), count(apiuser.get(key))
		  FROM generate_series(1, 500) AS round,
			   generate_series(1, 20) AS key;}) foreach @sessions;
	is($_->finish, '10000|10000', "$name: a session has counted")
	  foreach @sessions;
	is( query(q{SELECT min(apiuser.get(key)), max(apiuser.get(key)), count(*)
				  FROM generate_series(1, 20) AS key}),
		'2000|2000|20',
		"$name: nothing is lost");
	is(query('SELECT apiuser.get(21) IS NULL, apiuser.put(1, 0)'),
		't|2000', "$name: the rest of the map is empty");
	$_->quit foreach @sessions;
	return;
}

# An error of the holder, in both modes, as a statement and inside of one.
sub test_errors
{
	my ($name) = @_;
	my $session = Session->new($node);

	foreach my $mode ('exclusive', 'shared')
	{
		$session->send("SELECT apiuser.hold('$mode', 'error');\n");
		$node->poll_query_until('postgres', "SELECT NOT apiuser.try('exclusive')")
		  or die 'no holder';
		query('SELECT apiuser.let_go()');
		$session->finish;
		like($session->errors, qr/error while the lock is held/,
			"$name: error of who holds it, $mode");
		is($session->query('SELECT apiuser.held()'),
			'f', '... who has nothing left');
		is(query(q{SELECT apiuser.try('exclusive')}), 't', '... it is free');
	}
	$session->quit;
	return;
}

# A waiter in each mode beside a holder, in our views and in the server's.
sub test_waiters
{
	my ($name) = @_;
	my $holder = Session->new($node);
	my %waiters = map { $_ => Session->new($node) } qw(exclusive shared);
	my %sql = (
		exclusive => 'SELECT apiuser.put(1, 1)',
		shared    => 'SELECT apiuser.get(1)');

	$holder->send("SELECT apiuser.hold('exclusive', 'release');\n");
	$node->poll_query_until('postgres', "SELECT NOT apiuser.try('shared')")
	  or die 'no holder';
	query('SELECT pg_waitscope_reset()');
	foreach my $mode (sort keys %waiters)
	{
		my $pid = $waiters{$mode}->pid;

		$waiters{$mode}->send("$sql{$mode};\n");
		ok( $node->poll_query_until('postgres', qq{
				SELECT (wait_event_type, wait_event, lwlock_mode)
					   = ('LWLock', 'apiuser', '$mode')
				  FROM pg_waitscope_activity WHERE pid = $pid}),
			"$name: a waiter is in activity, $mode");
		ok( $node->poll_query_until('postgres', qq{
				SELECT count(*) > 0 FROM pg_waitscope_history
				 WHERE pid = $pid AND wait_event = 'apiuser'
				   AND lwlock_mode = '$mode'}),
			'... and in history');
	}
	foreach my $view ('events WHERE wait_event', 'lwlocks WHERE tranche')
	{
		ok( $node->poll_query_until('postgres',
				"SELECT sum(samples) > 0 FROM pg_waitscope_$view = 'apiuser'"),
			"$name: $view");
	}
	my $seen = query(q{SELECT count(*) FROM pg_stat_activity
						WHERE (wait_event_type, wait_event) = ('LWLock', 'apiuser')});
	query('SELECT apiuser.let_go()');
	$_->finish foreach $holder, values %waiters;
	$_->quit foreach $holder, values %waiters;
	return $seen;
}

# A reader inside, a writer that waits, and a reader that comes later.
sub test_writers_first
{
	my $reader = Session->new($node);
	my $writer = Session->new($node);
	my $pid = $writer->pid;

	foreach my $preferred (0, 1)
	{
		query('SELECT apiuser.prefer_writers()') if $preferred;
		$reader->send("SELECT apiuser.hold('shared', 'release');\n");
		$node->poll_query_until('postgres', "SELECT NOT apiuser.try('exclusive')")
		  or die 'no reader';
		$writer->send("SELECT apiuser.put(1, 1);\n");
		$node->poll_query_until('postgres', qq{
			SELECT wait_event = 'apiuser' FROM pg_waitscope_activity
			 WHERE pid = $pid}) or die 'no writer';
		is( query("SELECT apiuser.try('shared')"),
			$preferred ? 'f' : 't',
			'a reader behind a waiting writer, '
			  . ($preferred ? 'writers first' : 'no preference'));
		query('SELECT apiuser.let_go()');
		$_->finish foreach $reader, $writer;
		is(query("SELECT apiuser.try('shared')"), 't', '... and after it');
	}
	$_->quit foreach $reader, $writer;
	return;
}

# What one session does to the counts of the lock.
sub test_statistics
{
	my ($name) = @_;

	query(q{SELECT pg_waitscope_reset('fmlocks');
			SELECT apiuser.put(1, 1) FROM generate_series(1, 30);
			SELECT apiuser.get(1) FROM generate_series(1, 70)});
	is( query(q{SELECT mode, gets, misses FROM pg_waitscope_fmlocks
				 WHERE name = 'apiuser' ORDER BY mode}),
		"exclusive|30|0\nshared|70|0",
		"$name: gets in both modes");
	return;
}

foreach my $libraries ('pg_waitscope, apiuser', 'apiuser, pg_waitscope')
{
	start_with($libraries, 1);
	is(query('SELECT apiuser.lock_kind()'), 'fmlock', "$libraries: our lock");
	test_map($libraries);
	test_errors($libraries);
	is(test_waiters($libraries), 2,
		"$libraries: pg_stat_activity has the name, too");
	test_statistics($libraries);
}

test_writers_first();

# After a crash the postmaster makes everything anew, in the same order.
my $victim = Session->new($node);
$victim->send("SELECT apiuser.hold('exclusive', 'release');\n");
$node->poll_query_until('postgres', "SELECT NOT apiuser.try('shared')")
  or die 'no holder';
kill 'KILL', $victim->pid;
ok($node->poll_query_until('postgres', "SELECT apiuser.try('exclusive')"),
	'crash of who holds it: free again');
is(query('SELECT apiuser.lock_kind(), apiuser.get(1) IS NULL'),
	'fmlock|t', '... and the map is new');
test_statistics('after the crash');

# More names than there is room for, more locks than a process may hold.
is(query('SELECT apiuser.new_locks(40)'), 29, 'names up to the limit of 32');
is(query('SELECT apiuser.new_locks(29)'), 29, '... which may be given again');
is(query('SELECT count(*) FROM pg_waitscope_fmlocks'), 64, '... and are shown');
my ($rc, $out, $err) =
  $node->psql('postgres', 'SELECT apiuser.nest(16); SELECT apiuser.nest(17)');
like($err, qr/^[^\n]*too many locks held at once\n?$/, '16 locks at once, not 17');

# An extension that was built against newer headers than the library.
start_with('pg_waitscope, apiuser', 2);
is(query('SELECT apiuser.lock_kind()'), 'lwlock',
	'a version that is not there: the other lock');
is(query(q{SELECT count(*) FROM pg_waitscope_fmlocks WHERE name = 'apiuser'}),
	0, '... no lock of ours is made');
test_map('newer than the library');

start_with('apiuser', 1);
is(query('SELECT apiuser.lock_kind()'), 'lwlock', 'without pg_waitscope: too');
test_map('without pg_waitscope');
test_errors('without pg_waitscope');

# Not preloaded: before 19 a name is known where it was registered, and in
# all views of ours.
start_with('pg_waitscope', 1);
is(query('SELECT apiuser.lock_kind()'), 'fmlock', 'loaded later: our lock');
test_map('loaded later');
test_errors('loaded later');
is(test_waiters('loaded later'), $names_are_shared ? 2 : 0,
	'loaded later: what the server says of waits');
test_statistics('loaded later');

start_with('', 1);
is(query('SELECT apiuser.lock_kind()'), 'lwlock', 'neither is preloaded');
test_map('neither is preloaded');
test_errors('neither is preloaded');

$node->stop;
done_testing();
