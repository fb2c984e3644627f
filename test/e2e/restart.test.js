// One agent is stopped and started again while the other one runs: little or nothing is lost.
"use strict";

const assert = require("node:assert");
const { test } = require("node:test");
const { freePort, startCluster, startNode } = require("./lib/daemon");
const { sampledNs, sql, application } = require("./lib/query");
const { assertOnce, isAll, program, runWorkload } = require("./lib/workload");
const { eventually, sleep } = require("./lib/wait");

const INTERVAL_S = 2;

test("without a cluster-agent the node-agent runs, counts, and delivers later", async (t) => {
  const port = await freePort();
  const node = await startNode({
    collector: `http://127.0.0.1:${port}`,
    interval: `${INTERVAL_S}s`,
  });
  t.after(() => node.stop());
  const ran = await runWorkload("share", 12);
  await eventually(
    "failed uploads are counted",
    async () => (await node.metric("node_agent_profile_upload_retries_total")) > 0,
  );
  assert.ok(node.running, node.log());

  const cluster = await startCluster({ port });
  t.after(() => cluster.stop());
  const app = await eventually("the workload", () => application(cluster, program("share")));
  await eventually(
    "what was sampled before there was anyone to send it to",
    async () => isAll(await sampledNs(cluster, app.service), ran),
  );
});

test("SIGKILL of the cluster-agent: what it missed arrives after its restart", async (t) => {
  let cluster = await startCluster();
  t.after(() => cluster.stop());
  const node = await startNode({ cluster, interval: `${INTERVAL_S}s` });
  t.after(() => node.stop());
  const work = runWorkload("share", 14);
  const app = await eventually("first data", () => application(cluster, program("share")));
  const stored = await sampledNs(cluster, app.service);
  await cluster.stop("SIGKILL");
  await sleep(1000);
  cluster = await startCluster({
    port: cluster.port,
    sqlPort: cluster.sqlPort,
    dataDir: cluster.dataDir,
  });
  assert.ok(
    (await sampledNs(cluster, app.service)) >= stored,
    "what had been stored is still there",
  );
  const ran = await work;
  await eventually(
    "all of the workload's CPU time",
    async () => isAll(await sampledNs(cluster, app.service), ran),
  );
  assertOnce(await sampledNs(cluster, app.service), ran);
});

test("SIGKILL of the node-agent: at most the current interval is lost", async (t) => {
  const cluster = await startCluster();
  t.after(() => cluster.stop());
  let node = await startNode({ cluster, interval: `${INTERVAL_S}s` });
  t.after(() => node.stop());
  const work = runWorkload("share", 12);
  await eventually("first data", () => application(cluster, program("share")));
  // one interval after a stored profile, so that the next one has not arrived yet
  const { service } = await application(cluster, program("share"));
  const lastEnd = async () =>
    (
      await sql(
        cluster,
        `SELECT max(toUnixTimestamp64Milli(End)) AS ms FROM profiling_samples
         WHERE ServiceName = '${service}'`,
      )
    )[0].ms;
  const known = await lastEnd();
  await eventually("another interval", async () => (await lastEnd()) > known);
  await sleep(1500);
  const stored = await lastEnd();
  await node.stop("SIGKILL");
  node = await startNode({ cluster, interval: `${INTERVAL_S}s`, port: node.port });
  const blindS = (Date.now() - stored) / 1000;
  const ran = await work;
  assert.strictEqual((await node.stop()).code, 0);
  await eventually("all but what nobody saw", async () => {
    const lostS = (ran.cpuNs - (await sampledNs(cluster, service))) / 1e9;
    if (lostS >= blindS + 1) throw new Error(`lost ${lostS} s of CPU, blind for ${blindS} s`);
    return true;
  });
});
