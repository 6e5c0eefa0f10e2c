# Logical decoding and replication: its processes are shown as the server
# reports them, and sampled as background, which waits for work while idle.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Session;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('logical');
$node->init(allows_streaming => 'logical');
$node->append_conf('postgresql.conf', q{
shared_preload_libraries = 'pg_waitscope'
pg_waitscope.track_idle = on
autovacuum = off
});
$node->start;

sub wait_for
{
	my ($condition, $name) = @_;
	ok($node->poll_query_until('postgres', "SELECT $condition"), $name);
}

# From one database to another, where each change waits for a lock.
my $connstr = $node->connstr . ' dbname=postgres';
$node->safe_psql('postgres', q{
CREATE EXTENSION pg_waitscope;
CREATE TABLE items (id int PRIMARY KEY);
CREATE PUBLICATION items FOR TABLE items;
CREATE DATABASE regress_copy;
SELECT pg_create_logical_replication_slot('items', 'pgoutput');
});
$node->safe_psql('regress_copy', qq{
CREATE TABLE items (id int PRIMARY KEY);
CREATE SUBSCRIPTION items CONNECTION '$connstr' PUBLICATION items
	WITH (create_slot = false, slot_name = 'items', copy_data = false);
});
wait_for(q{count(*) = 1 FROM pg_stat_replication WHERE state = 'streaming'},
	'replication runs');

my @processes = (
	[ 'the walsender', q{backend_type = 'walsender'} ],
	[ 'the apply worker', q{backend_type ~ '^logical replication .*worker$'} ]);

# Shown as reported, in that state, and sampled so.
sub check
{
	my ($process, $class, $event) = @_;
	my ($name, $which) = @$process;

	wait_for(qq{count(*) = 1 AND bool_and(
				(ours.backend_type, ours.datid, ours.usesysid, ours.wait_event,
				 ours.wait_event_type, coalesce(ours.state, ''))
				= (servers.backend_type, servers.datid, servers.usesysid,
				   servers.wait_event, servers.wait_event_type,
				   coalesce(servers.state, ''))
				AND ours.state_class = '$class')
		  FROM (SELECT * FROM pg_waitscope_activity
				 WHERE $which OFFSET 0) ours
		  JOIN (SELECT * FROM pg_stat_activity OFFSET 0) servers USING (pid)
		 WHERE servers.wait_event ~ '$event'},
		"$name is shown as reported: $class");
	wait_for(qq{count(*) > 5 FROM pg_waitscope_history
		 WHERE pid = (SELECT pid FROM pg_waitscope_activity WHERE $which)
		   AND state_class = '$class' AND wait_event ~ '$event'},
		'... and sampled so');
	return;
}

check($processes[0], 'background idle', '^WalSender');
check($processes[1], 'background idle', '^LogicalApplyMain$');

# An apply worker that waits for a lock works, and says for what and whom.
my $holder = Session->new($node, database => 'regress_copy');
my $holder_pid = $holder->pid;
$holder->query('BEGIN; LOCK TABLE items');
$node->safe_psql('postgres', 'INSERT INTO items VALUES (1)');
check($processes[1], 'background work', '^relation$');
is( $node->safe_psql('postgres', qq{
		SELECT locktype, mode, blocked_by FROM pg_waitscope_activity
		 WHERE $processes[1][1]}),
	"relation|RowExclusiveLock|{$holder_pid}",
	'it shows who blocks it');
wait_for(q{background_samples > 5 AND samples = 0 FROM pg_waitscope_events
	 WHERE wait_event = 'relation'}, '... and counts as background');
$holder->query('COMMIT');
$node->poll_query_until('regress_copy', 'SELECT count(*) = 1 FROM items')
  or die 'the change does not arrive';
check($processes[1], 'background idle', '^LogicalApplyMain$');

$holder->quit;
$node->safe_psql('regress_copy', 'DROP SUBSCRIPTION items');
wait_for(qq{count(*) = 0 FROM pg_waitscope_activity
	 WHERE $processes[0][1] OR $processes[1][1]},
	'what has ended is not shown any more');
$node->stop('fast');
done_testing();
