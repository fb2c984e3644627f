// One workload, one name: what the node-agent samples, what it reads from Go's memory, and what the
// cluster-agent scrapes are stored under the same service and the same pod, whichever kind of
// workload the pod belongs to.
"use strict";

const assert = require("node:assert");
const { execFileSync } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const { after, before, test } = require("node:test");
const { KubeCluster } = require("./lib/kube_cluster");
const { startScraper } = require("./lib/scraping_agents");
const { goVersions, waitReady, workloadPod } = require("./lib/workload_pods");
const { openBrowser } = require("../e2e/lib/browser");
const { startCluster, startNode } = require("../e2e/lib/daemon");
const { api, flame, sql } = require("../e2e/lib/query");
const { eventually } = require("../e2e/lib/wait");

const cluster = KubeCluster.shared();
const newest = goVersions.at(-1);
const namespace = "shop";
const scrapeOn = { "coroot.com/profile-scrape": "true", "coroot.com/profile-port": "8080" };
const SWITCH = "coroot.com/ebpf-profiling";
// ten pods and two agents: on a busy machine the store must keep up with all that they send
const load = ["-exact", "-cpu=30", "-heap-objects=50"];

const SAMPLED = "ebpf:cpu:nanoseconds";
const READ = "go_runtime:heap_inuse_space:bytes";
const SCRAPED = ["go:heap_inuse_space:bytes", "go:profile_cpu:nanoseconds"];
const TYPES = [SAMPLED, ...SCRAPED, READ].sort();

// As a person would start them; each pod has one container, "workload". annotations: of the pod
function podOf(name, annotations = scrapeOn) {
  return workloadPod({
    name,
    namespace,
    goVersion: newest,
    args: load,
    annotations,
    labels: { app: name },
  });
}
function templateOf(name, restartPolicy) {
  const { metadata, spec } = podOf(name);
  const { annotations, labels } = metadata;
  return { metadata: { annotations, labels }, spec: { ...spec, restartPolicy } };
}
function controller(kind, name, spec = {}) {
  const metadata = { name, namespace };
  const selector = { matchLabels: { app: name } };
  const template = templateOf(name);
  return { apiVersion: "apps/v1", kind, metadata, spec: { selector, template, ...spec } };
}
function job(name) {
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { name, namespace },
    spec: { template: templateOf(name, "Never") },
  };
}
function cronJob(name) {
  const jobTemplate = { spec: { template: templateOf(name, "Never") } };
  return {
    apiVersion: "batch/v1",
    kind: "CronJob",
    metadata: { name, namespace },
    // "kubectl create job" plays the clock
    spec: { schedule: "0 0 1 1 *", suspend: true, jobTemplate },
  };
}

const manifest = path.join(process.env.KN_DIR, "node/manifests/agentd.json");
const runtimeSocket = path.join(process.env.KN_DIR, "node/run/containerd.sock");

// A second tag of the image that all others ask for, as a release candidate gets one that is good.
const IMAGE = `localhost/workload:${newest}`;
const PROMOTED = "localhost/workload:promoted";
// containerd before 2.0 does not keep what was asked for, and cannot say which tag it was.
const imagesOf = (name) => [name === "adhoc" ? PROMOTED : IMAGE, "localhost/workload"];
const images = (...args) =>
  execFileSync("ctr", ["--address", runtimeSocket, "--namespace", "k8s.io", "images", ...args]);
function promoted(pod) {
  pod.spec.containers[0].image = PROMOTED;
  return pod;
}

// Name of the workload → how its pod is found.
const workloads = {
  catalog: {}, // a Deployment; pods are found by their label
  orders: { pod: "orders-0" },
  edge: {},
  migrate: {},
  nightly: {},
  adhoc: { pod: "adhoc" },
  "catalog-db": {}, // a DaemonSet whose name ends like a hash
  "migrate-2": {},
  till: { pod: "front" }, // by its annotation
  agentd: { pod: "agentd-testnode" }, // a static pod
};
const quiet = podOf("quiet", { ...scrapeOn, [SWITCH]: "disabled" });

async function create() {
  await cluster.post("/api/v1/namespaces", { metadata: { name: namespace } });
  await cluster.apply(
    controller("Deployment", "catalog"),
    controller("StatefulSet", "orders", { serviceName: "orders" }),
    controller("DaemonSet", "edge"),
    job("migrate"),
    cronJob("nightly"),
    promoted(podOf("adhoc")),
    controller("DaemonSet", "catalog-db"),
    job("migrate-2"),
    podOf("front", { ...scrapeOn, "coroot.com/custom-application-name": "till" }),
    quiet,
  );
  const minutes = Math.floor(Date.now() / 60e3);
  await cluster.kubectl(
    "-n",
    namespace,
    "create",
    "job",
    `nightly-${minutes}`,
    "--from=cronjob/nightly",
  );
  fs.writeFileSync(manifest, JSON.stringify(podOf("agentd")));
}

async function findPod(name, { pod }) {
  const { items } = await cluster.get(`/api/v1/namespaces/${namespace}/pods`);
  return items.find((p) => (pod ? p.metadata.name === pod : p.metadata.labels?.app === name));
}

