#!/usr/bin/perl
# usage: stats.pl RAW SCALE OP TARGET SERIES [REFERENCE]
# One row's figures out of the raw numbers (part/series, round, value), tab
# separated: median and interval of SERIES, median of REFERENCE, median and
# interval of their ratio round by round, verdict on "OP TARGET".
#
# Intervals are for the median, by order statistics: no assumption about the
# distribution, at least 95 % from six rounds on, the range below that.
# The target is met or missed when the whole interval says so, else only the
# median does.  OP is one of <=, >=, "near 1" and "near 0" (by at most TARGET),
# or - for none.
use strict;
use warnings;

my ($raw, $scale, $op, $target, $series, $reference) = @ARGV;
my %values;

open my $fh, '<', $raw or die "$raw: $!";
while (<$fh>)
{
	chomp;
	my ($name, $round, $value) = split /\t/, $_, -1;
	die "$name: \"$value\" is no number\n" if $value !~ /^-?[0-9.]+(e[-+]?\d+)?$/;
	$values{$name}{$round} = $value;
}

sub median
{
	my @s = sort { $a <=> $b } @_;
	return @s % 2 ? $s[$#s / 2] : ($s[@s / 2 - 1] + $s[@s / 2]) / 2;
}

# The k-th smallest and largest, where k is as large as 95 % allow.
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

sub holds
{
	my $v = shift;
	return $v <= $target if $op eq '<=';
	return $v >= $target if $op eq '>=';
	return abs($v - 1) <= $target if $op eq 'near 1';
	return abs($v) <= $target if $op eq 'near 0';
	die "unknown operator $op\n";
}

sub judge
{
	my ($median, $low, $high) = @_;
	return '-' if $op eq '-';
	return 'met' if holds($low) && holds($high);
	return 'median met' if holds($median);
	return 'median missed' if holds($low) || holds($high);
	return 'missed';
}

my %of = %{ $values{$series} or die "no such series: $series\n" };
my @own = map { $_ * $scale } values %of;
my @out = (median(@own), interval(@own));

if (defined $reference)
{
	my %other = %{ $values{$reference} or die "no such series: $reference\n" };
	my @ratios = map { $of{$_} / $other{$_} }
	  grep { exists $other{$_} && $other{$_} != 0 } keys %of;
	my @r = (median(@ratios), interval(@ratios));
	push @out, median(map { $_ * $scale } values %other), @r, judge(@r);
}
else
{
	push @out, ('-') x 4, judge(@out);
}
print join("\t", @out), "\n";
