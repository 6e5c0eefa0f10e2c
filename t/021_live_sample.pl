# pg_waitscope_sample(): sampling by the calling backend, without preloading
# and beside the sampler.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Session;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\n");
$node->start;
my $version = $node->safe_psql('postgres', 'SHOW server_version_num');
my $have_ids = $version >= 140000;
$node->append_conf('postgresql.conf', 'compute_query_id = on') if $have_ids;
$node->reload;
$node->safe_psql('postgres', q{
CREATE EXTENSION pg_waitscope;
CREATE ROLE regress_alice LOGIN;
CREATE ROLE regress_bob LOGIN;
});

sub wait_until
{
	my ($session, $condition) = @_;
	my $pid = $session->pid;
	$node->poll_query_until('postgres', qq{
		SELECT count(*) = 1 FROM pg_waitscope_activity
		 WHERE pid = $pid AND ($condition)})
	  or die "never: $condition";
	return;
}

sub start_load
{
	my ($sql, $condition, @params) = @_;
	my $session = Session->new($node, @params);
	$session->send("$sql;\n");
	wait_until($session, $condition);
	return $session;
}

sub end_load
{
	foreach my $session (@_)
	{
		$node->safe_psql('postgres',
			'SELECT pg_cancel_backend(' . $session->pid . ')');
		$session->finish;
		$session->quit;
	}
	return;
}

my $caller = Session->new($node);

# A quiet server: the caller is nobody's load, nor is an idle session.
my $idle = Session->new($node);
my $in_transaction = Session->new($node);
$in_transaction->query('BEGIN');
wait_until($in_transaction, "state = 'idle in transaction'");
is( $caller->query(q{
		SELECT wait_event_type, wait_event, lwlock_mode, datid, queryid,
			   samples, aas, ticks > 0, ticks + ticks_missed >= 20
		  FROM pg_waitscope_sample('200 ms', '10 ms')}),
	'|||||0|0|t|t', 'nothing active: one row that tells so');

# Four sessions sleep and one computes.
my @sleepers = map { start_load('SELECT pg_sleep(600)', "wait_event = 'PgSleep'") }
  1 .. 4;
my $computer = start_load("DO 'BEGIN LOOP END LOOP; END'",
	"state = 'active' AND wait_event IS NULL");
my $database = $node->safe_psql('postgres',
	'SELECT oid FROM pg_database WHERE datname = current_database()');
