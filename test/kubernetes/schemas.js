// schemas.js SWAGGER.json FOLDER: writes the JSON schemas that kubeconform validates manifests
// with, one file per kind, called as its template "{{.ResourceKind}}{{.KindSuffix}}" says:
// deployment-apps-v1.json.
//
// kubeconform takes its schemas from a web site otherwise. These are made from Kubernetes' own
// description of its API. They are strict: a field that the kind does not have is an error.
"use strict";

const fs = require("node:fs");
const path = require("node:path");

const [swagger, folder] = process.argv.slice(2);
const { definitions } = JSON.parse(fs.readFileSync(swagger, "utf8"));

const LOOSE = {
  "io.k8s.apimachinery.pkg.util.intstr.IntOrString": { type: ["string", "integer"] },
  "io.k8s.apimachinery.pkg.api.resource.Quantity": { type: ["string", "number"] },
};

// What is only documentation would be most of it.
function strict(schema) {
  if (Array.isArray(schema)) return schema.map(strict);
  if (schema === null || typeof schema !== "object") return schema;
  const out = {};
  for (const [key, value] of Object.entries(schema)) {
    if (key === "properties")
      out.properties = Object.fromEntries(Object.entries(value).map(([k, v]) => [k, strict(v)]));
    else if (!key.startsWith("x-") && !["description", "default", "format"].includes(key))
      out[key] = strict(value);
  }
  if (out.properties) out.additionalProperties = false;
  return out;
}

const nameOf = (ref) => ref.replace("#/definitions/", "");
const made = Object.fromEntries(
  Object.entries(definitions).map(([name, schema]) => [name, LOOSE[name] || strict(schema)]),
);

function references(schema, found) {
  if (schema === null || typeof schema !== "object") return found;
  for (const [key, value] of Object.entries(schema)) {
    if (key !== "$ref" || typeof value !== "string") references(value, found);
    else if (!found.has(nameOf(value))) references(made[nameOf(value)], found.add(nameOf(value)));
  }
  return found;
}

fs.mkdirSync(folder, { recursive: true });
for (const [name, { "x-kubernetes-group-version-kind": kinds = [], properties }] of Object.entries(
  definitions,
)) {
  // an object that can be applied; options of requests have no metadata
  if (kinds.length !== 1 || !properties?.metadata || kinds[0].kind.endsWith("List")) continue;
  const { group, version, kind } = kinds[0];
  const used = [...references(made[name], new Set())].sort();
  const file = [kind, ...(group ? [group.split(".")[0]] : []), version].join("-").toLowerCase();
  const schema = { ...made[name], definitions: Object.fromEntries(used.map((n) => [n, made[n]])) };
  fs.writeFileSync(path.join(folder, `${file}.json`), JSON.stringify(schema));
}
