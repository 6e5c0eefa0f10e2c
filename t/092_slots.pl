# The process array as each server version lays it out: which slots new
# processes take, which belong to whom, what stays behind when one ends.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Session;
use Test::More;
use Time::HiRes qw(usleep);

# More slots for autovacuum than for all else.  Since 18 these are counted by
# a setting of their own.
my $node = PostgreSQL::Test::Cluster->new('slots');
$node->init;
$node->append_conf('postgresql.conf', q{
shared_preload_libraries = 'pg_waitscope'
max_connections = 12
autovacuum_naptime = 1d
max_wal_senders = 3
max_worker_processes = 5
wal_level = replica
archive_mode = on
archive_command = 'true'
});
$node->start;
my $version = $node->safe_psql('postgres', 'SHOW server_version_num');
$node->append_conf('postgresql.conf',
	($version >= 180000 ? 'autovacuum_worker_slots' : 'autovacuum_max_workers')
	. ' = 64');
$node->append_conf('postgresql.conf', 'summarize_wal = on')
  if $version >= 170000;
$node->restart;
$node->safe_psql('postgres', q{
CREATE EXTENSION pg_waitscope;
CREATE EXTENSION wsc_test_scan;
CREATE TABLE items AS SELECT i AS id FROM generate_series(1, 1000) AS i;
ALTER TABLE items SET (parallel_workers = 2);
ANALYZE items;
});

my $session = Session->new($node);

sub query
{
	my ($sql) = @_;
	return $session->ask($sql);
}

sub setting
{
	return query("SELECT current_setting('$_[0]')::int");
}

# Memory is asked for before the server has counted its processes.
my ($slots, $auxiliary, $max_procs) =
  split /\|/, query('SELECT * FROM wsc_test_slots()');
is($max_procs, $slots, "memory is asked for all $slots slots");
my %sizes = (
	0 => setting('max_connections'),
	# The launcher, and since 17 a process to keep replication slots, too.
	1 => $auxiliary - setting('max_connections') -
	  setting('max_worker_processes') - setting('max_wal_senders'),
	2 => setting('max_worker_processes'),
	3 => setting('max_wal_senders'));
ok($sizes{1} > 64 && $sizes{1} <= 66,
	"$sizes{1} of them are for autovacuum");

# Each slot of a kind is either on the free list of its kind or in use; no
# list has one of another kind.  Processes that start or end are on neither
# for a moment.
my $first = 0;
foreach my $list (0 .. 3)
{
	my $end = $first + $sizes{$list};
	my $wrong = qq{
		WITH free AS (SELECT slot FROM wsc_test_free_slots($list)),
			 used AS (SELECT slot FROM wsc_test_used_slots()
					   WHERE slot >= $first AND slot < $end)
		SELECT array_agg(slot)
		  FROM generate_series($first, $end - 1) AS expected
		  FULL JOIN (TABLE free UNION ALL TABLE used) AS found(slot)
			   ON slot = expected
		 WHERE slot IS NULL OR expected IS NULL};
	my $doubles = qq{
		SELECT count(*) - count(DISTINCT slot) FROM wsc_test_free_slots($list)};
	ok( $node->poll_query_until('postgres',
			"SELECT ($wrong) IS NULL AND ($doubles) = 0"),
		"free list $list and the slots in use make $sizes{$list} slots");
	$first = $end;
}
is($first, $auxiliary, 'and these are all but auxiliary processes');

# New processes take the slots in the order in which we see them.
sub first_free
{
	my ($list, $n) = @_;
	return query("SELECT string_agg(slot::text, ' ' ORDER BY place)
		FROM wsc_test_free_slots($list) WHERE place <= $n");
}

sub slots_of
{
	return join ' ', map {
		query("SELECT slot FROM wsc_test_used_slots() WHERE pid = $_")
	} @_;
}

# Whoever connected before is gone, and its slot is on the list again.
sub wait_alone
{
	for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		return if query("SELECT (SELECT count(*) FROM wsc_test_used_slots()
				WHERE slot < $sizes{0}) = 1
			AND (SELECT count(*) FROM wsc_test_free_slots(0)) =
				$sizes{0} - 1") eq 't';
	}
	die 'sessions do not end';
}

foreach my $round (1 .. 3)
{
	wait_alone();
	my $expected = first_free(0, 3);
	my @others = map { Session->new($node) } 1 .. 3;
	is(slots_of(map { $_->pid } @others),
		$expected, "round $round: sessions take slots $expected");
	$_->quit foreach @others;
}

