// The judge of scripts, with stacks that are broken in each way that it judges.
"use strict";

const assert = require("node:assert");
const { test } = require("node:test");
const { ScriptRules, withoutLines } = require("./script_judge");

const language = {
  chains: ["a\\.php:\\d+", "a\\.php:(2|3) f:5( \\[native\\] g:(7|8))?"],
  isOwn: (f) => f.file === "a.php",
};
const rules = new ScriptRules(language);
const own = (name, line) => ({ name, line, file: "a.php" });
const native = (name) => ({ name, line: 0, file: "[php]", object: "php" });
const kernel = (name) => ({ name, line: 0, file: "[kernel]" });
const start = [native("_start"), native("main")];
const script = own("a.php", 2);
const verdict = (frames, of = rules) => of.verdict(frames);

test("a stack that is a known chain from the start is whole and true", () => {
  const frames = [...start, script, own("f", 5), native("zend_call"), own("g", 8), kernel("read")];
  const { fault, whole, names, lines } = verdict(frames);
  assert.deepStrictEqual([fault, whole, names, lines], ["", true, true, true]);
});

test("a stripped program starts in what calls the C library's start", () => {
  const frames = [native("php+0x1234"), native("__libc_start_main"), script];
  assert.strictEqual(verdict(frames).fault, "");
  assert.strictEqual(verdict([native("php+0x1234"), script]).fault, "no start");
});

test("a virtual thread of Java starts at its mark", () => {
  assert.strictEqual(verdict([native("[virtual thread]"), script, own("f", 5)]).fault, "");
  assert.strictEqual(verdict([native("[truncated]"), script]).fault, "[truncated]");
});

test("another function, or one that is missing or doubled, is another chain", () => {
  const wrong = [
    [script, own("h", 5)],
    [script, own("g", 8)],
    [script, own("f", 5), own("g", 8)],
    [script, own("f", 5), own("f", 5)],
    [own("f", 5)],
    [script, own("[unknown]", 5)],
  ];
  for (const frames of wrong) {
    const v = verdict([...start, ...frames]);
    assert.match(v.fault, /^another chain/);
    assert.ok(v.whole && !v.names && !v.lines);
  }
});

test("another line is another line", () => {
  const v = verdict([...start, own("a.php", 4), own("f", 5)]);
  assert.match(v.fault, /^another line/);
  assert.ok(v.names && !v.lines);
});

test("a stack without its start, or with a mark, is not whole", () => {
  assert.strictEqual(verdict([native("main"), script]).fault, "no start");
  assert.strictEqual(verdict([native("[truncated]"), script]).fault, "[truncated]");
  assert.strictEqual(verdict([kernel("read")]).fault, "no start");
});

test("a stack without the script is wrong, unless it may be native", () => {
  const mayBeNative = (names) => !names.includes("execute_ex");
  const server = new ScriptRules({ ...language, mayBeNative });
  assert.strictEqual(verdict([...start]).fault, "no frames of the script");
  assert.strictEqual(verdict([...start, native("accept")], server), null);
  // what is missing may be the script
  const cut = [native("[truncated]"), native("accept")];
  assert.strictEqual(verdict(cut, server).fault, "[truncated]");
  const executes = [...start, native("execute_ex")];
  assert.strictEqual(verdict(executes, server).fault, "no frames of the script");
});

test("a fiber begins in the interpreter", () => {
  const fibers = new ScriptRules({ ...language, fiber: /^a\.php/ });
  assert.strictEqual(verdict([native("fiber_entry"), script], fibers).fault, "");
  assert.strictEqual(verdict([native("fiber_entry"), script]).fault, "no start");
  assert.strictEqual(verdict([native("fiber_entry"), own("f", 5)], fibers).fault, "no start");
  assert.strictEqual(verdict([script], fibers).fault, "no start");
});

test("a process that ends has no stack any more", () => {
  assert.strictEqual(verdict([kernel("do_exit")]), null);
});

test("a state of the thread is no function", () => {
  const state = { name: "(garbage collection)", line: 0, file: "" };
  assert.strictEqual(verdict([...start, script, own("f", 5), state]).fault, "");
});

test("patterns match any line once their lines are left out", () => {
  assert.strictEqual(withoutLines("a:5( b:(2|3))? c:\\d+"), "a:\\d+( b:\\d+)? c:\\d+");
  assert.strictEqual(withoutLines("A::b:(\\d+)"), "A::b:\\d+");
  assert.strictEqual(withoutLines("{closure(:[^ ]*)?}:20"), "{closure(:[^ ]*)?}:\\d+");
});
