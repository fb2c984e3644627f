// Our charts on the shared node: Helm releases, volumes for them, and what they install.
"use strict";

const fs = require("node:fs");
const path = require("node:path");
const { root, scratch } = require("../../e2e/lib/daemon");
const { LIMIT_MS, eventually } = require("../../e2e/lib/wait");
const { run } = require("./kube_cluster");

const charts = path.join(root, "charts");

// Images as check-kubernetes makes and imports them; there is no registry.
const images = { "image.registry": "localhost", "image.tag": "test" };

const home = scratch("helm");
const env = {
  ...process.env,
  HELM_CACHE_HOME: path.join(home, "cache"),
  HELM_CONFIG_HOME: path.join(home, "config"),
  HELM_DATA_HOME: path.join(home, "data"),
};

// helm as administrator; returns its output
const helm = (...args) => run("helm", args, { env });

// set: values by their path in the chart; values: an object like values.yaml
async function installChart(command, { release, namespace, chart, set = {}, values, args = [] }) {
  const flags = Object.entries(set).flatMap(([key, value]) => ["--set", `${key}=${value}`]);
  if (values) {
    const file = `${scratch("values")}.json`; // which is YAML too
    fs.writeFileSync(file, JSON.stringify(values));
    flags.push("--values", file);
  }
  const where = path.isAbsolute(chart) ? chart : path.join(charts, chart);
  return helm(command, release, where, "--namespace", namespace, ...flags, ...args);
}

// A later version of a chart: a copy of its folder. edit: text of Chart.yaml and values.yaml → new
function laterChart(name, version) {
  const copy = path.join(scratch("chart"), name);
  fs.cpSync(path.join(charts, name), copy, { recursive: true });
  const file = path.join(copy, "Chart.yaml");
  const text = fs.readFileSync(file, "utf8");
  fs.writeFileSync(file, text.replace(/^version: .*$/m, `version: ${version}`));
  return copy;
}

// A namespace whose pods must meet a level of Pod Security: privileged, baseline or restricted.
const namespaceThatEnforces = (cluster, name, level) =>
  cluster.post("/api/v1/namespaces", {
    metadata: { name, labels: { "pod-security.kubernetes.io/enforce": level } },
  });

// A volume on the node's disk for the claim of a pod. Nothing provisions volumes here. Claims of
// others do not get it, and this one gets none that another test is about to remove.
async function localVolume(cluster, name, namespace, pod) {
  const folder = path.resolve(process.env.KN_DIR, "node/volumes", name);
  fs.mkdirSync(folder, { recursive: true });
  const expression = { key: "kubernetes.io/hostname", operator: "In", values: ["testnode"] };
  await cluster.post("/api/v1/persistentvolumes", {
    metadata: { name },
    spec: {
      capacity: { storage: "100Gi" },
      accessModes: ["ReadWriteOnce"],
      persistentVolumeReclaimPolicy: "Retain",
      claimRef: { namespace, name: `data-${pod}` },
      local: { path: folder },
      nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [expression] }] } },
    },
  });
  return folder;
}

// An object, or null if there is none.
async function find(cluster, path) {
  try {
    return await cluster.get(path);
  } catch (e) {
    if (e.status === 404) return null;
    throw e;
  }
}

// A pod that had no place when the scheduler looked, because its volume was not bound yet, may wait
// until that looks at all such pods again, which is after five minutes.
const ROLLOUT_MS = 2 * LIMIT_MS;

// Waits until all pods of a workload are those of its present template, and ready.
async function rolledOut(cluster, namespace, plural, name) {
  const isRolledOut = async () => {
    const o = await cluster.get(`/apis/apps/v1/namespaces/${namespace}/${plural}/${name}`);
    const s = o.status;
    const [want, ...have] =
      plural === "daemonsets"
        ? [s.desiredNumberScheduled, s.updatedNumberScheduled, s.numberReady]
        : [o.spec.replicas, s.updatedReplicas, s.readyReplicas, s.replicas];
    const isCurrent = s.observedGeneration === o.metadata.generation;
    const done = isCurrent && want > 0 && have.every((n) => n === want);
    if (!done) throw new Error(JSON.stringify({ status: s, pods: await podStates(cluster, o) }));
    return o;
  };
  return eventually(`${plural}/${name} is rolled out`, isRolledOut, ROLLOUT_MS);
}

// Why the pods of a workload are not ready, for messages.
async function podStates(cluster, { metadata, spec }) {
  const selector = Object.entries(spec.selector.matchLabels)
    .map(([k, v]) => `${k}=${v}`)
    .join(",");
  const query = new URLSearchParams({ labelSelector: selector });
  const { items } = await cluster.get(`/api/v1/namespaces/${metadata.namespace}/pods?${query}`);
  return items.map((p) => ({
    name: p.metadata.name,
    conditions: p.status.conditions?.filter((c) => c.status !== "True").map((c) => c.message),
    containers: p.status.containerStatuses?.map((c) => c.state),
  }));
}

// What answers at a Service, as test/e2e/lib/query.js asks an agent.
async function agentAt(cluster, namespace, name) {
  const service = await cluster.get(`/api/v1/namespaces/${namespace}/services/${name}`);
  const port = service.spec.ports.find((p) => p.name === "http").port;
  return { url: `http://${service.spec.clusterIP}:${port}` };
}

module.exports = {
  agentAt,
  charts,
  find,
  helm,
  images,
  installChart,
  laterChart,
  localVolume,
  namespaceThatEnforces,
  rolledOut,
};
