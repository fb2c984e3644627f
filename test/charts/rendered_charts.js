// Charts as helm renders them, and kubeconform with Kubernetes' own schemas and that of our
// definition. KN_BIN is the folder of these programs; there is no cluster.
"use strict";

const assert = require("node:assert");
const { execFile } = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { promisify } = require("node:util");
const YAML = require("../e2e/lib/yaml.js");
const { tempDir } = require("../e2e/lib/temp_dir.js");

const ROOT = path.join(__dirname, "../..");
const CHARTS = path.join(ROOT, "charts");
const BIN = process.env.KN_BIN;
const NAMES = ["coroot-operator", "coroot-ce", "profiling"];
const REGISTRY = "--set=image.registry=registry.example.com";
// of other projects, whose definitions we do not have
const FOREIGN = "ServiceMonitor,PodMonitor,Certificate,SecurityContextConstraints";

const scratch = tempDir("charts");

const program = (name) => path.join(BIN, name);
const chart = (name) => path.join(CHARTS, name);
// Hundreds of short runs: without garbage collection, they take half the CPU time.
const env = { ...process.env, GOGC: "off", GOMAXPROCS: "1" };
const run = (name, args) =>
  promisify(execFile)(program(name), args, { encoding: "utf8", maxBuffer: 1 << 26, env });

async function text(name, ...args) {
  const release = ["template", "release", chart(name), "--namespace=space", ...args];
  return (await run("helm", release)).stdout;
}

const parse = (manifests) =>
  YAML.parseAllDocuments(manifests)
    .map((d) => d.toJS())
    .filter((o) => o);
const objects = async (name, ...args) => parse(await text(name, ...args));

// The one object of that kind, and of that name if it is given.
function one(list, kind, name) {
  const found = list.filter((o) => o.kind === kind && (!name || o.metadata.name === name));
  assert.strictEqual(found.length, 1, `${kind} ${name || ""}: ${found.length}`);
  return found[0];
}

const container = (workload) => workload.spec.template.spec.containers[0];

async function refused(name, expected, ...args) {
  await assert.rejects(text(name, ...args), (e) => {
    assert.match(e.stderr, expected);
    return true;
  });
}

// As many at a time as there are processors.
async function each(items, fn) {
  const left = [...items];
  const worker = async () => {
    while (left.length > 0) await fn(left.shift());
  };
  await Promise.all(os.cpus().map(worker));
}

const valuesFiles = (name) =>
  fs.readdirSync(path.join(chart(name), "ci")).map((file) => path.join(chart(name), "ci", file));

// ---- schemas ----

const definition = YAML.parse(
  fs.readFileSync(path.join(chart("coroot-operator"), "files/crd.yaml"), "utf8"),
);
fs.writeFileSync(
  path.join(scratch, "coroot-coroot-v1.json"),
  JSON.stringify(definition.spec.versions[0].schema.openAPIV3Schema),
);

async function conforms(manifests, what) {
  const file = path.join(scratch, `${what.replace(/\W/g, "-")}.yaml`);
  fs.writeFileSync(file, manifests);
  const location = (folder) => path.join(folder, "{{.ResourceKind}}{{.KindSuffix}}.json");
  const args = ["-strict", "-skip", FOREIGN];
  for (const folder of [program("schemas"), scratch])
    args.push("-schema-location", location(folder));
  await run("kubeconform", [...args, file]).catch((e) => {
    throw new Error(`${what}: ${e.stdout}`);
  });
}

module.exports = {
  ...{ NAMES, CHARTS, REGISTRY, ROOT, scratch, program, chart, valuesFiles },
  ...{ run, text, parse, objects, one, container, refused, each, conforms },
};
