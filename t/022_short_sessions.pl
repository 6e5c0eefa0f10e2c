# Sessions of about 20 ms in a process array of 10000 are counted as often as
# they are there at the sampled instants.  Whether a freed slot goes to the
# head of its free list (before 18) or to the tail must not matter.  So they
# come in bursts, of less than the slots looked at in a list, with pauses in
# which an empty slot is forgotten: each of them is a surprise.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Session;
use Test::More;
use Time::HiRes qw(usleep);

my $bursts = 84;
my $in_burst = 6;
my $pause_us = 100_000;
my $sessions = $bursts * $in_burst;

# Each tick is kept in the history.
my $node = PostgreSQL::Test::Cluster->new('short_sessions');
$node->init;
$node->append_conf('postgresql.conf', q{
shared_preload_libraries = 'pg_waitscope'
pg_waitscope.sample_period = 5
pg_waitscope.history_period = 1
max_connections = 10000
shared_buffers = 16MB
autovacuum = off
jit = off
});
$node->start;
$node->safe_psql('postgres', q{
CREATE EXTENSION pg_waitscope;
CREATE TABLE naps (pid int, began timestamptz, nothing text,
	ended timestamptz);});

# This one sleeps all the time: its samples tell when the ticks were.
my $clock = Session->new($node);
my $clock_pid = $clock->pid;
$clock->send("SELECT pg_sleep(600);\n");
ok( $node->poll_query_until('postgres', "
		SELECT count(*) > 10 FROM pg_waitscope_history
		 WHERE pid = $clock_pid AND wait_event = 'PgSleep'"),
	'it samples');

# The values of a row are worked out from left to right, with nothing between
# them: a new session takes longer to get ready for a statement than the nap.
my $script = PostgreSQL::Test::Utils::tempdir() . '/nap.sql';
append_to_file($script, q{INSERT INTO naps VALUES (pg_backend_pid(),
	clock_timestamp(), pg_sleep(0.02)::text, clock_timestamp());
});
my $failed = 0;
foreach (1 .. $bursts)
{
	$failed++ if system_log('pgbench', '-n', '-C', '-c', $in_burst,
		'-j', $in_burst, '-t', '1', '-f', $script,
		$node->connstr('postgres')) != 0;
	usleep($pause_us);
}
is($failed, 0, "$bursts bursts of $in_burst sessions");
is($node->safe_psql('postgres', 'SELECT count(*) FROM naps'),
	$sessions, 'each session has told how long it slept');
$node->safe_psql('postgres', 'ALTER SYSTEM SET pg_waitscope.sampling = off');
$node->reload;
ok( $node->poll_query_until('postgres',
		'SELECT NOT sampling FROM pg_waitscope_status'),
	'that was all');

# Due and seen, for each session.  A busy machine makes ticks late and naps
# long, but both by the same clock; and it may let a session wait for a CPU
# just before or after the nap, hence any sample within its time is right.
$node->safe_psql('postgres', qq{
CREATE TABLE samples AS
SELECT pid, sampled_at, wait_event FROM pg_waitscope_history;
CREATE TABLE counts AS
SELECT count(*) FILTER (WHERE s.pid = $clock_pid) AS due,
	   count(*) FILTER (WHERE s.pid = naps.pid) AS seen
  FROM naps LEFT JOIN samples s ON sampled_at BETWEEN began AND ended
 GROUP BY naps.pid, began;});
my ($due, $seen, $due_sessions, $seen_sessions) = split /\|/,
  $node->safe_psql('postgres', q{
	SELECT sum(due), sum(seen), count(*) FILTER (WHERE due > 0),
		   count(*) FILTER (WHERE due > 0 AND seen > 0)
	  FROM counts});
cmp_ok($due_sessions, '>', $sessions / 2,
	"$due_sessions of them slept at a sampled instant");
ok(abs($seen / $due - 1) < 0.05, "their samples: $seen of $due");
cmp_ok($seen_sessions, '>=', 0.95 * $due_sessions,
	"their number: $seen_sessions of $due_sessions");
is( $node->safe_psql('postgres', q{
		SELECT samples FROM pg_waitscope_events WHERE wait_event = 'PgSleep'}),
	$node->safe_psql('postgres', q{
		SELECT count(*) FROM samples WHERE wait_event = 'PgSleep'}),
	'the totals have them, too');

$node->stop('fast');
done_testing();
