// The whole path: compares what programs know about themselves with what is stored.
"use strict";

const assert = require("node:assert");
const fs = require("node:fs");
const { test, before, after } = require("node:test");
const { startCluster, startNode } = require("./lib/daemon");
const { program, assertWithin, runWorkload } = require("./lib/workload");
const { CPU, sql, api, flame, application } = require("./lib/query");
const { eventually } = require("./lib/wait");

const INTERVAL_S = 5;
const FIRST_DATA_MS = (INTERVAL_S + 3) * 1000; // 3000 of them for start and upload
const CPU_S = 30;
const KERNEL_CPU_S = 16;
const HASH_CPU_S = 16;
// Tolerance of a share: at 99 Hz and 30 s of CPU, five standard deviations are 4.5 points.
const POINTS = 0.05;
// Tolerance of the CPU time: on a busy machine, where a program runs some four milliseconds at
// a time, five are 7 per cent.
const CPU_SHARE = 0.07;

let cluster;
let node;
let firstDataMs;
const ran = {};
const range = {};

const near = (got, want, tolerance, what) =>
  assert.ok(Math.abs(got - want) <= tolerance, `${what}: got ${got}, want ${want} ± ${tolerance}`);

// A ratio of sampled time to what a program used.
const nearUsed = (got, { stolen }, tolerance, what) => {
  const [least, most] = [1 - tolerance, 1 + tolerance + stolen];
  assert.ok(got >= least && got <= most, `${what}: ${got} is not in ${least}–${most}`);
};

// From the start of a node-agent to the first data that is of its time.
const untilData = (agent) =>
  eventually("first data", async () => {
    const since = `toUnixTimestamp64Milli(Start) >= ${agent.startedAt}`;
    const [{ n }] = await sql(cluster, `SELECT count() AS n FROM profiling_samples WHERE ${since}`);
    return n > 0 && Date.now() - agent.startedAt;
  });

// The agents run while the workloads do, and the node-agent has sent everything when this is done.
before(async () => {
  cluster = await startCluster();
  node = await startNode({ cluster, interval: `${INTERVAL_S}s` });
  range.from = node.startedAt;
  const work = Promise.all([
    runWorkload("share", CPU_S),
    runWorkload("goshare", CPU_S),
    runWorkload("gohash", HASH_CPU_S),
  ]);
  firstDataMs = await untilData(node);
  for (const w of await work) ran[w.name] = w;
  ran.kernelread = await runWorkload("kernelread", KERNEL_CPU_S);
  ran.metrics = {
    lost: await node.metric("node_agent_samples_lost_total"),
    unsent: await node.metric("node_agent_profiles_dropped_total"),
    rss: await node.metric("process_resident_memory_bytes"),
  };
  ran.stop = { from: Date.now(), ...(await node.stop()) };
  ran.stop.ms = Date.now() - ran.stop.from;
  range.to = Date.now() + 1000;
});
after(async () => {
  await cluster?.stop();
});

test("the node-agent ends cleanly and quickly on SIGTERM", () => {
  assert.strictEqual(ran.stop.code, 0, node.log());
  assertWithin(10000, ran.stop.ms, ran.share);
});

test("first data is there within one interval of the start", async () => {
  // a machine that stalls for some seconds makes it late, too, but not every time
  for (let again = 0; firstDataMs > FIRST_DATA_MS && again < 3; again++) {
    const another = await startNode({ cluster, interval: `${INTERVAL_S}s` });
    firstDataMs = await untilData(another);
    await another.stop();
  }
  assert.ok(firstDataMs <= FIRST_DATA_MS, `took ${firstDataMs} ms`);
});

for (const [name, functions] of [
  ["share", ["spend_seventy", "spend_thirty"]],
  ["goshare", ["main.spendSixty", "main.(*worker).spendForty"]],
]) {
  test(`${name}: SQL shows the CPU time it used, and no sample is lost`, async () => {
    const app = await application(cluster, program(name));
    const [row] = await sql(
      cluster,
      `SELECT sum(Value) AS ns FROM profiling_samples
       WHERE ServiceName = '${app.service}' AND Type = '${CPU}'`,
    );
    nearUsed(row.ns / ran[name].cpuNs, ran[name], CPU_SHARE, "sampled against used CPU time");
    const [quality] = await sql(
      cluster,
      `SELECT sum(arraySum(mapValues(Lost))) AS lost, sum(Samples) AS samples
       FROM profiling_quality WHERE ServiceName = '${app.service}'`,
    );
    assert.strictEqual(quality.lost, 0);
    near(quality.samples, row.ns / (1e9 / 99), 1, "samples counted");
  });

  test(`${name}: SQL on stacks gives each function its share`, async () => {
    const app = await application(cluster, program(name));
    for (const f of functions) {
      const [row] = await sql(
        cluster,
        `SELECT
           sumIf(Value, arrayExists(x -> splitByChar(' ', x)[1] = '${f}', Stack)) / sum(Value)
             AS share
         FROM profiling_samples
         INNER JOIN (SELECT Hash, any(Stack) AS Stack FROM profiling_stacks
                     WHERE ServiceName = '${app.service}' GROUP BY Hash) AS s
           ON StackHash = s.Hash
         WHERE ServiceName = '${app.service}' AND Type = '${CPU}'`,
      );
      near(row.share, ran[name][f] / ran[name].cpuNs, POINTS, f);
    }
  });

  test(`${name}: the API's tree gives each function its share, below main`, async () => {
    const app = await application(cluster, program(name));
    const tree = await flame(cluster, { service: app.service, ...range });
    for (const f of functions) {
      near(tree.share(f), ran[name][f] / ran[name].cpuNs, POINTS, f);
      const names = [];
      for (let n = tree.find(f).sort((a, b) => b.total - a.total)[0]; n; n = n.parent)
        names.push(n.name);
      assert.ok(names.includes("main") || names.includes("main.main"), `callers of ${f}: ${names}`);
      assert.strictEqual(
        names[names.length - 2],
        program(name),
        `below "total" stands the process: ${names}`,
      );
    }
    assert.strictEqual(tree.quality.lost, 0);
    assert.ok(tree.share("[truncated]") < 0.02, "walks that did not reach the bottom");
  });
}

