// From "helm install" to a flame graph, and what a cluster does to the operator afterwards: objects
// changed by hand, the operator killed, a wrong spec, an upgrade, other stores, and the end.
"use strict";

const assert = require("node:assert");
const fs = require("node:fs");
const { after, before, test } = require("node:test");
const { podPath } = require("./lib/fake_pods");
const {
  agentAt,
  find,
  helm,
  images,
  installChart,
  laterChart,
  localVolume,
  namespaceThatEnforces,
  rolledOut,
} = require("./lib/helm");
const { KubeCluster } = require("./lib/kube_cluster");
const {
  READ,
  SAMPLED,
  SCRAPED,
  annotateCatalog,
  assertChain,
  assertPage,
  clusterAgentEnv,
  envList,
  forcedService,
  nodeAgentEnv,
  service,
  shows,
  startShop,
  stopShop,
} = require("./lib/profiled_cluster");
const { startCluster } = require("../e2e/lib/daemon");
const { flame, sql } = require("../e2e/lib/query");
const { eventually } = require("../e2e/lib/wait");
const { startStore } = require("../soak/lib/store_server");

const cluster = KubeCluster.shared();
const NODE_IP = "10.199.0.1"; // where pods reach this process

const operatorNamespace = "coroot-operator";
const namespace = "coroot";
const crPath = `/apis/coroot.com/v1/namespaces/${namespace}/coroots/coroot`;
const apps = `/apis/apps/v1/namespaces/${namespace}`;
const core = `/api/v1/namespaces/${namespace}`;
const rbac = "/apis/rbac.authorization.k8s.io/v1";

// As in the documents, but for the intervals. Uploads need a key that nobody has made yet, and the
// page none.
const key = { name: "agents", key: "upload" };
const spec = {
  apiKeySecret: key,
  projects: [{ name: "default", apiKeys: [{ keySecret: key }] }],
  authAnonymousRole: "Viewer",
  nodeAgent: { env: envList({ GO_HEAP_PROFILER: "force", ...nodeAgentEnv }) },
  clusterAgent: { env: envList(clusterAgentEnv) },
};

// what "helm test" runs comes from there, too
const testImage = { chart: { image: { registry: "localhost", tag: "test" } } };

const chart = (command, values, more = {}) =>
  installChart(command, {
    release: "coroot",
    namespace,
    chart: "coroot-ce",
    values: { ...values, ...testImage },
    ...more,
  });
// set: more values than those that every release of it needs
const operatorChart = (command, { set = {}, ...more } = {}) =>
  installChart(command, {
    release: "coroot-operator",
    namespace: operatorNamespace,
    chart: "coroot-operator",
    set: { ...images, "rbac.secretNamespaces": `{${namespace}}`, ...set },
    ...more,
  });

const condition = (resource, type) => resource.status?.conditions?.find((c) => c.type === type);

// Waits until the operator has said what it thinks of the present spec; returns the resource.
const judged = (what, isIt) =>
  eventually(what, async () => {
    const r = await cluster.get(crPath);
    const current = r.status?.observedGeneration === r.metadata.generation;
    if (!current || !isIt(r)) throw new Error(JSON.stringify(r.status));
    return r;
  });
const isReady = (r) => condition(r, "Ready")?.status === "True";
const ready = (what = "the resource is Ready") => judged(what, isReady);

async function allRolledOut() {
  await rolledOut(cluster, namespace, "daemonsets", "coroot-node-agent");
  await rolledOut(cluster, namespace, "deployments", "coroot-cluster-agent");
  await rolledOut(cluster, namespace, "statefulsets", "coroot-coroot");
}

const podOf = async (ns, test) => {
  const { items } = await cluster.get(`/api/v1/namespaces/${ns}/pods`);
  return items.find((p) => !p.metadata.deletionTimestamp && test(p));
};
const operatorPod = () => podOf(operatorNamespace, (p) => /operator/.test(p.metadata.name));

