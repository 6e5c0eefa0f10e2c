# What ends the sampler, and what is left afterwards: errors, SIGKILL, and the
# crash restart of the server after it.  (t/002_sampler.pl has what ends it in
# peace.)

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Session;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('ends');
$node->init;
$node->append_conf('postgresql.conf', q{
shared_preload_libraries = 'pg_waitscope, fmlock_native, wsc_test_faults'
restart_after_crash = on
autovacuum = off
statement_timeout = 60s
log_line_prefix = '%p %b: '
});

# As a start script would give them, which is all that a crash restart has.
my %settings = (
	sample_period => 0.2,
	history_period => 20,
	history_size => 2048,
	profile_max => 300,
	profile_by => 'pid, backend_type',
	track_idle => 'on',
);
system_or_bail(
	'pg_ctl', '--wait', '--pgdata', $node->data_dir, '--log',
	$node->logfile, '--options',
	join(' ',
		map { "-c pg_waitscope.$_='$settings{$_}'" } sort keys %settings),
	'start');
$node->_update_pid(1);
$node->safe_psql('postgres',
	'CREATE EXTENSION pg_waitscope; CREATE EXTENSION fmlock_native');

my $admin = Session->new($node);

sub query
{
	my ($sql) = @_;
	return $admin->query($sql);
}

sub wait_for
{
	my ($condition, $name) = @_;
	ok($admin->poll("SELECT $condition FROM pg_waitscope_status"), $name);
	return;
}

sub set_and_reload
{
	my ($name, $value) = @_;
	query("ALTER SYSTEM SET $name = $value");
	query('SELECT pg_reload_conf()');
	return;
}

# Sleepers and lock waiters, so that every store is written at each tick.
my @sessions;

sub start_load
{
	@sessions = map { Session->new($node) } 1 .. 8;
	$_->query('SET statement_timeout = 0') foreach @sessions;
	$sessions[0]->query('BEGIN; SELECT pg_advisory_xact_lock(1)');
	$_->send("SELECT pg_advisory_xact_lock(1);\n") foreach @sessions[ 1, 2 ];
	$_->send("SELECT pg_sleep(600);\n") foreach @sessions[ 3 .. 5 ];
	query('SELECT fmlock_native.set_gate(1, false)');
	$_->send("SELECT fmlock_native.hold('exclusive', 1, 'release');\n")
	  foreach @sessions[ 6, 7 ];
	ok( $admin->poll(q{
			SELECT count(*) = 1 FROM pg_waitscope_lwlocks l,
				   pg_waitscope_events e, pg_waitscope_events s
			 WHERE l.tranche = 'fmlock_native' AND l.samples > 10
			   AND e.wait_event = 'advisory' AND e.samples > 10
			   AND s.wait_event = 'PgSleep' AND s.samples > 10}),
		'load is counted in every store');
	return;
}

my $sums = q{
	SELECT (SELECT sum(samples + background_samples) FROM pg_waitscope_events),
		   (SELECT sum(samples) FROM pg_waitscope_profile),
		   (SELECT count(*) FROM pg_waitscope_history)};