const pods = {};
const agents = [];
let store;
let runtimeStore; // of the agent that asks nothing but the container runtime

// labels that every namespace and every node has
const placeLabels = [
  "--namespace-labels=kubernetes.io/metadata.name",
  "--node-labels=kubernetes.io/hostname",
];

// Only this test's pods are profiled: the agent sees the whole machine.
async function startAgent(cluster, args) {
  const agent = await startNode({
    cluster,
    interval: "6s",
    args: [
      `--cri-socket=${runtimeSocket}`,
      "--node-name=testnode",
      "--go-heap-interval=6s",
      `--container-allowlist=^/k8s/${namespace}/`,
      ...args,
    ],
  });
  agents.push(agent);
}
async function startStore(starting) {
  const agent = await starting;
  agents.push(agent);
  return agent;
}

before(async () => {
  await cluster.serviceAccount("default", "profiler", [
    { apiGroups: [""], resources: ["pods"], verbs: ["get", "list", "watch"] },
    { apiGroups: [""], resources: ["namespaces", "nodes"], verbs: ["list", "watch"] },
  ]);
  const token = await cluster.token("default", "profiler");
  const kubeconfig = cluster.writeKubeconfig({ token });
  const args = ["--profiles-scrape-types=cpu,heap", ...placeLabels];
  store = await startStore(startScraper({ kubeconfig, interval: "6s", cpuDuration: "1s", args }));
  runtimeStore = await startStore(startCluster());
  // before there are any pods: names are right from the first sample on
  await startAgent(store, [`--kubeconfig=${kubeconfig}`, ...placeLabels]);
  await startAgent(runtimeStore, ["--kubernetes-api=off"]);
  images("tag", "--force", IMAGE, PROMOTED);
  await create();
  for (const [name, w] of Object.entries(workloads)) {
    const found = await eventually(`a pod of ${name}`, () => findPod(name, w));
    pods[name] = await waitReady(cluster, found);
  }
  await waitReady(cluster, quiet);
});

after(async () => {
  fs.rmSync(manifest, { force: true });
  images("rm", PROMOTED);
  await Promise.all(agents.reverse().map((a) => a.stop()));
  // the next file counts pods
  await cluster.kubectl("delete", "namespace", namespace, "--wait=false");
  await eventually("no pods", async () => {
    const { items } = await cluster.kubectlJson("get", "pods", "--namespace", namespace);
    return items.length === 0;
  });
});

const serviceOf = (name) => `/k8s/${namespace}/${name}`;

// What the store has of a pod: type → services.
async function storedOf(pod, from = store) {
  const rows = await sql(
    from,
    `SELECT Type, groupUniqArray(ServiceName) AS services FROM profiling_quality
     WHERE Labels['pod'] = '${pod.metadata.name}' GROUP BY Type`,
  );
  return Object.fromEntries(rows.map((r) => [r.Type, r.services]));
}

