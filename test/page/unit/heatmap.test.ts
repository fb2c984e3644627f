import assert from "node:assert/strict";
import { test } from "node:test";
import * as h from "../../../cluster-agent/web/src/model/heatmap";
import { contrast } from "../../../cluster-agent/web/src/model/contrast";

const row = (name: string, values: (number | null)[] = [1], other?: boolean) =>
  other ? { name, values, other } : { name, values };
const rows = ["p-0.a@n", "p-1", "p-2", "p-3"].map((n) => row(n));
const more = [...rows, row("other", [1], true)];
const at = (r: number, step = 0) => ({ row: r, step });

test("a rectangle has whole columns, within the range", () => {
  const d = { startMs: 1000, stepMs: 10, values: [1, 2, 3, 4] };
  const chart = { from: 1005, to: 1038 };
  assert.deepEqual(h.spanOf(d, at(0, 2), at(0, 1), chart), { from: 1010, to: 1030 });
  assert.deepEqual(h.spanOf(d, at(0, 0), at(0, 3), chart), chart);
});

test("rows become the shortest filter that has them, and no others", () => {
  const where = 'version="2",instance=~"old.*"';
  const of = (a: number, b: number, list = rows) =>
    h.filterOf(list, at(a), at(b), "instance", where);
  const kept = 'version="2"';
  assert.deepEqual(of(0, 3), { instance: "", where: kept });
  assert.deepEqual(of(0, 0), { instance: "p-0.a@n", where: kept });
  assert.deepEqual(of(2, 1), { instance: "", where: `${kept},instance=~"p-1|p-2"` });
  assert.deepEqual(of(0, 2), { instance: "", where: `${kept},instance!~"p-3"` });
  // others have no names: they can only be left over
  const three = '"p-0\\\\.a@n|p-1|p-2"';
  assert.deepEqual(of(0, 2, more), { instance: "", where: `${kept},instance=~${three}` });
  assert.deepEqual(of(3, 4, more), { instance: "", where: `${kept},instance!~${three}` });
  assert.deepEqual(of(4, 4, more)!.where.startsWith(`${kept},instance!~"`), true);
  const label = h.filterOf([row("a"), row("")], at(1), at(1), "thread", "");
  assert.deepEqual(label, { instance: "", where: 'thread=""' });
  const long = Array.from({ length: 100 }, (_, i) => row(`${"x".repeat(90)}${i}`));
  assert.equal(h.filterOf(long, at(0), at(49), "instance", ""), null);
  assert.ok(h.filterOf(long, at(0), at(80), "instance", "")!.where.startsWith("instance!~"));
});

test("what was picked is what is seen as picked", () => {
  for (const list of [rows, more])
    for (let a = 0; a < list.length; a++)
      for (let b = a; b < list.length; b++) {
        const filter = h.filterOf(list, at(a), at(b), "instance", 'pod="x"')!;
        const seen = h.rowsOf(list, "instance", filter);
        const expected = list.map((_, i) => i >= a && i <= b);
        assert.deepEqual(seen ?? list.map(() => true), expected, `${a} ${b} ${filter.where}`);
      }
  assert.deepEqual(h.rowsOf(rows, "instance", { instance: "p-0.a", where: "" }), [
    ...[true, false, false, false],
  ]);
  assert.equal(h.rowsOf(rows, "instance", { instance: "", where: 'pod="x"' }), null);
  assert.deepEqual(h.rowsOf(rows, "instance", { instance: "", where: 'instance=~"(?P<x>a)"' }), [
    ...[true, true, true, true],
  ]);
});

test("a larger value has a stronger colour", () => {
  for (const dark of [false, true]) {
    const colors = h.heatColors(dark);
    assert.equal(colors.length, h.HEAT_COLORS);
    const hex = (c: string): string =>
      `#${c.match(/\d+/g)!.map((n) => Number(n).toString(16).padStart(2, "0")).join("")}`;
    const ground = dark ? "#14171b" : "#ffffff";
    const all = colors.map((c) => contrast(hex(c), ground));
    for (let i = 1; i < all.length; i++) assert.ok(all[i] >= all[i - 1], `${i}: ${all}`);
    assert.ok(all[all.length - 1] > 7);
  }
  assert.equal(h.colorIndex(0, 5), 0);
  assert.equal(h.colorIndex(5, 5), h.HEAT_COLORS - 1);
  assert.ok(h.colorIndex(0.05, 5) > 2, "one peak does not hide all else");
  assert.equal(h.largest([row("a", [1, null, 7]), row("b", [null])]), 7);
});

test("columns that are as long as a profile say so", () => {
  const span = { from: 0, to: 3600_000 };
  assert.equal(h.isLimited({ stepMs: 60_000, profileMs: 60_000 }, span, 200), true);
  assert.equal(h.isLimited({ stepMs: 30_000, profileMs: 10_000 }, span, 200), false);
  assert.equal(h.isLimited({ stepMs: 3600_000 }, span, 200), false);
});

test("the axis has round times of the zone", () => {
  const span = { from: 90_000, to: 700_000 };
  assert.deepEqual(h.axisTicks(span, 6, 0), [120_000, 240_000, 360_000, 480_000, 600_000]);
  const day = 86_400_000;
  assert.deepEqual(h.axisTicks({ from: 0, to: 3 * day }, 4, 3600_000), [
    ...[day - 3600_000, 2 * day - 3600_000, 3 * day - 3600_000],
  ]);
});
