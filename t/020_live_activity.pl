# pg_waitscope_activity on a server where nothing is preloaded: state classes,
# query ids, lock waits, LWLock modes, and what is hidden from whom.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Session;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', q{
listen_addresses = '127.0.0.1'
autovacuum_naptime = 1d
deadlock_timeout = 1h
});
$node->start;
my $version = $node->safe_psql('postgres', 'SHOW server_version_num');
my $have_ids = $version >= 140000;
$node->append_conf('postgresql.conf', 'compute_query_id = on') if $have_ids;
$node->reload;

$node->safe_psql('postgres', q{
CREATE EXTENSION pg_waitscope;
CREATE EXTENSION wsc_test_scan;
CREATE DATABASE elsewhere;
CREATE TABLE items (id int PRIMARY KEY, n int);
ALTER TABLE items SET (parallel_workers = 2);
INSERT INTO items SELECT i, 0 FROM generate_series(1, 1000) i;
ANALYZE items;
CREATE ROLE regress_alice LOGIN;
CREATE ROLE regress_bob LOGIN;
CREATE ROLE regress_carol LOGIN;
GRANT regress_bob TO regress_carol;
GRANT SELECT ON items TO regress_bob;
});
$node->safe_psql('elsewhere', 'CREATE TABLE items (id int)');

my $admin = Session->new($node);

# Columns of a process's row; fields that are NULL come out empty.
sub row
{
	my ($pid, $columns) = @_;
	return $admin->query(
		"SELECT $columns FROM pg_waitscope_activity WHERE pid = $pid");
}

# Waits until a condition holds for a process's row.
sub wait_until
{
	my ($pid, $condition) = @_;
	return if $node->poll_query_until('postgres', qq{
		SELECT count(*) = 1 FROM pg_waitscope_activity
		 WHERE pid = $pid AND ($condition)});
	die "never: $condition, but\n" . row($pid, '*');
}

# Sends a statement and waits until it waits.
sub send_and_wait
{
	my ($session, $sql, $event) = @_;
	$session->send("$sql;\n");
	wait_until($session->pid, "wait_event = '$event'");
	return;
}

sub cancel
{
	my ($session) = @_;
	$admin->query('SELECT pg_cancel_backend(' . $session->pid . ')');
	$session->finish;
	return;
}

sub core_queryid
{
	my ($pid) = @_;
	return '' unless $have_ids;
	return $admin->query(
		"SELECT query_id FROM pg_stat_get_activity($pid)");
}

#
# States.
#
my $s = Session->new($node);
my $pid = $s->pid;
my $columns = 'state, state_class, wait_event_type, wait_event, queryid';

wait_until($pid, "state = 'idle'");
is(row($pid, $columns), 'idle|idle|Client|ClientRead|', 'idle, without query id');
isnt(core_queryid($pid), '', '... though the server still has one') if $have_ids;

$s->query('BEGIN');
wait_until($pid, "state = 'idle in transaction'");
is(row($pid, $columns),
	'idle in transaction|idle in transaction|Client|ClientRead|',
	'idle in transaction');
$s->query('SELECT 1/0');
wait_until($pid, "state ~ 'aborted'");
is(row($pid, $columns),
	'idle in transaction (aborted)|idle in transaction|Client|ClientRead|',
	'after an error in a transaction');
$s->query('ROLLBACK');
$s->errors;

send_and_wait($s, 'SELECT pg_sleep(600)', 'PgSleep');
my $queryid = core_queryid($pid);
isnt($queryid, '', 'a running statement has a query id') if $have_ids;
is(row($pid, "$columns, query"),
	"active|foreground|Timeout|PgSleep|$queryid|SELECT pg_sleep(600);",
	'active, with the query id');
cancel($s);

# A statement that fails goes on to have its own id until it is over.
$s->query('CREATE TABLE failing (a int CHECK (pg_sleep(600) IS NULL))');
send_and_wait($s, 'INSERT INTO failing VALUES (1)', 'PgSleep');
is(row($pid, 'queryid'), core_queryid($pid), 'a statement that will fail');
cancel($s);
is(row($pid, 'state, queryid'), 'idle|', 'and nothing of it afterwards');

# A call by the fastpath protocol is load, but no statement: the server keeps
# the id of the one before it.
my $lo_holder = Session->new($node);
$s->query('SELECT lo_create(4242)');
$lo_holder->query("BEGIN; COMMENT ON LARGE OBJECT 4242 IS 'held'");
$s->send("\\lo_unlink 4242\n");
wait_until($pid, "state = 'fastpath function call' AND wait_event = 'object'");
is(row($pid, 'state_class, queryid'), 'foreground|', 'fastpath call');
isnt(core_queryid($pid), '', '... after another statement') if $have_ids;
$lo_holder->query('ROLLBACK');
$s->finish;
$lo_holder->quit;

