# Stores: torn records, lost ones, exact totals, windows, resets, names.
# Needs the driver in test/stores, as "make install-test-drivers" installs it:
# it has the stores at sizes of its own, and no sampler interferes.

use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Session;
use Test::More;
use Time::HiRes qw(usleep);

# State classes and LWLock modes, as in sample.h.
use constant { FOREGROUND => 0, IDLE_IN_TRANSACTION => 1, IDLE => 2, BACKGROUND => 3 };
use constant { NONE => 0, EXCLUSIVE => 1, SHARED => 2, UNTIL_FREE => 3 };

# Codes of wait events; any for the tranche and the strange one.
use constant { TRANSACTIONID => 0x03000005, TRANCHE => 0x01000000, STRANGE => 0x7E000000 };

chomp(my $pkglibdir = `pg_config --pkglibdir`);
if (!-e "$pkglibdir/wsc_test_stores.so")
{
	fail('the driver in test/stores is installed: make install-test-drivers');
	done_testing();
	exit;
}

my $node = PostgreSQL::Test::Cluster->new('stores');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'wsc_test_stores'");
$node->start;
my $session = Session->new($node);

sub query
{
	my ($sql) = @_;
	return $session->ask($sql);
}

# A call to one function: its columns.
sub call
{
	my ($call) = @_;
	my $row = query("SELECT * FROM $call");
	return wantarray ? split(/\|/, $row, -1) : $row;
}

# The same in a session of its own, which is returned at once.
sub start_call
{
	my ($call) = @_;
	my $other = Session->new($node);
	$other->send("SELECT * FROM $call;\n");
	return $other;
}

sub finish_call
{
	my ($other) = @_;
	my $row = $other->finish;
	my $errors = $other->errors;
	die $errors if $errors;
	$other->quit;
	return split /\|/, $row, -1;
}

# Polls until an expression is true.
sub wait_until
{
	my ($expression) = @_;
	for (1 .. 100 * $PostgreSQL::Test::Utils::timeout_default)
	{
		return 1 if query("SELECT $expression") eq 't';
		usleep(10_000);
	}
	die "never true: $expression";
}

# Waits until the writer has added so many more ticks.
sub writer_goes_on
{
	my ($ticks) = @_;
	return wait_until('written_ticks() >= ' . (call('written_ticks()') + $ticks));
}

# Waits until all these sessions run what they were told to.
sub wait_started
{
	my $pids = join ', ', map { $_->pid } @_;
	wait_until("count(*) = " . @_ . " FROM pg_stat_activity "
		  . "WHERE pid IN ($pids) AND state = 'active'");
	return;
}

query('CREATE EXTENSION wsc_test_stores');
my $version = query('SHOW server_version_num');

sub init
{
	my ($ring_slots, $profile_max, $dimensions) = @_;
	query("SELECT stores_init($ring_slots, $profile_max, $dimensions)");
	return;
}

# feed(first ms, ticks, period ms, weight ms, sessions, code, class, mode)
sub feed
{
	query('SELECT feed(' . join(', ', @_) . ')');
	return;
}

# One column of a store's figures about itself.
sub info
{
	my ($store, $column) = @_;
	return query("SELECT $column FROM store_info('$store')");
}

my $all_dimensions = 0x1F;

# Longer than anything here takes, in ms: stop_calls() ends the call.
my $long = 1000 * $PostgreSQL::Test::Utils::timeout_default;

#
# Ring
#

init(1000, 100, $all_dimensions);
my $writer = start_call("ring_write($long, 50)");
my @readers = map { start_call("ring_read($long)") } (1 .. 3);
wait_started($writer, @readers);
writer_goes_on(1000);
my $went_on = 0;
for (1 .. 5)
{
	# Anywhere in its work, mostly in the middle of copying or checking.
	kill 'STOP', $readers[0]->pid;
	$went_on += writer_goes_on(1000);
	kill 'CONT', $readers[0]->pid;
}
is($went_on, 5, 'the writer goes on whenever a reader stands still');
query('SELECT stop_calls()');
my ($checked, $torn) = (0, 0);
for (@readers)
{
	my (undef, $c, $t) = finish_call($_);
	$checked += $c;
	$torn += $t;
}
my ($ticks) = finish_call($writer);
note("$checked records checked, $ticks ticks written");
cmp_ok($checked, '>', 10000, 'ring readers have read');
is($torn, 0, 'and no record was torn or under a tick not its own');
cmp_ok(info('ring', 'overwritten'), '>', 0, 'what the writer overtook is counted');

