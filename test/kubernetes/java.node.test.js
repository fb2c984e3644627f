// A JVM in a pod like those of careful people: user 65534, a root that cannot be written, Pod
// Security "restricted", no shell in its image. The chart's option alone brings its Java profiles,
// and uninstalling it leaves the JVM as it was.
"use strict";

const assert = require("node:assert");
const fs = require("node:fs");
const path = require("node:path");
const { after, before, test } = require("node:test");
const {
  agentAt,
  helm,
  images,
  installChart,
  localVolume,
  namespaceThatEnforces,
  rolledOut,
} = require("./lib/helm");
const { KubeCluster } = require("./lib/kube_cluster");
const { envList, shows } = require("./lib/profiled_cluster");
const { api } = require("../e2e/lib/query");
const { eventually } = require("../e2e/lib/wait");

const cluster = KubeCluster.shared();
const apps = "bank"; // where the JVMs run
const namespace = "java-profiling"; // where the chart is installed
const service = `/k8s/${apps}/ledger`;
// each with a method that must be in it
const TYPES = {
  "java:cpu:nanoseconds": "workload.Cpu.heavy",
  "java:heap_alloc_space:bytes": "workload.Allocations.large",
  "java:heap_alloc_objects:count": "workload.Allocations.small",
  "java:lock_delay:nanoseconds": "workload.Locks.enterMonitor",
  "java:lock_contentions:count": "workload.Locks.enterReentrant",
};
const volumeName = "java-profiling-data";

function deployment(name, env) {
  const labels = { app: name };
  const container = {
    name,
    image: "localhost/java:1",
    imagePullPolicy: "Never",
    args: ["cpu", "allocations", "locks"],
    stdin: true, // the program ends with its input
    env: envList({ JAVA_TOOL_OPTIONS: "-Xmx64m -XX:+UseSerialGC", ...env }),
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    },
    volumeMounts: [{ name: "tmp", mountPath: "/tmp" }],
  };
  const spec = {
    terminationGracePeriodSeconds: 0,
    automountServiceAccountToken: false,
    securityContext: {
      runAsNonRoot: true,
      runAsUser: 65534,
      runAsGroup: 65534,
      seccompProfile: { type: "RuntimeDefault" },
    },
    containers: [container],
    volumes: [{ name: "tmp", emptyDir: {} }],
  };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace: apps },
    spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
  };
}

const values = {
  nodeAgent: {
    options: {
      "enable-java-async-profiler": true,
      "java-async-profiler-delay": "1s",
      "java-interval": "3s",
      "profile-interval": "3s",
      "container-allowlist": `^/k8s/${apps}/`,
    },
    spool: { type: "emptyDir" },
  },
};

// The JVM of a pod: its process on this machine, and the folder that it sees as /tmp.
async function jvmOf(app) {
  const { items } = await cluster.get(`/api/v1/namespaces/${apps}/pods?labelSelector=app%3D${app}`);
  const [pod] = items;
  const isOurs = (pid) => {
    try {
      return (
        fs.readFileSync(`/proc/${pid}/cgroup`, "utf8").includes(pod.metadata.uid) &&
        fs.readlinkSync(`/proc/${pid}/exe`).endsWith("/bin/java")
      );
    } catch {
      return false; // it has ended
    }
  };
  const pid = fs.readdirSync("/proc").find((name) => /^\d+$/.test(name) && isOurs(name));
  assert.ok(pid, `${app} has a process`);
  const volumes = path.join(process.env.KN_DIR, "node/kubelet/pods", pod.metadata.uid, "volumes");
  const tmp = path.join(volumes, "kubernetes.io~empty-dir/tmp");
  return {
    restarts: pod.status.containerStatuses[0].restartCount,
    pid,
    // but for what the JVM makes by itself: counters, and the socket of its attach listener
    left: () => fs.readdirSync(tmp).filter((name) => !/^(hsperfdata_|\.java_pid)/.test(name)),
    maps: () => fs.readFileSync(`/proc/${pid}/maps`, "utf8"),
    openFiles: () =>
      fs.readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
        try {
          return [fs.readlinkSync(`/proc/${pid}/fd/${fd}`)];
        } catch {
          return []; // closed
        }
      }),
    log: () => cluster.kubectl("-n", apps, "logs", pod.metadata.name),
  };
}

