import assert from "node:assert/strict";
import { test } from "node:test";
import {
  choose,
  firstStep,
  isMissed,
  isOneOff,
  namespacesOf,
  OUTSIDE,
  parseOrder,
  printOrder,
  rowsOf,
  sparkPaths,
} from "../../../cluster-agent/web/src/model/applications";
import type { Application } from "../../../cluster-agent/web/src/model/applications";

const NOW = 1_700_000_000_000;
const span = { from: NOW - 900_000, to: NOW };
const steps = (from: number, to: number): (number | null)[] =>
  Array.from({ length: 15 }, (_, i) => (i >= from && i < to ? 1 : null));

function app(service: string, more: Partial<Application> = {}): Application {
  return {
    service,
    namespace: /^\/k8s\/([^/]+)/.exec(service)?.[1] ?? "",
    types: [],
    firstSeen: NOW - 86_400_000,
    lastSeen: NOW,
    cores: 1,
    spark: steps(0, 15),
    ...more,
  };
}
const brief = { firstSeen: NOW - 60_000, spark: steps(14, 15) };
const folding = {
  order: parseOrder(""),
  open: new Set<string>(),
  fold: true,
  before: null,
  first: 0,
};

test("one-off commands are short, and not there all the time", () => {
  assert.ok(isOneOff(app("/process/cc1", brief)));
  assert.ok(!isOneOff(app("/k8s/shop/web", brief)));
  assert.ok(!isOneOff(app("/process/burn", { firstSeen: span.from })));
  const young = app("/process/burn", { firstSeen: NOW - 120_000, spark: steps(13, 15) });
  assert.ok(isOneOff(young));
  assert.ok(!isOneOff(young, firstStep([young], span)), "there as long as the agent");
  assert.ok(!isOneOff(app("/process/nightly", { spark: steps(14, 15) })), "known since yesterday");
});

test("commands that are alike are one row, and those like no others, too", () => {
  const commands = ["cc1", "cc1plus", "cc1obj", "ld", "as", "sed"].map((n) =>
    app(`/process/${n}`, { ...brief, cores: 2 ** -6 }),
  );
  const rows = rowsOf([app("/k8s/shop/web"), ...commands], folding);
  assert.deepEqual(
    rows.map((r) => [r.app?.service ?? r.title, r.members, r.cores]),
    [
      ["/k8s/shop/web", 1, 1],
      ["cc1…", 3, 3 * 2 ** -6],
      ["other commands", 3, 3 * 2 ** -6],
    ],
  );
  assert.deepEqual(rows[1].spark, [...steps(14, 15).slice(0, 14), 3]);
  const busy = app("/process/cc1all", { ...brief, cores: 0.5 });
  assert.ok(
    rowsOf([app("/k8s/shop/web"), busy, ...commands], folding).some((r) => r.app === busy),
    "uses much",
  );
  const web = app("/k8s/shop/web");
  const open = rowsOf([web, ...commands], { ...folding, open: new Set(["cc1…"]) });
  assert.deepEqual(
    open.map((r) => [r.app?.service ?? r.title, r.inside]),
    [
      ["/k8s/shop/web", false],
      ["cc1…", false],
      ["/process/cc1", true],
      ["/process/cc1obj", true],
      ["/process/cc1plus", true],
      ["other commands", false],
    ],
  );
  assert.equal(rowsOf(commands, { ...folding, fold: false }).length, 6);
  assert.equal(rowsOf(commands, folding).length, 6, "right after the installation");
  assert.equal(rowsOf([web, ...commands.slice(3, 5)], folding).length, 3, "two are no group");
});

test("rows are sorted, those without a value last", () => {
  const all = [app("/b", { cores: null }), app("/a", { cores: 0.5 }), app("/c", { cores: 2 })];
  const before = new Map([
    ["/a", 1],
    ["/c", 1.5],
  ]);
  const sorted = (order: string): string[] =>
    rowsOf(all, { ...folding, order: parseOrder(order), before }).map((r) => r.app!.service);
  assert.deepEqual(sorted(""), ["/c", "/a", "/b"]);
  assert.deepEqual(sorted("name"), ["/a", "/b", "/c"]);
  assert.deepEqual(sorted("-change"), ["/c", "/a", "/b"]);
  const [c, a, b] = rowsOf(all, { ...folding, before });
  assert.deepEqual([c.change, a.change, b.change, b.isNew], [0.5, -0.5, null, true]);
});

test("an order is printed as it is parsed, and the usual one not at all", () => {
  for (const text of ["", "cores", "name", "-name", "change", "-seen"])
    assert.equal(printOrder(parseOrder(text)), text);
  assert.equal(printOrder(parseOrder("-cores")), "");
  assert.equal(printOrder(parseOrder("nonsense")), "");
});

test("missed is what was there for long without a break and then fell silent", () => {
  const gone = { lastSeen: NOW - 300_000, spark: steps(0, 10) };
  const missed = (more: Partial<Application>, newest: number | null = NOW): boolean =>
    isMissed(app("/k8s/shop/web", { ...gone, ...more }), span, newest);
  assert.ok(missed({}));
  assert.ok(!missed({ lastSeen: NOW - 100_000 }));
  assert.ok(!missed({ firstSeen: NOW - 800_000 }), "not for long");
  assert.ok(!missed({ spark: steps(9, 10) }), "it comes and goes");
  assert.ok(!missed({}, NOW - 300_000), "everything is silent");
  assert.ok(!isMissed(app("/process/x", { ...gone, ...brief }), span, NOW));
});

test("words and namespaces choose, and namespaces are counted", () => {
  const all = [app("/k8s/shop/Web"), app("/k8s/shop/db"), app("/docker/web", { cores: null })];
  assert.deepEqual(
    choose(all, ["web"], "").map((a) => a.service),
    ["/k8s/shop/Web", "/docker/web"],
  );
  assert.deepEqual(
    choose(all, [], OUTSIDE).map((a) => a.service),
    ["/docker/web"],
  );
  assert.deepEqual(namespacesOf(all), [
    { name: "shop", n: 2, cores: 2 },
    { name: OUTSIDE, n: 1, cores: 0 },
  ]);
});

test("curves begin with the profiles: what was before a young store has no room", () => {
  const young = { firstSeen: NOW - 300_000, spark: steps(9, 15) };
  const rows = rowsOf([app("/k8s/shop/web", young)], { ...folding, first: 9 });
  assert.deepEqual(rows[0].spark, steps(9, 15).slice(9));
});

test("a sparkline breaks at gaps, and a lone value is a dash", () => {
  const { line, area } = sparkPaths([1, 2, null, 1, null], 50, 10);
  assert.equal(line, "M5.0 5.0L15.0 1.0M35.0 5.0m-1 0h2");
  assert.equal(area, "M5.0 10L5.0 5.0L15.0 1.0V10ZM35.0 10L35.0 5.0V10Z");
  assert.deepEqual(sparkPaths([null, null], 50, 10), { line: "", area: "" });
});
