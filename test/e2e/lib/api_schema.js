// docs/openapi.json as a judge of real answers: what an answer has must be described, and what is
// described must have been seen in some answer.
"use strict";

const assert = require("node:assert");
const fs = require("node:fs");
const path = require("node:path");
const Ajv = require("ajv/dist/2020").default;

class ApiSchema {
  constructor() {
    this.doc = JSON.parse(fs.readFileSync(path.join(__dirname, "../../../docs/openapi.json")));
    this.ajv = new Ajv({ strict: true, allowUnionTypes: true });
    // components refer to each other as parts of the whole document
    this.ajv.addVocabulary(["openapi", "info", "paths", "components", "security"]);
    this.ajv.addSchema(this.doc, "openapi");
    this.seen = new Set();
  }

  // What is asked by GET.
  get endpoints() {
    return this.operations.filter((o) => o.method === "GET").map((o) => o.name);
  }
  get operations() {
    return Object.entries(this.doc.paths).flatMap(([p, methods]) =>
      Object.keys(methods).map((m) => ({ name: p.slice("/api/".length), method: m.toUpperCase() })),
    );
  }
  operation(name, method = "GET") {
    return this.doc.paths[`/api/${name}`][method.toLowerCase()];
  }
  schema(name) {
    return this.doc.components.schemas[name];
  }

  // Throws unless the answer fits the schema of the endpoint, or of "Error".
  check(name, answer, method = "GET") {
    const content = name === "Error" ? null : this.operation(name, method).responses[200].content;
    const ref = content
      ? content["application/json"].schema.$ref
      : "#/components/schemas/Error";
    const validate = this.ajv.getSchema(`openapi${ref}`);
    assert.ok(validate(answer), `${name}: ${JSON.stringify(validate.errors)}`);
    this.note(ref.split("/").pop(), this.schema(ref.split("/").pop()), answer);
  }

  // Remembers which described fields an answer has.
  note(at, schema, value) {
    if (schema.$ref) {
      const name = schema.$ref.split("/").pop();
      this.note(name, this.schema(name), value);
    } else if (Array.isArray(value) && schema.items) {
      for (const v of value.slice(0, 50)) this.note(at, schema.items, v);
    } else if (value && schema.properties) {
      for (const [key, v] of Object.entries(value)) {
        this.seen.add(`${at}.${key}`);
        this.note(`${at}.${key}`, schema.properties[key], v);
      }
    }
  }

  // Described fields that no answer had.
  unseen() {
    const missing = [];
    const walk = (at, schema) => {
      if (schema.items) walk(at, schema.items);
      for (const [key, s] of Object.entries(schema.properties ?? {})) {
        if (!this.seen.has(`${at}.${key}`)) missing.push(`${at}.${key}`);
        walk(`${at}.${key}`, s);
      }
    };
    for (const [name, s] of Object.entries(this.doc.components.schemas)) walk(name, s);
    return missing;
  }
}

module.exports = { ApiSchema };
