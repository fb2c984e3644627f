import assert from "node:assert/strict";
import { test } from "node:test";
import { moduleOf, packageOf, shortName, splitService } from "../../../cluster-agent/web/src/names";

test("names lose their path and keep what distinguishes them", () => {
  const cases: [string, string][] = [
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
  ];
  for (const [name, short] of cases) assert.equal(shortName(name), short);
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
    ["do_syscall_64", "[kernel]", "[kernel]"],
    ["main", "src/server/main.c", "src/server"],
    ["python3.11", "", "python3.11"],
    ["kworker/0:2", "", "kworker"],
    ["[unknown]", "", ""],
  ];
  for (const [name, file, want] of cases) assert.equal(packageOf(name, file), want, name);
});

test("the module is the file of the code", () => {
  assert.equal(moduleOf("malloc", "[libc.so.6]"), "libc.so.6");
  assert.equal(moduleOf("main", "src/server/main.c"), "src/server");
  assert.equal(moduleOf("f", "main.c"), "main.c");
  assert.equal(moduleOf("burn", ""), "burn");
});

test("a service is a group and a name", () => {
  assert.deepEqual(splitService("/process/burn"), { group: "process", name: "burn" });
  assert.deepEqual(splitService("/k8s/shop/catalog"), { group: "k8s / shop", name: "catalog" });
  assert.deepEqual(splitService("/kernel"), { group: "", name: "kernel" });
  assert.deepEqual(splitService("/"), { group: "", name: "/" });
});
