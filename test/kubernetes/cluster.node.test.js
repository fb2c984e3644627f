// The cluster itself: the node is ready, and pods of every Go release run, serve profiles and
// report what they have done.
"use strict";

const assert = require("node:assert");
const fs = require("node:fs");
const https = require("node:https");
const { test } = require("node:test");
const { KubeCluster } = require("./lib/kube_cluster");
const { deletePod } = require("./lib/fake_pods");
const { ask, goVersions, startWorkloads } = require("./lib/workload_pods");
const { eventually } = require("../e2e/lib/wait");

const cluster = KubeCluster.shared();
const load = ["-exact", "-cpu=50", "-heap-objects=100", "-mutex=10", "-block=10", "-goroutines=5"];

function fetchTrusting(caFile, url, servername) {
  return new Promise((resolve, reject) => {
    https
      .get(url, { ca: fs.readFileSync(caFile), servername }, (answer) => {
        answer.resume();
        answer.on("end", () => resolve(answer.statusCode));
      })
      .on("error", reject);
  });
}

test("the node is ready, and the default service account is there", async () => {
  const [node] = (await cluster.kubectlJson("get", "nodes")).items;
  const ready = node.status.conditions.find((c) => c.type === "Ready");
  assert.strictEqual(ready.status, "True");
  await cluster.kubectl("-n", "default", "get", "serviceaccount", "default");
});

test("pods of every Go release serve profiles on HTTP and HTTPS, and report load", async (t) => {
  assert.ok(goVersions.length >= 3, `three releases of Go at least: ${goVersions}`);
  const tls = await cluster.certificate("workload", { names: "DNS:workload.test" });
  const pods = await startWorkloads(
    cluster,
    goVersions.map((goVersion) => ({
      name: `go-${goVersion.replaceAll(".", "-")}`,
      goVersion,
      args: load,
      tls,
    })),
  );
  t.after(() => Promise.all(pods.map((p) => deletePod(cluster, p))));

  for (const [i, pod] of pods.entries()) {
    for (const kind of ["heap", "goroutine", "mutex", "block", "profile?seconds=1"]) {
      const r = await fetch(`http://${pod.ip}:8080/debug/pprof/${kind}`);
      assert.strictEqual(r.status, 200, kind);
      assert.ok((await r.arrayBuffer()).byteLength > 100, kind);
    }
    const status = await fetchTrusting(
      tls.caFile,
      `https://${pod.ip}:8443/debug/pprof/heap`,
      "workload.test",
    );
    assert.strictEqual(status, 200);

    const truth = await eventually(`load of ${pod.metadata.name}`, async () => {
      const now = await ask(pod);
      return (
        now.mutexContentions >= 10 && now.blockWaits >= 10 && now.allocatedObjects >= 100 && now
      );
    });
    assert.strictEqual(truth.goVersion, `go${goVersions[i]}`);
    assert.ok(truth.cpuNs > 0 && truth.processCpuNs >= truth.cpuNs);
    assert.ok(truth.mutexDelayNs >= truth.mutexContentions * 10e6);
    assert.ok(truth.blockDelayNs >= truth.blockWaits * 10e6);
    assert.strictEqual(truth.requests["/debug/pprof/heap"].count, 2);
  }

  const before = await ask(pods[0], "pause");
  const after = await eventually("a second later", async () => {
    const now = await ask(pods[0]);
    return now.nowMs > before.nowMs + 1000 && now;
  });
  assert.strictEqual(
    after.allocatedObjects,
    before.allocatedObjects,
    "after /pause nothing changes",
  );
  assert.strictEqual(after.cpuNs, before.cpuNs);
});
