// doc_section.js PAGE NAME [--check]: what is on standard input becomes the section of the page
// between "<!-- NAME, generated from the code by `make docs` -->" and "<!-- /NAME -->"; with
// --check, it must be that section already.
"use strict";

const fs = require("node:fs");

const [page, name, check] = process.argv.slice(2);
const text = fs.readFileSync(page, "utf8");
const begin = `<!-- ${name}, generated from the code by \`make docs\` -->\n`;
const end = `<!-- /${name} -->`;
const from = text.indexOf(begin) + begin.length;
const to = text.indexOf(end);

if (from < begin.length || to < from) {
  console.error(`${page}: no section "${name}"`);
  process.exit(1);
}
const made = `\n${fs.readFileSync(0, "utf8")}\n`;
if (!check) fs.writeFileSync(page, text.slice(0, from) + made + text.slice(to));
else if (text.slice(from, to) !== made) {
  console.error(`${page}: section "${name}" differs from the code; run "make docs"`);
  process.exit(1);
}
