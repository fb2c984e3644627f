// The receiver's key is rotated and the node-agents' is not: all profiles get 401 for as long as
// that lasts. Nothing that was sampled meanwhile is lost, and nothing of it is stored twice.
"use strict";

const assert = require("node:assert");
const { spawn } = require("node:child_process");
const { test } = require("node:test");
const { startNode } = require("../e2e/lib/daemon");
const { CPU, sql } = require("../e2e/lib/query");
const { eventually, sleep } = require("../e2e/lib/wait");
const { LONG, Victim } = require("./lib/torture");

const OUTAGE_MS = Number(process.env.OUTAGE_MS || (LONG ? 3600e3 : 10e3));
const INTERVAL_S = LONG ? 30 : 1;

// Uses a few per cent of a CPU, in processes that come and go.
function startWorkload(t) {
  const load = "while :; do i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; sleep 0.2; done";
  const child = spawn("sh", ["-c", load], { stdio: "ignore" });
  process.on("exit", () => child.kill("SIGKILL"));
  t.after(() => child.kill("SIGKILL"));
}

async function stored(cluster) {
  const [row] = await sql(
    cluster,
    `SELECT count() AS profiles, sum(Samples) AS samples FROM profiling_quality
     WHERE Type = '${CPU}'`,
  );
  return row;
}

// Waits for a moment at which all that the node-agent has put into profiles is stored, no more
// and no less. Returns what is.
const allIsStored = (node, cluster) =>
  eventually("all that was sampled", async () => {
    const before = await node.metric("node_agent_samples_profiled_total");
    const row = await stored(cluster);
    const after = await node.metric("node_agent_samples_profiled_total");
    if (before !== after || row.samples !== after)
      throw new Error(`${row.samples} samples of ${before} to ${after}`);
    return row;
  });

test(`an outage of ${OUTAGE_MS / 1000} s with a rotated key`, async (t) => {
  const rotated = await new Victim({ args: ["--api-key=new"] }).start();
  let cluster = rotated;
  t.after(() => cluster.stop("SIGKILL"));
  startWorkload(t);
  const args = ["--api-key=old", "--go-heap-profiler=disabled"];
  const node = await startNode({ cluster: rotated, interval: `${INTERVAL_S}s`, args });
  t.after(() => node.stop("SIGKILL"));
  await eventually(
    "profiles that are refused",
    async () => (await node.metric("node_agent_profile_upload_retries_total")) > 0,
  );
  await sleep(OUTAGE_MS);
  const waiting = async () =>
    (await node.metric("node_agent_upload_queue_profiles")) +
    (await node.metric("node_agent_upload_spool_profiles"));
  const kept = await waiting();
  assert.ok(kept > 0);
  assert.strictEqual(await node.metric("node_agent_profiles_dropped_total"), 0);

  await rotated.stop("SIGTERM");
  cluster = new Victim({ dataDir: rotated.dataDir });
  Object.assign(cluster, { port: rotated.port, sqlPort: rotated.sqlPort });
  await cluster.start();
  assert.strictEqual((await stored(cluster)).profiles, 0);
  const { profiles, samples } = await allIsStored(node, cluster);
  assert.ok(profiles >= kept);
  assert.strictEqual(await node.metric("node_agent_profiles_dropped_total"), 0);
  t.diagnostic(`${kept} profiles waited; ${profiles} with ${samples} samples are stored`);
});
