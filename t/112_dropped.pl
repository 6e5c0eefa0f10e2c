# Databases and roles that are in the stores and then are no more, and what
# needs a database that nobody is connected to: the sampler is in nobody's
# way, and no view fails for what it cannot name.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Session;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('dropped');
$node->init;
$node->append_conf('postgresql.conf', q{
shared_preload_libraries = 'pg_waitscope'
autovacuum = off
statement_timeout = 60s
});
$node->start;
$node->safe_psql('postgres', q{
CREATE EXTENSION pg_waitscope;
CREATE ROLE regress_monitor LOGIN IN ROLE pg_monitor;
CREATE ROLE regress_nobody LOGIN;
CREATE ROLE regress_gone LOGIN;
CREATE DATABASE regress_gone;
});
$node->safe_psql('regress_gone', q{
CREATE TABLE items AS SELECT 1 AS id;
GRANT SELECT, UPDATE ON items TO regress_gone;
});

sub ask
{
	my ($sql) = @_;
	return $node->safe_psql('postgres', $sql);
}

sub wait_for
{
	my ($condition, $name) = @_;
	ok($node->poll_query_until('postgres', "SELECT $condition"), $name);
}

# What the stores know of a database: all of it is about one role.
my $datid = ask(q{SELECT oid FROM pg_database WHERE datname = 'regress_gone'});
my $role = ask(q{SELECT oid FROM pg_roles WHERE rolname = 'regress_gone'});
my $profile = qq{SELECT datid, datname, usesysid, usename, wait_event,
		sum(samples)
	FROM pg_waitscope_profile
	WHERE datid = $datid AND usesysid = $role AND wait_event <> 'CPU'
	GROUP BY 1, 2, 3, 4, 5 ORDER BY wait_event};
my $history = qq{SELECT datid, datname, usesysid, usename, wait_event,
		lock_datid, lock_relid, count(*)
	FROM pg_waitscope_history
	WHERE datid = $datid AND usesysid = $role AND wait_event <> 'CPU'
	GROUP BY 1, 2, 3, 4, 5, 6, 7 ORDER BY wait_event};
my $events = q{SELECT wait_event, samples FROM pg_waitscope_events
	WHERE wait_event IN ('PgSleep', 'relation') ORDER BY 1};

# Two sessions that wait in that database, one of them for a lock.
my $holder = Session->new($node, database => 'regress_gone');
my @sessions = map {
	Session->new($node, database => 'regress_gone', user => 'regress_gone')
} 1 .. 2;
my $items = $holder->query(q{SELECT 'items'::regclass::oid});
$holder->query('BEGIN; LOCK TABLE items');
$sessions[0]->send("SELECT pg_sleep(600);\n");
$sessions[1]->send("SELECT * FROM items;\n");
wait_for("count(*) = 2 FROM ($history) h WHERE count > 5",
	'waits in a database are kept');

# Forcing sessions out of it works, and is not held up by the sampler, not
# even by one that waits to be told to sample.
my $away = Session->new($node, user => 'regress_gone');
$node->append_conf('postgresql.conf', 'pg_waitscope.sampling = off');
$node->reload;
wait_for('NOT sampling FROM pg_waitscope_status', 'sampling is off');
my ($profile_before, $history_before, $events_before) =
  map { ask($_) } ($profile, $history, $events);
like($profile_before,
	qr/^$datid\|regress_gone\|$role\|regress_gone\|PgSleep\|\d+\n.*\|relation\|\d+$/,
	'the profile names database and role');
like($history_before,
	qr/^$datid\|regress_gone\|$role\|regress_gone\|PgSleep\|\|\|\d+\n.*\|relation\|$datid\|$items\|\d+$/,
	'so does the history, and the relation by number');

# Somebody is in the middle of reading.
my $reader = Session->new($node, user => 'regress_monitor');
$reader->query(qq{
	BEGIN;
	DECLARE reading CURSOR FOR SELECT datid, datname FROM pg_waitscope_history
		WHERE datid = $datid});
is($reader->query('FETCH reading'), "$datid|regress_gone", 'a reader begins');

ask('DROP DATABASE regress_gone WITH (FORCE)');
is(ask(qq{SELECT count(*) FROM pg_database WHERE oid = $datid}),
	'0', 'the database is dropped');
like($reader->query('FETCH ALL IN reading; COMMIT'),
	qr/^($datid\|(regress_gone)?\n?)+$/, 'the reader reads on');