let server;
let profiled;

before(async () => {
  await localVolume(cluster, volumeName, namespace, "profiling-cluster-agent-0");
  await namespaceThatEnforces(cluster, apps, "restricted");
  await namespaceThatEnforces(cluster, namespace, "privileged");
  await cluster.apply(
    deployment("ledger", {}),
    deployment("quiet", { COROOT_EBPF_PROFILING: "disabled" }),
  );
  await installChart("install", {
    release: "profiling",
    namespace,
    chart: "profiling",
    set: images,
    values,
  });
  for (const name of ["ledger", "quiet"]) await rolledOut(cluster, apps, "deployments", name);
  await rolledOut(cluster, namespace, "daemonsets", "profiling-node-agent");
  await rolledOut(cluster, namespace, "statefulsets", "profiling-cluster-agent");
  const { data } = await cluster.get(`/api/v1/namespaces/${namespace}/secrets/profiling-keys`);
  const key = Buffer.from(data["read-key"], "base64").toString();
  const agent = await agentAt(cluster, namespace, "profiling-cluster-agent");
  server = { ...agent, headers: { "X-Api-Key": key } };
});
after(async () => {
  const namespaces = [namespace, apps].map((n) => `namespace/${n}`);
  await cluster.kubectl("delete", ...namespaces, "--ignore-not-found", "--wait=false");
  await cluster.kubectl("delete", "pv", volumeName, "--wait=false");
});

test("the agent has the two capabilities more, and is not privileged", async () => {
  const { items } = await cluster.get(`/api/v1/namespaces/${namespace}/pods`);
  const pod = items.find((p) => p.metadata.labels["app.kubernetes.io/component"] === "node-agent");
  const { capabilities, privileged } = pod.spec.containers[0].securityContext;
  assert.deepStrictEqual(capabilities.add.slice(-2), ["SETUID", "SETGID"]);
  assert.strictEqual(privileged, false);
});

for (const [type, method] of Object.entries(TYPES)) {
  test(`${type} of the Deployment has ${method}`, () =>
    eventually(`${method} in ${type}`, () => shows(server, type, method, 0, service)));
}

test("the JVM has the library in a folder of its own, and says nothing of it", async () => {
  profiled = await jvmOf("ledger");
  assert.match(profiled.maps(), /\/tmp\/\.coroot-java-[^/]+\/libasyncProfiler-[0-9a-f]{12}\.so/);
  const [folder, ...more] = profiled.left();
  assert.match(folder, /^\.coroot-java-/);
  assert.deepStrictEqual(more, []);
  const { mode, uid } = fs.statSync(path.join(`/proc/${profiled.pid}/root/tmp`, folder));
  assert.deepStrictEqual([mode & 0o7777, uid], [0o700, 65534]);
  assert.doesNotMatch(await profiled.log(), /profiler|WARN|ERROR|Full thread dump/i);
});

test("a pod that opts out is left alone", async () => {
  const quiet = await jvmOf("quiet");
  assert.doesNotMatch(quiet.maps(), /libasyncProfiler/);
  assert.deepStrictEqual(quiet.left(), []);
  const { applications } = await api(server, "applications", {
    from: Date.now() - 3600e3,
    to: Date.now() + 60e3,
  });
  const names = applications.map((a) => a.service).filter((name) => name.includes(apps));
  assert.deepStrictEqual(names, [service]);
});

test("after helm uninstall nothing is recorded, and the JVM's /tmp is as it was", async () => {
  const recordings = () => profiled.openFiles().filter((file) => file.includes(".coroot-java-"));
  assert.ok(recordings().length > 0, "a recording is being written");
  await helm("uninstall", "profiling", "--namespace", namespace);
  await eventually("nothing is left", () => {
    const left = [...recordings(), ...profiled.left()];
    if (left.length > 0) throw new Error(left.join(" "));
    return true;
  });
  const now = await jvmOf("ledger");
  assert.deepStrictEqual([now.pid, now.restarts], [profiled.pid, 0]);
});
