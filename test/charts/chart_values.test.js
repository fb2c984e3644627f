// The values of the Helm charts: every switch renders objects that Kubernetes knows, every value
// has an effect, what cannot work is refused, and what is generated of a chart is up to date.
"use strict";

const test = require("node:test");
const assert = require("node:assert");
const { execFileSync } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const YAML = require("../e2e/lib/yaml.js");
const charts = require("./rendered_charts.js");

const { NAMES, CHARTS, REGISTRY, scratch, program, chart, valuesFiles } = charts;
const { run, text, parse, objects, one, container, refused, each, conforms } = charts;

for (const name of NAMES) {
  test(`${name}: files of ci/ pass helm lint, and make objects that Kubernetes knows`, async () => {
    const files = valuesFiles(name);
    assert.ok(files.length > 0);
    await each(files, async (file) => {
      await run("helm", ["lint", "--strict", chart(name), "-f", file]).catch((e) => {
        throw new Error(`${file}: ${e.stdout}`);
      });
      await conforms(await text(name, "-f", file), path.relative(CHARTS, file));
    });
  });
}

test("the schema of our definition refuses what is not in it", async () => {
  const bad = { apiVersion: "coroot.com/v1", kind: "Coroot", metadata: { name: "x" } };
  const of = (spec) => conforms(YAML.stringify({ ...bad, spec }), "bad");
  await of({ replicas: 2 });
  await assert.rejects(of({ replicas: "two" }), /replicas/);
});

// ---- values ----

// A value other than the default, and what else must be set for it to have an effect. By path, or
// by the last name of one.
const SAMPLES = {
  digest: `sha256:${"e".repeat(64)}`,
  pullPolicy: "Never",
  logLevel: "warn",
  retention: "9d",
  size: "7Gi",
  maxSize: "7MB",
  imagePullSecrets: [{ name: "other" }],
  extraArgs: ["--other"],
  tolerations: [{ key: "other" }],
  accessModes: ["ReadWriteMany"],
  secretNamespaces: ["other"],
  "ingress.path": "/other",
  "clusterAgent.service.type": "LoadBalancer",
  "clusterAgent.replicas": 3,
  "nodeAgent.capabilities.dacOverride": "false",
  "nodeAgent.capabilities.java": "false",
  "nodeAgent.capabilities.extra": ["SYS_NICE"],
  "nodeAgent.spool.type": "emptyDir",
  "nodeAgent.spool.hostPath": "/other",
  "nodeAgent.options": { "profile-frequency": 7 },
  "clusterAgent.options": { "profiles-scrape-types": "cpu" },
  "receiver.url": "https://other.example.com",
  "tls.certManager.issuerRef.kind": "Issuer",
  "clickhouse.address": "other:8123",
  "keys.existingReadKey": false,
  "tls.caInSecret": false,
  "clusterAgent.service.nodePort": 30090,
  "openshift.enabled": "true",
  dnsPolicy: "None",
  extraEnvFrom: [{ secretRef: { name: "other" } }],
};
const EMBEDDED_OFF = ["clusterAgent.sql.enabled=false", "grafana.datasource.enabled=false"];
const FORWARDING = [...EMBEDDED_OFF, "clusterAgent.otlpGrpc.enabled=false"];
const NEEDS = {
  "receiver.url": FORWARDING,
  "receiver.insecureSkipVerify": [...FORWARDING, "receiver.url=https://other"],
  "clickhouse.address": EMBEDDED_OFF,
  "clusterAgent.enabled": [...FORWARDING, "receiver.url=https://other"],
  "clusterAgent.replicas": [...EMBEDDED_OFF, "clickhouse.address=ch"],
  "clusterAgent.podDisruptionBudget.enabled": [
    ...[...EMBEDDED_OFF, "clickhouse.address=ch"],
    "clusterAgent.replicas=2",
  ],
  "clickhouse.passwordSecret": [...EMBEDDED_OFF, "clickhouse.address=ch"],
  clickhouse: [...EMBEDDED_OFF, "clickhouse.address=ch", "clickhouse.passwordSecret=ch"],
  "keys.create": EMBEDDED_OFF,
  "keys.anonymousRead": EMBEDDED_OFF,
  "keys.existingReadKey": ["keys.existingSecret=keys"],
  "clusterAgent.sql.enabled": ["grafana.datasource.enabled=false"],
  "tls.certManager.enabled": ["tls.existingSecret=page"],
  "clusterAgent.persistence.existingClaim": ["clusterAgent.replicas=1"],
  "openshift.nodeAgentScc": ["openshift.enabled=true"],
};
// Without an effect on purpose, or only in a cluster.
const NO_EFFECT = new Set(
  [
    ["coroot-operator", "registry.tlsSkipVerify"],
    // only where image.registry is empty, and where it has none
    ["coroot-operator", "registry.url"],
    ["coroot-ce", "chart.podSecurityCheck"],
    ["profiling", "podSecurityCheck"],
  ].map((pair) => pair.join()),
);

