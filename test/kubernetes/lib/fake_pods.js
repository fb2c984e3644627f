// Pods that exist only in the API: no kubelet runs them, and we set their status. For
// clusters without controllers (KubeCluster.start()), which would delete pods of unknown nodes.
"use strict";

const crypto = require("node:crypto");

const podsPath = (namespace) => `/api/v1/namespaces/${namespace}/pods`;
const podPath = (pod) => `${podsPath(pod.metadata.namespace)}/${pod.metadata.name}`;

const containerId = () => `containerd://${crypto.randomBytes(32).toString("hex")}`;

// What a kubelet would report. ips[0] is the pod's; ready or not does not follow the phase.
function status({ phase = "Running", ips = [], containers = ["app"], restarts = 0, ready = true }) {
  const now = `${new Date().toISOString().slice(0, 19)}Z`;
  return {
    phase,
    podIP: ips[0],
    podIPs: ips.map((ip) => ({ ip })),
    startTime: now,
    conditions: [{ type: "Ready", status: ready ? "True" : "False" }],
    containerStatuses: containers.map((c) => ({
      name: c.name || c,
      image: "example.test/app:1",
      imageID: "",
      ready,
      restartCount: restarts,
      containerID: containerId(),
      state:
        phase === "Running" ? { running: { startedAt: now } } : { terminated: { exitCode: 0 } },
    })),
  };
}

// owner: { kind, name, apiVersion }, the controller that the pod says it belongs to.
// containers: each a name, or what its spec says beside the image.
function podObject({
  name,
  namespace = "default",
  annotations,
  labels,
  owner,
  ports = [],
  containers = ["app"],
  node = "fake-node",
}) {
  const ownerReferences = owner && [
    { apiVersion: "apps/v1", controller: true, uid: crypto.randomUUID(), ...owner },
  ];
  return {
    metadata: { name, namespace, annotations, labels, ownerReferences },
    spec: {
      nodeName: node,
      terminationGracePeriodSeconds: 0,
      // named ports belong to the first container
      containers: containers.map((c, i) => ({
        image: "example.test/app:1",
        ports: i === 0 ? ports : [],
        ...(c.name ? c : { name: c }),
      })),
    },
  };
}

// One pod with what podObject() and status() take; the object as the API server has it.
async function createPod(cluster, options) {
  const pod = await cluster.post(podsPath(options.namespace || "default"), podObject(options));
  return setStatus(cluster, pod, options);
}

// Replaces its status, with new ids of containers, as if they had been restarted.
function setStatus(cluster, pod, options) {
  return cluster.patch(`${podPath(pod)}/status`, { status: status(options) });
}

// Many pods, some at the same time, in any order; returns the objects in the order of the list.
async function createPods(cluster, list, atOnce = 16) {
  const made = new Array(list.length);
  let next = 0;
  const worker = async () => {
    while (next < list.length) {
      const i = next++;
      made[i] = await createPod(cluster, list[i]);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return made;
}

// as kubectl annotate and label do; null removes
const annotate = (cluster, pod, annotations) =>
  cluster.patch(podPath(pod), { metadata: { annotations } });
const label = (cluster, pod, labels) => cluster.patch(podPath(pod), { metadata: { labels } });
const deletePod = (cluster, pod) => cluster.delete(podPath(pod));

async function createNamespace(cluster, name) {
  await cluster.post("/api/v1/namespaces", { metadata: { name } });
}

module.exports = {
  createPod,
  createPods,
  setStatus,
  annotate,
  label,
  deletePod,
  createNamespace,
  podPath,
};
