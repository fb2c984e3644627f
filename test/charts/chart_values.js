// chart_values.js schema|readme CHART: writes values.schema.json or README.md of a chart, made of
// its values.yaml, on standard output.
//
// Both would otherwise have to repeat all values. A value's type is that of its default, its
// description the comment above it. What a default does not say is in OPEN and TYPES. The spec of
// a Coroot resource is described by the resource's definition instead.
"use strict";

const fs = require("node:fs");
const path = require("node:path");
const YAML = require("../e2e/lib/yaml.js");

const CHARTS = path.join(__dirname, "../../charts");
const DOCS = path.join(__dirname, "../../docs");

// Maps with any members: names that people choose, and types of Kubernetes, which its API checks.
const OPEN = new Set(
  (
    "affinity annotations commonLabels containerSecurityContext labels nodeSelector " +
    "podAnnotations podLabels podSecurityContext resources updateStrategy"
  ).split(" "),
);

const LEVEL = { enum: ["error", "warn", "info", "debug"] };
const PULL = { enum: ["Always", "IfNotPresent", "Never"] };
const PORT = { type: "integer", minimum: 1, maximum: 65535 };
const REPLICAS = { type: "integer", minimum: 1 };
const DIGEST = { type: "string", pattern: "^(sha256:[0-9a-f]{64})?$" };
const DURATION = { type: "string", pattern: "^([0-9]+(\\.[0-9]+)?(ns|us|ms|s|m|h|d|w|y))+$" };
const QUANTITY = { type: ["string", "integer"], pattern: "^[0-9]+(\\.[0-9]+)?([kMGTPE]i?|m)?$" };
// As the agents' options take it.
const SIZE = { type: ["string", "integer"], pattern: "^[0-9]+([kKMGT]i?)?B?$" };
// Not a URL, which somebody may take it for: images have no scheme.
const REGISTRY = { type: "string", pattern: "^([^/: ]+(:[0-9]+)?(/[^: ]+)?/?)?$" };
const TEXTS = { type: "array", items: { type: "string" } };
const MAPS = { type: "array", items: { type: "object" } };
const NAMED = {
  type: "array",
  items: {
    type: "object",
    required: ["name"],
    properties: { name: { type: "string" } },
    additionalProperties: false,
  },
};

// By path, or by the last name of one.
const TYPES = {
  logLevel: LEVEL,
  pullPolicy: PULL,
  port: PORT,
  replicas: REPLICAS,
  digest: DIGEST,
  retention: DURATION,
  imagePullSecrets: NAMED,
  pullSecrets: NAMED,
  tolerations: MAPS,
  topologySpreadConstraints: MAPS,
  extraEnv: MAPS,
  extraEnvFrom: MAPS,
  initContainers: MAPS,
  extraContainers: MAPS,
  dnsPolicy: { enum: ["", "ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"] },
  extraVolumes: MAPS,
  extraVolumeMounts: MAPS,
  readers: MAPS,
  senders: MAPS,
  nodePort: { type: ["integer", "null"], minimum: 1, maximum: 65535 },
  "nodeAgent.capabilities.dacOverride": { enum: ["auto", true, false, "true", "false"] },
  "nodeAgent.capabilities.java": { enum: ["auto", true, false, "true", "false"] },
  "openshift.enabled": { enum: ["auto", true, false, "true", "false"] },
  "nodeAgent.spool.type": { enum: ["hostPath", "emptyDir"] },
  "nodeAgent.spool.hostPath": { type: "string", pattern: "^/." },
  "clusterAgent.service.type": { enum: ["ClusterIP", "NodePort", "LoadBalancer"] },
  "clusterAgent.replicas": { type: "integer", minimum: 0 },
  "image.registry": REGISTRY,
  "global.imageRegistry": REGISTRY,
  "chart.image.registry": REGISTRY,
  "receiver.url": { type: "string", pattern: "^(https?://.+)?$" },
  "tls.certManager.issuerRef.kind": { enum: ["Issuer", "ClusterIssuer"] },
  "clusterAgent.persistence.size": QUANTITY,
  "nodeAgent.spool.maxSize": SIZE,
  "ingress.path": { type: "string", pattern: "^/" },
};

// Options that a chart sets itself, which agents refuse twice, and secrets, which arguments would
// show.
const NOT_OPTIONS = new Set(
  (
    "listen tls-cert tls-key api-key api-key-file read-api-key read-api-key-file " +
    "notes-api-key " +
    "ca-file insecure-skip-verify collector-endpoint wal-dir kubernetes-api data-dir " +
    "storage profiles-ttl clickhouse-address clickhouse-user clickhouse-password " +
    "clickhouse-password-file clickhouse-database clickhouse-tls " +
    "clickhouse-tls-skip-verify clickhouse-listen coroot-url replica-group otlp-grpc-listen"
  ).split(" "),
);

