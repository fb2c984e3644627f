// What tools for GitOps make of the charts: they render them without a cluster, again and again,
// and judge the health of a resource by its conditions.
"use strict";

const test = require("node:test");
const assert = require("node:assert");
const { execFileSync } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const YAML = require("../e2e/lib/yaml.js");
const charts = require("./rendered_charts.js");

const { ROOT, REGISTRY, text, objects, one } = charts;

test("rendering a chart twice is equal, with keys from a Secret", async () => {
  const secret = "projects[0].apiKeys[0].keySecret";
  for (const [name, ...args] of [
    ["coroot-operator", REGISTRY],
    ["coroot-ce", "--set=projects[0].name=p", `--set=${secret}.name=k,${secret}.key=k`],
    ["profiling", REGISTRY, "--set=keys.existingSecret=mine"],
  ])
    assert.strictEqual(await text(name, ...args), await text(name, ...args), name);
});

test("one value keeps all volumes, and what is given of one wins", async () => {
  const specOf = async (...sets) => {
    const list = await objects("coroot-ce", ...sets.map((set) => `--set=${set}`));
    return one(list, "Coroot").spec;
  };
  const retain = "chart.retain=true";
  assert.strictEqual((await specOf()).storage.reclaimPolicy, undefined);
  const embedded = await specOf(retain);
  assert.strictEqual(embedded.storage.reclaimPolicy, "Retain");
  assert.strictEqual(embedded.clickhouse, undefined);
  const sharded = await specOf(retain, "clickhouse.shards=2,clickhouse.storage.size=5Gi");
  assert.deepStrictEqual(sharded.clickhouse, {
    shards: 2,
    storage: { size: "5Gi", reclaimPolicy: "Retain" },
    keeper: { storage: { reclaimPolicy: "Retain" } },
  });
  const mixed = await specOf(retain, "clickhouse.storage.reclaimPolicy=Delete");
  assert.strictEqual(mixed.clickhouse.storage.reclaimPolicy, "Delete");
});

// ---- health ----

const documented = fs.readFileSync(path.join(ROOT, "docs/kubernetes.md"), "utf8");
const [, block] = /```yaml\n(resource\.customizations\.health[^`]*)```/.exec(documented);
const [script] = Object.values(YAML.parse(block));

const luaOf = (value) => {
  if (Array.isArray(value)) return `{${value.map(luaOf).join(", ")}}`;
  if (typeof value !== "object") return JSON.stringify(value);
  const members = Object.entries(value).map(([key, v]) => `[${JSON.stringify(key)}] = ${luaOf(v)}`);
  return `{${members.join(", ")}}`;
};

// As Argo CD runs it: a function of obj.
function healthOf(obj) {
  const program = `local function health(obj)\n${script}\nend
    local h = health(${luaOf(obj)})
    print(h.status .. ": " .. h.message)`;
  return execFileSync("lua5.4", ["-"], { input: program, encoding: "utf8" }).trim();
}

const resource = (status) => ({ metadata: { generation: 2 }, ...(status && { status }) });
const condition = (type, is, reason = "R", message = `m${type}`) => {
  return { type, status: is, reason, message };
};

test("the documented script tells Argo CD the health of a resource", () => {
  const of = (...conditions) => healthOf(resource({ observedGeneration: 2, conditions }));
  const young = "Progressing: the operator has not looked at it yet";
  assert.strictEqual(healthOf(resource()), young);
  assert.strictEqual(healthOf(resource({ observedGeneration: 1, conditions: [] })), young);
  assert.strictEqual(of(condition("Ready", "True")), "Healthy: mReady");
  assert.strictEqual(of(condition("Ready", "False", "PodsNotReady")), "Progressing: mReady");
  assert.strictEqual(of(condition("Ready", "False", "PodsFailing")), "Degraded: mReady");
  assert.strictEqual(
    of(condition("Ready", "True"), condition("Degraded", "True")),
    "Degraded: mDegraded",
  );
});
