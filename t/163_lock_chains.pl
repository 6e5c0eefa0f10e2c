# pg_waitscope_lock_chains on a server where nothing is preloaded: known
# trees, holders told apart from those that are only ahead in a queue, and in
# each of them all that it promises checked against pg_blocking_pids() and
# pg_locks.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use Chains;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Session;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('chains');
$node->init;
$node->append_conf('postgresql.conf', q{
autovacuum = off
max_connections = 200
max_prepared_transactions = 5
deadlock_timeout = 10min
max_parallel_workers_per_gather = 2
parallel_setup_cost = 0
parallel_tuple_cost = 0
min_parallel_table_scan_size = 0
});
$node->start;
my $version = $node->safe_psql('postgres', 'SHOW server_version_num');
$node->safe_psql('postgres', q{
CREATE EXTENSION pg_waitscope;
CREATE ROLE regress_monitor LOGIN IN ROLE pg_monitor;
CREATE ROLE regress_nobody LOGIN;
CREATE TABLE account AS SELECT g AS id, 0 AS n FROM generate_series(1, 3) g;
CREATE TABLE other (a int);
CREATE TABLE wide WITH (parallel_workers = 2) AS
	SELECT g FROM generate_series(1, 10000) g;
CREATE FUNCTION look_at_other(g int) RETURNS bigint
	LANGUAGE plpgsql PARALLEL SAFE
	AS 'BEGIN RETURN (SELECT count(*) FROM other); END';
});
my $chains = Chains->new($node);
my $lock_account = 'LOCK TABLE account IN ACCESS EXCLUSIVE MODE';

is($chains->ask('SELECT count(*) FROM pg_waitscope_lock_chains'),
	'0', 'nobody waits: no rows');

#
# The classic: idle in transaction, rows, their queue, DDL, all others.
#
$chains->start(qw(root first second ddl reader));
$chains->does(root => 'BEGIN', 'UPDATE account SET n = n + 1 WHERE id = 1');
my $update = 'UPDATE account SET n = n + 2 WHERE id = 1';
$chains->waits(first => $update);
$chains->waits(second => $update);
$chains->waits(ddl => 'ALTER TABLE account ADD note text');
$chains->waits(reader => 'SELECT n FROM account');
$chains->check('classic');

# Before 14 the server does not tell who has waited longer.
my @tree = split /\n/, $chains->names('SELECT tree FROM pg_waitscope_lock_chains');
@tree = sort @tree if $version < 140000;
my @expected = ('root', '  first', '    second', '  ddl', '    reader');
@expected = sort @expected if $version < 140000;
is_deeply(\@tree, \@expected, 'classic: the tree');

sub row
{
	my ($name, $columns) = @_;
	my $pid = $chains->pid($name);
	return $chains->names(
		"SELECT $columns FROM pg_waitscope_lock_chains WHERE pid = $pid");
}
my $wait = 'depth, root_pid, blocked_count, in_cycle, held_by, queued_behind,
	locktype, relation, mode, blocker_mode';
is(row(root => $wait), '0|root|4|f||||||', 'classic: root');
is(row(first => $wait),
	'1|root|3|f|{root}|{}|transactionid||ShareLock|ExclusiveLock',
	'classic: waits for the transaction');
is(row(second => $wait),
	'2|root|2|f|{first}|{}|tuple|account|ExclusiveLock|ExclusiveLock',
	'classic: waits for the row');
my $ddl = row(ddl => $wait);
my ($held_by) = $ddl =~ s/\{([^}]*)\}/{}/ ? $1 : '';
is($ddl, '1|root|1|f|{}|{}|relation|account|AccessExclusiveLock|RowExclusiveLock',
	'classic: DDL stands below the one that waits for nobody');
is(join(',', sort split /,/, $held_by),
	'first,root,second', 'classic: ... and waits for three');
