import assert from "node:assert/strict";
import { test } from "node:test";
import {
  comparedSort,
  functionChanges,
  hasChanged,
  plainSort,
  sortChanges,
  sortFunctions,
  sidesOf,
} from "../../../cluster-agent/web/src/model/functions";
import {
  isChance,
  samplingOf,
  type Sampling,
} from "../../../cluster-agent/web/src/model/chance";
import { changeOf } from "../../../cluster-agent/web/src/model/diff";
import type { SortBy } from "../../../cluster-agent/web/src/model/url_state";

const names = ["b", "x/a.c", "B2"];
const f = { name: [0, 1, 2], self: [5, 5, 1], total: [5, 9, 20] };

test("rows sort by each column in both directions", () => {
  const sorted = (by: "name" | "self" | "total", up: boolean): number[] =>
    sortFunctions([0, 1, 2], f, names, by, up);
  assert.deepEqual(sorted("self", false), [1, 0, 2]); // equal self: the larger total first
  assert.deepEqual(sorted("self", true), [2, 1, 0]);
  assert.deepEqual(sorted("total", false), [2, 1, 0]);
  assert.deepEqual(sorted("total", true), [0, 1, 2]);
});

test("names sort as they are shown: without path and case", () => {
  assert.deepEqual(sortFunctions([2, 0, 1], f, names, "name", true), [1, 0, 2]);
  assert.deepEqual(sortFunctions([2, 0, 1], f, names, "name", false), [2, 0, 1]);
});

const both = {
  name: [0, 1, 2, 0],
  self: [30, 0, 5, 60],
  total: [30, 0, 5, 95],
  baseSelf: [10, 40, 0, 50],
  baseTotal: [10, 40, 0, 50],
};
const whole = { value: 100, base: 50 };

test("a comparison sorts by either side and by the signed change of its mode", () => {
  const rows = (by: "base" | "now" | "change", mode: "share" | "absolute", up = false) => {
    const changes = functionChanges(both, "self", whole, mode);
    return sortChanges([0, 1, 2, 3], both, names, changes, by, up, "self", mode);
  };
  assert.deepEqual(rows("now", "share"), [3, 0, 2, 1]);
  assert.deepEqual(rows("base", "share"), [3, 1, 0, 2]);
  // shares: +10, −80, +5, −40 points
  assert.deepEqual(rows("change", "share"), [0, 2, 3, 1]);
  assert.deepEqual(rows("change", "share", true), [1, 3, 2, 0]);
  // values: +20, −40, +5, +10
  assert.deepEqual(rows("change", "absolute"), [0, 3, 2, 1]);
});

test("new and gone are what one side lacks altogether", () => {
  const kinds = [0, 1, 2, 3].map((i) =>
    hasChanged(both, i, "new", null) ? "new" : hasChanged(both, i, "gone", null) ? "gone" : "",
  );
  assert.deepEqual(kinds, ["", "gone", "new", ""]);
  assert.ok([0, 1, 2, 3].every((i) => hasChanged(both, i, "", null)));
});

test("what chance explains is neither new nor gone", () => {
  const side = (samples: number, covered: number, total = samples * 10) => ({
    total,
    covered,
    quality: { samples },
  });
  // samples that a function on one side only needs, until it is new or gone
  const needed = (sampling: Sampling | null, changed: "new" | "gone"): number => {
    for (let k = 1; k < 100; k++) {
      const [total, base] = changed === "new" ? [10 * k, 0] : [0, 10 * k];
      const f = { name: [0], self: [total], total: [total], baseSelf: [base], baseTotal: [base] };
      if (hasChanged(f, 0, changed, sampling)) return k;
    }
    return Infinity;
  };
  // 0.5^10 < 0.001
  const alike = samplingOf(side(1000, 60_000), side(1000, 60_000), "share");
  assert.deepEqual([needed(alike, "new"), needed(alike, "gone")], [10, 10]);
  // of eight times the samples, much may be missing: (8/9)^59 and (1/9)^4 are less than 0.001
  const most = samplingOf(side(8000, 60_000), side(1000, 60_000), "share");
  assert.deepEqual([needed(most, "new"), needed(most, "gone")], [59, 4]);
  // as values are, time counts
  const absolute = samplingOf(side(9000, 60_000), side(1000, 60_000), "absolute");
  assert.deepEqual([needed(absolute, "new"), needed(absolute, "gone")], [10, 10]);
  // values of the baseline that are scaled are as many samples
  const scaled = samplingOf(side(1000, 60_000), side(500, 30_000, 10_000), "absolute");
  assert.equal(scaled?.base, 20);
  assert.equal(needed(null, "new"), 1);
});

