import assert from "node:assert/strict";
import { test } from "node:test";
import {
  applyEdits,
  EVERY,
  findFunction,
  functionColumns,
  functionValues,
  invert,
  libraryOf,
  sandwich,
  touchesPath,
} from "../../../cluster-agent/web/src/model/transform";
import {
  buildTree,
  nodeFile,
  nodeName,
  shownShare,
  type Tree,
} from "../../../cluster-agent/web/src/model/tree";
import type { Transform } from "../../../cluster-agent/web/src/model/url_state";
import {
  fileOf,
  mergedTexts,
  randomStacks,
  stackTexts,
  treeOfStacks,
  type Stack,
} from "./random_tree";

const edit = (kind: Transform["kind"], name: string, file = fileOf(name)): Transform => ({
  kind,
  name,
  file,
});
const onFrames = (stacks: Stack[], change: (frames: string[]) => string[]): Stack[] =>
  stacks.map((s) => ({ ...s, frames: change(s.frames) }));

// the same edits on a plain list of stacks
const naive: Record<string, (stacks: Stack[], name: string) => Stack[]> = {
  focus: (stacks, name) => stacks.filter((s) => s.frames.includes(name)),
  hide: (stacks, name) => onFrames(stacks, (f) => f.filter((x) => x !== name)),
  hideLibrary: (stacks, file) => onFrames(stacks, (f) => f.filter((x) => fileOf(x) !== file)),
  library: (stacks, file) =>
    onFrames(stacks, (frames) =>
      frames
        .map((x) => (fileOf(x) === file ? file.slice(1, -1) : x))
        .filter((x, i, all) => x !== file.slice(1, -1) || all[i - 1] !== x),
    ),
  recursion: (stacks, name) =>
    onFrames(stacks, (f) => {
      const first = f.indexOf(name);
      return first < 0 ? f : [...f.slice(0, first), ...f.slice(f.lastIndexOf(name))];
    }),
  everyRecursion: (stacks) =>
    onFrames(stacks, (frames) => {
      const out: string[] = [];
      for (const f of frames) {
        const at = out.indexOf(f);
        if (at >= 0) out.length = at + 1;
        else out.push(f);
      }
      return out;
    }),
};

function checkTree(t: Tree): void {
  for (let i = 0; i < t.n; i++) {
    let total = t.self[i];
    let base = t.baseSelf?.[i] ?? 0;
    let before = "";
    for (let k = i + 1; k < t.end[i]; k = t.end[k]) {
      total += t.total[k];
      base += t.baseTotal?.[k] ?? 0;
      const name = `${nodeName(t, k)}\n${nodeFile(t, k)}`;
      assert.ok(before < name, "children are sorted, and each is there once");
      before = name;
    }
    assert.equal(t.total[i], total);
    assert.equal(t.baseTotal?.[i] ?? 0, base);
  }
}

test("every edit of a tree is the edit of each of its stacks", () => {
  for (let seed = 1; seed <= 40; seed++) {
    const stacks = randomStacks(seed, 60);
    const t = treeOfStacks(stacks);
    const sum = t.total[0];
    const same = (got: Tree, want: Stack[], keeps = true): void => {
      checkTree(got);
      assert.deepEqual(stackTexts(got), mergedTexts(want));
      if (keeps) assert.equal(got.total[0], sum, "no value is lost");
      assert.deepEqual(got.whole, t.whole);
    };
    for (const name of ["a", "b", "g"]) {
      same(applyEdits(t, [edit("focus", name)]), naive.focus(stacks, name), false);
      same(applyEdits(t, [edit("hide", name)]), naive.hide(stacks, name));
      same(applyEdits(t, [edit("recursion", name)]), naive.recursion(stacks, name));
    }
    same(applyEdits(t, [edit("library", "", "[odd]")]), naive.library(stacks, "[odd]"));
    same(applyEdits(t, [edit("hide", "", "[even]")]), naive.hideLibrary(stacks, "[even]"));
    same(applyEdits(t, [edit("recursion", EVERY, "")]), naive.everyRecursion(stacks, ""));
    same(
      invert(t),
      onFrames(stacks, (f) => [...f].reverse()),
    );
    same(invert(invert(t)), stacks);
    // in the order in which they were made
    same(
      applyEdits(t, [edit("hide", "a"), edit("recursion", "b"), edit("library", "", "[even]")]),
      naive.library(naive.recursion(naive.hide(stacks, "a"), "b"), "[even]"),
    );
    const focused = applyEdits(t, [edit("focus", "c"), edit("hide", "c")]);
    same(focused, naive.hide(naive.focus(stacks, "c"), "c"), false);
    assert.ok(Math.abs(shownShare(focused) - focused.total[0] / sum) < 1e-12);
  }
});