// Names of an agent's options, from its generated page.
function optionNames(agent) {
  const page = fs.readFileSync(path.join(DOCS, `options-${agent}.md`), "utf8");
  const names = [...page.matchAll(/^\| `--([a-z0-9-]+)/gm)].map((m) => m[1]);
  return names.filter((name) => !NOT_OPTIONS.has(name));
}

// A pattern, because a refusal by propertyNames does not say where in the values the name is.
function options(agent) {
  const value = { anyOf: [{ type: ["string", "number", "boolean", "null"] }, TEXTS] };
  return {
    type: "object",
    patternProperties: { [`^(${optionNames(agent).join("|")})$`]: value },
    additionalProperties: false,
  };
}

function schemaOfDefault(node, value, where) {
  const name = where[where.length - 1];
  const known = TYPES[where.join(".")] || TYPES[name];
  if (name === "options") return options(where[0] === "nodeAgent" ? "node-agent" : "cluster-agent");
  if (known) return known;
  if (OPEN.has(name)) return { type: "object" };
  if (YAML.isMap(node)) return schemaOfMap(node, where);
  if (YAML.isSeq(node)) return TEXTS;
  if (Number.isInteger(value)) return { type: "integer" };
  return { type: typeof value };
}

const plain = (comment) => (comment || "").replace(/^ /gm, "").replace(/\n/g, " ").trim();

// The comment above a member; the first one of a map has it at the map.
function commentOf(map, pair, first) {
  return plain(pair.key.commentBefore || (first ? map.commentBefore : ""));
}

function schemaOfMap(map, where) {
  const properties = {};
  map.items.forEach((pair, i) => {
    const name = pair.key.value;
    const about = commentOf(map, pair, i === 0 && where.length > 0);
    const schema = schemaOfDefault(pair.value, pair.value && pair.value.value, [...where, name]);
    properties[name] = { ...(about ? { description: about } : {}), ...schema };
  });
  return { type: "object", additionalProperties: false, properties };
}

// A schema of the resource's definition as one of values: each may be null, which leaves it out.
function schemaOfField(field, name) {
  const out = {};
  if (field.description) out.description = field.description;
  if (field["x-kubernetes-int-or-string"])
    return {
      ...out,
      type: ["integer", "string", "null"],
      ...(field.pattern && { pattern: field.pattern }),
    };
  if (field.type) out.type = [field.type, "null"];
  for (const key of ["pattern", "minimum", "maximum", "minLength", "maxLength", "required"])
    if (field[key] !== undefined) out[key] = field[key];
  if (field.enum) out.enum = [...field.enum, null];
  if (field.items) out.items = schemaOfField(field.items);
  if (field.additionalProperties && typeof field.additionalProperties === "object")
    out.additionalProperties = schemaOfField(field.additionalProperties);
  if (field.properties) {
    out.properties = Object.fromEntries(
      Object.entries(field.properties).map(([key, f]) => [key, schemaOfField(f, key)]),
    );
    // the definition keeps fields that it does not know; a value of that kind is a mistake
    if (!OPEN.has(name)) out.additionalProperties = false;
  }
  return out;
}

function specSchema() {
  const file = path.join(CHARTS, "coroot-operator/files/crd.yaml");
  const crd = YAML.parse(fs.readFileSync(file, "utf8"));
  const { properties } = crd.spec.versions[0].schema.openAPIV3Schema;
  return schemaOfField(properties.spec).properties;
}

const valuesFile = (chart) =>
  YAML.parseDocument(fs.readFileSync(path.join(CHARTS, chart, "values.yaml"), "utf8"));
const values = (chart) => valuesFile(chart).contents;

function schema(chart) {
  const own = schemaOfMap(values(chart), []);
  if (chart === "coroot-ce")
    own.properties = {
      global: own.properties.global,
      chart: own.properties.chart,
      ...specSchema(),
    };
  // what Helm itself puts beside the values of a chart that is part of another
  own.properties.global = { type: "object", properties: own.properties.global.properties };
  const $schema = "http://json-schema.org/draft-07/schema#";
  return { $schema, title: `Values of ${chart}`, ...own };
}

const code = (text) => `\`${text}\``;
const cell = (text) => text.replace(/\|/g, "\\|").replace(/</g, "\\<");

// Rows of the table: leaves, and maps that are described as a whole.
function rows(map, where, out) {
  map.items.forEach((pair, i) => {
    const at = [...where, pair.key.value];
    const about = commentOf(map, pair, i === 0 && where.length > 0);
    if (YAML.isMap(pair.value) && pair.value.items.length > 0 && !OPEN.has(pair.key.value)) {
      if (about) out.push({ name: at.join("."), value: "", about });
      rows(pair.value, at, out);
      return;
    }
    if (!about) throw new Error(`${at.join(".")} has no comment`);
    out.push({ name: at.join("."), value: JSON.stringify(pair.value.toJSON()), about });
  });
  return out;
}

function readme(chart) {
  const meta = YAML.parse(fs.readFileSync(path.join(CHARTS, chart, "Chart.yaml"), "utf8"));
  const { contents, commentBefore } = valuesFile(chart);
  const lines = [
    `# ${chart}`,
    "",
    "<!-- Generated from values.yaml by `make chart-files`. -->",
    "",
    `${meta.description}.`,
    "",
    plain(contents.commentBefore || commentBefore),
    "",
    "| value | default | meaning |",
    "|---|---|---|",
  ];
  for (const row of rows(contents, [], [])) {
    const value = row.value && code(cell(row.value));
    lines.push(`| ${code(row.name)} | ${value} | ${cell(row.about)} |`);
  }
  return `${lines.join("\n")}\n`;
}

const [what, chart] = process.argv.slice(2);
if (what === "schema") process.stdout.write(`${JSON.stringify(schema(chart), null, 2)}\n`);
else if (what === "readme") process.stdout.write(readme(chart));
else throw new Error("chart_values.js schema|readme CHART");
