# What can end a holder of an own lock, or one who waits for it.
# Needs the drivers of test/fmlock: make install-test-drivers.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../test/fmlock";
use lib $FindBin::RealBin;

use FmLockTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Session;
use Test::More;

my @variants = qw(native generic);
my $node = start_drivers('fmlock_errors', @variants);
my $v;

sub query
{
	my ($sql) = @_;
	return $node->safe_psql('postgres', $sql);
}

sub is_free
{
	my ($name) = @_;
	is(query("SELECT $v.try('exclusive')"), 't', "$v: free after $name");
}

# The process id of a session that waits for the lock.
sub wait_for
{
	my ($name) = @_;
	$node->poll_query_until(
		'postgres', qq{
		SELECT count(*) = 1 FROM pg_stat_activity
		 WHERE application_name = '$name' AND wait_event_type = 'LWLock'
		   AND wait_event = '$v'})
	  or die "$name does not wait";
	return query(
		"SELECT pid FROM pg_stat_activity WHERE application_name = '$name'");
}

# A session that holds the lock until gate 1 is opened.
sub start_holder
{
	my ($mode, $ending) = @_;

	query("SELECT $v.set_gate(1, false)");
	my $holder = start_session($node, 'holder',
		"SELECT $v.hold('$mode', 1, '$ending')",
		"SELECT * FROM $v.leftovers()");
	$node->poll_query_until('postgres', "SELECT NOT $v.try('exclusive')")
	  or die 'no holder';
	return $holder;
}

sub start_waiter
{
	my ($mode) = @_;
	return start_session($node, 'waiter',
		"SELECT $v.hold('$mode', 0, 'release')",
		"SELECT *, $v.count_posts() FROM $v.leftovers()");
}

sub open_gate
{
	query("SELECT $v.set_gate(1, true)");
}

sub test_errors_while_held
{
	my ($out, $err);

	foreach my $mode (qw(exclusive shared))
	{
		($out, $err) = finish_session(
			start_session(
				$node, 'failing',
				"SELECT $v.hold('$mode', 0, 'error')",
				"SELECT * FROM $v.leftovers()"));
		like($err, qr/error while the lock is held/, "$v: error, $mode");
		is($out, '0|0', "$v: no lock and no held-off interrupt remains");
		is_free("an error, $mode");
	}

	my $result = query(
		qq{
		CREATE TEMP TABLE after (free boolean, held int, holdoff int);
		DO \$\$
		BEGIN
			PERFORM $v.hold('exclusive', 0, 'error');
		EXCEPTION WHEN OTHERS THEN
			INSERT INTO after SELECT $v.try('exclusive'), * FROM $v.leftovers();
		END \$\$;
		SELECT * FROM after});
	is($result, 't|0|0', "$v: free inside the transaction, in a handler");

	# The setting's name changed in 16.
	($out, $err) = finish_session(
		start_session(
			$node,
			'parallel',
			q{SELECT set_config(name, 'on', false) FROM pg_settings
			   WHERE name IN ('force_parallel_mode', 'debug_parallel_query')},
			"SELECT $v.hold('exclusive', 0, 'error')"));
	like($err, qr/error while the lock is held.*parallel worker/s,
		"$v: error in a parallel worker");
	is_free('an error in a parallel worker');

	($out, $err) = finish_session(
		start_session($node, 'fatal',
			"SELECT $v.hold('exclusive', 0, 'fatal')"));
	like($err, qr/end of the process while the lock is held/,
		"$v: fatal error");
	is_free('a fatal error');

	finish_session(start_session($node, 'exit', "SELECT $v.hold_at_exit()"));
	$node->poll_query_until('postgres',
		q{SELECT count(*) = 0 FROM pg_stat_activity
		   WHERE application_name = 'exit'});
	is_free('exit outside a transaction');
}

sub test_misuse
{
	my ($out, $err) = finish_session(
		start_session($node, 'release', "SELECT $v.release()",
			"SELECT * FROM $v.leftovers()"));
	like($err, qr/lock is not held/, "$v: release of a lock not held");
	is($out, '0|0', "$v: changes nothing");

	($out, $err) = finish_session(
		start_session(
			$node, 'nest',
			"SELECT $v.nest(0, 16)",
			"SELECT $v.nest(0, 17)",
			"SELECT * FROM $v.leftovers()",
			"SELECT $v.nest(16, 1)",
			"SELECT $v.nest(0, 16)"));
	like($err, qr/\A[^\n]*too many locks held at once[^\n]*\n\z/,
		"$v: one lock too many is not acquired");
	is($out, '0|0', "$v: the others are released");
	is_free('misuse');
}

