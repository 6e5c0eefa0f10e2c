# Which single LWLock has the queue, in which mode: forced waits for locks of
# each kind in the main array, sums that agree with the other stores, queues
# that change all the time, and a layout that is not what is expected.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Session;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('instances');
$node->init;
$node->append_conf('postgresql.conf', q{
shared_preload_libraries = 'pg_waitscope, wsc_test_waits'
autovacuum = off
});
$node->start;
$node->safe_psql('postgres', q{
CREATE EXTENSION pg_waitscope;
CREATE EXTENSION wsc_test_waits;
});

# While a partition of the lock manager is held, nobody may connect, or look
# at anything that is shared between databases: that takes locks, too.
my $reader = Session->new($node);
my ($holder, $other_holder) = map { Session->new($node) } 1, 2;
my @waiters = map { Session->new($node) } 1 .. 5;

sub query
{
	my ($sql) = @_;
	return $reader->ask($sql);
}

sub configure
{
	my ($setting, $value, $condition) = @_;
	query("ALTER SYSTEM SET pg_waitscope.$setting = $value");
	query('SELECT pg_reload_conf()');
	$reader->poll("SELECT $condition FROM pg_waitscope_status")
	  or die "$setting = $value has no effect";
	return;
}

sub cancel
{
	query('SELECT pg_cancel_backend(' . $_->pid . ')') foreach @_;
	$_->finish foreach @_;
	$_->errors foreach @_;
	return;
}