is($reader->errors, '', '... without an error');

# Names are gone, everything else stays.
s/\|regress_gone\|$role/||$role/g foreach $profile_before, $history_before;
is(ask($profile), $profile_before, 'the profile keeps all but the name');
is(ask($history), $history_before, 'so does the history');
is(ask($events), $events_before, 'events keep their totals');

# Another of that name has nothing to do with it.
ask('CREATE DATABASE regress_gone');
isnt(ask(q{SELECT oid FROM pg_database WHERE datname = 'regress_gone'}),
	$datid, 'another database of that name is another one');
is(ask($profile), $profile_before, 'the profile does not take it for the old');
is(ask($history), $history_before, 'nor does the history');

# The same for a role, one session of which is left.
ask('DROP ROLE regress_gone');
s/\|$role\|regress_gone/|$role|/g foreach $profile_before, $history_before;
is(ask($profile), $profile_before, 'the profile keeps a role without a name');
is(ask($history), $history_before, 'so does the history');
ask('CREATE ROLE regress_gone LOGIN');
is(ask($profile), $profile_before, 'another role is another one');
is(ask($history), $history_before, 'in the history, too');
my $away_pid = $away->pid;
is( ask("SELECT usesysid, usename FROM pg_waitscope_activity
		 WHERE pid = $away_pid"),
	"$role|", 'a session of a dropped role is shown without its name');

# Whoever reads what, nothing fails.
my %readers = (
	'a superuser' => Session->new($node),
	'a monitor' => $reader,
	'a role without privileges' =>
	  Session->new($node, user => 'regress_nobody'),
	'a role that is no more' => $away);
foreach my $who (sort keys %readers)
{
	my @views = qw(summary events history profile lwlocks fmlocks status
	  stores activity wait_lengths);

	# These are for who may see everything.
	push @views, qw(lwlock_instances hot_blocks lock_waits
	  lock_blockers lock_wait_history lock_chains) if $who !~ /^a role/;
	foreach my $view (@views)
	{
		$readers{$who}->query("SELECT count(*) FROM
			(SELECT DISTINCT v::text FROM pg_waitscope_$view v) texts");
		is($readers{$who}->errors, '', "$who can read $view");
	}
}
$_->quit foreach values %readers;

# Whatever is to be done with a database, with the sampler at work and at
# rest.
foreach my $sampling ('off', 'on')
{
	my $directory = PostgreSQL::Test::Utils::tempdir();

	$node->append_conf('postgresql.conf', "pg_waitscope.sampling = $sampling");
	$node->reload;
	wait_for("sampling = '$sampling' FROM pg_waitscope_status",
		"sampling is $sampling");
	foreach my $sql ('CREATE DATABASE regress_copy TEMPLATE regress_gone',
		'ALTER DATABASE regress_copy RENAME TO regress_renamed',
		"CREATE TABLESPACE regress_space LOCATION '$directory'",
		'ALTER DATABASE regress_renamed SET TABLESPACE regress_space',
		'ALTER DATABASE regress_renamed SET TABLESPACE pg_default',
		'DROP TABLESPACE regress_space',
		'DROP DATABASE regress_renamed')
	{
		my ($rc, $out, $err) = $node->psql('postgres', $sql);
		is($rc, 0, "sampling $sampling: " . $sql =~ s/ LOCATION.*//r)
		  or diag($err);
	}
}

# A name is the one of now.
my $sleeper = Session->new($node, database => 'regress_gone');
$sleeper->send("SELECT pg_sleep(600);\n");
wait_for(q{count(*) = 1 FROM pg_waitscope_profile
	 WHERE datname = 'regress_gone' AND wait_event = 'PgSleep'},
	'a database is seen');
ask('SELECT pg_terminate_backend(' . $sleeper->pid . ')');
wait_for('count(*) = 0 FROM pg_stat_activity WHERE pid = ' . $sleeper->pid,
	'and left');
ask('ALTER DATABASE regress_gone RENAME TO regress_named');
is( ask(q{SELECT datname FROM pg_waitscope_profile
		 WHERE wait_event = 'PgSleep' AND datname ~ 'regress_'}),
	'regress_named', 'it is shown under its new name');

is(ask('SELECT restarts FROM pg_waitscope_status'),
	'0', 'the sampler went on through all of it');
$node->stop('fast');
done_testing();