// Value of a variable in the first container of a workload.
const envOf = (workload, name) =>
  workload.spec.template.spec.containers[0].env?.find((e) => e.name === name)?.value;

let server;

before(async () => {
  await namespaceThatEnforces(cluster, operatorNamespace, "restricted");
  await namespaceThatEnforces(cluster, namespace, "privileged");
  await localVolume(cluster, "coroot-data", namespace, "coroot-coroot-0");
  await startShop(cluster);
  await operatorChart("install");
  await chart("install", spec);
});

after(async () => {
  await stopShop(cluster);
  await cluster.kubectl("delete", "namespace", namespace, operatorNamespace, "--wait=false");
});

test("the operator runs in a namespace that enforces Pod Security restricted", async () => {
  await rolledOut(cluster, operatorNamespace, "deployments", "coroot-operator");
});

test("all pods get ready, and so does the resource", async () => {
  await allRolledOut();
  const r = await ready();
  assert.strictEqual(condition(r, "Degraded").status, "False");
  assert.strictEqual(condition(r, "Progressing").status, "False");
  server = await agentAt(cluster, namespace, "coroot-coroot");
});

test("helm test passes", async () => {
  await helm("test", "coroot", "--namespace", namespace, "--timeout", "15m");
});

// They would replace each other's pods for ever.
test("a second operator for the same resources is refused", async () => {
  const second = (set) =>
    operatorChart("install", {
      release: "second",
      set: { "crds.install": "false", ...set },
      args: ["--dry-run=server"],
    });
  const there = /Deployment coroot-operator in namespace coroot-operator, and two would undo/;
  await assert.rejects(second({}), there);
  await second({ watchNamespace: operatorNamespace });
});

test("uploads need the key, which the operator has made", async () => {
  const secret = await cluster.get(`${core}/secrets/${key.name}`);
  const made = Buffer.from(secret.data[key.key], "base64").toString();
  assert.match(made, /^[0-9A-Za-z]{32}$/);
  const post = (headers) =>
    fetch(`${server.url}/v1/profiles?service.name=x`, { method: "POST", headers, body: "x" });
  assert.strictEqual((await post({})).status, 401);
  assert.strictEqual((await post({ "X-Api-Key": made })).status, 400, "it reads the profile");
});

test("an annotation later, all profiles of a pod stand under one name", async () => {
  await annotateCatalog(cluster);
  await assertChain(server);
});

test("a Go program without a memory profiler is forced to have one", async () => {
  await eventually("its allocations", () =>
    shows(server, READ, "main.keepForced", 0, forcedService),
  );
});

test("only the node agent is more than Pod Security restricted admits", async () => {
  const restricted = "restricted";
  await namespaceThatEnforces(cluster, restricted, "restricted");
  // its pod, tried elsewhere
  const admits = async (plural, name) => {
    const workload = await cluster.get(`${apps}/${plural}/${name}`);
    const { template, volumeClaimTemplates = [] } = workload.spec;
    const volumes = volumeClaimTemplates.map(({ metadata: { name: claimName } }) => ({
      name: claimName,
      persistentVolumeClaim: { claimName },
    }));
    const spec = {
      ...template.spec,
      serviceAccountName: undefined,
      serviceAccount: undefined,
      volumes: [...(template.spec.volumes || []), ...volumes],
    };
    const pod = { metadata: { name }, spec };
    const path = `/api/v1/namespaces/${restricted}/pods?dryRun=All`;
    return eventually(`an answer for ${name}`, async () => {
      try {
        await cluster.post(path, pod);
        return "admitted";
      } catch (e) {
        // the account of the new namespace may not be there yet
        if (e.status === 403 && /PodSecurity/.test(e.message)) return e.message;
        throw e;
      }
    });
  };
  assert.strictEqual(await admits("statefulsets", "coroot-coroot"), "admitted");
  assert.strictEqual(await admits("deployments", "coroot-cluster-agent"), "admitted");
  assert.match(await admits("daemonsets", "coroot-node-agent"), /hostPID/);
  const agent = await cluster.get(`${apps}/daemonsets/coroot-node-agent`);
  const { securityContext: has } = agent.spec.template.spec.containers[0];
  assert.ok(!has.privileged && !has.allowPrivilegeEscalation, JSON.stringify(has));
  await cluster.delete(`/api/v1/namespaces/${restricted}`);
});

