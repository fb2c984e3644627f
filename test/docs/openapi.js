// openapi.js PATHS [--check]: puts the paths that print_openapi has printed into docs/openapi.json,
// or says whether they are there already.
"use strict";

const fs = require("node:fs");
const path = require("node:path");

const file = path.join(__dirname, "../../docs/openapi.json");
const old = fs.readFileSync(file, "utf8");
const doc = JSON.parse(old);
doc.paths = JSON.parse(fs.readFileSync(process.argv[2], "utf8"));
const text = `${JSON.stringify(doc, null, 2)}\n`;

if (process.argv[3] !== "--check") {
  fs.writeFileSync(file, text);
} else if (text !== old) {
  console.error('docs/openapi.json: differs from the code; run "make docs"');
  process.exitCode = 1;
}
