// Real pods, real profiles: the store must have what the applications did. Every agent here has an
// account that may only get, list and watch pods.
"use strict";

const assert = require("node:assert");
const fs = require("node:fs");
const { before, test } = require("node:test");
const { deletePod, podPath } = require("./lib/fake_pods");
const { KubeCluster } = require("./lib/kube_cluster");
const {
  forwarderPod,
  nothingIsUnsent,
  nothingWaits,
  scrapedSince,
  startScraper,
  stored,
  target,
  targets,
} = require("./lib/scraping_agents");
const {
  add,
  assertSums,
  followTruth,
  lastValue,
  storedCpu,
  storedTruth,
} = require("./lib/stored_truth");
const {
  ask,
  goVersions,
  startWorkloads,
  tlsSecret,
  waitReady,
  workloadPod,
} = require("./lib/workload_pods");
const { freePort, scratch, startCluster } = require("../e2e/lib/daemon");
const { application, flame, sql } = require("../e2e/lib/query");
const { eventually } = require("../e2e/lib/wait");

const cluster = KubeCluster.shared();
const newest = goVersions.at(-1);
const scrapeOn = { "coroot.com/profile-scrape": "true", "coroot.com/profile-port": "8080" };
const types = [
  "go:profile_cpu:nanoseconds",
  "go:heap_inuse_space:bytes",
  "go:heap_alloc_space:bytes",
  "go:goroutine_goroutine:count",
  "go:mutex_contentions:count",
  "go:mutex_delay:nanoseconds",
  "go:block_contentions:count",
  "go:block_delay:nanoseconds",
];
// what one scrape gives; the others are differences of two
const TYPES_OF_ONE_SCRAPE = [types[0], types[1], types[3]];
// the types that the store may have of these pods
const TYPES =
  "^go:(profile_cpu|heap_(alloc|inuse)_(objects|space)|goroutine_goroutine|" +
  "(mutex|block)_(contentions|delay)):(nanoseconds|count|bytes)$";
const quick = { interval: "3s", cpuDuration: "2s" };

let kubeconfig;
before(async () => {
  await cluster.serviceAccount("default", "scraper", [
    { apiGroups: [""], resources: ["pods"], verbs: ["get", "list", "watch"] },
  ]);
  kubeconfig = cluster.writeKubeconfig({ token: await cluster.token("default", "scraper") });
});

// Stopped with the test, however it ends: two agents would get in each other's way.
async function scraper(t, options = {}) {
  const agent = await startScraper({ kubeconfig, ...quick, ...options });
  t.after(() => agent.stop());
  return agent;
}
const deletes = (t, ...pods) =>
  t.after(() => Promise.all(pods.map((p) => deletePod(cluster, p).catch(() => {}))));

const annotate = (pod, ...words) =>
  cluster.kubectl(
    "-n",
    pod.metadata.namespace,
    "annotate",
    "--overwrite",
    "pod",
    pod.metadata.name,
    ...words,
  );
const annotateOn = (pod) => annotate(pod, ...Object.entries(scrapeOn).map(([k, v]) => `${k}=${v}`));
const serviceOf = (pod) => `/k8s/${pod.metadata.namespace}/${pod.metadata.name}`;

function hasProfiles(agent, query) {
  const what = `${query.service} ${query.pod || ""} ${query.port || ""} ${query.type}`;
  return eventually(what, async () => (await stored(agent, query)).profiles > 0);
}

