// An API server that misbehaves: it is killed, hangs, cuts watches, forgets versions, refuses
// requests; and every way to log in. All pods are addresses of one process, and no target may
// disappear unless its annotation says so.
"use strict";

const assert = require("node:assert");
const fs = require("node:fs");
const net = require("node:net");
const { after, before, describe, test } = require("node:test");
const { annotate, createPod, createPods, deletePod } = require("./lib/fake_pods");
const { KubeCluster } = require("./lib/kube_cluster");
const { startScraper, stored, target, targets } = require("./lib/scraping_agents");
const { scrapedPod, startWorkload } = require("./lib/workload_process");
const { clusterAgent, failToStart, scratch } = require("../e2e/lib/daemon");
const { eventually, repeated, sleep } = require("../e2e/lib/wait");

const readPods = [{ apiGroups: [""], resources: ["pods"], verbs: ["get", "list", "watch"] }];
const rbac = "/apis/rbac.authorization.k8s.io/v1";

let workload;
before(async () => {
  workload = await startWorkload();
});
after(() => workload.stop());

async function startKube(t, options) {
  const cluster = await KubeCluster.start(options);
  t.after(() => cluster.down());
  return cluster;
}

async function scraper(t, kubeconfig, args = ["--profiles-scrape-types=goroutine"]) {
  const agent = await startScraper({ kubeconfig, args });
  t.after(() => agent.stop());
  return agent;
}

let address = 0;
const pod = (name, more) => {
  const n = address++;
  return scrapedPod({
    name,
    ip: `127.1.${n >> 8}.${n & 255 || 1}`,
    port: workload.port,
    types: "goroutine",
    ...more,
  });
};
const plain = (name) => ({ ...pod(name), annotations: {} });
const on = (name) => pod(name).annotations;

const known = async (agent) => (await targets(agent)).targets.map((t) => t.pod).sort();
const metric = (agent, name, labels) =>
  agent.metric(`cluster_agent_kubernetes_pods_${name}`, labels);
const isStored = (agent, name) =>
  eventually(
    `profiles of ${name}`,
    async () =>
      (
        await stored(agent, {
          service: `/k8s/default/${name}`,
          type: "go:goroutine_goroutine:count",
        })
      ).profiles > 0,
  );
// far sooner than any list that is not needed
const seen = (agent, name) => eventually(`${name} is a target`, () => target(agent, name));
const unseen = (agent, name) =>
  eventually(`${name} is none any more`, async () => !(await target(agent, name)));
const isSynced = (agent) =>
  eventually("synced", async () => (await targets(agent)).discovery.synced);
const warnings = (agent, text) =>
  agent
    .log()
    .split("\n")
    .filter((line) => line.includes(text));

