import assert from "node:assert/strict";
import * as fs from "node:fs";
import { test } from "node:test";
import {
  ancestry,
  buildTree,
  compareBy,
  findByKey,
  pathKey,
  type Tree,
} from "../../../cluster-agent/web/src/model/tree";
import { fileKey } from "../../../cluster-agent/web/src/model/file_key";
import { Layout } from "../../../cluster-agent/web/src/model/layout";
import { columns, smallTree } from "./small_tree";

/** Where each node begins when there is room for all, in the unit of their widths. */
function leftEdges(t: Tree): number[] {
  const l = new Layout();
  const pixels = 1e6;
  l.compute(t, 0, pixels);
  const edges: number[] = [];
  for (let i = 0; i < l.count; i++) edges[l.node[i]] = (l.x[i] / pixels) * t.width[0];
  return edges;
}

test("parents, ends of subtrees and left edges follow from the depths", () => {
  const t = smallTree();
  assert.deepEqual([...t.parent], [-1, 0, 1, 2, 1, 0, 5, 5]);
  assert.deepEqual([...t.end], [8, 5, 4, 4, 5, 8, 7, 8]);
  assert.deepEqual(
    leftEdges(t).map((v) => Math.round(v * 10) / 10),
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

test("numbers that stand for nothing are refused, and so are values that are none", () => {
  const broken = (change: object): void => {
    assert.throws(() => buildTree({ ...columns, nodes: { ...columns.nodes, ...change } }), /node/);
  };
  const at3 = (column: unknown[], v: unknown): unknown[] =>
    column.map((old, i) => (i === 3 ? v : old));
  broken({ name: at3(columns.nodes.name, columns.names.length) });
  broken({ name: at3(columns.nodes.name, -1) });
  broken({ file: at3(columns.nodes.file, 1e9) });
  broken({ total: at3(columns.nodes.total, "many") });
  broken({ total: at3(columns.nodes.total, 1e999) });
  broken({ self: at3(columns.nodes.self, -1) });
  assert.throws(() => buildTree({ ...columns, nodes: undefined as never }), /missing/);
  assert.throws(() => buildTree({ ...columns, names: [1, 2] as never }), /names|missing/);
  const { total: _, ...rest } = columns.nodes;
  assert.throws(() => buildTree({ ...columns, nodes: rest as never }), /missing/);
});

test("an empty answer is a tree without nodes", () => {
  const t = buildTree({
    names: [],
    files: [],
    nodes: { name: [], file: [], depth: [], total: [], self: [] },
  });
  assert.equal(t.n, 0);
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

/** A tree of one stack, root first. */
const stackTree = (frames: [string, string][]) => {
  const texts = frames.flat();
  return buildTree({
    names: ["total", ...texts],
    files: ["", ...texts],
    nodes: {
      name: [0, ...frames.map((_, i) => 2 * i + 1)],
      file: [0, ...frames.map((_, i) => 2 * i + 2)],
      depth: [0, ...frames.map((_, i) => i + 1)],
      total: [1, ...frames.map(() => 1)],
      self: [0, ...frames.map(() => 0)],
    },
  });
};

// the server's test reads the same file: both must find the same frame by a key
test("path keys are those that the server computes", () => {
  const lines = fs.readFileSync("test/data/path_keys.tsv", "utf8").trimEnd().split("\n");
  assert.ok(lines.length > 5);
  for (const line of lines) {
    const [key, ...texts] = line.split("\t");
    const frames: [string, string][] = [];
    for (let i = 0; i < texts.length; i += 2) frames.push([texts[i], texts[i + 1]]);
    assert.equal(pathKey(stackTree(frames), frames.length), key, line);
  }
});

// the server's test reads the same file
test("files of two releases have one key", () => {
  const lines = fs.readFileSync("test/data/file_keys.tsv", "utf8").trimEnd().split("\n");
  assert.ok(lines.length > 10);
  for (const line of lines) {
    const [file, key] = line.split("\t");
    assert.equal(fileKey(file), key);
  }
});

test("in a comparison a frame is as wide as both sides together", () => {
  const two = {
    ...columns,
    nodes: {
      ...columns.nodes,
      baseTotal: [400, 200, 200, 0, 0, 200, 100, 0],
      baseSelf: [0, 0, 200, 0, 0, 100, 100, 0],
      inlined: [2, 4],
    },
  };
  const t = buildTree(two);
  // the mean of both shares, here in units of the mean total, 250
  const share = (i: number): number => t.width[i] / t.width[0];
  assert.ok(Math.abs(share(1) - (0.6 + 0.5) / 2) < 1e-12);
  assert.ok(Math.abs(share(3) - 0.25 / 2) < 1e-12, "new: half of its share");
  assert.ok(Math.abs(share(6) - (0.001 + 0.25) / 2) < 1e-12);
  assert.ok(Math.abs(leftEdges(t)[5] - t.width[1]) < 1e-9);
  assert.deepEqual([...t.inlined], [0, 0, 1, 0, 1, 0, 0, 0]);
  const absolute = compareBy(t, "absolute");
  assert.deepEqual([...absolute.width].slice(0, 4), [500, 260, 230, 25]);
  assert.equal(compareBy(smallTree(), "absolute").width[1], 60);
  // without any value on one side the other one decides
  const empty = buildTree({
    ...two,
    nodes: { ...two.nodes, baseTotal: Array(8).fill(0), baseSelf: Array(8).fill(0) },
  });
  assert.deepEqual([...empty.width], columns.nodes.total);
  assert.throws(() => buildTree({ ...two, nodes: { ...two.nodes, baseSelf: undefined } }));
});