# A reader that stops after its first sample and is overtaken many times.
init(1000, 100, $all_dimensions);
call('ring_write(0, 50)') for 1 .. 25;
my $parked = start_call('ring_read_parked()');
wait_until('parked_pid() <> 0');
my $lost_before = info('ring', 'overwritten');
($ticks) = call('ring_write(200, 50)');
cmp_ok($ticks, '>', 100, 'the writer passes a parked reader many times');
kill 'CONT', $parked->pid;
(undef, $checked, $torn) = finish_call($parked);
is($torn, 0, 'the parked reader returns nothing torn');
cmp_ok($checked, '<=', 256, 'nor more than it had copied when it stopped');
cmp_ok(info('ring', 'overwritten') - $lost_before, '>=', 700, 'the rest is counted as lost');

# All samples of all ticks that fit, each tick behind its header.
init(100, 100, $all_dimensions);
call('ring_write(0, 10)') for 1 .. 4;
call('ring_write(0, 0)');
is(info('ring', 'entries'), 44, 'a tick takes a record more than it has samples, or none');
is(call('ring_read(0)'), '1|40|0', 'a ring that is not full returns all samples');
call('ring_write(0, 10)') for 1 .. 6;
is(info('ring', 'entries'), 100, 'a ring takes no more records than it has slots');
is(call('ring_read(0)'), '1|90|0', 'a full ring returns the samples of whole ticks');
is(info('ring', 'overwritten'), 0, 'samples too old for the ring are not lost under a reader');

for ([ 10, 4 ], [ 3, 0 ], [ 1, 0 ])
{
	my ($slots, $kept) = @$_;
	init($slots, 100, $all_dimensions);
	call('ring_write(0, 100)');
	is(call('ring_read(0)'), "1|$kept|0", "of a tick larger than $slots slots $kept samples are kept");
	is(info('ring', 'overwritten'), 100 - $kept, 'and the others are counted');
}

init(1000, 100, $all_dimensions);
feed(5000, 10, 100, 100, 2, TRANSACTIONID, FOREGROUND, NONE);
is(info('ring', 'span_ms'), 900, 'span is the time from oldest to newest tick');

# A reader that wants only what is recent.
init(65536, 100, $all_dimensions);
query('SELECT count(ticks) FROM generate_series(1, 1500) i, LATERAL ring_write(0 * i, 50)');
for my $back (1, 10, 100, 1000, 1270, 3000)
{
	my ($all, $older) = call("ring_skip($back, false)");
	my ($got, $surplus) = call("ring_skip($back, true)");
	is($got, $all, "skipping loses nothing of the last $back ticks");
	cmp_ok($surplus, '<=', 3 * $all + 8192, 'and reads little more');
}

# A reset while readers are open.
init(1000, 100, $all_dimensions);
call('ring_write(0, 100)');
is(call('ring_read_reset()'), '0|0|1',
	'a reader opened before a reset, or before its adoption, returns nothing older');

#
# Events and LWLocks
#

init(10, 100, $all_dimensions);
$writer = start_call("totals_write($long, 50)");
@readers = map { start_call("totals_read($long)") } (1, 2);
wait_started($writer, @readers);
writer_goes_on(5000);
query('SELECT stop_calls()');
is((finish_call($_))[2], 0, 'no row of events or lwlocks was torn') for @readers;
my ($written) = finish_call($writer);
is((call('totals_read(0)'))[1], $written, 'events have each sample, however many');

init(10, 100, $all_dimensions);
feed(1000, 7, 10, 10, 3, TRANSACTIONID, FOREGROUND, NONE);
feed(2000, 5, 10, 40, 2, TRANSACTIONID, BACKGROUND, NONE);
feed(3000, 9, 10, 10, 2, TRANSACTIONID, $_, NONE) for (IDLE, IDLE_IN_TRANSACTION);
is(call('events_totals(' . TRANSACTIONID . ')'), '21|210|10|400',
	'load and background work are counted apart, idle processes not at all');
is(call('lwlock_totals(' . TRANSACTIONID . ')'), '|||||||', 'what is no LWLock is not in lwlocks');

