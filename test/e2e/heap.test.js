// Heap profiles of Go programs that never ask for it, from their memory to the store.
"use strict";

const assert = require("node:assert");
const { test, before, after } = require("node:test");
const { startCluster, startNode } = require("./lib/daemon");
const { program, runWorkload } = require("./lib/workload");
const { sql, flame, application } = require("./lib/query");
const { eventually } = require("./lib/wait");

const INTERVAL_S = 1;
const IN_USE = "go_runtime:heap_inuse_space:bytes";
const ALLOCATED = "go_runtime:heap_alloc_space:bytes";

let cluster;
let node;
let ran;
const range = {};

before(async () => {
  cluster = await startCluster();
  node = await startNode({ cluster, interval: "5s", args: [`--go-heap-interval=${INTERVAL_S}s`] });
  range.from = node.startedAt;
  ran = await runWorkload("goheap", 12);
  range.to = Date.now() + 1000;
});
after(async () => {
  await node.stop();
  await cluster.stop();
});

const service = async () =>
  (await eventually("the application", () => application(cluster, program("goheap")), 10000)).service;

test("what a program keeps is in use, under the function that allocated it", async () => {
  const f = await flame(cluster, { service: await service(), type: IN_USE, ...range });
  assert.ok(f.find("main.keepForever").length > 0, `functions: ${f.list.map((n) => n.name).join(" ")}`);
  const [last] = await sql(
    cluster,
    `SELECT Start, sum(Value) AS bytes FROM profiling_samples
     WHERE ServiceName = '${await service()}' AND Type = '${IN_USE}' GROUP BY Start ORDER BY Start DESC LIMIT 1`,
  );
  // blocks of four times the sampling rate are missed with a probability of e^-4
  assert.ok(last.bytes > 0.75 * ran.keptBytes && last.bytes < 1.5 * ran.keptBytes, `${last.bytes} bytes in use`);
});

test("what it allocated is told once, whatever the interval", async () => {
  const f = await flame(cluster, { service: await service(), type: ALLOCATED, ...range });
  const thrown = f.share("main.throwAway") * f.total;
  // the last interval ends with the program
  assert.ok(thrown > 0.7 * ran.thrownBytes, `${thrown} of ${ran.thrownBytes} bytes`);
  assert.ok(thrown < 1.15 * ran.thrownBytes, `${thrown} of ${ran.thrownBytes} bytes`);
});

test("every round is in a profile or counted", async () => {
  assert.ok((await node.metric("node_agent_go_profiles_total", "heap")) >= 8);
  assert.strictEqual(await node.metric("node_agent_go_readings_failed_total", "corrupt_list"), 0);
});
