package Stats;

# Medians, and intervals for them.
use strict;
use warnings;
use Exporter 'import';

our @EXPORT_OK = qw(median interval);

sub median
{
	my @s = sort { $a <=> $b } @_;
	return @s % 2 ? $s[$#s / 2] : ($s[@s / 2 - 1] + $s[@s / 2]) / 2;
}

# By order statistics, the k-th smallest and largest, where k is as large as
# 95 % allow: no assumption about the distribution, at least 95 % from six
# values on, the range below that.
sub interval
{
	my @s = sort { $a <=> $b } @_;
	my ($n, $tail, $term, $k) = (scalar @s, 0, 0.5**@s, 0);
	while ($k < $n / 2)
	{
		last if 2 * ($tail + $term) > 0.05;
		$tail += $term;
		$term *= ($n - $k) / ($k + 1);
		$k++;
	}
	$k = 1 if $k == 0;
	return ($s[$k - 1], $s[$n - $k]);
}

1;
