# The views under a known load: they agree with each other, with
# pg_stat_activity and with pg_locks.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Session;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('views');
$node->init;
$node->append_conf('postgresql.conf', q{
shared_preload_libraries = 'pg_waitscope'
pg_waitscope.history_period = 20
});
$node->start;
$node->safe_psql('postgres', q{
CREATE EXTENSION pg_waitscope;
CREATE TABLE account AS SELECT 1 AS id;
});

my $reader = Session->new($node);

sub query
{
	my ($sql) = @_;
	return $reader->ask($sql);
}

sub wait_for
{
	my ($condition, $name) = @_;
	ok($node->poll_query_until('postgres', "SELECT $condition"), $name)
	  or BAIL_OUT("no use going on: $name");
}

# As by ALTER SYSTEM, in effect when it returns.
sub set_sampling
{
	my ($value) = @_;
	$node->safe_psql('postgres',
		"ALTER SYSTEM SET pg_waitscope.sampling = $value");
	$node->reload;
	wait_for("sampling = '$value' FROM pg_waitscope_status",
		"sampling is $value");
}

# 13 has no query ids: their columns are NULL, and the status says so.
my $have_ids =
  $node->safe_psql('postgres', 'SHOW server_version_num') >= 140000;
my $always = $have_ids ? '' : 'query_ids_unavailable: '
  . 'Servers compute query identifiers from PostgreSQL 14 on.';
my $degraded = q{coalesce(array_to_string(degraded, E'\n'), '')
	FROM pg_waitscope_status};
is(query("SELECT $degraded"), $always, 'nothing else is missing');

# Four sessions sleep.  The windows fill up to exactly that.
my @sleepers = map { Session->new($node) } 1 .. 4;
$_->send("SELECT pg_sleep(600);\n") foreach @sleepers;
wait_for(q{aas_10s BETWEEN 3.8 AND 4.2 FROM pg_waitscope_summary
	WHERE wait_event = 'PgSleep'}, 'four active sessions within ten seconds');

my $queryid = '';
if ($have_ids)
{
	$queryid = query('SELECT query_id FROM pg_stat_activity WHERE pid = '
		  . $sleepers[0]->pid);
	isnt($queryid, '', 'there is a query id');
}
is( query(q{SELECT wait_event_type, top_queryid FROM pg_waitscope_summary
		WHERE wait_event = 'PgSleep'}),
	"Timeout|$queryid", 'and whose statement it is');

# The summary is for eyes.
my @summary = map { [ split /\|/, $_, -1 ] }
  split /\n/, query('TABLE pg_waitscope_summary');
