# A scan reads nothing beyond the process array, the status entries and the
# lock it was led to, whatever they hold.  Without an address sanitizer this
# only tells that it returns what is there.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('synthetic');
$node->init;
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION wsc_test_scan');

# Up to 512 slots every one is looked at in each scan; beyond that there are
# lists.
foreach my $slots (5, 120, 512, 513, 3000)
{
	my $arrays = int(60000 / ($slots + 100));
	my $seed = int(rand(1e6));
	is($node->safe_psql('postgres',
			"SELECT wsc_test_synthetic($slots, $arrays, $seed)"),
		'0', "$slots slots, seed $seed: all samples are what is there");
}

$node->stop;
done_testing();
