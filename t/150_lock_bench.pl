# pg_waitscope_lock_bench(): every variant runs and keeps its word, wrong
# arguments are refused, and whatever ends a call leaves nothing behind.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Session;
use Test::More;
use Time::HiRes qw(usleep);

my $workers = 12;
my @variants = qw(rmw lwlock spinlock tas tas_test tas_hint cas cas_test
  cas_llsc cas_lse fmlock fmlock_writers fm_generic fm_native fm_reread fm_optimistic
  fm_futex pthread_rwlock);
my $all = '{' . join(',', @variants) . '}';

# Segments that are files can be counted.
my $node = PostgreSQL::Test::Cluster->new('lock_bench');
$node->init(allows_streaming => 1);
$node->append_conf('postgresql.conf', qq{
shared_preload_libraries = 'pg_waitscope'
max_worker_processes = $workers
dynamic_shared_memory_type = mmap
autovacuum = off
restart_after_crash = on
});
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION pg_waitscope');

sub query
{
	my ($sql) = @_;
	my ($ret, $out, $err) = $node->psql('postgres', $sql);
	die "$sql: $err" if $ret != 0;
	return $out;
}

sub bench
{
	my ($columns, $args) = @_;
	return query("SELECT $columns FROM pg_waitscope_lock_bench($args)");
}

# What is left of calls: workers, files of segments.
my $benchers = q{FROM pg_stat_activity
	WHERE backend_type = 'pg_waitscope lock_bench'};

sub remains
{
	my $dir = $node->data_dir . '/pg_dynshmem';
	opendir my $dh, $dir or die "$dir: $!";
	return join ' ', query("SELECT count(*) $benchers"),
	  sort grep { /^mmap/ } readdir $dh;
}

# Nothing of the sampler's or the server's making comes and goes: read after
# a first call, since the server may keep a segment of its own then.
bench('count(*)', "'{fmlock}', '{1}', '{0}', '10 ms', 1");
my $clean = remains();
like($clean, qr/^0( |$)/, 'no worker is left after a call');

