# A hot standby: the processes that exist only there are sampled and shown as
# the server reports them, waits for locks between sessions and replay too,
# and everything that reads or resets works although nothing can be written.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Session;
use Test::More;

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1);
$primary->append_conf('postgresql.conf', q{
shared_preload_libraries = 'pg_waitscope'
pg_waitscope.track_idle = on
autovacuum = off
max_standby_streaming_delay = -1
});
$primary->start;
$primary->safe_psql('postgres', q{
CREATE EXTENSION pg_waitscope;
CREATE ROLE regress_monitor LOGIN IN ROLE pg_monitor;
CREATE TABLE items AS SELECT g AS id FROM generate_series(1, 10) g;
});
$primary->backup('base');

my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;

sub wait_for
{
	my ($condition, $name) = @_;
	ok($standby->poll_query_until('postgres', "SELECT $condition"), $name);
}

sub ask
{
	my ($sql) = @_;
	return $standby->safe_psql('postgres', $sql);
}

wait_for('ticks > 10 FROM pg_waitscope_status', 'it samples on a standby');
is( ask('SELECT degraded FROM pg_waitscope_status'),
	$primary->safe_psql('postgres', 'SELECT degraded FROM pg_waitscope_status'),
	'nothing more is missing than on the primary');

# Everything that pg_stat_activity shows, but for the sessions that look.  The
# two are read one after the other, hence until nothing moves between them.
my $columns = q{pid, backend_type, datid, datname, usesysid, usename,
	nullif(application_name, ''), client_addr, state, wait_event_type,
	wait_event};
my $same = qq{count(*) = 0
	  FROM (WITH ours AS MATERIALIZED (
				SELECT $columns FROM pg_waitscope_activity),
			 servers AS MATERIALIZED (
				SELECT $columns FROM pg_stat_activity)
			((TABLE ours EXCEPT TABLE servers) UNION ALL
			 (TABLE servers EXCEPT TABLE ours))) differences
	 WHERE pid <> pg_backend_pid()};
wait_for($same, 'all processes are as in pg_stat_activity');
wait_for(q{count(*) = 2 FROM pg_waitscope_activity
	 WHERE (backend_type, wait_event_type, wait_event, state_class) IN (
		('startup', 'Activity', 'RecoveryWalStream', 'background idle'),
		('walreceiver', 'Activity', 'WalReceiverMain', 'background idle'))},
	'replay and its receiver wait for the primary');
foreach my $seen ('startup|RecoveryWalStream', 'walreceiver|WalReceiverMain')
{
	my ($type, $event) = split /\|/, $seen;
	wait_for(qq{count(*) > 5 FROM pg_waitscope_history JOIN pg_stat_activity
			  USING (pid, backend_type)
		 WHERE backend_type = '$type' AND state_class = 'background idle'
		   AND pg_waitscope_history.wait_event = '$event'},
		"the $type process is sampled");
}
ok( $primary->poll_query_until('postgres', q{
		SELECT count(*) > 5 FROM pg_waitscope_history
		 WHERE backend_type = 'walsender'
		   AND state_class = 'background idle'
		   AND (wait_event_type, wait_event) = ('Activity', 'WalSenderMain')}),
	'so is the walsender, on the primary');

# Replay that is paused waits for somebody: work, not idleness.
my $paused = q{coalesce(sum(background_samples), 0) FROM pg_waitscope_events
	WHERE wait_event = 'RecoveryPause'};
ask('SELECT pg_wal_replay_pause()');
$primary->safe_psql('postgres', 'INSERT INTO items VALUES (11)');
wait_for("10 < $paused", 'paused replay is counted');
is( ask(q{
		SELECT a.wait_event_type = s.wait_event_type, a.wait_event,
			   a.state_class
		  FROM pg_waitscope_activity a JOIN pg_stat_activity s USING (pid)
		 WHERE a.backend_type = 'startup'}),
	't|RecoveryPause|background work', '... and shown');
ask('SELECT pg_wal_replay_resume()');

# A session waits for replay, which holds the lock of a transaction that goes
# on on the primary.
my $holder = Session->new($primary);
$holder->query('BEGIN; LOCK TABLE items IN ACCESS EXCLUSIVE MODE');
wait_for(q{count(*) = 1 FROM pg_locks
	 WHERE relation = 'items'::regclass AND mode = 'AccessExclusiveLock'},
	'a lock of the primary arrives');
my $reader = Session->new($standby);
my $reader_pid = $reader->pid;
my $startup_pid = ask(q{SELECT pid FROM pg_stat_activity
	WHERE backend_type = 'startup'});
my $lock_columns = q{state_class, wait_event_type, wait_event, locktype,
	relation::regclass, mode, blocked_by};
$reader->send("SELECT count(*) FROM items;\n");
wait_for(qq{count(*) = 1 FROM pg_waitscope_activity
	 WHERE pid = $reader_pid AND blocked_by IS NOT NULL}, 'a session waits for it');
