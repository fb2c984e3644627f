use strict;
use warnings;
use List::Util qw(first);
sub burn {
    my ($n, $x) = (shift, 1);
    for (1 .. $n) { $x = ($x * 48271) % 2147483647 }
    return $x;
}
sub deep {
    my ($depth, $n) = @_;
    return deep($depth - 1, $n) if $depth > 0;
    return burn($n);
}
sub by_burn { burn(5000); return $a <=> $b }
sub make { my $n = shift; return sub { return burn($n) } }
sub caught { return eval { burn($_[0]) } }
package Shop;
use overload
    '+' => sub { return $_[0]->sum($_[1]) },
    '-' => sub { return main::caught($_[1]) };
sub new { return bless {}, shift }
sub sum { return main::burn($_[1]) }
sub pay { return main::burn($_[1]) }
sub AUTOLOAD { return main::burn($_[1]) }
sub DESTROY { main::burn(20000) }
package Drawer;
sub TIESCALAR { return bless [], shift }
sub FETCH { return main::burn(20000) }
package main;
tie my $drawer, 'Drawer';
my $shop = Shop->new;
my ($sum, @list);
while (1) {
    burn(20000);
    $shop->pay(20000);
    $shop->other(20000);
    make(20000)->();
    deep(50, 20000);
    @list = sort { burn(5000); $a <=> $b } 1 .. 3;
    @list = sort by_burn 1 .. 3;
    $sum = first { burn(20000) } 1;
    ($sum = 'ab') =~ s/b/burn(20000)/e;
    eval { burn(20000) };
    eval 'burn(20000)';
    $sum = $shop + 20000;
    $sum = $shop - 20000;
    { my $gone = Shop->new; }
    $sum = $drawer;
    eval { $sum = $shop + 20000 };
    eval q(
        sub { burn(20000) }->());
    @list = sort { by_burn() } 1 .. 3;
    matched(20000);
    $sum = eval { $sum = burn(20000); die "x\n" };
}
sub matched { return "a" =~ /a(?{ burn($_[0]) })/ }
