# Waits for buffers, under the names that the server has for them: up to 18
# the lock of a buffer's content is an LWLock, since 19 it is not.  Its mode
# is shown in any case.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Session;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('buffers');
$node->init;
$node->append_conf('postgresql.conf', q{
shared_preload_libraries = 'pg_waitscope'
pg_waitscope.history_period = 20
autovacuum = off
});
$node->start;
$node->safe_psql('postgres', q{
CREATE EXTENSION pg_waitscope;
CREATE EXTENSION wsc_test_waits;
CREATE TABLE page AS SELECT 1 AS id;
CHECKPOINT;
});
my $version = $node->safe_psql('postgres', 'SHOW server_version_num');
my $new = $version >= 190000;

my $reader = Session->new($node);

sub query
{
	my ($sql) = @_;
	return $reader->ask($sql);
}

# How the holder holds the page, how the waiter wants it; type and name of
# the wait, mode of the content lock.
my @cases = (
	[ 'exclusive', 'shared', $new ? 'Buffer' : 'LWLock',
		$new ? 'BufferShared' : 'BufferContent', 'shared' ],
	[ 'exclusive', 'exclusive', $new ? 'Buffer' : 'LWLock',
		$new ? 'BufferExclusive' : 'BufferContent', 'exclusive' ],
	[ 'shared', 'exclusive', $new ? 'Buffer' : 'LWLock',
		$new ? 'BufferExclusive' : 'BufferContent', 'exclusive' ],
	[ 'pin', 'cleanup', $new ? 'Buffer' : 'BufferPin',
		$new ? 'BufferCleanup' : 'BufferPin', '' ]);
push @cases,
  [ 'share exclusive', 'share exclusive', 'Buffer', 'BufferShareExclusive',
	'share exclusive' ],
  [ 'share exclusive', 'exclusive', 'Buffer', 'BufferExclusive', 'exclusive' ],
  [ 'exclusive', 'share exclusive', 'Buffer', 'BufferShareExclusive',
	'share exclusive' ]
  if $new;

foreach my $case (@cases)
{
	my ($held, $wanted, $type, $event, $mode) = @$case;
	my ($holder, $waiter) = map { Session->new($node) } 1 .. 2;
	my $pid = $waiter->pid;
	my $name = "$wanted wanted, $held held";

	$holder->send("SELECT wsc_test_hold_page('page', '$held');\n");
	$node->poll_query_until('postgres', qq{
		SELECT wait_event = 'Extension' FROM pg_stat_activity
		 WHERE pid = } . $holder->pid) or die 'the page is not held';
	query('SELECT pg_waitscope_reset()');
	$waiter->send("SELECT wsc_test_take_page('page', '$wanted');\n");
	ok( $node->poll_query_until('postgres', qq{
			SELECT count(*) > 2 FROM pg_waitscope_history
			 WHERE pid = $pid AND wait_event = '$event'}),
		"$name: it is sampled");

	is( query(qq{SELECT wait_event_type, wait_event FROM pg_stat_activity
			WHERE pid = $pid}),
		"$type|$event", "$name: the server shows $type/$event");
	my $columns = 'wait_event_type, wait_event, lwlock_mode';
	my $expected = "$type|$event|$mode";
	is( query("SELECT $columns, state_class
			FROM pg_waitscope_activity WHERE pid = $pid"),
		"$expected|foreground", '... so does activity, and the mode');
	is( query("SELECT DISTINCT $columns, state_class
			FROM pg_waitscope_history
			WHERE pid = $pid AND wait_event_type <> 'CPU'"),
		"$expected|foreground", '... and history');
	is( query("SELECT DISTINCT $columns FROM pg_waitscope_profile
			WHERE wait_event = '$event'"),
		$expected, '... and profile');
	is( query("SELECT $columns FROM pg_waitscope_sample('100 ms', '10 ms')
			WHERE wait_event = '$event'"),
		$expected, '... and sample()');
	is( query("SELECT wait_event_type, wait_event FROM pg_waitscope_events
			WHERE wait_event = '$event' AND samples > 0"),
		"$type|$event", '... and events');

	query('SELECT pg_cancel_backend(' . $holder->pid . ')');
	$_->finish foreach $holder, $waiter;
	$_->quit foreach $holder, $waiter;

	# At rest the stores tell the same, and the tranches say which mode.
	$node->poll_query_until('postgres', q{
		SELECT max(ticks) > (SELECT ticks FROM pg_waitscope_status) - 1
		  FROM pg_waitscope_status}) or die 'no sampler';
	my $samples = query(qq{SELECT samples FROM pg_waitscope_events
		WHERE wait_event = '$event'});
	is( query(qq{SELECT sum(samples) FROM pg_waitscope_profile
			WHERE wait_event = '$event'}),
		$samples, "$name: all $samples samples are in the profile");
	my ($shared, $exclusive) =
	  map { $mode eq $_ ? $samples : 0 } qw(shared exclusive);
	is( query(qq{SELECT samples, shared_samples, exclusive_samples,
				until_free_samples, waiting_ticks, waiter_sum, max_waiters
			FROM pg_waitscope_lwlocks WHERE tranche = '$event'}),
		$mode eq '' ? '' : "$samples|$shared|$exclusive|0|$samples|$samples|1",
		$mode eq '' ? '... lwlocks has no pins' : '... in lwlocks by mode');
}

# The server's own list has these names, too.
is( query(q{SELECT count(*) FROM pg_waitscope_events e
		LEFT JOIN pg_wait_events w ON w.type = e.wait_event_type
			AND w.name = e.wait_event
		WHERE w IS NULL AND e.wait_event_type <> 'CPU'}),
	'0', 'pg_wait_events lists all that was seen')
  if $version >= 170000;

# Where nobody provokes it: many insert at the right edge of an index.
$node->safe_psql('postgres',
	'CREATE TABLE edge (id bigserial PRIMARY KEY)');
query('SELECT pg_waitscope_reset()');
my @inserters = map { Session->new($node) } 1 .. 8;
my $insert = "INSERT INTO edge SELECT FROM generate_series(1, 1000000)";
$_->send("$insert;\n") foreach @inserters;
my $tranches = $new
  ? "('BufferShared', 'BufferExclusive', 'BufferShareExclusive')"
  : "('BufferContent')";
ok( $node->poll_query_until('postgres', qq{
		SELECT coalesce(sum(exclusive_samples), 0) > 5
		  FROM pg_waitscope_lwlocks WHERE tranche IN $tranches}),
	'a hot index page is waited for in exclusive mode');
my $all = join ', ', map { $_->pid } @inserters;
query("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE pid IN ($all)");
$_->finish foreach @inserters;
is( query(q{SELECT string_agg(DISTINCT wait_event_type, ' ')
		FROM pg_waitscope_profile WHERE wait_event ~ '^Buffer(Content|Shared|Exclusive|ShareExclusive)$'}),
	$new ? 'Buffer' : 'LWLock', '... under the right type');
is( query(q{SELECT count(*) FROM pg_waitscope_profile
		WHERE wait_event ~ '^Buffer(Content|Shared|Exclusive|ShareExclusive)$'
		  AND lwlock_mode IS NULL}),
	'0', '... and never without a mode');
$_->quit foreach @inserters, $reader;

$node->stop;
done_testing();
