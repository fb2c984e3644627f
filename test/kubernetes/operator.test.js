// The operator on a real API server: what it makes of Coroot resources, what it repairs, removes
// and leaves alone. There are controllers, so objects have their status and are garbage collected,
// but no node, so no pod ever runs.
"use strict";

const assert = require("node:assert");
const { after, before, test } = require("node:test");
const { eventually } = require("../e2e/lib/wait");
const { KubeCluster } = require("./lib/kube_cluster");
const {
  OPERATOR,
  appears,
  apps,
  condition,
  core,
  coroots,
  create,
  exists,
  grantOwnRights,
  installCrd,
  operatorKubeconfig,
  rbac,
  settles,
  startOperator,
  vanishes,
} = require("./lib/operators");

let cluster, operator;
before(async () => {
  cluster = await KubeCluster.start({ controllers: true });
});
after(async () => {
  await operator?.stop();
  await cluster?.down();
});

const linesAbout = (text) =>
  operator
    .log()
    .split("\n")
    .filter((line) => line.includes(text));
const readiness = async () => {
  const r = await fetch(`${operator.url}/readyz`);
  return `${r.status} ${await r.text()}`;
};

test("without the definition one line says so, and with it the operator is ready", async () => {
  const kubeconfig = await operatorKubeconfig(cluster);
  operator = await startOperator({ kubeconfig, path: "/healthz" });
  const missing = /503 cannot list coroots\.coroot\.com: .*404.*serves coroots\.coroot\.com/s;
  await eventually("it says what is missing", async () => missing.test(await readiness()));
  for (const kind of ["serviceaccounts", "daemonsets", "clusterroles", "ingresses"])
    await eventually(`${kind} are watched`, () => linesAbout(`what=${kind} n=0`).length === 1);
  assert.strictEqual(linesAbout("level=warn").length, 1, operator.log());

  await installCrd(cluster);
  await operator.ready("/readyz");
  assert.match(await readiness(), /^200 ok: 0 Coroot resources$/m);
});

test("a resource becomes objects, a finalizer, a key and a status", async () => {
  await create(cluster, "one", {
    cacheTTL: "30d",
    projects: [{ name: "p", apiKeys: [{ keySecret: { name: "agent-key", key: "key" } }] }],
  });
  const r = await settles(cluster, "one", (c) => condition(c, "Progressing")?.status === "True");
  assert.deepStrictEqual(r.metadata.finalizers, ["coroot.com/operator"]);
  assert.strictEqual(r.status.status, "OK");
  assert.deepStrictEqual(r.status.errors, []);
  assert.strictEqual(condition(r, "Degraded").status, "False");
  const ready = condition(r, "Ready");
  assert.match(`${ready.status} ${ready.reason}`, /^False Pods(NotReady|Failing)$/);
  assert.match(ready.message, /StatefulSet one-coroot: .*0 of 1 pods ready|controller/);
  assert.strictEqual(ready.observedGeneration, r.metadata.generation);
  assert.strictEqual(condition(r, "FieldsNotUsed").message, "spec.cacheTTL");

  for (const path of [
    apps("daemonsets", "one-node-agent"),
    apps("deployments", "one-cluster-agent"),
    apps("statefulsets", "one-coroot"),
    core("services", "one-coroot"),
    core("persistentvolumeclaims", "data-one-coroot-0"),
    rbac("clusterroles", "default.one.node-agent"),
    rbac("clusterrolebindings", "default.one.cluster-agent"),
  ]) {
    const object = await cluster.get(path);
    assert.strictEqual(object.metadata.labels["coroot.com/owner-uid"], r.metadata.uid, path);
  }
  const secret = await cluster.get(core("secrets", "agent-key"));
  assert.match(Buffer.from(secret.data.key, "base64").toString(), /^[A-Za-z0-9]{32}$/);
  assert.strictEqual(secret.metadata.ownerReferences, undefined);
});

const version = async (path) => (await cluster.get(path)).metadata.resourceVersion;

test("a change that means nothing for an object leaves it as it is", async () => {
  const paths = [
    core("services", "one-coroot"),
    core("secrets", "agent-key"),
    rbac("clusterroles", "default.one.node-agent"),
  ];
  const earlier = await Promise.all(paths.map(version));
  await cluster.patch(`${coroots()}/one`, { spec: { cacheTTL: "31d" } });
  await settles(cluster, "one");
  assert.deepStrictEqual(await Promise.all(paths.map(version)), earlier);
});

