import assert from "node:assert/strict";
import { test } from "node:test";
import { originOf } from "../../../cluster-agent/web/src/flame/tooltip";
import {
  comingText,
  noteSymbols,
  whyUnnamed,
} from "../../../cluster-agent/web/src/model/late_symbols";

const build = (n: number): string => String(n).padStart(40, "ab");
const UPLOAD = /“coroot-node-agent symbols upload” gives names to build/;

test("a build of which no server has said anything is to be uploaded", () => {
  assert.match(whyUnnamed("nginx", build(1)), /^nginx has no symbols here: /);
  assert.match(whyUnnamed("nginx", build(1)), UPLOAD);
});

test("what a server says is the reason, and the latest counts", () => {
  noteSymbols([{ build: build(2), coming: true, why: "" }]);
  const file = `[nginx@${build(2)}]`;
  assert.match(originOf("nginx+0x2a", file), /^nginx has no symbols yet: .*refresh to see names$/);
  assert.doesNotMatch(originOf("main", file), /symbols/);
  noteSymbols([{ build: build(2), coming: true, why: "https://d: HTTP 503" }]);
  assert.match(whyUnnamed("nginx", build(2)), /servers \(https:\/\/d: HTTP 503\); refresh/);
  noteSymbols([{ build: build(2), coming: false, why: "no debuginfod server has its symbols" }]);
  assert.match(whyUnnamed("nginx", build(2)), /here: no debuginfod server has its symbols\. /);
  assert.match(whyUnnamed("nginx", build(2)), UPLOAD);
  noteSymbols(undefined);
  assert.match(whyUnnamed("nginx", build(2)), /no debuginfod server/);
});

test("a line says that names are on the way, or why they are late", () => {
  const of = (...s: [boolean, string][]): string =>
    comingText(s.map(([coming, why], i) => ({ build: build(i), coming, why })));
  assert.equal(comingText(undefined), "");
  assert.equal(of([false, "x"]), "");
  assert.match(of([true, ""], [false, "x"]), /^Names of one program or library are on the way/);
  assert.match(of([true, ""], [true, ""]), /^Names of 2 programs and libraries are on the way/);
  assert.equal(
    of([true, "http://d: HTTP 503; it is asked again in 3 s"]),
    "Names of one program or library are late: http://d: HTTP 503; it is asked again in 3 s.",
  );
});
