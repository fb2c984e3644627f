import assert from "node:assert/strict";
import { test } from "node:test";
import { compileQuery, exactQuery, matchTree } from "../../../cluster-agent/web/src/model/search";
import { treeOfStacks } from "./random_tree";
import { smallTree } from "./small_tree";

function hits(text: string, name: string, file = ""): boolean {
  const q = compileQuery(text);
  assert.ok(q);
  return q.test(name, file);
}

test("plain text is found anywhere, in any case, in the name or the file", () => {
  assert.ok(hits("JSON", "encoding/json.Marshal"));
  assert.ok(hits("libc", "malloc", "[libc.so.6]"));
  assert.ok(hits("a.b", "xa.by"));
  assert.ok(!hits("a.b", "axb")); // a point is a point
});

test("between slashes it is a regular expression; the last one may be missing", () => {
  assert.ok(hits("/^json\\./", "json.Marshal"));
  assert.ok(hits("/a.b", "AxB"));
  assert.ok(!hits("/^son/", "json"));
});

test("in quotes it is the whole name", () => {
  assert.ok(hits(exactQuery("read"), "read"));
  assert.ok(!hits(exactQuery("read"), "pread"));
  assert.ok(!hits(exactQuery("read"), "READ"));
});

test("a broken expression says why and finds nothing", () => {
  const q = compileQuery("/a(/");
  assert.ok(q && q.error !== "");
  assert.equal(q.test("a(", ""), false);
});

test("nothing to look for is no search", () => {
  for (const text of ["", "  ", "/"]) assert.equal(compileQuery(text), null);
});

function total(text: string): { total: number; frames: number } {
  const q = compileQuery(text);
  assert.ok(q);
  return matchTree(smallTree(), q);
}

test("a stack counts once, however many of its frames match", () => {
  assert.equal(total('"a"').total, 60); // the inner a is inside the outer one
  assert.equal(total('"a"').frames, 2);
  assert.equal(total("/^[bc]$/").total, 50);
  assert.equal(total("/^[ad]$/").total, 100);
  assert.equal(total("[kernel]").total, 20);
  assert.equal(total("nowhere").total, 0);
});

test("the root is no function", () => {
  assert.equal(total("total").frames, 0);
});

test("sums of hits show whether a range holds any", () => {
  const q = compileQuery("/^[ef]$/");
  assert.ok(q);
  const m = matchTree(smallTree(), q);
  assert.equal(m.before[8] - m.before[5], 2);
  assert.equal(m.before[5], 0);
});

test("both sides of a comparison and the functions are counted", () => {
  const t = treeOfStacks([
    { frames: ["a", "b", "a"], value: 3, base: 5 },
    { frames: ["a"], value: 1, base: 0 },
    { frames: ["c", "b"], value: 2, base: 7 },
    { frames: ["c"], value: 50, base: 0 },
  ]);
  const q = compileQuery("/^[ab]$/");
  assert.ok(q);
  const m = matchTree(t, q);
  assert.deepEqual([m.total, m.baseTotal, m.functions, m.frames], [6, 12, 2, 4]);
});
