#!/usr/bin/perl
# usage: stats.pl RAW SCALE OP TARGET SERIES [REFERENCE]
# One row's figures out of the raw numbers (part/series, round, value), tab
# separated: median and interval of SERIES, median of REFERENCE, median and
# interval of their ratio round by round, verdict on "OP TARGET".
#
# The target is met or missed when the whole interval says so, else only the
# median does.  OP is one of <=, >=, "near 1" and "near 0" (by at most TARGET),
# or - for none.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Stats qw(median interval);

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