is(row(reader => $wait),
	'2|root|0|f|{}|{ddl}|relation|account|AccessShareLock|AccessExclusiveLock',
	'classic: the reader is only queued behind the DDL');

# Who is the root, and how long has it been so?
is( row(root => q{state, wait_event, backend_type, datname,
		usename = current_user, query, state_time > 0, xact_time >= state_time,
		lock_datid, lock_relid, lock_key, wait_start, wait_time, gid, leader_pid}),
	'idle in transaction|ClientRead|client backend|postgres|t|'
	  . 'UPDATE account SET n = n + 1 WHERE id = 1;|t|t|||||||',
	'classic: state of the root');
is( $chains->ask(q{
		SELECT count(*) FROM pg_waitscope_lock_chains c
		  JOIN pg_stat_activity a USING (pid)
		 WHERE c.state_time BETWEEN 0 AND 1 + 1000 * extract(epoch FROM
				clock_timestamp() - a.state_change)::double precision
		   AND c.state_time >= 1000 * extract(epoch FROM
				c.read_at - a.state_change)::double precision - 1
		   AND (c.state, c.wait_event_type, c.wait_event, c.query, c.datid,
				c.usesysid, c.application_name) IS NOT DISTINCT FROM
			   (a.state, a.wait_event_type, a.wait_event, a.query, a.datid,
				a.usesysid, a.application_name)}),
	'5', 'classic: all as in pg_stat_activity');

# Waiters: since when, where the server tells.
my $since = $version >= 140000 ? 5 - 1 : 0;
is( $chains->ask(q{
		SELECT count(*) FROM pg_waitscope_lock_chains
		 WHERE wait_start <= read_at AND abs(wait_time - 1000 *
			extract(epoch FROM read_at - wait_start)::double precision) < 0.01}),
	$since, 'classic: since when they wait');
is( $chains->ask(q{
		SELECT count(*) FROM pg_waitscope_lock_chains
		 WHERE (wait_start IS NULL) <> (wait_time IS NULL)
			OR num_nulls(line, tree, depth, blocked_count, in_cycle, read_at) > 0
			OR num_nulls(held_by, queued_behind, locktype, mode) NOT IN (0, 4)
			OR (held_by IS NULL AND num_nonnulls(lock_datid, lock_relid,
				relation, lock_key, blocker_mode, wait_start) > 0)}),
	'0', 'classic: NULL where the comments say so');

# Who asks is in it, too; and who may.
my $monitor = Session->new($node, user => 'regress_monitor');
is( $monitor->query('SELECT count(*), count(query) FROM pg_waitscope_lock_chains'),
	'5|5', 'a monitor sees all');
my $nobody = Session->new($node, user => 'regress_nobody');
$nobody->query('SELECT * FROM pg_waitscope_lock_chains');
like($nobody->errors, qr/permission denied for view pg_waitscope_lock_chains/,
	'others do not');
$_->quit foreach $monitor, $nobody;
$chains->end;

#
# Holders and queue: known from the order in which they came.
#
$chains->start(qw(holder writer reader late));
$chains->does(holder => 'SELECT pg_advisory_lock_shared(42)');
$chains->waits(writer => 'SELECT pg_advisory_lock(42)');
$chains->waits(reader => 'SELECT pg_advisory_lock_shared(42)');
$chains->waits(late => 'SELECT pg_advisory_lock(42)');
$chains->check('queue');
is( $chains->names(q{SELECT tree, held_by, queued_behind, blocker_mode,
		blocked_count, lock_key FROM pg_waitscope_lock_chains}),
	"holder||||3|\n  writer|{holder}|{}|ShareLock|2|42\n"
	  . "    reader|{}|{writer}|ExclusiveLock|1|42\n"
	  . '  late|{holder}|{writer,reader}|ShareLock|0|42',
	'queue: holders are told apart from those ahead');
$chains->end;