# psql sends nothing more, so COPY waits for its client.
$s->send("COPY items FROM STDIN;\n");
wait_until($pid, "state = 'active' AND wait_event = 'ClientRead'");
is(row($pid, 'state_class'), 'foreground', 'COPY that waits for its data');
$s->send("\\.\n");
$s->finish;
$s->quit;

# Without track_activities.  13 then stores no waits either: whatever the
# session does, it is hidden.
$s = Session->new($node, options => '-c track_activities=off');
$pid = $s->pid;
if ($version < 140000)
{
	is(row($pid, $columns), 'disabled|hidden|||',
		'track_activities off: idle');
	$s->send("SELECT pg_sleep(600);\n");
	ok( $node->poll_query_until('postgres', qq{
			SELECT count(*) = 1 FROM pg_locks
			 WHERE pid = $pid AND locktype = 'virtualxid'}),
		'track_activities off: it sleeps');
	is(row($pid, $columns), 'disabled|hidden|||',
		'track_activities off: but nobody can tell');
	cancel($s);
}
else
{
	wait_until($pid, "wait_event = 'ClientRead'");
	is(row($pid, $columns), 'disabled|idle|Client|ClientRead|',
		'track_activities off: idle');
	send_and_wait($s, 'SELECT pg_sleep(600)', 'PgSleep');
	is(row($pid, $columns), 'disabled|foreground|Timeout|PgSleep|',
		'track_activities off: its wait counts');
	cancel($s);
}
$s->send("DO 'BEGIN LOOP END LOOP; END';\n");
wait_until($pid, "wait_event IS NULL AND state_class = 'hidden'");
is(row($pid, $columns), 'disabled|hidden|||',
	'track_activities off: without a wait it is hidden');
cancel($s);
$s->quit;

# The server's own processes, when they have nothing to do.
foreach my $type ('checkpointer', 'background writer', 'walwriter',
	'autovacuum launcher', 'logical replication launcher')
{
	ok( $node->poll_query_until('postgres', qq{
			SELECT state_class = 'background idle' AND
				   wait_event_type = 'Activity'
			  FROM pg_waitscope_activity WHERE backend_type = '$type'}),
		"$type is idle in the background");
}

#
# All columns that pg_stat_activity has, of all kinds of processes.
#
$s = Session->new($node, user => 'regress_bob');
my $tcp = IPC::Run::start(
	[ 'psql', '-XAtq', '-d',
		'host=127.0.0.1 port=' . $node->port . ' dbname=elsewhere application_name=far',
		'-c', 'SELECT pg_sleep(600)' ],
	'<', '/dev/null', '>', '/dev/null', '2>', '/dev/null');
$node->poll_query_until('postgres', q{
	SELECT count(*) = 1 FROM pg_stat_activity
	 WHERE application_name = 'far' AND wait_event = 'PgSleep'});
my $differences = q{
	SELECT a, s
	  FROM (SELECT pid, leader_pid, backend_type, datid, datname, usesysid,
				   usename, application_name, client_addr, state,
				   regexp_replace(query, '\s+', ' ', 'g') AS query
			  FROM pg_waitscope_activity) a
	  FULL JOIN
		   (SELECT pid, leader_pid, backend_type, datid, datname, usesysid,
				   usename, NULLIF(application_name, '') AS application_name,
				   client_addr, state,
				   regexp_replace(NULLIF(query, ''), '\s+', ' ', 'g') AS query
			  FROM pg_stat_activity) s USING (pid)
	 WHERE a IS DISTINCT FROM s};
is($node->safe_psql('postgres', $differences), '',
	'rows agree with those of pg_stat_activity');
is($node->safe_psql('postgres', q{
	SELECT client_addr, datname, usename = current_user
	  FROM pg_waitscope_activity WHERE application_name = 'far'}),
	'127.0.0.1|elsewhere|t', 'a client that came through the network');
$admin->query(q{SELECT pg_terminate_backend(pid)
	FROM pg_stat_activity WHERE application_name = 'far'});
$tcp->finish;

# In a transaction pg_stat_activity stands still; here a row is of one moment.
$admin->query('BEGIN; SELECT count(*) FROM pg_stat_activity');
$s->query(q{SET application_name = 'renamed'});
$s->query('BEGIN');
wait_until($s->pid, "state = 'idle in transaction'");
is(row($s->pid, 'state, state_class, application_name, query'),
	'idle in transaction|idle in transaction|renamed|BEGIN;',
	'each query looks anew, also in a transaction');
