// The JSON API on the real agent and store, with profiles of known content: every endpoint, every
// error, and totals against SQL. docs/openapi.json must describe what is answered, and no more.
"use strict";

const assert = require("node:assert");
const { execFile, execFileSync } = require("node:child_process");
const { once } = require("node:events");
const fs = require("node:fs");
const http = require("node:http");
const path = require("node:path");
const { after, before, test } = require("node:test");
const { promisify } = require("node:util");
const zlib = require("node:zlib");
const Ajv = require("ajv").default;
const { ApiSchema } = require("./lib/api_schema");
const { root, scratch, startCluster } = require("./lib/daemon");
const { encode, upload } = require("./lib/pprof");
const { settled, sql } = require("./lib/query");
const { eventually } = require("./lib/wait");

const CPU = "ebpf:cpu:nanoseconds";
const HEAP = "go:heap_inuse_space:bytes";
const SERVICE = "/k8s/shop/cart/app";
const MINUTE = 60e3;
// long ago, so that answers are settled and have an ETag
const START = Math.floor((Date.now() - 3 * 3600e3) / MINUTE) * MINUTE;

const at = (name, file, line) => ({ name, file, line });
const MAIN = at("main.main", "main.go", 10);
const WORK = at("cart.work", "cart.go", 20);
// frames leaf first, value in version 1 and in version 2, in ms of CPU time
const STACKS = [
  [[at("cart.leaf", "leaf.go", 3), WORK, MAIN], 3000, 9000],
  [[at("cart.leaf", "leaf.go", 5), WORK, MAIN], 1200, 200],
  [[at("cart.fib", "fib.go", 7), at("cart.fib", "fib.go", 8), MAIN], 500, 500],
  [[at("cart.gone", "gone.go", 1), MAIN], 700, 0],
  [[at("cart.added", "added.go", 1), MAIN], 0, 400],
  [["name with 12", at("operator new(int); x", "n.cc", 4), MAIN], 100, 100],
  ...Array.from({ length: 40 }, (_, i) => {
    return [[at(`small.f${i}`, "small.go", i + 1), MAIN], 10 + i, 5];
  }),
];
const SCALE = 2 * 5 * 1e6; // pods, minutes, ns per ms

const schema = new ApiSchema();
const sources = scratch("source");
let cluster;

async function profile(type, version, startMs, labels, scale = 1e6) {
  const stacks = STACKS.filter((s) => s[version] > 0).map((s) => ({
    frames: s[0],
    value: s[version] * scale,
  }));
  const unit = type.split(":")[2];
  const body = encode({ type, unit, stacks, endMs: startMs + MINUTE, durationMs: MINUTE });
  const r = await upload(cluster, SERVICE, zlib.gzipSync(body), {}, labels);
  assert.strictEqual(r.status, 200, r.text);
}

before(async () => {
  fs.mkdirSync(sources, { recursive: true });
  fs.writeFileSync(path.join(sources, "leaf.go"), "package cart\n");
  fs.symlinkSync("/etc/passwd", path.join(sources, "passwd"));
  cluster = await startCluster({
    args: [
      `--source-path=cart=${sources}`,
      "--source-url-template=strip=cart https://git.example/{label:version}/{path}#L{line}",
    ],
  });
  for (let minute = 0; minute < 10; minute++) {
    const version = minute < 5 ? 1 : 2;
    for (const pod of ["a", "b"])
      await profile(CPU, version, START + minute * MINUTE, {
        "container.id": `/k8s/shop/cart-${pod}/app`,
        version: `1.${version}`,
        "host.name": `node-${pod}`,
        build: `${minute}${pod}`,
      });
  }
  for (const [minute, version] of [
    [0, 1],
    [5, 2],
  ])
    await profile(HEAP, version, START + minute * MINUTE, { namespace: "shop", pod: "cart-a" }, 1);
  await settled(cluster);
});
after(() => cluster?.stop());

const OLD = { service: SERVICE, type: CPU, from: START, to: START + 5 * MINUTE };
const NEW = { ...OLD, from: START + 5 * MINUTE, to: START + 10 * MINUTE };
const BASE = { baseFrom: OLD.from, baseTo: OLD.to };

const url = (name, params) => `${cluster.url}/api/${name}?${new URLSearchParams(params)}`;
const get = (name, params, headers) => fetch(url(name, params), { headers });
async function json(name, params) {
  const r = await get(name, params);
  const text = await r.text();
  assert.strictEqual(r.status, 200, `${name}: ${text}`);
  assert.strictEqual(r.headers.get("content-type"), "application/json");
  assert.strictEqual(r.headers.get("x-content-type-options"), "nosniff");
  const answer = JSON.parse(text);
  schema.check(name, answer);
  return answer;
}
const text = async (name, params) => (await get(name, params)).text();

