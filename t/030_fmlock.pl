# The own locks under load: exclusion, wakeups, statistics.
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

my @variants = qw(native generic paused);
my $node = start_drivers('fmlock', @variants);

sub query
{
	my ($sql) = @_;
	return $node->safe_psql('postgres', $sql);
}

# Runs a script in so many sessions at once.  After a hang nothing else can
# be tested, and nobody but the postmaster can end the sessions.
sub pgbench
{
	my ($name, $clients, $transactions, $script) = @_;
	my $file = $node->basedir . '/pgbench.sql';

	open my $fh, '>', $file or die "$file: $!";
	print $fh $script;
	close $fh;
	my ($ok, $err) = run_bounded(
		'pgbench', '-n', '-c', $clients, '-j', 2,
		'-t', $transactions, '-f', $file, '-d', $node->connstr('postgres'));
	ok($ok, $name) and return;
	diag($err);
	$node->stop('immediate');
	done_testing();
	exit 1;
}

# Returned and stored values, both orders, both outcomes.
sub test_fetch_mask_add
{
	my ($v) = @_;

	foreach my $form ('acquire', 'full', 'generic acquire', 'generic full')
	{
		is( query(
				qq{
			SELECT string_agg(format('%s %s', returned, stored), ', ' ORDER BY n)
			  FROM (VALUES (1, 5, 0, 3), (2, 5, 2, 3), (3, 5, 4, 3), (4, 5, 6, 3),
						   (5, 4294967295, 0, 1), (6, 2147483648, 2147483648, 1),
						   (7, 1, 2147483648, 2147483648))
				   AS v (n, value, mask, add),
				   $v.fetch_mask_add('$form', value, mask, add)}),
			'5 8, 5 8, 5 5, 5 5, 4294967295 0, 2147483648 2147483648, 1 2147483649',
			"$v: fetch_mask_add, $form");
	}
}

# Workers with and without writers, each of which has to do its share.
sub test_exclusion
{
	my ($v) = @_;

	query(
		'CREATE TABLE done (pid int, reads bigint, writes bigint, torn bigint)'
	);
	pgbench("$v: readers, writers and both come to an end", 8, 6, qq{
		\\set pct 50 * random(0, 2)
		INSERT INTO done SELECT pg_backend_pid(), h.*
		  FROM $v.hammer(500, :pct, 100) AS h;});
	pgbench("$v: so do readers and few writers", 8, 2, qq{
		INSERT INTO done SELECT pg_backend_pid(), h.*
		  FROM $v.hammer(500, 20, 100) AS h;});
	is( query(
			q{SELECT count(*), min(ops) > 0
				FROM (SELECT sum(reads + writes) AS ops
						FROM done GROUP BY pid) AS worker}),
		'16|t',
		"$v: every worker has worked");
	is( query(
			qq{SELECT a = b, t.writes - a, t.torn, t.writes + t.reads,
					  (SELECT sum(writes + reads) FROM done)
				 FROM $v.totals() AS t}),
		't|0|0|32000|32000',
		"$v: nothing lost, nothing torn");
	is( query(
			qq{SELECT mode, gets = CASE mode WHEN 'shared'
						THEN (SELECT sum(reads) FROM done)
						ELSE (SELECT sum(writes) FROM done) END
				 FROM $v.stats WHERE name = '$v' ORDER BY mode}),
		"exclusive|t\nshared|t",
		"$v: gets are those of the workers, who are gone");
	is( query(
			qq{SELECT bool_and(misses = spin_gets + sleeps), sum(sleeps) > 0,
					  bool_and(sleeps = (SELECT sum(n) FROM unnest(histogram) AS n)),
					  bool_and(max_wait_us <= wait_us), sum(wait_us) > 0
				 FROM $v.stats WHERE name = '$v'}),
		't|t|t|t|t',
		"$v: figures of contention agree");
	query('DROP TABLE done');
}

