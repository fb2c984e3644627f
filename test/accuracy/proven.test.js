// What "make accuracy" keeps, and what the README's table may claim of it.
"use strict";

const assert = require("node:assert");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { test } = require("node:test");
const { minorsOf, overclaims, ranges, table } = require("./languages");
const proven = require("./proven");

const of = (program, release = "7.4.33", language = "PHP") => ({ language, program, release });
const sum = { samples: 1000, good: 999, whole: 1000, names: 999, lines: 995 };
const made = (program, more = {}) => proven.row(of(program), { ...sum, ...more });

test("what is written is read again", () => {
  const rows = [made("a"), proven.row(of("b"), { samples: 400, good: 400, whole: 400 })];
  assert.deepStrictEqual(proven.parse(proven.print(rows)), rows);
  assert.strictEqual(rows[1].lines, null);
});

test("a run replaces the rows of its programs, unless it was too short", () => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), "proven-"));
  const file = path.join(dir, "proven.tsv");
  proven.record([made("a"), made("b")], file);
  proven.record([made("b", { good: 900 }), made("a", { samples: 10, good: 1 })], file);
  const goods = proven.read(file).map((r) => [r.program, r.good]);
  fs.rmSync(dir, { recursive: true });
  assert.deepStrictEqual(goods, [["a", 99.9], ["b", 90]]);
});

test("a release is one word of one line, whatever a program prints", () => {
  const printed = proven.print([proven.row(of("a", "\nWarning: x\n7.4\t33"), sum)]);
  assert.strictEqual(proven.parse(printed)[0].release, "Warning: x 7.4 33");
});

test("releases that follow each other are a range", () => {
  const textOf = (...releases) => ranges(minorsOf(releases.map((release) => ({ release }))));
  assert.strictEqual(textOf("3.10.2", "3.9.1", "3.8.5", "3.8.18", "3.6"), "3.6, 3.8 to 3.10");
  assert.strictEqual(textOf("gcc 12.2", "clang 14.0"), "clang 14.0, gcc 12.2");
  assert.strictEqual(textOf("17"), "17");
});

const row = { language: "PHP", proof: ["PHP"], claims: ["whole", "names", "lines"], names: "all" };

test("a row has the releases that are proven, and the least share of their stacks", () => {
  const rows = [made("a"), proven.row(of("b", "7.3"), { ...sum, good: 996 })];
  const text = table(rows, [{ ...row, ranged: true }]);
  assert.match(text, /^\| PHP 7.3 to 7.4 \| 7.3, 7.4: 99.60 % \| whole \| all \| \|/m);
});

test("a row that claims more than is proven is named", () => {
  assert.deepStrictEqual(overclaims(row, [made("a")]), []);
  assert.deepStrictEqual(overclaims(row, [made("a", { lines: 994 })]), [
    "PHP: lines of a (7.4.33): 99.4 %",
  ]);
  assert.deepStrictEqual(overclaims(row, [made("a", { lines: undefined })]), [
    "PHP: lines of a (7.4.33): 0 %",
  ]);
  assert.deepStrictEqual(overclaims({ ...row, proof: ["PHP", "Hack"] }, [made("a")]), [
    "PHP: nothing is proven of Hack",
  ]);
  assert.deepStrictEqual(overclaims({ ...row, proof: [] }, []), ["PHP: nothing is proven"]);
});
