// The API server without nodes: fake pods with a status, daemons that are restarted, resource
// versions that expire, tokens.
"use strict";

const assert = require("node:assert");
const { test } = require("node:test");
const { KubeCluster } = require("./lib/kube_cluster");
const { annotate, createPods, deletePod, setStatus } = require("./lib/fake_pods");

test("fake pods keep the status they were given, without a node", async (t) => {
  const cluster = await KubeCluster.start();
  t.after(() => cluster.down());
  const list = Array.from({ length: 40 }, (_, i) => ({
    name: `pod-${i}`,
    ips: [`127.0.1.${i}`],
    owner: { kind: "ReplicaSet", name: "shop-5d8f7c9b6d" },
    annotations: { "coroot.com/profile-scrape": "true" },
  }));
  const pods = await createPods(cluster, list);
  assert.deepStrictEqual(
    pods.map((p) => p.status.podIP),
    list.map((p) => p.ips[0]),
  );

  await annotate(cluster, pods[1], { "coroot.com/profile-scrape": null });
  await setStatus(cluster, pods[2], { phase: "Succeeded" });
  await deletePod(cluster, pods[3]);
  const now = (await cluster.get("/api/v1/pods?fieldSelector=status.phase%3DRunning")).items;
  assert.strictEqual(now.length, 38);
  assert.strictEqual(now.filter((p) => p.metadata.annotations).length, 37);
});

test("an API server is killed and comes back with what etcd has", async (t) => {
  const cluster = await KubeCluster.start();
  t.after(() => cluster.down());
  await createPods(cluster, [{ name: "stays", ips: ["127.0.1.1"] }]);
  await cluster.stop("kube-apiserver", "KILL");
  await assert.rejects(cluster.get("/api/v1/pods"), /ECONNREFUSED|ECONNRESET|hang up/);
  await cluster.start("kube-apiserver");
  assert.strictEqual((await cluster.get("/api/v1/pods")).items[0].metadata.name, "stays");
});

test("after a compaction, a watch from before it gets 410", async (t) => {
  const cluster = await KubeCluster.start({ apiserverFlags: "--watch-cache=false" });
  t.after(() => cluster.down());
  const [pod] = await createPods(cluster, [{ name: "changes", ips: ["127.0.1.1"] }]);
  const old = pod.metadata.resourceVersion;
  for (let i = 0; i < 3; i++) await annotate(cluster, pod, { round: `${i}` });
  await cluster.compact();
  const events = await cluster.watch(
    `/api/v1/pods?watch=1&timeoutSeconds=2&resourceVersion=${old}`,
  );
  assert.strictEqual(events.length, 1);
  assert.strictEqual(events[0].type, "ERROR");
  assert.strictEqual(events[0].object.code, 410);
});

test("a token may do what its account's role says, and nothing without a role", async (t) => {
  const cluster = await KubeCluster.start();
  t.after(() => cluster.down());
  await cluster.serviceAccount("default", "reader", [
    { apiGroups: [""], resources: ["pods"], verbs: ["list"] },
  ]);
  await cluster.serviceAccount("default", "nobody");
  const token = await cluster.token("default", "reader");
  assert.strictEqual(
    (await cluster.request("GET", "/api/v1/pods", undefined, { token })).kind,
    "PodList",
  );
  const status = (name) => async () => {
    const other = await cluster.token("default", name);
    return (await cluster.request("GET", "/api/v1/pods", undefined, { token: other })).kind;
  };
  await assert.rejects(status("nobody")(), { status: 403 });
  const config = cluster.writeKubeconfig({ token });
  assert.match(await cluster.kubectl("--kubeconfig", config, "get", "pods", "-A"), /^$/);
});