# No wakeup gets lost, whatever happens between two steps of the protocol.
sub test_wakeups
{
	my ($v) = @_;

	foreach my $players (2, 3, 5)
	{
		foreach my $write_pct (100, 50)
		{
			query("SELECT $v.reset_duel()");
			pgbench("$players players, $write_pct % writers: all come back",
				$players, 1, "SELECT $v.duel($players, 200, $write_pct);");
		}
	}
	query("SELECT $v.prefer_writers(true)");
	foreach my $players (3, 5)
	{
		query("SELECT $v.reset_duel()");
		pgbench("$players players, writers first: all come back",
			$players, 1, "SELECT $v.duel($players, 200, 40);");
	}
	query("SELECT $v.prefer_writers(false)");
	is(query("SELECT a = b FROM $v.totals()"),
		't', "$v: players exclude each other");
	is(query("SELECT sum(sleeps) > 0 FROM $v.stats WHERE name = '$v'"),
		't', "$v: players have slept");
}

# A holder, a refusal, a writer and two readers that wait.
sub test_statistics
{
	my ($v) = @_;
	my $stats = qq{
		SELECT gets, misses, spin_gets, sleeps, wait_us > 0, max_wait_us > 0
		  FROM $v.stats WHERE name = '$v' ORDER BY mode};

	query("SELECT $v.reset_stats()");
	is(query($stats), "0|0|0|0|f|f\n0|0|0|0|f|f", "$v: reset");
	query(
		qq{SELECT $v.pairs('fmlock', 'exclusive', 100),
				  $v.pairs('fmlock', 'shared', 70)});
	is(query($stats), "100|0|0|0|f|f\n70|0|0|0|f|f", "$v: uncontended gets");

	pgbench("$v: readers at once", 4, 5, "SELECT $v.pairs('fmlock', 'shared', 20000);");
	is( query(
			qq{SELECT gets FROM $v.stats WHERE name = '$v' AND mode = 'shared'}),
		'400070',
		"$v: none of their gets is lost");
	query("SELECT $v.reset_stats()");

	query("SELECT $v.set_gate(1, false)");
	my $holder = start_session($node, 'holder',
		"SELECT $v.hold('exclusive', 1, 'release')");
	$node->poll_query_until(
		'postgres', qq{SELECT gets = 1 FROM $v.stats
						WHERE name = '$v' AND mode = 'exclusive'})
	  or die 'no holder';
	is(query("SELECT $v.try('shared')"), 'f', "$v: refused beside a writer");
	my @waiters = map {
		start_session($node, 'waiter', "SELECT $v.hold('$_', 0, 'release')")
	} qw(exclusive shared shared);
	ok( $node->poll_query_until(
			'postgres', qq{
			SELECT count(*) = 3 FROM pg_stat_activity
			 WHERE wait_event_type = 'LWLock' AND wait_event = '$v'}),
		"$v: waits are shown by name");
	query("SELECT $v.set_gate(1, true)");
	is((finish_session($_))[1], '', "$v: a session ends")
	  foreach $holder, @waiters;
	is(query($stats), "2|1|0|1|t|t\n2|3|0|2|t|t",
		"$v: refusals and sleeps are counted");
	query("SELECT $v.reset_stats()");
	is(query($stats), "0|0|0|0|f|f\n0|0|0|0|f|f",
		"$v: reset, the maximum too");
}

# How often the lock was got, by writers and by readers.
sub gets
{
	my ($v) = @_;
	return query(
		qq{SELECT string_agg(gets::text, ' ' ORDER BY mode)
			 FROM $v.stats WHERE name = '$v'});
}

sub wait_for_sleepers
{
	my ($v, $count) = @_;
	ok( $node->poll_query_until(
			'postgres', qq{
			SELECT count(*) = $count FROM pg_stat_activity
			 WHERE wait_event_type = 'LWLock' AND wait_event = '$v'}),
		"$v: $count wait");
}

