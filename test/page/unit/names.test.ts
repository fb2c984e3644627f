import assert from "node:assert/strict";
import { test } from "node:test";
import {
  clip,
  fullName,
  label,
  moduleOf,
  packageOf,
  shortName,
  splitService,
  visible,
} from "../../../cluster-agent/web/src/model/names";

const shortNames: [string, string][] = [
  ["runtime.mallocgc", "runtime.mallocgc"],
  ["cmd/compile/internal/ssa.Compile", "ssa.Compile"],
  ["github.com/a/b.(*T).Method", "b.(*T).Method"],
  [
    "slices.SortFunc[go.shape.*cmd/compile/internal/ssa.Value]",
    "slices.SortFunc[go.shape.*ssa.Value]",
  ],
  ["std::vector<int, std::allocator<int> >::push_back(int const&)", "vector<…>::push_back"],
  ["a::b::c::Class::method(char**) const", "Class::method"],
  ["<alloc::vec::Vec<T> as core::ops::drop::Drop>::drop", "Vec<…>::drop"],
  ["core::ptr::drop_in_place<T>::h0123456789abcdef", "ptr::drop_in_place<…>"],
  ["void ns::apply<int>(int)", "ns::apply<…>"],
  ["ns::Vec::operator->() const", "Vec::operator->"],
  ["ns::operator<<(std::ostream&, ns::T const&)", "ns::operator<<"],
  ["_PyEval_EvalFrameDefault", "_PyEval_EvalFrameDefault"],
  ["kworker/0:2", "kworker/0:2"],
  ["[unknown]", "[unknown]"],
  ["libfoo.so+0x1234", "libfoo.so+0x1234"],
  ["::", "::"],
  // C++: operators, conversions, lambdas, nested templates
  ["std::map<int, Foo<Bar<Baz<int, 3>>>>::operator[](int const&)", "map<…>::operator[]"],
  [
    "std::map<A, B, std::less<A>, std::allocator<std::pair<A const, B> > >::operator[](A&&)",
    "map<…>::operator[]",
  ],
  ["a::B::operator()(int) const", "B::operator()"],
  ["a::B<int>::operator<(a::B<int> const&) const", "B<…>::operator<"],
  ["a::B<c<d>>::operator>>=(int)", "B<…>::operator>>="],
  ["a::B::operator<=>(a::B const&) const", "B::operator<=>"],
  [
    "std::ostream& std::operator<< <std::char_traits<char> >(std::ostream&, char const*)",
    "std::operator<<<…>",
  ],
  ["a::B::operator bool() const", "B::operator bool"],
  ["a::B::operator std::vector<int, A<int>>() const", "B::operator std::vector<…>"],
  ["operator new(unsigned long)", "operator new"],
  ["operator delete[](void*)", "operator delete[]"],
  ['lib::operator""_kb(unsigned long long)', 'lib::operator""_kb'],
  [
    "a::run(int)::{lambda(std::vector<int>)#1}::operator()(int) const",
    "run::{lambda#1}::operator()",
  ],
  ["a::run()::$_0::operator()() const", "run::$_0::operator()"],
  ["a::B::f(int) const::{lambda()#2}::operator()() const", "f::{lambda#2}::operator()"],
  ["(anonymous namespace)::f(int)", "(anonymous namespace)::f"],
  ["std::vector<a::b<(3>2)>> const& ns::T::get<int>() const &", "T::get<…>"],
  ["std::basic_string<char>::append[abi:cxx11](char const*)", "basic_string<…>::append"],
  ["ns::hot(int) [clone .isra.0]", "ns::hot"],
  ["ns::on(void (*)(int), std::function<void ()>)", "ns::on"],
  ["non-virtual thunk to ns::T::f()", "T::f"],
  ["et_splay(et_occ*)", "et_splay"],
  ["operators::apply(int)", "operators::apply"],
  // Rust
  ["<impl core::fmt::Debug for shop::Cart>::fmt", "Cart::fmt"],
  ["<&mut shop::Cart<T> as core::iter::Iterator>::next", "Cart<…>::next"],
  [
    "tokio::task::core::Core<T,S>::poll::{{closure}}::h0123456789abcdef",
    "Core<…>::poll::{{closure}}",
  ],
  ["<F as core::ops::FnOnce<fn() -> T>>::call_once", "F::call_once"],
  ["alloc::slice::<impl [T]>::sort", "slice::sort"],
  ["shop::{impl#3}::add", "shop::{impl#3}::add"],
  // Go, Java, Python, Node
  ["main.Map[go.shape.int,go.shape.string].Get", "main.Map[go.shape.int,go.shape.string].Get"],
  [
    "a/b.F[go.shape.struct { a/b.X int; a/b.Y int; a/b.Z string; a/b.W string }].Get",
    "b.F[…].Get",
  ],
  ["main.T.Method", "main.T.Method"],
  ["java.util.concurrent.ThreadPoolExecutor$Worker.run", "ThreadPoolExecutor$Worker.run"],
  ["java/util/HashMap.put", "HashMap.put"],
  ["jdk.proxy.$Proxy.call", "$Proxy.call"],
  ["java.util.ArrayList.<init>", "ArrayList.<init>"],
  ["com.shop.Cart.add(Item, int)", "Cart.add"],
  ["<module>", "<module>"],
  ["Cart.add", "Cart.add"],
  ["LazyCompile:*processTicks", "processTicks"],
  ["JS:~anonymous", "anonymous"],
];