$admin->query('COMMIT');
$s->quit;

# A parallel worker works for the statement of its leader.
$s = Session->new($node);
$s->query(q{SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;
	SET min_parallel_table_scan_size = 0; SET parallel_leader_participation = off;
	SET max_parallel_workers_per_gather = 2});
$pid = $s->pid;
$s->send("SELECT count(*) FROM items WHERE pg_sleep(600) IS NOT NULL;\n");
ok( $node->poll_query_until('postgres', qq{
		SELECT count(*) = 2 FROM pg_waitscope_activity
		 WHERE leader_pid = $pid AND wait_event = 'PgSleep'}),
	'parallel workers show their leader');
$queryid = core_queryid($pid);
is( $admin->query(qq{
		SELECT DISTINCT backend_type, state, state_class, queryid
		  FROM pg_waitscope_activity WHERE leader_pid = $pid}),
	"parallel worker|active|foreground|$queryid",
	'... and are load of the leader\'s statement');
is(row($pid, 'leader_pid, state_class, queryid'), "|foreground|$queryid",
	'... which is load, too');
cancel($s);
$s->quit;

#
# Heavyweight locks.
#
my ($a, $b, $c) = map { Session->new($node) } 1 .. 3;

# As pg_locks and pg_blocking_pids() have it.
my $lock_columns = 'wait_event, locktype, relation, mode, wait_start, blocked_by';

sub poll_session
{
	my ($session, $sql) = @_;
	for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		return 1 if $session->query($sql) eq 't';
	}
	return 0;
}

sub core_lock
{
	my ($waiter) = @_;
	my $start = $have_ids ? 'waitstart' : 'NULL';
	return $admin->query(qq{
		SELECT locktype, locktype,
			   CASE WHEN database IN (0, (SELECT oid FROM pg_database
										   WHERE datname = 'postgres'))
					THEN relation::regclass END,
			   mode, $start, pg_blocking_pids(pid)
		  FROM pg_locks WHERE pid = $waiter AND NOT granted});
}

sub check_lock
{
	my ($waiter, $like, $name) = @_;
	my $wait_pid = $waiter->pid;
	wait_until($wait_pid, 'wait_start IS NOT NULL') if $have_ids;
	my $shown = row($wait_pid, $lock_columns);
	is($shown, core_lock($wait_pid), "$name: as in pg_locks");
	like($shown, $like, "$name: as expected");
	is(row($wait_pid, 'state_class, wait_event_type'), 'foreground|Lock',
		"$name: is load");
	return;
}

my ($pid_a, $pid_b, $pid_c) = map { $_->pid } $a, $b, $c;
$a->query('BEGIN; LOCK TABLE items IN SHARE MODE');
send_and_wait($b, 'UPDATE items SET n = 1 WHERE id = 1', 'relation');
check_lock($b,
	qr/^relation\|relation\|items\|RowExclusiveLock\|.*\|\{$pid_a\}$/,
	'relation');
wait_until($pid_a, q{wait_event = 'ClientRead'});
is(row($pid_a, $lock_columns), 'ClientRead|||||', 'the holder waits for none');
$a->query('COMMIT');
$b->finish;

$a->query('BEGIN; UPDATE items SET n = 1 WHERE id = 1');
send_and_wait($b, 'UPDATE items SET n = 2 WHERE id = 1', 'transactionid');
check_lock($b,
	qr/^transactionid\|transactionid\|\|ShareLock\|.*\|\{$pid_a\}$/,
	'hot row, first waiter');
send_and_wait($c, 'UPDATE items SET n = 3 WHERE id = 1', 'tuple');
check_lock($c, qr/^tuple\|tuple\|items\|ExclusiveLock\|.*\|\{$pid_b\}$/,
	'hot row, second waiter');
$a->query('COMMIT');
$b->finish;
$c->finish;

$a->query('SELECT pg_advisory_lock(1)');
send_and_wait($b, 'SELECT pg_advisory_lock_shared(1)', 'advisory');
check_lock($b, qr/^advisory\|advisory\|\|ShareLock\|.*\|\{$pid_a\}$/,
	'advisory');
$a->query('SELECT pg_advisory_unlock(1)');
$b->finish;
wait_until($pid_b, q{wait_event = 'ClientRead'});
is(row($pid_b, $lock_columns), 'ClientRead|||||', 'nothing stays behind');

# The view needs pg_database, and poll_query_until() a new connection.
$a->query('BEGIN; LOCK TABLE pg_database IN ACCESS EXCLUSIVE MODE');
$b->send("SELECT count(*) FROM pg_database;\n");
ok( poll_session($admin, qq{
		SELECT count(*) = 1 FROM pg_waitscope_get_activity()
		 WHERE pid = $pid_b AND locktype = 'relation'}),
	'a wait for a shared relation');