# A holder that also waits, and one of several: who waits for nobody first.
$chains->start(qw(busy free waiting last));
$chains->does(free => 'SELECT pg_advisory_lock(1)');
$chains->does(waiting => 'SELECT pg_advisory_lock_shared(2)');
$chains->waits(waiting => 'SELECT pg_advisory_lock(1)');
$chains->does(busy => 'SELECT pg_advisory_lock_shared(2)');
$chains->waits(last => 'SELECT pg_advisory_lock(2)');
$chains->check('several holders');
my $last = row(last => 'depth, root_pid, blocked_count, held_by');
like($last, qr/^1\|busy\|0\|\{(busy,waiting|waiting,busy)\}$/,
	'several holders: below the one that waits for nobody');
is(row(free => 'depth, blocked_count'),
	'0|2', 'several holders: the other root counts those behind it, too');
$chains->end;

#
# Prepared transactions have no process.
#
$chains->start(qw(preparer waiter behind));
$chains->does(preparer => 'BEGIN', 'UPDATE account SET n = 1 WHERE id = 2',
	q{PREPARE TRANSACTION 'left over'});
$chains->waits(waiter => 'UPDATE account SET n = 2 WHERE id = 2');
$chains->waits(behind => 'UPDATE account SET n = 3 WHERE id = 2');
my $prepared = q{SELECT tree, pid, gid, root_pid, blocked_count, held_by,
	state, state_time > 0, datname, usename = current_user, backend_type, query
	FROM pg_waitscope_lock_chains WHERE depth < 2};
my $expected = "prepared left over||left over||2||prepared|t|postgres|t||\n"
  . '  waiter|waiter|||1|{0}|active|t|postgres|t|client backend|'
  . 'UPDATE account SET n = 2 WHERE id = 2;';
$chains->check('prepared');
is($chains->names($prepared), $expected, 'prepared: on top, with its name');
$chains->end;
$node->restart;
$chains->start(qw(waiter behind));
$chains->waits(waiter => 'UPDATE account SET n = 2 WHERE id = 2');
$chains->waits(behind => 'UPDATE account SET n = 3 WHERE id = 2');
$chains->check('prepared, restarted');
is($chains->names($prepared), $expected, 'prepared: also after a restart');
$chains->end;
$node->safe_psql('postgres', q{ROLLBACK PREPARED 'left over'});

#
# A parallel query holds and waits as one.
#
$chains->start(qw(leader ddl));
$chains->waits_otherwise(
	leader => 'SELECT count(*) FROM wide WHERE pg_sleep(600) IS NULL');