test("profiles of annotated pods of every Go release show exactly what they did", async (t) => {
  const load = [
    "-exact",
    "-cpu=400",
    "-heap-objects=200",
    "-heap-bytes=512,1024",
    "-heap-keep=300",
    "-mutex=20",
    "-block=20",
    "-goroutines=7",
  ];
  const agent = await scraper(t);
  const names = ["catalog", "checkout", "search"];
  const pods = await startWorkloads(
    cluster,
    goVersions.map((goVersion, i) => ({ name: names[i], goVersion, args: load })),
  );
  deletes(t, ...pods);
  // a past that no profile may report
  await eventually("a past", async () => (await ask(pods[0])).allocatedObjects > 300);
  const before = await Promise.all(pods.map((p) => ask(p, "pause")));
  // after the pods of other tests
  await eventually("no targets", async () => (await targets(agent)).targets.length === 0);

  await Promise.all(pods.map(annotateOn));
  const seen = await Promise.all(
    pods.map((p) =>
      eventually(`${p.metadata.name} in /targets`, () => target(agent, p.metadata.name)),
    ),
  );
  assert.deepStrictEqual(
    seen.map((t) => [t.service, t.ip, t.node, t.endpoints.length]),
    pods.map((p) => [serviceOf(p), p.ip, "testnode", 5]),
  );
  await Promise.all(pods.map((p) => scrapedSince(agent, p.metadata.name, 0)));

  const follows = await Promise.all(pods.map((p) => followTruth(t, p)));
  const first = await Promise.all(pods.map((p) => ask(p, "resume")));
  for (const pod of pods)
    for (const type of types) await hasProfiles(agent, { service: serviceOf(pod), type });
  // the first moments include what the pause held back
  const from = first.map((f) => f.nowMs + 1000);
  for (const [i, pod] of pods.entries()) {
    // 250 samples, however long a busy machine takes for them
    const enough = async () => {
      const { profiles, sum } = await stored(agent, {
        service: serviceOf(pod),
        type: types[0],
        fromMs: from[i],
      });
      return profiles >= 4 && sum >= 2.5e9;
    };
    await eventually(`CPU profiles of ${pod.metadata.name}`, enough);
  }
  const last = await Promise.all(pods.map((p) => ask(p, "pause")));
  await Promise.all(follows.map((f) => f.stop()));
  const end = Date.now();
  for (const pod of pods) {
    const shown = await scrapedSince(agent, pod.metadata.name, end);
    assert.deepStrictEqual(
      shown.endpoints.map((e) => [e.type, e.state, e.lastError]),
      ["cpu", "heap", "goroutine", "mutex", "block"].map((k) => [k, "up", ""]),
    );
  }
  await nothingWaits(agent);

  const cpu = [];
  for (const [i, pod] of pods.entries()) {
    const service = serviceOf(pod);
    const want = add(last[i], before[i], -1);
    assert.ok(
      want.allocatedObjects > 300 && want.mutexContentions > 30 && want.blockWaits > 30,
      JSON.stringify(want),
    );
    assertSums(await storedTruth(agent, service), want, service);
    cpu.push(
      await storedCpu(agent, service, follows[i], {
        fromMs: from[i],
        toMs: last[i].nowMs,
        seconds: 2,
      }),
    );
    const parked = await stored(agent, {
      service,
      type: "go:goroutine_goroutine:count",
      name: "main.parkForever",
    });
    assert.strictEqual(parked.sum, 7 * parked.profiles);
    // 300 are kept, of two sizes in turn
    assert.strictEqual(
      await lastValue(agent, service, "go:heap_inuse_objects:count", "main.makeObject"),
      300,
    );
    assert.strictEqual(
      await lastValue(agent, service, "go:heap_inuse_space:bytes", "main.makeObject"),
      150 * (512 + 1024),
    );
    const stray = await sql(
      agent,
      `SELECT DISTINCT Type FROM profiling_samples
       WHERE ServiceName = '${service}' AND NOT match(Type, '${TYPES}')`,
    );
    assert.deepStrictEqual(stray, []);
    const [labels] = await sql(
      agent,
      `SELECT DISTINCT Labels FROM profiling_samples WHERE ServiceName = '${service}'`,
    );
    assert.deepStrictEqual(labels.Labels, {
      namespace: "default",
      pod: pod.metadata.name,
      node: "testnode",
      "k8s.namespace.name": "default",
      "k8s.pod.name": pod.metadata.name,
      "k8s.container.name": "workload",
      "container.id": `/k8s/default/${pod.metadata.name}/workload`,
    });
    assert.strictEqual((await application(agent, pod.metadata.name)).service, service);
    const graph = await flame(agent, {
      service,
      type: "go:profile_cpu:nanoseconds",
      from: from[i],
      to: last[i].nowMs,
    });
    const { all, burn } = cpu.at(-1);
    const shown = graph.share("main.burnCPU");
    assert.ok(Math.abs(shown - burn / all) < 0.15, `${shown} instead of ${burn / all}`);
  }

  // a few hundred samples of one pod say it to some ten per cent, so it is all of them that count
  const sumOf = (key) => cpu.reduce((sum, c) => sum + c[key], 0);
  for (const [said, spent] of [
    ["all", "spent"],
    ["burn", "burnt"],
  ]) {
    const ratio = sumOf(said) / sumOf(spent);
    assert.ok(Math.abs(ratio - 1) < 0.2, `${ratio} of the CPU time: ${JSON.stringify(cpu)}`);
  }
  for (const c of cpu) {
    assert.ok(Math.abs(c.all / c.spent - 1) < 0.4, JSON.stringify(cpu));
    // what the rest of the process took depends on how busy the machine is
    assert.ok(Math.abs(c.burn / c.all - c.burnt / c.spent) < 0.2, JSON.stringify(cpu));
  }

  // disabled: no more requests, and stored profiles stay
  await annotate(pods[0], "coroot.com/profile-scrape-");
  await annotate(pods[1], "coroot.com/profile-scrape=false");
  // the port that is left has no effect, which is said; nothing is scraped there
  const scraped = async () => (await targets(agent)).targets.filter((t) => t.state !== "invalid");
  await eventually("switched off", async () => (await scraped()).length === 1);
  const asked = async (pod) => (await ask(pod)).requests["/debug/pprof/goroutine"].count;
  const twiceMore = async (pod) => {
    const count = await asked(pod);
    await eventually("two more rounds", async () => (await asked(pod)) >= count + 2);
  };
  await twiceMore(pods[2]); // and running scrapes have completed
  const counts = await Promise.all(pods.map(asked));
  const profiles = async (p) =>
    (await stored(agent, { service: serviceOf(p), type: "go:goroutine_goroutine:count" })).profiles;
  await nothingWaits(agent);
  const storedThen = await Promise.all(pods.map(profiles));
  await twiceMore(pods[2]);
  assert.deepStrictEqual(await Promise.all(pods.slice(0, 2).map(asked)), counts.slice(0, 2));
  assert.deepStrictEqual(await Promise.all(pods.slice(0, 2).map(profiles)), storedThen.slice(0, 2));

  await deletePod(cluster, pods[2]);
  await eventually("deleted", async () => (await scraped()).length === 0);
});