test("what is changed by hand is changed back", async () => {
  const agent = `${apps}/deployments/coroot-cluster-agent`;
  const old = await cluster.get(agent);
  await cluster.delete(agent);
  await eventually("the cluster-agent is made again", async () => {
    const now = await find(cluster, agent);
    return now && now.metadata.uid !== old.metadata.uid;
  });
  const setEnv = ["-n", namespace, "set", "env"];
  await cluster.kubectl(...setEnv, "daemonset/coroot-node-agent", "SCRAPE_INTERVAL=7h");
  await cluster.patch(`${core}/services/coroot-coroot`, { spec: { selector: { nobody: "here" } } });
  const granted = `${rbac}/clusterrolebindings/${namespace}.coroot.node-agent`;
  await cluster.delete(granted);
  await eventually("all is as it was", async () => {
    const daemons = await cluster.get(`${apps}/daemonsets/coroot-node-agent`);
    const { selector } = (await cluster.get(`${core}/services/coroot-coroot`)).spec;
    const binding = await find(cluster, granted);
    const interval = envOf(daemons, "SCRAPE_INTERVAL");
    if (interval !== "15s" || !selector["app.kubernetes.io/part-of"] || selector.nobody || !binding)
      throw new Error(JSON.stringify({ interval, selector, binding }));
    return true;
  });
  await allRolledOut();
  await ready();
});