test("chance decides which changes have a colour", () => {
  const side = (samples: number) => ({
    ...{ total: samples * 10, rate: samples / 6, covered: 60_000 },
    quality: { samples },
  });
  const graph = { type: "ebpf:cpu:nanoseconds", ...side(1000), base: side(1000) };
  const score = (now: number, before: number, mode: "share" | "absolute", g = graph): number =>
    changeOf(now * 10, before * 10, sidesOf(g), mode).score;
  // 0.001 of tests of 200 samples find more than 47 of difference where there is none
  assert.equal(score(120, 80, "absolute"), 0);
  assert.ok(score(124, 76, "absolute") > 0.3);
  assert.ok(score(76, 124, "absolute") < -0.3);
  // its figures are what they are
  assert.equal(changeOf(1200, 800, sidesOf(graph), "absolute").percent, 50);
  assert.equal(score(9, 0, "absolute"), 0);
  assert.equal(score(10, 0, "absolute"), 1);
  // of nearly all samples, few can be of something else
  assert.equal(score(970, 930, "absolute"), 0);
  assert.ok(score(970, 930, "share") > 0.04);
  // two per cent are a change where there are enough samples
  const many = { ...graph, ...side(1e6), base: side(1e6) };
  assert.ok(score(102_000, 100_000, "absolute", many) > 0.01);
  assert.ok(score(510, 500, "absolute", many) === 0);
  // without samples, each change has its colour
  assert.ok(score(12, 8, "absolute", { ...graph, type: "go:heap_inuse_space:bytes" }) > 0.3);
});

test("a side that stands for more time has more samples by chance", () => {
  // the covered time is that of both sides, but one of them has twice the instances
  const long = { total: 4000, rate: 1, covered: 60_000, quality: { samples: 400 } };
  const short = { total: 1000, rate: 1, covered: 60_000, quality: { samples: 100 } };
  const s = samplingOf(long, short, "absolute")!;
  assert.equal(s.odds, 0.8);
  assert.ok(isChance(4000, 1000, s));
  assert.ok(!isChance(2500, 2500, s));
});

test("without the number of samples there is no test", () => {
  const side = { total: 10, covered: 60_000, quality: { samples: 5 } };
  assert.ok(samplingOf(side, side, "share"));
  const others = [
    { ...side, quality: { samples: 5, scope: "application" } },
    { ...side, quality: { samples: 0 } },
    { ...side, total: 0 },
  ];
  for (const o of others) assert.equal(samplingOf(side, o, "share"), null);
  assert.equal(samplingOf({ ...side, covered: 0 }, side, "absolute"), null);
});

test("a comparison is sorted by the change of the other measure as well", () => {
  const by = (mode: "share" | "absolute") => {
    const changes = functionChanges(both, "self", whole, mode);
    return sortChanges([0, 1, 2, 3], both, names, changes, "other", false, "self", mode);
  };
  assert.deepEqual(by("absolute"), [0, 2, 3, 1]);
  assert.deepEqual(by("share"), [0, 3, 2, 1]);
});

test("columns of a comparison mean the default where there is none, and vice versa", () => {
  assert.deepEqual(
    ["self", "total", "name", "now"].map((s) => comparedSort(s as SortBy)),
    ["change", "change", "name", "now"],
  );
  assert.deepEqual(
    ["change", "base", "now", "total"].map((s) => plainSort(s as SortBy)),
    ["self", "self", "self", "total"],
  );
});