test("a misspelt variable is told, and no error", async () => {
  const env = [{ name: "GO_HEAP_PROFILR", value: "force" }];
  await cluster.patch(`${coroots()}/one`, { spec: { nodeAgent: { env } } });
  const told = (c) => condition(c, "FieldsNotUsed").reason === "VariablesUnknown";
  const r = await settles(cluster, "one", told);
  assert.strictEqual(
    condition(r, "FieldsNotUsed").message,
    "spec.cacheTTL; spec.nodeAgent.env[0]: GO_HEAP_PROFILR is no option of the node agent; " +
      "did you mean GO_HEAP_PROFILER?",
  );
  assert.strictEqual(condition(r, "Degraded").status, "False");
  const agent = await cluster.get(apps("daemonsets", "one-node-agent"));
  const passedOn = agent.spec.template.spec.containers[0].env.map(({ name }) => name);
  assert.ok(passedOn.includes("GO_HEAP_PROFILR"), passedOn.join());
  await cluster.patch(`${coroots()}/one`, { spec: { nodeAgent: null } });
  await settles(cluster, "one", (c) => !told(c));
});

test("what somebody deletes or changes is repaired", async () => {
  const role = rbac("clusterroles", "default.one.node-agent");
  const { rules } = await cluster.get(role);
  await cluster.delete(apps("daemonsets", "one-node-agent"));
  await cluster.patch(role, { rules: [] });
  await cluster.patch(apps("deployments", "one-cluster-agent"), {
    spec: { template: { spec: { serviceAccountName: "another" } } },
  });
  await cluster.patch(core("services", "one-coroot"), {
    metadata: { labels: { "app.kubernetes.io/managed-by": "me" } },
  });
  await appears(cluster, apps("daemonsets", "one-node-agent"));
  await eventually("the rules", async () => (await cluster.get(role)).rules?.length > 0);
  assert.deepStrictEqual((await cluster.get(role)).rules, rules);
  await eventually("the account", async () => {
    const d = await cluster.get(apps("deployments", "one-cluster-agent"));
    return d.spec.template.spec.serviceAccountName === "one-cluster-agent";
  });
  await eventually("the label", async () => {
    const s = await cluster.get(core("services", "one-coroot"));
    return s.metadata.labels["app.kubernetes.io/managed-by"] === "coroot-operator";
  });
  assert.ok((await operator.metric(`${OPERATOR}drifts_total`)) >= 4);
});

