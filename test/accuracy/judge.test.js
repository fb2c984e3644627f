// The judge itself: a stack that is known to be whole and true, and the same broken in each way
// that a walk could break it.
"use strict";

const assert = require("node:assert");
const { test } = require("node:test");

const { beginnings, chain, going, rusty } = require("./chains");
const { bareName, faultLines, judge, ownName, seenBy, verdict } = require("./judge");

// As the agent names them: source code, an object in brackets, or an address in an object.
const program = "c-o2";
const own = (name) => ({ name, file: "chain.c" });
const libc = (name) => ({ name, file: "[libc.so.6]" });
const kernel = (name) => ({ name, file: "[kernel]" });

const start = [
  { name: "_start", file: `[${program}]` },
  libc("__libc_start_call_main"),
  own("main"),
];
const work = ["acc_turn", ...[1, 2, 3, 4, 5, 6, 7, 8].map((n) => `acc_plain_${n}`), "acc_spin"];
const good = [...start, ...work.map(own)];
const sorted = [
  ...start,
  ...["acc_turn", "acc_sort"].map(own),
  libc("msort_with_tmp.part.0"),
  libc("qsort_r"),
  ...["acc_compare", "acc_spin"].map(own),
];

// What perf has seen, with the objects of both.
const object = (frame) => ({
  ...frame,
  file: "",
  object: frame.file === "[libc.so.6]" ? "/usr/lib/libc.so.6" : `/tmp/${program}`,
});
const calls = new Set();
seenBy([{ frames: start.map(object) }, { frames: sorted.map(object) }], program, calls);
const rules = { beginnings: beginnings(chain), calls, program };

const says = (frames, what, more = {}) =>
  assert.strictEqual(verdict(frames, { ...rules, ...more }), what);
const without = (name) => good.filter((f) => f.name !== name);
const behind = (name, ...added) => good.flatMap((f) => (f.name === name ? [f, ...added] : [f]));

test("a whole and true stack is good, and so is every beginning of it", () => {
  for (let n = 1; n <= good.length; n++) says(good.slice(0, n), "");
  says([...good, kernel("asm_sysvec_apic_timer_interrupt"), kernel("irq_exit_rcu")], "");
  says(sorted, "");
});

test("threads start elsewhere, and a context where no symbol may be", () => {
  const thread = ["acc_thread", ...work.slice(1)].map(own);
  says([libc("__clone3"), libc("start_thread"), ...thread], "");
  says([libc("clone"), libc("start_thread"), ...thread], "");
  says([libc("libc.so.6+0x5a000"), ...["acc_routine", "acc_routine_work"].map(own)], "");
  says(["runtime.goexit.abi0", "runtime.main", "main.main"].map(own), "", {
    beginnings: beginnings(going),
    calls: undefined,
  });
});

test("a start that only perf has a name for is one", () => {
  const stripped = [{ name: `${program}+0x1040`, file: "" }, ...good.slice(1)];
  says(stripped, "no start");
  says(stripped, "", { names: new Map([[`${program}+0x1040`, "_start"]]) });
  const ofBuild = [{ ...stripped[0], file: `[${program}@0a64e853]` }, ...good.slice(1)];
  says(ofBuild, "", { names: new Map([[`${program}+0x1040`, "_start"]]) });
  says(stripped, "no start", { names: new Map([[`${program}+0x1040`, "acc_spin"]]) });
});

test("a stack without its root is not whole", () => {
  for (let n = 1; n < good.length; n++) says(good.slice(n), "no start");
});

test("what the walk says of itself is the verdict", () => {
  for (const mark of ["[truncated]", "[no unwind info]", "[fault]"])
    says([{ name: mark, file: "" }, ...good.slice(3)], mark);
});

test("a stack of the kernel alone lacks that of the program", () => {
  says([kernel("entry_SYSCALL_64"), kernel("do_syscall_64")], "no user stack");
  says([], "no user stack");
});

test("a process that ends has no stack, whatever is left of it", () => {
  for (const name of ["exit_mmap", "exit_mm", "begin_new_exec", "exec_mmap"]) {
    says([kernel("do_syscall_64"), kernel(name)], "none");
    says([{ name: "[truncated]", file: "" }, kernel(name)], "none");
  }
  const gone = { name: "[truncated]", file: "" };
  for (const name of ["do_exit", "load_elf_binary"]) {
    says([gone, libc("_exit"), kernel("do_syscall_64"), kernel(name), kernel("exit_fs")], "none");
    // before, it is there
    says([gone, own("acc_turn"), libc("_exit"), kernel(name)], "[truncated]");
    says([...start, own("acc_turn"), libc("_exit"), kernel(name)], "");
  }
  says([gone, libc("_exit"), kernel("do_syscall_64")], "[truncated]");
  // only the kernel gives up memory
  says([own("exit_mmap")], "no start");
});

