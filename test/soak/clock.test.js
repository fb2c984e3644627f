// Wrong clocks, of sender and receiver: nothing is lost, stored twice, refused or hidden, whether
// the receiver is killed meanwhile or not.
"use strict";

const assert = require("node:assert");
const zlib = require("node:zlib");
const { test } = require("node:test");
const { freePort, startCluster, startNode, scratch } = require("../e2e/lib/daemon");
const { encode, upload } = require("../e2e/lib/pprof");
const { api, sql } = require("../e2e/lib/query");
const { eventually } = require("../e2e/lib/wait");
const { ClockStep } = require("./lib/clock_step");
const { Ledger } = require("./lib/ledger");
const { LONG, Victim } = require("./lib/torture");

const STEPS = LONG ? 60 : 6;
const MINUTES = [50, -50, 0, -3, 49, 1];
const HOUR = 3600;
const DAY = 24 * HOUR;
const SKEWS = [
  ["two hours ahead", 2 * HOUR],
  ["fifty minutes ahead", 50 * 60],
  ["fifty minutes behind", -50 * 60],
  ["thirty days behind", -30 * DAY],
  ["in 1970", -Math.floor(Date.now() / 1000) + HOUR],
];

test(`${STEPS} steps of the receiver's clock, and a kill after each second one`, async (t) => {
  const clock = new ClockStep();
  const victim = new Victim({ env: clock.env });
  const ledger = new Ledger({ agents: () => [victim.port] });
  t.after(() => victim.stop("SIGKILL"));
  await victim.start();
  clock.set(50 * 60);
  ledger.start(4, 20);
  for (let i = 0; i < STEPS; i++) {
    clock.set(MINUTES[i % MINUTES.length] * 60);
    const before = ledger.counts.answered;
    if (i % 2 === 1) {
      await victim.liveAndDie();
      await victim.start(false);
    }
    await eventually("answers after a step", () => ledger.counts.answered > before + 20);
  }
  await victim.ready();
  await ledger.finish();
  const wrong = await ledger.verify(victim);
  t.diagnostic(ledger.report());
  assert.deepStrictEqual(wrong, []);
});

// How many profiles the store has by where they claim to be, relative to now.
async function places(cluster) {
  const [row] = await sql(
    cluster,
    `SELECT count() AS n, countIf(End > now() + 5) AS future, countIf(End < now() - 300) AS past
     FROM (SELECT DISTINCT ServiceName, Type, Start, End FROM profiling_samples)`,
  );
  return row;
}

const json = async (cluster, path) => (await fetch(`${cluster.url}${path}`)).json();

