// Both agents and the store without the operator: the chart "profiling", and the manifests that
// kubectl applies by itself.
"use strict";

const assert = require("node:assert");
const fs = require("node:fs");
const path = require("node:path");
const { after, before, test } = require("node:test");
const {
  agentAt,
  charts,
  find,
  helm,
  images,
  installChart,
  localVolume,
  namespaceThatEnforces,
  rolledOut,
} = require("./lib/helm");
const { KubeCluster } = require("./lib/kube_cluster");
const {
  annotateCatalog,
  assertChain,
  clusterAgentEnv,
  envList,
  nodeAgentEnv,
  startShop,
  stopShop,
} = require("./lib/profiled_cluster");
const { scratch } = require("../e2e/lib/daemon");
const { eventually } = require("../e2e/lib/wait");

const cluster = KubeCluster.shared();
const namespace = "charted";
const release = "profiling";
const claims = `/api/v1/namespaces/${namespace}/persistentvolumeclaims`;
const claim = `${claims}/data-profiling-cluster-agent-0`;
// of the manifests
const plain = "profiling";
// not the folder of a real node
const spool = path.resolve(process.env.KN_DIR, "node/spool");

const values = {
  nodeAgent: { extraEnv: envList(nodeAgentEnv), spool: { hostPath: spool } },
  clusterAgent: { extraEnv: envList(clusterAgentEnv) },
};
const chart = (command, more = {}) =>
  installChart(command, { release, namespace, chart: "profiling", set: images, values, ...more });

async function allRolledOut(where) {
  await rolledOut(cluster, where, "daemonsets", "profiling-node-agent");
  await rolledOut(cluster, where, "statefulsets", "profiling-cluster-agent");
}

// The agent, asked with the key that is in its Secret.
async function serverIn(where) {
  const { data } = await cluster.get(`/api/v1/namespaces/${where}/secrets/profiling-keys`);
  const key = Buffer.from(data["read-key"], "base64").toString();
  const agent = await agentAt(cluster, where, "profiling-cluster-agent");
  return { ...agent, headers: { "X-Api-Key": key } };
}

before(async () => {
  await localVolume(cluster, "profiling-data", namespace, "profiling-cluster-agent-0");
  await localVolume(cluster, "manifests-data", plain, "profiling-cluster-agent-0");
  await startShop(cluster);
  await annotateCatalog(cluster);
});
after(async () => {
  await stopShop(cluster);
  const namespaces = [namespace, plain].map((n) => `namespace/${n}`);
  await cluster.kubectl("delete", ...namespaces, "--ignore-not-found", "--wait=false");
  await cluster.kubectl("delete", "pv", "profiling-data", "manifests-data", "--wait=false");
});

test("a namespace that refuses the node agent is named before anything is installed", async () => {
  await namespaceThatEnforces(cluster, namespace, "baseline");
  await assert.rejects(chart("install"), /enforces Pod Security "baseline"/);
  const label = "pod-security.kubernetes.io/enforce=privileged";
  await cluster.kubectl("label", "--overwrite", "namespace", namespace, label);
});

test("the chart installs all, and its own test passes", async () => {
  await chart("install");
  await allRolledOut(namespace);
  await helm("test", release, "--namespace", namespace, "--timeout", "15m");
});

test("all profiles of an annotated pod stand under one name", async () => {
  await assertChain(await serverIn(namespace));
});

test("an upgrade keeps the keys and the data, and uninstalling keeps the data", async () => {
  const old = await serverIn(namespace);
  const { uid } = (await cluster.get(claim)).metadata;
  await chart("upgrade", { set: { ...images, "clusterAgent.retention": "14d" } });
  await allRolledOut(namespace);
  assert.deepStrictEqual(await serverIn(namespace), old);
  await assertChain(old);

  await helm("uninstall", release, "--namespace", namespace);
  const kinds = "all,serviceaccounts,secrets,configmaps,pdb";
  await eventually("only the claim is left", async () => {
    const names = await cluster.kubectl("-n", namespace, "get", kinds, "-o", "name");
    const left = names.split("\n").filter((n) => /profiling/.test(n));
    if (left.length > 0) throw new Error(left.join(" "));
    return true;
  });
  const roles = await cluster.kubectl("get", "clusterroles,clusterrolebindings", "-o", "name");
  assert.doesNotMatch(roles, /profiling/);
  assert.strictEqual((await cluster.get(claim)).metadata.uid, uid);
});

// The manifests after the steps that their first lines tell: with a registry and a tag.
function manifests() {
  const copy = scratch("manifests");
  fs.cpSync(path.join(charts, "manifests"), copy, { recursive: true });
  for (const name of ["operator", "profiling"]) {
    const file = path.join(copy, name, "kustomization.yaml");
    const text = fs.readFileSync(file, "utf8");
    const registry = text.replaceAll("newName: registry.invalid", "newName: localhost");
    fs.writeFileSync(file, registry.replace(/newTag: .*/g, "newTag: test"));
  }
  return copy;
}

// What a user would put on top: a folder of its own that refers to ours.
function overlay(folder) {
  const patch = (kind, name, container, env, volumes) => {
    const template = { spec: { containers: [{ name: container, env: envList(env) }], volumes } };
    const object = { apiVersion: "apps/v1", kind, metadata: { name }, spec: { template } };
    return { target: { kind, name }, patch: JSON.stringify(object) };
  };
  const disk = [{ name: "spool", hostPath: { path: spool, type: "DirectoryOrCreate" } }];
  const kustomization = {
    apiVersion: "kustomize.config.k8s.io/v1beta1",
    kind: "Kustomization",
    resources: ["../profiling"],
    patches: [
      patch("DaemonSet", "profiling-node-agent", "node-agent", nodeAgentEnv, disk),
      patch("StatefulSet", "profiling-cluster-agent", "cluster-agent", clusterAgentEnv),
    ],
  };
  const own = path.join(folder, "own");
  fs.mkdirSync(own);
  fs.writeFileSync(path.join(own, "kustomization.yaml"), JSON.stringify(kustomization));
  return own;
}

test("kubectl apply -k does the same", async () => {
  const own = overlay(manifests());
  await cluster.kubectl("apply", "-k", own);
  const keys = ["--from-literal=upload-key=up", "--from-literal=read-key=down"];
  await cluster.kubectl("-n", plain, "create", "secret", "generic", "profiling-keys", ...keys);
  await allRolledOut(plain);
  await assertChain(await serverIn(plain));
  await cluster.kubectl("delete", "-k", own, "--wait=false");
});

test("kubectl apply -k installs the operator", async () => {
  const operator = path.join(manifests(), "operator");
  await cluster.kubectl("apply", "--server-side", "-k", operator);
  await rolledOut(cluster, "coroot-operator", "deployments", "coroot-operator");
  await cluster.kubectl("delete", "-k", operator, "--wait=false");
  // the next file has them made by Helm
  const crd = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/coroots.coroot.com";
  for (const path of [crd, "/api/v1/namespaces/coroot-operator"])
    await eventually(`no ${path}`, async () => !(await find(cluster, path)));
});
