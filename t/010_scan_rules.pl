# State classes, one by one, and the grid of instants under a simulated clock.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;
my $version = $node->safe_psql('postgres', 'SHOW server_version_num');
$node->safe_psql('postgres', 'CREATE EXTENSION wsc_test_scan');

# Kind of process, state, type and name of the wait ('': none), class.  At
# least one case for each line of the table in state_class.c, and the cases
# just beside it.
my $wal_wait = $version >= 170000 ? 'WalSenderWaitForWal' : 'WalSenderWaitForWAL';
my @cases = (
	# A statement runs: whatever it waits for is load.
	[ 'client', 'active', '', '', 'foreground' ],
	[ 'client', 'active', 'Client', 'ClientRead', 'foreground' ],
	[ 'client', 'active', 'Lock', 'transactionid', 'foreground' ],
	[ 'client', 'active', 'LWLock', 'WALWrite', 'foreground' ],
	[ 'client', 'active', 'Timeout', 'PgSleep', 'foreground' ],
	[ 'client', 'active', 'Timeout', 'VacuumDelay', 'foreground' ],
	[ 'client', 'active', 'Extension', 'Extension', 'foreground' ],
	[ 'client', 'active', 'IPC', 'ExecuteGather', 'foreground' ],
	[ 'client', 'fastpath function call', '', '', 'foreground' ],
	[ 'client', 'fastpath function call', 'IO', 'DataFileRead', 'foreground' ],

	# None runs.
	[ 'client', 'idle in transaction', 'Client', 'ClientRead', 'idle in transaction' ],
	[ 'client', 'idle in transaction', '', '', 'idle in transaction' ],
	[ 'client', 'idle in transaction (aborted)', 'Client', 'ClientRead', 'idle in transaction' ],
	[ 'client', 'idle', 'Client', 'ClientRead', 'idle' ],
	[ 'client', 'idle', '', '', 'idle' ],

	# track_activities is off, or the status is not to be had.
	[ 'client', 'disabled', 'Client', 'ClientRead', 'idle' ],
	[ 'client', 'disabled', 'Client', 'ClientWrite', 'foreground' ],
	[ 'client', 'disabled', 'Lock', 'tuple', 'foreground' ],
	[ 'client', 'disabled', '', '', 'hidden' ],
	[ 'client', undef, 'Client', 'ClientRead', 'idle' ],
	[ 'client', undef, 'Activity', 'LogicalLauncherMain', 'background idle' ],
	[ 'client', undef, 'IO', 'DataFileRead', 'foreground' ],
	[ 'client', undef, '', '', 'hidden' ],

	# Servants with nothing to do.
	[ 'server', undef, 'Activity', 'CheckpointerMain', 'background idle' ],
	[ 'server', undef, 'Activity', 'AutoVacuumMain', 'background idle' ],
	[ 'worker', undef, 'Activity', 'LogicalLauncherMain', 'background idle' ],
	[ 'worker', 'idle', 'Activity', 'LogicalApplyMain', 'background idle' ],
	[ 'walsender', 'active', 'Activity', 'WalSenderMain', 'background idle' ],
	[ 'walsender', 'active', 'Client', $wal_wait, 'background idle' ],
	[ 'server', undef, 'Timeout', 'VacuumDelay', 'background idle' ],
	[ 'server', 'active', 'Timeout', 'VacuumDelay', 'background idle' ],
	[ 'walsender', 'active', 'Timeout', 'BaseBackupThrottle', 'background idle' ],
	[ 'server', undef, 'Timeout', 'RecoveryApplyDelay', 'background idle' ],
	[ 'server', undef, 'Timeout', 'RecoveryRetrieveRetryInterval', 'background idle' ],
	[ 'worker', undef, 'Extension', 'Extension', 'background idle' ],
	[ 'worker', 'active', 'Extension', 'Extension', 'background idle' ],

	# Replication connections with a silent client.
	[ 'walsender', 'idle', 'Client', 'ClientRead', 'idle' ],
	[ 'walsender', 'idle in transaction', 'Client', 'ClientRead', 'idle in transaction' ],
	[ 'walsender', 'disabled', 'Client', 'ClientRead', 'idle' ],

	# At work.
	[ 'walsender', 'active', '', '', 'background work' ],
	[ 'walsender', 'active', 'Client', 'WalSenderWriteData', 'background work' ],
	[ 'walsender', 'active', 'Extension', 'Extension', 'background work' ],
	[ 'walsender', 'disabled', '', '', 'background work' ],
	[ 'server', undef, '', '', 'background work' ],
	[ 'server', undef, 'IO', 'DataFileSync', 'background work' ],
	[ 'server', undef, 'Timeout', 'RegisterSyncRequest', 'background work' ],
	[ 'server', undef, 'Extension', 'Extension', 'background work' ],
	[ 'server', 'active', 'IO', 'DataFileRead', 'background work' ],
	[ 'worker', 'active', 'LWLock', 'WALWrite', 'background work' ],
	[ 'worker', undef, '', '', 'background work' ],
	[ 'worker', 'idle', '', '', 'background work' ],
	[ 'worker', 'idle in transaction', '', '', 'background work' ]);
