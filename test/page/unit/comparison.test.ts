import assert from "node:assert/strict";
import { test } from "node:test";
import * as c from "../../../cluster-agent/web/src/model/comparison";
import { emptyState, noBase, type UrlState } from "../../../cluster-agent/web/src/model/url_state";

const at = (h: number, m: number): number => new Date(2026, 10, 20, h, m).getTime();
const now = at(11, 0);
const shown = { from: at(10, 0), to: at(10, 15) };
const compare = (patch: Partial<UrlState>) => {
  const found = c.comparisonOf({ ...emptyState, service: "/k8s/shop/cart", ...patch }, shown);
  assert.ok(found);
  return found;
};
const names = (patch: Partial<UrlState>) => {
  const { a, b } = c.sideNames(compare(patch), now);
  return [a, b];
};

test("without a baseline nothing is compared", () => {
  assert.equal(c.comparisonOf(emptyState, shown), null);
  assert.ok(compare({ base: "previous" }));
});

test("both sides are named by what differs", () => {
  assert.deepEqual(names({ base: "previous" }), ["10:00 – 10:15", "09:45 – 10:00"]);
  assert.deepEqual(names({ where: 'version="2"', baseWhere: 'version="1"' }), [
    'version="2"',
    'version="1"',
  ]);
  assert.deepEqual(names({ where: 'zone="x",version="2"', baseWhere: 'zone="x"' }), [
    'version="2"',
    "any version",
  ]);
  assert.deepEqual(names({ instance: "a", baseInstance: "" }), ["a", "all instances"]);
  assert.deepEqual(names({ baseService: "/k8s/shop/pay", base: "previous" }), [
    "cart · 10:00 – 10:15",
    "pay · 09:45 – 10:00",
  ]);
  assert.deepEqual(names({ baseService: "/k8s/pay/cart" }), ["/k8s/shop/cart", "/k8s/pay/cart"]);
  // the same on both sides is still named
  assert.deepEqual(names({ base: "same" }), ["10:00 – 10:15", "10:00 – 10:15"]);
});

test("the baseline's range is named by how it relates", () => {
  assert.equal(c.baseRangeName("previous", shown), "the 15 min before");
  assert.equal(c.baseRangeName({ shift: 86_400 }, shown), "a day before");
  assert.equal(c.baseRangeName({ shift: 604_800 }, shown), "a week before");
  assert.equal(c.baseRangeName({ shift: 7200 }, shown), "2 h before");
  assert.equal(c.baseRangeName(shown, shown), "");
});

test("sides swap, and swap back", () => {
  const state: UrlState = {
    ...emptyState,
    service: "/x",
    where: 'version="2"',
    base: "previous",
    baseWhere: 'version="1"',
    selection: shown,
  };
  const once = { ...state, ...c.swapped(state, shown) };
  assert.equal(once.where, 'version="1"');
  assert.equal(once.baseWhere, 'version="2"');
  assert.deepEqual(once.selection, { from: at(9, 45), to: at(10, 0) });
  assert.deepEqual(once.base, shown);
  const twice = { ...once, ...c.swapped(once, once.selection!) };
  assert.deepEqual(c.comparisonOf(twice, twice.selection!), c.comparisonOf(state, shown));
  // a comparison of labels stays live
  const labels: UrlState = { ...state, base: "same", selection: null };
  assert.equal({ ...labels, ...c.swapped(labels, shown) }.selection, null);
});

test("leaving forgets every part of the baseline", () => {
  const state: UrlState = { ...emptyState, base: "same", baseWhere: "", changed: "new" };
  assert.deepEqual({ ...state, ...noBase }, emptyState);
});

test("rates of ranges of different length are comparable", () => {
  const quarter = { total: 900, rate: 1, covered: 900_000 };
  const half = { total: 3600, rate: 2, covered: 1_800_000 };
  assert.equal(c.baseFactor(quarter, half, true), 0.5);
  assert.equal(c.baseFactor(quarter, half, false), 1); // averages over time
  assert.equal(c.baseFactor(quarter, { ...quarter, total: 901 }, true), 1);
  // profiles began shortly before the end of the baseline
  assert.equal(c.baseFactor(quarter, { total: 180, rate: 3, covered: 60_000 }, true), 15);
  // nothing was used in the baseline, or nothing is known of it
  assert.equal(c.baseFactor(quarter, { total: 0, rate: 0, covered: 450_000 }, true), 2);
  assert.equal(c.baseFactor(quarter, { total: 0, rate: 0, covered: 0 }, true), 1);
});

