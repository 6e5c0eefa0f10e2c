# Who was in the way of waits that have ended: chains, queues, prepared
# transactions, deadlocks, random crowds against pg_blocking_pids(); and a
# keeper that is stopped, which must not matter to anybody.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Session;
use Test::More;
use Time::HiRes qw(usleep);

my $node = PostgreSQL::Test::Cluster->new('blockers');
$node->init;
$node->append_conf('postgresql.conf', q{
shared_preload_libraries = 'pg_waitscope'
autovacuum = off
deadlock_timeout = 100s
max_prepared_transactions = 2
jit = off
});
$node->start;
$node->safe_psql('postgres', q{
CREATE EXTENSION pg_waitscope;
CREATE TABLE t (id int PRIMARY KEY, n int);
INSERT INTO t VALUES (1, 0), (2, 0);
CREATE TABLE crowd_1 ();
CREATE TABLE crowd_2 ();
});

my $reader = Session->new($node);
my @sessions = map { Session->new($node) } 1 .. 12;
my ($holder, $ddl, $select, $update) = @sessions;

sub query
{
	my ($sql) = @_;
	return $reader->ask($sql);
}

# So many processes wait, and the sampler knows.
sub await_waiting
{
	my ($n) = @_;
	$reader->poll("SELECT coalesce(sum(waiting), 0) = $n
		FROM pg_waitscope_lock_waits") or die "not $n waiting";
	return;
}

# The keeper publishes its CPU time after each look; the look under way may
# have begun too early.
sub await_look
{
	for (1 .. 2)
	{
		my $used = query('SELECT keeper_cpu_time FROM pg_waitscope_status');
		usleep(150_000);
		$reader->poll("SELECT keeper_cpu_time > $used FROM pg_waitscope_status")
		  or die 'the keeper does nothing';
	}
	return;
}

sub send_to
{
	my ($session, $sql, $waiting) = @_;
	$session->send("$sql;\n");
	await_waiting($waiting);
	return;
}

sub end_all
{
	$_->finish, $_->errors foreach @_;
	await_waiting(0);
	return;
}

# Ends waits that would find another blocker, as the keeper looks again, when
# the one ahead of them gets the lock.
sub cancel
{
	foreach my $session (@_)
	{
		query('SELECT pg_cancel_backend(' . $session->pid . ')');
		$session->finish;
		$session->errors;
	}
	return;
}

# What the history tells of the last wait of a session.
sub told
{
	my ($session, $columns) = @_;
	return query("SELECT $columns FROM (SELECT row_number() OVER () AS i, *
			FROM pg_waitscope_lock_wait_history) h
		WHERE pid = " . $session->pid . ' ORDER BY i DESC LIMIT 1');
}

sub pids
{
	return join '|', map { $_->pid } @_;
}

my $blocker = 'blocker_pid, root_pid, blocker_mode, blocker_queued,
	blocker_backend_type, blocker_state, root_state';

# DDL waits for a transaction that does nothing, all others for the DDL.
$holder->ask('BEGIN');
$holder->ask('SELECT * FROM t');
send_to($ddl, 'ALTER TABLE t ADD m int', 1);
send_to($select, 'SELECT n FROM t', 2);
send_to($update, 'UPDATE t SET n = 1', 3);
await_look();
cancel($select, $update);
$holder->ask('COMMIT');
end_all($ddl);
is(told($ddl, $blocker),
	pids($holder, $holder) . '|AccessShareLock|f|client backend|idle in transaction|idle in transaction',
	'DDL is kept waiting by an idle transaction');
is(told($select, $blocker),
	pids($ddl, $holder) . '|AccessExclusiveLock|t|client backend|active|idle in transaction',
	'a SELECT by DDL that is ahead of it, and waits itself');
like(told($update, $blocker), qr/^(\d+)\|@{[$holder->pid]}\|AccessExclusiveLock\|t\|/,
	'... and so is an UPDATE');
is( query(q{SELECT mode, blocker_mode, blocker_queued, blocker_backend_type, waits
		FROM pg_waitscope_lock_blockers WHERE relation = 't'::regclass
		ORDER BY mode COLLATE "C"}),
	"AccessExclusiveLock|AccessShareLock|f|client backend|1\n"
	  . "AccessShareLock|AccessExclusiveLock|t|client backend|1\n"
	  . 'RowExclusiveLock|AccessExclusiveLock|t|client backend|1',
	'it is added up by who was in the way');

# Who came between just before the end is not who it was.
$holder->ask('BEGIN');
$holder->ask('SELECT * FROM t');
$ddl->ask('BEGIN');
send_to($ddl, 'LOCK TABLE t', 1);
send_to($select, 'SELECT n FROM t', 2);
await_look() for 1 .. 4;
$holder->ask('COMMIT');
$ddl->finish;
await_look();
$ddl->ask('COMMIT');
end_all($select);
is(told($select, 'root_pid, root_state'),
	$holder->pid . '|idle in transaction',
	'the root is who it was most of the time');

# Row locks: the second waits for the row, the third for the second.
$holder->ask('BEGIN');
$holder->ask('UPDATE t SET n = 2 WHERE id = 1');
send_to($ddl, 'UPDATE t SET n = 3 WHERE id = 1', 1);
send_to($select, 'UPDATE t SET n = 4 WHERE id = 1', 2);
await_look();
cancel($select);
$holder->ask('COMMIT');
end_all($ddl);
is( query('SELECT blocker_pid, root_pid, blocker_mode, blocker_queued
		FROM pg_waitscope_lock_wait_history WHERE locktype = \'tuple\'
		AND pid = ' . $select->pid),
	pids($ddl, $holder) . '|ExclusiveLock|f', 'a row lock, second in the queue');

# A prepared transaction belongs to no process.
$holder->ask('BEGIN');
$holder->ask('LOCK TABLE t');
$holder->ask(q{PREPARE TRANSACTION 'p'});
send_to($select, 'SELECT n FROM t', 1);
await_look();
query(q{ROLLBACK PREPARED 'p'});
end_all($select);
is(told($select, $blocker), '0|0|AccessExclusiveLock|f|||',
	'a prepared transaction is 0, as in pg_blocking_pids()');

# A deadlock has no root.
$_->ask('BEGIN') foreach $holder, $ddl;
$holder->ask('SELECT pg_advisory_xact_lock(1)');
$ddl->ask('SELECT pg_advisory_xact_lock(2)');
send_to($holder, 'SELECT pg_advisory_xact_lock(2)', 1);
send_to($ddl, 'SELECT pg_advisory_xact_lock(1)', 2);
send_to($select, 'SELECT pg_advisory_xact_lock(1)', 3);
await_look();
cancel($select, $ddl);
$ddl->query('ROLLBACK');
$holder->query('ROLLBACK');
end_all($holder);
is(told($holder, 'blocker_pid, root_pid, outcome'), $ddl->pid . '||granted',
	'a deadlock has no root');
is(told($select, 'blocker_pid, root_pid'), $holder->pid . '|',
	'... nor has who waits for one of its processes');

# Crowds at random: it must be one that pg_blocking_pids() names, one that
# holds the lock if there is such a one.  The keeper is stopped while they end,
# lest it sees who gets the lock on the way.
my $keeper = query('SELECT keeper_pid FROM pg_waitscope_status');
my @modes = map { "$_ MODE" } 'ACCESS SHARE', 'ROW SHARE', 'ROW EXCLUSIVE',
  'SHARE UPDATE EXCLUSIVE', 'SHARE', 'SHARE ROW EXCLUSIVE', 'EXCLUSIVE',
  'ACCESS EXCLUSIVE';
my $seed = time;
srand $seed;
note "seed $seed";
query('CREATE TEMP TABLE blocked (pid int, by int[])');
query('CREATE TEMP TABLE holders (pid int, relation oid)');
foreach my $round (1 .. 5)
{
	query('SELECT pg_waitscope_reset()');
	$_->ask('BEGIN') foreach @sessions;
	foreach my $session (@sessions)
	{
		$session->send('LOCK TABLE crowd_' . (1 + int rand 2) . ' IN '
			  . $modes[ rand @modes ] . ";\n");
		$reader->poll(q{SELECT query LIKE 'LOCK%' AND
				(state = 'idle in transaction' OR wait_event_type = 'Lock')
				FROM pg_stat_activity WHERE pid = } . $session->pid)
		  or die 'it does neither';
	}
	my $waiting = query(q{SELECT count(*) FROM pg_stat_activity
		WHERE wait_event_type = 'Lock'});
	await_waiting($waiting);
	await_look();
	kill 'STOP', $keeper;
	query('TRUNCATE blocked, holders');
	query(q{INSERT INTO blocked SELECT pid, pg_blocking_pids(pid)
		FROM pg_locks WHERE NOT granted});
	query(q{INSERT INTO holders SELECT pid, relation
		FROM pg_locks WHERE granted AND locktype = 'relation'});
	query('SELECT pg_cancel_backend(pid) FROM blocked');
	$_->query('ROLLBACK') foreach @sessions;
	end_all(@sessions);
	kill 'CONT', $keeper;
	is( query(q{SELECT count(*), count(*) FILTER (WHERE h.blocker_pid = ANY (b.by)),
			count(*) FILTER (WHERE h.blocker_queued = NOT EXISTS (
				SELECT FROM holders g WHERE g.pid = h.blocker_pid
				AND g.relation = h.lock_relid))
			FROM blocked b JOIN pg_waitscope_lock_wait_history h USING (pid)}),
		"$waiting|$waiting|$waiting", "round $round: $waiting blockers are right");
}

# Switched off, nobody looks; waits are counted all the same.
sub block_and_end
{
	query('SELECT pg_waitscope_reset()');
	$holder->ask('BEGIN');
	$holder->ask('LOCK TABLE t');
	send_to($select, 'SELECT n FROM t', 1);
	usleep(500_000);
	$holder->ask('COMMIT');
	end_all($select);
	return query(q{SELECT waits, wait_time > 400, blocker_mode, blocker_queued
		FROM pg_waitscope_lock_blockers});
}
is(block_and_end(), '1|t|AccessExclusiveLock|f', 'the keeper looks');
query('ALTER SYSTEM SET pg_waitscope.track_blockers = off');
query('SELECT pg_reload_conf()');

# The keeper may take a moment to know.
my $seen = '';
for (1 .. 20)
{
	$seen = block_and_end();
	last if $seen eq '1|t||';
}
is($seen, '1|t||', '... not if track_blockers is off');
query('ALTER SYSTEM RESET pg_waitscope.track_blockers');
query('SELECT pg_reload_conf()');
$reader->poll(q{SELECT setting = 'on' FROM pg_settings
	WHERE name = 'pg_waitscope.track_blockers'});

# A stopped keeper holds nothing: whatever it was at, others go on.
foreach my $round (1 .. 5)
{
	$holder->ask('BEGIN');
	$holder->ask('LOCK TABLE t');
	$_->send("SELECT n FROM t;\n") foreach @sessions[ 1 .. 11 ];
	await_waiting(11);
	kill 'STOP', $keeper or die "kill: $!";
	$holder->ask('COMMIT');
	$_->finish foreach @sessions[ 1 .. 11 ];
	$holder->ask('BEGIN');
	$holder->ask('LOCK TABLE t');
	$holder->ask('ROLLBACK');
	await_waiting(0);
	my ($state) = slurp_file("/proc/$keeper/stat") =~ /\) (\S)/;
	is($state . join('', map { $_->errors } @sessions), 'T',
		"round $round: locks are taken and released while the keeper is stopped");
	kill 'CONT', $keeper;
}
is(query(q{SELECT sum(waits) FROM pg_waitscope_lock_blockers}),
	query(q{SELECT sum(waits) FROM pg_waitscope_lock_waits}),
	'both views count the same waits');

done_testing();