// A process of a pod, found by its cgroup.
function processesOf(pod) {
  const uid = pod.metadata.uid;
  return fs.readdirSync("/proc").filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      return (
        fs.readFileSync(`/proc/${pid}/cgroup`, "utf8").includes(uid) &&
        fs.readlinkSync(`/proc/${pid}/exe`).endsWith("/workload")
      );
    } catch {
      return false; // it has ended
    }
  });
}

// With an hour between two scrapes a slot is no help. How long it took is said, not judged.
test("a pod is scraped when it is annotated, and a new one when it runs", async (t) => {
  const agent = await scraper(t, { interval: "1h", cpuDuration: "1s" });
  const load = ["-exact", "-cpu=50", "-heap-objects=100", "-goroutines=5"];
  const [quiet] = await startWorkloads(cluster, [
    { name: "quiet", goVersion: newest, args: load },
  ]);
  deletes(t, quiet);
  const arrive = async (pod, since) => {
    const took = await Promise.all(
      TYPES_OF_ONE_SCRAPE.map(async (type) => {
        await hasProfiles(agent, { service: serviceOf(pod), type });
        return `${type} ${((Date.now() - since) / 1000).toFixed(1)} s`;
      }),
    );
    t.diagnostic(`${pod.metadata.name}: ${took.join(", ")}`);
    for (const e of (await target(agent, pod.metadata.name)).endpoints)
      assert.strictEqual(e.state, "up", JSON.stringify(e));
  };
  const annotatedAt = Date.now();
  await annotateOn(quiet);
  await arrive(quiet, annotatedAt);

  const rolledOut = workloadPod({
    name: "rolled-out",
    goVersion: newest,
    args: load,
    annotations: scrapeOn,
  });
  const createdAt = Date.now();
  await cluster.apply(rolledOut);
  deletes(t, rolledOut);
  await arrive(rolledOut, createdAt);
});

