// Two nodes: a node agent on each, two cluster agents that share the pods and stand behind one
// Service, and a node that is drained below them. Both nodes are on one kernel, so each agent also
// sees the other's processes, and must leave them to it.
"use strict";

const assert = require("node:assert");
const path = require("node:path");
const { after, before, test } = require("node:test");
const { helm, images, installChart, namespaceThatEnforces, rolledOut } = require("./lib/helm");
const { KubeCluster } = require("./lib/kube_cluster");
const { clusterAgentEnv, envList } = require("./lib/profiled_cluster");
const { mustBeScraped, targets } = require("./lib/scraping_agents");
const { goVersions, workloadPod } = require("./lib/workload_pods");
const { Daemon } = require("../e2e/lib/daemon");
const { sql } = require("../e2e/lib/query");
const { eventually } = require("../e2e/lib/wait");
const { startStore } = require("../soak/lib/store_server");

const cluster = KubeCluster.shared();
const first = "testnode";
const second = "testnode2";
const namespace = "pair";
const profiling = "pair-profiling";
const newest = goVersions.at(-1);
const SAMPLED = "ebpf:cpu:nanoseconds";
const SCRAPED = "go:goroutine_goroutine:count";
const service = `/k8s/${namespace}/cart`;
const N_PODS = 6;

let store;

const importedTo2 = () =>
  (process.env.KN_IMAGES || "")
    .split(" ")
    .filter((file) => /coroot-(node|cluster)-agent\.tar$/.test(file) || file.includes(newest));

// One more pod on each node, and never two on one while the other has none.
function cart() {
  const labels = { app: "cart" };
  const load = ["-cpu=30", "-goroutines=5"];
  const annotations = { "coroot.com/profile-scrape": "true", "coroot.com/profile-port": "8080" };
  const { spec } = workloadPod({ name: "cart", goVersion: newest, args: load });
  const spread = {
    maxSkew: 1,
    topologyKey: "kubernetes.io/hostname",
    whenUnsatisfiable: "DoNotSchedule",
    nodeTaintsPolicy: "Honor",
    labelSelector: { matchLabels: labels },
  };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "cart", namespace },
    spec: {
      replicas: N_PODS,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels, annotations },
        spec: { ...spec, topologySpreadConstraints: [spread] },
      },
    },
  };
}

const podsOf = async (where, test = () => true) => {
  const { items } = await cluster.get(`/api/v1/namespaces/${where}/pods`);
  return items
    .filter((p) => !p.metadata.deletionTimestamp && test(p))
    .map((p) => Object.assign(p, { ip: p.status.podIP }));
};
const carts = () => podsOf(namespace, (p) => p.metadata.labels.app === "cart");
const agentsOf = (component) =>
  podsOf(profiling, (p) => p.metadata.name.includes(component));

const ask2 = (query) => eventually("an answer", () => sql(store, query));

before(async () => {
  await cluster.script("up-second");
  for (const file of importedTo2()) await cluster.script("import2", path.resolve(file));
  store = await startStore({ listen: "0.0.0.0" });
  await namespaceThatEnforces(cluster, profiling, "privileged");
  await cluster.post("/api/v1/namespaces", { metadata: { name: namespace } });
  await cluster.apply(cart());
  const values = {
    nodeAgent: {
      extraEnv: envList({ PROFILE_INTERVAL: "3s", CONTAINER_ALLOWLIST: `^/k8s/${namespace}/` }),
      // a folder of the node: each has a /run of its own
      spool: { hostPath: "/run/coroot-node-agent" },
    },
    clusterAgent: {
      replicas: 2,
      // how long an upload that comes again waits for the other agent's claim
      extraEnv: envList({ ...clusterAgentEnv, CLAIM_WAIT: "15s" }),
      persistence: { enabled: false },
    },
    clickhouse: { address: `10.199.0.1:${store.port}` },
    // /targets are asked for without a key
    keys: { anonymousRead: true },
  };
  const where = { release: "profiling", namespace: profiling, chart: "profiling" };
  await installChart("install", { ...where, set: images, values });
  await rolledOut(cluster, namespace, "deployments", "cart");
  await rolledOut(cluster, profiling, "daemonsets", "profiling-node-agent");
  await rolledOut(cluster, profiling, "statefulsets", "profiling-cluster-agent");
});

after(async () => {
  await helm("uninstall", "profiling", "--namespace", profiling, "--ignore-not-found");
  await cluster.kubectl("delete", "namespace", namespace, profiling, "--timeout=120s");
  await cluster.script("down-second");
  await store?.stop();
});

test("there is an agent of each kind on each node", async () => {
  for (const component of ["node-agent", "cluster-agent"]) {
    const nodes = (await agentsOf(component)).map((p) => p.spec.nodeName);
    assert.deepStrictEqual(nodes.sort(), [first, second], component);
  }
});