# Also a walsender, and background workers, of which either may be faster.
my $expected = first_free(3, 1);
my $walsender = Session->new($node, replication => 'database');
is(slots_of($walsender->pid), $expected, "a walsender takes slot $expected");
$walsender->quit;

my $leader = Session->new($node);
$leader->query(q{SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;
	SET min_parallel_table_scan_size = 0;
	SET parallel_leader_participation = off});
$expected = join ' ', sort split / /, first_free(2, 2);
$leader->send("SELECT count(*) FROM items WHERE pg_sleep(600) IS NOT NULL;\n");
my $of_leader = 'FROM pg_waitscope_activity WHERE leader_pid = ' . $leader->pid;
$node->poll_query_until('postgres', "SELECT count(*) = 2 $of_leader")
  or die 'no parallel workers';
is( join(' ', sort split / /, slots_of(split /\n/, query("SELECT pid $of_leader"))),
	$expected, "background workers take slots $expected");
query('SELECT pg_cancel_backend(' . $leader->pid . ')');
$leader->finish;
$leader->quit;

# Every process in a slot has its own status entry, auxiliary ones, too.
my @types = ('checkpointer', 'background writer', 'walwriter',
	'autovacuum launcher', 'logical replication launcher',
	'pg_waitscope sampler', 'pg_waitscope keeper', 'client backend');
push @types, 'archiver' if $version >= 140000;
push @types, 'walsummarizer' if $version >= 170000;
push @types, 'io worker' if $version >= 180000;
ok( $node->poll_query_until('postgres',
		"SELECT count(DISTINCT backend_type) = " . @types . " FROM
			pg_waitscope_activity WHERE backend_type IN ('"
		  . join("', '", @types) . "')"),
	'all kinds of processes: ' . join(', ', @types));
ok( $node->poll_query_until('postgres', q{
		SELECT count(*) = 0
		  FROM wsc_test_used_slots() u
		  LEFT JOIN pg_waitscope_activity a USING (pid)
		  LEFT JOIN pg_stat_activity s USING (pid)
		 WHERE (a.backend_type, a.datid, a.usesysid) IS DISTINCT FROM
			   (s.backend_type, s.datid, s.usesysid)
			OR a.backend_type IS NULL}),
	'each with the status that pg_stat_activity has');
is(query(qq{SELECT count(*) > 0 FROM wsc_test_used_slots() u
		JOIN pg_stat_activity s USING (pid)
		WHERE u.slot >= $auxiliary AND s.backend_type = 'checkpointer'}),
	't', 'auxiliary processes have the last slots');

# What ends leaves a slot that is nobody's, whatever pid it keeps.
$walsender = Session->new($node, replication => 'database');
my @ended = ($walsender, map { Session->new($node) } 1 .. 3);
my $pids = join ', ', map { $_->pid } @ended;
is(query("SELECT count(*) FROM pg_waitscope_activity WHERE pid IN ($pids)"),
	'4', 'they are seen while they live');
$_->quit foreach @ended;
$node->poll_query_until('postgres', qq{
	SELECT count(*) = 0 FROM wsc_test_used_slots() WHERE pid IN ($pids)})
  or die 'they do not end';
is(query("SELECT count(*) FROM pg_waitscope_activity WHERE pid IN ($pids)"),
	'0', 'not afterwards');

# Sessions come and go; lists that change never lead out of the array.
my $script = PostgreSQL::Test::Utils::tempdir() . '/storm.sql';
append_to_file($script, "SELECT 1;\n");
my ($out, $err) = ('', '');
my $storm = IPC::Run::start(
	[ 'pgbench', '-n', '-C', '-c', '4', '-t', '50', '-f', $script,
		'-d', $node->connstr('postgres') ],
	'<', '/dev/null', '>', \$out, '2>', \$err);
my ($looks, $outside) = (0, 0);
do
{
	$outside += query(qq{
		SELECT count(*) FROM generate_series(0, 3) AS list,
			   wsc_test_free_slots(list)
		 WHERE slot NOT BETWEEN 0 AND $slots - 1});
	$looks++;
	usleep(10_000);
	$storm->pump_nb;
} while $storm->pumpable;
ok($storm->finish, 'a storm of connections') or diag $err;
is($outside, 0, "no slot outside of the array in $looks looks");
is(query("SELECT $Session::missing, restarts FROM pg_waitscope_status"),
	'0|0', 'the sampler is well');

$session->quit;
$node->stop;
done_testing();