test("a container that is killed and comes back: nothing negative, nothing twice", async (t) => {
  const agent = await scraper(t, { args: ["--profiles-scrape-types=heap,mutex,block"] });
  const [pod] = await startWorkloads(cluster, [
    {
      name: "restarts",
      goVersion: newest,
      annotations: scrapeOn,
      args: ["-exact", "-heap-objects=200", "-heap-bytes=512", "-mutex=20", "-block=20"],
    },
  ]);
  deletes(t, pod);
  const service = serviceOf(pod);
  const before = await ask(pod, "pause");
  await scrapedSince(agent, "restarts", before.nowMs);
  await ask(pod, "resume");
  // far more than the second life has time for
  await eventually("a long life", async () => (await ask(pod)).allocatedObjects > 4000);
  const first = await ask(pod, "pause");
  await scrapedSince(agent, "restarts", first.nowMs);
  await nothingWaits(agent);
  // allocations between the first scrape and the first pause may be missing
  const atKill = await storedTruth(agent, service);
  assert.ok(atKill.allocatedObjects >= first.allocatedObjects - before.allocatedObjects);
  assert.ok(atKill.allocatedObjects <= first.allocatedObjects);

  const pids = processesOf(pod);
  assert.strictEqual(pids.length, 1);
  process.kill(Number(pids[0]), "SIGKILL");
  const secondLife = async () => {
    const now = await ask(pod);
    return now.startedMs > first.nowMs && now.allocatedObjects > 100;
  };
  await eventually("the second life", secondLife);
  const second = await ask(pod, "pause");
  await scrapedSince(agent, "restarts", second.nowMs);
  await ask(pod, "resume");
  const goesOn = async () => (await ask(pod)).allocatedObjects >= second.allocatedObjects + 100;
  await eventually("it goes on", goesOn);
  const last = await ask(pod, "pause");
  await scrapedSince(agent, "restarts", last.nowMs);
  await nothingWaits(agent);
  assert.ok(
    last.allocatedObjects < first.allocatedObjects,
    "else nothing shows that it began anew",
  );
  assertSums(await storedTruth(agent, service), add(atKill, last), "both lives");
  assert.ok((await agent.metric("cluster_agent_scrape_restarts_total")) >= 1);
});

// Two applications in one pod, on :8080 and :8081.
function withSecond(pod) {
  const [one] = pod.spec.containers;
  pod.spec.containers.push({
    ...one,
    name: "second",
    args: ["-http=:8081"],
    ports: [{ name: "admin", containerPort: 8081 }],
    readinessProbe: { httpGet: { path: "/truth", port: 8081 }, periodSeconds: 1 },
  });
  return pod;
}

function template(app, kind) {
  const { metadata, spec } = workloadPod({
    name: app,
    goVersion: newest,
    labels: { app },
    annotations: scrapeOn,
  });
  delete metadata.name;
  delete metadata.namespace;
  return {
    apiVersion: "apps/v1",
    kind,
    metadata: { name: app, namespace: "default" },
    spec: { replicas: 1, selector: { matchLabels: { app } }, template: { metadata, spec } },
  };
}