#
# Errors in the sampler.
#
start_load();
my $pid = query('SELECT sampler_pid FROM pg_waitscope_status');
my $restarts = 0;
foreach my $fault ('reload', ('tick') x 4)
{
	my ($reset, $epoch, $events, $profile, $history) = split /\|/,
	  query("SELECT (SELECT min(stats_reset) FROM pg_waitscope_events), epoch,
					s.* FROM pg_waitscope_status, ($sums) s");
	my $offset = -s $node->logfile;
	set_and_reload('wsc_test_faults.raise', $fault);
	$restarts++;
	wait_for("sampler_pid <> $pid AND restarts = $restarts",
		"error in a $fault: a new one starts");
	$pid = query('SELECT sampler_pid FROM pg_waitscope_status');
	like(slurp_file($node->logfile, $offset),
		qr/pg_waitscope sampler: ERROR:  fault in a $fault$/m,
		'... after that error');
	set_and_reload('wsc_test_faults.raise', 'none');
	my $seen = query('SELECT now()');
	ok( $admin->poll(qq{
			SELECT events > $events + 1000 AND profile > $profile + 1000
			  FROM ($sums) s (events, profile, history)}),
		'... totals go on');
	ok( $admin->poll(qq{
			SELECT count(*) > 100 FROM pg_waitscope_history
			 WHERE sampled_at > '$seen'}),
		'... and the history');
	is( query('SELECT min(stats_reset) FROM pg_waitscope_events') . '|'
		  . query('SELECT epoch FROM pg_waitscope_status'),
		"$reset|$epoch", '... without a reset, in the same epoch');
}
is(query("SELECT $Session::missing FROM pg_waitscope_status"), '0',
	'nothing is missing after errors');

# Sampling off: sums stand still.  A tick that an error cut off is in the
# events and not, or not as a whole, in what comes after them.
set_and_reload('pg_waitscope.sampling', 'off');
wait_for('NOT sampling', 'sampling is off');
my ($events, $profile, $history) = split /\|/, query($sums);
my $most = 4 * query('SELECT count(*) FROM pg_stat_activity');
cmp_ok(abs($events - $profile), '<=', $most,
	'errors cost no more than their ticks');
is(query(q{SELECT evictions FROM pg_waitscope_stores WHERE store = 'profile'}),
	'0', '... no entry of the profile');
is( query(q{
		SELECT count(*) FROM (SELECT pid, backend_type, wait_event, lwlock_mode
			FROM pg_waitscope_profile GROUP BY 1, 2, 3, 4
			HAVING count(*) > 1) d}),
	'0', '... nor leave one twice');

#
# SIGKILL: the server restarts all its processes and makes its memory anew.
#
my $shared_memory = query(q{
	SELECT string_agg(format('%s %s %s', store, bytes, max_entries), ', '
					  ORDER BY store) FROM pg_waitscope_stores});

sub end_load
{
	eval { $_->quit } foreach @sessions;
	@sessions = ();
	return;
}

# Kills, and returns when the server is back.
sub crash
{
	my ($name, $kill) = @_;
	my ($epoch, $reset) = split /\|/,
	  query('SELECT epoch, min(stats_reset)
		FROM pg_waitscope_events GROUP BY epoch');
	my $postmaster = query('SELECT pg_postmaster_start_time()');

	$kill->();
	eval { $admin->quit };
	end_load();
	ok( $node->poll_query_until('postgres', "
			SELECT epoch > $epoch AND sampler_pid IS NOT NULL
				   AND keeper_pid IS NOT NULL
			  FROM pg_waitscope_status"),
		"$name: crash restart, in a new epoch");
	$admin = Session->new($node);
	is(query('SELECT pg_postmaster_start_time()'), $postmaster,
		'... of the same postmaster');
	is( query(q{
			SELECT string_agg(format('%s=%s', name, setting), ' ' ORDER BY name)
			  FROM pg_settings WHERE source = 'command line'
			   AND name LIKE 'pg_waitscope.%'}),
		join(' ', map { "pg_waitscope.$_=$settings{$_}" } sort keys %settings),
		'... with the settings of the command line');
	is( query(qq{
			SELECT period, restarts, $Session::missing
			  FROM pg_waitscope_status}) =~ s/\|1$/|0/r,
		'0.2|0|0', '... as the sampler has them');
	is( query(q{
			SELECT string_agg(format('%s %s %s', store, bytes, max_entries),
							  ', ' ORDER BY store)
			  FROM pg_waitscope_stores}),
		$shared_memory, '... and the stores');
	is( query(qq{
			SELECT count(*) FROM pg_waitscope_stores
			 WHERE stats_reset <= '$reset' OR overwritten > 0
				OR evictions > 0}),
		'0', '... which are made anew');
	is(query("SELECT fmlock_native.try('exclusive'),
		fmlock_native.try('shared'), fmlock_native.try('exclusive')"),
		't|t|t', '... locks are free');
	return;
}

# With sampling off what is in the stores cannot be new.
$pid = query('SELECT sampler_pid FROM pg_waitscope_status');
crash('SIGKILL of a sampler at rest', sub { kill 'KILL', $pid });
is( query("SELECT *, (SELECT count(*) FROM pg_waitscope_events),
		(SELECT count(*) FROM pg_waitscope_lwlocks),
		(SELECT count(*) FROM pg_waitscope_profile) FROM ($sums) s"),
	'||0|0|0|0', '... stores are empty');
is( query('SELECT ticks, ticks_missed, covered_time, sampling,
		idle_samples + idle_in_transaction_samples + background_idle_samples
			+ hidden_samples FROM pg_waitscope_status'),
	'0|0|0|f|0', '... status begins anew');
set_and_reload('pg_waitscope.sampling', 'on');

foreach my $round (1 .. 2)
{
	start_load();
	crash("$round: SIGKILL in a tick",
		sub { set_and_reload('wsc_test_faults.raise', 'kill') });
	query('ALTER SYSTEM SET wsc_test_faults.raise = none');
	is( query(q{
			SELECT count(*) FROM pg_waitscope_history
			 WHERE sampled_at < (SELECT stats_reset FROM pg_waitscope_stores
								  WHERE store = 'history')}),
		'0', '... the history begins with the crash');
	is(query(q{SELECT count(*) FROM pg_waitscope_events
			WHERE wait_event = 'advisory'}),
		'0', '... nothing is counted of what was before');
	wait_for("ticks > 100 AND $Session::missing = 0", '... it samples');
}

start_load();
my $holder = query(q{SELECT pid FROM pg_stat_activity
	WHERE query ~ 'fmlock_native.hold' AND wait_event IS NULL
	  AND pid <> pg_backend_pid()});
crash('SIGKILL of the holder of a lock', sub { kill 'KILL', $holder });
wait_for("ticks > 100 AND $Session::missing = 0", '... it samples');

# The first reader of a name takes the own lock in both modes, later ones in
# one.
query('SELECT count(wait_event) FROM pg_waitscope_events') foreach 1 .. 2;
is( query(q{
		SELECT string_agg(format('%s %s %s', mode, gets > 0, misses), ', '
						  ORDER BY mode)
		  FROM pg_waitscope_fmlocks WHERE name = 'pg_waitscope_event_names'}),
	'exclusive t 0, shared t 0', '... own locks are free');

# Load works afterwards as it did before.
start_load();
query('SELECT fmlock_native.set_gate(1, true)');
$_->finish foreach @sessions[ 6, 7 ];
$sessions[0]->query('COMMIT');
$_->finish foreach @sessions[ 1, 2 ];
query(q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity
	WHERE wait_event = 'PgSleep'});
end_load();
$admin->quit;
unlike(slurp_file($node->logfile), qr/PANIC|TRAP/, 'no PANIC, no assertion');
$node->stop;
done_testing();