# Every variant alone, two at a time, and more than there are CPUs.  On a busy
# machine the workers may get no CPU for the whole of a short slice.
my $idle = 1;
for (my $ms = 20; $idle && $ms <= 640; $ms *= 2)
{
	my $slices = "'$all', '{1,2,4}', '{0,50,100}', '$ms ms', 2";

	query("DROP TABLE IF EXISTS figures; CREATE TABLE figures AS
		SELECT * FROM pg_waitscope_lock_bench($slices)");
	$idle = query('SELECT count(*) FROM figures WHERE min_ops_per_sec = 0');
}
is(remains(), $clean, 'nothing is left');
is( query('SELECT string_agg(variant, \',\' ORDER BY n) FROM (
		SELECT variant, row_number() OVER () AS n FROM figures
		 WHERE clients = 2 AND write_pct = 50) f'),
	join(',', @variants),
	'a row of each variant, in the order asked for');
is( query('SELECT string_agg(DISTINCT clients || \'/\' || write_pct, \' \')
		FROM figures'),
	'1/0 1/100 1/50 2/0 2/100 2/50 4/0 4/100 4/50',
	'... for all clients and shares of writes');
is( query('SELECT count(*) FROM figures
		WHERE (reason IS NULL) <> (ops_per_sec IS NOT NULL)
		   OR reason IS NOT NULL AND num_nonnulls(min_ops_per_sec,
				max_ops_per_sec, ratio_to_lwlock, cpu_time, p50_wait_us,
				p99_wait_us, max_wait_us, fairness, lost, torn, cpu_share) > 0'),
	'0',
	'figures or a reason');
like( query('SELECT string_agg(DISTINCT variant, \' \') FROM figures
		WHERE reason IS NOT NULL'),
	qr/^(cas_llsc |cas_lse |tas_hint|fm_futex ?|fm_native ?)*$/,
	'only variants of certain CPUs do not run');
is( query('SELECT DISTINCT variant, clients, write_pct FROM figures
		WHERE NOT min_ops_per_sec > 0'),
	'', 'every variant that runs does something in each slice');
is( query('SELECT variant, clients, write_pct, lost, torn FROM figures
		WHERE reason IS NULL AND (lost <> 0 OR torn <> 0
			OR (lost IS NULL OR torn IS NULL) <> (variant = \'rmw\'))'),
	'', '... loses and tears nothing; of what guards nothing that is not said');
is( query('SELECT variant, clients, write_pct FROM figures
		WHERE reason IS NULL AND NOT (min_ops_per_sec <= ops_per_sec
			AND ops_per_sec <= max_ops_per_sec AND ratio_to_lwlock > 0
			AND fairness BETWEEN 0 AND 1 AND cpu_time > 0 AND cpu_share > 0
			AND coalesce(p50_wait_us <= p99_wait_us
				AND p99_wait_us <= max_wait_us, true)
			AND (clients > 1 OR fairness = 1)
			AND (variant <> \'lwlock\' OR ratio_to_lwlock = 1))'),
	'', '... and the figures agree with each other');

# The same holds for a single worker.
$idle = 'all';
for (my $ms = 100; $idle ne '' && $ms <= 3200; $ms *= 2)
{
	$idle = bench("string_agg(variant, ' ') FILTER (WHERE fairness = 0)",
		"'$all', '{4}', '{20}', '$ms ms', 1, 10, 1000");
}
is($idle, '', 'each worker does something');

is( bench('count(*), count(ratio_to_lwlock)',
		"'{fmlock,fmlock}', '{2,1}', '{0}', '10 ms', 1"),
	'4|0', 'a variant twice, no lwlock: no ratio');
is( query("SELECT array_agg(DISTINCT clients ORDER BY clients) FROM
		pg_waitscope_lock_bench('{rmw}', NULL, '{0}', '10 ms', 1)"
	) =~ /^\{1(,\d+)*\}$/ ? 1 : 0,
	1, 'clients that are not given are chosen');
is( query("SELECT mode, gets > 0 FROM pg_waitscope_fmlocks
		WHERE name = 'pg_waitscope_lock_bench' ORDER BY mode"),
	"exclusive|t\nshared|t", 'the lock is among those of the extension');
is( query('SELECT count(*) = 4 * count(DISTINCT clients),
		bool_and(lwlock > 0 AND fmlock > 0 AND ratio > 0 AND spinlock > 0
			AND rmw > 0 AND cpu_share > 0)
		FROM pg_waitscope_lock_bench_pivot'),
	't|t', 'the pivot has a row for clients and share of writes');
is(remains(), $clean, 'nothing is left');

# What is refused, and what is said of it.
my $known = join ', ', @variants;
foreach (
	[ "'{lwlock,mutex}'", qr/there is no lock variant "mutex"\n.*The variants are $known\.$/ ],
	[ "'{}'",                   qr/variants must not be empty\n.*'\{lwlock,fmlock\}'\.$/ ],
	[ 'NULL',                   qr/variants must not be NULL\n.*'\{lwlock,fmlock\}'\.$/ ],
	[ "'{lwlock,NULL}'",        qr/variants must not contain NULL\n.*'\{lwlock,fmlock\}'\.$/ ],
	[ "clients => '{{1,2}}'",   qr/clients must have one dimension, not 2\n.*'\{1,2\}'\.$/ ],
	[ "clients => '{}'",        qr/clients must not be empty\n.*'\{1,2\}'\.$/ ],
	[ "clients => '{1,NULL}'",  qr/clients must not contain NULL\n.*'\{1,2\}'\.$/ ],
	[ "clients => '{0}'",
		qr/clients of 0 is outside.*\n.*from 1 to $workers, the setting of "max_worker_processes"\.$/ ],
	[ "clients => '{1000000}'", qr/clients of 1000000 is outside.*\n.*from 1 to $workers,/ ],
	[ "write_pct => '{-1}'",    qr/write_pct of -1 is outside.*\n.*from 0 to 100\.$/ ],
	[ "write_pct => '{101}'",   qr/write_pct of 101 is outside.*\n.*from 0 to 100\.$/ ],
	[ 'write_pct => NULL',      qr/write_pct must not be NULL\n.*'\{1,2\}'\.$/ ],
	[ "duration => '9 ms'",     qr/duration of 9 ms is outside.*\n.*10 ms to 60000 ms\.$/ ],
	[ "duration => '61 s'",     qr/duration of 61000 ms is outside.*\n.*10 ms to 60000 ms\.$/ ],
	[ 'duration => NULL',       qr/duration must not be NULL\n.*10 ms to 60000 ms\.$/ ],
	[ 'rounds => 0',            qr/rounds of 0 is outside.*\n.*from 1 to 1000\.$/ ],
	[ 'rounds => NULL',         qr/rounds must not be NULL\n.*from 1 to 1000\.$/ ],
	[ 'hold => -1',             qr/hold of -1 is outside.*\n.*from 0 to 100000\.$/ ],
	[ 'think => 100001',        qr/think of 100001 is outside.*\n.*from 0 to 100000\.$/ ],
	[ 'rounds => 1000',         qr/48000 slices are too many.*\n.*10000 is the limit\.\n.*fewer/ ])
{
	my ($args, $message) = @$_;
	my ($ret, $out, $err) =
	  $node->psql('postgres', "SELECT pg_waitscope_lock_bench($args)");
	like($err, qr/ERROR:  $message/, "refused: $args");
}

# The server and our own workers have some slots; the rest can be had, and again
# after all were too many, within one transaction as well.
my ($ret, $out, $err) = $node->psql('postgres',
	"SELECT pg_waitscope_lock_bench('{rmw}', '{$workers}')");
like($err, qr/ERROR:  too few worker slots for the lock benchmark$/m,
	'too few worker slots');
like($err, qr/^DETAIL:  $workers were wanted, [1-9]\d* could be had\.$/m,
	'... how many there are');
like($err, qr/^HINT:  .*fewer clients.*max_worker_processes/m,
	'... and what to do');
my ($slots) = $err =~ /(\d+) could be had/;
is(remains(), $clean, '... and nothing is left');
query(qq{DO \$\$
BEGIN
	FOR i IN 1 .. 3 LOOP
		BEGIN
			PERFORM pg_waitscope_lock_bench('{rmw}', '{$workers}');
			RAISE 'there was room for all';
		EXCEPTION WHEN configuration_limit_exceeded THEN NULL;
		END;
		PERFORM pg_waitscope_lock_bench('{rmw}', '{$slots}', '{0}', '10 ms', 1);
	END LOOP;
END \$\$});
is(remains(), $clean, 'the slots are free again at once');

# Two at a time know nothing of each other.
my @sessions = map { Session->new($node) } 1 .. 2;
$_->send("SELECT sum(lost + torn), count(*) FROM pg_waitscope_lock_bench(
	'{lwlock,fmlock}', '{4}', '{50}', '200 ms', 2);\n") foreach @sessions;
is($_->finish, '0|2', 'two calls at the same time') foreach @sessions;
$_->quit foreach @sessions;

# Ends of a call in the middle of a slice.  Each lock must be free of what was
# done to its waiters.
my $forever = "'{fmlock}', '{4}', '{50}', '60 s', 1000, 100";

sub start_bench
{
	my ($variant) = @_;
	my $session = Session->new($node);
	my $args = $forever =~ s/fmlock/$variant/r;

	$session->send("SELECT count(*) FROM pg_waitscope_lock_bench($args);\n");
	$node->poll_query_until('postgres', "SELECT count(*) = 4 $benchers")
	  or die 'no workers';
	return $session;
}

sub ended
{
	my ($session, $message, $name) = @_;

	$session->finish;
	like($session->errors, $message, $name);
	is(remains(), $clean, '... and nothing is left when it has said so');
	is($session->query('SELECT count(*) FROM pg_locks
		WHERE pid = pg_backend_pid() AND locktype <> \'virtualxid\''),
		1, '... no lock either');
	is($session->query("SELECT sum(lost + torn)
			FROM pg_waitscope_lock_bench('{fmlock}', '{4}', '{50}', '10 ms', 1)"),
		0, '... and the session can run another one');
	$session->quit;
	return;
}

foreach my $variant (qw(fmlock fmlock_writers lwlock fm_futex pthread_rwlock spinlock))
{
	my $session = start_bench($variant);
	query('SELECT pg_cancel_backend(' . $session->pid . ')');
	ended($session, qr/canceling statement due to user request/,
		"$variant: cancelled");
}

my $session = Session->new($node);
$session->query("SET statement_timeout = '1 s'");
$session->send("SELECT pg_waitscope_lock_bench($forever);
	SET statement_timeout = 0;\n");
ended($session, qr/canceling statement due to statement timeout/, 'timeout');

$session = start_bench('fmlock');
query("SELECT pg_terminate_backend(pid) $benchers LIMIT 1");
ended($session, qr/a worker of the lock benchmark has ended/,
	'a worker is terminated');

$session = start_bench('fmlock');
my $pid = $session->pid;
query("SELECT pg_terminate_backend($pid)");
ok( $node->poll_query_until('postgres',
		"SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $pid"),
	'the leader is terminated');
ok($node->poll_query_until('postgres', "SELECT count(*) = 0 $benchers"),
	'... its workers end');
is(remains(), $clean, '... and nothing is left');

# A killed process takes the server with it.
foreach my $victim ('leader', 'worker')
{
	$session = start_bench('fmlock');
	$pid = $victim eq 'leader' ? $session->pid : query("SELECT min(pid) $benchers");
	kill 'KILL', $pid or die "kill: $!";
	$node->poll_query_until('postgres', "SELECT pid <> $pid AND
		count(*) = 1 FROM (SELECT pg_backend_pid() AS pid) me GROUP BY pid")
	  or die 'no restart';
	is( bench('sum(lost + torn)', "'{fmlock,lwlock}', '{4}', '{50}', '10 ms', 1"),
		0, "$victim killed: after the restart it runs");
	like(remains(), qr/^0( mmap\S+)*$/, '... and nothing is left');
}

# Leader and postmaster at once: nobody is left who could tell the workers.
$session = start_bench('fmlock');
my @left = split /\n/, query("SELECT pid $benchers");
my ($postmaster) = slurp_file($node->data_dir . '/postmaster.pid') =~ /^(\d+)/;
kill 'STOP', $postmaster or die "kill: $!";
kill 'KILL', $session->pid or die "kill: $!";
$node->kill9;
for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
{
	last unless kill 0, @left;
	usleep(100_000);
}
is(scalar(grep { kill 0, $_ } @left), 0, 'workers end without a server');
$node->start;
is( bench('sum(lost + torn)', "'{fmlock}', '{4}', '{50}', '10 ms', 1"),
	0, '... which can be started again');

# No worker can be had: fewer clients would not help, and no number is right.
$node->append_conf('postgresql.conf', 'max_worker_processes = 0');
$node->restart;
foreach my $args ("'{rmw}'", "clients => '{1}'")
{
	my (undef, undef, $errors) =
	  $node->psql('postgres', "SELECT pg_waitscope_lock_bench($args)");
	like($errors,
		qr/needs background workers\n.*Raise "max_worker_processes", which is 0,/,
		"no workers at all: $args");
}
$node->append_conf('postgresql.conf', 'max_worker_processes = 2');
$node->restart;
($ret, $out, $err) =
  $node->psql('postgres', "SELECT pg_waitscope_lock_bench('{rmw}', '{1}')");
like($err, qr/1 were wanted, 0 could be had\.\n.*Raise "max_worker_processes" and/,
	'no worker is free');
$node->append_conf('postgresql.conf', "max_worker_processes = $workers");
$node->restart;

# The server goes down at once.
$session = start_bench('fmlock');
is($node->stop('fast'), 1, 'fast shutdown ends it');
$node->start;

# Nothing is written: it runs on a standby.
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;
is( $standby->safe_psql('postgres', q{SELECT pg_is_in_recovery(), count(*),
		bool_and(ops_per_sec > 0), sum(lost + torn) FROM
		pg_waitscope_lock_bench('{lwlock,fmlock}', '{2}', '{50}', '20 ms', 1)}),
	't|2|t|0', 'it runs on a standby');
$standby->stop;
$node->stop;

done_testing();
