# Work in the interpreter and in functions of its C code: interpreted.pl SECONDS
use strict;
use warnings;

sub spin { my ($n) = @_; my $x = 1; $x = ($x * 1103515245 + 12345) & 0x7fffffff for 1 .. $n; $x }
sub recurse { my ($n) = @_; $n ? recurse($n - 1) + 1 : spin(2000) }

sub turn {
    recurse(30);
    my @sorted = sort { spin(3); $a <=> $b } map { $_ * 7919 % 101 } 1 .. 100;
    my $text = join ' ', map { "word-$_" } 1 .. 200;
    $text =~ s/(\w+)-(\d+)/$2$1/g;
    my %count;
    $count{$_}++ for split /\s+/, $text;
    my $sum = 0;
    $sum += length sprintf "%s %d %.3f", $_, $sorted[3], rand for keys %count;
}

no warnings 'recursion';
turn() while times < $ARGV[0];