test("each pod is profiled by the agent of its node, and by no other", async () => {
  const pods = await carts();
  const want = pods.map((p) => `${p.metadata.name} ${p.spec.nodeName}`).sort();
  assert.deepStrictEqual([...new Set(pods.map((p) => p.spec.nodeName))].sort(), [first, second]);
  const found = async () => {
    const rows = await ask2(`SELECT DISTINCT Labels['pod'] AS pod, Labels['host.name'] AS node
      FROM profiling_samples WHERE ServiceName = '${service}' AND Type = '${SAMPLED}'
      AND Labels['k8s.container.name'] = 'workload'`);
    return rows.map((r) => `${r.pod} ${r.node}`).sort();
  };
  await eventually("all are profiled", async () => {
    const now = await found();
    if (now.length < want.length) throw new Error(now.join(", "));
    return true;
  });
  assert.deepStrictEqual(await found(), want);
  const rows = await ask2(`SELECT DISTINCT ServiceName AS name FROM profiling_samples`);
  assert.deepStrictEqual(
    rows.map((r) => r.name),
    [service],
  );
});

const statefulSet = `/apis/apps/v1/namespaces/${profiling}/statefulsets/profiling-cluster-agent`;
const scaleReceivers = (replicas) => cluster.patch(statefulSet, { spec: { replicas } });
const nodeAgentOn = async (node) =>
  (await agentsOf("node-agent")).find((p) => p.spec.nodeName === node);
const metricOf = (agent, name) =>
  Daemon.prototype.metric.call({ url: `http://${agent.ip}:10300` }, `node_agent_${name}`);

// Each upload is a file of the spool, and a profile of one container and window in the store.
test("a node agent is replaced while no receiver is there: what waited arrives", async () => {
  const awayMs = Date.now();
  await scaleReceivers(0);
  await eventually("no receiver", async () => (await agentsOf("cluster-agent")).length === 0);
  const old = await nodeAgentOn(second);
  const waits = await eventually("profiles wait on the disk", async () => {
    const n = await metricOf(old, "upload_spool_profiles");
    return n >= 2 * (N_PODS / 2) && n;
  });
  await cluster.kubectl("-n", profiling, "delete", "pod", old.metadata.name);
  await rolledOut(cluster, profiling, "daemonsets", "profiling-node-agent");
  const now = await nodeAgentOn(second);
  assert.notStrictEqual(now.metadata.uid, old.metadata.uid);
  const deletedMs = Date.parse(now.metadata.creationTimestamp);
  assert.ok((await metricOf(now, "upload_spool_profiles")) >= waits);
  await scaleReceivers(2);
  await rolledOut(cluster, profiling, "statefulsets", "profiling-cluster-agent");
  await eventually(`${waits} profiles of the outage`, async () => {
    const [{ n }] = await ask2(`SELECT uniqExact(Labels['container.id'], Start, End) AS n
      FROM profiling_samples WHERE Labels['host.name'] = '${second}'
      AND toUnixTimestamp64Milli(End) > ${awayMs - 3000}
      AND toUnixTimestamp64Milli(Start) <= ${deletedMs}`);
    if (Number(n) < waits) throw new Error(`${n} of ${waits}`);
    return true;
  });
  assert.strictEqual(await metricOf(now, "profiles_dropped_total"), 0);
});

// The one cluster agent that scrapes each of the pods: pod → name and URL.
const owners = () =>
  eventually("each pod has one owner", async () => {
    const owner = new Map((await carts()).map((p) => [p.metadata.name, []]));
    for (const agent of await agentsOf("cluster-agent")) {
      const server = { name: agent.metadata.name, url: `http://${agent.ip}:8080` };
      for (const t of (await targets(server)).targets)
        if (t.state !== "elsewhere" && owner.has(t.pod)) owner.get(t.pod).push(server);
    }
    for (const [pod, found] of owner)
      if (found.length !== 1) throw new Error(`${pod}: ${JSON.stringify(found)}`);
    return new Map([...owner].map(([pod, [server]]) => [pod, server]));
  });

test("a node is drained: the rest takes its pods over, nothing is dropped", async () => {
  const drain = ["--ignore-daemonsets", "--delete-emptydir-data", "--timeout=300s"];
  await cluster.kubectl("drain", second, ...drain);
  await rolledOut(cluster, namespace, "deployments", "cart");
  await rolledOut(cluster, profiling, "statefulsets", "profiling-cluster-agent");
  const pods = await carts();
  for (const p of pods) assert.strictEqual(p.spec.nodeName, first, p.metadata.name);

  const drainedMs = Date.now();
  // pods may change hands once more when the second agent is back
  await eventually("each pod is scraped", async () => {
    for (const [name, server] of await owners()) await mustBeScraped(server, name, drainedMs);
    return true;
  });
  const types = `Type IN ('${SAMPLED}', '${SCRAPED}')`;
  await eventually("each pod has profiles of both agents", async () => {
    const rows = await ask2(`SELECT DISTINCT Labels['pod'] AS pod, Type FROM profiling_samples
      WHERE ${types} AND toUnixTimestamp64Milli(Start) > ${drainedMs}`);
    if (rows.length < 2 * N_PODS) throw new Error(JSON.stringify(rows));
    return true;
  });
  for (const agent of await agentsOf("node-agent"))
    assert.strictEqual(await metricOf(agent, "profiles_dropped_total"), 0, agent.spec.nodeName);
});
