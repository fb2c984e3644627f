// JVMs whose methods were compiled before a profiler was there: of these, the JVM knows the
// positions of inlined code at calls and ends of loops only (docs/java.md).
"use strict";

const assert = require("node:assert");
const { test, before, after } = require("node:test");
const { startCluster } = require("./lib/daemon");
const { startJavaNode, startJvm, stateOf } = require("./lib/jvm");
const { application, flame } = require("./lib/query");
const { eventually } = require("./lib/wait");

const METHODS = ["heavy", "middle", "light"];
const SAMPLE_NS = 10e6;
const HOT_NS = 1.5e9; // long after methods are compiled for the last time
const EXACT = ["-XX:+UnlockDiagnosticVMOptions", "-XX:+DebugNonSafepoints"];

let cluster, node;
const jvms = {};
const range = { from: Date.now() };
const graphOf = async (jvm) => {
  const { service } = await eventually("the application", () => application(cluster, jvm.name));
  return flame(cluster, { service, type: "java:cpu:nanoseconds", ...range });
};
const spent = (counters) => METHODS.map((m) => counters[`cpu.${m}Ns`]);
const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);

before(async () => {
  cluster = await startCluster();
  jvms.exact = await startJvm("jexact", { activities: ["cpu"], flags: EXACT });
  jvms.usual = await startJvm("jusual", { activities: ["cpu"] });
  for (const jvm of Object.values(jvms))
    await eventually("a hot JVM", async () => sum(spent(await jvm.ask())) > HOT_NS);
  node = await startJavaNode({ cluster, jvms: Object.values(jvms), intervalS: 3 });
  for (const jvm of Object.values(jvms)) {
    await eventually("a profiled JVM", async () => (await stateOf(node, jvm.name)) === "profiled");
    jvm.before = spent(await jvm.ask());
  }
  for (const jvm of Object.values(jvms)) {
    await eventually("enough of it", async () => {
      const now = spent(await jvm.ask());
      return now.every((ns, i) => ns - jvm.before[i] > 0.6e9);
    });
    jvm.truth = spent(await jvm.pause()).map((ns, i) => ns - jvm.before[i]);
  }
  const rounds = () => node.metric("node_agent_java_profiles_total", '"cpu"');
  const done = await rounds();
  await eventually("the last rounds", async () => (await rounds()) >= done + 4);
  range.to = Date.now() + 1000;
});
after(async () => {
  for (const jvm of Object.values(jvms)) await jvm.stop();
  await node?.stop();
  await cluster?.stop();
});

// What the JVM counts begins some time after its profile: only parts of the whole can be compared.
test("with DebugNonSafepoints, time is under the methods that spent it", async () => {
  const f = await graphOf(jvms.exact);
  const all = f.share("workload.Cpu.turn");
  METHODS.forEach((method, i) => {
    const want = jvms.exact.truth[i];
    const part = f.share(`workload.Cpu.${method}`) / all;
    const wanted = want / sum(jvms.exact.truth);
    const tolerance = 5 / Math.sqrt(want / SAMPLE_NS) + 0.1;
    assert.ok(Math.abs(part / wanted - 1) < tolerance, `${method}: ${part}, not ${wanted}`);
  });
  const clock = f.share("sun.management.ThreadImpl.getCurrentThreadCpuTime");
  assert.ok(clock < 0.3, `${clock} of the time in reading the clock`);
});

test("without it, compiled methods and their callers are still right", async () => {
  const f = await graphOf(jvms.usual);
  const turn = f.share("workload.Cpu.turn");
  assert.ok(turn > 0.8, `${turn} of the time below the thread's method`);
});
