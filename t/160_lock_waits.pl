# Waits for heavyweight locks of known lengths: each is counted once, in its
# row, with its length and its end; what is going on shows; rows that have to
# make room lose nothing.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Session;
use Test::More;
use Time::HiRes qw(sleep);

my $period = 10;

my $node = PostgreSQL::Test::Cluster->new('lock_waits');
$node->init;
$node->append_conf('postgresql.conf', q{
shared_preload_libraries = 'pg_waitscope'
autovacuum = off
deadlock_timeout = 1s
max_locks_per_transaction = 128
});
$node->start;
$node->safe_psql('postgres', q{
CREATE EXTENSION pg_waitscope;
CREATE TABLE row_lock (id int PRIMARY KEY, n int);
INSERT INTO row_lock VALUES (1, 0), (2, 0);
CREATE TABLE table_lock ();
CREATE TABLE truth (ms float8);
CREATE FUNCTION measure(what text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	began timestamptz := clock_timestamp();
BEGIN
	EXECUTE what;
	INSERT INTO truth
		SELECT 1000 * extract(epoch FROM clock_timestamp() - began);
END $$;
});

my $reader = Session->new($node);
my ($holder, $first, $waiter) = map { Session->new($node) } 1 .. 3;

sub query
{
	my ($sql) = @_;
	return $reader->ask($sql);
}

# A process that waits for such a lock, seen by the sampler.
sub await_waiting
{
	my ($where, $n) = @_;
	$reader->poll("SELECT coalesce(sum(waiting), 0) = $n
		FROM pg_waitscope_lock_waits WHERE $where")
	  or die "$n waiting where $where: not seen";
	return;
}

# Per type: what holds the lock, what waits for it, the row it belongs to.
my $update = 'UPDATE row_lock SET n = n + 1 WHERE id = 1';
my %types = (
	advisory => [ 'SELECT pg_advisory_xact_lock(7)', 'SELECT pg_advisory_xact_lock(7)',
		q{locktype = 'advisory' AND relid IS NULL AND mode = 'ExclusiveLock'} ],
	relation => [ 'LOCK TABLE table_lock IN ACCESS EXCLUSIVE MODE',
		'LOCK TABLE table_lock IN SHARE MODE',
		q{locktype = 'relation' AND relation = 'table_lock'::regclass
			AND mode = 'ShareLock'} ],
	transactionid => [ $update, $update,
		q{locktype = 'transactionid' AND datid IS NULL AND mode = 'ShareLock'} ],
	tuple => [ $update, $update,
		q{locktype = 'tuple' AND relation = 'row_lock'::regclass
			AND mode = 'ExclusiveLock'} ]);

# Lengths in ms and how many waits of each.
my @lengths = ([ 30, 5 ], [ 100, 5 ], [ 400, 3 ], [ 1500, 1 ]);

sub missed
{
	return query('SELECT ticks_missed FROM pg_waitscope_status');
}

# One wait of that type and length; returns how far off its length is, in ms.
sub wait_once
{
	my ($type, $ms) = @_;
	my ($hold, $want, $row) = @{ $types{$type} };

	query('TRUNCATE truth');
	my $last = query('SELECT count(*) FROM pg_waitscope_lock_wait_history');
	$holder->ask('BEGIN');
	$holder->ask($hold);
	if ($type eq 'tuple')
	{
		$first->send("$want;\n");
		await_waiting(q{locktype = 'transactionid'}, 1);
	}
	$waiter->send("SELECT measure('$want');\n");
	my $began = Time::HiRes::time();
	await_waiting($row, 1);
	my $left = $ms / 1000 - (Time::HiRes::time() - $began);
	sleep $left if $left > 0;
	$holder->ask('COMMIT');
	$_->finish foreach $waiter, $first;
	await_waiting('true', 0);
	return query('SELECT (SELECT sum(wait_time) FROM (
				SELECT * FROM pg_waitscope_lock_wait_history OFFSET ' . $last . ') h
			WHERE pid = ' . $waiter->pid . ') - ms FROM truth');
}

sub median
{
	my @sorted = sort { $a <=> $b } @_;
	return $sorted[ @sorted / 2 ];
}

my %waits;
foreach my $type (sort keys %types)
{
	my $row = $types{$type}[2];

	query(q{SELECT pg_waitscope_reset('lock_waits')});
	foreach (@lengths, $type eq 'advisory' ? [ 5000, 1 ] : ())
	{
		my ($ms, $n) = @$_;
		my $missed = missed();
		my @errors = map { wait_once($type, $ms) } 1 .. $n;
		my $bound = 2 * $period + (missed() - $missed) * $period;

		$waits{$type} += $n;
		# One wait alone may be off by as long as its process got no CPU.
		$bound += 100 if $n < 3;
		cmp_ok(abs median(@errors), '<=', $bound,
			"$type, $n times $ms ms: length known to $bound ms");
		note "$type, $ms ms: off by @errors";
	}
	is(query("SELECT waits, given_up FROM pg_waitscope_lock_waits WHERE $row"),
		"$waits{$type}|0", "$type: each wait is counted once");
	is( query("SELECT (SELECT sum(n) FROM unnest(histogram) n) = waits,
			histogram[12], wait_time >= max_wait_time,
			max_wait_time BETWEEN 1400 AND 60000, max_waiting, waiting
			FROM pg_waitscope_lock_waits WHERE $row"),
		't|1|t|t|1|0', '... in its class, and with the longest one');
	is( query("SELECT abs(est_time / wait_time - 1) < 0.5 AND samples > 0
			AND last_seen > now() - interval '1 min'
			FROM pg_waitscope_lock_waits WHERE $row"),
		't', '... with about as much time by samples');
}
is( query(q{SELECT DISTINCT outcome FROM pg_waitscope_lock_wait_history
		WHERE pid = } . $waiter->pid . q{ AND locktype <> 'tuple'}),
	'granted', 'all were granted');
is( query(q{SELECT count(*) FROM pg_waitscope_lock_wait_history h
		WHERE pid = } . $waiter->pid . q{ AND locktype = 'relation'
		AND lock_datid = datid AND datname = 'postgres' AND usename = current_user
		AND lock_relid = 'table_lock'::regclass AND relation = lock_relid::regclass
		AND mode = 'ShareLock' AND started_at > now() - interval '5 min'}),
	$waits{relation}, 'the history has who waited for what');

# Those of 19 and later count what was granted after deadlock_timeout.
if (query('SHOW server_version_num') >= 190000)
{
	is( query(q{SELECT string_agg(locktype || ' ' || waits, ', ' ORDER BY locktype)
			FROM pg_stat_lock WHERE waits > 0
			AND locktype IN ('advisory', 'relation', 'tuple')}),
		'advisory 2, relation 1, tuple 1',
		'pg_stat_lock has the same, of those beyond deadlock_timeout');
}

# Ends of other kinds.
sub last_outcome
{
	my ($session) = @_;
	await_waiting('true', 0);
	return query('SELECT outcome FROM (SELECT row_number() OVER () AS i, *
		FROM pg_waitscope_lock_wait_history) h
		WHERE pid = ' . $session->pid . ' ORDER BY i DESC LIMIT 1');
}

query(q{SELECT pg_waitscope_reset('lock_waits')});
$holder->ask('BEGIN');
$holder->ask('LOCK TABLE table_lock');
$waiter->query(q{SET lock_timeout = '200ms'});
$waiter->query('SELECT * FROM table_lock');
like($waiter->errors, qr/lock timeout/, 'a lock timeout');
is(last_outcome($waiter), 'given up', '... is a wait given up');
$waiter->query('RESET lock_timeout');
$waiter->send("SELECT * FROM table_lock;\n");
await_waiting(q{locktype = 'relation'}, 1);
query('SELECT pg_cancel_backend(' . $waiter->pid . ')');
$waiter->finish;
like($waiter->errors, qr/canceling/, 'a cancelled query');
is(last_outcome($waiter), 'given up', '... is a wait given up');
is( query(q{SELECT waits, given_up, mode FROM pg_waitscope_lock_waits}),
	'2|2|AccessShareLock', '... and counted as such');
my $ending = Session->new($node);
$ending->send("SELECT * FROM table_lock;\n");
await_waiting(q{locktype = 'relation'}, 1);
query('SELECT pg_terminate_backend(' . $ending->pid . ')');
await_waiting('true', 0);
is( query('SELECT count(*) FROM pg_waitscope_lock_wait_history WHERE pid = '
		  . $ending->pid),
	1, 'a wait ends with its process');
$holder->ask('COMMIT');
eval { $ending->quit };

# A deadlock: the victim gave up, the survivor got its lock.
$_->ask('BEGIN') foreach $first, $waiter;
$first->ask('UPDATE row_lock SET n = 1 WHERE id = 1');
$waiter->ask('UPDATE row_lock SET n = 1 WHERE id = 2');
$first->send("UPDATE row_lock SET n = 2 WHERE id = 2;\n");
await_waiting(q{locktype = 'transactionid'}, 1);
$waiter->query('UPDATE row_lock SET n = 2 WHERE id = 1');
$first->finish;
my ($victim, $survivor) = ($waiter, $first);
my %errors = map { $_ => $_->errors } $first, $waiter;
($victim, $survivor) = ($first, $waiter) if $errors{$first} =~ /deadlock/;
like($errors{$victim}, qr/deadlock detected/, 'a deadlock');
is(last_outcome($victim), 'given up', '... its victim gave up');
is(last_outcome($survivor), 'granted', '... its survivor was granted the lock');
$_->query('ROLLBACK') foreach $first, $waiter;
$_->errors foreach $first, $waiter;

# What goes on is counted; a new sampler goes on with it.
query(q{SELECT pg_waitscope_reset()});
$holder->ask('BEGIN');
$holder->ask('SELECT pg_advisory_xact_lock(7)');
$_->send("SELECT pg_advisory_xact_lock(7);\n") foreach $first, $waiter;
await_waiting(q{locktype = 'advisory'}, 2);
my $sampler = query('SELECT sampler_pid FROM pg_waitscope_status');
query("SELECT pg_terminate_backend($sampler)");
$reader->poll("SELECT sampler_pid <> $sampler FROM pg_waitscope_status")
  or die 'no new sampler';
my $seen = query('SELECT sum(samples) FROM pg_waitscope_lock_waits');
$reader->poll("SELECT sum(samples) > $seen FROM pg_waitscope_lock_waits")
  or die 'it does not sample';
is(query('SELECT sum(waits), sum(waiting), max(max_waiting) FROM pg_waitscope_lock_waits'),
	'0|2|2', 'what goes on has not ended, whatever the sampler does');
is(query('SELECT count(*) FROM pg_waitscope_lock_wait_history'),
	0, '... and a reset empties the history');
$holder->ask('COMMIT');
$_->finish foreach $first, $waiter;
await_waiting('true', 0);
is( query(q{SELECT waits, max_wait_time >= 900 AND wait_time >= 2 * 900
		FROM pg_waitscope_lock_waits}),
	'2|t', '... and is one wait of its whole length');
is( query(q{SELECT count(*), count(*) FILTER (WHERE wait_time >= 900)
		FROM pg_waitscope_lock_wait_history}),
	'2|2', '... in the history, too');

# Of another database only numbers are known; dropped, there is no name.
query('CREATE DATABASE other');
my ($other_holder, $other_waiter) =
  map { Session->new($node, database => 'other') } 1, 2;
$other_holder->ask('CREATE TABLE far ()');
$other_holder->ask('BEGIN');
$other_holder->ask('LOCK TABLE far');
$other_waiter->send("SELECT * FROM far;\n");
await_waiting(q{datname = 'other' AND relation IS NULL AND relid > 0}, 1);
$other_holder->ask('COMMIT');
$other_waiter->finish;
$_->quit foreach $other_holder, $other_waiter;
query('DROP DATABASE other');
is( query(q{SELECT datid > 0, datname, relation FROM pg_waitscope_lock_waits
		WHERE locktype = 'relation' AND relid > 0}),
	't||', 'a relation of a database that was dropped keeps its numbers');

# More relations than rows: nothing is lost of those that make room.
query(q{ALTER SYSTEM SET pg_waitscope.sample_period = 1});
query('SELECT pg_reload_conf()');
$reader->poll('SELECT period = 1 FROM pg_waitscope_status') or die 'period';
query(q{DO $$ BEGIN
	FOR i IN 1 .. 600 LOOP EXECUTE format('CREATE TABLE many_%s ()', i); END LOOP;
END $$});
$holder->ask('BEGIN');
$holder->ask(q{DO $$ BEGIN
	FOR i IN 1 .. 600 LOOP EXECUTE format('LOCK TABLE many_%s', i); END LOOP;
END $$});
query(q{SELECT pg_waitscope_reset()});
$waiter->ask(q{SET lock_timeout = '8ms'});
$waiter->ask(q{DO $$ BEGIN
	FOR i IN 1 .. 600 LOOP
		BEGIN
			EXECUTE format('LOCK TABLE many_%s IN SHARE MODE', i);
		EXCEPTION WHEN lock_not_available THEN NULL;
		END;
	END LOOP;
END $$});
await_waiting('true', 0);
$holder->ask('ROLLBACK');
my ($entries, $evictions) = split /\|/,
  query(q{SELECT entries, evictions FROM pg_waitscope_stores WHERE store = 'lock_waits'});
is($entries, 512, 'a full table stays full');
cmp_ok($evictions, '>', 50, '... and rows make room');
is( query(q{SELECT waits = samples_of.evictions, waits > 0,
			(SELECT sum(waits) FROM pg_waitscope_lock_waits) =
			(SELECT count(*) FROM pg_waitscope_lock_wait_history),
			(SELECT bool_and((SELECT sum(n) FROM unnest(histogram) n) = waits)
				FROM pg_waitscope_lock_waits)
		FROM pg_waitscope_lock_waits,
			(SELECT evictions FROM pg_waitscope_stores WHERE store = 'lock_waits') samples_of
		WHERE locktype IS NULL}),
	't|t|t|t', '... for the row of all others, which has their waits');

done_testing();