test("assembly of Go that uses BP, or has no frame, stands on its callers", async () => {
  const app = await application(cluster, program("gohash"));
  const list = (tree) =>
    tree.list.filter((n) =>
      /^(crypto\/.*\.block|runtime\.memmove|math\/big\.addMul)/.test(n.name) && n.self > 0,
    );
  const tree = await flame(cluster, { service: app.service, ...range });
  const assembly = list(tree);
  const sum = (nodes) => nodes.reduce((s, n) => s + n.self, 0);
  const spender = (n) => n && (n.name.startsWith("main.spend") ? n : spender(n.parent));
  // of the time of its thread: those of the garbage collector take more when the machine is busy
  const share = sum(assembly) / ran.gohash.cpuNs;
  assert.ok(share > 0.58, `assembly is ${share}: ${assembly.map((n) => `${n.name} ${n.self}`)}`);
  // since the table of the program was made, which takes a while on a busy machine
  const { from, to } = ran.gohash;
  const half = { ...range, from: Math.round((from + to) / 2) };
  const later = list(await flame(cluster, { service: app.service, ...half }));
  assert.ok(sum(later) > 0.2 * ran.gohash.cpuNs);
  assert.ok(
    sum(later.filter(spender)) >= 0.95 * sum(later),
    `without callers: ${later.filter((n) => !spender(n)).map((n) => `${n.name} ${n.self}`)}`,
  );
  for (const f of ["MD5", "SHA1", "SHA256", "SHA512", "Big", "Copy"].map((n) => `main.spend${n}`))
    near(tree.share(f) * tree.total, ran.gohash[f], POINTS * ran.gohash.cpuNs, f);
  for (const n of assembly.filter((x) => /md5|sha/.test(x.name))) {
    const hash = /md5|sha\d+/.exec(n.name)[0].toUpperCase();
    const above = spender(n);
    assert.ok(!above || above.name === `main.spend${hash}`, `${n.name} below ${above?.name}`);
  }
});

test("kernel time is there, by name, and marked as the kernel's", async () => {
  const app = await application(cluster, program("kernelread"));
  const tree = await flame(cluster, { service: app.service, ...range });
  nearUsed(tree.total / ran.kernelread.cpuNs, ran.kernelread, 0.1, "sampled against used CPU time");
  const kernel = tree.list.filter((n) => n.file === "[kernel]" && n.parent.file !== "[kernel]");
  near(kernel.reduce((s, n) => s + n.total, 0) / tree.total, 0.97, 0.06, "share of the kernel");
  assert.ok(
    tree.list.some((n) => n.file === "[kernel]" && /read/.test(n.name)),
    "a kernel function that reads",
  );
  // read_zeros itself is missing: the C library's read() keeps no frame pointer
  assert.ok(tree.share("main") > 0.9, "kernel frames stand on the user frames that called");
  assert.ok(
    kernel.every((n) => n.parent.name !== "total"),
    "kernel frames stand on the process",
  );
});

test("the agents themselves are profiled like everything else", async () => {
  const { applications } = await api(cluster, "applications", range);
  assert.ok(applications.some((a) => a.service.includes("coroot-cluster-agent")));
  for (const a of applications)
    assert.ok(a.cores >= 0 && a.cores < 64 && a.lastSeen > range.from - 1, JSON.stringify(a));
});

test("the timeline adds up to what was used", async () => {
  const app = await application(cluster, program("share"));
  const t = await api(cluster, "timeline", {
    service: app.service,
    type: CPU,
    points: 30,
    ...range,
  });
  assert.strictEqual(t.unit, "cores");
  // a step has the rate of the time in it that profiles cover: all from the first one to the last
  const [covered] = await sql(
    cluster,
    `SELECT min(toUnixTimestamp64Milli(Start)) AS from, max(toUnixTimestamp64Milli(End)) AS to
     FROM profiling_samples WHERE ServiceName = '${app.service}' AND Type = '${CPU}'`,
  );
  const coreSeconds = t.values.reduce((sum, v, i) => {
    const from = t.startMs + i * t.stepMs;
    const ms = Math.min(from + t.stepMs, covered.to) - Math.max(from, covered.from);
    return sum + ((v || 0) * Math.max(ms, 0)) / 1000;
  }, 0);
  nearUsed((coreSeconds * 1e9) / ran.share.cpuNs, ran.share, 0.08, "area below the line");
  assert.ok(
    t.values.every((v) => v === null || (v >= 0 && v < 1.2)),
    `one thread: ${t.values}`,
  );
});

test("the node-agent counted nothing as lost, and stays small", () => {
  assert.strictEqual(ran.metrics.lost, 0);
  assert.strictEqual(ran.metrics.unsent, 0);
  assert.ok(ran.metrics.rss > 0 && ran.metrics.rss < 64 << 20, `${ran.metrics.rss} bytes resident`);
});

test("SQL cannot write", async () => {
  await assert.rejects(
    sql(cluster, "INSERT INTO profiling_samples (ServiceName) VALUES ('x')"),
    /Code: \d+/,
  );
});
