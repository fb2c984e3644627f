// The objects that the operator makes of resources, as the unit test's cases have them: a real API
// server accepts each, and our programs accept the arguments and environment of their containers.
"use strict";

const assert = require("node:assert");
const { execFileSync, spawnSync } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const { after, before, test } = require("node:test");
const { clusterAgent, nodeAgent, root, scratch } = require("../e2e/lib/daemon");
const { KubeCluster } = require("./lib/kube_cluster");

const data = path.join(root, "test/data/operator");
const { bases, fields } = JSON.parse(fs.readFileSync(`${data}/cases.json`, "utf8"));
const everyField = JSON.parse(fs.readFileSync(`${data}/every-field.json`, "utf8")).spec;

// Sets the member at "spec.a.b[].c"; "[]" is the first element.
function withField(base, field, value) {
  const spec = structuredClone(bases[base]);
  const names = field.split(".").slice(1);
  const last = names.pop();
  let at = spec;
  for (const name of names) {
    const key = name.replace("[]", "");
    at[key] ??= name === key ? {} : [{}];
    at = name === key ? at[key] : at[key][0];
  }
  at[last] = value;
  return spec;
}

const specs = new Map(Object.entries(bases));
for (const [field, [base, value]] of Object.entries(fields))
  specs.set(field, withField(base, field, value));
specs.set("every field", everyField);

function render(spec) {
  const metadata = { name: "main" };
  const input = JSON.stringify({ apiVersion: "coroot.com/v1", kind: "Coroot", metadata, spec });
  const args = ["operator", "render", "-"];
  return JSON.parse(execFileSync(clusterAgent, args, { input, stdio: "pipe" }));
}

// Each object of any resource once.
const objects = new Map();
let cluster;
before(async () => {
  for (const spec of specs.values())
    for (const object of render(spec).items) objects.set(JSON.stringify(object), object);
  cluster = await KubeCluster.start();
});
after(() => cluster?.down());

test("the API server accepts every object, and knows all of its fields", async () => {
  const file = `${scratch("rendered")}.json`;
  const items = [...objects.values()];
  fs.writeFileSync(file, JSON.stringify({ apiVersion: "v1", kind: "List", items }));
  const flags = ["--server-side", "--dry-run=server", "--validate=strict", "-o", "name"];
  const accepted = await cluster.kubectl("apply", ...flags, "-f", file);
  assert.equal(accepted.trim().split("\n").length, items.length);
});

// Coroot's agents have them, ours do without.
const inert = ["SCRAPE_INTERVAL", "METRICS_ENDPOINT", "LOGS_ENDPOINT", "TRACES_ENDPOINT"];
inert.push("METRICS_SCRAPE_INTERVAL");
const fromTests = ["FROM_SECRET", "FROM_FIELD"];

function optionOf(variable) {
  const name = variable.replace("GLOBAL_", "").replace("_TLS_ENABLED", "_TLS");
  return name.toLowerCase().replaceAll("_", "-");
}

function printedConfig(program, container) {
  const value = (e) => e.value ?? "from-elsewhere";
  const env = Object.fromEntries((container.env ?? []).map((e) => [e.name, value(e)]));
  return execFileSync(program, [...container.args, "--print-config"], {
    env: { PATH: process.env.PATH, ...env },
    encoding: "utf8",
    stdio: "pipe",
  });
}

const programs = { "node-agent": nodeAgent, "cluster-agent": clusterAgent, coroot: clusterAgent };
for (const [name, program] of Object.entries(programs))
  test(`the program in ${name} accepts its arguments, and its environment means something`, () => {
    const containers = new Map();
    for (const { spec } of objects.values())
      for (const c of spec?.template?.spec.containers ?? [])
        if (c.name === name) containers.set(JSON.stringify([c.args, c.env]), c);
    assert.ok(containers.size > 3, `${containers.size} containers`);
    for (const c of containers.values()) {
      const config = printedConfig(program, c);
      for (const { name: variable } of c.env ?? [])
        if (!inert.includes(variable) && !fromTests.includes(variable))
          assert.match(config, new RegExp(`^${optionOf(variable)}: `, "m"), variable);
    }
  });

test("render reads YAML, and says what is wrong with it", () => {
  const file = `${scratch("resource")}.yaml`;
  const renderFile = (text, name = file) => {
    fs.writeFileSync(file, text);
    return spawnSync(clusterAgent, ["operator", "render", name], { encoding: "utf8" });
  };
  const good = renderFile("metadata: {name: a}\nspec:\n  replicas: many\n  cacheTTL: 1d\n");
  assert.equal(good.status, 0);
  assert.equal(JSON.parse(good.stdout).kind, "List");
  assert.match(good.stderr, /^spec\.replicas: .*\nspec\.cacheTTL: has no effect\n$/);
  for (const [text, expected] of [
    ["metadata: {name: a", /resource.*\.yaml: \d: did not find/],
    ["[]", /is not a/],
    ["", /is empty/],
    ["spec: {}", /is not a Coroot resource with a name/],
    ["metadata: [a]", /is not a Coroot resource with a name/],
  ]) {
    const bad = renderFile(text);
    assert.equal(bad.status, 1, text);
    assert.equal(bad.stdout, "");
    assert.match(bad.stderr, expected);
    assert.equal(bad.stderr.trim().split("\n").length, 1);
  }
  assert.match(renderFile("", "/nowhere").stderr, /\/nowhere: No such file or directory/);
});