ok( $chains->poll('SELECT count(*) = 3 FROM pg_locks
		WHERE relation = ' . "'wide'::regclass"),
	'parallel: three processes hold a lock');
$chains->waits(ddl => 'ALTER TABLE wide ADD a int');
$chains->check('parallel holders');
is( $chains->names(q{SELECT tree, held_by, leader_pid, blocked_count
		FROM pg_waitscope_lock_chains}),
	"leader|||1\n  ddl|{leader}||0", 'parallel: they are one');
$chains->end;

$chains->start(qw(holder leader ddl));
$chains->does(holder => 'BEGIN',
	'LOCK TABLE other IN ACCESS EXCLUSIVE MODE');
$chains->does(leader => 'SET parallel_leader_participation = off');
$chains->waits_otherwise(
	leader => 'SELECT sum(look_at_other(g)) FROM wide');
ok( $chains->poll('SELECT count(*) = 2 FROM pg_locks WHERE NOT granted'),
	'parallel: two workers wait');
$chains->waits(ddl => 'ALTER TABLE wide ADD a int');
$chains->check('parallel waiters');
is( $chains->names(q{SELECT depth, leader_pid, held_by, queued_behind,
		blocked_count, backend_type, query
		FROM pg_waitscope_lock_chains WHERE leader_pid IS NOT NULL}),
	join("\n", ('1|leader|{holder}|{}|1|parallel worker|'
		  . 'SELECT sum(look_at_other(g)) FROM wide;') x 2),
	'parallel: workers wait for the holder and name their leader');
is(row(ddl => 'depth, held_by'), '2|{leader}', 'parallel: DDL waits for them');
is(row(holder => 'blocked_count'), '3', 'parallel: behind the holder');
$chains->end;

#
# Circles: marked, and gone through once.
#
$chains->start(qw(one two three behind));
$chains->does(one => 'SELECT pg_advisory_lock(1)');
$chains->does(two => 'SELECT pg_advisory_lock(2)');
$chains->does(three => 'SELECT pg_advisory_lock_shared(3)');
$chains->does(one => 'SELECT pg_advisory_lock_shared(3)');
$chains->waits(one => 'SELECT pg_advisory_lock(2)');
$chains->waits(two => 'SELECT pg_advisory_lock(1)');
$chains->waits(behind => 'SELECT pg_advisory_lock(1)');
$chains->check('circle');
my $circle = $chains->names(q{SELECT tree, root_pid, blocked_count, in_cycle
		FROM pg_waitscope_lock_chains});
is( $circle,
	"one (cycle)|one|2|t\n  two (cycle)|one|2|t\n  behind|one|0|f",
	'circle: the one that has waited longest is on top')
  if $version >= 140000;
is( () = $circle =~ /\|t$/mg, 2, 'circle: two are in it');

# One that could also wait for somebody outside is in the circle as well.
$chains->does(behind => undef);
$chains->waits(behind => 'SELECT pg_advisory_lock(3)');
$chains->check('circle and holder');
is(row(behind => 'depth, root_pid, in_cycle'),
	'1|three|f', 'circle: outside, below the holder that waits for nobody');
$chains->end;

# A circle that no place of a node shows: below the holder outside.
$chains->start(qw(one two outside));
$chains->does(one => 'SELECT pg_advisory_lock(1)');
$chains->does(outside => 'SELECT pg_advisory_lock_shared(2)');
$chains->does(two => 'SELECT pg_advisory_lock_shared(2)');
$chains->waits(two => 'SELECT pg_advisory_lock(1)');
$chains->waits(one => 'SELECT pg_advisory_lock(2)');
$chains->check('hidden circle');
is( $chains->names('SELECT tree FROM pg_waitscope_lock_chains'),
	"outside\n  one (cycle)\n    two (cycle)",
	'circle: found although both stand below a root');
$chains->end;

#
# What is locked, by any name.  (In check, compared with pg_locks.)
#
$chains->start(qw(holder waiter));
foreach my $case (
	[ 'pg_advisory_lock(-1)', 'pg_advisory_lock(-1)', '-1' ],
	[ 'pg_advisory_lock(8000000000)', 'pg_advisory_lock(8000000000)', '8000000000' ],
	[ 'pg_advisory_lock(-5, 7)', 'pg_advisory_lock(-5, 7)', '(-5,7)' ])
{
	my ($hold, $want, $key) = @$case;
	$chains->does(holder => "SELECT $hold");
	$chains->waits(waiter => "SELECT $want");
	$chains->check("key $key");
	is(row(waiter => 'locktype, lock_key'), "advisory|$key", "key $key");
	$chains->does(waiter => undef, 'SELECT pg_advisory_unlock_all()');
	$chains->does(holder => 'SELECT pg_advisory_unlock_all()');
}
$chains->does(holder => 'BEGIN', 'UPDATE account SET n = n WHERE id = 3');
$chains->waits(waiter => 'CREATE INDEX CONCURRENTLY ON account (id)');
$chains->check('virtualxid');
is(row(waiter => 'locktype, held_by'), 'virtualxid|{holder}',
	'a virtual transaction');
$chains->does(waiter => undef);
$chains->does(holder => 'COMMIT', 'BEGIN', 'CREATE TYPE kind AS ENUM ()',
	'COMMIT', 'BEGIN', 'DROP TYPE kind');
$chains->waits(waiter => 'COMMENT ON TYPE kind IS NULL');
$chains->check('object');
is(row(waiter => 'locktype, relation'), 'object|', 'an object');
$chains->does(waiter => undef);
$chains->does(holder => 'ROLLBACK');

# A relation that nobody else can see yet; one that will be gone.
$chains->does(holder => 'BEGIN', 'CREATE TABLE unseen (a int)');
my $oid = $chains->does(holder => q{SELECT 'unseen'::regclass::oid});
$chains->waits(waiter => "SELECT pg_relation_size($oid)");
$chains->check('unseen');
is(row(waiter => 'relation, lock_relid'), "|$oid",
	'a relation that is not visible has a number');
$chains->does(waiter => undef);
$chains->does(holder => 'COMMIT', 'BEGIN', 'DROP TABLE unseen');
$chains->waits(waiter => 'SELECT * FROM unseen');
is(row(waiter => 'relation, lock_relid'), "unseen|$oid",
	'one that is about to be dropped has its name');
$chains->does(holder => 'COMMIT');
$chains->does(waiter => undef);
is($chains->ask('SELECT count(*) FROM pg_waitscope_lock_chains'),
	'0', 'nobody waits any more');

# In another database it is not looked up in this one.
$node->safe_psql('postgres', 'CREATE DATABASE regress_other');
$chains->does(holder => 'BEGIN', $lock_account);
$chains->waits(waiter => 'SELECT * FROM account');
my $elsewhere = Session->new($node, database => 'regress_other');
$elsewhere->query('CREATE EXTENSION pg_waitscope');
like( $elsewhere->query(q{
		SELECT datname, relation, lock_relid FROM pg_waitscope_lock_chains
		 WHERE depth = 1}),
	qr/^postgres\|\|\d+$/, 'a relation of another database has a number');
$elsewhere->quit;

# The session that asks holds up somebody.
$chains->does(waiter => undef);
$chains->does(holder => 'COMMIT');
$chains->ask("BEGIN; $lock_account");
$chains->waits(waiter => 'SELECT * FROM account');
is( $chains->names(q{SELECT depth, pid = pg_backend_pid(), state
		FROM pg_waitscope_lock_chains}),
	"0|t|active\n1|f|active", 'the own session is shown, too');
$chains->ask('COMMIT');
$chains->end;

#
# A long queue: complete, and not by one look for each waiter.
#
my $n = 105;
$chains->start('holder');
$chains->does(holder => 'SELECT pg_advisory_lock(77)');
my $dir = PostgreSQL::Test::Utils::tempdir();
append_to_file("$dir/queue.sql", "SELECT pg_advisory_lock(77);\n");
my $run = IPC::Run::start(
	[
		'pgbench', '--no-vacuum', "--client=$n", '--transactions=1',
		"--file=$dir/queue.sql", $node->connstr('postgres')
	],
	'<', \undef, '>', "$dir/queue.out", '2>&1');
ok($chains->poll("SELECT count(*) = $n FROM pg_locks WHERE NOT granted"),
	"$n wait for one lock");
is( $chains->ask(q{
		SELECT count(*), count(DISTINCT pid), max(depth), max(blocked_count),
			   count(*) FILTER (WHERE root_pid = held_by[1]),
			   sum(cardinality(queued_behind)), count(DISTINCT blocked_count),
			   bool_and(depth = 0 OR blocked_count + cardinality(queued_behind)
						= (SELECT count(*) - 1 FROM pg_locks WHERE NOT granted))
		  FROM pg_waitscope_lock_chains}),
	join('|', $n + 1, $n + 1, 1, $n, $n, $n * ($n - 1) / 2, $n + 1, 't'),
	'all of them stand below the holder, in the order of the queue');
$chains->check('long queue');
$chains->end;
$run->finish;

$node->stop('fast');
done_testing();
