// Which pods are of one workload: what their controllers, labels and annotations say decides, never
// what a name looks like. All pods are addresses of two processes.
"use strict";

const assert = require("node:assert");
const { after, before, test } = require("node:test");
const { annotate, createPods } = require("./lib/fake_pods");
const { KubeCluster } = require("./lib/kube_cluster");
const { startScraper, target, targets } = require("./lib/scraping_agents");
const { scrapedPod, startWorkload } = require("./lib/workload_process");
const { sql } = require("../e2e/lib/query");
const { eventually } = require("../e2e/lib/wait");

let cluster;
let agent;
const workloads = [];

before(async () => {
  cluster = await KubeCluster.start();
  workloads.push(await startWorkload(), await startWorkload());
  agent = await startScraper({
    kubeconfig: cluster.kubeconfigFile("admin"),
    args: ["--profiles-scrape-types=goroutine"],
  });
});
after(async () => {
  await Promise.all([agent, ...workloads].map((p) => p?.stop()));
  await cluster?.down();
});

let address = 0;
const podOf = (name, more) => ({
  ...scrapedPod({
    name,
    ip: `127.2.0.${++address}`,
    port: workloads[0].port,
    types: "goroutine",
  }),
  ...more,
});
const hash = "7d4b9c6f55";
const replica = (kind, owner, name, labels) =>
  podOf(name, { owner: { kind, name: owner }, labels });
const deployed = (owner, random) =>
  replica("ReplicaSet", `${owner}-${hash}`, `${owner}-${hash}-${random}`, {
    "pod-template-hash": hash,
  });
const serviceOf = (name) => `/k8s/default/${name}`;

// Pods by their workload.
const expected = () => ({
  shop: [deployed("shop", "x2x4z"), deployed("shop", "bcdfg")],
  "shop-db": [replica("DaemonSet", "shop-db", "shop-db-x2x4z")],
  "shop-be": [replica("DaemonSet", "shop-be", "shop-be-x2x4z")],
  "shop-fe": [
    replica("DaemonSet", "shop-fe", "shop-fe-x2x4z"),
    replica("DaemonSet", "shop-fe", "shop-fe-z4x2x"),
  ],
  "cache-a": [replica("DaemonSet", "cache-a", "cache-a-x2x4z")],
  "cache-b": [replica("DaemonSet", "cache-b", "cache-b-x2x4z")],
  "gpu-a100": [replica("DaemonSet", "gpu-a100", "gpu-a100-x2x4z")],
  "report-1": [replica("Job", "report-1", "report-1-x2x4z")],
  "report-2": [replica("Job", "report-2", "report-2-x2x4z")],
  train: [replica("Job", "train", "train-0-x2x4z"), replica("Job", "train", "train-1-x2x4z")],
  nightly: [
    replica("Job", "nightly-29000000", "nightly-29000000-x2x4z"),
    replica("Job", "nightly-29001440", "nightly-29001440-x2x4z"),
  ],
  "shard-1": [replica("ReplicaSet", "shard-1", "shard-1-x2x4z")],
  "shard-2": [replica("ReplicaSet", "shard-2", "shard-2-x2x4z")],
  canary: [
    replica("ReplicaSet", `canary-${hash}`, `canary-${hash}-x2x4z`, {
      "rollouts-pod-template-hash": hash,
    }),
  ],
  orders: [
    replica("StatefulSet", "orders", "orders-0"),
    replica("StatefulSet", "orders", "orders-1"),
  ],
  "worker-1": [podOf("worker-1")],
  "worker-2": [podOf("worker-2")],
  till: [
    podOf("front", {
      annotations: {
        ...podOf("front").annotations,
        "coroot.com/custom-application-name": "till",
      },
    }),
  ],
});

test("no two workloads are added up, and no workload is split", async () => {
  const want = expected();
  await createPods(cluster, Object.values(want).flat());
  const all = Object.values(want).flat().length;
  await eventually("all are targets", async () => (await targets(agent)).targets.length === all);
  const found = {};
  for (const { service, pod } of (await targets(agent)).targets)
    (found[service] ||= []).push(pod);
  for (const pods of Object.values(found)) pods.sort();
  assert.deepStrictEqual(
    found,
    Object.fromEntries(
      Object.entries(want).map(([name, pods]) => [serviceOf(name), pods.map((p) => p.name).sort()]),
    ),
  );
  const services = Object.keys(want).map(serviceOf).sort();
  await eventually("profiles of all", async () => {
    const rows = await sql(agent, "SELECT DISTINCT ServiceName AS s FROM profiling_samples");
    assert.deepStrictEqual(rows.map((r) => r.s).sort(), services);
    return true;
  });
});

test("an annotation names the application of a running pod", async () => {
  const [pod] = await createPods(cluster, [podOf("renamed")]);
  const isCalled = (name) => async () =>
    (await target(agent, "renamed"))?.service === serviceOf(name);
  await eventually("its own name", isCalled("renamed"));
  await annotate(cluster, pod, { "coroot.com/custom-application-name": "desk" });
  await eventually("the annotation's", isCalled("desk"));
  await annotate(cluster, pod, { "coroot.com/custom-application-name": "../desk" });
  await eventually("no name, so its own", isCalled("renamed"));
});

test("each endpoint of a pod belongs to the container that declares its port", async () => {
  const [app, proxy] = workloads.map((w) => w.port);
  const two = podOf("pair", {
    containers: [
      { name: "app", ports: [{ containerPort: app }] },
      { name: "proxy", ports: [{ containerPort: proxy }] },
    ],
  });
  two.annotations["coroot.com/profile-port"] = `${app},${proxy}`;
  await createPods(cluster, [two]);
  const rows = await eventually("profiles of both", async () => {
    const found = await sql(
      agent,
      `SELECT DISTINCT Labels['port'] AS port, Labels['k8s.container.name'] AS container
       FROM profiling_samples WHERE ServiceName = '${serviceOf("pair")}' ORDER BY container`,
    );
    return found.length > 1 && found;
  });
  assert.deepStrictEqual(rows, [
    { port: `${app}`, container: "app" },
    { port: `${proxy}`, container: "proxy" },
  ]);
  assert.deepStrictEqual(
    (await target(agent, "pair")).endpoints.map((e) => e.container),
    ["app", "proxy"],
  );
});