my %ids;
foreach my $session ($sleepers[0], $computer)
{
	$ids{$session} = $have_ids
	  ? $node->safe_psql('postgres', 'SELECT query_id FROM pg_stat_activity
			WHERE pid = ' . $session->pid)
	  : '';
	isnt($ids{$session}, '', 'the load has query ids') if $have_ids;
}
my @rows = split /\n/, $caller->query(q{
	SELECT wait_event_type, wait_event, lwlock_mode, datid, queryid,
		   samples = ticks * round(aas), round(aas::numeric, 1)
	  FROM pg_waitscope_sample('1 s', '10 ms')
	 WHERE wait_event IN ('PgSleep', 'CPU') ORDER BY wait_event});
is($rows[0], "CPU|CPU||$database|$ids{$computer}|t|1.0",
	'one that computes is one active session');
is($rows[1], "Timeout|PgSleep||$database|$ids{$sleepers[0]}|t|4.0",
	'four that sleep are four');
is($caller->query(q{
		SELECT count(DISTINCT (ticks, ticks_missed)),
			   min(ticks + ticks_missed) >= 10, min(ticks) > 0
		  FROM pg_waitscope_sample(period => '20 ms', duration => '0.2 s')}),
	'1|t|t', 'all rows are of the same ticks');
end_load(@sleepers, $computer);

# What others may see of whom.
@sleepers = (
	start_load('SELECT pg_sleep(600)', "wait_event = 'PgSleep'", user => 'regress_bob'),
	start_load('SELECT pg_sleep(600), 1', "wait_event = 'PgSleep'", user => 'regress_bob'),
	start_load('SELECT pg_sleep(600), 1, 2', "wait_event = 'PgSleep'", user => 'regress_alice'));
my $shown = q{
	SELECT datid IS NULL, queryid IS NULL, round(aas::numeric, 1)
	  FROM pg_waitscope_sample('100 ms', '10 ms')
	 WHERE wait_event = 'PgSleep' ORDER BY aas, datid, queryid};
my $alice = Session->new($node, user => 'regress_alice');
my $no_id = $have_ids ? 'f' : 't';
is($alice->query($shown), "f|$no_id|1.0\nt|t|2.0",
	'database and statement of other roles are not shown');
my $for_all = $have_ids ? "f|f|1.0\nf|f|1.0\nf|f|1.0" : 'f|t|3.0';
is($caller->query($shown), $for_all, 'but to superusers');
$node->safe_psql('postgres', 'GRANT pg_monitor TO regress_alice');
is($alice->query($shown), $for_all, '... and to members of pg_monitor');
$alice->quit;
end_load(@sleepers);

# Cancelled at once, at any period, and nothing is left open.
my $files = 'SELECT count(*) FROM pg_ls_dir(\'/proc/self/fd\')';
my $open = $^O eq 'linux' ? $caller->query($files) : 0;
foreach my $arguments ("'1 h', '10 s'", "'1 h', '1 ms'")
{
	$caller->send("SELECT * FROM pg_waitscope_sample($arguments);\n");
	wait_until($caller, "wait_event_type = 'Extension'");
	$node->safe_psql('postgres',
		'SELECT pg_cancel_backend(' . $caller->pid . ')');
	is($caller->finish, '', "sample($arguments) returns nothing");
	like($caller->errors, qr/canceling statement due to user request/,
		'... when cancelled');
}
$caller->query(q{SET statement_timeout = '50 ms'});
$caller->query(q{SELECT * FROM pg_waitscope_sample('1 h')});
like($caller->errors, qr/canceling statement due to statement timeout/,
	'a statement timeout ends it');
$caller->query('RESET statement_timeout');
SKIP:
{
	skip 'no /proc', 1 unless $^O eq 'linux';
	is($caller->query($files), $open, 'no file is left open');
}

# Arguments that make no sense.
my $duration_range = qr/HINT:  Give an interval from 10 ms to 3600000 ms\./;
my $period_range = qr/HINT:  Give an interval from 0\.1 ms to 1000 ms\./;
foreach my $case (
	[ 'NULL', qr/duration must not be NULL/, $duration_range ],
	[ "'0'", qr/duration of 0 ms is outside the valid range/, $duration_range ],
	[ "'-1 s'", qr/duration of -1000 ms is outside/, $duration_range ],
	[ "'9.999 ms'", qr/duration of 9\.999 ms is outside/, $duration_range ],
	[ "'1 h 1 ms'", qr/duration of 3600001 ms is outside/, $duration_range ],
	[ "'1 month'", qr/duration of 2592000000 ms is outside/, $duration_range ],
	[ "'170000000 years'", qr/duration of .* ms is outside/, $duration_range ],
	[ "'1 s', NULL", qr/period must not be NULL/, $period_range ],
	[ "'1 s', '0'", qr/period of 0 ms is outside the valid range/, $period_range ],
	[ "'1 s', '-10 ms'", qr/period of -10 ms is outside/, $period_range ],
	[ "'1 s', '0.099 ms'", qr/period of 0\.099 ms is outside/, $period_range ],
	[ "'1 s', '1001 ms'", qr/period of 1001 ms is outside/, $period_range ],
	[ "'1 h', '10001 ms'", qr/period of 10001 ms is outside/,
		qr/from 0\.1 ms to 10000 ms\./ ])
{
	my ($arguments, $message, $hint) = @$case;
	my ($rc, $stdout, $stderr) = $node->psql('postgres',
		"\\set VERBOSITY verbose\nSELECT * FROM pg_waitscope_sample($arguments)");
	my $code = $arguments =~ /NULL/ ? '22004' : '22023';
	like($stderr, qr/ERROR:  $code: .*$message/, "sample($arguments) is refused");
	like($stderr, $hint, '... with the range');
}
is($caller->query(q{
		SELECT count(*), min(ticks + ticks_missed) >= 1
		  FROM pg_waitscope_sample('10 ms', '10 ms')}),
	'1|t', 'the shortest of all takes a tick');
$_->quit foreach $caller, $idle, $in_transaction;
$node->stop;

# Where the sampler runs it is a process like others, and nobody's load.
$node->append_conf('postgresql.conf',
	"shared_preload_libraries = 'pg_waitscope'\n");
$node->start;
ok( $node->poll_query_until('postgres', q{
		SELECT state_class = 'background idle' FROM pg_waitscope_activity
		 WHERE backend_type = 'pg_waitscope sampler'}),
	'the sampler is seen in activity');
is( $node->safe_psql('postgres', q{
		SELECT samples FROM pg_waitscope_sample('100 ms', '10 ms')}),
	'0', 'but it is no load');
$node->stop;

done_testing();
