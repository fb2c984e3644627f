// Real pods on the shared node that run test/kubernetes/workload, and what they report.
"use strict";

const fs = require("node:fs");
const { eventually } = require("../../e2e/lib/wait");
const { podPath } = require("./fake_pods");

// The releases of Go of which there is an image, oldest first; run-kubernetes.sh passes them.
const goVersions = (process.env.KN_GO_VERSIONS || "").split(" ").filter(Boolean);

const base64 = (file) => fs.readFileSync(file).toString("base64");

// args: flags of the workload. tls: a certificate (KubeCluster.certificate()), to serve HTTPS on
// :8443; clientCa: a file. The rest goes into the pod's metadata.
function workloadPod({
  name,
  namespace = "default",
  goVersion,
  args = [],
  tls,
  clientCa,
  annotations,
  labels,
}) {
  const flags = [...args];
  const volumes = [];
  if (tls) flags.push("-https=:8443", "-cert=/tls/tls.crt", "-key=/tls/tls.key");
  if (clientCa) flags.push("-client-ca=/tls/client-ca.crt");
  if (tls) volumes.push({ name: "tls", secret: { secretName: `${name}-tls` } });
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace, annotations, labels },
    spec: {
      terminationGracePeriodSeconds: 0,
      automountServiceAccountToken: false,
      containers: [
        {
          name: "workload",
          image: `localhost/workload:${goVersion}`,
          imagePullPolicy: "Never",
          args: flags,
          ports: [
            { name: "http", containerPort: 8080 },
            { name: "https", containerPort: 8443 },
          ],
          readinessProbe: { httpGet: { path: "/truth", port: 8080 }, periodSeconds: 1 },
          volumeMounts: volumes.map((v) => ({ name: v.name, mountPath: `/${v.name}` })),
        },
      ],
      volumes,
    },
  };
}

function tlsSecret({ name, namespace = "default", tls, clientCa }) {
  const data = { "tls.crt": base64(tls.certFile), "tls.key": base64(tls.keyFile) };
  if (clientCa) data["client-ca.crt"] = base64(clientCa);
  return { apiVersion: "v1", kind: "Secret", metadata: { name: `${name}-tls`, namespace }, data };
}

const isReady = (pod) =>
  (pod.status.conditions || []).some((c) => c.type === "Ready" && c.status === "True");

// A pod object, real or not, once it is ready; with .ip.
async function waitReady(cluster, pod) {
  const ready = await eventually(`pod ${pod.metadata.name} ready`, async () => {
    const now = await cluster.get(podPath(pod));
    if (!isReady(now)) throw new Error(JSON.stringify(now.status.containerStatuses || now.status));
    return now;
  });
  return Object.assign(ready, { ip: ready.status.podIP });
}

// Creates them all at once; the objects of the API when all are ready.
async function startWorkloads(cluster, list) {
  for (const w of list) if (w.tls) await cluster.apply(tlsSecret(w));
  const pods = list.map(workloadPod);
  await cluster.apply(...pods);
  return Promise.all(pods.map((p) => waitReady(cluster, p)));
}

// Its own account, see workload/truth.go; path: truth, pause or resume.
async function ask(pod, path = "truth") {
  const r = await fetch(`http://${pod.ip}:8080/${path}`);
  if (!r.ok) throw new Error(`${pod.metadata.name} /${path}: ${r.status}`);
  return r.json();
}

module.exports = { goVersions, workloadPod, tlsSecret, startWorkloads, waitReady, ask };
