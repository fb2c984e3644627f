// A Go program whose linker has omitted the memory profiler: it is switched on from outside,
// profiles reach the store, and it is switched off again. The agents see only this program,
// because they write to all Go programs that they find.
"use strict";

const assert = require("node:assert");
const { test, before, after } = require("node:test");
const { startCluster, startNode } = require("./lib/daemon");
const { program, AskedWorkload } = require("./lib/workload");
const { sql, flame, application } = require("./lib/query");
const { tempDir } = require("./lib/temp_dir");
const { eventually, sleep } = require("./lib/wait");

const IN_USE = "go_runtime:heap_inuse_space:bytes";
const ALLOCATED = "go_runtime:heap_alloc_space:bytes";
const FORCE = ["--go-heap-profiler=force", "--go-heap-restore"];
// the agent waits this long after the switch, and has completed its first round one interval later
const SWITCHED_MS = 1000;
const INTERVAL_MS = 1000;

let cluster;
let workload;

before(async () => {
  cluster = await startCluster();
  workload = new AskedWorkload("goforce");
  assert.strictEqual(await workload.line(), "ready");
});
after(async () => {
  workload?.stop();
  await cluster?.stop();
});

const start = (args) =>
  startNode({
    cluster,
    interval: "2s",
    pids: [workload.pid],
    args: ["--go-heap-interval=1s", ...args],
  });
const forced = (node) => node.metric("node_agent_go_heap_forced_total");
const offs = (node) => node.metric("node_agent_go_heap_off_total");
const records = (node) => node.metric("node_agent_go_heap_records_total");

// Whether the profiler is on: runs an agent that only reads for two rounds.
async function isOn() {
  const node = await start([]);
  await eventually("a turn", async () => (await offs(node)) + (await records(node)) > 0);
  await sleep(2 * INTERVAL_MS);
  const [n, off] = [await records(node), await offs(node)];
  assert.strictEqual(await forced(node), 0);
  await node.stop();
  assert.ok(n === 0 || off === 0, `${n} records, ${off} times off`);
  return n > 0;
}

test("the linker has switched the profiler off", async () => {
  assert.strictEqual(await isOn(), false);
});

test("when forced, allocations are reported; at the agent's end the profiler is off", async () => {
  const range = { from: Date.now() };
  const node = await start(FORCE);
  await eventually("the switch", async () => (await forced(node)) === 1);
  await sleep(SWITCHED_MS + INTERVAL_MS);
  const said = await workload.ask("allocate");
  const { service } = await eventually("the application", () =>
    application(cluster, program("goforce")),
  );

  // of 128 blocks of twice the sampling rate 17 are missed: seven times the deviation is 25 %
  const near = (bytes, of) => bytes > 0.75 * of && bytes < 1.25 * of;
  const sum = (type, name) => async () => {
    const f = await flame(cluster, { service, type, ...range, to: Date.now() + 1000 });
    return f.find(name).reduce((s, n) => s + n.total, 0);
  };
  const thrown = sum(ALLOCATED, "main.throwForced");
  await eventually("what it threw away", async () => near(await thrown(), said.thrownBytes));
  const latest = async () => {
    const [row] = await sql(
      cluster,
      `SELECT sum(Value) AS bytes FROM profiling_samples
       WHERE ServiceName = '${service}' AND Type = '${IN_USE}'
       GROUP BY Start ORDER BY Start DESC LIMIT 1`,
    );
    return row ? row.bytes : 0;
  };
  await eventually("what it keeps", async () => near(await latest(), said.keptBytes));
  assert.ok((await sum(IN_USE, "main.keepForced")()) > 0);
  // reported once: the sum stays the same
  await sleep(3 * INTERVAL_MS);
  assert.ok(
    near(await thrown(), said.thrownBytes),
    `${await thrown()} of ${said.thrownBytes} bytes`,
  );

  assert.strictEqual(await forced(node), 1);
  assert.strictEqual((await node.stop()).code, 0);
  assert.strictEqual(await isOn(), false);
});

test("a profiler that a killed agent left on is switched off by the next agent", async () => {
  let node = await start(FORCE);
  await eventually("the switch", async () => (await forced(node)) === 1);
  await node.stop("SIGKILL");
  await workload.ask("allocate");
  assert.strictEqual(await isOn(), true);

  node = await start(FORCE);
  await eventually("a turn", async () => (await records(node)) > 0);
  assert.strictEqual(await forced(node), 0);
  assert.strictEqual((await node.stop()).code, 0);
  assert.strictEqual(await isOn(), false);
});

test("without the option to restore, it stays on", async () => {
  const node = await start(FORCE.slice(0, 1));
  await eventually("the switch", async () => (await forced(node)) === 1);
  await node.stop();
  await workload.ask("allocate");
  assert.strictEqual(await isOn(), true);
});

const NOBODY = 65534;

// As in a pod that does not have the capability by which root may write to files of others.
test("without the right to write, what is on is read, and one warning says why", async (t) => {
  const off = new AskedWorkload("goforce", { uid: NOBODY });
  t.after(() => off.stop());
  const on = new AskedWorkload("goheap", { uid: NOBODY });
  t.after(() => on.stop());
  for (const w of [off, on]) assert.strictEqual(await w.line(), "ready");
  const walDir = tempDir("spool");
  const node = await startNode({
    cluster,
    interval: "2s",
    pids: [off.pid, on.pid],
    within: ["setpriv", "--inh-caps=-dac_override", "--bounding-set=-dac_override"],
    walDir,
    args: [
      ...FORCE,
      "--go-heap-interval=1s",
      "--go-mutex-profiler=on",
      "--go-block-profiler=burst",
      "--go-block-burst=500ms",
    ],
  });
  t.after(() => node.stop());

  const inUse = async () => {
    const [row] = await sql(
      cluster,
      `SELECT max(Value) AS bytes FROM profiling_samples
       WHERE ServiceName LIKE '%${program("goheap")}' AND Type = '${IN_USE}'`,
    );
    return row.bytes;
  };
  await eventually("what the program keeps", async () => (await inUse()) > 0);
  await eventually("turns of the other", async () => (await offs(node)) > 2);
  assert.strictEqual(await forced(node), 0);
  assert.strictEqual(await node.metric("node_agent_go_lock_switched_on_total"), 0);
  // nothing of all this is a failure
  assert.strictEqual(await node.metric("node_agent_go_readings_failed_total"), 0);
  const warnings = node.log().match(/^.*cannot switch on the profilers.*$/gm);
  assert.strictEqual(warnings.length, 1);
  assert.match(warnings[0], /reason="the agent lacks CAP_DAC_OVERRIDE"/);
  const pid = Number(/ pid=(\d+) /.exec(warnings[0])[1]);
  assert.ok([off.pid, on.pid].includes(pid), warnings[0]);
  assert.strictEqual((await node.stop()).code, 0);
});
