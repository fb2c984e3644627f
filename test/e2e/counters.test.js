// Metrics of Go processes per container: those of a stripped program without profiler, compared
// with what its runtime reports.
"use strict";

const assert = require("node:assert");
const { test, before, after } = require("node:test");
const { startCluster, startNode } = require("./lib/daemon");
const { AskedWorkload, program } = require("./lib/workload");
const { eventually, sleep } = require("./lib/wait");

const INTERVAL_S = 1;

let cluster;
let node;
let asked;
const labels = `{container_id="/process/${program("gocounters")}",app_id=""}`;
const metric = (name) => node.metric(`container_go_${name}`, labels);

before(async () => {
  cluster = await startCluster();
  asked = new AskedWorkload("gocounters");
  await asked.line();
  // only this process: what others on the machine do may be counted as going backwards
  node = await startNode({
    cluster,
    interval: "5s",
    pids: [asked.pid],
    args: [`--go-heap-interval=${INTERVAL_S}s`],
  });
});
after(async () => {
  asked?.stop();
  await node?.stop();
  await cluster?.stop();
});

test("what a process did before the agent started is not counted", async () => {
  assert.ok((await eventually("the program", async () => (await metric("goroutines")) + 1)) >= 2);
  assert.ok((await metric("alloc_bytes_total")) < 1 << 20);
  assert.strictEqual(await metric("gc_cycles_total"), 0);
});

test("counters grow by what the program does, and gauges show what it has", async () => {
  const names = [
    "alloc_bytes_total",
    "alloc_objects_total",
    "gc_cycles_total",
    "gc_pause_seconds_total",
  ];
  const first = {};
  for (const name of names) first[name] = await metric(name);
  const did = await asked.ask("allocate");
  const isAll = async () => {
    const gained = {};
    for (const name of names) gained[name] = (await metric(name)) - first[name];
    const near = (name, want) =>
      assert.ok(
        gained[name] > 0.95 * want && gained[name] < 1.05 * want,
        `${name}: ${gained[name]}, the program: ${want}`,
      );
    near("alloc_bytes_total", did.bytes);
    near("alloc_objects_total", did.objects);
    near("gc_pause_seconds_total", did.pauseNs / 1e9);
    assert.strictEqual(gained.gc_cycles_total, did.cycles);
    assert.strictEqual(await metric("gc_heap_goal_bytes"), did.goalBytes);
    assert.strictEqual(await metric("goroutines"), did.goroutines);
    return true;
  };
  await eventually("a reading after that", isAll);
  await sleep(3000 * INTERVAL_S);
  await isAll();
  assert.ok((await metric("gc_live_heap_bytes")) <= (await metric("gc_heap_bytes")));
  assert.strictEqual(await node.metric("node_agent_go_counters_backwards_total"), 0);
});
