// The judge of stacks of Python: what it must find wrong.
"use strict";

const assert = require("node:assert");
const { test } = require("node:test");
const { Truth, folded, peerVerdict, tally, verdict } = require("./python_judge");

const file = "/tmp/known_paths.py";
const fn = (name, start, lines, where = file) => ({ name, file: where, start, lines });
const functions = [
  fn("<module>", 1, [1, 90]),
  fn("acc_main", 70, [70, 71]),
  fn("acc_turn", 60, [60, 61, 62]),
  fn("Acc.acc_method", 10, [10, 11]),
  fn("acc_spin", 2, [2, 3, 4]),
  fn("Thread._bootstrap", 900, [902], "/usr/lib/threading.py"),
  fn("acc_thread_one", 30, [31]),
];
const truth = new Truth({
  functions,
  nodes: [
    [-1, 0, 0],
    [0, 90, 1],
    [1, 71, 2],
    [2, 61, 3],
    [3, 11, 4],
    [2, 62, 4], // through C
    [-1, 1, 5],
    [6, 902, 6],
    [7, 31, 4],
  ],
  through_c: [5],
});
const python = (number, line) => {
  const { name, file: where, start } = functions[number];
  return { name, file: where, object: "", line, startLine: start };
};
const native = (name) => ({ name, file: "[libpython.so]", object: "/libpython.so", line: 0 });
const below = [native("_start"), python(0, 90), python(1, 71)];
const good = [...below, python(2, 61), python(3, 11), python(4, 3), native("PyNumber_Add")];
const through = [...below, python(2, 62), native("list_sort"), python(4, 3)];
const thread = [native("clone3"), python(5, 902), python(6, 31), python(4, 4)];
const fault = (frames, takesTurns = true) => verdict(frames, truth, takesTurns)?.fault;

test("paths that were traced are true, and beginnings of them", () => {
  for (const frames of [good, good.slice(0, 5), through, thread])
    assert.strictEqual(fault(frames), "");
});

test("a function that is left out, added or called otherwise is found", () => {
  // there is such a call, at another line
  assert.strictEqual(fault(good.filter((_, i) => i !== 4)), "another line");
  assert.strictEqual(fault([...good.slice(0, 5), python(3, 11), ...good.slice(5)]), "another path");
  assert.strictEqual(fault([...below.slice(0, 2), ...good.slice(3)]), "another path");
});

test("lines of calls, of what runs, and of starts must be right", () => {
  const at = (i, change) => good.map((f, j) => (i === j ? { ...f, ...change } : f));
  for (const bad of [at(4, { line: 10 }), at(5, { line: 5 }), at(4, { startLine: 9 })]) {
    const v = verdict(bad, truth, true);
    assert.deepStrictEqual([v.fault, v.names, v.lines], ["another line", true, false]);
  }
});

test("a path is where its thread is, and below what has called it", () => {
  assert.strictEqual(fault([native("clone3"), ...good.slice(1)]), "a path of another thread");
  assert.strictEqual(fault([native("_start"), ...thread.slice(1)]), "a path of another thread");
  assert.strictEqual(
    fault(through.filter((_, i) => i !== 4)),
    "nothing between a call through C",
  );
});

test("native frames may be left out of a stack that is true from its root on", () => {
  const cut = [...good.slice(0, 4), native("[truncated]"), ...good.slice(4)];
  const v = verdict(cut, truth, true);
  assert.deepStrictEqual([v.fault, v.whole, v.rooted], ["[truncated]", false, true]);
  assert.ok(!verdict([native("[truncated]"), ...good.slice(1)], truth, true).rooted);
  assert.ok(!verdict(cut.filter((_, i) => i !== 5), truth, true).rooted);
});

test("stacks that are cut, or have no path while the program takes turns, are found", () => {
  assert.strictEqual(fault([native("[truncated]"), ...good.slice(1)]), "[truncated]");
  assert.strictEqual(fault(good.slice(1)), "no start");
  const none = [native("_start"), native("PyEval_EvalCode")];
  assert.strictEqual(fault(none), "no path of the program");
  assert.strictEqual(fault(none, false), "");
  assert.strictEqual(fault([native("clone3"), native("thread_run")]), "");
  const exit = { name: "do_exit", file: "[kernel]", object: "", line: 0 };
  assert.strictEqual(verdict([...good, exit], truth, true), null);
});

test("frames that say the state of a thread are not functions", () => {
  const state = { name: "(garbage collection)", file: "", object: "", line: 0 };
  assert.strictEqual(fault([...good, state]), "");
});

test("stacks that another profiler has folded are judged without classes and folders", () => {
  const text =
    "<module> (known_paths.py:90);acc_main (known_paths.py:71);acc_turn (known_paths.py:61);" +
    "acc_method (known_paths.py:11) 3\n<module> (known_paths.py:90) 1\n" +
    "_start (python);<module> (known_paths.py:90);acc_main (x/known_paths.py:71);" +
    "acc_turn (known_paths.py:60);acc_method (known_paths.py:11);PyNumber_Add (python) 2\n";
  const sum = tally(folded(text), (frames) => peerVerdict(frames, truth, false));
  assert.deepStrictEqual([sum.samples, sum.names, sum.lines], [6, 5, 3]);
});