test("annotations choose ports, schemes, prefixes and types; owners name services", async (t) => {
  const secret = `${scratch("token")}`;
  fs.writeFileSync(secret, "s3cret\n");
  const tls = await cluster.certificate("scraped", { names: "DNS:workload.test" });
  const own = (rest) =>
    Object.fromEntries(Object.entries(rest).map(([k, v]) => [`coroot.com/profile-${k}`, v]));
  const goVersion = newest;
  const list = [
    {
      name: "secure",
      goVersion,
      tls,
      args: ["-token=s3cret"],
      annotations: own({ scrape: "true", port: "8443", scheme: "https" }),
    },
    {
      name: "prefixed",
      goVersion,
      annotations: own({ scrape: "true", port: "8080", "path-prefix": "/app" }),
    },
    {
      name: "choosy",
      goVersion,
      annotations: own({ scrape: "true", port: "8080", types: "heap,goroutine" }),
    },
    { name: "moving", goVersion, annotations: own({ scrape: "true", port: "9999" }) },
    {
      name: "pyroscope",
      goVersion,
      annotations: { "pyroscope.io/scrape": "true", "pyroscope.io/port": "8080" },
    },
    {
      name: "grafana",
      goVersion,
      annotations: {
        "profiles.grafana.com/memory.scrape": "true",
        "profiles.grafana.com/memory.port_name": "http",
        "profiles.grafana.com/goroutine.scrape": "true",
        "profiles.grafana.com/goroutine.port": "8080",
      },
    },
  ];
  await cluster.apply(tlsSecret({ name: "secure", tls }));
  const objects = list.map(workloadPod);
  objects.push(
    withSecond(
      workloadPod({
        name: "numbered",
        goVersion,
        annotations: own({ scrape: "true", port: "8080,8081" }),
      }),
    ),
    withSecond(
      workloadPod({
        name: "named",
        goVersion,
        annotations: own({ scrape: "true", "port-name": "admin" }),
      }),
    ),
  );
  const agent = await scraper(t, {
    args: [
      `--profiles-scrape-ca-file=${tls.caFile}`,
      "--profiles-scrape-tls-server-name=workload.test",
      `--profiles-scrape-token-file=${secret}`,
    ],
  });
  deletes(t, ...objects);
  await cluster.apply(
    ...objects,
    template("deployed", "Deployment"),
    template("ordered", "StatefulSet"),
  );
  t.after(() =>
    cluster.kubectl("delete", "--wait=false", "deployment/deployed", "statefulset/ordered"),
  );
  const pods = Object.fromEntries(
    await Promise.all(objects.map(async (p) => [p.metadata.name, await waitReady(cluster, p)])),
  );

  const goroutines = { type: "go:goroutine_goroutine:count" };
  for (const name of ["secure", "prefixed", "choosy", "pyroscope", "grafana", "named"])
    await hasProfiles(agent, { service: `/k8s/default/${name}`, ...goroutines });
  for (const port of [8080, 8081])
    await hasProfiles(agent, { service: "/k8s/default/numbered", port, ...goroutines });
  for (const name of ["deployed", "ordered"])
    await hasProfiles(agent, { service: `/k8s/default/${name}`, ...goroutines });

  const urls = async (name) => (await target(agent, name)).endpoints.map((e) => e.url);
  assert.ok(
    (await urls("secure")).every((u) =>
      u.startsWith(`https://${pods.secure.ip}:8443/debug/pprof/`),
    ),
  );
  assert.ok(
    (await urls("named")).every((u) => u.startsWith(`http://${pods.named.ip}:8081/debug/pprof/`)),
  );
  assert.strictEqual((await urls("grafana")).length, 2);
  for (const { pod } of (await targets(agent)).targets)
    if (pod !== "moving") await scrapedSince(agent, pod, 0);
  const paths = async (pod) => Object.keys((await ask(pod)).requests);
  assert.ok(
    (await paths(pods.prefixed)).every((p) => p.startsWith("/app/debug/pprof/")),
    `${await paths(pods.prefixed)}`,
  );
  assert.deepStrictEqual((await paths(pods.choosy)).sort(), [
    "/debug/pprof/goroutine",
    "/debug/pprof/heap",
  ]);
  assert.deepStrictEqual(await paths(pods.named), [], "only the second container is asked");
  const services = (
    await sql(agent, "SELECT DISTINCT ServiceName AS s FROM profiling_samples ORDER BY s")
  ).map((r) => r.s);
  assert.deepStrictEqual(
    services,
    [
      "choosy",
      "deployed",
      "grafana",
      "named",
      "numbered",
      "ordered",
      "prefixed",
      "pyroscope",
      "secure",
    ].map((n) => `/k8s/default/${n}`),
  );

  // another port, on the live pod
  const isDown = (e) => e.state === "down" && e.lastError;
  await eventually("nothing answers there", async () =>
    (await target(agent, "moving")).endpoints.every(isDown),
  );
  await annotate(pods.moving, "coroot.com/profile-port=8080");
  await hasProfiles(agent, { service: "/k8s/default/moving", ...goroutines });

  // its owner releases a pod whose labels change, and makes another; the service stays
  const [first] = (
    await cluster.get("/api/v1/namespaces/default/pods?labelSelector=app%3Ddeployed")
  ).items;
  await cluster.kubectl("label", "--overwrite", "pod", first.metadata.name, "app=released");
  const isOrphan = async () => !(await cluster.get(podPath(first))).metadata.ownerReferences;
  await eventually("released", isOrphan);
  const both = await eventually("both pods are scraped", async () => {
    const of = (await targets(agent)).targets.filter(
      (x) => x.service === "/k8s/default/deployed" && x.state === "up",
    );
    return of.length === 2 && of;
  });
  assert.ok(both.some((x) => x.pod === first.metadata.name));
  await cluster.kubectl(
    "delete",
    "--wait=false",
    "--grace-period=0",
    "--force",
    "pod",
    first.metadata.name,
  );
  await Promise.all(Object.values(pods).map((p) => deletePod(cluster, p)));
  const left = async () =>
    (await targets(agent)).targets
      .map((x) => x.pod)
      .filter((n) => pods[n] || n === first.metadata.name);
  await eventually("deleted pods are gone", async () => (await left()).length === 0);
});

