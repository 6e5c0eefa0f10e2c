# The extension in several databases, dropped and created again, dumped and
# restored.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use FindBin;
use lib $FindBin::RealBin;
use Session;

my @views =
  qw(summary events history profile lwlocks hot_blocks
		fmlocks status stores activity);

my $node = PostgreSQL::Test::Cluster->new('databases');
$node->init;
$node->append_conf('postgresql.conf', q{
	shared_preload_libraries = 'pg_waitscope'
	pg_waitscope.sample_period = 1
	autovacuum = off});
$node->start;

# All databases show the same: what is kept belongs to the server.
$node->safe_psql('postgres', "CREATE DATABASE $_") foreach qw(one two empty);
$node->safe_psql($_, 'CREATE EXTENSION pg_waitscope') foreach qw(one two);
my $waiter = Session->new($node, database => 'empty');
$waiter->send("SELECT pg_sleep(600);\n");
foreach my $db (qw(one two))
{
	ok( $node->poll_query_until($db, q{
			SELECT sum(samples) > 10 FROM pg_waitscope_profile
			 WHERE wait_event = 'PgSleep' AND datname = 'empty'}),
		"$db shows what happens in a database without the extension");
}
$node->safe_psql('one', q{SELECT pg_waitscope_reset('events')});
my $reset = q{SELECT stats_reset FROM pg_waitscope_stores
	WHERE store = 'events'};
is($node->safe_psql('one', $reset), $node->safe_psql('two', $reset),
	'a reset in one is one in the other');

# What was sampled outlives the objects, in each database and in all.
my $seen = q{SELECT sum(samples) FROM pg_waitscope_profile
	WHERE wait_event = 'PgSleep'};
foreach my $round (1 .. 3)
{
	my $before = $node->safe_psql('two', $seen);
	$node->safe_psql('one', 'DROP EXTENSION pg_waitscope');
	cmp_ok($node->safe_psql('two', $seen), '>=', $before,
		"round $round: dropped in one, kept in two");
	$node->safe_psql('one', 'CREATE EXTENSION pg_waitscope');
	cmp_ok($node->safe_psql('one', $seen), '>=', $before,
		"round $round: created again, nothing is lost");
}

# While one session reads, another one drops: it waits, as for any object.
my $reader = Session->new($node, database => 'one');
$reader->query('BEGIN; SELECT count(*) FROM pg_waitscope_history');
my $dropper = Session->new($node, database => 'one');
$dropper->send("DROP EXTENSION pg_waitscope;\n");
ok( $node->poll_query_until('two', q{SELECT count(*) > 0
		FROM pg_waitscope_activity WHERE pid = } . $dropper->pid
		. q{ AND wait_event_type = 'Lock'}),
	'DROP EXTENSION waits for who reads a view, and is seen to');
$reader->query('COMMIT');
$dropper->finish;
is($dropper->errors, '', 'then it drops');
$node->safe_psql('one', 'CREATE EXTENSION pg_waitscope');

# Dump and restore, in a schema whose name needs quotes, with what a user
# has built on it and granted.
$node->safe_psql('empty', q{
	CREATE SCHEMA "Wait ""scope""; --";
	CREATE EXTENSION pg_waitscope SCHEMA "Wait ""scope""; --";
	CREATE ROLE reset_role;
	GRANT EXECUTE ON FUNCTION "Wait ""scope""; --".pg_waitscope_reset(text)
		TO reset_role;
	REVOKE SELECT ON "Wait ""scope""; --".pg_waitscope_history FROM PUBLIC;
	CREATE VIEW waits AS SELECT wait_event, samples
		FROM "Wait ""scope""; --".pg_waitscope_events});
my $file = PostgreSQL::Test::Utils::tempdir() . '/dump.sql';
$node->command_ok([ 'pg_dump', '-f', $file, $node->connstr('empty') ],
	'pg_dump');
unlike(slurp_file($file), qr/FUNCTION [^;]*pg_waitscope_get_/,
	'the dump has no object of the extension in it');
$node->safe_psql('postgres', 'CREATE DATABASE restored');
$node->command_ok(
	[ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-f', $file,
		$node->connstr('restored') ], 'restore');
foreach my $view (@views)
{
	is($node->psql('restored',
			qq{TABLE "Wait ""scope""; --".pg_waitscope_$view}),
		0, "$view works after restore");
}
ok( $node->poll_query_until('restored',
		q{SELECT samples > 0 FROM waits WHERE wait_event = 'PgSleep'}),
	'a view of a user works after restore');
my $acl = q{SELECT c.relacl::text || p.proacl::text FROM pg_class c, pg_proc p
	WHERE relname = 'pg_waitscope_history' AND proname = 'pg_waitscope_reset'};
is($node->safe_psql('restored', $acl), $node->safe_psql('empty', $acl),
	'what was granted and revoked is restored');

$node->stop;
done_testing();
