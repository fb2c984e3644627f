<?php
function burn($n) {
    for ($x = 1, $i = 0; $i < $n; $i++) $x = ($x * 48271) % 2147483647;
    return $x;
}
class Shop {
    function pay($n) { return burn($n); }
    static function total($n) {
        return (new self())
            ->pay($n);
    }
    function __call($name, $arguments) { return burn($arguments[0]); }
}
function steps($n) { for ($i = 0; $i < 3; $i++) yield burn($n); }
function deep($depth, $n) {
    return $depth > 0
        ? deep($depth - 1, $n)
        : burn($n);
}
$callback = function ($n) { return burn($n); };
$nameless = new class { function go($n) { return burn($n); } };
do {
    Shop::total(50000);
    array_map($callback, [25000, 25000]);
    foreach (steps(20000) as $step);
    deep(50, 50000);
    call_user_func('burn', 50000);
    (new Shop())->other(50000);
    $nameless->go(50000);
    eval("burn(50000);");
    hash('sha256', str_repeat('x', 1 << 20));
    preg_replace_callback('/x/', fn($x) => preg_replace_callback('/y/', fn($y) => burn(50000), 'y'), 'x');
} while (PHP_SAPI === 'cli'); // else once a request
