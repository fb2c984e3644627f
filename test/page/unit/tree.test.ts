import assert from "node:assert/strict";
import { test } from "node:test";
import {
  ancestry,
  buildTree,
  findByKey,
  foldedText,
  pathKey,
} from "../../../cluster-agent/web/src/tree";
import { columns, smallTree } from "./small_tree";

test("parents, ends of subtrees and left edges follow from the depths", () => {
  const t = smallTree();
  assert.deepEqual([...t.parent], [-1, 0, 1, 2, 1, 0, 5, 5]);
  assert.deepEqual([...t.end], [8, 5, 4, 4, 5, 8, 7, 8]);
  assert.deepEqual(
    [...t.start].map((v) => Math.round(v * 10) / 10),
    [0, 0, 0, 0, 30, 60, 60, 60.1],
  );
  assert.equal(t.maxDepth, 3);
});

test("columns that are no tree are refused", () => {
  const broken = (change: Partial<typeof columns.nodes>): void => {
    assert.throws(() => buildTree({ ...columns, nodes: { ...columns.nodes, ...change } }));
  };
  broken({ depth: [0, 2, 2, 3, 2, 1, 2, 2] }); // skips a level
  broken({ depth: [0, 1, 2, 3, 2, 0, 2, 2] }); // second root
  broken({ depth: [1, 1, 2, 3, 2, 1, 2, 2] }); // no root
  broken({ self: [1] });
});

test("an empty answer is a tree without nodes", () => {
  const t = buildTree({
    names: [],
    files: [],
    nodes: { name: [], file: [], depth: [], total: [], self: [] },
  });
  assert.equal(t.n, 0);
  assert.equal(foldedText(t), "");
});

test("a key finds its stack in another answer with other numbers and neighbours", () => {
  const t = smallTree();
  const key = pathKey(t, 3);
  const other = buildTree({
    names: ["total", "z", "c", "b", "a"],
    files: ["", "[kernel]", "[lib]"],
    nodes: {
      name: [0, 4, 3, 4, 1],
      file: [0, 0, 2, 2, 0],
      depth: [0, 1, 2, 3, 1],
      total: [9, 5, 5, 5, 4],
      self: [0, 0, 0, 5, 4],
    },
  });
  assert.equal(findByKey(other, key), 3);
  assert.equal(findByKey(other, pathKey(t, 5)), -1);
  assert.equal(findByKey(t, ""), 0);
  assert.equal(pathKey(t, 0), "");
  const keys = new Set(Array.from({ length: t.n }, (_, i) => pathKey(t, i)));
  assert.equal(keys.size, t.n);
});

test("the ancestry goes from the root to the node", () => {
  assert.deepEqual(ancestry(smallTree(), 3), [0, 1, 2, 3]);
});

test("folded lines add up to the total", () => {
  const text = foldedText(smallTree());
  assert.ok(text.startsWith("a 10\na;b 5\na;b;a 25\n"));
  const sum = text
    .trim()
    .split("\n")
    .reduce((s, line) => s + Number(line.slice(line.lastIndexOf(" ") + 1)), 0);
  assert.ok(Math.abs(sum - 100) < 1e-9);
});