test("an agent in a pod uses its service account and forwards to the store", async (t) => {
  // KUBECONFIG is set here, so it would scrape as well
  const store = await startCluster({ args: ["--profiles-scrape-interval=0"] });
  t.after(() => store.stop());
  await cluster.serviceAccount("default", "cluster-agent", [
    { apiGroups: [""], resources: ["pods"], verbs: ["get", "list", "watch"] },
  ]);
  const port = await freePort();
  const agentPod = forwarderPod({
    name: "agent",
    to: store,
    port,
    serviceAccount: "cluster-agent",
    ...quick,
  });
  await cluster.apply(agentPod);
  deletes(t, agentPod);
  const load = [
    "-exact",
    "-paused",
    "-heap-objects=200",
    "-heap-bytes=512",
    "-mutex=20",
    "-block=20",
  ];
  const [pod] = await startWorkloads(cluster, [
    { name: "inside", goVersion: newest, args: load, annotations: scrapeOn },
  ]);
  deletes(t, pod);
  await waitReady(cluster, agentPod);
  const agent = { url: `http://127.0.0.1:${port}` };
  await scrapedSince(agent, "inside", 0);
  assert.strictEqual((await targets(agent)).forwarding, store.url);
  await ask(pod, "resume");
  await eventually("some load", async () => (await ask(pod)).allocatedObjects > 1000);
  const last = await ask(pod, "pause");
  await scrapedSince(agent, "inside", last.nowMs);
  await nothingIsUnsent(agent);
  assertSums(await storedTruth(store, serviceOf(pod)), last, "through a forwarder");
});
