# Prepared transactions: their entries in the process array are nobody's
# sessions, but sessions wait for their locks.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Session;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('prepared');
$node->init;
$node->append_conf('postgresql.conf', q{
shared_preload_libraries = 'pg_waitscope'
max_prepared_transactions = 5
autovacuum = off
pg_waitscope.track_idle = on
});
$node->start;
$node->safe_psql('postgres', q{
CREATE EXTENSION pg_waitscope;
CREATE TABLE held (id int PRIMARY KEY, n int);
INSERT INTO held SELECT i, 0 FROM generate_series(1, 10) i;
});

my $admin = Session->new($node);

sub row
{
	my ($pid, $columns) = @_;
	return $admin->query(
		"SELECT $columns FROM pg_waitscope_activity WHERE pid = $pid");
}

sub pids_of
{
	my ($view) = @_;
	return $admin->query(
		"SELECT string_agg(pid::text, ' ' ORDER BY pid) FROM $view");
}

# The entries of prepared transactions have no process, and are in no sample.
sub check_no_session
{
	my ($name, $prepared) = @_;

	is( $admin->query('SELECT count(*) FROM pg_prepared_xacts'),
		$prepared, "$name: transactions are prepared");
	is(pids_of('pg_waitscope_activity'), pids_of('pg_stat_activity'),
		"$name: activity shows the processes that there are");
	my $now = $admin->query('SELECT clock_timestamp()');
	ok( $admin->poll(qq{
			SELECT count(DISTINCT sampled_at) > 5 FROM pg_waitscope_history
			 WHERE sampled_at > '$now'}),
		"$name: samples are taken");
	is( $admin->query(qq{
			SELECT count(*) FROM pg_waitscope_history
			 WHERE sampled_at > '$now' AND
				   (pid = 0 OR pid NOT IN (SELECT pid FROM pg_stat_activity))}),
		'0', "$name: of nobody else");
	is( $admin->query(qq{
			SELECT count(*) FROM (
				SELECT sampled_at, pid FROM pg_waitscope_history
				 WHERE sampled_at > '$now'
				 GROUP BY 1, 2 HAVING count(*) > 1) twice}),
		'0', "$name: nobody is in a sample twice");
	return;
}

# Starts a statement that waits behind a prepared transaction.
sub start_waiter
{
	my ($name, $sql, $event) = @_;
	my $waiter = Session->new($node);
	my $pid = $waiter->pid;

	$waiter->send("$sql;\n");
	ok( $admin->poll(qq{
			SELECT count(*) = 1 FROM pg_waitscope_activity
			 WHERE pid = $pid AND wait_event = '$event'}),
		"$name: waits for $event");
	is(row($pid, 'state_class, wait_event_type, blocked_by'),
		'foreground|Lock|{0}', "$name: blocked by no process");
	is( row($pid, 'locktype, relation, mode'),
		$admin->query(qq{
			SELECT locktype, relation::regclass, mode FROM pg_locks
			 WHERE pid = $pid AND NOT granted}),
		"$name: for the lock that pg_locks shows");
	ok( $admin->poll(qq{
			SELECT count(*) > 2 FROM pg_waitscope_history
			 WHERE pid = $pid AND wait_event_type = 'Lock'
			   AND wait_event = '$event' AND state_class = 'foreground'}),
		"$name: and is sampled so");
	return $waiter;
}

#
# Prepared by a session that goes on to live, and by one that ends: while a
# session prepares, two entries of the array stand for it.
#
my $owner = Session->new($node);
$owner->query(q{
	BEGIN;
	UPDATE held SET n = 1 WHERE id = 1;
	PREPARE TRANSACTION 'row'});
my $gone = Session->new($node);
my $gone_pid = $gone->pid;
$gone->query(q{
	BEGIN;
	LOCK TABLE held IN ROW EXCLUSIVE MODE;
	SELECT pg_advisory_xact_lock(7);
	PREPARE TRANSACTION 'advisory'});
$gone->quit;
ok( $admin->poll(qq{
		SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $gone_pid}),
	'the session that prepared has ended');
check_no_session('before the restart', 2);
is(row($owner->pid, 'state, state_class, wait_event, blocked_by'),
	'idle|idle|ClientRead|', 'who prepared is idle, and outside a transaction');

my $row = start_waiter('row', 'UPDATE held SET n = 2 WHERE id = 1',
	'transactionid');
my $advisory = start_waiter('advisory lock',
	'SELECT pg_advisory_xact_lock(7)', 'advisory');
check_no_session('with waiters', 2);

# Finished by another session.
my $other = Session->new($node);
$other->query("COMMIT PREPARED 'row'");
$row->finish;
is($row->errors, '', 'COMMIT PREPARED lets the waiter go on');
is(row($row->pid, 'state_class, wait_event_type, blocked_by'),
	'idle|Client|', '... and it waits no longer');
$other->query("ROLLBACK PREPARED 'advisory'");
$advisory->finish;
is($advisory->errors, '', 'ROLLBACK PREPARED, too');
check_no_session('after both', 0);
$_->quit foreach $owner, $other, $row, $advisory;

#
# All entries used, then a restart: they are there before any session, and
# before the sampler.
#
$admin->query("
	BEGIN;
	UPDATE held SET n = $_ WHERE id = $_;
	PREPARE TRANSACTION 'p$_'") foreach 1 .. 5;
$admin->quit;
foreach my $mode ('fast', 'immediate')
{
	$node->stop($mode);
	$node->start;
	$admin = Session->new($node);
	ok($admin->poll('SELECT ticks > 10 FROM pg_waitscope_status'),
		"$mode: it samples after the restart");
	check_no_session("after $mode", 5);
	my $waiter = start_waiter("after $mode",
		'UPDATE held SET n = 2 WHERE id = 5', 'transactionid');
	$admin->query('SELECT pg_cancel_backend(' . $waiter->pid . ')');
	$waiter->finish;
	$waiter->quit;
	$admin->quit if $mode eq 'fast';
}

# Their entries are used again, while it samples.
$admin->query("COMMIT PREPARED 'p$_'") foreach 1 .. 5;
foreach my $round (1 .. 50)
{
	$admin->query("
		BEGIN;
		UPDATE held SET n = $round;
		PREPARE TRANSACTION 'again'");
	$admin->query("COMMIT PREPARED 'again'");
}
check_no_session('after many more', 0);
is($admin->query("SELECT $Session::missing FROM pg_waitscope_status"),
	'0', 'nothing is missing');
$admin->quit;
unlike(slurp_file($node->logfile), qr/PANIC|TRAP/, 'no PANIC, no assertion');
$node->stop;
done_testing();