is( $admin->query(qq{
		SELECT relid::regclass, mode
		  FROM pg_waitscope_get_activity() WHERE pid = $pid_b}),
	'pg_database|AccessShareLock', '... which is named in every database');
$a->query('COMMIT');
$b->finish;

my ($d, $e) = map { Session->new($node, database => 'elsewhere') } 1 .. 2;
$d->query('BEGIN; LOCK TABLE items');
send_and_wait($e, 'SELECT * FROM items', 'relation');
is(row($e->pid, 'locktype, relation, mode, blocked_by'),
	'relation||AccessShareLock|{' . $d->pid . '}',
	'a relation of another database has no name here');
is( $node->safe_psql('elsewhere', q{
		CREATE EXTENSION pg_waitscope;
		SELECT relation FROM pg_waitscope_activity WHERE locktype = 'relation'}),
	'items', '... but there');
$d->query('COMMIT');
$e->finish;
$_->quit foreach $a, $b, $c, $d, $e;

#
# LWLocks.
#
my $holder = Session->new($node);
send_and_wait($holder, 'SELECT wsc_test_hold_lwlock()', 'Extension');
my @waiters;
foreach my $mode ('exclusive', 'shared', 'until free')
{
	my $waiter = Session->new($node);
	$waiter->send("SELECT wsc_test_take_lwlock('$mode');\n");
	wait_until($waiter->pid, "wait_event_type = 'LWLock'");
	is(row($waiter->pid, 'state_class, lwlock_mode, locktype, blocked_by'),
		"foreground|$mode||", "LWLock waited for: $mode");
	push @waiters, $waiter;
}
cancel($holder);
$_->finish foreach @waiters;
$_->quit foreach $holder, @waiters;

#
# What is hidden from whom.
#
my $of_bob = Session->new($node, user => 'regress_bob');
send_and_wait($of_bob, 'SELECT pg_sleep(600) FROM items LIMIT 1', 'PgSleep');
my $pid_bob = $of_bob->pid;

sub row_for
{
	my ($user, $wanted) = @_;
	my $session = Session->new($node, user => $user);
	my $result = $session->query($wanted);
	$session->quit;
	return $result;
}

my $always = q{datname, usename, application_name <> '', datid IS NULL,
	usesysid IS NULL};
my $hidden = q{leader_pid, backend_type, client_addr, state, state_class,
	wait_event_type, wait_event, lwlock_mode, locktype, relation, mode,
	wait_start, blocked_by, queryid, query};
my $of_pid = "FROM pg_waitscope_activity WHERE pid = $pid_bob";

foreach my $user ('regress_alice', 'regress_bob', 'regress_carol')
{
	is(row_for($user, "SELECT $always $of_pid"),
		'postgres|regress_bob|t|f|f', "$user sees whose session it is");
}
is(row_for('regress_alice', "SELECT num_nonnulls($hidden) $of_pid"), '0',
	'regress_alice does not see what another role does');
like(row_for($_, "SELECT state, wait_event, query $of_pid"),
	qr/^active\|PgSleep\|SELECT pg_sleep/, "$_ sees it")
  foreach 'regress_bob', 'regress_carol';
is( row_for('regress_alice', q{
		SELECT count(*) FILTER (WHERE state_class IS NOT NULL) = 1,
			   count(*) > 5
		  FROM pg_waitscope_activity}),
	't|t', 'regress_alice sees all processes but only her own activity');
is( row_for('regress_alice', q{
		SELECT count(*) FROM pg_stat_activity s
		  JOIN pg_waitscope_activity a USING (pid)
		 WHERE s.query = '<insufficient privilege>'
		   AND (a.query, a.state, a.wait_event, a.backend_type) IS NOT NULL
			OR s.query <> '<insufficient privilege>' AND a.query IS NULL}),
	'0', 'the same rows are hidden as in pg_stat_activity');
$node->safe_psql('postgres', 'GRANT pg_read_all_stats TO regress_alice');
like(row_for('regress_alice', "SELECT state, wait_event, query $of_pid"),
	qr/^active\|PgSleep\|SELECT pg_sleep/,
	'regress_alice sees it as a member of pg_read_all_stats');
is( row_for('regress_alice', q{
		SELECT count(*) FROM pg_waitscope_activity
		 WHERE backend_type = 'checkpointer'}),
	'1', '... and the processes of the server');
cancel($of_bob);
$of_bob->quit;
$admin->quit;

$node->stop;
done_testing();