push @cases,
  [ 'server', undef, 'Timeout', 'CheckpointWriteDelay', 'background idle' ]
  if $version >= 140000;

# Waits for buffers: for a pin, and since 19 for the content, too.
foreach my $event ($version < 190000 ? [ 'BufferPin', 'BufferPin' ] : (
		[ 'Buffer', 'BufferCleanup' ],
		[ 'Buffer', 'BufferShared' ],
		[ 'Buffer', 'BufferShareExclusive' ],
		[ 'Buffer', 'BufferExclusive' ]))
{
	push @cases,
	  [ 'client', 'active', @$event, 'foreground' ],
	  [ 'client', 'disabled', @$event, 'foreground' ],
	  [ 'server', undef, @$event, 'background work' ];
}

sub quote
{
	my ($word) = @_;
	return defined $word && $word ne '' ? "'$word'" : 'NULL';
}

my @classes = split /\n/, $node->safe_psql('postgres',
	join '', map { 'SELECT wsc_test_classify(' .
		  join(', ', map { quote($_) } @$_[0 .. 3]) . ");\n" } @cases);
foreach my $case (@cases)
{
	my ($kind, $state, $type, $event, $expected) = @$case;
	is(shift @classes, $expected,
		"$kind, " . ($state // 'no state') . ', ' . ($event || 'no wait'));
}

# A load that is busy in the first 30 % of each period, from several phases
# on.  20000 ticks: the standard error is 0.0033.
my $tolerance = 0.012;

sub simulate
{
	my ($phase, $jitter, $late, $cells) = @_;
	my $row = $node->safe_psql('postgres',
		"SELECT * FROM wsc_test_simulate($phase, $jitter, $late, $cells)");
	my %result;
	@result{qw(by_weight by_elapsed by_count ticks missed cells covered
		  max_weight outside not_newest)} = split /\|/, $row;
	return \%result;
}

sub near
{
	my ($value) = @_;
	return abs($value - 0.3) <= $tolerance;
}

my $elapsed_is_wrong = 0;
foreach my $phase (0, 0.2, 0.5, 0.7)
{
	my $punctual = simulate($phase, 'true', 0.01, 20000);
	ok(near($punctual->{by_weight}),
		"phase $phase: $punctual->{by_weight} is near 0.30");
	$elapsed_is_wrong++ unless near($punctual->{by_elapsed});

	my $late = simulate($phase, 'true', 0.8, 20000);
	ok(near($late->{by_weight}),
		"phase $phase, late: $late->{by_weight} is near 0.30");

	my $fixed = simulate($phase, 'false', 0.01, 20000);
	ok(!near($fixed->{by_weight}),
		"phase $phase, no jitter: $fixed->{by_weight} is not");
}
cmp_ok($elapsed_is_wrong, '>=', 3,
	'weights of elapsed time would be told from ours');

# Nothing drifts, nothing is counted twice, nothing newer is overlooked.
foreach my $late (0, 0.01, 0.3, 2.5, 40)
{
	my $grid = simulate(0, 'true', $late, 1000);
	is($grid->{ticks} + $grid->{missed}, $grid->{cells},
		"late by $late periods: each cell is a tick or missed");
	cmp_ok($grid->{cells}, '>=', 1000, '... no cell is left out');
	is($grid->{outside}, 0, '... each instant is in its cell');
	is($grid->{not_newest}, 0, '... each tick is for the newest instant');
	cmp_ok($grid->{max_weight}, '<=', 4, '... no weight is above 4 periods');
	is($grid->{covered}, $grid->{cells}, '... no time is left out')
	  if $late < 0.3;
	cmp_ok($grid->{covered}, '<', $grid->{cells} / 2,
		'... long gaps are not covered')
	  if $late == 40;
}
is(simulate(0, 'true', 0, 1000)->{missed}, 0, 'none missed when punctual');

$node->stop;
done_testing();