test("the status says why pods are not ready", async () => {
  const ready = (c) => condition(c, "Ready").message;
  await appears(cluster, core("pods", "one-coroot-0"));
  await settles(cluster, "one", (c) => /one-coroot-0: Unschedulable: .*nodes/.test(ready(c)));

  // a pod that the scheduler does not touch, and whose kubelet is played; it is listed first
  const { spec } = await cluster.get(apps("statefulsets", "one-coroot"));
  const pod = core("pods", "one-coroot--a");
  await cluster.post("/api/v1/namespaces/default/pods", {
    metadata: { name: "one-coroot--a", labels: spec.template.metadata.labels },
    spec: { nodeName: "nowhere", containers: [{ name: "coroot", image: "i" }] },
  });
  const waiting = { reason: "ImagePullBackOff", message: "no such image" };
  const container = { name: "coroot", image: "i", imageID: "", ready: false, restartCount: 0 };
  await cluster.patch(`${pod}/status`, {
    status: {
      conditions: [{ type: "PodScheduled", status: "True" }],
      containerStatuses: [{ ...container, state: { waiting } }],
    },
  });
  await cluster.patch(`${coroots()}/one`, { spec: { cacheTTL: "32d" } });
  await settles(cluster, "one", (c) =>
    /one-coroot--a: container coroot: ImagePullBackOff: no such image/.test(ready(c)),
  );

  // a program that ends says why in its last line, which is in an event as well
  const ended = { exitCode: 1, reason: "Error", message: 'level=info\nx: "forced" is wrong\n' };
  const crashing = { ...container, lastState: { terminated: ended }, state: { waiting: {} } };
  crashing.state.waiting = { reason: "CrashLoopBackOff", message: "back-off 10s" };
  await cluster.patch(`${pod}/status`, { status: { containerStatuses: [crashing] } });
  await cluster.patch(`${coroots()}/one`, { spec: { cacheTTL: "33d" } });
  const why = /CrashLoopBackOff: it ended with exit code 1 \(Error\): x: "forced" is wrong$/;
  const r = await settles(cluster, "one", (c) => why.test(ready(c).split("; ").at(-1)));
  assert.strictEqual(condition(r, "Ready").reason, "PodsFailing");
  assert.match(
    await cluster.kubectl("get", "coroot", "one"),
    /NAME +READY +STATUS +AGE\none +False +PodsFailing /,
  );
  await eventually("the event", async () => {
    const described = await cluster.kubectl("describe", "coroot", "one");
    const [, events] = described.split(/^Events:$/m);
    return /Warning +PodsFailing +\S+ +coroot-operator .*"forced" is wrong/.test(events);
  });
  await cluster.delete(pod);

  // pods that cannot even be made: their controller says so in an event
  await cluster.post("/api/v1/namespaces", { metadata: { name: "full" } });
  await cluster.post("/api/v1/namespaces/full/resourcequotas", {
    metadata: { name: "none" },
    spec: { hard: { pods: "0" } },
  });
  const coroot = { apiVersion: "coroot.com/v1", kind: "Coroot", metadata: { name: "six" } };
  await cluster.post(coroots("full"), coroot);
  await eventually("the quota in the status", async () => {
    const message = ready(await cluster.get(`${coroots("full")}/six`));
    const why = "no pod can be created: .*exceeded quota: none";
    if (!RegExp(`StatefulSet six-coroot: 0 of 1 pods ready: ${why}`).test(message))
      throw new Error(message);
    return RegExp(`Deployment six-cluster-agent: 0 of 1 pods ready: ${why}`).test(message);
  });
  await cluster.delete(`${coroots("full")}/six`);
});

test("a value that is refused is in the status with its path, and nothing is deleted", async () => {
  const tolerations = [{ operator: "Maybe", key: "a" }];
  const agentsOnly = { corootURL: "http://elsewhere" };
  await cluster.patch(`${coroots()}/one`, { spec: { nodeAgent: { tolerations }, agentsOnly } });
  const r = await settles(cluster, "one", (c) => condition(c, "Degraded").status === "True");
  assert.match(condition(r, "Degraded").message, /^DaemonSet one-node-agent: .*tolerations\[0\]/);
  assert.strictEqual(r.status.status, "Misconfigured");
  assert.strictEqual(r.status.errors.length, 1);
  assert.strictEqual(condition(r, "Ready").status, "False");
  // nothing is deleted while something is wrong, and the status says so
  assert.ok(await exists(cluster, apps("statefulsets", "one-coroot")));
  assert.match(condition(r, "Degraded").message, /\d objects that are no longer asked for stay$/);
  const waits = condition(r, "Progressing");
  assert.strictEqual(waits.status, "True");
  assert.match(waits.message, /DaemonSet one-node-agent: not applied yet, see Degraded/);
  await cluster.patch(`${coroots()}/one`, { spec: { nodeAgent: null, agentsOnly: null } });
  const fine = await settles(cluster, "one");
  assert.strictEqual(condition(fine, "Degraded").status, "False");
});

test("a workload with fields that cannot change is made again", async () => {
  const path = apps("statefulsets", "one-coroot");
  const { uid } = (await cluster.get(path)).metadata;
  const pod = await appears(cluster, core("pods", "one-coroot-0"));
  const recreated = await operator.metric(`${OPERATOR}objects_recreated_total`);
  // the claim itself cannot grow without a storage class, which is one more thing to say
  await cluster.patch(`${coroots()}/one`, { spec: { storage: { size: "33Gi" } } });
  const s = await eventually("another StatefulSet", async () => {
    const found = await exists(cluster, path);
    return found && found.metadata.uid !== uid && !found.metadata.deletionTimestamp && found;
  });
  const [claim] = s.spec.volumeClaimTemplates;
  assert.strictEqual(claim.spec.resources.requests.storage, "33Gi");
  assert.ok((await operator.metric(`${OPERATOR}objects_recreated_total`)) > recreated);
  const isAdopted = async () => {
    const { metadata } = await cluster.get(core("pods", "one-coroot-0"));
    assert.strictEqual(metadata.uid, pod.metadata.uid, "it is another pod");
    return metadata.ownerReferences?.some((o) => o.uid === s.metadata.uid);
  };
  await eventually("the pod is the new set's", isAdopted);
  await cluster.patch(`${coroots()}/one`, { spec: { storage: null } });
  await settles(cluster, "one");
});