is( ask("SELECT $lock_columns FROM pg_waitscope_activity
		 WHERE pid = $reader_pid"),
	'foreground|Lock|relation|relation|items|AccessShareLock|'
	  . "{$startup_pid}", '... and shows that replay blocks it');
wait_for($same, '... as pg_stat_activity has it');
wait_for(qq{count(*) > 5 FROM pg_waitscope_history
	 WHERE pid = $reader_pid AND wait_event = 'relation'
	   AND lock_relid = 'items'::regclass AND lock_mode = 'AccessShareLock'
	   AND datname = 'postgres' AND state_class = 'foreground'},
	'... and is sampled so');
wait_for(q{samples > 10 FROM pg_waitscope_events WHERE wait_event = 'relation'},
	'... and counted');
is( ask(q{SELECT sum(samples) > 0 FROM pg_waitscope_sample('200 ms', '10 ms')
		 WHERE wait_event = 'relation'}),
	't', '... by sample(), too');
$holder->query('COMMIT');
is($reader->finish, '11', 'it goes on when the primary does');

# A conflict the other way: replay waits for a session.  The server does not
# tell for which one: it looks for what blocks sessions only.
$reader->query('BEGIN; SELECT count(*) FROM items');
$primary->safe_psql('postgres', 'ALTER TABLE items ADD n int');
wait_for(qq{count(*) = 1 FROM pg_waitscope_activity
	 WHERE backend_type = 'startup' AND mode IS NOT NULL},
	'replay waits for a session');
is( ask("SELECT $lock_columns FROM pg_waitscope_activity
		 WHERE backend_type = 'startup'"),
	'background work|Lock|relation|relation|items|AccessExclusiveLock|'
	  . ask("SELECT pg_blocking_pids($startup_pid)"),
	'... and shows for what');
wait_for($same, '... as pg_stat_activity has it');
wait_for(qq{count(*) > 5 FROM pg_waitscope_history
	 WHERE pid = $startup_pid AND wait_event = 'relation'
	   AND lock_relid = 'items'::regclass
	   AND lock_mode = 'AccessExclusiveLock'
	   AND state_class = 'background work'},
	'... and is sampled so');
wait_for(q{background_samples > 10 FROM pg_waitscope_events
	 WHERE wait_event = 'relation'},
	'... and counted');

# While that lasts: nobody else is held up, and everything works.
foreach my $view (qw(summary events history profile lwlocks hot_blocks
		fmlocks status
	stores activity))
{
	my ($rc, $out, $err) =
	  $standby->psql('postgres', "TABLE pg_waitscope_$view",
		extra_params => [ '-U', 'regress_monitor' ]);
	is($rc, 0, "$view can be read on a standby") or diag($err);
}
foreach my $store ('events', 'profile', 'history', 'lwlocks')
{
	my $stats_reset = "SELECT stats_reset FROM pg_waitscope_stores
		WHERE store = '$store'";
	my $before = ask($stats_reset);
	ask("SELECT pg_waitscope_reset('$store')");
	isnt(ask($stats_reset), $before, "$store is reset on a standby");
}
ask('SELECT pg_waitscope_reset()');
wait_for(q{count(*) = 1 FROM pg_waitscope_events
	 WHERE wait_event IN ('relation', 'RecoveryPause')
	   AND background_samples > 0},
	'... and only what happens now is counted');

# The session ends it.
$reader->query('COMMIT');
my $replays = q{count(*) = 1 FROM pg_waitscope_activity
	WHERE backend_type = 'startup' AND wait_event = 'RecoveryWalStream'
	  AND blocked_by IS NULL AND mode IS NULL};
wait_for($replays, 'replay goes on when the session does');
wait_for($same, '... and all is as in pg_stat_activity again');

# Replay ends it.
$standby->append_conf('postgresql.conf', 'max_standby_streaming_delay = 0');
$standby->reload;
wait_for(q{current_setting('max_standby_streaming_delay') = '0'},
	'replay will not wait');
$reader->send("SELECT pg_sleep(600) FROM items;\n");
wait_for(qq{count(*) = 1 FROM pg_waitscope_activity
	 WHERE pid = $reader_pid AND wait_event = 'PgSleep'}, 'a session runs');
$primary->safe_psql('postgres', 'ALTER TABLE items ADD o int');
$reader->finish;
like($reader->errors, qr/conflict with recovery/,
	'it is cancelled for replay');
wait_for("$replays AND EXISTS (
	SELECT FROM pg_waitscope_activity WHERE pid = $reader_pid
	   AND state = 'idle')", '... and both are shown so');

$reader->quit;
$holder->quit;
is(ask('SELECT restarts FROM pg_waitscope_status'),
	'0', 'the sampler went on through all of it');
$standby->stop('fast');
$primary->stop('fast');
done_testing();