test("a caller that is left out is found, wherever it was", () => {
  for (const name of work.slice(0, -1)) says(without(name), "another chain");
});

test("a frame that is not there is found, also of functions that there are", () => {
  for (const name of work) says(behind(name, own("acc_deep")), "another chain");
  for (const name of work) says(behind(name, own(name)), "another chain");
});

test("callers in another order are another chain", () => {
  const at = good.findIndex((f) => f.name === "acc_plain_3");
  says([...good.slice(0, at), good[at + 1], good[at], ...good.slice(at + 2)], "another chain");
});

test("a stack of one chain with the root of another is neither", () => {
  says([...start, ...["acc_thread", ...work.slice(1)].map(own)], "another chain");
});

test("a recursion has as many frames as it has calls", () => {
  const deep = (n) => [...start, own("acc_turn"), ...Array(n).fill(own("acc_deep"))];
  says([...deep(101), own("acc_spin")], "");
  for (const n of [100, 102]) says([...deep(n), own("acc_spin")], "another chain");
});

test("a library that calls what perf has never seen it call was not the caller", () => {
  const wrong = [...start, libc("write"), { name: "f", file: "[libz.so.1]" }];
  says(wrong, "a call that perf has not seen: libc.so.6 → libz.so.1");
  says(wrong, "", { calls: undefined });
  says(wrong, "", { calls: new Set([...calls, "libc.so.6 libz.so.1"]) });
  // by the address in a library without symbols
  says([...start, { name: "libz.so.1+0x1f0", file: "" }], /* its caller is source code */ "");
  says(
    [...start, libc("write"), { name: "libz.so.1+0x1f0", file: "" }],
    "a call that perf has not seen: libc.so.6 → libz.so.1",
  );
  // perf has no name for the kernel's page
  says([...start, libc("clock_gettime"), { name: "__vdso_clock_gettime", file: "[vdso]" }], "");
});

test("the program is the same one under any of its names", () => {
  const seen = new Set();
  seenBy([{ frames: sorted.map(object) }], program, seen);
  assert.deepStrictEqual([...seen].sort(), [
    "libc.so.6 libc.so.6",
    "libc.so.6 program",
    "program libc.so.6",
    "program program",
  ]);
});

test("perf's names are known by where functions begin", () => {
  const frames = [{ name: "_start", file: "", object: "/tmp/x", start: "0x1040" }];
  assert.deepStrictEqual([...seenBy([{ frames }], program, new Set())], [["x+0x1040", "_start"]]);
});

test("names of compilers are those of the source", () => {
  assert.strictEqual(bareName("acc_fill.constprop.0.isra.0"), "acc_fill");
  assert.strictEqual(bareName("void acc_template<std::vector<int>, 3>(int)"), "acc_template");
  assert.strictEqual(bareName("memcpy@@GLIBC_2.14"), "memcpy");
  assert.strictEqual(bareName("qsort@plt"), "qsort");
  assert.strictEqual(ownName(own("chain::acc_spin")), "acc_spin");
  assert.strictEqual(ownName(own("main.accTurn")), "accTurn");
  assert.strictEqual(ownName(own("acc_guard::~acc_guard()")), "acc_guard::~acc_guard");
  assert.strictEqual(ownName(libc("qsort_r")), "");
  assert.strictEqual(ownName(own("main.accTurn.func1")), "");
});

test("main of Rust is called by one of C", () => {
  const rust = [start[0], own("main"), { name: "std::rt::lang_start", file: "" }, own("c::main")];
  says(rust, "", { beginnings: beginnings(rusty), calls: undefined });
  says([...rust, own("c::main")], "another chain", { calls: undefined });
});

test("samples are counted by verdict, and the most frequent example comes first", () => {
  const result = judge(
    [
      { frames: good, count: 5 },
      { frames: without("acc_plain_4"), count: 2 },
      { frames: without("acc_plain_5"), count: 3 },
      { frames: good.slice(1), count: 1 },
      { frames: [kernel("exit_mmap")], count: 7 },
    ],
    rules,
  );
  assert.strictEqual(result.samples, 11);
  assert.strictEqual(result.good, 5);
  assert.strictEqual(result.none, 7);
  const lines = faultLines(result, 1);
  assert.strictEqual(lines.length, 4);
  assert.strictEqual(lines[0], "  5 × another chain");
  assert.match(lines[1], /^ {4}3 × _start;.*acc_plain_4;acc_plain_6/);
  assert.strictEqual(lines[2], "  1 × no start");
});