// The process of a container as this machine sees it, found by its cgroup.
function processOf(pod) {
  const [{ containerID }] = pod.status.containerStatuses;
  const id = containerID.replace(/.*:\/\//, "");
  return fs.readdirSync("/proc").find((pid) => {
    try {
      return /^\d+$/.test(pid) && fs.readFileSync(`/proc/${pid}/cgroup`, "utf8").includes(id);
    } catch {
      return false; // it has ended
    }
  });
}

test("node agents are replaced after what they send to", async () => {
  await ready();
  const { generation } = (await cluster.get(`${apps}/daemonsets/coroot-node-agent`)).metadata;
  const podAnnotations = { "example.com/upgrade": "1" };
  await cluster.patch(crPath, {
    spec: { nodeAgent: { podAnnotations }, clusterAgent: { podAnnotations } },
  });
  await eventually("the DaemonSet changes", async () => {
    const { metadata } = await cluster.get(`${apps}/daemonsets/coroot-node-agent`);
    return metadata.generation > generation;
  });
  const { metadata, spec, status } = await cluster.get(`${apps}/deployments/coroot-cluster-agent`);
  assert.strictEqual(spec.template.metadata.annotations["example.com/upgrade"], "1");
  assert.strictEqual(status.observedGeneration, metadata.generation);
  assert.strictEqual(status.updatedReplicas, spec.replicas);
  assert.strictEqual(status.readyReplicas, spec.replicas);
  await ready();
  await allRolledOut();
});

test("while the operator is dead the page works; then it completes what it began", async () => {
  const pod = await operatorPod();
  const pid = processOf(pod);
  assert.ok(pid, "the operator has a process");
  await cluster.patch(crPath, { spec: { metricsRefreshInterval: "20s" } });
  process.kill(Number(pid), "SIGKILL");
  // a Lease that nobody gave back expires meanwhile
  await assertPage(server);
  const restarts = (p) => p.status.containerStatuses[0].restartCount;
  const hasRestarted = async () => restarts(await cluster.get(podPath(pod))) > restarts(pod);
  await eventually("it runs again", hasRestarted);
  await judged("the change is known", isReady);
  const daemons = await cluster.get(`${apps}/daemonsets/coroot-node-agent`);
  assert.strictEqual(envOf(daemons, "SCRAPE_INTERVAL"), "20s");
});

test("a node agent that runs nowhere is not ready, and the status says why", async () => {
  await cluster.patch(crPath, { spec: { nodeAgent: { nodeSelector: { disk: "none" } } } });
  const r = await judged("no node matches", (now) =>
    /node-agent: no node matches/.test(condition(now, "Ready")?.message),
  );
  assert.strictEqual(condition(r, "Ready").status, "False");
  await cluster.patch(crPath, { spec: { nodeAgent: { nodeSelector: null } } });
  await ready();
  await allRolledOut();
});

test("a wrong spec is named in the status, and all else goes on", async () => {
  await cluster.patch(crPath, { spec: { replicas: 3, service: { port: 8080 } } });
  const r = await judged("the problem is reported", (now) =>
    JSON.stringify(now.status).includes("spec.replicas"),
  );
  assert.strictEqual(condition(r, "Degraded").status, "True", JSON.stringify(r.status));
  assert.strictEqual((await cluster.get(`${apps}/statefulsets/coroot-coroot`)).spec.replicas, 1);
  // what the schema can refuse is refused at once
  await assert.rejects(
    cluster.patch(crPath, { spec: { profilesTTL: "soon" } }),
    (e) => e.status === 422 && /spec\.profilesTTL/.test(e.message),
  );
  await cluster.patch(crPath, { spec: { replicas: null, service: null } });
  const healed = await ready();
  assert.strictEqual(condition(healed, "Degraded").status, "False");
});

// The whole of what a flame graph has of a time that is over.
const totalUntil = async (to) =>
  (await flame(server, { service, type: SAMPLED, from: to - 3600e3, to })).total;
// what was stored by the embedded engine until some time: { at, total }
let past;

test("upgrades of both charts keep the profiles", async () => {
  const at = Date.now() - 10e3;
  // of an interval that began when those of the past had been sent
  await eventually("later profiles", () => shows(server, SAMPLED, "main.burnCPU", at + 8000));
  past = { at, total: await totalUntil(at) };
  assert.ok(past.total > 0);

  // what an upgrade would take away is said
  const forgotten = { "rbac.secretNamespaces": "{default}" };
  const notes = await operatorChart("upgrade", { set: forgotten, args: ["--dry-run=server"] });
  assert.match(notes, /whose Secrets the operator may not use: coroot\.$/m);
  assert.match(notes, /--set rbac\.secretNamespaces=\{default,coroot\}$/m);

  await operatorChart("upgrade", {
    chart: laterChart("coroot-operator", "99.0.0"),
    set: { logLevel: "debug" },
  });
  await rolledOut(cluster, operatorNamespace, "deployments", "coroot-operator");
  const uid = (await podOf(namespace, (p) => p.metadata.name === "coroot-coroot-0")).metadata.uid;
  await chart(
    "upgrade",
    { ...spec, profilesTTL: "14d", metricsRefreshInterval: "30s" },
    { chart: laterChart("coroot-ce", "99.0.0") },
  );
  await eventually("the server's pod is another", async () => {
    const pod = await podOf(namespace, (p) => p.metadata.name === "coroot-coroot-0");
    return pod && pod.metadata.uid !== uid;
  });
  await ready();
  await allRolledOut();
  assert.match(await helm("list", "--all-namespaces"), /coroot-ce-99\.0\.0/);
  assert.strictEqual(await totalUntil(past.at), past.total);
  const upgraded = Date.now();
  await assertChain(server, { types: [SAMPLED, SCRAPED], fromMs: upgraded });
});

test("profiles go to a ClickHouse that is there already", async (t) => {
  const user = "profiler";
  const password = "s3cret";
  const store = await startStore({
    listen: "0.0.0.0",
    args: [`--user=${user}`, `--password=${password}`],
  });
  t.after(() => store.stop());
  const externalClickhouse = {
    address: `${NODE_IP}:${store.port}`,
    user,
    password,
    database: "profiles",
  };
  await chart("upgrade", { ...spec, externalClickhouse });
  await ready();
  await allRolledOut();
  const pod = await podOf(namespace, (p) => p.metadata.name === "coroot-coroot-0");
  assert.match(pod.spec.containers[0].image, /coroot-cluster-agent:/);
  const moved = Date.now();
  await assertChain(server, { types: [SAMPLED, SCRAPED], fromMs: moved });
  const headers = { "X-ClickHouse-User": user, "X-ClickHouse-Key": password };
  const rows = await sql(
    { url: store.url, sqlPort: store.port, database: "profiles", headers },
    `SELECT count() AS n FROM profiling_samples WHERE ServiceName = '${service}'`,
  );
  assert.ok(rows[0].n > 0);
});

test("agentsOnly removes the server, but not its disk, with which it comes back", async (t) => {
  const elsewhere = await startCluster({ host: NODE_IP });
  t.after(() => elsewhere.stop());
  const claim = `${core}/persistentvolumeclaims/data-coroot-coroot-0`;
  const { uid } = (await cluster.get(claim)).metadata;

  await chart("upgrade", { ...spec, agentsOnly: { corootURL: `${elsewhere.url}/` } });
  await ready();
  assert.strictEqual(await find(cluster, `${apps}/statefulsets/coroot-coroot`), null);
  assert.strictEqual(await find(cluster, `${core}/services/coroot-coroot`), null);
  assert.strictEqual((await cluster.get(claim)).metadata.uid, uid);
  await assertChain(elsewhere, { types: [SAMPLED, SCRAPED] });

  await chart("upgrade", spec);
  await ready();
  await allRolledOut();
  server = await agentAt(cluster, namespace, "coroot-coroot");
  assert.strictEqual(await totalUntil(past.at), past.total, "what the engine had is still there");
});

// Everything in the cluster that has to do with us, as "kind/name".
async function leftOf(...namespaces) {
  const kinds =
    "all,secrets,configmaps,pvc,serviceaccounts,roles,rolebindings,ingresses,pdb,leases";
  const names = [];
  for (const n of namespaces)
    names.push(...(await cluster.kubectl("-n", n, "get", kinds, "-o", "name")).split("\n"));
  const wide = "clusterroles,clusterrolebindings,customresourcedefinitions";
  names.push(...(await cluster.kubectl("get", wide, "-o", "name")).split("\n"));
  return names
    .filter((n) => n.includes("coroot") || /^(pod|persistent|secret)/.test(n))
    .filter((n) => !n.startsWith("replicaset") && n !== "")
    .sort();
}

test("helm uninstall leaves only what is documented", async () => {
  await helm("uninstall", "coroot", "--namespace", namespace);
  const gone = async (what, left) =>
    eventually(what, async () => {
      const found = await leftOf(namespace, operatorNamespace);
      const more = found.filter((n) => !left.some((l) => l.test(n)));
      if (more.length > 0) throw new Error(more.join(" "));
      return true;
    });
  const secret = new RegExp(`^secret/${key.name}$`);
  await gone("the resource's objects are gone", [/operator/, /customresourcedefinition/, secret]);
  await helm("uninstall", "coroot-operator", "--namespace", operatorNamespace);
  const definition = /^customresourcedefinition.*\/coroots\.coroot\.com$/;
  const kept = [secret, definition, /^lease.*\/coroot-operator$/];
  await gone("the operator's objects are gone", kept);
  const crds = await cluster.kubectl("get", "customresourcedefinitions", "-o", "name");
  assert.match(crds, /coroots\.coroot\.com/);
  await cluster.get(`${core}/secrets/${key.name}`);
});