const sum = (values) => values.reduce((a, b) => a + b, 0);
const ns = (ms) => `fromUnixTimestamp64Milli(${ms})`;
// the value of a selection by SQL
async function stored({ type, from, to }, where = "1", value = "sum(Value)") {
  const [row] = await sql(
    cluster,
    `SELECT toFloat64(${value}) AS v FROM profiling_samples WHERE ServiceName = '${SERVICE}'
     AND Type = '${type}' AND Start < ${ns(to)} AND End > ${ns(from)} AND ${where}`,
  );
  return row.v;
}

// the Go that the build uses
const go = process.env.DEPS
  ? execFileSync(path.join(root, "test/setup/go.sh"), { encoding: "utf8" }).trim()
  : "go";
// not synchronous: connections that the server closes meanwhile would be used again
async function pprof(...args) {
  const env = { ...process.env, PPROF_TMPDIR: scratch("pprof") };
  const all = ["tool", "pprof", "-symbolize=none", ...args];
  return (await promisify(execFile)(go, all, { env, maxBuffer: 64 << 20 })).stdout;
}
// { function: [flat, cum] } of "pprof -top", in ms
async function top(...args) {
  const rows = {};
  const all = ["-nodecount=0", "-nodefraction=0", "-edgefraction=0"];
  const lines = (await pprof("-top", "-unit=ms", ...all, ...args)).split("\n");
  const first = lines.findIndex((l) => /flat%/.test(l));
  for (const line of lines.slice(first + 1)) {
    const m = /^\s*(\S+)\s+\S+\s+\S+\s+(\S+)\s+\S+\s+(.*)$/.exec(line);
    if (m) rows[m[3]] = [parseFloat(m[1]), parseFloat(m[2])];
  }
  return rows;
}

test("labels have their values by share, and timelines split by them add up", async () => {
  const { labels } = await json("labels", NEW);
  const byName = Object.fromEntries(labels.map((l) => [l.name, l]));
  assert.deepStrictEqual(byName.version, {
    name: "version",
    n: 1,
    values: [{ value: "1.2", share: 1 }],
  });
  const hosts = byName["host.name"].values;
  assert.deepStrictEqual(hosts.map((v) => v.value).sort(), ["node-a", "node-b"]);
  for (const v of hosts) assert.ok(Math.abs(v.share - 0.5) < 1e-9);
  const one = await json("labels", { ...NEW, from: START, label: "version" });
  assert.deepStrictEqual(
    one.labels.map((l) => [l.name, l.n]),
    [["version", 2]],
  );
  assert.ok(one.labels[0].values[0].share > one.labels[0].values[1].share, "the largest is first");

  const expected = {
    version: ["1.1", "1.2"],
    instance: ["/k8s/shop/cart-a/app@node-a", "/k8s/shop/cart-b/app@node-b"],
    absent: [""],
    pod: ["cart-a"],
  };
  for (const [type, by] of [
    [CPU, "version"],
    [CPU, "instance"],
    [CPU, "absent"],
    [HEAP, "pod"],
  ]) {
    const t = await json("timeline", { ...NEW, type, from: START, points: 10, by });
    const sums = t.values.map((_, i) => sum(t.series.map((s) => s.values[i] ?? 0)));
    t.values.forEach((v, i) =>
      assert.ok(Math.abs((v ?? 0) - sums[i]) <= 1e-6 * Math.abs(v ?? 0), `${type} by ${by}`),
    );
    assert.deepStrictEqual(t.series.map((s) => s.name).sort(), expected[by]);
    if (by === "instance")
      assert.deepStrictEqual(t.instances.map((i) => i.id).sort(), expected[by], "as in the list");
  }
  const many = await json("timeline", { ...NEW, from: START, points: 10, by: "build" });
  assert.strictEqual(many.series.length, 11);
  assert.deepStrictEqual(many.series.map((s) => s.other).filter(Boolean), [true]);
  const sums = many.values.map((_, i) => sum(many.series.map((s) => s.values[i])));
  many.values.forEach((v, i) => assert.ok(Math.abs(v - sums[i]) < 1e-6 * v));
});

test("a heatmap has a row per instance, in steps that profiles can fill", async () => {
  const map = await json("heatmap", { ...NEW, points: 500 });
  assert.strictEqual(map.profileMs, MINUTE);
  assert.strictEqual(map.stepMs, MINUTE, "profiles of a minute say nothing of its seconds");
  assert.deepStrictEqual([map.startMs, map.values.length], [NEW.from, 5]);
  const names = map.series.map((s) => s.name);
  const hosts = ["a", "b"].map((x) => `/k8s/shop/cart-${x}/app@node-${x}`);
  assert.deepStrictEqual([...names].sort(), hosts);
  assert.deepStrictEqual(map.instances.map((i) => i.id).sort(), hosts);
  const line = await json("timeline", { ...NEW, points: 5 });
  assert.deepStrictEqual(map.values, line.values);
  map.values.forEach((v, i) =>
    assert.ok(Math.abs(v - sum(map.series.map((s) => s.values[i]))) < 1e-6 * v),
  );
  const builds = await json("heatmap", { ...NEW, by: "build", limit: 3 });
  assert.deepStrictEqual(
    builds.series.map((s) => s.other ?? s.name.length),
    [2, 2, 2, true],
  );
  const long = await json("heatmap", { ...NEW, from: NEW.to - 30 * 86_400_000, points: 100 });
  assert.strictEqual(long.profileMs, undefined, "nobody needs it for steps of hours");
  // a level of a profile that stands for five minutes
  const heap = { ...NEW, type: HEAP, from: START, points: 500 };
  assert.strictEqual((await json("heatmap", heap)).profileMs, 5 * MINUTE);
});

