# Waits for our own locks show their mode, as waits for LWLocks do.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../test/fmlock";
use lib $FindBin::RealBin;

use FmLockTest;
use PostgreSQL::Test::Utils;
use Session;
use Test::More;

my $node = start_drivers('own_locks', 'native');
$node->safe_psql('postgres', 'CREATE EXTENSION pg_waitscope');
my $lock = 'fmlock_native';

$node->safe_psql('postgres', "SELECT $lock.set_gate(1, false)");
my $holder = Session->new($node);
$holder->send("SELECT $lock.hold('exclusive', 1, 'release');\n");
$node->poll_query_until('postgres', "SELECT NOT $lock.try('shared')")
  or die 'no holder';

my @waiters;
foreach my $mode ('shared', 'exclusive')
{
	my $waiter = Session->new($node);
	my $pid = $waiter->pid;
	$waiter->send("SELECT $lock.hold('$mode', 0, 'release');\n");
	ok( $node->poll_query_until('postgres', qq{
			SELECT lwlock_mode = '$mode' AND wait_event_type = 'LWLock'
				   AND state_class = 'foreground'
			  FROM pg_waitscope_activity WHERE pid = $pid}),
		"waits for $mode mode");
	push @waiters, $waiter;
}
$node->safe_psql('postgres', "SELECT $lock.set_gate(1, true)");
$_->finish foreach $holder, @waiters;
$_->quit foreach $holder, @waiters;

$node->stop;
done_testing();
