// The charts as tools for GitOps use them, on a real API server: rendered without a cluster and
// applied, again and again. And what Helm tells whoever installs them.
"use strict";

const assert = require("node:assert");
const { execFileSync } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const { after, before, test } = require("node:test");
const { root, scratch } = require("../e2e/lib/daemon");
const { KubeCluster } = require("./lib/kube_cluster");

const NAMESPACE = "coroot";
const REGISTRY = "--set=image.registry=registry.example.com";
const CHARTS = [
  ["coroot-operator", REGISTRY],
  ["profiling", REGISTRY, "--set=keys.existingSecret=mine"],
  ["coroot-ce", "--set=clickhouse.shards=2"],
];

let cluster;
before(async () => {
  cluster = await KubeCluster.start();
  await cluster.post("/api/v1/namespaces", { metadata: { name: NAMESPACE } });
});
after(() => cluster?.down());

const helm = (...args) =>
  execFileSync(path.join(process.env.KN_BIN, "helm"), [...args, "--namespace", NAMESPACE], {
    encoding: "utf8",
    env: { ...process.env, KUBECONFIG: cluster.kubeconfigFile("admin") },
  });
const chart = (name) => path.join(root, "charts", name);

async function applied([name, ...args]) {
  const file = `${scratch(name)}.yaml`;
  fs.writeFileSync(file, helm("template", name, chart(name), "--skip-tests", ...args));
  const said = await cluster.kubectl("apply", "--namespace", NAMESPACE, "-f", file);
  return said.trim().split("\n");
}

test("what helm template renders can be applied, and again without a change", async () => {
  for (const which of CHARTS) {
    const first = await applied(which);
    for (const line of first) assert.match(line, / (created|configured|unchanged)$/);
    if (which[0] === "coroot-operator")
      await cluster.kubectl("get", "--raw", "/apis/coroot.com/v1/coroots");
    for (const line of await applied(which)) assert.match(line, / unchanged$/);
  }
});

test("notes say what uninstalling deletes, and how to keep it", () => {
  const notes = (name, ...args) =>
    helm("install", "notes", chart(name), "--dry-run=server", ...args).split("\nNOTES:\n")[1];
  const deletes = /"helm uninstall" deletes all profiles[^]*--set chart\.retain=true/;
  const ce = (...sets) => notes("coroot-ce", ...sets.map((set) => `--set=${set}`));
  assert.match(ce(), deletes);
  assert.match(ce("clickhouse.shards=2,storage.reclaimPolicy=Retain"), deletes);
  for (const kept of [
    "chart.retain=true",
    "storage.reclaimPolicy=Retain",
    "agentsOnly.corootURL=http://elsewhere",
    "externalClickhouse.address=ch:8123",
  ])
    assert.doesNotMatch(ce(kept), /deletes all/, kept);
  const keeps = /"helm uninstall" keeps the volumes[^]*delete pvc -l app/;
  assert.match(notes("profiling", REGISTRY), keeps);
  assert.doesNotMatch(
    notes("profiling", REGISTRY, "--set=clusterAgent.persistence.enabled=false"),
    keeps,
  );
});