test("functions of files without names have the package that their names say", () => {
  const of = (name: string): string => packageOf(name, "");
  assert.equal(of("main.(*Cache).put"), "main");
  assert.equal(of("encoding/json.Marshal"), "encoding/json");
  assert.equal(of("std::map<int>::find"), "std");
  assert.equal(of("kworker/0:1-events"), "kworker"); // a process
});

test("names lose their path and keep what distinguishes them", () => {
  for (const [name, short] of shortNames) assert.equal(shortName(name), short);
});

test("no name becomes empty", () => {
  for (const name of [
    "/",
    "a/b/",
    "<",
    ">",
    "()",
    "::()",
    "<>::",
    "(anonymous namespace)::f()",
    "operator",
    "a::operator",
    "a::operator<",
    "a::b<(",
    "{",
    "a::{",
    "a:: ",
    "JS:",
    "a/.",
    "->",
  ])
    assert.notEqual(shortName(name), "", name);
});

test("the package is what a reader would call it", () => {
  const cases: [string, string, string][] = [
    ["cmd/compile/internal/ssa.(*Func).f", "[compile]", "cmd/compile/internal/ssa"],
    ["runtime.mallocgc", "[compile]", "runtime"],
    ["slices.SortFunc[go.shape.*cmd/x.V]", "[compile]", "slices"],
    ["std::vector<int>::push_back(int)", "[libstdc++.so.6]", "std"],
    ["<alloc::vec::Vec<T> as core::ops::drop::Drop>::drop", "[indexer]", "alloc"],
    ["void ns::apply<int>(int)", "[x]", "ns"],
    ["encode.isra.0", "[python3.11]", "python3.11"],
    ["f.constprop.0.cold", "[a]", "a"],
    ["malloc", "[libc.so.6]", "libc.so.6"],
    ["burn+0x1234", "[burn]", "burn"],
    ["burn+0x1234", "[burn@0a64e85344cbd7c1]", "burn"],
    ["lib@x.so+0x1234", "[lib@x.so:0a64e85344cbd7c1]", "lib@x.so"],
    ["do_syscall_64", "[kernel]", "[kernel]"],
    ["main", "src/server/main.c", "src/server"],
    ["python3.11", "", "python3.11"],
    ["kworker/0:2", "", "kworker"],
    ["[unknown]", "", ""],
    ["std::vector<int> const& ns::f<int>()", "[x]", "ns"],
    ["std::map<A<B>, C>::operator[](A<B>&&)", "[x]", "std"],
    ["(anonymous namespace)::f()", "[x]", "x"],
    ["<impl core::fmt::Debug for shop::Cart>::fmt", "[x]", "shop"],
    ["java.util.HashMap.put", "[libjvm.so]", "java.util"],
    ["java/util/HashMap.put", "[perf-1.map]", "java/util"],
    ["Cart.add", "/srv/shop/cart.py", "/srv/shop"],
    ["get", "/usr/lib/python3/dist-packages/requests/api.py", "requests"],
    ["loads", "/usr/lib/python3.11/json/decoder.py", "json"],
    ["join", "/usr/lib64/python3.9/posixpath.py", "posixpath"],
    ["Handle._run", "/opt/py/lib/python3.13t/asyncio/events.py", "asyncio"],
    ["loads", "/usr/lib/python311.zip/json/decoder.py", "json"],
    ["f", "/v/lib/python3.8/site-packages/attrs-21.4.0-py3.8.egg/attr/_make.py", "attrs"],
    ["f", "/v/lib/python3.8/site-packages/six.py", "six"],
    ["Model.save", "/v/lib/python3.12/site-packages/django/db/models/base.py", "django"],
    ["_find_and_load", "<frozen importlib._bootstrap>", "importlib"],
    ["_run_code", "<frozen_runpy>", "runpy"],
    ["Sized", "<frozen__collections_abc>", "_collections_abc"],
    ["Shop.sell", "<string>", "<string>"],
    ["Shop.<locals>.<lambda>", "<generated>", "<generated>"],
    ["handle", "/app/node_modules/@scope/express/lib/router.js", "@scope/express"],
    ["emit", "node:events", "node"],
    ["main.Map[go.shape.int].Get", "main.go", "main"],
    // Java: the file is the class; its package is one whatever its depth and its capitals
    ["java.util.HashMap.put", "java/util/HashMap", "java.util"],
    ["app.Main.lambda$run$0", "app/Main", "app"],
    ["com.example.Shop$Cart.<init>", "com/example/Shop", "com.example"],
    ["org.Acme.Tool.run", "org/Acme/Tool", "org.Acme"],
    ["Main.main", "Main", "Main"],
    ["java.util.HashMap.put", "HashMap.java", "java.util"],
    // generated classes have no file
    ["jdk.proxy.$Proxy.call", "", "jdk.proxy"],
    ["shop.$Proxy.call", "", "shop"],
    ["java.lang.invoke.LambdaForm$DMH.invokeStatic", "", "java.lang.invoke"],
    ["jdk.internal.reflect.GeneratedMethodAccessor.invoke", "", "jdk.internal.reflect"],
    ["my.tool", "", "my.tool"],
    ["G1ParScanThreadState::trim_queue(unsigned int)", "[libjvm.so]", "G1ParScanThreadState"],
    ["JVM_Sleep", "[libjvm.so]", "libjvm.so"],
    ["futex_wait", "[kernel]", "[kernel]"],
  ];
  for (const [name, file, want] of cases) assert.equal(packageOf(name, file), want, name);
});

