import assert from "node:assert/strict";
import { test } from "node:test";
import {
  colorKey,
  CLASS_KERNEL,
  CLASS_ROOT,
  CLASS_UNKNOWN,
  HUES,
  palettes,
} from "../../../cluster-agent/web/src/model/colors";
import { contrast } from "../../../cluster-agent/web/src/model/contrast";
import {
  assignHues,
  classOf,
  FunctionClasses,
  selfShares,
} from "../../../cluster-agent/web/src/model/hues";
import { applyEdits } from "../../../cluster-agent/web/src/model/transform";
import { buildTree, nodeName, type Tree } from "../../../cluster-agent/web/src/model/tree";
import { randomSource } from "./random_tree";

/** A Go program of many packages; package 0 is the largest. */
function program(seed: number, packages: number): Tree {
  const rnd = randomSource(seed);
  const names = ["total"];
  for (let i = 0; i < packages; i++) names.push(`example.com/p${seed}x${i}.F`);
  const nodes = { name: [0], file: [0], depth: [0], total: [0], self: [0] };
  const grow = (depth: number): number => {
    const i = nodes.name.push(1 + Math.floor(rnd() ** 2 * packages)) - 1;
    nodes.file.push(1);
    nodes.depth.push(depth);
    nodes.total.push(0);
    nodes.self.push(1 + Math.floor(rnd() * 50));
    let total = nodes.self[i];
    for (let k = rnd() * 4 - (depth > 7 ? 4 : 0); k > 0; k--) total += grow(depth + 1);
    return (nodes.total[i] = total);
  };
  for (let k = 0; k < 5; k++) nodes.total[0] += grow(1);
  return buildTree({ names, files: ["", "[app]"], nodes });
}

test("the largest packages never share a hue", () => {
  for (let seed = 1; seed <= 50; seed++) {
    const { legend } = assignHues(program(seed, 40), "package");
    const largest = legend.slice(0, HUES).map((e) => e.hue);
    assert.equal(new Set(largest).size, largest.length);
  }
});

test("neighbours that are wide enough to be seen differ", () => {
  let pairs = 0;
  let alike = 0;
  for (let seed = 1; seed <= 50; seed++) {
    const t = program(seed, 30);
    const classes = new FunctionClasses(assignHues(t, "package"), t);
    for (let i = 1; i < t.n; i++) {
      const p = t.parent[i];
      if (p === 0 || t.fn[i] === t.fn[p] || t.width[i] < t.width[0] / 100) continue;
      pairs++;
      if (classes.of(t.fn[i]) === classes.of(t.fn[p])) alike++;
    }
  }
  assert.ok(pairs > 1000);
  assert.ok(alike < pairs / 200, `${alike} of ${pairs}`); // by hash alone: one in twelve
});

test("hues are the same for the same tree, and kept between views of one application", () => {
  const t = program(3, 40);
  const first = assignHues(t, "package");
  assert.deepEqual(assignHues(t, "package"), first);
  // another view: only what is below one frame, so that the ranks differ
  const part = applyEdits(t, [{ kind: "focus", name: nodeName(t, t.end[1]), file: "[app]" }]);
  const second = assignHues(part, "package", first.hues);
  const kept = second.legend.filter((e) => first.hues.get(e.key) === e.hue).length;
  const free = assignHues(part, "package");
  assert.ok(kept >= free.legend.filter((e) => first.hues.get(e.key) === e.hue).length);
  const large = first.legend.slice(0, HUES).map((e) => e.key);
  for (const e of second.legend.slice(0, HUES))
    if (large.includes(e.key)) assert.equal(e.hue, first.hues.get(e.key));
});

test("own values of packages are shares of the whole, each counted once", () => {
  const t = program(5, 20);
  const shares = selfShares(t, "package");
  const sum = [...shares.values()].reduce((a, b) => a + b, 0);
  assert.ok(Math.abs(sum - 1) < 1e-9, `${sum}`);
  const first = [...t.self].filter((_, i) => nodeName(t, i) === "example.com/p5x0.F");
  const own = first.reduce((a, b) => a + b, 0) / t.total[0];
  assert.ok(Math.abs((shares.get("example.com/p5x0") ?? 0) - own) < 1e-9);
});

test("the kernel, what has no name and the total are grey", () => {
  const c = assignHues(program(1, 5), "package");
  assert.equal(classOf(c, "do_syscall_64", "[kernel]"), CLASS_KERNEL);
  assert.equal(classOf(c, "[unknown]", ""), CLASS_UNKNOWN);
  assert.equal(classOf(c, "other", ""), CLASS_UNKNOWN);
  assert.ok(classOf(c, "never/seen.F", "[app]") < HUES);
  assert.equal(colorKey("malloc", "[libc.so.6]", "module"), "libc.so.6");
  const t = program(1, 5);
  assert.equal(new FunctionClasses(c, t).of(t.fn[0]), CLASS_ROOT);
  assert.equal(
    assignHues(
      buildTree({
        names: [],
        files: [],
        nodes: { name: [], file: [], depth: [], total: [], self: [] },
      }),
      "package",
    ).legend.length,
    0,
  );
});

test("every label can be read on every colour that it is drawn on, in both themes", () => {
  for (const theme of ["light", "dark"] as const) {
    const p = palettes[theme];
    const on = (text: string, ground: string): void =>
      assert.ok(contrast(text, ground) >= 4.5, `${theme} ${text} on ${ground}`);
    for (const fill of p.fill) on(p.text, fill);
    for (const fill of p.dim) on(p.dimText, fill);
    on(p.dimText, p.fill[CLASS_UNKNOWN]);
    on(p.dimText, p.ancestor);
  }
});