test("a mode that is left takes its objects along, but not its claim", async () => {
  await cluster.patch(`${coroots()}/one`, {
    spec: { agentsOnly: { corootURL: "http://elsewhere" } },
  });
  for (const path of [
    apps("statefulsets", "one-coroot"),
    core("services", "one-coroot"),
    core("serviceaccounts", "one-coroot"),
  ])
    await vanishes(cluster, path);
  await settles(cluster, "one");
  assert.ok(await exists(cluster, core("persistentvolumeclaims", "data-one-coroot-0")));
  assert.ok(await exists(cluster, apps("daemonsets", "one-node-agent")));
  await cluster.patch(`${coroots()}/one`, { spec: { agentsOnly: null } });
  await appears(cluster, apps("statefulsets", "one-coroot"));
});

test("an object of somebody else is left alone until it is gone", async () => {
  const path = core("services", "two-coroot");
  const spec = { ports: [{ port: 1234 }] };
  await cluster.post(core("services", ""), { metadata: { name: "two-coroot" }, spec });
  const earlier = await version(path);
  await create(cluster, "two");
  const r = await settles(cluster, "two", (c) => c.status.status === "Misconfigured");
  assert.match(
    condition(r, "Degraded").message,
    /^Service two-coroot: exists and is not managed by coroot-operator/,
  );
  assert.ok(await exists(cluster, apps("statefulsets", "two-coroot")));
  assert.strictEqual(await version(path), earlier);
  await cluster.delete(path);
  const service = await appears(cluster, path);
  assert.strictEqual(service.metadata.labels["coroot.com/owner-uid"], r.metadata.uid);
  await settles(cluster, "two");
});

const ownerLabel = "coroot.com/owner-uid";
const agentsOnly = { corootURL: "http://elsewhere" };

// Their names and namespaces, joined by "-", are the same.
test("default/a-b and default-a/b have cluster roles of their own", async () => {
  await create(cluster, "a-b", { agentsOnly });
  await cluster.post("/api/v1/namespaces", { metadata: { name: "default-a" } });
  const other = { apiVersion: "coroot.com/v1", kind: "Coroot", metadata: { name: "b" } };
  const path = `${coroots("default-a")}/b`;
  await cluster.post(coroots("default-a"), { ...other, spec: { agentsOnly } });
  const first = await settles(cluster, "a-b");
  await eventually("both have theirs", async () => {
    const second = await cluster.get(path);
    for (const [name, r] of [
      ["default.a-b.node-agent", first],
      ["default-a.b.node-agent", second],
    ])
      for (const kind of ["clusterroles", "clusterrolebindings"]) {
        const { metadata } = await cluster.get(rbac(kind, name));
        assert.strictEqual(metadata.labels[ownerLabel], r.metadata.uid);
      }
    assert.strictEqual(condition(second, "Degraded").status, "False");
    return true;
  });

  // what an earlier operator made under the name that both wanted goes
  const labels = { "app.kubernetes.io/managed-by": "coroot-operator" };
  labels[ownerLabel] = first.metadata.uid;
  const old = { metadata: { name: "default-a-b-node-agent", labels }, rules: [] };
  await cluster.post(rbac("clusterroles", ""), old);
  await cluster.patch(`${coroots()}/a-b`, { spec: { apiKey: "another" } });
  await vanishes(cluster, rbac("clusterroles", "default-a-b-node-agent"));
});

