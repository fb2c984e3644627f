// Java profiles of a program that counts what it does, from async-profiler through both agents to
// the store and the API. The agent sees no other processes, since it would load its library into
// their JVMs as well.
"use strict";

const assert = require("node:assert");
const fs = require("node:fs");
const { test, before, after } = require("node:test");
const { startCluster } = require("./lib/daemon");
const { startJavaNode, startJvm, stateOf } = require("./lib/jvm");
const { CPU, api, application, flame, sql } = require("./lib/query");
const { eventually } = require("./lib/wait");

const INTERVAL_S = 3;
const JAVA_CPU = "java:cpu:nanoseconds";
const ALLOC_BYTES = "java:heap_alloc_space:bytes";
const ALLOC_OBJECTS = "java:heap_alloc_objects:count";
const LOCK_WAITS = "java:lock_contentions:count";
const LOCK_NS = "java:lock_delay:nanoseconds";
const SAMPLE_NS = 10e6;
const ALLOC_INTERVAL = 512 << 10;

// What must have happened before the counters are compared: then five standard deviations of the
// rarest thing that is sampled are 15 to 50 per cent of it.
const ENOUGH = {
  "cpu.lightNs": 1e9,
  "allocations.large.objects": 400,
  "locks.monitor.waits": 1000,
  "variety.rounds": 30,
};

let cluster, node, jvm;
let fdsBefore, truth;
const range = { from: Date.now() };

const service = async () =>
  (await eventually("the application", () => application(cluster, jvm.name))).service;
const graph = async (type) => flame(cluster, { service: await service(), type, ...range });
const stored = async (type) => {
  const [row] = await sql(
    cluster,
    `SELECT sum(Value) AS v FROM profiling_samples
     WHERE ServiceName = '${await service()}' AND Type = '${type}'`,
  );
  return row.v;
};
const rounds = () => node.metric("node_agent_java_profiles_total", '"cpu"');

before(async () => {
  jvm = await startJvm("java", { activities: ["rest"] });
  fdsBefore = jvm.fds();
  cluster = await startCluster();
  node = await startJavaNode({ cluster, jvms: [jvm], intervalS: INTERVAL_S });
  // from here on it counts, and everything that it counts is profiled
  await eventually("a profiled JVM", async () => (await stateOf(node, jvm.name)) === "profiled");
  for (const a of ["cpu", "allocations", "locks", "variety"]) await jvm.ask(a);
  await eventually("enough of everything", async () => {
    const now = await jvm.ask();
    return Object.entries(ENOUGH).every(([name, least]) => now[name] >= least);
  });
  truth = await jvm.pause();
  // the recording that has the last of it
  const done = await rounds();
  await eventually("two more rounds", async () => (await rounds()) >= done + 2);
  range.to = Date.now() + 1000;
});
after(async () => {
  await jvm?.stop();
  await node?.stop();
  await cluster?.stop();
});

// Five standard deviations of what n independent samples count, and as much as the JVM itself may
// be wrong.
function assertSampled(got, want, n, what, wrong = 0.05) {
  const tolerance = 5 / Math.sqrt(n) + wrong;
  assert.ok(
    Math.abs(got / want - 1) < tolerance,
    `${what}: ${got}, not ${want} within ${(tolerance * 100).toFixed(1)} %`,
  );
}

test("CPU time is under the methods that spent it", async () => {
  const f = await graph(JAVA_CPU);
  for (const method of ["heavy", "middle", "light"]) {
    const want = truth[`cpu.${method}Ns`];
    const got = f.share(`workload.Cpu.${method}`) * f.total;
    assertSampled(got, want, want / SAMPLE_NS, method);
  }
});

test("the eBPF CPU profile of the same JVM is still there", async () => {
  const [total, want] = [await stored(CPU), await stored(JAVA_CPU)];
  // its threads of compilers and of the garbage collector are in both
  assertSampled(total, want, want / SAMPLE_NS, "eBPF CPU", 0.2);
});

// The JVM's own sampler is off by some per cent, and by more while threads come and go.
test("objects and bytes are under the methods that allocated them", async () => {
  const [bytes, objects] = [await graph(ALLOC_BYTES), await graph(ALLOC_OBJECTS)];
  const own = (f, name) => f.find(name).reduce((sum, n) => sum + n.self, 0);
  for (const site of ["small", "middle", "large"]) {
    const name = `workload.Allocations.${site}`;
    const want = truth[`allocations.${site}.bytes`];
    const count = truth[`allocations.${site}.objects`];
    const samples = count * (1 - Math.exp(-want / count / ALLOC_INTERVAL));
    assertSampled(own(bytes, name), want, samples, `bytes of ${site}`, 0.15);
    assertSampled(own(objects, name), count, samples, `objects of ${site}`, 0.15);
  }
});

test("waits for locks have their number and duration", async () => {
  const [waits, delay] = [await graph(LOCK_WAITS), await graph(LOCK_NS)];
  for (const [kind, method] of [
    ["monitor", "workload.Locks.enterMonitor"],
    ["reentrant", "workload.Locks.enterReentrant"],
  ]) {
    // each is recorded; the program's clock is read a little before and after
    const [n, ns] = [truth[`locks.${kind}.waits`], truth[`locks.${kind}.waitedNs`]];
    assertSampled(waits.share(method) * waits.total, n, Infinity, `waits of ${kind}`, 0.1);
    assertSampled(delay.share(method) * delay.total, ns, Infinity, `delay of ${kind}`, 0.1);
  }
  const names = new Set(delay.list.map((n) => n.name));
  assert.ok(!names.has("workload.Locks.takeNothing"), "an idle thread waits for no lock");
});

