// Agents that share pods and forward profiles to one that stores them: members that die, stop
// and join, and a receiver that is killed. All pods are addresses of one process, so for each
// of them the store must have what that process reports as allocated.
"use strict";

const assert = require("node:assert");
const { after, before, describe, test } = require("node:test");
const { createNamespace, createPods } = require("./lib/fake_pods");
const { KubeCluster } = require("./lib/kube_cluster");
const {
  unsent,
  nothingIsUnsent,
  scrapedSince,
  startForwarder,
  stored,
  targets,
} = require("./lib/scraping_agents");
const { scrapedPod, startWorkload } = require("./lib/workload_process");
const { startCluster } = require("../e2e/lib/daemon");
const { sql } = require("../e2e/lib/query");
const { eventually, sleep } = require("../e2e/lib/wait");

const allocated = "go:heap_alloc_objects:count";
// so many exact heap profiles of one process keep it busy, on a slow machine most of the time
const pace = { interval: "8s", timeout: "60s" };
const load = ["-exact", "-paused", "-heap-objects=200", "-heap-bytes=512"];

let cluster, kubeconfig;
before(async () => {
  cluster = await KubeCluster.start();
  await cluster.serviceAccount("default", "agent", [
    { apiGroups: [""], resources: ["pods"], verbs: ["get", "list", "watch"] },
    {
      apiGroups: ["coordination.k8s.io"],
      resources: ["leases"],
      verbs: ["get", "list", "create", "update", "delete"],
    },
  ]);
  kubeconfig = cluster.writeKubeconfig({ token: await cluster.token("default", "agent") });
});
after(() => cluster?.down());

// The stored number of objects of makeObject, by pod.
async function storedByPod(store, namespace) {
  const rows = await sql(
    store,
    `SELECT Labels['pod'] AS pod, sum(Value) AS sum FROM profiling_samples
      WHERE Type = '${allocated}' AND Labels['namespace'] = '${namespace}'
      AND (ServiceName, StackHash) IN (SELECT ServiceName, Hash FROM profiling_stacks
        WHERE arrayExists(f -> startsWith(f, 'main.makeObject '), Stack))
      GROUP BY pod`,
  );
  return new Map(rows.map((r) => [r.pod, r.sum]));
}

class Group {
  constructor(store, namespace) {
    this.store = store;
    this.namespace = namespace;
    this.agents = new Map();
  }
  async join(name) {
    const agent = await startForwarder({
      kubeconfig,
      to: this.store,
      ...pace,
      args: [
        `--kube-namespace=${this.namespace}`,
        "--replica-group=profiles",
        `--replica-name=${name}`,
        "--replica-namespace=default",
      ],
    });
    this.agents.set(name, agent);
  }
  // Stops the agent and removes it from the list.
  async leave(name, signal) {
    const agent = this.agents.get(name);
    this.agents.delete(name);
    await agent.stop(signal);
  }
  stop() {
    return Promise.all([...this.agents.values()].map((a) => a.stop()));
  }
  // Which agents scrape which pod: names of agents by pod.
  async owners() {
    const owners = new Map();
    for (const [name, agent] of this.agents) {
      for (const t of (await targets(agent)).targets) {
        if (!owners.has(t.pod)) owners.set(t.pod, []);
        if (t.state !== "elsewhere") owners.get(t.pod).push(name);
      }
    }
    return owners;
  }
  // Waits until each of n pods has one owner and every agent has some; returns the owners by pod.
  async shared(n) {
    return eventually(`${n} pods shared by ${[...this.agents.keys()]}`, async () => {
      const owners = await this.owners();
      const busy = new Set([...owners.values()].flat());
      const isShared =
        owners.size === n &&
        [...owners.values()].every((o) => o.length === 1) &&
        busy.size === this.agents.size;
      if (!isShared) throw new Error(JSON.stringify([...owners].map(([pod, o]) => `${pod}: ${o}`)));
      return new Map([...owners].map(([pod, o]) => [pod, o[0]]));
    });
  }
  // Waits until every pod was scraped by its owner after that time.
  scrapedSince(owner, ms) {
    return Promise.all(
      [...owner].map(([pod, name]) => scrapedSince(this.agents.get(name), pod, ms)),
    );
  }
  // Waits until everything that was scraped has arrived.
  async sent() {
    for (const agent of this.agents.values()) await nothingIsUnsent(agent);
  }
}