// The chart's default: the account that all these tests use has Secrets of "default" only.
test("outside the namespaces of its Secrets, a resource works that needs none", async () => {
  const namespace = "elsewhere";
  await cluster.post("/api/v1/namespaces", { metadata: { name: namespace } });
  const path = `${coroots(namespace)}/far`;
  const far = { apiVersion: "coroot.com/v1", kind: "Coroot", metadata: { name: "far" } };
  await cluster.post(coroots(namespace), far);
  const is = (degraded) =>
    eventually(`Degraded is ${degraded}`, async () => {
      const r = await cluster.get(path);
      const { status, message } = condition(r, "Degraded") || {};
      if (status !== degraded || r.status.observedGeneration !== r.metadata.generation)
        throw new Error(JSON.stringify(r.status));
      return message;
    });
  await is("False");
  const made = (kind, name) =>
    appears(cluster, `/apis/apps/v1/namespaces/${namespace}/${kind}/far-${name}`);
  await made("statefulsets", "coroot");
  await made("daemonsets", "node-agent");

  // one that it needs is named, with what gives the right to it; all else goes on
  const projects = [{ name: "p", apiKeys: [{ keySecret: { name: "far-key", key: "key" } }] }];
  await cluster.patch(path, { spec: { projects, metricsRefreshInterval: "20s" } });
  const message = await is("True");
  assert.match(message, /^Secret far-key: .*forbidden/);
  assert.match(message, /in the namespace "elsewhere".*rbac\.secretNamespaces/s);
  const agent = await made("daemonsets", "node-agent");
  const { env } = agent.spec.template.spec.containers[0];
  assert.strictEqual(env.find((e) => e.name === "SCRAPE_INTERVAL").value, "20s");
  const secret = `/api/v1/namespaces/${namespace}/secrets/far-key`;
  assert.strictEqual(await exists(cluster, secret), null);

  await grantOwnRights(cluster, namespace);
  await is("False");
  await appears(cluster, secret);
  await cluster.delete(path);
  await vanishes(cluster, path);
});

test("an object of another resource is left to it", async () => {
  // a field is wrong, so the other resource deletes nothing
  const tolerations = [{ operator: "Maybe", key: "a" }];
  await cluster.patch(`${coroots()}/a-b`, { spec: { nodeAgent: { tolerations } } });
  const { metadata } = await settles(
    cluster,
    "a-b",
    (c) => condition(c, "Degraded").status === "True",
  );
  const labels = { "app.kubernetes.io/managed-by": "coroot-operator" };
  labels[ownerLabel] = metadata.uid;
  const name = "default.c.node-agent";
  await cluster.post(rbac("clusterroles", ""), { metadata: { name, labels }, rules: [] });
  await create(cluster, "c", { agentsOnly });
  await eventually("it is said", async () => {
    const r = await cluster.get(`${coroots()}/c`);
    return /belongs to another Coroot resource/.test(condition(r, "Degraded")?.message);
  });
  const role = await cluster.get(rbac("clusterroles", name));
  assert.strictEqual(role.metadata.labels[ownerLabel], metadata.uid);
  await cluster.patch(`${coroots()}/a-b`, { spec: { nodeAgent: null } });
  await eventually("it is made once the other one is gone", async () => {
    const { metadata: now } = await cluster.get(rbac("clusterroles", name));
    return now.labels[ownerLabel] !== metadata.uid;
  });
});

test("a Secret of somebody else gets no key", async () => {
  const path = core("secrets", "theirs");
  const data = { other: Buffer.from("x").toString("base64") };
  await cluster.post(core("secrets", ""), { metadata: { name: "theirs" }, data });
  const earlier = await version(path);
  const projects = [{ name: "p", apiKeys: [{ keySecret: { name: "theirs", key: "key" } }] }];
  await cluster.patch(`${coroots()}/two`, { spec: { projects } });
  const r = await settles(cluster, "two", (c) => c.status.status === "Misconfigured");
  assert.match(
    condition(r, "Degraded").message,
    /^Secret theirs: has no key "key" and was not made by coroot-operator/,
  );
  assert.strictEqual(await version(path), earlier);
  data.key = data.other;
  await cluster.patch(path, { data });
  const changed = await version(path);
  await settles(cluster, "two", (c) => c.status.status === "OK");
  assert.strictEqual(await version(path), changed);
  await cluster.patch(`${coroots()}/two`, { spec: { projects: null } });
  await settles(cluster, "two");
});