feed(4000, 4, 10, 10, 5, TRANCHE, FOREGROUND, EXCLUSIVE);
feed(5000, 2, 10, 20, 3, TRANCHE, BACKGROUND, SHARED);
feed(6000, 1, 10, 10, 1, TRANCHE, FOREGROUND, UNTIL_FREE);
feed(7000, 9, 10, 10, 0, TRANCHE, FOREGROUND, NONE);
is(call('lwlock_totals(' . TRANCHE . ')'), '27|330|6|20|1|7|27|5',
	'lwlocks split waits by mode and know the queue');
is(info('lwlocks', 'entries'), 1, 'one row for one tranche');

#
# Windows
#

# What a window of so many ms shows: average sessions, and the share covered.
sub window
{
	my ($now, $ms) = @_;
	return query("SELECT round((time_ms / covered_ms)::numeric, 3) || ' ' ||"
		. " round((covered_ms / $ms)::numeric, 3)"
		. " FROM events_window($now, $ms, " . TRANSACTIONID . ')');
}

# average and share are within a part of the given ones
sub window_is
{
	my ($now, $ms, $average, $share, $name) = @_;
	my $got = window($now, $ms);
	my ($a, $s) = split / /, $got;
	ok( defined $s && abs($a - $average) <= 0.05 * $average && abs($s - $share) <= 0.01,
		"$name: $average, covered $share (got: $got)");
	return;
}

my $minute = 60_000;

# Idle for more than two minutes, 4 sessions for 10 s, idle again.  The load
# begins and ends between the copies.
init(10, 100, $all_dimensions);
feed(10, 12260, 10, 10, 0, TRANSACTIONID, FOREGROUND, NONE);
feed(2 * $minute + 2610, 1000, 10, 10, 4, TRANSACTIONID, FOREGROUND, NONE);
my $end = 2 * $minute + 12_600;
window_is($end, 10_000, 4, 1, '10 s of 4 sessions, in 10 s');
window_is($end, 60_000, 2 / 3, 1, 'in 1 m');
window_is($end, 120_000, 1 / 3, 1, 'in 2 m');
is(window($end, 900_000), '', 'a window of which less than half is covered is not known');
feed($end + 10, 500, 10, 10, 0, TRANSACTIONID, FOREGROUND, NONE);
window_is($end + 5000, 10_000, 2, 1, '5 s later, in 10 s');
feed($end + 5010, 6000, 10, 10, 0, TRANSACTIONID, FOREGROUND, NONE);
window_is($end + 65_000, 10_000, 0, 1, 'a minute later, in 10 s');
window_is($end + 65_000, 60_000, 0, 1, 'in 1 m');
window_is($end + 65_000, 120_000, 1 / 3, 1, 'in 2 m');

# Sampling stands still from there on.
$end += 65_000;
window_is($end + 4_000, 10_000, 0, 0.6, 'sampling stands still for 4 s');
is(window($end + 6_000, 10_000), '', 'for 6 s: not known');
is(window($end + $minute, 10_000), '', 'for a minute: not known');

# A quarter of an hour of changing load, each minute another one, sampled
# once in 50 ms; then a long gap, then load again.
init(10, 100, $all_dimensions);
for my $i (0 .. 19)
{
	feed($i * $minute + 50, $minute / 50, 50, 50, $i % 4, TRANSACTIONID, FOREGROUND, NONE);
}
$end = 20 * $minute;
window_is($end, 900_000, 1.6, 1, '15 m of 20');
window_is($end, 300_000, 1.8, 1, '5 m of 20');
window_is($end, 60_000, 3, 1, '1 m of 20');
window_is($end, 30_000, 3, 1, '30 s of 20 m');
feed(30 * $minute + 50, 200, 50, 50, 2, TRANSACTIONID, FOREGROUND, NONE);
$end = 30 * $minute + 10_000;
window_is($end, 10_000, 2, 1, '10 s behind a gap');
window_is($end, 15_000, 2, 0.667, '15 s, the gap in it');
is(window($end, $minute), '', '1 m, mostly gap: not known');

# The load at the beginning of a gap is not smeared over it.
init(10, 100, $all_dimensions);
feed(100, 50, 100, 100, 8, TRANSACTIONID, FOREGROUND, NONE);
feed(14_100, 60, 100, 100, 0, TRANSACTIONID, FOREGROUND, NONE);
window_is(20_000, 10_000, 0, 0.6, 'a window that begins in a gap');

