// Our images in the place of Coroot's agents: pods as Coroot's operator makes them, by the word.
"use strict";

const assert = require("node:assert");
const { after, before, test } = require("node:test");
const { KubeCluster } = require("./lib/kube_cluster");
const { goVersions, startWorkloads } = require("./lib/workload_pods");
const { freePort, startCluster } = require("../e2e/lib/daemon");
const { sql } = require("../e2e/lib/query");
const { eventually } = require("../e2e/lib/wait");

const cluster = KubeCluster.shared();
const namespace = "dropin";
const NODE = "10.199.0.1"; // the address of the node, where the test runs

let server;

const labels = (component) => ({
  "app.kubernetes.io/managed-by": "coroot-operator",
  "app.kubernetes.io/part-of": "coroot",
  "app.kubernetes.io/component": component,
});
const hostPath = (name, path) => ({ name, hostPath: { path } });
const env = (values) => Object.entries(values).map(([name, value]) => ({ name, value }));

const nodeAgent = (url) => ({
  apiVersion: "apps/v1",
  kind: "DaemonSet",
  metadata: { name: "coroot-node-agent", namespace, labels: labels("coroot-node-agent") },
  spec: {
    selector: { matchLabels: labels("coroot-node-agent") },
    template: {
      metadata: { labels: labels("coroot-node-agent") },
      spec: {
        serviceAccountName: "coroot-node-agent",
        hostPID: true,
        tolerations: [{ operator: "Exists" }],
        containers: [
          {
            name: "node-agent",
            image: "localhost/coroot-node-agent:test",
            imagePullPolicy: "Never",
            args: ["--cgroupfs-root=/host/sys/fs/cgroup"],
            securityContext: { privileged: true },
            env: env({
              SCRAPE_INTERVAL: "15s",
              API_KEY: "key",
              METRICS_ENDPOINT: `${url}/v1/metrics`,
              LOGS_ENDPOINT: `${url}/v1/logs`,
              TRACES_ENDPOINT: `${url}/v1/traces`,
              PROFILES_ENDPOINT: `${url}/v1/profiles`,
              // what a test cannot wait for
              PROFILE_INTERVAL: "2s",
              GO_HEAP_INTERVAL: "2s",
            }),
            volumeMounts: [
              { name: "cgroupfs", mountPath: "/host/sys/fs/cgroup", readOnly: true },
              { name: "tracefs", mountPath: "/sys/kernel/tracing" },
              { name: "debugfs", mountPath: "/sys/kernel/debug" },
              { name: "tmp", mountPath: "/tmp" },
            ],
          },
        ],
        volumes: [
          hostPath("cgroupfs", "/sys/fs/cgroup"),
          hostPath("tracefs", "/sys/kernel/tracing"),
          hostPath("debugfs", "/sys/kernel/debug"),
          { name: "tmp", emptyDir: {} },
        ],
      },
    },
  },
});

const clusterAgent = (url) => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "coroot-cluster-agent", namespace, labels: labels("coroot-cluster-agent") },
  spec: {
    selector: { matchLabels: labels("coroot-cluster-agent") },
    template: {
      metadata: { labels: labels("coroot-cluster-agent") },
      spec: {
        serviceAccountName: "coroot-cluster-agent",
        securityContext: {
          runAsNonRoot: true,
          runAsUser: 65534,
          runAsGroup: 65534,
          fsGroup: 65534,
        },
        containers: [
          {
            name: "cluster-agent",
            image: "localhost/coroot-cluster-agent:test",
            imagePullPolicy: "Never",
            args: ["--listen=127.0.0.1:10301", "--metrics-wal-dir=/tmp"],
            env: env({
              COROOT_URL: `${url}/`,
              METRICS_SCRAPE_INTERVAL: "15s",
              KUBE_STATE_METRICS_ADDRESS: "127.0.0.1:10302",
              API_KEY: "key",
              PROFILES_SCRAPE_INTERVAL: "2s",
              PROFILES_SCRAPE_CPU_DURATION: "1s",
            }),
            volumeMounts: [{ name: "tmp", mountPath: "/tmp" }],
          },
        ],
        volumes: [{ name: "tmp", emptyDir: {} }],
      },
    },
  },
});

before(async () => {
  await cluster.post("/api/v1/namespaces", { metadata: { name: namespace } });
  const port = await freePort();
  server = await startCluster({
    host: "0.0.0.0",
    port,
    args: ["--profiles-scrape-interval=0"],
  });
  const url = `http://${NODE}:${port}`;
  await cluster.serviceAccount(namespace, "coroot-node-agent", []);
  await cluster.serviceAccount(namespace, "coroot-cluster-agent", [
    { apiGroups: [""], resources: ["pods", "nodes"], verbs: ["get", "list", "watch"] },
  ]);
  await cluster.apply(nodeAgent(url), clusterAgent(url));
  await startWorkloads(cluster, [
    {
      name: "catalog",
      namespace,
      goVersion: goVersions.at(-1),
      args: ["-exact", "-cpu=60", "-heap-objects=100"],
      annotations: { "coroot.com/profile-scrape": "true", "coroot.com/profile-port": "8080" },
    },
  ]);
});
after(async () => {
  await cluster.delete(`/api/v1/namespaces/${namespace}`);
  for (const name of ["coroot-node-agent", "coroot-cluster-agent"])
    await cluster.revoke(namespace, name);
  await server?.stop();
});

const podsOf = async (component) =>
  (await cluster.get(`/api/v1/namespaces/${namespace}/pods`)).items.filter(
    (p) => p.metadata.labels?.["app.kubernetes.io/component"] === component,
  );

// Coroot's operator gives the node agent no right to read pods: names of containers come from the
// runtime's socket, which is found by way of process 1. Where that one is hidden, as on machines
// that are containers themselves, the containers of a pod are one service, named by its uid.
test("profiles of a pod arrive from both agents", async () => {
  const [pod] = (await cluster.get(`/api/v1/namespaces/${namespace}/pods`)).items.filter(
    (p) => p.metadata.name === "catalog",
  );
  const wanted = [
    "ebpf:cpu:nanoseconds",
    "go_runtime:heap_inuse_space:bytes",
    "go:profile_cpu:nanoseconds",
    "go:heap_inuse_space:bytes",
  ];
  await eventually("the profiles", async () => {
    const rows = await sql(
      server,
      `SELECT DISTINCT ServiceName AS name, Type AS type FROM profiling_profiles
       WHERE ServiceName = '/k8s/${namespace}/catalog'
          OR ServiceName = '/kubepods/pod${pod.metadata.uid}'`,
    );
    const missing = wanted.filter((type) => !rows.some((r) => r.type === type));
    if (missing.length > 0) throw new Error(`missing: ${missing} of ${JSON.stringify(rows)}`);
    return true;
  });
});

test("no agent was restarted, and one warning each names the flag that is ignored", async () => {
  for (const component of ["coroot-node-agent", "coroot-cluster-agent"]) {
    const [pod, ...more] = await podsOf(component);
    assert.strictEqual(more.length, 0);
    assert.strictEqual(pod.status.containerStatuses[0].restartCount, 0);
    const stdout = await cluster.kubectl("-n", namespace, "logs", pod.metadata.name);
    const flags = stdout.match(/^.*flags of Coroot's agent.*$/gm);
    assert.strictEqual(flags.length, 1, stdout);
    assert.match(flags[0], /flags="--(cgroupfs-root|metrics-wal-dir)"/);
    assert.doesNotMatch(stdout, /refused a system call|cannot use the spool|level=error/);
  }
});
