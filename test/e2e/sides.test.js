// What two sides of a comparison are divided by, on the real agent and store: instances whose
// profiles begin at different seconds, come late, start and end; sides that profiles hardly cover.
"use strict";

const assert = require("node:assert");
const zlib = require("node:zlib");
const { after, before, test } = require("node:test");
const { startCluster } = require("./lib/daemon");
const { encode, fields, numbers, upload } = require("./lib/pprof");
const { settled } = require("./lib/query");

const CPU = "ebpf:cpu:nanoseconds";
const MINUTE = 60e3;
const OLD = Math.floor((Date.now() - 3 * 3600e3) / MINUTE) * MINUTE;
const NOW = Math.floor(Date.now() / 1000) * 1000;

let cluster;

/** Profiles of a core each of the functions, one after the other from `from` until `to`. */
async function post(service, host, functions, from, to, length = MINUTE) {
  for (let start = from; start + length <= to; start += length) {
    const stacks = functions.map((f) => ({ frames: [f, "main"], value: length * 1e6 }));
    const body = encode({ stacks, endMs: start + length, durationMs: length });
    const labels = { "container.id": `/k8s/shop/${host}/app`, "host.name": host };
    const r = await upload(cluster, service, zlib.gzipSync(body), {}, labels);
    assert.strictEqual(r.status, 200, r.text);
  }
}

before(async () => {
  cluster = await startCluster();
  // b's profiles begin 35 s before those of a, and its last one is missing
  await post("edges", "a", ["both", "first"], OLD, OLD + 10 * MINUTE);
  await post("edges", "b", ["both", "second"], OLD - 35e3, OLD + 9 * MINUTE + 25e3);
  // an instance that starts with the second half, and one in the middle of that
  await post("doubled", "a", ["both"], OLD, OLD + 10 * MINUTE);
  await post("doubled", "b", ["both"], OLD + 5 * MINUTE, OLD + 10 * MINUTE);
  await post("started", "a", ["both"], OLD, OLD + 10 * MINUTE);
  await post("started", "b", ["both"], OLD + 8 * MINUTE, OLD + 10 * MINUTE);
  // until now; another agent has yet to send what is newer
  await post("live", "a", ["both", "first"], NOW - 605e3, NOW - 5e3);
  await post("live", "b", ["both", "second"], NOW - 635e3, NOW - 35e3);
  await post("young", "a", ["both", "first"], OLD, OLD + MINUTE);
  await post("young", "a", ["both"], OLD + MINUTE, OLD + 10 * MINUTE);
  await settled(cluster);
});
after(() => cluster?.stop());

const halves = {
  ...{ from: OLD + 5 * MINUTE, to: OLD + 10 * MINUTE },
  ...{ baseFrom: OLD, baseTo: OLD + 5 * MINUTE },
};
const url = (name, params) => `${cluster.url}/api/${name}?${new URLSearchParams(params)}`;
async function json(name, params) {
  const r = await fetch(url(name, params));
  assert.strictEqual(r.status, 200, await (r.ok ? "" : r.text()));
  return r.json();
}

/** How a function has changed in absolute values, by the rule of the page: 0.1 is +10 %. */
async function changes(service, range) {
  const g = await json("flamegraph", { service, type: CPU, ...range });
  const factor = g.total / g.rate / (g.base.total / g.base.rate);
  const all = {};
  g.functions.name.forEach((n, i) => {
    all[g.names[n]] = g.functions.total[i] / (g.functions.baseTotal[i] * factor) - 1;
  });
  return { ...all, factor, cores: [g.rate / 1e9, g.base.rate / 1e9] };
}
const near = (a, b, by = 1e-6) => assert.ok(Math.abs(a - b) <= by, `${a}, not ${b}`);

test("what has not changed has not, although profiles of an instance end earlier", async () => {
  const { both, cores } = await changes("edges", halves);
  near(both, 0);
  near(cores[0], 4);
  near(cores[1], 4);
});

test("until present, sides end where all agents have reported", async () => {
  const range = { from: NOW - 240e3, to: NOW, baseFrom: NOW - 480e3, baseTo: NOW - 240e3 };
  const { both, first, second, cores } = await changes("live", range);
  for (const change of [both, first, second]) near(change, 0, 0.002);
  near(cores[0], cores[1], 0.01);
});