# Nor where only the coarse copies reach back to the gap.
init(10, 100, $all_dimensions);
feed(100, 48, 100, 100, 8, TRANSACTIONID, FOREGROUND, NONE);
feed(104_100, 1000, 100, 100, 0, TRANSACTIONID, FOREGROUND, NONE);
window_is(204_000, 150_000, 0, 0.667, 'a window that began in a gap long ago');

# Ticks that stand for more than the time since the last one (jitter).
init(10, 100, $all_dimensions);
for my $i (0 .. 99)
{
	feed($i * 200 + 90, 1, 0, 100, 2, TRANSACTIONID, FOREGROUND, NONE);
	feed($i * 200 + 110, 1, 0, 100, 2, TRANSACTIONID, FOREGROUND, NONE);
}
window_is(20_000, 10_000, 2, 1, 'jittered ticks');

#
# Profile
#

my $by_query = 0x08;

# So small that a reader often meets the entry that is just being replaced.
init(10, 4, $by_query | 0x07);
$writer = start_call("profile_hammer($long, 100000)");
@readers = map { start_call("profile_read($long)") } (1, 2);
wait_started($writer, @readers);
writer_goes_on(2_000_000);
query('SELECT stop_calls()');
($checked, $torn) = (0, 0);
for (@readers)
{
	my (undef, $c, $t) = finish_call($_);
	$checked += $c;
	$torn += $t;
}
($written) = finish_call($writer);
note("$checked profile entries checked, $written samples written");
cmp_ok($checked, '>', 10000, 'profile readers have read');
is($torn, 0, 'and no entry was torn while entries were evicted');

# Many more keys than entries, each key a few times.
init(10, 1000, $by_query | 0x07);
call('profile_write(0, 30000, 100)') for 1 .. 3;
my ($entries, $keys, undef, $faults) = call('profile_at_rest()');
is($entries, 1000, 'the profile is full');
is($keys, 1000, 'and has no key twice');
is($faults, 0, 'search paths and ranks are in order');
is(info('profile', 'entries'), 1000, 'it knows how many entries it has');
cmp_ok(info('profile', 'evictions'), '>', 80000, 'evictions are counted');
is(call('profile_revisit()'), 0, 'each entry is found where it is');

init(10, 1000, $by_query);
call('profile_write(0, 1000, 100)') for 1 .. 3;
is(call('profile_at_rest()'), '1000|1000|3000|0', 'with room for all keys all samples are there');
is(info('profile', 'evictions'), 0, 'and nothing is evicted');

# Keys with many samples stay while others of one sample each come and go,
# and give way when that goes on and on.
init(10, 100, $by_query);
call('profile_write(0, 50, 50)') for 1 .. 20;
call('profile_write(0, 300, 100)');
cmp_ok(info('profile', 'evictions'), '>=', 200, 'others come and go');
cmp_ok((call('profile_at_rest()'))[2], '>=', 50 * 20, 'what is seen often is not evicted');
is(call('profile_revisit()'), 0, 'and is found');
call('profile_write(0, 30000, 100)');
cmp_ok((call('profile_at_rest()'))[2], '<', 50 * 20, 'what is seen no longer is, in the end');

init(10, 5000, 0);
call('profile_write(0, 3000, 100)');
is((call('profile_at_rest()'))[0], 1024, 'with all dimensions off there is one entry for an event');

init(10, 100, $by_query);
feed(1000, 5, 10, 10, 2, TRANSACTIONID, FOREGROUND, NONE);
feed(2000, 5, 10, 10, 3, TRANSACTIONID, BACKGROUND, NONE);
feed(3000, 5, 10, 10, 4, TRANSACTIONID, $_, NONE) for (IDLE, IDLE_IN_TRANSACTION);
is(call('profile_at_rest()'), '2|2|25|0',
	'load and background work are in the profile, the latter without a query');

#
# Reset without a writer
#

init(1000, 100, $all_dimensions);
feed(1000, 300, 10, 10, 2, TRANCHE, FOREGROUND, EXCLUSIVE);
for my $store ('ring', 'events', 'profile', 'lwlocks')
{
	my $before = info($store, 'stats_reset');
	cmp_ok(info($store, 'entries'), '>', 0, "$store has entries");
	query("SELECT store_reset('$store')");
	is(info($store, 'entries'), 0, "$store is empty once reset returns");
	is(info($store, "stats_reset > '$before'"), 't', 'and knows when that was');
}
sub counts
{
	return join ' ', (call('ring_read(0)'))[1], (call('profile_at_rest()'))[2],
	  (call('events_totals(' . TRANCHE . ')'))[0],
	  (call('lwlock_totals(' . TRANCHE . ')'))[0];
}
is(counts(), '0 0  ', 'no row is left of any store');
is(query('SELECT events_window(4000, 1000, ' . TRANCHE . ')'), '', 'nor a window');
feed(4000, 100, 10, 10, 3, TRANCHE, FOREGROUND, EXCLUSIVE);
is(counts(), '300 300 300 300', 'all count from 0 then')
  or diag 'ring, profile, events, lwlocks';