test("conditions on the instance choose by any of its names", async () => {
  const total = async (where) => (await json("flamegraph", { ...NEW, where })).total;
  const all = await total("");
  for (const [where, share] of [
    ['instance="/k8s/shop/cart-a/app"', 0.5],
    ['instance="/k8s/shop/cart-a/app@node-a"', 0.5],
    ['instance="/k8s/shop/cart-a/app@node-b"', 0],
    ['instance!="/k8s/shop/cart-a/app@node-a"', 0.5],
    ['instance=~"/k8s/shop/cart-a/app@node-a|/k8s/shop/cart-b/app@node-b"', 1],
    ['instance=~".*cart-a.*",version="1.2"', 0.5],
    ['instance!~".*cart-a.*"', 0.5],
    ['instance=~"cart-a"', 0],
  ])
    assert.deepStrictEqual([where, await total(where)], [where, all * share]);
  const p = { ...NEW, type: HEAP, from: START };
  const heap = (where) => json("flamegraph", { ...p, where }).then((g) => g.total > 0);
  assert.deepStrictEqual(
    [await heap('instance=~"shop/cart-[ab]"'), await heap('instance="shop/cart-b"')],
    [true, false],
  );
  const wrong = await get("flamegraph", { ...NEW, where: 'instance=~"("' });
  assert.match((await wrong.json()).error, /regular expression/);
  const sides = await json("flamegraph", {
    ...NEW,
    where: 'instance=~".*-a/.*"',
    baseWhere: 'instance!~".*-a/.*"',
  });
  assert.deepStrictEqual([sides.total, sides.base.total], [all / 2, all / 2]);
});

test("samples and completeness are those of the instance and labels", async () => {
  const quality = async (p) => (await json("flamegraph", { ...NEW, ...p })).quality;
  const all = await quality({});
  const instance = await quality({ instance: "/k8s/shop/cart-a/app" });
  assert.strictEqual(all.scope, "selection");
  assert.strictEqual(instance.scope, "selection");
  assert.strictEqual(instance.samples * 2, all.samples);
  for (const [where, share] of [
    ['"host.name"="node-a"', 0.5],
    ['version="1.2"', 1],
    ['version="1.1"', 0],
    ['version=~"1.*","host.name"!="node-a"', 0.5],
  ]) {
    const q = await quality({ where });
    assert.deepStrictEqual([where, q.samples], [where, all.samples * share]);
  }
  const both = await json("flamegraph", {
    ...NEW,
    ...BASE,
    where: 'version="1.2"',
    baseWhere: '"host.name"="node-a"',
  });
  assert.strictEqual(both.base.quality.samples * 2, (await quality({ ...OLD })).samples);
});

test("sides of a comparison are per second of the time that profiles cover", async () => {
  const mean = async (p, unit = 1) => {
    const t = await json("timeline", { ...p, points: 1 });
    return t.values[0] * unit;
  };
  // the baseline begins five minutes before its first profile
  const early = { baseFrom: START - 5 * MINUTE, baseTo: OLD.to };
  const { rate, covered, base } = await json("flamegraph", { ...NEW, ...early });
  assert.strictEqual(covered, 5 * MINUTE);
  assert.strictEqual(base.covered, 5 * MINUTE);
  const near = (a, b) => assert.ok(Math.abs(a - b) <= 1e-9 * Math.abs(b), `${a}, not ${b}`);
  near(rate, ((await stored(NEW)) / covered) * 1000);
  near(base.rate, ((await stored(OLD)) / base.covered) * 1000);
  near(rate, await mean(NEW, 1e9));
  const level = await json("flamegraph", { ...NEW, ...BASE, type: HEAP });
  near(level.rate, await mean({ ...NEW, type: HEAP }));
  assert.ok(level.rate > 0);
});

