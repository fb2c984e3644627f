// Replicas of a cluster-agent with lease problems: no permission, an API server that hangs, two
// processes with one name. The pods are objects of the API; one server here answers for all of
// them.
"use strict";

const assert = require("node:assert");
const http = require("node:http");
const { after, before, test } = require("node:test");
const { startCluster } = require("../e2e/lib/daemon");
const { encode } = require("../e2e/lib/pprof");
const { eventually, sleep } = require("../e2e/lib/wait");
const { createPods } = require("./lib/fake_pods");
const { KubeCluster } = require("./lib/kube_cluster");
const { startForwarder, targets } = require("./lib/scraping_agents");

const PODS = 10;
const pods = { apiGroups: [""], resources: ["pods"], verbs: ["get", "list", "watch"] };
const leases = {
  apiGroups: ["coordination.k8s.io"],
  resources: ["leases"],
  verbs: ["get", "list", "create", "update", "delete"],
};

let cluster, store, server;
const asked = Array.from({ length: PODS }, () => []);
before(async () => {
  cluster = await KubeCluster.start();
  store = await startCluster();
  server = http.createServer((req, res) => {
    const times = asked[Number(req.socket.localAddress.split(".")[3]) - 1];
    times.push(Date.now());
    res.end(
      encode({
        type: "inuse_objects",
        unit: "count",
        stacks: [{ frames: ["make", "main.main"], value: times.length }],
      }),
    );
  });
  await new Promise((resolve) => server.listen(0, "0.0.0.0", resolve));
  const list = Array.from({ length: PODS }, (_, i) => ({
    name: `pod-${i}`,
    ips: [`127.4.0.${i + 1}`],
    annotations: {
      "coroot.com/profile-scrape": "true",
      "coroot.com/profile-port": String(server.address().port),
      "coroot.com/profile-types": "heap",
    },
  }));
  await createPods(cluster, list);
});
after(async () => {
  server?.close();
  await store?.stop();
  await cluster?.down();
});

// An agent with an account of its own that has the rights in rules.
async function join(t, { group, name, account = `${group}-${name}`, rules = [pods, leases] }) {
  await cluster.serviceAccount("default", account, rules);
  const kubeconfig = cluster.writeKubeconfig(
    { token: await cluster.token("default", account) },
    { namespace: "default" },
  );
  const agent = await startForwarder({
    to: store,
    kubeconfig,
    args: [`--replica-group=${group}`, `--replica-name=${name}`],
  });
  t.after(() => agent.stop());
  return agent;
}

const share = async (agent) =>
  (await targets(agent)).targets.filter((p) => p.state !== "elsewhere").length;
const owns = (agent, check) => eventually("its share", async () => check(await share(agent)));
const linesAbout = (agent, text) =>
  agent
    .log()
    .split("\n")
    .filter((l) => l.includes(text));

test("without rights on leases one line names them, and nothing is scraped", async (t) => {
  const account = "no-leases";
  const agent = await join(t, { group: "denied", name: "a", account, rules: [pods] });
  const errors = "coroot_cluster_agent_replica_lease_errors_total";
  await eventually(
    "several refusals",
    async () => (await agent.metric(errors, 'reason="forbidden"')) >= 4,
  );
  const lines = linesAbout(agent, "leases.coordination.k8s.io");
  assert.strictEqual(lines.length, 1, lines.join("\n"));
  assert.match(lines[0], /get, list, create, update and delete of leases\.coordination\.k8s\.io/);
  assert.strictEqual(await share(agent), 0);

  // granting it is enough
  const role = `/apis/rbac.authorization.k8s.io/v1/clusterroles/default-${account}`;
  await cluster.patch(role, { rules: [pods, leases] });
  await owns(agent, (n) => n === PODS);
});

test("replicas that cannot reach the API server stop, and resume when it is back", async (t) => {
  const agents = await Promise.all(["a", "b"].map((name) => join(t, { group: "hang", name })));
  const both = async (check) => check((await share(agents[0])) + (await share(agents[1])));
  await eventually("all pods are shared", () => both((n) => n === PODS));
  await cluster.signal("kube-apiserver", "STOP");
  try {
    await eventually("both stop", () => both((n) => n === 0));
    // running scrapes complete; an agent that continued would scrape every pod every two seconds
    await eventually("nothing is scraped", async () => {
      const before = asked.flat().length;
      await sleep(5000);
      return asked.flat().length === before;
    });
    assert.strictEqual(await agents[0].metric("coroot_cluster_agent_replica_paused"), 1);
  } finally {
    await cluster.signal("kube-apiserver", "CONT");
  }
  await eventually("all pods are shared again", () => both((n) => n === PODS));
});

test("of two with one name the last to start works; the other takes over after it", async (t) => {
  const first = await join(t, { group: "twins", name: "a", account: "twin-1" });
  await owns(first, (n) => n === PODS);
  const second = await join(t, { group: "twins", name: "a", account: "twin-2" });
  await owns(first, (n) => n === 0);
  await owns(second, (n) => n === PODS);
  assert.strictEqual(await share(first), 0);
  assert.strictEqual(
    linesAbout(first, "another process runs under the name of this replica").length,
    1,
  );

  await second.stop("SIGKILL");
  await owns(first, (n) => n === PODS);
});