// maps that are passed on as they are
const WHOLE = /^(resources|nodeSelector|updateStrategy|(pod|container)SecurityContext|labels)$/;

function leaves(map, where = []) {
  return map.items.flatMap((pair) => {
    const at = [...where, pair.key.value];
    const { value } = pair;
    if (YAML.isMap(value) && value.items.length > 0 && !WHOLE.test(pair.key.value))
      return leaves(value, at);
    return [{ at, value: value.toJSON() }];
  });
}

function sampleOf(at, value) {
  const known = SAMPLES[at.join(".")] ?? SAMPLES[at[at.length - 1]];
  if (known !== undefined) return known;
  if (typeof value === "boolean") return !value;
  if (typeof value === "number") return value + 1;
  if (typeof value === "string") return "other";
  if (Array.isArray(value)) return [{ name: "other" }];
  return { other: "1" };
}

// Random keys are no effect.
const comparable = (manifests) => manifests.replace(/^( {2}(upload|read)-key:).*/gm, "$1");

const rendered = new Map();
async function renderedOnce(name, args) {
  const key = [name, ...args].join(" ");
  if (!rendered.has(key)) rendered.set(key, text(name, ...args).then(comparable));
  return rendered.get(key);
}

let files = 0;
function withValue(name, at, value) {
  const values = at.reduceRight((inner, key) => ({ [key]: inner }), value);
  const file = path.join(scratch, `${name}-${at.join("-")}-${files++}.json`);
  fs.writeFileSync(file, JSON.stringify(values));
  return ["-f", file];
}

async function hasEffect(name, base, { at, value }) {
  const where = at.join(".");
  const needs = NEEDS[where] || NEEDS[at[0]] || [];
  const common = ["-f", base, ...needs.map((n) => `--set=${n}`)];
  // the file that has everything may have the other value
  const given = ["boolean", "number"].includes(typeof value) ? withValue(name, at, value) : [];
  const before = await renderedOnce(name, [...common, ...given]);
  const other = withValue(name, at, sampleOf(at, value));
  const after = comparable(await text(name, ...common, ...other));
  assert.notStrictEqual(after, before, `${where} has no effect`);
}

for (const name of ["coroot-operator", "profiling"]) {
  test(`${name}: each value has an effect`, async () => {
    const base = path.join(chart(name), "ci/everything-values.yaml");
    const file = path.join(chart(name), "values.yaml");
    const all = leaves(YAML.parseDocument(fs.readFileSync(file, "utf8")).contents).filter(
      ({ at }) => !NO_EFFECT.has([name, at.join(".")].join()),
    );
    assert.ok(all.length > 30);
    const dead = [];
    const note = ({ at }) => (e) => dead.push(`${at.join(".")}: ${e.stderr || e.message}`);
    await each(all, (leaf) => hasEffect(name, base, leaf).catch(note(leaf)));
    assert.deepStrictEqual(dead, []);
  });
}

// ---- refusals ----