for (const [what, seconds] of SKEWS) {
  test(`an agent whose clock is ${what} loses and hides nothing`, async (t) => {
    const cluster = await startCluster();
    t.after(() => cluster.stop());
    const clock = new ClockStep(seconds);
    const node = await startNode({ cluster, interval: "2s", within: clock.within });
    t.after(() => node.stop());
    const uploaded = () => node.metric("node_agent_profiles_uploaded_total");
    await eventually("profiles", async () => (await uploaded()) > 10);

    assert.strictEqual(await node.metric("node_agent_profiles_dropped_total"), 0);
    assert.strictEqual(await cluster.metric("cluster_agent_uploads_refused_total"), 0);
    const { n, future, past } = await places(cluster);
    assert.ok(n > 10, `${n} profiles`);
    assert.deepStrictEqual([future, past], [0, 0]);
    const { applications } = await api(cluster, "applications", {
      from: Date.now() - 300000,
      to: Date.now(),
    });
    assert.ok(applications.length > 0);

    // everybody who looks learns of it
    const near = (s) => Math.abs(s - seconds) < 5;
    assert.ok(near(await cluster.metric("cluster_agent_clock_skew_seconds")));
    const { hosts } = await json(cluster, "/api/clocks");
    assert.strictEqual(hosts.length, 1);
    assert.ok(near(hosts[0].skewSeconds) && hosts[0].corrected, JSON.stringify(hosts));
    const ahead = await node.metric("node_agent_clock_ahead_seconds");
    assert.ok(near(ahead - (await node.metric("node_agent_clock_behind_seconds"))));
    assert.match(node.log(), /the clock of this host differs from the receiver's/);
    assert.strictEqual(cluster.log().match(/the clock of a host is wrong/g).length, 1);
  });
}

test("profiles that wait while the clock is set right arrive at their time", async (t) => {
  const port = await freePort();
  const clock = new ClockStep(2 * HOUR);
  const options = { interval: "2s", walDir: scratch("wal"), within: clock.within };
  let node = await startNode({ ...options, collector: `http://127.0.0.1:${port}` });
  t.after(() => node.stop("SIGKILL"));
  const spooled = () => node.metric("node_agent_upload_spool_profiles");
  await eventually("profiles on disk", async () => (await spooled()) > 10);
  // the agent is killed, and the clock set; nobody has ever measured it
  await node.stop("SIGKILL");
  clock.set(0);
  node = await startNode({ ...options, collector: `http://127.0.0.1:${port}` });
  await eventually("the spool is read", async () => (await spooled()) > 10);
  const cluster = await startCluster({ port });
  t.after(() => cluster.stop());
  await eventually("an empty spool", async () => (await spooled()) === 0);
  assert.strictEqual(await node.metric("node_agent_profiles_dropped_total"), 0);
  const { n, future } = await places(cluster);
  assert.ok(n > 10, `${n} profiles`);
  assert.strictEqual(future, 0);
});

test("profiles of others that cannot be right are stored when they arrive, once", async (t) => {
  const cluster = await startCluster();
  t.after(() => cluster.stop());
  const post = (path, body, headers) =>
    fetch(`${cluster.url}${path}`, { method: "POST", body, headers });
  for (const [what, seconds] of SKEWS) {
    const endMs = Date.now() + seconds * 1000;
    const body = encode({ endMs });
    const name = what.replaceAll(" ", "-");
    const query = new URLSearchParams({ "service.name": `/own/${name}`, "host.name": name });
    // a repetition is the same upload, whenever it comes
    for (let i = 0; i < 2; i++) {
      const r = await post(`/v1/profiles?${query}`, body);
      assert.strictEqual(r.status, 200, await r.text());
    }
    const [from, until] = [endMs - 10000, endMs].map((ms) => Math.floor(ms / 1000));
    const ingest = new URLSearchParams({ name: `ingest.${name}`, from, until, format: "folded" });
    assert.strictEqual((await post(`/ingest?${ingest}`, "main;work 100\n")).status, 200);
    assert.strictEqual((await upload(cluster, `/gzip/${name}`, zlib.gzipSync(body))).status, 200);
  }
  const rows = await sql(
    cluster,
    `SELECT ServiceName AS service, count() AS n, any(Labels['clock.skew']) AS skew,
       max(abs(dateDiff('second', End, now()))) AS off
     FROM profiling_samples GROUP BY service ORDER BY service`,
  );
  assert.strictEqual(rows.length, 3 * SKEWS.length, JSON.stringify(rows));
  const labels = {
    "two-hours-ahead": /^2h ahead$/,
    "fifty-minutes-ahead": /^50m ahead$/,
    "fifty-minutes-behind": /^$/, // it may have waited for so long
    "thirty-days-behind": /^30d behind$/,
    "in-1970": /^\d{5}d behind$/,
  };
  for (const { service, n, skew, off } of rows) {
    const [, name] = /[/.]([^/.]+)$/.exec(service);
    assert.match(skew, labels[name], service);
    assert.strictEqual(n, 1, service);
    assert.ok(off < 300 || name === "fifty-minutes-behind", `${service}: ${off} s off`);
  }
  assert.strictEqual(await cluster.metric("cluster_agent_uploads_refused_total"), 0);
  assert.ok((await cluster.metric("cluster_agent_ingest_profiles_at_arrival_total")) >= 12);
  const { hosts } = await json(cluster, "/api/clocks");
  assert.deepStrictEqual(
    hosts.map((h) => h.host).filter((h) => h !== "unknown" && h !== "e2e"),
    ["in-1970", "thirty-days-behind", "two-hours-ahead", "fifty-minutes-ahead"],
  );
});
