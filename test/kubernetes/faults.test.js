// Pods that give invalid answers: /targets and the metrics distinguish each kind, and the healthy
// pods beside them are scraped on time. The pods are addresses of one process.
"use strict";

const assert = require("node:assert");
const fs = require("node:fs");
const http = require("node:http");
const { after, before, test } = require("node:test");
const { annotate, createPods } = require("./lib/fake_pods");
const { KubeCluster } = require("./lib/kube_cluster");
const {
  nothingWaits,
  scrapedSince,
  startForwarder,
  startScraper,
  stored,
  target,
  targets,
} = require("./lib/scraping_agents");
const { scrapedPod, startWorkload } = require("./lib/workload_process");
const { freePort } = require("../e2e/lib/daemon");
const { sql } = require("../e2e/lib/query");
const { eventually, sleep } = require("../e2e/lib/wait");

const healthy = ["well-a", "well-b", "well-c", "well-d", "well-e"];
// the error in /targets, and the outcome in the metrics
const faults = {
  hang: [/time|timed/i, "timeout"],
  trickle: [/time|timed/i, "timeout"],
  huge: [/larger than 4194304 bytes/, "too_large"],
  "huge-chunked": [/larger than 4194304 bytes/, "too_large"],
  bomb: [/./, "too_large"],
  garbage: [/./, "invalid"],
  empty: [/empty|no bytes|no profile/i, "invalid"],
  text: [/not a pprof profile: <!doctype html>/, "invalid"],
  truncated: [/gzip|truncated|cut|ends/i, "invalid"],
  cut: [/./, "connect"],
  404: [/^HTTP 404: 404 page not found$/, "http_status"],
  500: [/^HTTP 500: out of order$/, "http_status"],
  redirect: [/^HTTP 302/, "http_status"],
  closed: [/refused|connect/i, "connect"],
};
const intervalMs = 2000;

let agent, workload, cluster, elsewhere;
const visits = [];
before(async () => {
  cluster = await KubeCluster.start();
  elsewhere = http.createServer((request, answer) => {
    visits.push(request.url);
    answer.end();
  });
  await new Promise((resolve) => elsewhere.listen(0, "127.0.0.1", resolve));
  workload = await startWorkload([
    "-heap-objects=50",
    "-slow=1s",
    `-redirect=http://127.0.0.1:${elsewhere.address().port}`,
  ]);
  agent = await startScraper({
    kubeconfig: cluster.kubeconfigFile("admin"),
    interval: "2s",
    timeout: "2s",
    args: ["--profiles-scrape-max-size=4"],
  });
});
after(async () => {
  await Promise.all([agent, workload].map((d) => d?.stop()));
  elsewhere.close();
  await cluster?.down();
});

// The pods that were not scraped in every slot between two times: a skipped slot leaves a gap
// of two intervals.
async function lateOnes(names, start, end) {
  await nothingWaits(agent);
  const late = [];
  for (const name of names) {
    const times = await sql(
      agent,
      `SELECT DISTINCT toUnixTimestamp64Milli(End) AS ms FROM profiling_samples
       WHERE ServiceName = '/k8s/default/${name}' ORDER BY ms`,
    );
    const seen = times.map((row) => row.ms).filter((ms) => ms >= start && ms <= end);
    const isLate = (ms, i) => i > 0 && ms - seen[i - 1] >= 1.75 * intervalMs;
    if (seen.length < 4 || seen.some(isLate)) late.push(`${name}: ${seen} of ${start} to ${end}`);
  }
  return late;
}

const outcome = (name) => agent.metric("cluster_agent_scrapes_total", `outcome="${name}"`);