# A reader inside, a writer that waits: do other readers get in before it?
sub test_overtaking
{
	my ($v, $preferred) = @_;
	my $what = $preferred ? 'writers first' : 'no preference';

	query("SELECT $v.prefer_writers($preferred = 1), $v.reset_stats()");
	query("SELECT $v.set_gate($_, false)") foreach 1 .. 2;
	my $reader = start_session($node, 'reader',
		"SELECT $v.hold('shared', 1, 'release')");
	$node->poll_query_until('postgres',
		qq{SELECT sum(gets) = 1 FROM $v.stats WHERE name = '$v'})
	  or die 'no reader';
	my $writer = start_session($node, 'writer',
		"SELECT $v.hold('exclusive', 2, 'release')");
	wait_for_sleepers($v, 1);
	is( query("SELECT $v.try('shared')"),
		$preferred ? 'f' : 't',
		"$v, $what: a reader that does not wait");
	query("SELECT $v.reset_stats()");

	my @readers = map {
		start_session($node, 'late', "SELECT $v.hold('shared', 0, 'release')")
	} 1 .. 3;
	if ($preferred)
	{
		wait_for_sleepers($v, 4);
	}
	else
	{
		$node->poll_query_until('postgres',
			qq{SELECT sum(gets) = 3 FROM $v.stats WHERE name = '$v'})
		  or die 'readers do not come';
	}
	query("SELECT $v.set_gate(1, true)");
	$node->poll_query_until('postgres',
		qq{SELECT gets = 1 FROM $v.stats
			WHERE name = '$v' AND mode = 'exclusive'})
	  or die 'the writer does not come';
	is(gets($v), $preferred ? '1 0' : '1 3',
		"$v, $what: readers before the writer");
	query("SELECT $v.set_gate(2, true)");
	is((finish_session($_))[1], '', "$v, $what: a session ends")
	  foreach $reader, $writer, @readers;
	is(gets($v), '1 3', "$v, $what: all have had it");
	query("SELECT $v.prefer_writers(false)");
}

# Readers whose sections overlap, so that the lock is never free by itself;
# each of several writers at once gets in.
sub test_writers_among_readers
{
	my ($v) = @_;

	query("SELECT $v.prefer_writers(true), $v.reset_stats()");
	query("SELECT $v.set_gate(1, false)");
	my @readers = map {
		start_session($node, 'reader', "SELECT $v.read_on(1)")
	} 1 .. 4;
	$node->poll_query_until('postgres',
		qq{SELECT sum(gets) > 100 FROM $v.stats WHERE name = '$v'})
	  or die 'readers do not come';
	pgbench("$v: writers get in among readers without a gap, $_",
		4, 1, "SELECT $v.hold('exclusive', 0, 'release');") foreach 1 .. 5;
	query("SELECT $v.set_gate(1, true)");
	is((finish_session($_))[1], '', "$v: a reader ends") foreach @readers;
	query("SELECT $v.prefer_writers(false)");
}

# Names registered while the server runs.
sub test_registry
{
	my ($v) = @_;
	my $count = query("SELECT $v.count_stats()");

	is( query(
			qq{SELECT $v.register('late') = $count,
					  $v.register('late') = $count,
					  $v.count_stats() = $count + 1}),
		't|t|t',
		"$v: one entry for a name");
	my ($rc, $out, $err) = $node->psql('postgres',
		"SELECT $v.register('late' || n) FROM generate_series(1, 40) AS n");
	like($err, qr/cannot register lock "late\d+"/, "$v: registry is full");
	is(query("SELECT count(*), count(DISTINCT name) FROM $v.stats"),
		'64|32', "$v: and stays usable");
}

foreach my $variant (qw(native generic))
{
	my $v = "fmlock_$variant";

	test_fetch_mask_add($v);
	test_exclusion($v);
	test_statistics($v);
	test_overtaking($v, $_) foreach 0, 1;
	test_writers_among_readers($v);
	test_registry($v);
}
test_wakeups('fmlock_paused');

$node->stop;
done_testing();