test("totals are those of SQL, with labels, a base, and whatever is cut", async () => {
  const selections = [
    [OLD, {}, "1"],
    [NEW, { where: 'version="1.2",host.name!="node-b"' }, "Labels['host.name'] = 'node-a'"],
    [{ ...OLD, to: NEW.to }, { where: 'version=~"1\\\\.[13]"' }, "Labels['version'] = '1.1'"],
    [NEW, { instance: "/k8s/shop/cart-a/app" }, "Labels['container.id'] LIKE '%cart-a%'"],
    [NEW, { where: 'absent!=""' }, "0"],
  ];
  for (const [selection, more, where] of selections) {
    const p = { ...selection, ...more };
    const total = await stored(selection, where);
    assert.strictEqual((await json("flamegraph", p)).total, total, where);
    const cut = await json("flamegraph", { ...p, maxNodes: 3 });
    assert.strictEqual(cut.total, total);
    assert.strictEqual(cut.nodes.total[0], total);
    assert.strictEqual(sum(cut.nodes.self), total - 0, "own values and other are the total");
    assert.strictEqual((await json("functions", { ...p, limit: 1 })).total, total);
    const stacks = await json("stacks", { ...p, limit: 1 });
    assert.strictEqual(stacks.total, total);
    assert.strictEqual(sum(stacks.stacks.map((s) => s.value)) + stacks.valueCut, total);
  }

  const base = await stored(OLD, "Labels['host.name'] = 'node-a'");
  const both = { ...NEW, ...BASE, baseWhere: 'host.name="node-a"' };
  const flame = await json("flamegraph", both);
  assert.strictEqual(flame.total, await stored(NEW));
  assert.strictEqual(flame.base.total, base);
  assert.strictEqual(flame.nodes.baseTotal[0], base);
  const cut = await json("flamegraph", { ...both, maxNodes: 3 });
  assert.strictEqual(cut.base.total, base);
  assert.strictEqual(sum(cut.nodes.baseSelf), base);
  const stacks = await json("stacks", { ...both, limit: 5 });
  assert.strictEqual(stacks.baseTotal, base);
  assert.strictEqual(sum(stacks.stacks.map((s) => s.base)) + stacks.baseCut, base);
  assert.strictEqual(stacks.stacks.length + stacks.stacksCut, stacks.n);
  assert.strictEqual((await json("functions", both)).baseTotal, base);
  const elsewhere = await json("flamegraph", { ...NEW, zoom: "0123456789abcdef" });
  assert.strictEqual(elsewhere.zoomed, false);
  assert.strictEqual(elsewhere.total, flame.total);
});

test("columns as bytes are the same answer as JSON", async () => {
  for (const more of [{}, BASE, { ...BASE, maxNodes: 3 }]) {
    const r = await get("flamegraph", { ...NEW, ...more, format: "columns" });
    assert.strictEqual(r.headers.get("content-type"), "application/vnd.coroot.columns");
    const body = Buffer.from(await r.arrayBuffer());
    assert.strictEqual(body.toString("latin1", 0, 8), "columns1");
    const end = 16 + body.readUInt32LE(8);
    const answer = JSON.parse(body.toString("utf8", 16, end));
    const begin = Math.ceil(end / 8) * 8;
    const column = ({ at, type, n }) =>
      Array.from({ length: n }, (_, i) =>
        type === "i32"
          ? body.readInt32LE(begin + at + 4 * i)
          : body.readDoubleLE(begin + at + 8 * i),
      );
    const columns = (o) => Object.fromEntries(Object.entries(o).map(([k, c]) => [k, column(c)]));
    const { function: fn, ...nodes } = columns(answer.nodes);
    const pairs = columns(answer.pairs);
    const functions = columns(answer.functions);
    const distinct = new Set(pairs.name.map((name, i) => `${name} ${pairs.file[i]}`));
    assert.strictEqual(distinct.size, pairs.name.length);
    delete answer.pairs;
    const [name, file] = ["name", "file"].map((key) => fn.map((i) => pairs[key][i]));
    const asJson = await json("flamegraph", { ...NEW, ...more });
    assert.deepStrictEqual({ ...answer, functions, nodes: { name, file, ...nodes } }, asJson);
  }
});

test("levels are averaged over the time that profiles cover", async () => {
  const p = { ...OLD, type: HEAP };
  const value = await stored({ ...p, from: START, to: NEW.to }, "1", "sum(Value) / 2");
  const { total } = await json("flamegraph", { ...p, to: NEW.to });
  // each stack's average is rounded
  assert.ok(Math.abs(total - value) <= STACKS.length / 2, `${total} is not ${value}`);
  assert.strictEqual((await json("flamegraph", p)).total, await stored(p));
  const diff = await json("flamegraph", { ...p, from: NEW.from, to: NEW.to, ...BASE });
  assert.strictEqual(diff.base.total, await stored(p));
});

test("functions are sorted by what is asked, and compared", async () => {
  const f = await json("functions", { ...NEW, ...BASE, sort: "diff", limit: 3 });
  assert.strictEqual(f.functions.length, 3);
  assert.ok(f.n > 40);
  assert.deepStrictEqual(f.functions[0], {
    name: "cart.leaf",
    file: "leaf.go",
    self: 9200 * SCALE,
    total: 9200 * SCALE,
    baseSelf: 4200 * SCALE,
    baseTotal: 4200 * SCALE,
  });
  assert.deepStrictEqual(
    f.functions.slice(1).map((g) => [g.name, g.self, g.baseSelf]),
    [
      ["cart.gone", 0, 700 * SCALE],
      ["cart.added", 400 * SCALE, 0],
    ],
  );
  const totals = await json("functions", { ...NEW, sort: "total" });
  assert.strictEqual(totals.functions[0].name, "main.main");
  assert.strictEqual(totals.functions[0].total, totals.total);
  const fib = totals.functions.find((g) => g.name === "cart.fib");
  assert.strictEqual(fib.total, 500 * SCALE, "recursion counts once");
});