test("what Coroot's operator made is taken over with all its fields", async () => {
  const name = "three-node-agent";
  const labels = {
    "app.kubernetes.io/managed-by": "coroot-operator",
    "app.kubernetes.io/part-of": "three",
    "app.kubernetes.io/component": "coroot-node-agent",
  };
  const volumes = [{ name: "cgroupfs", hostPath: { path: "/sys/fs/cgroup" } }];
  const container = {
    name: "node-agent",
    image: "coroot/coroot-node-agent",
    args: ["--cgroupfs-root=/host/sys/fs/cgroup"],
    securityContext: { privileged: true },
    volumeMounts: [{ name: "cgroupfs", mountPath: "/host/sys/fs/cgroup" }],
  };
  const template = { metadata: { labels }, spec: { containers: [container], volumes } };
  const { metadata } = await cluster.post(`${apps("daemonsets", "")}?fieldManager=manager`, {
    metadata: { name, labels },
    spec: { selector: { matchLabels: labels }, template },
  });
  await create(cluster, "three", { agentsOnly: { corootURL: "http://elsewhere" } });
  await settles(cluster, "three");
  const now = await cluster.get(apps("daemonsets", name));
  assert.strictEqual(now.metadata.uid, metadata.uid);
  const pod = now.spec.template.spec;
  assert.strictEqual(pod.containers.length, 1);
  assert.strictEqual(pod.containers[0].image, "example.com/node-agent:1");
  assert.notStrictEqual(pod.containers[0].securityContext.privileged, true);
  assert.ok(!pod.volumes.some((v) => v.name === "cgroupfs"), JSON.stringify(pod.volumes));
});

test("ClickHouse that Coroot's operator made stays in use whatever happens", async () => {
  const labels = (component) => ({
    "app.kubernetes.io/managed-by": "coroot-operator",
    "app.kubernetes.io/part-of": "four",
    "app.kubernetes.io/component": component,
  });
  const upstreams = (path, name, component, spec, ownerReferences) =>
    cluster.post(`${path}?fieldManager=manager`, {
      metadata: { name, labels: labels(component), ownerReferences },
      spec,
    });
  const set = apps("statefulsets", "four-clickhouse-shard-0");
  const workload = (component) => ({
    selector: { matchLabels: labels(component) },
    template: {
      metadata: { labels: labels(component) },
      spec: { containers: [{ name: "a", image: "example.com/a" }] },
    },
  });
  const claim = (size) => ({
    accessModes: ["ReadWriteOnce"],
    resources: { requests: { storage: size } },
  });
  // Pods in the order of their numbers, which cannot be changed: the set has to be made again.
  await upstreams(core("persistentvolumeclaims", ""), "data-four-clickhouse-shard-0-0",
    "clickhouse", claim("123Gi"));
  const made = await upstreams(apps("statefulsets", ""), "four-clickhouse-shard-0", "clickhouse", {
    ...workload("clickhouse"),
    podManagementPolicy: "OrderedReady",
    serviceName: "four-clickhouse-headless",
  });
  const { uid } = (await create(cluster, "four")).metadata;
  const owner = { apiVersion: "coroot.com/v1", kind: "Coroot", name: "four", uid };
  const prometheus = workload("prometheus");
  await upstreams(apps("deployments", ""), "four-prometheus", "prometheus", prometheus, [owner]);

  const again = () =>
    eventually("another StatefulSet of ClickHouse", async () => {
      const s = await exists(cluster, set);
      return s && s.metadata.uid !== made.metadata.uid && !s.metadata.deletionTimestamp && s;
    });
  const { metadata } = await again();
  await settles(cluster, "four");
  const server = await cluster.get(apps("statefulsets", "four-coroot"));
  assert.strictEqual(server.spec.template.spec.containers[0].image, "example.com/cluster-agent:1");

  // Nor does deleting it, or saying what it is like and no longer saying it.
  await cluster.delete(set);
  await eventually("it is made again", async () => {
    const s = await exists(cluster, set);
    return s && s.metadata.uid !== metadata.uid;
  });
  for (const clickhouse of [{ logLevel: "debug" }, null]) {
    await cluster.patch(`${coroots()}/four`, { spec: { clickhouse } });
    await settles(cluster, "four");
  }
  await cluster.patch(`${coroots()}/four`, { spec: { agentsOnly: { corootURL: "http://a" } } });
  await vanishes(cluster, set);
  await cluster.patch(`${coroots()}/four`, { spec: { agentsOnly: null } });
  await appears(cluster, set);
  await settles(cluster, "four");

  const volume = await cluster.get(
    core("persistentvolumeclaims", "data-four-clickhouse-shard-0-0"),
  );
  assert.strictEqual(volume.spec.resources.requests.storage, "123Gi");
  assert.ok(await exists(cluster, apps("deployments", "four-prometheus")), "was not ours");
});