test("generated names are folded, native code and missing roots are marked", async () => {
  const f = await graph(JAVA_CPU);
  const names = f.list.map((n) => n.name);
  const numbered = /\$\$Lambda[^.]|0x[0-9a-f]{6}|\$Proxy\d|Accessor\d|LambdaForm\$\w+[/.]\d/;
  assert.deepStrictEqual(
    names.filter((name) => !name.includes("::") && numbered.test(name)),
    [],
  );
  const all = names.join(" ");
  for (const method of ["inLambda", "inExceptions", "inNative", "inKernel", "deep", "reflected"])
    assert.ok(f.share(`workload.Variety.${method}`) > 0, `${method}: ${all}`);
  const files = f.list.filter((n) => n.name.startsWith("workload.Cpu.")).map((n) => n.file);
  assert.deepStrictEqual([...new Set(files)], ["workload/Cpu"]);
  const native = new Set(f.list.map((n) => n.file).filter((file) => file.startsWith("[")));
  assert.ok(native.has("[libjvm.so]") && native.has("[libc.so.6]"), [...native].join(" "));
  // the recursion is deeper than stacks are walked, and nothing else is cut
  const [cut] = f.find("[truncated]");
  assert.deepStrictEqual([...new Set(cut.children.map((n) => n.name))], ["workload.Variety.deep"]);
  assert.ok(f.quality.truncated > 0, JSON.stringify(f.quality));
});

test("profiles cover all the time, one after the other", async () => {
  const rows = await sql(
    cluster,
    `SELECT DISTINCT toUnixTimestamp64Nano(Start) AS s, toUnixTimestamp64Nano(End) AS e
     FROM profiling_samples
     WHERE ServiceName = '${await service()}' AND Type = '${JAVA_CPU}' ORDER BY s`,
  );
  assert.ok(rows.length >= 3, `${rows.length} profiles`);
  for (let i = 1; i < rows.length; i++) {
    const gapMs = (rows[i].s - rows[i - 1].e) / 1e6;
    assert.ok(Math.abs(gapMs) < 1, `${gapMs} ms between profiles ${i - 1} and ${i}`);
  }
});

test("nothing is reported again while the program rests", async () => {
  const first = await Promise.all([LOCK_WAITS, ALLOC_BYTES, JAVA_CPU].map(stored));
  const done = await rounds();
  await eventually("a round", async () => (await rounds()) > done);
  const last = await Promise.all([LOCK_WAITS, ALLOC_BYTES, JAVA_CPU].map(stored));
  assert.strictEqual(last[0], first[0]);
  // what it does when it answers, and when a recording is written, is little
  for (const i of [1, 2]) assertSampled(last[i], first[i], Infinity, "rest", 0.05);
});

test("counters of the container are the sums of its profiles", async () => {
  for (const [metric, type] of [
    ["container_jvm_alloc_bytes_total", ALLOC_BYTES],
    ["container_jvm_alloc_objects_total", ALLOC_OBJECTS],
    ["container_jvm_lock_contentions_total", LOCK_WAITS],
  ])
    assertSampled(await node.metric(metric), await stored(type), Infinity, metric, 0.01);
  const seconds = await node.metric("container_jvm_lock_time_seconds_total");
  assertSampled(seconds * 1e9, await stored(LOCK_NS), Infinity, "lock time", 0.01);
});

test("the API lists the types of the application", async () => {
  const { applications } = await api(cluster, "applications", range);
  const { types: all } = applications.find((a) => a.service.endsWith(`/${jvm.name}`));
  const types = all.map((t) => t.type);
  for (const t of [CPU, JAVA_CPU, ALLOC_BYTES, ALLOC_OBJECTS, LOCK_WAITS, LOCK_NS])
    assert.ok(types.includes(t), `${t}: ${types}`);
});

test("the page opens the Java profile rather than CPU (eBPF)", async () => {
  const { types } = await api(cluster, "types", {});
  const featured = (type) => types.find((t) => t.type === type).featured;
  assert.deepStrictEqual([featured(JAVA_CPU), featured(CPU)], [true, false]);
});

test("at its end, the agent leaves the JVM as it was", async () => {
  await node.stop();
  await jvm.ask();
  assert.deepStrictEqual(jvm.leftovers(), []);
  // the library stays loaded and has /proc/self/task open; the JVM, its attach socket
  await eventually("descriptors", () => jvm.fds() <= fdsBefore + 2);
  assert.strictEqual(fs.readFileSync(`/proc/${jvm.pid}/timers`, "utf8"), "");
});

test("the JVM has printed only what it prints without an agent", async () => {
  assert.strictEqual(jvm.stderr, "");
  const lines = jvm.stdout.trimEnd().split("\n");
  assert.strictEqual(lines.shift(), "ready");
  for (const line of lines) assert.match(line, /^\{[^{}]*"nowNs": \d+[^{}]*\}$/);
});