is("$summary[0][0]|$summary[0][1]", 'total|', 'the total stands first');
is($summary[1][1], 'PgSleep', 'the biggest comes next');
is( scalar(grep { !grep { $_ ne '' && $_ ne '0.00' } @$_[2 .. 5] }
		@summary[1 .. $#summary]),
	0, 'no row shows nothing but 0.00');
is( scalar(grep { $_ ne '' && !/^\d+\.\d\d$/ } map { @$_[2 .. 5] } @summary),
	0, 'two decimals');
cmp_ok($summary[0][2], '>=', $summary[1][2], 'nothing is above the total');
is($summary[0][5], '', 'a window that is not half covered is not shown');
my ($ret, $table) = $node->psql('postgres',
	'SELECT wait_event_type, wait_event, aas_10s, aas_1m, aas_5m, aas_15m,
			pct_1m FROM pg_waitscope_summary',
	extra_params => [ '-P', 'format=aligned', '-P', 'tuples_only=off' ]);
cmp_ok(length((split /\n/, $table)[0]),
	'<', 80, 'without query ids it is less than 80 characters wide');

# Exporters: counters never go back, nor do rows go away.
query('CREATE TEMP TABLE earlier AS SELECT * FROM pg_waitscope_events');
my $ticks = query('SELECT ticks FROM pg_waitscope_status');
wait_for("ticks > $ticks + 20 FROM pg_waitscope_status", 'time passes');
is( query(q{SELECT count(*) FROM earlier a
		LEFT JOIN pg_waitscope_events b USING (wait_event_type, wait_event)
		WHERE (b.samples >= a.samples AND b.est_time >= a.est_time
			   AND b.background_samples >= a.background_samples
			   AND b.background_time >= a.background_time
			   AND b.stats_reset = a.stats_reset
			   AND b.epoch = a.epoch) IS NOT TRUE}),
	'0', 'counters are monotonic');
is( query(q{SELECT b.samples > a.samples AND b.est_time > a.est_time
		FROM earlier a JOIN pg_waitscope_events b
			 USING (wait_event_type, wait_event)
		WHERE wait_event = 'PgSleep'}),
	't', 'and count on');

# A row lock: the waiter shows what it waits for.
my ($holder, $waiter) = map { Session->new($node) } 1 .. 2;
$holder->query('BEGIN');
$holder->query('LOCK TABLE account IN SHARE MODE');
$waiter->send("UPDATE account SET id = 2;\n");
wait_for(q{count(*) > 2 FROM pg_waitscope_history WHERE locktype IS NOT NULL},
	'the lock wait is seen');
is( query(q{SELECT DISTINCT pid, wait_event_type, wait_event, locktype,
			lock_datid, lock_relid::regclass, lock_mode, state_class,
			backend_type
		FROM pg_waitscope_history WHERE locktype IS NOT NULL}),
	query(q{SELECT pid, 'Lock', 'relation', locktype, database,
			relation::regclass, mode, 'foreground', 'client backend'
		FROM pg_locks WHERE NOT granted}),
	'as pg_locks shows it');
is( query('SELECT DISTINCT state_class, queryid FROM pg_waitscope_history
		WHERE pid = ' . $holder->pid . " AND state_class ~ 'idle'"),
	'idle in transaction|', 'its holder does nothing, and runs no query');
$holder->query('ROLLBACK');
$waiter->finish;

# Once nothing changes any more the stores must tell the same.
set_sampling('off');
is( query(q{SELECT wait_event_type, wait_event, samples + background_samples,
			round(est_time + background_time)
		FROM pg_waitscope_events ORDER BY wait_event_type, wait_event}),
	query(q{SELECT wait_event_type, wait_event, sum(samples),
			round(sum(est_time))
		FROM pg_waitscope_profile GROUP BY wait_event_type, wait_event
		ORDER BY wait_event_type, wait_event}),
	'events and profile add up to the same');
is( query(q{SELECT abs(sum(h.weight_time) / (SELECT est_time
				FROM pg_waitscope_events WHERE wait_event = 'PgSleep') - 1) < 0.05
		FROM pg_waitscope_history h WHERE wait_event = 'PgSleep'}),
	't', 'the history weighs the same');
is( query(q{SELECT round(sum(est_time) / 4) <= round(max(s.covered_time))
		FROM pg_waitscope_profile, pg_waitscope_status s
		WHERE wait_event = 'PgSleep'}),
	't', 'no session sleeps longer than time was covered');
is( query(q{SELECT string_agg(DISTINCT queryid::text, ' ')
		FROM pg_waitscope_profile WHERE wait_event = 'PgSleep'}),
	$queryid, 'the profile has the query id');
is( query(q{SELECT count(*) FROM pg_waitscope_profile
		WHERE first_seen > last_seen OR samples <= 0 OR est_time <= 0
		   OR pid IS NOT NULL}),
	'0', 'bounds of the profile');
is( query(q{SELECT count(*) FROM pg_waitscope_lwlocks
		WHERE shared_samples + exclusive_samples + until_free_samples > samples
		   OR waiter_sum <> samples OR max_waiters > waiter_sum
		   OR waiting_ticks > waiter_sum
		   OR num_nonnulls(exact_sleeps, exact_time, exact_max_time,
						   exact_histogram) > 0}),
	'0', 'bounds of the lwlocks');
is( query(q{SELECT count(*) FROM pg_waitscope_fmlocks
		WHERE misses < spin_gets + sleeps OR max_wait_time > wait_time
		   OR sleeps <> (SELECT sum(n) FROM unnest(histogram) AS n)}),
	'0', 'bounds of the fmlocks');
is( query(q{SELECT string_agg(mode, ' ' ORDER BY mode)
		FROM pg_waitscope_fmlocks WHERE name ~ 'event' AND gets > 0}),
	'exclusive shared', 'the names of events were read and learned');
is( query(q{SELECT s.bytes FROM pg_waitscope_stores s
		ORDER BY s.store COLLATE "C"}),
	query(q{SELECT a.size FROM pg_waitscope_stores s
		JOIN pg_shmem_allocations a
			 ON translate(a.name, ' ', '_') = 'pg_waitscope_' || CASE s.store
				WHEN 'fmlocks' THEN 'locks' ELSE s.store END
		ORDER BY s.store COLLATE "C"}),
	'bytes are those of pg_shmem_allocations');
like(query("SELECT $degraded"), qr/^sampling_off: [^\n]*\.\n?\Q$always\E$/,
	'the status says that sampling is off');
set_sampling('on');

# What else the status says.
sub degraded_with
{
	my ($setting, $word, $name) = @_;
	$node->safe_psql('postgres', "ALTER SYSTEM SET $setting");
	$node->reload;
	wait_for("EXISTS (SELECT 1 FROM pg_waitscope_status, unnest(degraded) AS d
		WHERE d ~ '^${word}: .*[.]\$')", $name);
	$setting =~ s/ = .*//;
	$node->safe_psql('postgres', "ALTER SYSTEM RESET $setting");
	$node->reload;
	wait_for("'$always' = $degraded", '... and no longer');
}
degraded_with('compute_query_id = off', 'query_ids_unavailable',
	'the status misses query ids')
  if $have_ids;
degraded_with('track_activities = off', 'track_activities_off',
	'the status misses states');

# A stopped sampler: all views answer, and a reset has happened on return.
my $sampler = query('SELECT sampler_pid FROM pg_waitscope_status');
kill 'STOP', $sampler or die "could not stop the sampler";
query('SELECT pg_waitscope_reset()');
is(query("SELECT count(*) FROM pg_waitscope_$_"),
	'0', "$_ is empty after a reset while the sampler is stopped")
  foreach qw(history profile events lwlocks hot_blocks);
is(query(q{SELECT string_agg(store, ' ') FROM pg_waitscope_stores
		WHERE entries > 0 AND store <> 'fmlocks'}),
	'', 'no store holds anything');
is(query('SELECT aas_10s, top_queryid FROM pg_waitscope_summary'),
	'|', 'the summary knows nothing');
wait_for(q{EXISTS (SELECT 1 FROM pg_waitscope_status, unnest(degraded) AS d
	WHERE d ~ '^(sampler_stalled|sampler_status_unreadable): ')},
	'the status says that the sampler stands still');
kill 'CONT', $sampler;
wait_for("sum(samples) > 20 FROM pg_waitscope_profile
	WHERE wait_event = 'PgSleep'", 'it counts on');
is( query('SELECT count(*) FROM pg_waitscope_profile, pg_waitscope_stores
		WHERE store = \'profile\' AND first_seen < stats_reset'),
	'0', 'from the reset on');

$node->stop('immediate');
done_testing();