sub hold
{
	my ($session, $tranche, $index, $mode) = @_;
	$session->send("SELECT wsc_test_hold_lock('$tranche', $index, '$mode');\n");
	$reader->poll(q{SELECT wait_event = 'Extension' FROM pg_stat_get_activity(}
		  . $session->pid . ')') or die "$tranche $index is not held";
	return;
}

# Lets sessions wait, and waits until all of them do.
sub let_wait
{
	my ($tranche, $index, $mode, @sessions) = @_;
	$_->send("SELECT wsc_test_take_lock('$tranche', $index, '$mode');\n")
	  foreach @sessions;
	my $pids = join ', ', map { $_->pid } @sessions;
	$reader->poll("SELECT count(*) = " . scalar(@sessions) . "
		FROM pg_stat_get_activity(NULL)
		WHERE pid IN ($pids) AND wait_event = '$tranche'")
	  or die "nobody waits for $tranche $index";
	return;
}

my $columns = q{lock_index, samples = shared_samples AS shared,
	samples = exclusive_samples AS exclusive, max_waiters};

# Lock, how it is held, how it is wanted.
my @cases = (
	[ 'LockManager', 7, 'shared', 'exclusive' ],
	[ 'LockManager', 0, 'shared', 'exclusive' ],
	[ 'BufferMapping', 127, 'shared', 'exclusive' ],
	[ 'PredicateLockManager', 3, 'exclusive', 'shared' ],
	[ 'PredicateLockManager', 15, 'exclusive', 'exclusive' ],
	[ 'BtreeVacuum', 0, 'exclusive', 'shared' ],
	[ 'WscTestNamed', 0, 'shared', 'exclusive' ],
	[ 'WscTestNamed', 5, 'exclusive', 'shared' ],
	[ 'WscTestSecond', 1, 'exclusive', 'exclusive' ]);

foreach my $case (@cases)
{
	my ($tranche, $index, $held, $wanted) = @$case;
	my $name = "$tranche $index, $wanted wanted";
	my $n = @waiters;
	my $mode = $wanted eq 'shared' ? 't|f' : 'f|t';

	hold($holder, $tranche, $index, $held);
	let_wait($tranche, $index, $wanted, @waiters);
	query('SELECT pg_waitscope_reset()');
	ok( $reader->poll("SELECT coalesce(sum(samples), 0) >= 10 * $n
			FROM pg_waitscope_lwlocks WHERE tranche = '$tranche'"),
		"$name: it is sampled");
	is( query("SELECT $columns FROM pg_waitscope_lwlock_instances
			WHERE tranche = '$tranche'"),
		"$index|$mode|$n", '... as this lock, in this mode, with its queue');
	is( query("SELECT est_time >= 10 * samples AND last_seen > now() - interval '1 min'
			FROM pg_waitscope_lwlock_instances WHERE tranche = '$tranche'"),
		't', '... with the time, now');
	is( query("SELECT DISTINCT pg_waitscope_lwlock_mode_name(lwlock_mode_code)
			FROM pg_waitscope_get_profile()
			WHERE pg_waitscope_event_name(event_id) = '$tranche'"),
		$wanted, '... and no other mode in the profile');
	is( query("SELECT samples = shared_samples, samples = exclusive_samples
			FROM pg_waitscope_lwlocks WHERE tranche = '$tranche'"),
		$mode, '... nor in lwlocks');
	cancel($holder);
	$_->finish foreach @waiters;
}

# Two queues of one tranche at a time.
hold($holder, 'WscTestNamed', 2, 'exclusive');
hold($other_holder, 'WscTestNamed', 6, 'exclusive');
let_wait('WscTestNamed', 2, 'exclusive', @waiters[ 0 .. 2 ]);
let_wait('WscTestNamed', 6, 'shared', @waiters[ 3 .. 4 ]);
query('SELECT pg_waitscope_reset()');
my $samples = q{SELECT coalesce(sum(samples), 0) >= 20
	FROM pg_waitscope_%s WHERE tranche = 'WscTestNamed'};
$reader->poll(sprintf $samples, 'lwlocks') or die 'not sampled';
is( query("SELECT $columns FROM pg_waitscope_lwlock_instances
		WHERE tranche = 'WscTestNamed' ORDER BY lock_index"),
	"2|f|t|3\n6|t|f|2", 'two queues of a tranche are told apart');

# Without the walk there is nothing but the tranche.
configure('lwlock_instances', 'off', 'true');
my $count;
for (1 .. 100)    # the sampler takes the setting over when it next wakes up
{
	query('SELECT pg_waitscope_reset()');
	$reader->poll(sprintf $samples, 'lwlocks') or die 'not sampled';
	$count = query('SELECT count(*) FROM pg_waitscope_lwlock_instances');
	last if $count == 0;
}
is($count, '0', 'off: no single lock is counted');
is(query("SELECT $Session::missing FROM pg_waitscope_status"),
	'0', '... which is as wanted');
configure('lwlock_instances', 'on', 'true');
ok($reader->poll(sprintf $samples, 'lwlock_instances'), 'on: they are again');
cancel($holder, $other_holder);
$_->finish foreach @waiters;

# Not the layout that we know: nothing is said about single locks.
sub restart_sampler
{
	my $pid = query('SELECT sampler_pid FROM pg_waitscope_status');
	query("SELECT pg_terminate_backend($pid)");
	$reader->poll("SELECT sampler_pid <> $pid FROM pg_waitscope_status")
	  or die 'no sampler';
	return;
}
my $own_tranche =
  query(q{SELECT wsc_test_set_tranche('PredicateLockManager', 3, 5)});
restart_sampler();
like( query("SELECT array_to_string(degraded, ' ') FROM pg_waitscope_status"),
	qr/lwlock_instances_unavailable: [^:]+: the lock at position \d+ of the main array is of tranche 5, not $own_tranche\./,
	'another layout is noticed, and said');
query('SELECT pg_waitscope_reset()');
hold($holder, 'WscTestNamed', 2, 'exclusive');
let_wait('WscTestNamed', 2, 'exclusive', @waiters);
$reader->poll(sprintf $samples, 'lwlocks') or die 'not sampled';
is(query('SELECT count(*) FROM pg_waitscope_lwlock_instances'),
	'0', '... and no single lock is counted then');
cancel($holder);
$_->finish foreach @waiters;
query(qq{SELECT wsc_test_set_tranche('PredicateLockManager', 3, $own_tranche)});
restart_sampler();
is(query("SELECT $Session::missing FROM pg_waitscope_status"),
	'0', 'with the right layout nothing is missing');
is(query('SELECT degraded FROM pg_waitscope_status WHERE degraded::text ~ \'lwlock\''),
	'', '... least of all this');

# Queues that change all the time, many looks at them; sessions and tables
# that come and go.
my $sampler = query('SELECT sampler_pid, restarts FROM pg_waitscope_status');
configure('sample_period', '0.2', 'period = 0.2');
query('SELECT pg_waitscope_reset()');
push @waiters, map { Session->new($node) } 1 .. 5;
foreach my $i (0 .. $#waiters)
{
	my $args = (
		"'WscTestNamed', 8, 'exclusive'", "'WscTestNamed', 4, 'exclusive'",
		"'WscTestNamed', 8, 'shared'",    "'LockManager', 16, 'exclusive'",
		"'BufferMapping', 128, 'exclusive'")[ $i % 5 ];
	$waiters[$i]->send("SELECT wsc_test_hammer_locks($args);\n");
}
for my $round (1 .. 10)
{
	$node->safe_psql('postgres',
		'CREATE TABLE gone (id int PRIMARY KEY); INSERT INTO gone VALUES (1); DROP TABLE gone');
}
$node->safe_psql('postgres', 'CREATE DATABASE gone');
$node->safe_psql('postgres', 'DROP DATABASE gone');
ok( $reader->poll(q{SELECT sum(samples) > 1000 FROM pg_waitscope_lwlocks
		WHERE tranche = 'WscTestNamed'}),
	'many waits for locks that change hands');
configure('sampling', 'off', 'NOT sampling');
cancel(@waiters);
is(query('SELECT sampler_pid, restarts FROM pg_waitscope_status'),
	$sampler, 'the sampler did not notice');

my $tranches = q{('WscTestNamed', 'LockManager', 'BufferMapping')};
my $lwlocks = query(qq{SELECT tranche, samples, shared_samples,
		exclusive_samples, round(est_time)
	FROM pg_waitscope_lwlocks WHERE tranche IN $tranches ORDER BY 1});
isnt($lwlocks, '', 'there are sums to compare');
is( query(qq{SELECT tranche, sum(samples), sum(shared_samples),
			sum(exclusive_samples), round(sum(est_time))
		FROM pg_waitscope_lwlock_instances WHERE tranche IN $tranches
		GROUP BY 1 ORDER BY 1}),
	$lwlocks, 'single locks add up to their tranche');
is( query(qq{SELECT wait_event, sum(samples),
			sum(CASE lwlock_mode WHEN 'shared' THEN samples ELSE 0 END),
			sum(CASE lwlock_mode WHEN 'exclusive' THEN samples ELSE 0 END),
			round(sum(est_time))
		FROM pg_waitscope_profile WHERE wait_event IN $tranches
		GROUP BY 1 ORDER BY 1}),
	$lwlocks, '... and so does the profile');
is( query(qq{SELECT wait_event, samples + background_samples,
			round(est_time + background_time)
		FROM pg_waitscope_events WHERE wait_event IN $tranches ORDER BY 1}),
	join("\n", map { s/^([^|]+\|\d+)\|\d+\|\d+/$1/r } split /\n/, $lwlocks),
	'... and events');
is( query(q{SELECT count(*) FROM pg_waitscope_lwlock_instances
		WHERE lock_index < 0
		   OR lock_index > CASE tranche WHEN 'WscTestNamed' THEN 7
				WHEN 'WscTestSecond' THEN 1 WHEN 'LockManager' THEN 15
				WHEN 'PredicateLockManager' THEN 15
				WHEN 'BufferMapping' THEN 127 ELSE 0 END
		   OR samples < shared_samples + exclusive_samples
		   OR max_waiters NOT BETWEEN 1 AND 10 OR samples < max_waiters}),
	'0', 'bounds of the rows');
cmp_ok(
	query(q{SELECT count(DISTINCT lock_index) FROM pg_waitscope_lwlock_instances
		WHERE tranche = 'WscTestNamed'}),
	'==', 8, 'each lock was seen');
note query(q{SELECT tranche, sum(samples) AS samples, round(100.0 *
		sum(samples) FILTER (WHERE lock_index IS NOT NULL) / sum(samples), 1)
		AS pct_found, count(lock_index) AS locks
	FROM pg_waitscope_lwlock_instances GROUP BY 1 ORDER BY 2 DESC});

$_->quit foreach @waiters, $holder, $other_holder, $reader;
$node->stop;
done_testing();
