// Our CustomResourceDefinition in a real API server: it keeps every field of a Coroot resource,
// used or not, and refuses what Coroot's own refuses.
"use strict";

const assert = require("node:assert");
const fs = require("node:fs");
const path = require("node:path");
const { after, before, test } = require("node:test");
const { root, scratch } = require("../e2e/lib/daemon");
const { KubeCluster } = require("./lib/kube_cluster");
const { installCrd } = require("./lib/operators");

const COROOTS = "/apis/coroot.com/v1/namespaces/default/coroots";
const data = (name) =>
  JSON.parse(fs.readFileSync(path.join(root, `test/data/operator/${name}.json`), "utf8"));
const resource = (name, spec) => ({
  apiVersion: "coroot.com/v1",
  kind: "Coroot",
  metadata: { name, namespace: "default" },
  spec,
});

let cluster;
before(async () => {
  cluster = await KubeCluster.start();
  await installCrd(cluster);
});
after(() => cluster?.down());

test("the definition has no condition that says that something is wrong with it", async () => {
  const crd = await cluster.kubectlJson("get", "crd/coroots.coroot.com");
  const conditions = crd.status.conditions.filter((c) => c.status === "True").map((c) => c.type);
  assert.deepEqual(conditions.sort(), ["Established", "NamesAccepted"]);
});

for (const name of ["every-field", "other-fields"])
  test(`${name}.json comes back as it went in, and kubectl has no warning`, async () => {
    const { spec } = data(name);
    const file = `${scratch(name)}.json`;
    fs.writeFileSync(file, JSON.stringify(resource(name, spec)));
    await cluster.kubectl("apply", "--server-side", "--validate=strict", "-f", file);
    assert.deepEqual((await cluster.get(`${COROOTS}/${name}`)).spec, spec);
  });

test("fields that nobody knows are kept, so that the status can name them", async () => {
  const spec = {
    nodeagent: { env: [{ name: "A", value: "b" }] },
    nodeAgent: { nothing: 1, ebpfProfiler: { more: "x" }, affinity: { new: {} } },
    clickhouse: { s3: { endpoint: "https://s3.example.com/b/", new: [1] }, storage: { new: 1 } },
    projects: [{ name: "a", new: {}, apiKeys: [{ key: "k", new: true }] }],
  };
  await cluster.post(COROOTS, resource("unknown", spec));
  assert.deepEqual((await cluster.get(`${COROOTS}/unknown`)).spec, spec);
});

const refused = {
  "a number as the value of a variable": [
    { nodeAgent: { env: [{ name: "A", value: 1 }] } },
    "spec.nodeAgent.env[0].value",
  ],
  "a variable without a name": [{ env: [{ value: "1" }] }, "spec.env[0].name"],
  "an interval without a unit": [{ metricsRefreshInterval: "15" }, "spec.metricsRefreshInterval"],
  "a time to live in seconds": [{ profilesTTL: "15s" }, "spec.profilesTTL"],
  "a URL without a scheme": [{ agentsOnly: { corootURL: "coroot" } }, "spec.agentsOnly.corootURL"],
  "agentsOnly without a URL": [{ agentsOnly: {} }, "spec.agentsOnly.corootURL"],
  "text for a number": [{ clickhouse: { shards: "2" } }, "spec.clickhouse.shards"],
  "a level that there is not": [{ clickhouse: { logLevel: "warn" } }, "spec.clickhouse.logLevel"],
  "a size that is none": [{ storage: { size: "10 GB" } }, "spec.storage.size"],
  "a request that is none": [
    { resources: { requests: { cpu: "half" } } },
    "spec.resources.requests.cpu",
  ],
  "a Secret without a key": [{ apiKeySecret: { name: "a" } }, "spec.apiKeySecret.key"],
  "a certificate without its key": [
    { tls: { certSecret: { name: "a", key: "b" } } },
    "spec.tls.keySecret",
  ],
};
for (const [what, [spec, field]] of Object.entries(refused))
  test(`${what} is refused with the field's path`, () =>
    assert.rejects(cluster.post(COROOTS, resource("refused", spec)), (e) => {
      assert.equal(e.status, 422);
      const { details } = JSON.parse(e.message.replace(/^[^{]*/, ""));
      assert.deepEqual(
        details.causes.map((c) => c.field),
        [field],
      );
      return true;
    }));

test("quantities may be numbers or text", async () => {
  const spec = { storage: { size: 1000000000 }, resources: { limits: { cpu: 2, memory: "1Gi" } } };
  await cluster.post(COROOTS, resource("quantities", spec));
  assert.deepEqual((await cluster.get(`${COROOTS}/quantities`)).spec, spec);
});

test("kubectl shows whether a resource is ready, and explains its fields", async () => {
  await cluster.post(COROOTS, resource("shown", {}));
  const status = {
    status: "Misconfigured",
    errors: ["spec.replicas: must be a whole number"],
    observedGeneration: 1,
    conditions: [
      {
        type: "Ready",
        status: "False",
        reason: "Waiting",
        message: "m",
        lastTransitionTime: "2026-01-01T00:00:00Z",
      },
    ],
  };
  await cluster.patch(`${COROOTS}/shown/status`, { status });
  assert.deepEqual((await cluster.get(`${COROOTS}/shown`)).status, status);
  assert.match(
    await cluster.kubectl("get", "coroots", "shown"),
    /NAME +READY +STATUS +AGE\nshown +False +Waiting +\S+/,
  );
  assert.match(
    await cluster.kubectl("get", "coroots", "shown", "-o", "wide"),
    /NAME +READY +STATUS +MESSAGE +AGE\nshown +False +Waiting +m +\S+/,
  );
  assert.match(
    await cluster.kubectl("explain", "coroot.spec.nodeAgent.update_strategy"),
    /DaemonSetUpdateStrategy/,
  );
});
