# Lengths of waits, estimated from samples in a row, against waits of known
# lengths; waits that follow each other; resets while waits go on.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Session;
use Test::More;
use Time::HiRes qw(usleep);

my $node = PostgreSQL::Test::Cluster->new('wait_lengths');
$node->init;
$node->append_conf('postgresql.conf', q{
shared_preload_libraries = 'pg_waitscope'
autovacuum = off
});
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION pg_waitscope');

my $reader = Session->new($node);
my $sleeper = Session->new($node);
my $row = q{FROM pg_waitscope_wait_lengths
	WHERE wait_event_type = 'Timeout' AND wait_event = 'PgSleep'};

sub query
{
	my ($sql) = @_;
	return $reader->ask($sql);
}

# Until the sampler has been there three times more.
sub let_tick
{
	my $ticks = query('SELECT ticks FROM pg_waitscope_status');
	$reader->poll("SELECT ticks > $ticks + 3 FROM pg_waitscope_status")
	  or die 'it does not sample';
	return;
}

sub reset_lengths
{
	query(q{SELECT pg_waitscope_reset('wait_lengths')});
	return;
}

# Length in ms, how many, the classes that a period more or less leads to.
my @cases = ([ 50, 12, '6:7' ], [ 400, 4, '9:9' ], [ 1500, 2, '11:11' ]);

foreach my $case (@cases)
{
	my ($ms, $n, $classes) = @$case;
	my ($low, $high) = map { $_ + 1 } split /:/, $classes;
	my $slept = 0;

	let_tick();
	reset_lengths();
	my $missed = query('SELECT ticks_missed FROM pg_waitscope_status');
	foreach (1 .. $n)
	{
		my $took = $sleeper->ask("SELECT pg_sleep($ms / 1000.0)::text ||
			1000 * extract(epoch FROM clock_timestamp() - statement_timestamp())");
		$slept += $took;
		let_tick();
	}
	$missed = query('SELECT ticks_missed FROM pg_waitscope_status') - $missed;
	my ($runs, $time, $longest, $in_classes, $sum) = split /\|/, query(
		"SELECT runs, est_time, max_est_time,
			(SELECT sum(c) FROM unnest(histogram[$low:$high]) c),
			(SELECT sum(c) FROM unnest(histogram) c) $row");
	is($sum, $runs, "$ms ms: each run is in a class");

	# Without the CPU the sampler sees nothing.
	cmp_ok($runs, '<=', $n, "... $runs of $n runs");
	cmp_ok($runs, '>=', $n - $missed, "... all, but for $missed missed ticks");
	cmp_ok(abs($time - $slept), '<=', $n * 10 + 10 * $missed,
		"... $time ms of $slept ms");
	cmp_ok($in_classes, '>=', $n - $missed, '... in the right classes')
	  or diag(query("SELECT histogram $row"));
	cmp_ok($longest, '>=', $time / $runs, '... the longest one is no shorter');
}

# Many short ones without a pause are one long one, and do not add up to more
# than there was.
let_tick();
reset_lengths();
$sleeper->ask(q{DO $$ BEGIN
	FOR i IN 1 .. 400 LOOP PERFORM pg_sleep(0.001); END LOOP; END $$});
let_tick();
is( query("SELECT runs BETWEEN 1 AND 60, est_time < 5000 $row"),
	't|t', 'short waits in a row make few runs');

# A reset begins anew with what goes on.
reset_lengths();
$sleeper->send("SELECT pg_sleep(1);\n");
usleep(600_000);
reset_lengths();
is(query("SELECT count(*) $row"), '0', 'a reset empties it');
$sleeper->finish;
let_tick();
is(query("SELECT runs, est_time BETWEEN 1 AND 900 $row"),
	'1|t', '... and the rest of a wait that goes on is counted from there');
is( query(q{SELECT count(*) FROM pg_waitscope_wait_lengths
		WHERE wait_event_type = 'CPU'}),
	'0', 'running is no wait');

done_testing();