test("without a registry the charts say what to set, in one line", async () => {
  const line = /^Error: execution error at [^\n]*: image\.registry is not set: add --set /;
  await refused("coroot-operator", line);
  await refused("profiling", line);
  // without it there is only no test
  const plain = await objects("coroot-ce");
  assert.deepStrictEqual(
    plain.map((o) => o.kind),
    ["Coroot"],
  );
});

const REFUSED = [
  ["coroot-operator", "imag.registry=x", /additional properties 'imag' not allowed/],
  ["coroot-operator", "replicas=two", /at '\/replicas': got string, want integer/],
  ["coroot-operator", "image.registry=https://x.example", /registry': 'https:.* does not match/],
  ["coroot-ce", "chart.image.registry=a b", /registry': 'a b' does not match/],
  ["profiling", "image.registry=https://x.example/y", /registry': 'https:.* does not match/],
  ["coroot-operator", "logLevel=loud", /at '\/logLevel': value must be one of 'error'/],
  ["coroot-operator", "rbac.denyGlobalSecret=true", /'denyGlobalSecret' not allowed/],
  ["coroot-ce", "nodeAgnt.env=x", /at '': additional properties 'nodeAgnt' not allowed/],
  ["coroot-ce", "nodeAgent.enviroment=x", /at '\/nodeAgent': additional properties 'enviroment'/],
  ["coroot-ce", "replicas=two", /at '\/replicas': got string, want null or integer/],
  ["coroot-ce", "chart.networkPolicy.enabled=true,ingress.host=a", /readers is empty, which keeps/],
  ["coroot-ce", "storage.size=10GB", /at '\/storage\/size': '10GB' does not match pattern/],
  ["coroot-ce", "profilesTTL=soon", /at '\/profilesTTL': 'soon' does not match pattern/],
  ["coroot-ce", "agentsOnly.tlsSkipVerify=true", /at '\/agentsOnly': missing property 'corootURL'/],
  ["profiling", "nodeAgent.options.go-heap-profilr=force", /'\/nodeAgent\/options': add.*profilr'/],
  ["profiling", "clusterAgent.options.listen=x", /clusterAgent\/options': .* 'listen' not/],
  ["profiling", "nodeAgent.privilegd=true", /at '\/nodeAgent': additional properties 'privilegd'/],
  ["profiling", "nodeAgent.spool.type=disk", /value must be one of 'hostPath', 'emptyDir'/],
  ["profiling", "nodeAgent.image.digest=latest", /image\/digest': 'latest' does not match/],
  ["profiling", "clusterAgent.replicas=2", /replicas is more than 1: the engine inside the agent/],
  [
    "profiling",
    "clickhouse.address=a,clusterAgent.replicas=2,clusterAgent.persistence.existingClaim=b",
    /each of several replicas needs its own/,
  ],
  ["profiling", "clusterAgent.persistence.size=20Gib", /size': '20Gib' does not match/],
  ["profiling", "nodeAgent.spool.maxSize=500 megabytes", /maxSize': '500 .* does not match/],
  ["profiling", "clickhouse.address=a,receiver.url=http://b", /exclude each other/],
  ["profiling", "clusterAgent.enabled=false", /the node agents would have nowhere to send/],
  ["profiling", "ingress.enabled=true", /ingress\.host is not set/],
  ["profiling", "networkPolicy.enabled=true,monitoring.enabled=true", /readers is empty/],
  [
    "profiling",
    "networkPolicy.enabled=true,ingress.enabled=true,ingress.host=a.example",
    /readers is empty/,
  ],
  ["profiling", "tls.certManager.enabled=true", /tls\.certManager\.issuerRef\.name is not set/],
  ["profiling", "grafana.datasource.enabled=true,receiver.url=http://b", /keeps no profiles/],
  ["profiling", "clusterAgent.sql.enabled=true,keys.anonymousRead=true", /SQL needs a key/],
  ["profiling", "clusterAgent.scrape=false,receiver.url=http://b", /leaves nothing to do/],
  ["profiling", "clusterAgent.sql.enabled=true,keys.create=false", /sql\.enabled needs keys/],
  ["profiling", "clusterAgent.sql.enabled=true,clickhouse.address=a", /ask your servers/],
  ["profiling", "clusterAgent.otlpGrpc.enabled=true,receiver.url=http://a", /takes no uploads/],
  ["profiling", "clusterAgent.otlpGrpc.enabled=true,clusterAgent.otlpGrpc.port=8080", /something/],
];
test("values that cannot work are refused with the reason", async () => {
  await each(REFUSED, ([name, set, expected]) =>
    refused(name, expected, ...(name === "coroot-ce" ? [] : [REGISTRY]), `--set=${set}`),
  );
});

// ---- what is generated ----

for (const name of NAMES) {
  test(`${name}: schema and README are those of its values ("make chart-files")`, () => {
    for (const [what, file] of [
      ["schema", "values.schema.json"],
      ["readme", "README.md"],
    ]) {
      const args = [path.join(__dirname, "chart_values.js"), what, name];
      const made = execFileSync(process.execPath, args, { encoding: "utf8" });
      assert.strictEqual(fs.readFileSync(path.join(chart(name), file), "utf8"), made, file);
    }
  });
}

test('the definition in the manifests is that of the chart ("make chart-files")', () => {
  const read = (file) => fs.readFileSync(path.join(CHARTS, file), "utf8");
  assert.strictEqual(
    read("manifests/crd/coroots.coroot.com.yaml"),
    read("coroot-operator/files/crd.yaml"),
  );
});

test('manifests are those of the charts ("make manifests"); images can be replaced', async () => {
  const copy = path.join(scratch, "manifests");
  const kept = path.join(CHARTS, "manifests");
  fs.cpSync(kept, copy, { recursive: true });
  const made = path.join(scratch, "made");
  execFileSync(process.execPath, [path.join(__dirname, "chart_manifests.js"), made], {
    env: { ...process.env, HELM: program("helm") },
  });
  const files = fs.readdirSync(made, { recursive: true }).filter((f) => f.endsWith(".yaml"));
  assert.strictEqual(files.length, 3);
  for (const file of files)
    assert.strictEqual(
      fs.readFileSync(path.join(kept, file), "utf8"),
      fs.readFileSync(path.join(made, file), "utf8"),
      file,
    );
  for (const folder of ["crd", "operator", "sample", "profiling"]) {
    const file = path.join(copy, folder, "kustomization.yaml");
    const text = fs.readFileSync(file, "utf8");
    fs.writeFileSync(file, text.replace(/newName: registry\.invalid/g, "newName: r.example.com/x"));
    const { stdout } = await run("kubectl", ["kustomize", path.join(copy, folder)]);
    assert.ok(!stdout.includes("registry.invalid"), folder);
    await conforms(stdout, `manifests-${folder}`);
  }
});

test("packages have the registry and the version baked in", async () => {
  const pack = (registry, version) => {
    const folder = path.join(scratch, `packages-${version}`);
    execFileSync(path.join(CHARTS, "package-charts.sh"), [folder, registry, version, ...NAMES], {
      env: { ...process.env, HELM: program("helm") },
    });
    return folder;
  };
  const helm = async (...args) => parse((await run("helm", ["template", "r", ...args])).stdout);
  const folder = pack("r.example.com:5000/coroot", "v1.2.3");
  const list = await helm(path.join(folder, "profiling-1.2.3.tgz"));
  const image = "r.example.com:5000/coroot/coroot-node-agent:v1.2.3";
  assert.strictEqual(container(one(list, "DaemonSet")).image, image);
  const ce = await helm(path.join(folder, "coroot-ce-1.2.3.tgz"));
  const test = "r.example.com:5000/coroot/coroot-cluster-agent:v1.2.3";
  assert.strictEqual(one(ce, "Pod").spec.containers[0].image, test);
  // a name of git is no version of a chart
  const files = fs.readdirSync(pack("", "v1-3-gabc_x")).sort();
  assert.deepStrictEqual(
    files,
    NAMES.map((n) => `${n}-0.0.0-vv1-3-gabc-x.tgz`).sort(),
  );
});