// depth 1 of a tree in columns: { name: [total, baseTotal] }
function children(tree) {
  const { name, depth, total, baseTotal = [] } = tree.nodes;
  const found = {};
  name.forEach((n, i) => {
    if (depth[i] === 1) found[tree.names[n]] = [total[i], baseTotal[i]];
  });
  return found;
}

test("a function has lines, callers and callees that add up to it", async () => {
  const p = { ...NEW, ...BASE, name: "cart.leaf", file: "leaf.go" };
  const leaf = await json("function", p);
  const { functions } = await json("functions", { ...NEW, ...BASE, search: '"cart.leaf"' });
  const { name, file, self, total, baseSelf, baseTotal } = leaf;
  assert.deepStrictEqual([{ name, file, self, total, baseSelf, baseTotal }], functions);
  assert.deepStrictEqual(
    leaf.lines.map((l) => [l.line, l.self, l.baseSelf]),
    [
      [3, 9000 * SCALE, 3000 * SCALE],
      [5, 200 * SCALE, 1200 * SCALE],
    ],
  );
  assert.deepStrictEqual(children(leaf.callers), { "cart.work": [total, baseTotal] });
  assert.deepStrictEqual(children(leaf.callees), {});
  for (const side of ["callers", "callees"]) {
    assert.strictEqual(leaf[side].names[leaf[side].nodes.name[0]], "cart.leaf");
    assert.strictEqual(leaf[side].nodes.total[0], total);
  }
  const cut = await json("function", { ...p, name: "main.main", file: "main.go", maxNodes: 3 });
  assert.strictEqual(cut.total, await stored(NEW));
  const calls = children(cut.callees);
  assert.strictEqual(sum(Object.values(calls).map((c) => c[0])), cut.total);
  assert.strictEqual(sum(cut.callees.nodes.self), cut.total);
  const none = await json("function", { ...NEW, name: "cart.leaf", file: "" });
  assert.deepStrictEqual([none.total, none.lines], [0, []], "in another file it is another");
});

test("a search is the value of the stacks that it finds, each once", async () => {
  const p = { ...NEW, ...BASE };
  const found = async (search) => {
    const m = await json("matches", { ...p, search });
    return [m.total / SCALE, m.baseTotal / SCALE, m.functions, m.stacks];
  };
  assert.deepStrictEqual(await found("cart.FIB"), [500, 500, 1, 1]);
  assert.deepStrictEqual(await found('"cart.leaf"'), [9200, 4200, 1, 2]);
  assert.deepStrictEqual(await found("/^cart\\.(gone|added)$/"), [400, 700, 2, 2]);
  assert.deepStrictEqual(await found("nowhere"), [0, 0, 0, 0]);
  const all = await json("matches", { ...p, search: "main.go" });
  assert.strictEqual(all.total, await stored(NEW));
  assert.strictEqual(all.baseTotal, await stored(OLD));
  // more of it is in sides.test.js
  const part = await json("matches", { ...NEW, search: "main.go", byShare: 1 });
  assert.deepStrictEqual([part.total, part.covered], [all.total, 5 * MINUTE]);
  assert.ok(Math.abs(part.rate / (part.total / 300) - 1) < 1e-9);
  const list = await json("functions", { ...p, search: "/^small/", limit: 1 });
  assert.deepStrictEqual([list.n, list.functions.length], [40, 1]);
});

test("stacks have lines, and folded and speedscope files the same sums", async () => {
  const { stacks } = await json("stacks", NEW);
  assert.deepStrictEqual(stacks[0].frames[0], { ...at("cart.leaf", "leaf.go", 3), inlined: false });
  assert.strictEqual(stacks[0].frames.at(-1).name, "main.main");

  const total = await stored(NEW);
  const lines = (await text("folded", NEW)).trimEnd().split("\n");
  assert.strictEqual(sum(lines.map((l) => Number(/ (\d+)$/.exec(l)[1]))), total);
  assert.ok(lines.some((l) => l.startsWith("main.main;operator new(int): x;name with_12 ")));
  const pairs = (await text("folded", { ...NEW, ...BASE })).trimEnd().split("\n");
  const values = pairs.map((l) => / (\d+) (\d+)$/.exec(l).slice(1).map(Number));
  assert.strictEqual(sum(values.map((v) => v[0])), await stored(OLD), "the base is first");
  assert.strictEqual(sum(values.map((v) => v[1])), total);

  const file = require.resolve("speedscope/dist/release/file-format-schema.json");
  const valid = new Ajv({ strict: false }).compile(JSON.parse(fs.readFileSync(file)));
  for (const [more, n] of [
    [{}, 1],
    [BASE, 2],
  ]) {
    const s = await json("speedscope", { ...NEW, ...more });
    assert.ok(valid(s), JSON.stringify(valid.errors));
    assert.strictEqual(s.profiles.length, n);
    assert.strictEqual(sum(s.profiles[0].weights), total);
    assert.strictEqual(s.profiles[0].samples.length, s.profiles[0].weights.length);
    const leaf = s.shared.frames[s.profiles[0].samples[0].at(-1)];
    assert.deepStrictEqual(leaf, at("cart.leaf", "leaf.go", 3));
  }
});