const idOf = (pod) => pod.status.containerStatuses[0].containerID.replace(/.*:\/\//, "");

async function hasOneName(from, types) {
  for (const [name, pod] of Object.entries(pods)) {
    const all = await eventually(`all profiles of ${name}`, async () => {
      const found = await storedOf(pod, from);
      if (!types.every((t) => found[t])) throw new Error(JSON.stringify(found));
      return found;
    });
    for (const [type, services] of Object.entries(all))
      assert.deepStrictEqual(services, [serviceOf(name)], `${type} of ${name}`);
  }
  // and nothing under ids
  const ids = Object.values(pods).map((p) => `'${idOf(p).slice(0, 12)}'`);
  const where = `arrayExists(
    i -> position(concat(ServiceName, Labels['container.id']), i) > 0, [${ids}])`;
  // on a busy machine it may take more time than a query is given
  const raw = await eventually("an answer", () =>
    sql(
      from,
      `SELECT DISTINCT ServiceName, Labels['container.id'] AS id FROM profiling_quality
       WHERE ${where}`,
    ),
  );
  assert.deepStrictEqual(raw, []);
}

test("all profiles of a workload stand under one name", () => hasOneName(store, TYPES));

test("without the API server, the container runtime gives the same names", () =>
  hasOneName(runtimeStore, [SAMPLED, READ]));

test("labels say which pod, container and image it was", async () => {
  for (const [name, pod] of Object.entries(pods)) {
    const common = {
      namespace,
      pod: pod.metadata.name,
      "k8s.namespace.name": namespace,
      "k8s.pod.name": pod.metadata.name,
      "kubernetes.io/metadata.name": namespace,
      "kubernetes.io/hostname": "testnode",
    };
    const rows = await sql(
      store,
      `SELECT DISTINCT Type, Labels FROM profiling_samples
       WHERE ServiceName = '${serviceOf(name)}'`,
    );
    for (const { Type, Labels } of rows) {
      if (!TYPES.includes(Type)) continue;
      const { "host.name": host, "host.id": id, "container.image.name": image, ...rest } = Labels;
      if (SCRAPED.includes(Type)) {
        const scraped = {
          ...common,
          "k8s.container.name": "workload",
          "container.id": `/k8s/${namespace}/${pod.metadata.name}/workload`,
          node: "testnode",
        };
        assert.deepStrictEqual(Labels, scraped, name);
        continue;
      }
      // what starts a pod uses CPU time as well
      const container = Labels["k8s.container.name"];
      assert.match(container, Type === SAMPLED ? /^(workload|sandbox)$/ : /^workload$/);
      assert.deepStrictEqual(rest, {
        ...common,
        "k8s.container.name": container,
        "container.id": `/k8s/${namespace}/${pod.metadata.name}/${container}`,
      });
      if (container === "sandbox") continue;
      assert.ok(host && id, JSON.stringify(Labels));
      assert.ok(imagesOf(name).includes(image), image);
    }
  }
});

test("no source calls an image by the tag of another release", async () => {
  for (const from of [store, runtimeStore]) {
    const rows = await sql(
      from,
      `SELECT ServiceName AS service, groupUniqArray(Labels['container.image.name']) AS found
       FROM profiling_samples WHERE Type = '${READ}' GROUP BY service`,
    );
    for (const name of Object.keys(pods)) {
      const { found } = rows.find((r) => r.service === serviceOf(name));
      for (const image of found) assert.ok(imagesOf(name).includes(image), `${name}: ${image}`);
      // the API server knows which it is
      if (from === store) assert.ok(found.includes(imagesOf(name)[0]), `${name}: ${found}`);
    }
  }
});

test("the page lists each workload once, with all of its profiles", async () => {
  const range = { from: Date.now() - 3600e3, to: Date.now() + 60e3 };
  const { applications } = await api(store, "applications", range);
  const own = applications.filter(
    (a) => a.service.includes(namespace) && a.service !== serviceOf("quiet"),
  );
  assert.deepStrictEqual(
    own.map((a) => a.service).sort(),
    Object.keys(pods).map(serviceOf).sort(),
  );
  for (const a of own)
    for (const type of TYPES) {
      const found = a.types.some((x) => x.type === type);
      assert.ok(found, `${a.service} ${type}`);
    }
});

test("one pod is chosen in all types by either of its names", async () => {
  const pod = pods.catalog.metadata.name;
  const range = { from: Date.now() - 3600e3, to: Date.now() + 60e3 };
  for (const type of TYPES) {
    const query = { service: serviceOf("catalog"), type, ...range };
    // the name that it has in the other agent's types
    const [instance, another] = SCRAPED.includes(type)
      ? [`/k8s/${namespace}/${pod}/workload`, `/k8s/${namespace}/${pod}0/workload`]
      : [`${namespace}/${pod}`, `${namespace}/${pod}0`];
    assert.ok((await flame(store, { ...query, instance })).total > 0, `${type} ${instance}`);
    assert.strictEqual((await flame(store, { ...query, instance: another })).total, 0);
  }
});

test("the start page shows workloads by name, with their namespace", async () => {
  const { browser, page } = await openBrowser();
  try {
    await page.goto(store.url);
    const row = (name) => page.locator(`[data-service="${serviceOf(name)}"]`);
    for (const name of Object.keys(pods)) {
      await row(name).waitFor();
      assert.match(await row(name).innerText(), new RegExp(`^${name} k8s / ${namespace}\\s`));
    }
    await page.picture("start");
    assert.deepStrictEqual(page.errors, []);
  } finally {
    await browser.close();
  }
});

// Milliseconds since the epoch; 0 if there are no such profiles.
async function lastSampled(pod) {
  const [{ last }] = await sql(
    store,
    `SELECT toUnixTimestamp64Milli(max(End)) AS last FROM profiling_samples
     WHERE Type IN ('${SAMPLED}', '${READ}') AND Labels['pod'] = '${pod}'`,
  );
  return last;
}

// Until others of the same agent have been profiled for three intervals longer.
const fallsSilent = (pod) =>
  eventually(`no more profiles of ${pod}`, async () => {
    const others = await lastSampled(pods.catalog.metadata.name);
    return others - (await lastSampled(pod)) >= 9000;
  });

test("pods are profiled or not as their annotations say, also when they change", async () => {
  const annotate = (pod, value) =>
    cluster.kubectl("-n", namespace, "annotate", "--overwrite", "pod", pod, `${SWITCH}${value}`);
  const scraped = async () => (await storedOf(quiet))[SCRAPED[0]];
  await eventually("scraped profiles of quiet", scraped);
  assert.strictEqual(await lastSampled("quiet"), 0);

  await annotate("adhoc", "=disabled");
  await fallsSilent("adhoc");
  const last = await lastSampled("adhoc");
  assert.ok(last > 0);

  await annotate("adhoc", "-");
  await annotate("quiet", "-");
  await eventually("profiles of adhoc again", async () => (await lastSampled("adhoc")) > last);
  const sampled = async () => (await storedOf(quiet))[SAMPLED];
  assert.deepStrictEqual(await eventually("profiles of quiet", sampled), [serviceOf("quiet")]);
});
