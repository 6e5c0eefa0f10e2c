# pg_waitscope_lock_chains on a standby: replay that waits for sessions there
# and holds up others, as far as the server shows it.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use Chains;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Session;
use Test::More;

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1);
$primary->append_conf('postgresql.conf', q{
autovacuum = off
max_standby_streaming_delay = -1
deadlock_timeout = 10min
});
$primary->start;
$primary->safe_psql('postgres', q{
CREATE EXTENSION pg_waitscope;
CREATE TABLE account AS SELECT g AS id FROM generate_series(1, 100) g;
CREATE TABLE fleeting AS SELECT g AS id FROM generate_series(1, 100) g;
});
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;
$primary->wait_for_catchup($standby);

my $chains = Chains->new($standby);
$chains->start(qw(holder reader));

# Replay waits for a lock, and a session waits for replay.
$chains->does(holder => 'BEGIN', 'SELECT count(*) FROM account');
$primary->safe_psql('postgres',
	'BEGIN; LOCK TABLE account IN ACCESS EXCLUSIVE MODE; COMMIT');
my $row = q{SELECT depth, root_pid, blocked_count, held_by, queued_behind,
	locktype, relation, mode, blocker_mode, state, wait_event_type
	FROM pg_waitscope_lock_chains WHERE backend_type = 'startup'};
ok($chains->poll(q{SELECT count(*) = 1 FROM pg_waitscope_lock_chains
		WHERE backend_type = 'startup' AND wait_event_type = 'Lock'}),
	'replay waits for a lock');
$chains->waits_otherwise(reader => 'SELECT count(*) FROM account');
ok( $chains->poll('SELECT count(*) = 1 FROM pg_locks
		WHERE NOT granted AND pid = ' . $chains->pid('reader')),
	'a session waits for replay');
is( $chains->names($row),
	'1|holder|1|{holder}|{}|relation|account|AccessExclusiveLock|'
	  . 'AccessShareLock||Lock',
	'replay stands below whom it waits for');
my $startup = $chains->ask(q{SELECT pid FROM pg_waitscope_lock_chains
	WHERE backend_type = 'startup'});
is( $chains->names(q{SELECT depth, root_pid, held_by, queued_behind
		FROM pg_waitscope_lock_chains WHERE pid = } . $chains->pid('reader')),
	"2|holder|{}|{$startup}", 'and below it who is queued behind it');
is($chains->ask('SELECT pg_blocking_pids(' . $chains->pid('reader') . ')'),
	"{$startup}", '... as pg_blocking_pids() has it');
is( $chains->names(q{SELECT state, blocked_count, held_by
		FROM pg_waitscope_lock_chains WHERE depth = 0}),
	'idle in transaction|2|', 'on top is the session to look at');

# Replay has the lock, as on the primary.
my $locker = Session->new($primary);
$locker->query('BEGIN; LOCK TABLE account IN ACCESS EXCLUSIVE MODE');
$primary->safe_psql('postgres', 'SELECT pg_switch_wal()');
$chains->does(holder => 'COMMIT');
$chains->does(reader => undef);
ok( $chains->poll(q{SELECT count(*) = 1 FROM pg_locks
		WHERE granted AND mode = 'AccessExclusiveLock'
		  AND relation = 'account'::regclass}),
	'replay holds a lock');
$chains->waits_otherwise(reader => 'SELECT count(*) FROM account');
ok( $chains->poll('SELECT count(*) = 1 FROM pg_locks
		WHERE NOT granted AND pid = ' . $chains->pid('reader')),
	'a session waits for it');
is( $chains->names(q{SELECT backend_type, blocked_count
		FROM pg_waitscope_lock_chains WHERE depth = 0}),
	'startup|1', 'it is the root');
is( $chains->names(q{SELECT tree, held_by FROM pg_waitscope_lock_chains
		WHERE depth = 1}),
	"  reader|{$startup}", 'the session is below it');
$locker->query('COMMIT');
$chains->does(reader => undef);

# Replay waits for a snapshot to go: nobody says whose.
$chains->does(
	holder => 'BEGIN ISOLATION LEVEL REPEATABLE READ',
	'SELECT count(*) FROM account');
$primary->safe_psql('postgres', $_)
  foreach 'DELETE FROM fleeting', 'VACUUM fleeting';
ok( $chains->poll(q{SELECT count(*) = 1 FROM pg_waitscope_lock_chains
		WHERE backend_type = 'startup' AND depth = 0
		  AND wait_event = 'RecoveryConflictSnapshot'
		  AND num_nonnulls(held_by, queued_behind, locktype, mode) = 0
		  AND blocked_count = 0 AND root_pid = pid}),
	'replay waits for something else: by whom it is held up is NULL');
$chains->does(holder => 'COMMIT');
$primary->wait_for_catchup($standby);
is($chains->ask('SELECT count(*) FROM pg_waitscope_lock_chains'),
	'0', 'nobody waits any more');
$chains->end;

$standby->stop('fast');
$primary->stop('fast');
done_testing();
