import assert from "node:assert/strict";
import { test } from "node:test";
import { whyNeverLines, whyNeverLinesShort } from "../../../cluster-agent/web/src/model/lines";
import {
  hostOf,
  hottestLine,
  lineUrl,
  linesBeyond,
  sourceLines,
} from "../../../cluster-agent/web/src/model/source";

test("lines of a text have the figures of their samples", () => {
  const lines = [
    { line: 2, self: 3, total: 5 },
    { line: 2, self: 1, total: 4 }, // inlined
    { line: 9, self: 7, total: 7 },
  ];
  const rows = sourceLines("a\r\n\tb\u202e\nc\n", lines);
  assert.deepEqual(
    rows.map((r) => r.text),
    ["a", "\tb\\u{202e}", "c"],
  );
  assert.deepEqual(rows[1].figures, { line: 2, self: 4, total: 5 });
  assert.equal(rows[0].figures, null);
  assert.equal(linesBeyond(rows.length, lines), 9);
  assert.equal(linesBeyond(9, lines), 0);
  assert.equal(sourceLines("", []).length, 1);
});

test("both sides of a comparison are added up", () => {
  const rows = sourceLines("a", [
    { line: 1, self: 1, total: 2, baseSelf: 3, baseTotal: 4 },
    { line: 1, self: 1, total: 1, baseSelf: 1, baseTotal: 1 },
  ]);
  assert.deepEqual(rows[0].figures, { line: 1, self: 2, total: 2, baseSelf: 4, baseTotal: 4 });
});

test("the hottest line is that with the largest own value, then total", () => {
  assert.equal(hottestLine([]), 0);
  assert.equal(hottestLine([{ line: 0, self: 9, total: 9 }]), 0);
  const at = (line: number, self: number, total: number) => ({ line, self, total });
  assert.equal(hottestLine([at(1, 0, 5), at(2, 1, 1), at(3, 0, 9)]), 2);
  assert.equal(hottestLine([at(1, 0, 5), at(3, 0, 9)]), 3);
  assert.equal(hottestLine([{ ...at(1, 1, 1), baseSelf: 9, baseTotal: 9 }, at(2, 2, 2)]), 1);
});

test("only addresses of the web are opened", () => {
  assert.equal(lineUrl("https://a.example/b#L{line}", 7), "https://a.example/b#L7");
  assert.equal(lineUrl("https://a.example/b#L{line}", 0), "https://a.example/b#L1");
  for (const wrong of [undefined, "", "javascript:alert(1)//{line}", "https:///x", "//a/b"])
    assert.equal(lineUrl(wrong, 1), "");
  assert.equal(hostOf("https://git.example:8443/a"), "git.example:8443");
});

test("functions without lines say why", () => {
  assert.match(whyNeverLines({ name: "do_syscall_64", file: "[kernel]" }), /kernel has no lines/);
  assert.match(whyNeverLines({ name: "f", file: "[libc.so.6@ab12]" }), /^No .* libc\.so\.6 was/);
  assert.match(whyNeverLines({ name: "[unknown]", file: "" }), /has no file for \[unknown\]/);
  assert.equal(whyNeverLines({ name: "f", file: "/a/b.c" }), "");
  assert.equal(whyNeverLinesShort({ name: "f", file: "/a/b.c" }), "");
  assert.notEqual(whyNeverLinesShort({ name: "f", file: "[a.out]" }), "");
});
