# The store of hot blocks: sums that stay true whatever has to make room, rows
# that are never torn.  Needs the driver in test/stores, wsc_test_stores.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Session;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('hot_store');
$node->init;
$node->append_conf('postgresql.conf',
	"shared_preload_libraries = 'wsc_test_stores'");
$node->start;
my $session = Session->new($node);

sub query
{
	my ($sql) = @_;
	return $session->ask($sql);
}

sub call
{
	my ($call) = @_;
	return query("SELECT * FROM $call");
}

# add(relation, block, waiters, of them shared, ns each, ns of the rest)
sub add
{
	query('SELECT hot_add(' . join(', ', @_) . ')');
	return;
}

query('CREATE EXTENSION wsc_test_stores');
query('SELECT stores_init(10, 100, 0)');

# One relation.
add(10, 3, 4, 1, 100, 0);
add(10, 5, 2, 2, 100, 50);
is(call('hot_relation(10)'), '6 3 3 600: 3=4 5=2',
	'a relation has its totals and blocks');
is(call('hot_sums()'), '1|6|650|0|50', 'time without a block is in "other"');
add(0, 0, 0, 0, 0, 7);
is(call('hot_sums()'), '1|6|657|0|57', '... also when no block was seen');

# More blocks than there is room for: those seen most stay, and the totals are
# those of all.
add(10, $_, 1, 0, 100, 0) foreach 100 .. 150;
like(call('hot_relation(10)'),
	qr/^57 3 54 5700: 3=4 5=2( \d+=1){6}$/,
	'blocks seen once make room for each other');
add(10, 150, 9, 0, 100, 0);
like(call('hot_relation(10)'), qr/^66 3 63 6600: 3=4 5=2.* 150=10/,
	'... and stay once they are seen more');

# More relations than there is room for.
query("SELECT count(hot_add(1000 + i, 0, 1, 0, 100, 0))
	FROM generate_series(1, 300) i");
is(call('hot_sums()'), '256|366|36657|45|4557', 'sums stay true');
is(query("SELECT entries, max_entries, evictions, overwritten
		FROM store_info('hot_blocks')"), '256|256|45|0',
	'... what made room is counted');
like(call('hot_relation(10)'), qr/^66 /, '... and was not what is seen most');
isnt(call('hot_relation(1300)'), '', '... nor what was seen last');

# Reset.
my $before = query("SELECT stats_reset FROM store_info('hot_blocks')");
query("SELECT store_reset('hot_blocks')");
is(call('hot_sums()'), '0|0|0|0|0', 'empty once reset returns');
is(query("SELECT entries, evictions, stats_reset > '$before'
		FROM store_info('hot_blocks')"), '0|0|t', '... and knows since when');
add(20, 1, 1, 1, 100, 10);
is(call('hot_sums()'), '1|1|110|0|10', '... and counts from 0 then');
query('SELECT reset_ahead()');
add(20, 1, 1, 1, 100, 10);
is(call('hot_sums()'), '0|0|0|0|0', 'what was seen before a reset goes with it');

# Under a writer that evicts all the time no reader gets a torn row.
query('SELECT stores_init(10, 100, 0)');
my ($writer, @readers) = map { Session->new($node) } 1 .. 3;
$writer->send("SELECT hot_write(4000, 400, 20);\n");
$_->send("SELECT * FROM hot_read(4000);\n") foreach @readers;
my $written = $writer->finish;
foreach my $reader (@readers)
{
	my ($passes, $checked, $torn) = split /\|/, $reader->finish;
	note "$passes passes, $checked rows";
	cmp_ok($checked, '>', 1000, 'rows were read');
	is($torn, '0', '... none was torn');
}
my ($relations, $samples, $time, $other) = split /\|/, call('hot_sums()');
is("$relations|$samples|$time", "256|$written|" . 7 * $written,
	"all $written samples are there");
cmp_ok($other, '>', 0, '... many in "other"');
is($_->errors, '', 'no error') foreach $writer, @readers;
$_->quit foreach $writer, @readers, $session;
$node->stop;
done_testing();
