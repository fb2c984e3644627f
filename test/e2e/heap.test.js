// Heap profiles of Go programs that never ask for it, from their memory to the store.
"use strict";

const assert = require("node:assert");
const { test, before, after } = require("node:test");
const { startCluster, startNode } = require("./lib/daemon");
const { program, AskedWorkload } = require("./lib/workload");
const { sql, flame, application } = require("./lib/query");
const { eventually, sleep } = require("./lib/wait");

const INTERVAL_S = 1;
const IN_USE = "go_runtime:heap_inuse_space:bytes";
const ALLOCATED = "go_runtime:heap_alloc_space:bytes";

let cluster;
let node;
let workload;
let ran;
let from;

before(async () => {
  cluster = await startCluster();
  node = await startNode({
    cluster,
    interval: "5s",
    // the counters are of this program alone
    args: [
      `--go-heap-interval=${INTERVAL_S}s`,
      `--container-allowlist=^/process/${program("goheap")}$`,
    ],
  });
  from = node.startedAt;
  workload = new AskedWorkload("goheap");
  assert.strictEqual(await workload.line(), "ready");
  await eventually(
    "a reading",
    async () => (await node.metric("node_agent_go_heap_records_total")) > 0,
  );
  ran = await workload.ask("8");
});
after(async () => {
  workload?.stop();
  await node?.stop();
  await cluster?.stop();
});

const service = async () =>
  (await eventually("the application", () => application(cluster, program("goheap")))).service;
const graph = async (type) =>
  flame(cluster, { service: await service(), type, from, to: Date.now() + 1000 });

test("memory that a program keeps is in use, under the function that allocated it", async () => {
  // including the last block that it dropped. Blocks of eight times the sampling rate are
  // missed with a probability of e^-8
  await eventually(`about ${ran.keptBytes} bytes in use`, async () => {
    const [last] = await sql(
      cluster,
      `SELECT Start, sum(Value) AS bytes FROM profiling_samples
       WHERE ServiceName = '${await service()}' AND Type = '${IN_USE}'
       GROUP BY Start ORDER BY Start DESC LIMIT 1`,
    );
    if (!(last.bytes > 0.75 * ran.keptBytes && last.bytes < 1.25 * ran.keptBytes))
      throw new Error(`${last.bytes} bytes`);
    return true;
  });
  const f = await graph(IN_USE);
  assert.ok(
    f.find("main.keepForever").length > 0,
    `functions: ${f.list.map((n) => n.name).join(" ")}`,
  );
});

test("its allocations are reported once, whatever the interval", async () => {
  const isAll = async () => {
    const f = await graph(ALLOCATED);
    const thrown = f.share("main.throwAway") * f.total;
    if (!(Math.abs(thrown / ran.thrownBytes - 1) < 0.1))
      throw new Error(`${thrown} of ${ran.thrownBytes} bytes`);
    return true;
  };
  await eventually("all of it", isAll);
  await sleep(3000 * INTERVAL_S);
  await isAll();
});

test("every round is in a profile or counted", async () => {
  await eventually(
    "rounds",
    async () => (await node.metric("node_agent_go_profiles_total", "heap")) >= 8,
  );
  assert.strictEqual(await node.metric("node_agent_go_readings_failed_total", "corrupt_list"), 0);
});