test("edits of what the tree does not have change nothing, a focus on it leaves nothing", () => {
  const t = treeOfStacks(randomStacks(5, 30));
  for (const kind of ["hide", "recursion", "library"] as const)
    assert.equal(applyEdits(t, [edit(kind, "nowhere", "[x]")]), t);
  const none = applyEdits(t, [edit("focus", "nowhere", "[x]")]);
  assert.deepEqual([none.n, none.total[0], none.baseTotal?.[0], shownShare(none)], [1, 0, 0, 0]);
  assert.equal(applyEdits(none, [edit("hide", "a")]).n, 1);
  assert.equal(invert(none).n, 1);
});

test("a link of another release finds the functions of this one", () => {
  const t = buildTree({
    names: ["total", "main", "scan"],
    files: ["", "main.go", "/go/yaml@v1.2.3/scan.go", "/go/json@v1.2.3/scan.go"],
    nodes: {
      name: [0, 1, 2, 2],
      file: [0, 1, 2, 3],
      depth: [0, 1, 2, 2],
      total: [9, 9, 5, 4],
      self: [0, 0, 5, 4],
    },
  });
  const file = "/build/yaml@v1.3.0/scan.go";
  assert.equal(nodeFile(t, t.fn.indexOf(findFunction(t, "scan", file))), t.files[2]);
  assert.equal(findFunction(t, "scan", "/go/toml@v1.2.3/scan.go"), -1);
  assert.equal(applyEdits(t, [edit("hide", "scan", file)]).n, 3);
  assert.equal(applyEdits(t, [edit("focus", "scan", file)]).total[0], 5);
});

test("both halves of a sandwich count each stack once, by the outermost call", () => {
  for (let seed = 1; seed <= 20; seed++) {
    const stacks = randomStacks(seed, 60);
    const t = treeOfStacks(stacks);
    for (const name of ["a", "d"]) {
      const fn = findFunction(t, name, fileOf(name));
      const { callers, callees } = sandwich(t, fn);
      checkTree(callers);
      checkTree(callees);
      const through = naive.focus(stacks, name);
      const up = onFrames(through, (f) => f.slice(0, f.indexOf(name)).reverse());
      const down = onFrames(through, (f) => f.slice(f.indexOf(name) + 1));
      assert.deepEqual(stackTexts(callers), mergedTexts(up));
      assert.deepEqual(stackTexts(callees), mergedTexts(down));
      const { total, baseTotal } = functionValues(t);
      assert.equal(callers.total[0], total[fn]);
      assert.equal(callees.total[0], total[fn]);
      assert.equal(callers.baseTotal?.[0], baseTotal?.[fn]);
      assert.equal(nodeName(callees, 0), name);
      assert.deepEqual(callees.whole, t.whole);
    }
  }
  assert.equal(findFunction(treeOfStacks([]), "a", ""), -1);
});