test("levels, and sides that differ by more than a fifth, are compared as they are", () => {
  const side = (rate: number) => ({ total: rate * 60, rate, covered: 60_000 });
  assert.equal(c.usualDiff(side(1), undefined, true), "share");
  assert.equal(c.usualDiff(side(1), side(1), false), "absolute");
  assert.equal(c.usualDiff(side(1.19), side(1), true), "share");
  assert.equal(c.usualDiff(side(1.21), side(1), true), "absolute");
  assert.equal(c.usualDiff(side(1), side(1.21), true), "absolute");
  // with nothing on one side there is nothing to relate to
  assert.equal(c.usualDiff(side(1), side(0), true), "share");
});

test("only a fixed baseline stops the live mode", () => {
  assert.ok(c.followsLive(emptyState));
  assert.ok(c.followsLive({ ...emptyState, base: "previous" }));
  assert.ok(!c.followsLive({ ...emptyState, base: shown }));
});

test("the timeline shows both ranges if they are near each other", () => {
  const hour = { from: at(9, 30), to: at(10, 30) };
  assert.deepEqual(c.chartSpan(hour, null), hour);
  assert.deepEqual(c.chartSpan(hour, compare({ base: "previous" })), hour);
  assert.deepEqual(c.chartSpan(shown, compare({ base: "previous" })), {
    from: at(9, 45),
    to: at(10, 15),
  });
  assert.deepEqual(c.chartSpan(shown, compare({ base: { shift: 86_400 } })), shown);
});

test("a second line is drawn for what the first does not show", () => {
  const hour = { from: at(9, 30), to: at(10, 30) };
  assert.equal(c.secondLine(compare({ base: "previous" }), hour), null);
  assert.deepEqual(c.secondLine(compare({ base: { shift: 86_400 } }), hour), {
    shift: 86_400_000,
  });
  assert.deepEqual(c.secondLine(compare({ baseWhere: 'v="1"' }), hour), { shift: 0 });
});

test("values of the baseline are multiplied in every column", () => {
  const g = {
    nodes: { total: [4], baseTotal: [2], baseSelf: [1] },
    functions: { self: [4], baseTotal: [2], baseSelf: [2] },
    base: { total: 2 },
  };
  assert.equal(c.scaleBase(g, 1), g);
  assert.deepEqual(c.scaleBase(g, 1.5), {
    nodes: { total: [4], baseTotal: [3], baseSelf: [1.5] },
    functions: { self: [4], baseTotal: [3], baseSelf: [3] },
    base: { total: 3 },
  });
  // what it stands for stays: total by rate
  assert.deepEqual(c.scaleBase({ ...g, base: { total: 2, rate: 4 } }, 1.5).base, {
    total: 3,
    rate: 6,
  });
  const alone = { nodes: {}, functions: {} };
  assert.equal(c.scaleBase(alone, 2), alone);
});

test("an answer about another range is known as such, one of the moment before is not", () => {
  const later = { from: shown.from + 60_000, to: shown.to + 60_000 };
  assert.ok(c.isAbout(shown, later));
  assert.ok(!c.isAbout(shown, { from: at(9, 45), to: at(10, 0) }));
  assert.ok(!c.isAbout(shown, { from: at(10, 0), to: at(10, 30) }));
});

test("a baseline with few profiles says how many of its minutes have some", () => {
  const base = { from: 0, to: 900_000, total: 7 };
  assert.equal(c.littleCovered({ ...base, covered: 60_000 }), "60 s of 15 min");
  assert.equal(c.littleCovered({ ...base, covered: 500_000 }), "");
  assert.equal(c.littleCovered({ ...base, covered: 60_000, total: 0 }), "");
  assert.equal(c.littleCovered(base), "");
  assert.equal(c.littleCovered(undefined), "");
  assert.equal(
    c.littleText({ ...base, covered: 60_000 }, 7.6),
    "Only 60 s of 15 min of the baseline have profiles: what is not in these seems new. " +
      "Its values are multiplied by 7.60.",
  );
  assert.equal(c.littleText({ ...base, covered: 500_000 }, 7.6), "");
});
