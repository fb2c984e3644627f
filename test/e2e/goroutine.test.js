// Goroutine profiles of a Go program that never asks for them, from its memory to the store and the
// API.
"use strict";

const assert = require("node:assert");
const { test, before, after } = require("node:test");
const { startCluster, startNode } = require("./lib/daemon");
const { program, AskedWorkload } = require("./lib/workload");
const { sql, flame, application } = require("./lib/query");
const { eventually } = require("./lib/wait");

const TYPE = "go:goroutine_goroutine:count";

let cluster;
let node;
let workload;
let ran;
let from;

before(async () => {
  cluster = await startCluster();
  workload = new AskedWorkload("gowaits");
  ran = JSON.parse(await workload.line());
  from = Date.now();
  node = await startNode({
    cluster,
    interval: "5s",
    pids: [workload.pid], // the counters are of this program alone
    args: [
      "--go-heap-interval=1s",
      "--go-heap-profiler=disabled",
      "--go-goroutine-profiler=reasons",
    ],
  });
});
after(async () => {
  workload?.stop();
  await node?.stop();
  await cluster?.stop();
});

const service = async () =>
  (await eventually("the application", () => application(cluster, program("gowaits")))).service;

test("each profile has all goroutines of the program, and none of the runtime's", async () => {
  const rows = await eventually("five profiles", async () => {
    const all = await sql(
      cluster,
      `SELECT End, sum(Value) AS n FROM profiling_samples
       WHERE ServiceName = '${await service()}' AND Type = '${TYPE}' GROUP BY End ORDER BY End`,
    );
    return all.length >= 5 && all;
  });
  for (const row of rows) assert.strictEqual(row.n, ran.workers + ran.sleepers + 1);
});

test("the flame graph shows where they wait, and for what", async () => {
  const f = await flame(cluster, {
    service: await service(),
    type: TYPE,
    from,
    to: Date.now() + 1000,
  });
  const all = ran.workers + ran.sleepers + 1;
  const names = f.list.map((n) => n.name).join(" ");
  assert.ok(Math.abs(f.share("main.waitForWork") - ran.workers / all) < 0.02, names);
  assert.ok(Math.abs(f.share("[chan receive]") - ran.workers / all) < 0.02, names);
  assert.ok(Math.abs(f.share("[sleep]") - (ran.sleepers + 1) / all) < 0.02, names);
});

test("every goroutine that was read is counted, and there are no heap profiles", async () => {
  assert.ok((await node.metric("node_agent_go_profiles_total", "goroutine")) >= 5);
  assert.ok((await node.metric("node_agent_go_goroutines_read_total", "")) > ran.workers * 5);
  assert.strictEqual(
    await node.metric("node_agent_go_goroutines_incomplete_stack_total", "broken"),
    0,
  );
  assert.strictEqual(await node.metric("node_agent_go_profiles_total", "heap"), 0);
});