test("a function's total counts recursive calls once, its own value all of them", () => {
  const stacks = randomStacks(3, 80);
  const t = treeOfStacks(stacks);
  const v = functionValues(t);
  for (const name of ["a", "b", "c"]) {
    const fn = findFunction(t, name, fileOf(name));
    const sum = (all: Stack[]): number => all.reduce((s, x) => s + x.value, 0);
    assert.equal(v.total[fn], sum(naive.focus(stacks, name)));
    assert.equal(v.self[fn], sum(stacks.filter((s) => s.frames.at(-1) === name)));
  }
});

test("the list of functions is that of the tree", () => {
  const t = treeOfStacks(randomStacks(8, 50));
  const v = functionValues(t);
  const list = functionColumns(t);
  assert.equal(list.name.length, new Set(list.name.map((n) => t.names[n])).size);
  list.name.forEach((n, i) => {
    const fn = findFunction(t, t.names[n], t.files[list.file[i]]);
    assert.deepEqual(
      [list.self[i], list.total[i], list.baseSelf?.[i], list.baseTotal?.[i]],
      [v.self[fn], v.total[fn], v.baseSelf?.[fn], v.baseTotal?.[fn]],
    );
  });
  assert.ok(!list.name.some((n) => t.names[n] === "total"));
});

test("an edit that changes the way to a frame takes its zoom with it", () => {
  const t = treeOfStacks([
    { frames: ["a", "b", "c"], value: 1, base: 1 },
    { frames: ["a", "d"], value: 1, base: 1 },
  ]);
  const at = (name: string): number =>
    Array.from({ length: t.n }, (_, i) => i).find((i) => nodeName(t, i) === name) ?? -1;
  assert.equal(touchesPath(t, at("c"), edit("hide", "b")), true);
  assert.equal(touchesPath(t, at("c"), edit("hide", "d")), false);
  assert.equal(touchesPath(t, at("b"), edit("hide", "c")), false);
  assert.equal(touchesPath(t, at("c"), edit("library", "", fileOf("a"))), true);
  assert.equal(touchesPath(t, at("c"), edit("focus", "b")), false);
  assert.equal(touchesPath(t, at("d"), edit("focus", "b")), true);
});

test("an inverted tree that would be too large ends small stacks in other", () => {
  const stacks = randomStacks(9, 400, 20);
  const t = treeOfStacks(stacks);
  const cut = invert(t, 300);
  checkTree(cut);
  assert.equal(cut.total[0], t.total[0]);
  assert.equal(cut.baseTotal?.[0], t.baseTotal?.[0]);
  const whole = invert(t);
  assert.ok(cut.n < whole.n);
  const first = (x: Tree): string[] => {
    const out = [];
    for (let i = 1; i < x.n; i = x.end[i]) out.push(`${nodeName(x, i)} ${x.total[i]}`);
    return out;
  };
  assert.deepEqual(first(cut), first(whole));
  assert.ok(cut.names.includes("other"));
});

test("a frame stays inlined only if all that merged into it were", () => {
  const t = treeOfStacks([
    { frames: ["a", "x", "b"], value: 1, base: 0 },
    { frames: ["a", "b"], value: 1, base: 0 },
  ]);
  const at = (tree: Tree, name: string): number[] =>
    Array.from({ length: tree.n }, (_, i) => i).filter((i) => nodeName(tree, i) === name);
  for (const i of at(t, "b")) t.inlined[i] = 1;
  const all = applyEdits(t, [edit("hide", "x")]);
  assert.deepEqual(
    at(all, "b").map((i) => all.inlined[i]),
    [1],
  );
  t.inlined[at(t, "b")[0]] = 0;
  const some = applyEdits(t, [edit("hide", "x")]);
  assert.deepEqual(
    at(some, "b").map((i) => some.inlined[i]),
    [0],
  );
});

test("the library of a frame is its package or its module", () => {
  assert.equal(libraryOf("runtime.mallocgc", "[app]", "package"), "runtime");
  assert.equal(libraryOf("runtime.mallocgc", "[app]", "module"), "[app]");
  assert.equal(libraryOf("malloc", "[libc.so.6]", "package"), "libc.so.6");
});
