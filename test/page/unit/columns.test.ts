import assert from "node:assert/strict";
import { test } from "node:test";
import { readColumns } from "../../../cluster-agent/web/src/model/columns";
import {
  buildTree,
  nodeFile,
  nodeName,
  type TreeColumns,
} from "../../../cluster-agent/web/src/model/tree";

const place = (at: number, type: "i32" | "f64", n: number): object => ({ at, type, n });

/** An answer of three nodes, of which two are the same function; `change` damages it. */
function answer(change: { fn?: number; total?: number; magic?: string } = {}): ArrayBuffer {
  const json = JSON.stringify({
    names: ["total", "a\u00e9"],
    files: ["", "a.c"],
    total: 7,
    pairs: { name: place(0, "i32", 2), file: place(8, "i32", 2) },
    nodes: {
      function: place(16, "i32", 3),
      depth: place(32, "i32", 3),
      total: place(48, "f64", 3),
      self: place(72, "f64", 3),
      inlined: place(96, "i32", 0),
    },
    functions: { name: place(96, "i32", 1), self: place(104, "f64", 1) },
  });
  const text = new TextEncoder().encode(json);
  const begin = Math.ceil((16 + text.length) / 8) * 8;
  const bytes = new ArrayBuffer(begin + 112);
  new Uint8Array(bytes).set(new TextEncoder().encode(change.magic ?? "columns1"));
  new DataView(bytes).setUint32(8, text.length, true);
  new Uint8Array(bytes).set(text, 16);
  const int = (at: number, v: number[]): void => new Int32Array(bytes, begin + at, v.length).set(v);
  const float = (at: number, v: number[]): void =>
    new Float64Array(bytes, begin + at, v.length).set(v);
  int(0, [0, 1]);
  int(8, [0, 1]);
  int(16, [0, 1, change.fn ?? 1]);
  int(32, [0, 1, 2]);
  float(48, [7, change.total ?? 5.5, 2]);
  float(72, [1.5, 3.5, 2]);
  int(96, [1]);
  float(104, [5.5]);
  return bytes;
}

test("columns behind the JSON are used where they lie", () => {
  const bytes = answer();
  const read = readColumns(bytes) as TreeColumns & { functions: object };
  assert.deepEqual(read.functions, { name: [1], self: [5.5] });
  const t = buildTree(read);
  assert.equal(t.total.buffer, bytes);
  assert.equal(t.fn.buffer, bytes);
  assert.deepEqual([...t.total], [7, 5.5, 2]);
  assert.deepEqual([...t.parent], [-1, 0, 1]);
  assert.deepEqual(
    [0, 1, 2].map((i) => [nodeName(t, i), nodeFile(t, i)]),
    [["total", ""], ["a\u00e9", "a.c"], ["a\u00e9", "a.c"]],
  );
});

test("columns that are damaged are refused", () => {
  const broken = (bytes: ArrayBuffer): void =>
    assert.throws(() => buildTree(readColumns(bytes) as TreeColumns));
  broken(answer({ magic: "columns2" }));
  broken(answer({ fn: 2 }));
  broken(answer({ fn: -1 }));
  broken(answer({ total: NaN }));
  broken(answer({ total: -1 }));
  broken(answer({ total: Infinity }));
  broken(answer().slice(0, 12));
  broken(answer().slice(0, 200));
  broken(answer().slice(0, -8));
});
