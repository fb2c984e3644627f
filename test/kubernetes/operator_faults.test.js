// The operator when things fail: an API server that refuses, hangs or is gone, operators that die,
// and many resources at once. There are no controllers: objects stay as they are written.
"use strict";

const assert = require("node:assert");
const { after, before, test } = require("node:test");
const { eventually, sleep } = require("../e2e/lib/wait");
const { KubeCluster } = require("./lib/kube_cluster");
const {
  OPERATOR,
  appears,
  apps,
  condition,
  coroots,
  create,
  exists,
  installCrd,
  operatorKubeconfig,
  settles,
  startFaultyServer,
  startOperator,
} = require("./lib/operators");

const agentsOnly = { agentsOnly: { corootURL: "http://elsewhere" } };
const lease = "/apis/coordination.k8s.io/v1/namespaces/default/leases/coroot-operator";

let cluster, kubeconfig;
before(async () => {
  cluster = await KubeCluster.start();
  await installCrd(cluster);
  kubeconfig = await operatorKubeconfig(cluster);
});
after(() => cluster?.down());

async function start(t, options = {}) {
  const operator = await startOperator({ kubeconfig, ...options });
  t.after(() => operator.stop());
  return operator;
}
const leads = async (operator) => (await operator.metric(`${OPERATOR}leader`)) === 1;
const errors = (operator, reason) =>
  operator.metric(`${OPERATOR}errors_total`, `reason="${reason}"`);

test("of two operators one works; the other takes over when it ends, or dies", async (t) => {
  const first = await start(t);
  await eventually("the first leads", () => leads(first));
  const second = await start(t);
  assert.match(await (await fetch(`${second.url}/readyz`)).text(), /^waiting for the lease of /);
  await create(cluster, "lead-a", agentsOnly);
  await settles(cluster, "lead-a");
  assert.strictEqual(await leads(second), false);
  assert.strictEqual(await second.metric(`${OPERATOR}objects`), 0);

  // killed between two writes: the other finishes
  await create(cluster, "lead-b", agentsOnly);
  await appears(cluster, "/api/v1/namespaces/default/serviceaccounts/lead-b-node-agent");
  await first.stop("SIGKILL");
  await eventually("the second leads", () => leads(second));
  await settles(cluster, "lead-b");
  await appears(cluster, apps("daemonsets", "lead-b-node-agent"));

  // given up: the Lease has no holder, and whoever waits need not wait for it to expire
  const third = await start(t);
  const { code } = await second.stop("SIGTERM");
  assert.strictEqual(code, 0);
  assert.match(second.log(), /gave up leading/);
  await eventually("the third leads", () => leads(third));
  assert.match((await cluster.get(lease)).spec.holderIdentity, /_[0-9a-f]{16}$/);
  await third.stop();
  assert.strictEqual((await cluster.get(lease)).spec.holderIdentity, undefined);
});

test("a leader that cannot reach the API server stops working and resumes", async (t) => {
  const operator = await start(t);
  await eventually("it leads", () => leads(operator));
  await cluster.signal("kube-apiserver", "STOP");
  try {
    await eventually("it leads no longer", async () => !(await leads(operator)));
    await eventually("not ready", async () => !(await fetch(`${operator.url}/readyz`)).ok);
  } finally {
    await cluster.signal("kube-apiserver", "CONT");
  }
  await operator.ready("/readyz");
  await create(cluster, "hang", agentsOnly);
  await settles(cluster, "hang");
});

test("an API server that ends midway is waited for", async (t) => {
  const operator = await start(t);
  for (let i = 0; i < 10; i++) await create(cluster, `midway-${i}`, agentsOnly);
  await eventually(
    "some objects",
    async () => (await operator.metric(`${OPERATOR}objects_changed_total`)) > 4,
  );
  await cluster.stop("kube-apiserver");
  await eventually("a failure", () => /level=warn/.test(operator.log()));
  await cluster.start("kube-apiserver");
  for (let i = 0; i < 10; i++) {
    await settles(cluster, `midway-${i}`);
    assert.ok(await exists(cluster, apps("deployments", `midway-${i}-cluster-agent`)));
  }
});

test("each kind of refusal is reported, retried and no obstacle to other objects", async (t) => {
  const server = await startFaultyServer(t, cluster);
  const token = await cluster.token("default", "operator");
  const operator = await start(t, {
    kubeconfig: cluster.writeKubeconfig(
      { token },
      { namespace: "default", cluster: { server: server.url } },
    ),
  });
  const reasons = {
    400: "refused",
    403: "forbidden",
    409: "conflict",
    422: "refused",
    429: "busy",
    500: "busy",
    503: "busy",
  };
  let failing = true;
  server.fault = (method, path) => {
    const daemonSet = /\/daemonsets\/fault-(\d+)-/.exec(path);
    return method === "PATCH" && daemonSet && failing ? Number(daemonSet[1]) : 0;
  };
  const all = (check) =>
    Promise.all(Object.entries(reasons).map((entry) => check(`fault-${entry[0]}`, entry[1])));
  await all(async (name, reason) => {
    await create(cluster, name, agentsOnly);
    const r = await settles(cluster, name, (c) => condition(c, "Degraded").status === "True");
    const { message } = condition(r, "Degraded");
    assert.strictEqual(message, `DaemonSet ${name}-node-agent: made up`);
    assert.ok(await exists(cluster, apps("deployments", `${name}-cluster-agent`)));
    assert.ok((await errors(operator, reason)) > 0, reason);
  });
  failing = false;
  await all(async (name) => {
    await settles(cluster, name);
    assert.ok(await exists(cluster, apps("daemonsets", `${name}-node-agent`)));
  });
  // a field that cannot change is made sure of by the API server's own words only
  assert.ok(!server.requests.some((r) => r.startsWith("DELETE")));

  // requests that are not about an object: the whole is tried again
  let left = 3;
  const isFinalizer = (method, path) => method === "PATCH" && /coroots\/fault-f\?/.test(path);
  server.fault = (...request) => (isFinalizer(...request) && left-- > 0 ? 409 : 0);
  await create(cluster, "fault-f", agentsOnly);
  await settles(cluster, "fault-f");
  assert.ok(left <= 0);

  // with nothing to do, nothing is asked
  await eventually("quiet", async () => {
    const n = server.requests.filter((r) => r.startsWith("PATCH")).length;
    await sleep(3000);
    return server.requests.filter((r) => r.startsWith("PATCH")).length === n;
  });
});

test("two hundred resources at once", async (t) => {
  const operator = await start(t);
  const names = Array.from({ length: 200 }, (_, i) => `many-${i}`);
  const failed = [];
  await cluster.apply(
    ...names.map((name) => ({
      apiVersion: "coroot.com/v1",
      kind: "Coroot",
      metadata: { name, namespace: "default" },
      spec: agentsOnly,
    })),
  );
  await eventually("all have a status", async () => {
    const { items } = await cluster.get(coroots());
    const many = items.filter((r) => r.metadata.name.startsWith("many-"));
    failed.splice(0, Infinity, ...many.filter((r) => r.status?.status !== "OK"));
    return many.length === names.length && failed.length === 0;
  });
  const { items } = await cluster.get(apps("daemonsets", ""));
  const made = items.filter((d) => d.metadata.name.startsWith("many-"));
  assert.strictEqual(made.length, names.length);
  assert.strictEqual(await operator.metric(`${OPERATOR}resources_failing`), 0);
  const bytes = await operator.metric("process_resident_memory_bytes");
  assert.ok(bytes < 128 << 20, `${bytes} bytes`);
});