test("the module is the file of the code", () => {
  assert.equal(moduleOf("malloc", "[libc.so.6]"), "libc.so.6");
  assert.equal(moduleOf("main", "src/server/main.c"), "src/server");
  assert.equal(moduleOf("f", "main.c"), "main.c");
  assert.equal(moduleOf("burn", ""), "burn");
  assert.equal(moduleOf("jdk.proxy.$Proxy.call", ""), "jdk/proxy");
});

test("a service is a group and a name", () => {
  assert.deepEqual(splitService("/process/burn"), { group: "process", name: "burn" });
  assert.deepEqual(splitService("/k8s/shop/catalog"), { group: "k8s / shop", name: "catalog" });
  assert.deepEqual(splitService("/kernel"), { group: "", name: "kernel" });
  assert.deepEqual(splitService("/"), { group: "", name: "/" });
});

test("characters that cannot be seen are written out", () => {
  assert.equal(visible("a\u202eb\u200bc\ufeff"), "a\\u{202e}b\\u{200b}c\\u{feff}");
  assert.equal(visible("x\ud800\u0007\u{e0041}"), "x\\u{d800}\\u{7}\\u{e0041}");
  assert.equal(visible("größe 函数 🙂 שלום"), "größe 函数 🙂 שלום");
  assert.equal(label("pay/ment.\u202eRefund"), "ment.\\u{202e}Refund");
});

test("long names keep both ends, and no character is cut in two", () => {
  const long = "a".repeat(3000) + "::" + "b".repeat(1000);
  const short = fullName(long);
  assert.equal(Array.from(short).length, 400);
  assert.ok(short.startsWith("aaa") && short.endsWith("bbb") && short.includes("…"));
  assert.equal(clip("short", 10), "short");
  for (let n = 5; n < 30; n++)
    assert.ok(!/\\u\{d8/.test(visible(clip("🙂".repeat(40), n))), String(n));
});

test("names of any form are read in time that grows with their length", () => {
  const evil = [
    "<",
    "(",
    "operator",
    "a::",
    "<a ",
    "operator(",
    "::<",
    " as ",
    "&mut ",
    "a.",
    "[",
    "x/",
  ];
  for (const part of evil) {
    const name = part.repeat(Math.ceil(4000 / part.length));
    const begin = process.cpuUsage().user;
    assert.notEqual(shortName(name), "");
    packageOf(name, "[x]");
    assert.ok(process.cpuUsage(undefined).user - begin < 5e6, `${part} takes seconds`);
  }
});