test("a name that is too long for any object is in the status", async () => {
  const name = "n".repeat(250);
  await create(cluster, name);
  const r = await settles(cluster, name, (c) => c.status.status === "Misconfigured");
  assert.match(r.status.errors.join("; "), /metadata\.name: must have at most \d+ characters/);
  assert.match(r.status.errors.join("; "), /DaemonSet n+\S*: this is not a valid name/);
  await cluster.delete(`${coroots()}/${name}`);
  await vanishes(cluster, `${coroots()}/${name}`);
});

test("a claim to be kept is kept, also if that is said in the last moment", async () => {
  const claim = core("persistentvolumeclaims", "data-five-coroot-0");
  await create(cluster, "five");
  await appears(cluster, claim);
  await settles(cluster, "five");
  // As if no operator had run until the deletion.
  operator.child.kill("SIGSTOP");
  await cluster.patch(`${coroots()}/five`, { spec: { storage: { reclaimPolicy: "Retain" } } });
  await cluster.delete(`${coroots()}/five`);
  operator.child.kill("SIGCONT");
  await vanishes(cluster, `${coroots()}/five`);
  await vanishes(cluster, apps("statefulsets", "five-coroot"));
  const { metadata } = await cluster.get(claim);
  assert.strictEqual(metadata.ownerReferences, undefined);
  assert.strictEqual(metadata.deletionTimestamp, undefined);
});

test("a resource that is deleted takes all but the key along", async () => {
  await cluster.delete(`${coroots()}/one`);
  await vanishes(cluster, `${coroots()}/one`);
  for (const kind of ["clusterroles", "clusterrolebindings"])
    for (const suffix of ["node-agent", "cluster-agent"])
      assert.strictEqual(await exists(cluster, rbac(kind, `default-one-${suffix}`)), null);
  for (const path of [
    apps("daemonsets", "one-node-agent"),
    apps("statefulsets", "one-coroot"),
    core("services", "one-coroot"),
  ])
    await vanishes(cluster, path);
  assert.ok(await exists(cluster, core("secrets", "agent-key")));
  assert.ok(await exists(cluster, rbac("clusterroles", "default.two.node-agent")));
});

test("one that is made again under its name becomes objects again", async () => {
  const key = (await cluster.get(core("secrets", "agent-key"))).data.key;
  await create(cluster, "one", {
    apiKeySecret: { name: "agent-key", key: "key" },
    projects: [{ name: "p", apiKeys: [{ keySecret: { name: "agent-key", key: "more" } }] }],
  });
  await settles(cluster, "one");
  const secret = await cluster.get(core("secrets", "agent-key"));
  assert.strictEqual(secret.data.key, key);
  assert.match(Buffer.from(secret.data.more, "base64").toString(), /^[A-Za-z0-9]{32}$/);
  await appears(cluster, apps("daemonsets", "one-node-agent"));
});

test("a namespace that is deleted with its operator goes", async (t) => {
  await operator.stop();
  await cluster.post("/api/v1/namespaces", { metadata: { name: "both" } });
  const kubeconfig = cluster.writeKubeconfig(
    { token: await cluster.token("default", "operator") },
    { namespace: "both" },
  );
  const inside = await startOperator({ kubeconfig, args: ["--leader-elect=false"] });
  t.after(() => inside.stop());
  for (const name of ["a", "b"])
    await cluster.post(coroots("both"), {
      apiVersion: "coroot.com/v1",
      kind: "Coroot",
      metadata: { name },
    });
  for (const name of ["a", "b"])
    await appears(cluster, rbac("clusterrolebindings", `both.${name}.cluster-agent`));

  // It is told to end before it has seen that the resources are being deleted.
  inside.child.kill("SIGSTOP");
  await cluster.delete("/api/v1/namespaces/both");
  await eventually("the resources are being deleted", async () => {
    const { items } = await cluster.get(coroots("both"));
    return items.length === 2 && items.every((r) => r.metadata.deletionTimestamp);
  });
  inside.child.kill("SIGTERM");
  inside.child.kill("SIGCONT");
  assert.strictEqual((await inside.exited).code, 0);
  await vanishes(cluster, "/api/v1/namespaces/both");
  for (const name of ["a", "b"])
    await vanishes(cluster, rbac("clusterroles", `both.${name}.node-agent`));
});