sub test_conditional
{
	my $holder = start_holder('shared', 'release');
	is(query("SELECT $v.try('shared'), $v.try('exclusive')"),
		't|f', "$v: attempts beside a reader");
	open_gate();
	is((finish_session($holder))[1], '', "$v: the reader ends");
	$holder = start_holder('exclusive', 'release');
	is(query("SELECT $v.try('shared'), $v.try('exclusive')"),
		'f|f', "$v: attempts beside a writer");
	open_gate();
	is((finish_session($holder))[1], '', "$v: the writer ends");
	is(query("SELECT $v.postmaster_tried()"),
		't', "$v: attempt of a process without PGPROC");
}

sub test_signals
{
	my ($holder, $waiter, $pid, $out, $err);

	foreach my $mode (qw(exclusive shared))
	{
		$holder = start_holder('exclusive', 'release');
		$waiter = start_waiter($mode);
		$pid = wait_for('waiter');
		query("SELECT pg_cancel_backend($pid)");
		open_gate();
		($out, $err) = finish_session($waiter);
		like($err, qr/canceling statement/, "$v: cancelled waiter, $mode");
		is($out, '0|0|0', "$v: nothing is left over");
		is((finish_session($holder))[1], '', "$v: its holder ends");
		is_free('a cancelled waiter');
	}

	$holder = start_holder('exclusive', 'release');
	$waiter = start_waiter('exclusive');
	$pid = wait_for('waiter');
	query("SELECT pg_terminate_backend($pid)");
	open_gate();
	($out, $err) = finish_session($waiter);
	like($err, qr/terminating connection/, "$v: terminated waiter");
	is((finish_session($holder))[1], '', "$v: its holder ends");
	is_free('a terminated waiter');

	foreach my $kill (qw(cancel terminate))
	{
		$holder = start_holder('exclusive', 'release');
		$waiter = start_waiter('shared');
		wait_for('waiter');
		query(
			qq{SELECT pg_${kill}_backend(pid) FROM pg_stat_activity
				WHERE application_name = 'holder'});
		open_gate();
		($out, $err) = finish_session($holder);
		like($err, qr/canceling|terminating/, "$v: $kill of a holder");
		($out, $err) = finish_session($waiter);
		is("$out$err", '0|0|0', "$v: its waiter goes on");
		is_free("$kill of a holder");
	}

	$holder = start_holder('shared', 'error');
	$waiter = start_waiter('exclusive');
	wait_for('waiter');
	open_gate();
	finish_session($holder);
	is((finish_session($waiter))[0],
		'0|0|0', "$v: an error of the holder wakes the waiter");
}

# The semaphore belongs to all who sleep: what was not meant for us goes back.
sub test_foreign_wakeups
{
	my $holder = start_holder('exclusive', 'release');
	my $waiter = start_waiter('exclusive');
	my $pid = wait_for('waiter');

	query("SELECT $v.post($pid)") foreach 1 .. 3;
	is(wait_for('waiter'), $pid, "$v: foreign wakeups grant no lock");
	open_gate();
	my ($out, $err) = finish_session($waiter);
	is("$out$err", '0|0|3', "$v: foreign wakeups are given back");
	is((finish_session($holder))[1], '', "$v: the holder ends");
}

sub test_crash
{
	my $holder = start_holder('exclusive', 'release');
	my $waiter = start_waiter('shared');
	my $start = query('SELECT pg_postmaster_start_time()');

	wait_for('waiter');
	kill 'KILL',
	  query(
		q{SELECT pid FROM pg_stat_activity WHERE application_name = 'holder'});
	finish_session($_) foreach $holder, $waiter;
	$node->poll_query_until('postgres', "SELECT $v.try('exclusive')")
	  or die 'no restart';
	is( query(
			qq{SELECT gets FROM $v.stats
				WHERE name = '$v' AND mode = 'shared'}),
		'0',
		"$v: shared memory is new");
	is(query('SELECT pg_postmaster_start_time()'),
		$start, "$v: the postmaster is not");
	is_free('a crash');

	$holder = start_holder('exclusive', 'release');
	$waiter = start_waiter('shared');
	wait_for('waiter');
	open_gate();
	is((finish_session($_))[1], '', "$v: waits work, with their name")
	  foreach $holder, $waiter;
}

foreach my $variant (@variants)
{
	$v = "fmlock_$variant";
	test_errors_while_held();
	test_misuse();
	test_conditional();
	test_signals();
	test_foreign_wakeups();
	test_crash();
}

$node->stop;
done_testing();
