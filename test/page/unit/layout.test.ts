import assert from "node:assert/strict";
import { test } from "node:test";
import { moveCursor } from "../../../cluster-agent/web/src/model/cursor";
import { Layout } from "../../../cluster-agent/web/src/model/layout";
import { buildTree } from "../../../cluster-agent/web/src/model/tree";
import { smallTree } from "./small_tree";

function boxes(l: Layout): string[] {
  return Array.from({ length: l.count }, (_, i) => {
    const what = l.isSliver(i) ? `${l.node[i]}..${l.last[i]}` : `${l.node[i]}`;
    return `${what} row ${l.row[i]} at ${l.x[i].toFixed(1)} wide ${l.w[i].toFixed(1)}`;
  });
}

test("a frame is as wide as its share, and narrow siblings become one sliver", () => {
  const l = new Layout();
  l.compute(smallTree(), 0, 200);
  assert.deepEqual(boxes(l), [
    "0 row 0 at 0.0 wide 200.0",
    "1 row 1 at 0.0 wide 120.0",
    "2 row 2 at 0.0 wide 60.0",
    "3 row 3 at 0.0 wide 50.0",
    "4 row 2 at 60.0 wide 40.0",
    "5 row 1 at 120.0 wide 80.0",
    "6..8 row 2 at 120.0 wide 0.4",
  ]);
  assert.equal(l.rows, 4);
});

test("zooming spreads the subtree below ancestors of full width", () => {
  const l = new Layout();
  l.compute(smallTree(), 5, 200);
  assert.deepEqual(boxes(l), [
    "0 row 0 at 0.0 wide 200.0",
    "5 row 1 at 0.0 wide 200.0",
    "6 row 2 at 0.0 wide 0.5",
    "7 row 2 at 0.5 wide 0.5",
  ]);
});

test("a point finds its frame, its sliver, or nothing", () => {
  const l = new Layout();
  l.compute(smallTree(), 0, 200);
  const node = (row: number, x: number): number => {
    const i = l.at(row, x);
    return i < 0 ? -1 : l.node[i];
  };
  assert.equal(node(0, 199), 0);
  assert.equal(node(1, 119.9), 1);
  assert.equal(node(1, 120), 5);
  assert.equal(node(2, 59), 2);
  assert.equal(node(2, 110), -1); // the parent's own time
  assert.equal(node(2, 119.5), 6); // within a pixel of something tiny
  assert.equal(node(2, 120.7), 6);
  assert.equal(node(3, 70), -1);
  assert.equal(node(9, 10), -1);
  assert.equal(node(-1, 10), -1);
});

test("arrays are kept between computations", () => {
  const l = new Layout();
  const t = smallTree();
  l.compute(t, 0, 200);
  const { node } = l;
  l.compute(t, 1, 900);
  assert.equal(l.node, node);
});

test("arrow keys lead to the parent, the widest child and the neighbours", () => {
  const l = new Layout();
  const t = smallTree();
  l.compute(t, 0, 200);
  assert.equal(moveCursor(t, l, -1, 0, "down"), 0);
  assert.equal(moveCursor(t, l, 0, 0, "down"), 1);
  assert.equal(moveCursor(t, l, 1, 0, "down"), 2);
  assert.equal(moveCursor(t, l, 2, 0, "right"), 4);
  assert.equal(moveCursor(t, l, 4, 0, "right"), 4); // a sliver is no place to be
  assert.equal(moveCursor(t, l, 4, 0, "up"), 1);
  assert.equal(moveCursor(t, l, 1, 0, "left"), 1);
  assert.equal(moveCursor(t, l, 5, 0, "down"), 5);
  assert.equal(moveCursor(t, l, 0, 0, "up"), 0);
});

test("rectangles of random trees stay inside their parents and do not overlap", () => {
  let seed = 1;
  const rnd = (): number => (seed = (seed * 48271) % 2147483647) / 2147483647;
  for (let round = 0; round < 20; round++) {
    const nodes = { name: [0], file: [0], depth: [0], total: [0], self: [0] };
    const grow = (depth: number): number => {
      let sum = 0;
      for (let k = Math.floor(rnd() * 6); k >= 0; k--) {
        const i = nodes.name.push(0) - 1;
        nodes.file.push(0);
        nodes.depth.push(depth);
        nodes.self.push(Math.floor(rnd() ** 4 * 1000));
        nodes.total.push(0);
        nodes.total[i] = nodes.self[i] + (depth < 5 ? grow(depth + 1) : 0);
        sum += nodes.total[i];
      }
      return sum;
    };
    nodes.total[0] = grow(1);
    const t = buildTree({ names: ["f"], files: [""], nodes });
    const l = new Layout();
    l.compute(t, 0, 700);
    let covered = 0;
    for (let i = 0; i < l.count; i++) {
      covered += l.isSliver(i) ? l.last[i] - l.node[i] : 1;
      const p = t.parent[l.node[i]];
      if (p < 0) continue;
      const at = l.find(p);
      assert.ok(l.x[i] >= l.x[at] - 1e-6 && l.x[i] + l.w[i] <= l.x[at] + l.w[at] + 1e-6);
    }
    assert.equal(covered, t.n); // every node is in exactly one rectangle
    for (let r = 0; r < l.rows; r++) {
      let edge = 0;
      for (const i of l.rowItems(r)) {
        assert.ok(l.x[i] >= edge - 1e-6);
        edge = l.x[i] + l.w[i];
      }
    }
  }
});
