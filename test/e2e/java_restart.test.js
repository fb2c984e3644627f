// Java profiles when agents and JVMs are killed: nothing is counted twice or lost, and nothing
// stays behind.
"use strict";

const assert = require("node:assert");
const fs = require("node:fs");
const { test, before, after } = require("node:test");
const { startCluster } = require("./lib/daemon");
const { startJavaNode, startJvm, stateOf } = require("./lib/jvm");
const { application, sql } = require("./lib/query");
const { eventually, sleep } = require("./lib/wait");

const VICTIMS = 12;

let cluster, node, jvm;

before(async () => {
  cluster = await startCluster();
});
after(async () => {
  await jvm?.stop();
  await node?.stop();
  await cluster?.stop();
});

const start = async () => {
  node = await startJavaNode({ cluster, jvms: [jvm] });
};
// The JVM's process becomes visible to the running agent.
const show = ({ pid }) => fs.symlinkSync(`.all/${pid}`, `/proc/${node.pid}/root/proc/${pid}`);
const rounds = () => node.metric("node_agent_java_recordings_read_total");
const profiled = async () => (await stateOf(node, jvm.name)) === "profiled";
const timers = ({ pid }) => fs.readFileSync(`/proc/${pid}/timers`, "utf8");

test("after a SIGKILL the next agent takes over, and counts nothing twice", async () => {
  jvm = await startJvm("jrestart");
  // what the agent left of a JVM that was killed, if /tmp outlives it
  fs.mkdirSync(jvm.file("/tmp/.coroot-java-2147483646-5"), { mode: 0o700 });
  await start();
  await eventually("a profiled JVM", profiled);
  await jvm.ask("locks");
  for (let k = 0; k < 2; k++) {
    const done = await rounds();
    await eventually("two rounds", async () => (await rounds()) >= done + 2);
    await node.stop("SIGKILL");
    const { "locks.monitor.waits": waits } = await jvm.ask();
    await eventually("waits without an agent", async () => {
      const now = await jvm.ask();
      return now["locks.monitor.waits"] > waits + 20;
    });
    await start();
    await eventually("it is profiled again", profiled);
  }
  const truth = await jvm.pause();
  const want = truth["locks.monitor.waits"] + truth["locks.reentrant.waits"];
  const done = await rounds();
  await eventually("the last rounds", async () => (await rounds()) >= done + 2);

  const { service } = await eventually("it", () => application(cluster, jvm.name));
  const rows = await eventually(`${want} waits`, async () => {
    const all = await sql(
      cluster,
      `SELECT toUnixTimestamp64Nano(Start) AS s, toUnixTimestamp64Nano(End) AS e, sum(Value) AS v
       FROM profiling_samples
       WHERE ServiceName = '${service}' AND Type = 'java:lock_contentions:count'
       GROUP BY Start, End ORDER BY s`,
    );
    const got = all.reduce((sum, row) => sum + row.v, 0);
    if (got < want * 0.9) throw new Error(`${got} waits of ${want}`);
    assert.ok(got < want * 1.1, `${got} waits of ${want}`);
    return all;
  });
  for (let i = 1; i < rows.length; i++)
    assert.ok(rows[i].s >= rows[i - 1].e - 1e6, `profile ${i} overlaps the one before`);
});

test("at the end nothing is left", async () => {
  await node.stop();
  assert.strictEqual(timers(jvm), "");
  assert.deepStrictEqual(jvm.leftovers(), []);
  await jvm.ask("resume");
});

test("JVMs may be killed at any moment", async () => {
  await start();
  for (let k = 0; k < VICTIMS; k++) {
    const victim = await startJvm("jvictim", { activities: ["cpu"] });
    show(victim);
    const seen = () => victim.hasProfiler || fs.existsSync(victim.file("/tmp/.java_pid"));
    // some before the attach, some at it, some while a recording is written
    if (k % 3) await eventually("the agent to come", seen);
    await sleep((k * 211) % 2500);
    await victim.stop();
  }
  const done = await rounds();
  await eventually("two more rounds", async () => (await rounds()) >= done + 2);
  await eventually("one JVM", profiled);
  await node.stop();
  assert.deepStrictEqual(jvm.leftovers(), []);
  assert.match(jvm.stdout, /^ready\n(\{[^{}]*\}\n)+$/);
  assert.strictEqual(jvm.stderr, "");
});
