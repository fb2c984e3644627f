import assert from "node:assert/strict";
import { test } from "node:test";
import { palettes } from "../../../cluster-agent/web/src/model/colors";
import { contrast } from "../../../cluster-agent/web/src/model/contrast";
import * as s from "../../../cluster-agent/web/src/model/series";

test("every line can be seen on the ground of both themes", () => {
  for (const dark of [false, true])
    for (let i = 0; i <= 10; i++) {
      const color = s.seriesColor(i, i === 10, dark);
      const ratio = contrast(color, palettes[dark ? "dark" : "light"].ground);
      assert.ok(ratio >= 3, `${color}: ${ratio}`);
    }
  const colors = Array.from({ length: 10 }, (_, i) => s.seriesColor(i, false, false));
  assert.equal(new Set(colors).size, 10);
});

test("a moved line meets the steps of the other", () => {
  const onto = { startMs: 100_000, stepMs: 10_000, values: [0, 0, 0] };
  const base = { startMs: 3_000, stepMs: 10_000, values: [1, null, 3] };
  assert.deepEqual(s.shifted(base, 97_000, onto), [1, null, 3]);
  assert.deepEqual(s.shifted(base, 100_000, onto), [1, null, 3]); // 3 s aside: the same step
  assert.deepEqual(s.shifted(base, 107_000, onto), [null, 1, null]);
});

test("shares of series are of all of them", () => {
  const series = [
    { name: "a", values: [1, null, 2] },
    { name: "b", values: [1, 0, 0] },
  ];
  assert.deepEqual(s.seriesShares(series), [0.75, 0.25]);
  assert.deepEqual(s.seriesShares([{ name: "a", values: [null] }]), [0]);
});

test("the nearest line is found within reach, hidden ones are not", () => {
  const series = [
    { name: "a", values: [1, 5] },
    { name: "b", values: [2, null] },
  ];
  assert.equal(s.nearestSeries(series, new Set(), 0, 1.8, 0.5), 1);
  assert.equal(s.nearestSeries(series, new Set(["b"]), 0, 1.8, 0.5), -1);
  assert.equal(s.nearestSeries(series, new Set(), 1, 5, 0.5), 0);
  assert.equal(s.nearestSeries(series, new Set(), 0, 9, 0.5), -1);
});

test("an edge moves within the timeline and never past the other edge", () => {
  const outer = { from: 0, to: 500_000 };
  const span = { from: 100_000, to: 200_000 };
  assert.deepEqual(s.movedEdge(span, "from", 150_000.4, outer), { from: 150_000, to: 200_000 });
  assert.deepEqual(s.movedEdge(span, "from", -5, outer), { from: 0, to: 200_000 });
  assert.deepEqual(s.movedEdge(span, "from", 300_000, outer), { from: 199_000, to: 200_000 });
  assert.deepEqual(s.movedEdge(span, "to", 900_000, outer), { from: 100_000, to: 500_000 });
  assert.deepEqual(s.movedEdge(span, "to", 0, outer), { from: 100_000, to: 101_000 });
});

test("names in the legend keep what tells them apart", () => {
  assert.deepEqual(s.legendNames(["1.4.1", "1.4.2"]), ["1.4.1", "1.4.2"]);
  const pods = ["checkout-service-7d9f6c5b8-lflsx", "checkout-service-7d9f6c5b8-qwert"];
  assert.deepEqual(s.legendNames(pods), ["…5b8-lflsx", "…5b8-qwert"]);
  const [short] = s.legendNames(["a-very-long-name-of-a-single-node.example.com"]);
  assert.ok(short.length <= 28 && short.startsWith("a-very") && short.endsWith(".com"));
});

test("the last value is that of the range, not of the timeline", () => {
  const line = { startMs: 1000, stepMs: 10, values: [1, 2, 3, null, 5] };
  assert.equal(s.lastIn(line, { from: 1000, to: 1050 }), 5);
  assert.equal(s.lastIn(line, { from: 1010, to: 1040 }), 3);
  assert.equal(s.lastIn(line, { from: 2000, to: 2010 }), null);
  assert.equal(s.lastIn(null, { from: 0, to: 1 }), null);
});

test("values to which agents have yet to contribute are left out", () => {
  const line = { startMs: 1000, stepMs: 10, values: [4, 4, 4, 2, 2] };
  assert.equal(s.completed(line), line);
  assert.deepEqual(s.completed({ ...line, completeTo: 1030 }).values, [4, 4, 4, null, null]);
  // a step that is nearly complete says enough
  assert.deepEqual(s.completed({ ...line, completeTo: 1038 }).values, [4, 4, 4, 2, null]);
  const series = [{ name: "a", values: line.values }];
  const of = s.completed({ ...line, completeTo: 1030, series });
  assert.deepEqual(of.series, [{ name: "a", values: [4, 4, 4, null, null] }]);
});