test("go tool pprof reads every selection, and its differences are ours", async () => {
  const selections = [
    OLD,
    { ...NEW, where: 'version="1.2"' },
    { ...NEW, instance: "/k8s/shop/cart-b/app" },
  ];
  for (const p of selections) {
    const rows = await top(url("pprof", p));
    const { functions } = await json("functions", p);
    for (const f of functions.filter((g) => g.total > 0))
      assert.deepStrictEqual(rows[f.name], [f.self / 1e6, f.total / 1e6], f.name);
  }

  const ours = await top(url("pprof", { ...NEW, ...BASE }));
  const files = [];
  for (const p of [OLD, NEW]) {
    files.push(`${scratch("pprof")}.pb.gz`);
    fs.writeFileSync(files.at(-1), Buffer.from(await (await get("pprof", p)).arrayBuffer()));
  }
  const theirs = await top(`-diff_base=${files[0]}`, files[1]);
  assert.deepStrictEqual(ours, theirs);
  assert.deepStrictEqual(ours["cart.added"], [4000, 4000]);
  assert.deepStrictEqual(ours["cart.gone"], [-7000, -7000]);
  const file = (await get("pprof", NEW)).headers.get("content-disposition");
  assert.match(file, /^attachment; filename="k8s-shop-cart-app-ebpf-cpu-nanoseconds-\d+T\d+Z\.pb/);
});

test("applications, movers, types and a timeline fit their description", async () => {
  const { types } = await json("types");
  assert.strictEqual(types.find((t) => t.type === HEAP).language, "go");
  assert.strictEqual(types.find((t) => t.type === CPU).language, "");
  const range = { from: START, to: NEW.to };
  const { applications } = await json("applications", { ...range, points: 5 });
  assert.strictEqual(applications[0].service, SERVICE);
  const { movers } = await json("movers", { from: NEW.from, to: NEW.to, ...BASE, limit: 1 });
  assert.strictEqual(movers[0].name, "cart.leaf");
  const { levels } = await json("levels", { from: NEW.from, to: NEW.to, limit: 3 });
  assert.deepStrictEqual([levels[0].service, levels[0].type], [SERVICE, HEAP]);
  assert.ok(levels[0].value > levels[0].base);
  const { instances, values } = await json("timeline", { ...NEW, points: 5 });
  assert.strictEqual(instances.length, 2);
  assert.ok(values.every((v) => v > 0));
});

test("what waits for the store is counted", async () => {
  const none = { uploads: 0, bytes: 0, oldestSeconds: 0, failingSeconds: 0 };
  await eventually("all is stored", async () => {
    const r = await fetch(`${cluster.url}/api/backlog`);
    assert.strictEqual(r.status, 200);
    assert.deepStrictEqual(await r.json(), none);
    return true;
  });
});

test("a function is found in all applications once the agent has summed the day", async () => {
  const range = { from: START, to: NEW.to };
  const fleet = await eventually("sums of the day", async () => {
    const answer = await json("fleet", { function: "cart.leaf", ...range });
    return answer.n > 0 && answer;
  });
  const [app] = fleet.applications;
  assert.deepStrictEqual([app.service, app.type, app.namespace], [SERVICE, CPU, "shop"]);
  assert.ok(app.self > 0 && app.self === app.total && app.total < app.whole, JSON.stringify(app));
  assert.ok(fleet.from <= START && fleet.to >= NEW.to && fleet.upTo > START);
  const { functions } = await json("names", { search: "T.LEA", ...range });
  assert.deepStrictEqual(functions, ["cart.leaf"]);
});

test("source is read below --source-path only, and its address has the version", async () => {
  const found = await json("source", { ...NEW, file: "cart/leaf.go" });
  assert.deepStrictEqual(found, {
    file: "cart/leaf.go",
    folders: true,
    text: "package cart\n",
    url: "https://git.example/1.2/leaf.go#L{line}",
  });
  const { url: older } = await json("source", { ...OLD, file: "cart/leaf.go" });
  assert.strictEqual(older, "https://git.example/1.1/leaf.go#L{line}");
  for (const [file, why] of [
    ["cart/passwd", /symbolic link/],
    ["cart/../../../etc/passwd", /no folder/],
    ["/etc/passwd", /no folder/],
    ["cart/none.go", /is not in the folders/],
  ]) {
    const answer = await json("source", { ...NEW, file });
    assert.strictEqual(answer.text, undefined);
    assert.match(answer.why, why);
  }
});

test("notes are written, listed and deleted, and a snapshot is its selection", async () => {
  const write = async (name, method, params, body) => {
    const headers = { "Content-Type": "text/plain" };
    const r = await fetch(url(name, params), { method, body, headers });
    const answer = await r.json();
    assert.strictEqual(r.status, 200, JSON.stringify(answer));
    schema.check(name, answer, method);
    return answer;
  };
  const about = { service: SERVICE, type: CPU, at: NEW.from, name: "Release 1.2" };
  const note = await write("notes", "POST", { ...about, url: "?type=x" }, "Ticket 17");
  assert.deepStrictEqual(
    [note.service, note.type, note.at, note.name, note.text, note.url, note.bytes, note.compared],
    [SERVICE, CPU, NEW.from, "Release 1.2", "Ticket 17", "?type=x", 0, false],
  );
  const after = { ...NEW, ...BASE, name: "After", at: NEW.to };
  const kept = await write("snapshots", "POST", after, "");
  assert.ok(kept.bytes > 0 && kept.compared, JSON.stringify(kept));
  const list = await json("notes", { service: SERVICE });
  assert.deepStrictEqual([list.n, list.notes], [2, [kept, note]]);
  for (const [of, params] of [
    [NEW, { id: kept.id }],
    [OLD, { id: kept.id, base: 1 }],
  ]) {
    const file = `${scratch("snapshot")}.pb.gz`;
    fs.writeFileSync(file, Buffer.from(await (await get("snapshot", params)).arrayBuffer()));
    assert.deepStrictEqual(await top(file), await top(url("pprof", of)));
  }
  const brief = await write("snapshots", "POST", { ...NEW, name: "Brief", ttl: "2h" }, "");
  assert.ok(Math.abs(brief.expires - brief.created - 7_200_000) < 60_000);
  assert.ok(note.expires - note.created > 300 * 86_400_000);
  const long = await fetch(url("snapshots", { ...NEW, name: "Long", ttl: "3650d" }), {
    method: "POST",
  });
  assert.strictEqual(long.status, 400);
  for (const { id } of [...list.notes, brief]) await write("notes", "DELETE", { id });
  assert.deepStrictEqual(await json("notes", {}), { n: 0, notes: [] });
});

test("a wrong question is a 400 that names what is wrong", async () => {
  const p = { service: SERVICE, type: CPU };
  const wrong = [
    ["flamegraph", { type: CPU }, "service is missing"],
    ["flamegraph", { service: SERVICE }, "type is missing"],
    ["fleet", { type: CPU }, "function is missing"],
    ["names", { type: CPU }, "search is missing"],
    ["source", p, "file is missing"],
    ["flamegraph", { ...p, from: "x" }, "from is not a number from 0 to 7258118400000"],
    ["flamegraph", { ...p, from: 5, to: 5 }, "from is not before to"],
    ["flamegraph", { ...p, from: 5, to: 1e12 }, "the range is longer than 366 days"],
    ["flamegraph", { ...p, baseFrom: 9e12 }, /^baseFrom is not a number/],
    ["flamegraph", { ...p, maxNodes: 0 }, "maxNodes is not a number from 1 to 1000000"],
    ["flamegraph", { ...p, zoom: "xyz" }, "zoom is not 16 hexadecimal digits"],
    ["flamegraph", { ...p, format: "xml" }, "format is not json or columns"],
    ["flamegraph", { ...p, where: "pod" }, /^where: /],
    ["flamegraph", { ...p, baseWhere: 'pod="' }, /^baseWhere: /],
    ["flamegraph", { ...p, where: 'pod=~"("' }, /regular expression/],
    ["labels", { ...p, where: 'pod=~"a{2,1}"' }, /regular expression/],
    ["timeline", { ...p, where: 'pod!~"[z-a]"', by: "pod" }, /regular expression/],
    ["functions", { ...p, sort: "name" }, "sort is not self, total or diff"],
    ["pprof", { ...p, seconds: 5, from: 1 }, "from and seconds exclude each other"],
    ["function", p, "name is missing"],
    ["matches", { ...p, search: "" }, "search is missing"],
    ["matches", { ...p, search: "/(/" }, /./],
    ["functions", { ...p, search: "/[/" }, /./],
    ["matches", { ...p, search: "x".repeat(1001) }, "search: more than 1000 bytes"],
    ["stacks", { ...p, limit: 200001 }, "limit is not a number from 1 to 200000"],
  ];
  for (const [name, params, reason] of wrong) {
    const r = await get(name, params);
    const answer = await r.json();
    assert.strictEqual(r.status, 400, `${name} ${JSON.stringify(params)}: ${r.status}`);
    schema.check("Error", answer);
    if (reason instanceof RegExp) assert.match(answer.error, reason);
    else assert.strictEqual(answer.error, reason);
  }
  const twice = await fetch(`${url("types", { _: 1 })}&_=2`);
  assert.strictEqual(twice.status, 200, "names with an underscore are ignored");
  const two = await fetch(`${url("stacks", p)}&type=x`);
  assert.strictEqual((await two.json()).error, "type is given twice");
});

test("the description has all paths and parameters that the server takes", async () => {
  const r = await fetch(`${cluster.url}/api/nothing`);
  assert.strictEqual(r.status, 404);
  const { error } = await r.json();
  const paths = error.match(/\/api\/\w+/g);
  assert.deepStrictEqual(paths.sort(), Object.keys(schema.doc.paths).sort());
  for (const { name, method } of schema.operations) {
    const refused = async (params) => {
      const answer = await fetch(url(name, params), { method });
      return (await answer.json()).error;
    };
    const none = /^bogus is not a parameter here; there are (.*)$/;
    const [, list] = none.exec(await refused({ bogus: 1 }));
    const { parameters } = schema.operation(name, method);
    assert.deepStrictEqual(list, parameters.map((q) => q.name).join(", ") || "none", name);
    for (const q of parameters.filter((s) => s.schema.type === "integer")) {
      const high = await refused({ [q.name]: q.schema.maximum + 1 });
      const range = `${q.schema.minimum} to ${q.schema.maximum}`;
      assert.strictEqual(high, `${q.name} is not a number from ${range}`, name);
    }
  }
});

test("an answer about the past is sent once", async () => {
  const first = await get("flamegraph", OLD);
  const etag = first.headers.get("etag");
  assert.match(etag, /^W\/"[0-9a-f]{32}"$/);
  assert.strictEqual(first.headers.get("cache-control"), "private, no-cache");
  await first.arrayBuffer();
  const cached = { "If-None-Match": `"x", ${etag}` };
  const second = await get("flamegraph", OLD, cached);
  assert.strictEqual(second.status, 304);
  assert.strictEqual(second.headers.get("etag"), etag);
  assert.strictEqual(await second.text(), "");
  assert.strictEqual((await get("flamegraph", NEW, cached)).status, 200);
  const live = await get("flamegraph", { service: SERVICE, type: CPU }, cached);
  assert.strictEqual(live.headers.get("etag"), null);
  assert.strictEqual(live.headers.get("cache-control"), "no-store");

  const head = await fetch(url("flamegraph", OLD), { method: "HEAD" });
  assert.strictEqual(head.status, 200);
  assert.strictEqual(head.headers.get("etag"), etag);
  assert.strictEqual((await fetch(url("types"), { method: "POST" })).status, 405);
  for (const encoding of ["identity", "gzip;q=0, *;q=0", "gzip"]) {
    const r = await get("flamegraph", OLD, { "Accept-Encoding": encoding });
    assert.strictEqual(r.headers.get("content-encoding"), encoding === "gzip" ? "gzip" : null);
    assert.strictEqual((await r.json()).total, await stored(OLD));
  }
});

test("the page comes as plain text to who wants that, and lets nothing else in", async () => {
  for (const encoding of ["identity", "gzip;q=0", "gzip"]) {
    const r = await fetch(`${cluster.url}/`, { headers: { "Accept-Encoding": encoding } });
    assert.strictEqual(r.headers.get("content-encoding"), encoding === "gzip" ? "gzip" : null);
    assert.match(await r.text(), /^<!doctype html>/i);
    const policy = r.headers.get("content-security-policy").split("; ");
    for (const rule of ["object-src 'none'", "base-uri 'none'", "frame-ancestors 'none'"])
      assert.ok(policy.includes(rule), policy);
  }
});

test("a client that leaves ends its query, whatever it asked", async () => {
  const left = () =>
    cluster.metric("cluster_agent_api_requests_cancelled_total", 'reason="client_left"');
  for (const name of schema.endpoints.filter((n) => n !== "types")) {
    const params = {};
    for (const q of schema.operation(name).parameters)
      if (q.required)
        params[q.name] = { service: SERVICE, type: CPU, id: "0".repeat(16) }[q.name] ?? "main";
    const start = await left();
    // those that are answered before the client is seen to have left are not ended
    await eventually(`${name} is cancelled`, async () => {
      const ask = () => http.get(url(name, params), { agent: false });
      const requests = Array.from({ length: 12 }, ask);
      await Promise.all(requests.map((r) => r.on("error", () => {}) && once(r, "finish")));
      for (const r of requests) r.destroy();
      return (await left()) > start;
    });
  }
});

test("every field that is described was in an answer", () => {
  // those about symbols need debuginfod servers: debuginfod.test.js has them; profiles of now and
  // of yesterday are in test_applications.c
  const elsewhere = /^Flamegraph\.symbols|^Movers\.movers\.base(From|To)$|\.completeTo$/;
  const unseen = schema.unseen().filter((f) => !elsewhere.test(f));
  assert.deepStrictEqual(unseen, []);
});