test("every kind of bad answer has its own error, and healthy pods stay on time", async () => {
  const { port } = workload;
  const closed = await freePort();
  let n = 0;
  const pod = (name, more) =>
    scrapedPod({ name, ip: `127.0.3.${++n}`, port, types: "goroutine", ...more });
  const list = healthy.map((name) => pod(name));
  list.push(pod("slow", { "path-prefix": "/bad/slow" }));
  for (const mode of Object.keys(faults))
    list.push(
      pod(`bad-${mode}`, mode === "closed" ? { port: closed } : { "path-prefix": `/bad/${mode}` }),
    );
  const earlier = Object.fromEntries(
    await Promise.all(
      [...new Set(Object.values(faults).map((f) => f[1]))].map(async (o) => [o, await outcome(o)]),
    ),
  );
  const pods = await createPods(cluster, list);

  const well = [...healthy, "slow"];
  for (const name of well) await scrapedSince(agent, name, 0);
  let start = Date.now();
  for (const [mode, [message]] of Object.entries(faults)) {
    await eventually(mode, async () => {
      const now = await target(agent, `bad-${mode}`);
      // on a busy machine any answer may be late once
      if (now?.state !== "down" || !message.test(now.endpoints[0].lastError))
        throw new Error(JSON.stringify(now));
      return true;
    });
  }
  for (const [mode, [, reason]] of Object.entries(faults)) {
    const expected = Object.values(faults).filter((f) => f[1] === reason).length;
    await eventually(
      `${mode} counted as ${reason}`,
      async () => (await outcome(reason)) >= earlier[reason] + expected,
    );
  }
  // a machine that stalls for a second makes scrapes late, too, but not every time
  for (let round = 0; ; round++) {
    await sleep(Math.max(0, start + 5 * intervalMs - Date.now()));
    const late = await lateOnes(well, start, Date.now());
    if (late.length === 0) break;
    assert.ok(round < 4, late.join("\n"));
    start = Date.now();
  }
  for (const name of well) await scrapedSince(agent, name, start);
  // nothing of the bad pods is in the store, and no redirect was followed
  const services = (
    await sql(agent, "SELECT DISTINCT ServiceName AS s FROM profiling_samples")
  ).map((r) => r.s);
  assert.deepStrictEqual(services.sort(), well.map((s) => `/k8s/default/${s}`).sort());
  assert.deepStrictEqual(visits, []);
  await fetch(`${workload.url}/bad/redirect/debug/pprof/heap`);
  assert.deepStrictEqual(visits, ["/debug/pprof/heap"], "who follows gets there");
  // 100 MB each, but never kept: 4 MiB of body is the limit
  const rss = Number(
    /VmHWM:\s+(\d+)/.exec(fs.readFileSync(`/proc/${agent.pid}/status`, "utf8"))[1],
  );
  assert.ok(rss < 600 * 1024, `${rss} KiB at most`);

  // a pod that recovers is scraped again
  await annotate(cluster, pods[list.findIndex((p) => p.name === "bad-garbage")], {
    "coroot.com/profile-path-prefix": null,
  });
  await eventually(
    "well again",
    async () =>
      (
        await stored(agent, {
          service: "/k8s/default/bad-garbage",
          type: "go:goroutine_goroutine:count",
        })
      ).profiles > 0,
  );
});

test("mistakes in annotations are reported as the pod's problem, not in the log", async () => {
  const wrong = [
    ["no-port", { port: "eighty" }, /"eighty" is not a port/],
    ["no-scheme", { scheme: "gopher" }, /"gopher", not http or https/],
    ["no-type", { types: "heap,walls" }, /"walls" is not a type of profile/],
  ];
  await createPods(
    cluster,
    wrong.map(([name, more], i) =>
      scrapedPod({ name, ip: `127.0.4.${i + 1}`, port: workload.port, ...more }),
    ),
  );
  for (const [name, , message] of wrong) {
    const t = await eventually(name, () => target(agent, name));
    assert.match(t.problem, message);
  }
  const states = Object.fromEntries((await targets(agent)).targets.map((t) => [t.pod, t.state]));
  assert.deepStrictEqual([states["no-port"], states["no-scheme"]], ["invalid", "invalid"]);
  assert.ok(!agent.log().includes("eighty"));
});

// Scraped well, but refused where they are sent: by a receiver with limits of its own.
test("profiles that the receiver refuses are shown with its answer, by type", async (t) => {
  let isRefused = (query) => query.get("pod") === "refused";
  const receiver = http.createServer((request, answer) => {
    const query = new URL(request.url, "http://receiver").searchParams;
    request.resume().on("end", () => {
      const refuse = request.method === "POST" && isRefused(query);
      answer.writeHead(refuse ? 413 : 200).end(refuse ? "more than 10 samples" : "");
    });
  });
  await new Promise((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  t.after(() => receiver.close());
  const forwarder = await startForwarder({
    kubeconfig: cluster.kubeconfigFile("admin"),
    to: { url: `http://127.0.0.1:${receiver.address().port}` },
  });
  t.after(() => forwarder.stop());
  await createPods(
    cluster,
    ["refused", "taken"].map((name, i) =>
      scrapedPod({ name, ip: `127.0.5.${i + 1}`, port: workload.port, types: "goroutine,heap" }),
    ),
  );
  const shows = (name, state, error) =>
    eventually(`${name} is ${state}`, async () => {
      const now = await target(forwarder, name);
      const seen = now?.endpoints.map((e) => [e.type, e.state, e.lastError]);
      assert.deepStrictEqual([now?.state, seen?.sort()], [
        state,
        ["goroutine", "heap"].map((type) => [type, state, error]),
      ]);
      return true;
    });
  const answer = "the receiver refused the profile: HTTP 413: more than 10 samples";
  await shows("refused", "refused", answer);
  await shows("taken", "up", "");
  assert.ok((await forwarder.metric("cluster_agent_scrape_targets", 'state="refused"')) === 1);
  // until it takes them
  isRefused = () => false;
  await shows("refused", "up", "");
});