// A TCP proxy before the API server. cutAfterMs: connections end at that age. While .open is false
// there are none.
async function startProxy(t, url, cutAfterMs) {
  const { hostname, port } = new URL(url);
  const live = new Set();
  const proxy = { cuts: 0, open: true };
  const server = net.createServer((inner) => {
    if (!proxy.open) return inner.destroy();
    const outer = net.connect(Number(port), hostname);
    const end = () => {
      live.delete(end);
      inner.destroy();
      outer.destroy();
    };
    live.add(end);
    for (const [a, b] of [
      [inner, outer],
      [outer, inner],
    ])
      a.on("error", end).on("close", end).pipe(b);
    if (!cutAfterMs) return;
    setTimeout(() => {
      proxy.cuts += live.has(end) ? 1 : 0;
      end();
    }, cutAfterMs);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  proxy.url = `https://127.0.0.1:${server.address().port}`;
  proxy.close = () => {
    proxy.open = false;
    for (const end of live) end();
  };
  t.after(() => {
    proxy.close();
    server.close();
  });
  return proxy;
}

const adminThrough = (cluster, proxy) =>
  cluster.writeKubeconfig(
    {
      "client-certificate": `${cluster.dir}/pki/admin.crt`,
      "client-key": `${cluster.dir}/pki/admin.key`,
    },
    { cluster: { server: proxy.url } },
  );

// Polls whether the target exists; returns how often it did not.
function watchForLoss(t, agent, name) {
  let missing = 0;
  const end = repeated(t, 20, async () => (missing += (await target(agent, name)) ? 0 : 1));
  return async () => {
    await end();
    return missing;
  };
}

// Each has a cluster of its own, and mostly waits.
describe("following pods", { concurrency: 3 }, () => {
  test("an API server that is killed, restarted, stopped and continued", async (t) => {
    const cluster = await startKube(t, { name: "killed" });
    const pods = await createPods(cluster, [pod("stays"), pod("leaves"), plain("comes")]);
    const agent = await scraper(t, cluster.kubeconfigFile("admin"));
    await isSynced(agent);
    await isStored(agent, "stays");

    await cluster.stop("kube-apiserver", "KILL");
    await eventually("noticed", async () => (await targets(agent)).discovery.problem !== "");
    const failures = () => metric(agent, "request_failures_total", 'reason="connection"');
    await eventually("several tries", async () => (await failures()) > 2);
    assert.deepStrictEqual(await known(agent), ["leaves", "stays"], "nothing is given up");
    // that the connection broke, and that there is no new one: once each, however often it is
    // retried
    const logged = warnings(agent, "watch of the API server failed").length;
    assert.ok(logged >= 1 && logged <= 2, agent.log());
    const before = (await target(agent, "stays")).endpoints[0].lastScrape;
    await eventually(
      "scraped without an API server",
      async () => (await target(agent, "stays")).endpoints[0].lastScrape > before,
    );
    await cluster.start("kube-apiserver");
    await annotate(cluster, pods[2], on("comes"));
    await deletePod(cluster, pods[1]);
    // the back-off after an outage of some seconds ends some seconds later
    await eventually("new annotation", () => target(agent, "comes"));
    await unseen(agent, "leaves");
    await isStored(agent, "comes");
    await eventually("no problem", async () => (await targets(agent)).discovery.problem === "");
    assert.strictEqual(warnings(agent, "watch of the API server recovered").length, 1);

    await cluster.signal("kube-apiserver", "STOP");
    await sleep(5000);
    assert.deepStrictEqual(await known(agent), ["comes", "stays"]);
    await cluster.signal("kube-apiserver", "CONT");
    await createPod(cluster, pod("later"));
    await seen(agent, "later");
  });

  test("a watch that is cut every second misses nothing and floods no server", async (t) => {
    const cluster = await startKube(t, { name: "cut" });
    const proxy = await startProxy(t, cluster.url, 1000);
    const agent = await scraper(t, adminThrough(cluster, proxy));
    await isSynced(agent);
    const pods = await createPods(cluster, [pod("one"), pod("two"), plain("three")]);
    await seen(agent, "one");
    for (let round = 0; round < 3; round++) {
      await annotate(cluster, pods[2], on("three"));
      await seen(agent, "three");
      await annotate(cluster, pods[2], { "coroot.com/profile-scrape": "false" });
      await unseen(agent, "three");
    }
    const [cuts, watches] = [proxy.cuts, await metric(agent, "watches_total")];
    await eventually("cuts", () => proxy.cuts >= cuts + 5);
    // about one new request for each cut
    const asked = (await metric(agent, "watches_total")) - watches;
    assert.ok(
      asked >= 3 && asked <= 2 * (proxy.cuts - cuts),
      `${asked} watches, ${proxy.cuts - cuts} cuts`,
    );
    assert.ok((await metric(agent, "lists_total")) <= 2, "no list for each");
    assert.deepStrictEqual(await known(agent), ["one", "two"]);
  });

  test("versions compacted between two watches: a new list, and targets stay", async (t) => {
    const cluster = await startKube(t, {
      name: "compacted",
      apiserverFlags: "--watch-cache=false",
    });
    const pods = await createPods(cluster, [pod("stays"), pod("leaves"), plain("comes")]);
    const proxy = await startProxy(t, cluster.url);
    const agent = await scraper(t, adminThrough(cluster, proxy));
    await isSynced(agent);
    await eventually("both", async () => (await known(agent)).length === 2);
    assert.strictEqual(await metric(agent, "expirations_total"), 0);
    const lost = watchForLoss(t, agent, "stays");

    proxy.close();
    await deletePod(cluster, pods[1]);
    await annotate(cluster, pods[2], on("comes"));
    for (let i = 0; i < 3; i++) await annotate(cluster, pods[0], { round: `${i}` });
    await cluster.compact();
    assert.deepStrictEqual(await known(agent), ["leaves", "stays"]);
    proxy.open = true;
    await eventually(
      "what changed meanwhile",
      async () => (await known(agent)).join() === "comes,stays",
    );
    assert.strictEqual(await lost(), 0);
    assert.ok((await metric(agent, "expirations_total")) >= 1, "it had to list anew");
    await annotate(cluster, pods[0], { "coroot.com/profile-scrape": "false" });
    await unseen(agent, "stays");
  });

  test("without RBAC one line names the missing rights, and granting them is enough", async (t) => {
    const cluster = await startKube(t, { name: "rbac" });
    await cluster.serviceAccount("default", "agent");
    await createPods(cluster, [pod("waits")]);
    const token = await cluster.token("default", "agent");
    const agent = await scraper(t, cluster.writeKubeconfig({ token }));
    await eventually("logged", () => warnings(agent, "watch of the API server failed").length > 0);
    const refusals = () => metric(agent, "request_failures_total", 'reason="refused"');
    await eventually("tried again", async () => (await refusals()) >= 3);
    const lines = warnings(agent, "watch of the API server failed");
    assert.strictEqual(lines.length, 1);
    assert.match(lines[0], /get, list and watch of pods/);
    assert.match(lines[0], /forbidden/);
    // the page is updated once a second
    const shown = async () => (await targets(agent)).discovery.problem;
    await eventually("shown", async () => /get, list and watch of pods/.test(await shown()));
    assert.strictEqual((await fetch(`${agent.url}/healthz`)).status, 200);

    await cluster.patch(`${rbac}/clusterroles/default-agent`, { rules: readPods });
    await eventually("granted", () => target(agent, "waits"));
    await isStored(agent, "waits");
    await eventually("no problem", async () => (await targets(agent)).discovery.problem === "");
    assert.strictEqual(warnings(agent, "watch of the API server failed").length, 1);
  });

  test("a token revoked and replaced in its file; every login of a kubeconfig", async (t) => {
    const cluster = await startKube(t, { name: "logins" });
    await cluster.serviceAccount("default", "agent", readPods);
    const token = await cluster.token("default", "agent");
    const client = await cluster.certificate("client", {
      usage: "clientAuth",
      subject: "/CN=reader",
    });
    await cluster.post(`${rbac}/clusterrolebindings`, {
      metadata: { name: "reader" },
      roleRef: {
        apiGroup: "rbac.authorization.k8s.io",
        kind: "ClusterRole",
        name: "default-agent",
      },
      subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "reader" }],
    });
    const plugin = scratch("plugin");
    const status = JSON.stringify({
      apiVersion: "client.authentication.k8s.io/v1",
      kind: "ExecCredential",
      status: { token },
    });
    fs.writeFileSync(
      plugin,
      `#!/bin/sh\n[ "$1 $WHO" = "get me" ] || exit 3\ncat <<'END'\n${status}\nEND\n`,
      {
        mode: 0o755,
      },
    );
    const tokenFile = scratch("token");
    fs.writeFileSync(tokenFile, token);
    const inline = (file) => fs.readFileSync(file).toString("base64");
    const users = {
      token: { token },
      certificate: { "client-certificate": client.certFile, "client-key": client.keyFile },
      inline: {
        "client-certificate-data": inline(client.certFile),
        "client-key-data": inline(client.keyFile),
      },
      plugin: {
        exec: {
          apiVersion: "client.authentication.k8s.io/v1",
          command: plugin,
          args: ["get"],
          env: [{ name: "WHO", value: "me" }],
          interactiveMode: "Never",
        },
      },
    };
    const pods = await createPods(cluster, [pod("first")]);
    for (const [name, user] of Object.entries(users)) {
      const agent = await startScraper({ kubeconfig: cluster.writeKubeconfig(user) });
      await eventually(`login by ${name}`, () => target(agent, "first"));
      await agent.stop();
    }
    const refused = await scraper(t, cluster.writeKubeconfig({ token: "wrong" }));
    await eventually(
      "a wrong token is logged",
      () => warnings(refused, "watch of the API server failed").length === 1,
    );
    assert.match(warnings(refused, "watch of the API server failed")[0], /nauthorized|401/);

    const agent = await scraper(t, cluster.writeKubeconfig({ tokenFile }));
    await seen(agent, "first");
    await cluster.delete("/api/v1/namespaces/default/serviceaccounts/agent");
    await cluster.post("/api/v1/namespaces/default/serviceaccounts", {
      metadata: { name: "agent" },
    });
    // its watch lasts; the request after it fails
    await eventually("the old token is refused", () =>
      cluster.request("GET", "/api/v1/pods", undefined, { token }).then(
        () => false,
        (e) => e.status === 401,
      ),
    );
    fs.writeFileSync(tokenFile, await cluster.token("default", "agent"));
    await cluster.stop("kube-apiserver", "KILL");
    await cluster.start("kube-apiserver");
    await createPod(cluster, pod("second"));
    await eventually("with the new token", () => target(agent, "second"));
    await deletePod(cluster, pods[0]);
    await unseen(agent, "first");
  });

  test("a kubeconfig that cannot be used ends the start with one line", async () => {
    const missing = await failToStart(clusterAgent, [
      "--listen=127.0.0.1:0",
      `--data-dir=${scratch("data")}`,
      "--kubeconfig=/nonexistent/config",
    ]);
    assert.notStrictEqual(missing.code, 0);
    assert.match(missing.lines.at(-1), /\/nonexistent\/config/);
  });

  test("a thousand pods of which fifty want to be profiled", async (t) => {
    const cluster = await startKube(t, { name: "many" });
    const list = Array.from({ length: 1050 }, (_, i) =>
      i % 21 === 0 ? pod(`wants${i}`) : plain(`plain${i}`),
    );
    const pods = await createPods(cluster, list);
    const agent = await scraper(t, cluster.kubeconfigFile("admin"));
    await eventually("fifty targets", async () => (await known(agent)).length === 50);
    assert.ok((await agent.metric("cluster_agent_discovery_pods_read_total")) >= 1050);
    await isStored(agent, "wants0");
    await isStored(agent, "wants1029");
    await annotate(cluster, pods[1], on("plain1"));
    await seen(agent, "plain1");
    assert.strictEqual(await metric(agent, "lists_total"), 1, "three pages are one list");
  });
});
