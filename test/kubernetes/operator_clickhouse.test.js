// ClickHouse that Coroot's operator made, on a real API server: it stays in use, with its claims,
// when the resource does not say where profiles go.
"use strict";

const assert = require("node:assert");
const { after, before, test } = require("node:test");
const { eventually } = require("../e2e/lib/wait");
const { KubeCluster } = require("./lib/kube_cluster");
const operators = require("./lib/operators");

const { apps, core, create, installCrd, operatorKubeconfig, settles, startOperator } = operators;

const labels = (component) => ({
  "app.kubernetes.io/managed-by": "coroot-operator",
  "app.kubernetes.io/part-of": "main",
  "app.kubernetes.io/component": component,
});

const claim = (storage) => ({
  accessModes: ["ReadWriteOnce"],
  resources: { requests: { storage } },
});

// As Coroot's operator makes them: the configuration is written by a container of its own.
function statefulSet(component, name, container, replicas, storage) {
  const mounts = [{ name: "config", mountPath: "/config" }];
  const template = {
    metadata: { labels: labels(component) },
    spec: {
      serviceAccountName: `main-${component}`,
      securityContext: { runAsNonRoot: true, runAsUser: 65534, fsGroup: 65534 },
      initContainers: [{ name: "config", image: "ch:1", args: ["x"], volumeMounts: mounts }],
      containers: [{ name: container, image: "ch:1", volumeMounts: mounts }],
      volumes: [{ name: "config", emptyDir: {} }],
    },
  };
  return {
    metadata: { name, labels: labels(component) },
    spec: {
      replicas,
      serviceName: `main-${component}-headless`,
      selector: { matchLabels: labels(component) },
      template,
      volumeClaimTemplates: [{ metadata: { name: "data" }, spec: claim(storage) }],
    },
  };
}

let cluster, operator;
before(async () => {
  cluster = await KubeCluster.start({ controllers: true });
  await installCrd(cluster);
  const asCoroot = "?fieldManager=manager";
  const sets = [
    statefulSet("clickhouse", "main-clickhouse-shard-0", "clickhouse-server", 1, "100Gi"),
    statefulSet("clickhouse-keeper", "main-clickhouse-keeper", "clickhouse-keeper", 3, "10Gi"),
  ];
  // somebody has given the data more room than the resource says
  await cluster.post(core("persistentvolumeclaims", "") + asCoroot, {
    metadata: { name: "data-main-clickhouse-shard-0-0", labels: labels("clickhouse") },
    spec: claim("200Gi"),
  });
  await cluster.post(core("secrets", "") + asCoroot, {
    metadata: { name: "main-clickhouse" },
    stringData: { password: "password-of-old" },
  });
  for (const set of sets) await cluster.post(apps("statefulsets", "") + asCoroot, set);
  operator = await startOperator({ kubeconfig: await operatorKubeconfig(cluster) });
});
after(async () => {
  await operator?.stop();
  await cluster?.down();
});

const podOf = (set) => set.spec.template.spec;

test("ClickHouse that is there stays, and the server stores in it", async () => {
  await create(cluster, "main");
  await settles(cluster, "main");
  const server = await cluster.get(apps("statefulsets", "main-coroot"));
  const env = Object.fromEntries(podOf(server).containers[0].env.map((e) => [e.name, e.value]));
  assert.strictEqual(env.GLOBAL_CLICKHOUSE_ADDRESS, "main-clickhouse.default:8123");
  assert.strictEqual(env.CLICKHOUSE_CLUSTER, "default");
  assert.strictEqual(podOf(server).containers[0].image, "example.com/cluster-agent:1");

  for (const name of ["main-clickhouse-shard-0", "main-clickhouse-keeper"]) {
    const set = await eventually(`${name} as the operator makes it`, async () => {
      const s = await cluster.get(apps("statefulsets", name));
      return s.spec.podManagementPolicy === "Parallel" && s;
    });
    assert.strictEqual(set.metadata.annotations["coroot.com/adopted"], "true");
    assert.strictEqual(podOf(set).initContainers, undefined);
    assert.deepStrictEqual(
      podOf(set).volumes.map((v) => Object.keys(v).find((key) => key !== "name")),
      ["configMap", "emptyDir", "emptyDir"],
    );
    const [container] = podOf(set).containers;
    assert.strictEqual(container.securityContext.readOnlyRootFilesystem, true);
    assert.strictEqual(podOf(set).containers.length, 1);
  }
  const config = await cluster.get(core("configmaps", "main-clickhouse"));
  assert.match(config.data["config.xml"], /main-clickhouse-shard-0-0\.main-clickhouse-headless/);
});

test("its data and its password are as they were", async () => {
  const data = await cluster.get(core("persistentvolumeclaims", "data-main-clickhouse-shard-0-0"));
  assert.strictEqual(data.spec.resources.requests.storage, "200Gi");
  const secret = await cluster.get(core("secrets", "main-clickhouse"));
  assert.strictEqual(Buffer.from(secret.data.password, "base64").toString(), "password-of-old");
});
