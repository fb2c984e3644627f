// Profiles that the receiver does not take wait on the node's disk, whatever happens to the agents.
"use strict";

const assert = require("node:assert");
const { test } = require("node:test");
const { freePort, scratch, startCluster, startNode } = require("./lib/daemon");
const { sampledNs, application } = require("./lib/query");
const { assertOnce, program, runWorkload } = require("./lib/workload");
const { eventually } = require("./lib/wait");

const interval = "2s";

const spooled = (node) => node.metric("node_agent_upload_spool_profiles");
const dropped = (node) => node.metric("node_agent_profiles_dropped_total");

// A restart costs what happens while no agent runs; what was profiled before must all be there.
test("profiles of an outage survive SIGKILL of the node-agent", async (t) => {
  const walDir = scratch("wal");
  const port = await freePort();
  const collector = `http://127.0.0.1:${port}`;
  let node = await startNode({ interval, walDir, collector });
  t.after(() => node.stop());
  const ran = await runWorkload("share", 12);
  // one more interval, so that all of the workload is in profiles, and these are on disk
  const before = await spooled(node);
  await eventually("profiles on disk", async () => (await spooled(node)) > before + 1);
  await eventually(
    "nothing in memory only",
    async () => (await node.metric("node_agent_upload_queue_profiles")) === 0,
  );
  assert.strictEqual(await dropped(node), 0);

  for (let i = 0; i < 3; i++) {
    await node.stop("SIGKILL");
    node = await startNode({ interval, walDir, collector });
    await eventually("the spool is read", async () => (await spooled(node)) > before);
  }
  const cluster = await startCluster({ port });
  t.after(() => cluster.stop());
  const app = await eventually("the workload", () => application(cluster, program("share")));
  await eventually("an empty spool", async () => (await spooled(node)) === 0);
  assertOnce(await sampledNs(cluster, app.service), ran);
  assert.strictEqual(await dropped(node), 0);
});

test("a refused key costs nothing once the agent has the right one", async (t) => {
  const walDir = scratch("wal");
  let cluster = await startCluster({ args: ["--api-key=new"] });
  t.after(() => cluster.stop());
  const options = { interval, walDir, cluster };
  let node = await startNode({ ...options, args: ["--api-key=old"] });
  t.after(() => node.stop());
  const ran = await runWorkload("share", 12);
  const before = await spooled(node);
  await eventually("profiles on disk", async () => (await spooled(node)) > before + 1);
  assert.match(node.log(), /reason="the API key is refused \(401\)"/);
  assert.strictEqual((await fetch(`${node.url}/readyz`)).status, 200);
  assert.strictEqual((await node.stop()).code, 0);

  node = await startNode({ ...options, args: ["--api-key=new"] });
  await eventually(
    "everything is delivered",
    async () =>
      (await node.metric("node_agent_profiles_uploaded_total")) > before &&
      (await spooled(node)) === 0,
  );
  assert.strictEqual(await dropped(node), 0);

  // queries need no key then
  await cluster.stop();
  cluster = await startCluster({ dataDir: cluster.dataDir });
  const app = await eventually("the workload", () => application(cluster, program("share")));
  assertOnce(await sampledNs(cluster, app.service), ran);
});
