// Compares docs/troubleshooting.md with the code: every warning and error that is logged has a row
// there, and every row that quotes a message quotes one that the code has. "--print": lists the
// messages that are logged.
"use strict";

const fs = require("node:fs");
const { execFileSync } = require("node:child_process");

const PAGE = "docs/troubleshooting.md";

const sources = execFileSync("git", ["ls-files", "node-agent", "cluster-agent", "common"], {
  encoding: "utf8",
})
  .split("\n")
  .filter((file) => file.endsWith(".c"));

const LITERALS = /^\s*((?:"(?:[^"\\]|\\.)*"\s*)+)/;
const join = (literals) =>
  [...literals.matchAll(/"((?:[^"\\]|\\.)*)"/g)]
    .map((m) => m[1].replace(/\\(.)/g, "$1"))
    .join("");

// Of log_warn("…" "…", …) the text; of any other string the text alone, in `all`.
function messagesOf(file) {
  const text = fs.readFileSync(file, "utf8");
  const logged = [];
  for (const m of text.matchAll(/\blog_(?:warn|error|warn_limited|error_limited)\(/g)) {
    const literals = LITERALS.exec(text.slice(m.index + m[0].length));
    if (literals) logged.push({ file, message: join(literals[1]) });
  }
  const all = [...text.matchAll(/(?:"(?:[^"\\\n]|\\.)*"\s*)+/g)].map((m) => join(m[0]));
  return { logged, all };
}

const found = sources.map(messagesOf);
const logged = found.flatMap((f) => f.logged);
if (process.argv[2] === "--print") {
  for (const l of logged) console.log(`${l.file}: ${l.message}`);
  process.exit(0);
}

// "…" stands for what is filled in.
const rows = fs
  .readFileSync(PAGE, "utf8")
  .split("\n")
  .map((line) => /^\| `([^`]+)` \|/.exec(line)?.[1])
  .filter(Boolean);
const texts = found.flatMap((f) => f.all).join("\n");
const problems = [
  ...logged
    .filter((l) => !rows.includes(l.message))
    .map((l) => `${PAGE}: has no row for "${l.message}" of ${l.file}`),
  ...rows
    .filter((row) => !row.split("…").every((part) => texts.includes(part)))
    .map((row) => `${PAGE}: "${row}" is in no source`),
  ...rows
    .filter((row, i) => rows.indexOf(row) !== i)
    .map((row) => `${PAGE}: "${row}" has two rows`),
];
for (const p of problems) console.log(p);
process.exitCode = problems.length > 0 ? 1 : 0;
