import assert from "node:assert/strict";
import { test } from "node:test";
import { TextFitter } from "../../../cluster-agent/web/src/model/text_fit";

test("text that fits is left alone, other text ends with an ellipsis inside the width", () => {
  const f = new TextFitter((s) => s.length * 7);
  assert.equal(f.fit("main", 28), "main");
  assert.equal(f.fit("main.run", 55), "main.r…");
  assert.equal(f.fit("main.run", 21), "ma…");
});

test("a beginning of one letter says nothing and is dropped", () => {
  const f = new TextFitter((s) => s.length * 7);
  assert.equal(f.fit("main", 20), "");
  assert.equal(f.fit("main", 0), "");
  assert.equal(f.fit("", 10), "");
});

test("each character is measured once", () => {
  let calls = 0;
  const f = new TextFitter((s) => (calls++, s.length * 7));
  f.fit("aaaaaaaa", 500);
  f.fit("aaaa", 500);
  assert.equal(calls, 2); // "…" and "a"
});