is(query("SELECT * FROM events_window(4990, $_, " . TRANCHE . ')'), '3000|1000',
	"and a window of $_ ms begins anew")
  for (1000, 1500);
is(query('SELECT events_window(4990, 2500, ' . TRANCHE . ')'), '',
	'what was before the reset covers nothing');

# A tick that was taken before a reset, but added after it.
query('SELECT reset_ahead()');
feed(6000, 1, 10, 10, 3, TRANCHE, FOREGROUND, EXCLUSIVE);
is(counts(), '0 0  ', 'a tick taken before a reset is not counted after it');
feed(6010, 1, 10, 10, 3, TRANCHE, FOREGROUND, EXCLUSIVE);
is(counts(), '3 3 3 3', 'the next one is');

#
# Event names
#

# The ids of CPU and of what found no room.
is(call('dict_id(0)'), 0, 'no wait is CPU');
is(call('dict_name(0)'), 'CPU/CPU', 'and so is its name');
is(call('dict_name(1)'), 'Other/other', 'codes without an id share one');
is(call('code_name(0)'), 'CPU/CPU', 'CPU by its code');
is(call('code_name(' . TRANSACTIONID . ')'), 'Lock/transactionid', 'a code that has an id');
is(call('dict_name(dict_id(' . TRANSACTIONID . '))'), 'Lock/transactionid', 'the same by id');
is(call('code_name(' . 0x03000000 . ')'), 'Lock/relation', 'a code without one');
is(call('code_name(' . 0x030000FF . ')'), 'Lock/unknown:030000ff', 'a code of no event');
is(call('code_name(' . 0x7E00ABCD . ')'), 'Unknown/unknown:7e00abcd', 'a code of no class');
is(call('dict_name(dict_id(' . (STRANGE + 1) . '))'), 'Unknown/unknown:7e000001',
	'an id of no event');
isnt(call('dict_id(' . (STRANGE + 1) . ')'), call('dict_id(' . (STRANGE + 2) . ')'),
	'two of them have two ids');
cmp_ok(call("lock_gets($_)"), '>', 0, "the names' lock was taken (shared: $_)")
  for ('true', 'false');

# Tranches that one backend registers.  Before 19 other backends learn the name
# only when that backend looks it up itself.
sub unnamed
{
	my ($code) = @_;
	return $version < 190000 ? 'LWLock/extension:' . ($code & 0xFFFF) : 'LWLock/never told';
}
my $other = Session->new($node);
for (1, 2)
{
	my $code = $other->query("SELECT new_tranche('never told')");
	is(call("dict_name(dict_id($code))"), unnamed($code), "tranche $_ whose name is not known");
	is(call("code_name($code)"), unnamed($code), 'the same by code');
}
my $code = $other->query("SELECT new_tranche('told')");
my $name = "dict_name(dict_id($code))";
call($name);
is($other->query("SELECT $name"), 'LWLock/told', 'the backend that knows a tranche sees its name');
is(call($name), 'LWLock/told', 'and then the others do');
$other->quit;
is(call("code_name($code)"), 'LWLock/told', 'also when that backend is gone');

# A writer that ended in the middle of a change.
is(call('cut_off_change()'), '0 0 1', 'what it left can be read after the next change');

# More codes than ids.
my ($given, $others, $wrong) = call('dict_give(' . (STRANGE + 2000) . ', 1100)');
cmp_ok($given, '<', 1024, 'ids run out');
is($given + $others, 1100, 'all codes beyond share one');
is($wrong, 0, 'each id leads to its code');
is(call('dict_id(' . (STRANGE + 9999) . ')'), 1, 'a code met later has the shared id');
is(call('code_name(' . (STRANGE + 9999) . ')'), 'Unknown/unknown:7e00270f', 'but its own name');
is(call('dict_name(dict_id(' . TRANSACTIONID . '))'), 'Lock/transactionid', 'earlier ones keep theirs');

$session->quit;
$node->stop;
done_testing();