describe("forwarding", { concurrency: true }, () => {
  test("replicas share the pods, take over from the dead, and count nothing twice", async (t) => {
    const workload = await startWorkload(load);
    const store = await startCluster();
    const group = new Group(store, "default");
    t.after(async () => {
      await group.stop();
      await Promise.all([store.stop(), workload.stop()]);
    });
    const n = 40; // with fewer pods one of three agents may have none by chance
    await createPods(
      cluster,
      Array.from({ length: n }, (_, i) =>
        scrapedPod({ name: `pod-${i}`, ip: `127.2.0.${i + 1}`, port: workload.port }),
      ),
    );
    await Promise.all(["a", "b", "c"].map((name) => group.join(name)));
    let owner = await group.shared(n);
    await group.scrapedSince(owner, 0);

    // one after the other: each round's sums are complete before the next disturbance
    const moved = new Set();
    const settle = async () => {
      const end = await workload.ask("pause");
      await group.scrapedSince(owner, end.nowMs);
      await group.sent();
      const sums = await storedByPod(store, "default");
      assert.strictEqual(sums.size, n);
      for (const [pod, sum] of sums) {
        if (moved.has(pod))
          assert.ok(sum <= end.allocatedObjects, `${pod}: ${sum} of ${end.allocatedObjects}`);
        else assert.strictEqual(sum, end.allocatedObjects, pod);
      }
      return { end, sums };
    };
    const leases = async () =>
      (await cluster.get("/apis/coordination.k8s.io/v1/namespaces/default/leases")).items.map(
        (l) => l.metadata.name,
      );
    const handOver = async () => {
      const next = await group.shared(n);
      const changed = [...next]
        .filter(([pod, name]) => owner.get(pod) !== name)
        .map(([pod]) => pod);
      for (const pod of changed) moved.add(pod);
      owner = next;
      return changed;
    };

    await workload.ask("resume");
    await eventually("some load", async () => (await workload.ask()).allocatedObjects > 200);
    const whole = await settle();

    const orphans = [...owner].filter(([, name]) => name === "a").map(([pod]) => pod);
    await workload.ask("resume");
    const killedAt = Date.now();
    await group.leave("a", "SIGKILL");
    assert.deepStrictEqual(
      (await handOver()).sort(),
      orphans.sort(),
      "only the dead one's pods move",
    );
    await group.scrapedSince(owner, killedAt);
    const takenOver = await workload.ask();
    await sleep(2500);
    const afterKill = await settle();
    // at most the allocations between the death and the new owner's first scrape are missing
    const missed = takenOver.allocatedObjects - whole.end.allocatedObjects;
    for (const pod of orphans)
      assert.ok(afterKill.sums.get(pod) >= afterKill.end.allocatedObjects - missed, pod);
    for (const agent of group.agents.values())
      assert.strictEqual(await agent.metric("cluster_agent_replica_members"), 2);

    await workload.ask("resume");
    assert.ok((await leases()).includes("profiles-b"));
    await group.leave("b");
    // it has deleted its Lease, so the others need not wait until it expires
    assert.ok(!(await leases()).includes("profiles-b"));
    await handOver();
    assert.ok([...owner.values()].every((name) => name === "c"));
    await sleep(2500);
    await settle();

    await workload.ask("resume");
    await group.join("d");
    const toNewcomer = await handOver();
    assert.ok(toNewcomer.length > 0 && toNewcomer.length < n);
    await sleep(2500);
    await settle();
  });

  test("a receiver that is killed and comes back: nothing lost, nothing twice", async (t) => {
    const workload = await startWorkload(load);
    let store = await startCluster();
    await createNamespace(cluster, "alone");
    const agent = await startForwarder({
      kubeconfig,
      to: store,
      ...pace,
      args: ["--kube-namespace=alone"],
    });
    t.after(async () => {
      await agent.stop();
      await Promise.all([store.stop(), workload.stop()]);
    });
    const names = Array.from({ length: 5 }, (_, i) => `alone-${i}`);
    await createPods(
      cluster,
      names.map((name, i) => ({
        ...scrapedPod({ name, ip: `127.3.0.${i + 1}`, port: workload.port }),
        namespace: "alone",
      })),
    );
    for (const name of names) await scrapedSince(agent, name, 0);
    await workload.ask("resume");
    for (const signal of ["SIGKILL", "SIGTERM"]) {
      await sleep(4000);
      await store.stop(signal);
      await eventually(
        "it keeps what it cannot send",
        async () => (await unsent(agent)) >= names.length,
      );
      store = await startCluster({
        dataDir: store.dataDir,
        port: store.port,
        sqlPort: store.sqlPort,
      });
    }
    const end = await workload.ask("pause");
    for (const name of names) await scrapedSince(agent, name, end.nowMs);
    await nothingIsUnsent(agent);
    const sums = await storedByPod(store, "alone");
    assert.deepStrictEqual(
      Object.fromEntries(sums),
      Object.fromEntries(names.map((name) => [name, end.allocatedObjects])),
    );
    const { least } = await stored(store, { service: "/k8s/alone/alone", type: allocated });
    assert.ok(least >= 0);
  });
});