test("a service that has doubled its instances uses twice as much", async () => {
  const doubled = await changes("doubled", halves);
  near(doubled.both, 1);
  const started = await changes("started", halves);
  near(started.both, 2 / 5);
});

/** The length of a pprof in seconds, and its comments. */
function timesOf(body) {
  const p = fields(zlib.gunzipSync(body));
  return {
    seconds: numbers(p[10])[0] / 1e9,
    comments: numbers(p[13]).map((i) => p[6][i].toString()),
  };
}
async function file(name, params) {
  const r = await fetch(url(name, params));
  return Buffer.from(await r.arrayBuffer());
}

test("an export lasts as long as its values, and says which range was asked for", async () => {
  const early = { service: "doubled", type: CPU, from: OLD - 10 * MINUTE, to: OLD + 5 * MINUTE };
  const { seconds, comments } = timesOf(await file("pprof", early));
  near(seconds, 300);
  const iso = (ms) => new Date(ms).toISOString().replace("Z", "000Z");
  assert.deepStrictEqual(comments, ["doubled", `range ${iso(early.from)}/${iso(early.to)}`]);
  // whole profiles that overlap the range are of more time than it has
  const part = { ...early, from: OLD + 30e3, to: OLD + 90e3 };
  near(timesOf(await file("pprof", part)).seconds, 120);
});

test("a snapshot of a comparison has its values and times", async () => {
  const range = { service: "young", type: CPU, from: OLD + 5 * MINUTE, to: OLD + 9 * MINUTE };
  const base = { baseFrom: OLD - 14 * MINUTE, baseTo: OLD + MINUTE };
  const live = await json("flamegraph", { ...range, ...base });
  const made = await fetch(url("snapshots", { ...range, ...base, name: "x" }), { method: "POST" });
  const { id } = await made.json();
  const a = timesOf(await file("snapshot", { id }));
  const b = timesOf(await file("snapshot", { id, base: 1 }));
  near(b.seconds, 60);
  near(a.seconds / b.seconds, live.total / live.rate / (live.base.total / live.base.rate));
});

test("parts of a range add up to it, and have the rates of the timeline", async () => {
  const range = { service: "started", type: CPU, from: OLD, to: OLD + 10 * MINUTE };
  const part = (from, to) => json("matches", { ...range, from, to, search: "both", byShare: 1 });
  let sum = 0;
  for (let from = range.from; from < range.to; from += 75e3) {
    const { total, rate, covered } = await part(from, from + 75e3);
    near((rate * covered) / 1e3 / total, 1);
    sum += total;
  }
  assert.strictEqual(sum, (await json("matches", { ...range, search: "both" })).total);
  // a step of the timeline, at whose borders profiles are cut
  const [from, to] = [OLD + 7.5 * MINUTE, OLD + 9.5 * MINUTE];
  const t = await json("timeline", { ...range, from, to, points: 1 });
  near((await part(from, to)).rate / 1e9, t.values[0]);
  near(t.values[0], 1.75);
  const none = await part(OLD - 10 * MINUTE, OLD - 5 * MINUTE);
  assert.deepStrictEqual([none.total, none.rate, none.covered], [0, null, 0]);
});

test("movers of a service are by the time that its own profiles cover", async () => {
  // "young" and "live" have profiles on a part of the base only, others on all of it
  const { movers, covered, baseCovered } = await json("movers", {
    ...{ from: OLD + MINUTE, to: OLD + 10 * MINUTE, limit: 100 },
    ...{ baseFrom: OLD - 8 * MINUTE, baseTo: OLD + MINUTE },
  });
  const moved = (m) => Math.abs(m.cores - m.baseCores) > 1e-6;
  const young = movers.filter((m) => m.service === "young" && moved(m));
  assert.deepStrictEqual(
    young.map((m) => [m.name, m.baseCores, m.cores]),
    [["first", 1, 0]],
  );
  assert.strictEqual(covered, 9 * MINUTE);
  assert.strictEqual(baseCovered, MINUTE + 35e3);
});
