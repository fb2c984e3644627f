// What "make accuracy" has proven, a program a line (proven.tsv): kept in git, because the README's
// table of languages may claim no more (languages.js).
"use strict";

const fs = require("node:fs");
const path = require("node:path");

const FILE = path.join(__dirname, "proven.tsv");
const COLUMNS = ["language", "program", "release", "samples", "good", "whole", "names", "lines"];
const PERCENTS = ["good", "whole", "names", "lines"];
const SAMPLES = 300; // fewer prove nothing
const HEADER = [
  '# What "make accuracy" has measured last; it writes this file. "good": percent of samples that',
  "# are whole and true. Empty: not judged.",
];

const percent = (part, whole) => ((100 * part) / whole).toFixed(2);

function parse(text) {
  const [columns, ...lines] = text.split("\n").filter((line) => line && !line.startsWith("#"));
  if (columns !== COLUMNS.join("\t")) throw new Error(`proven.tsv: columns are ${columns}`);
  return lines.map((line) => {
    const row = Object.fromEntries(line.split("\t").map((cell, i) => [COLUMNS[i], cell]));
    for (const key of ["samples", ...PERCENTS]) row[key] = row[key] ? Number(row[key]) : null;
    return row;
  });
}

const read = (file = FILE) => (fs.existsSync(file) ? parse(fs.readFileSync(file, "utf8")) : []);

function print(rows) {
  const cell = (row, key) =>
    PERCENTS.includes(key) && row[key] !== null ? row[key].toFixed(2) : String(row[key] ?? "");
  const lines = rows.map((row) => COLUMNS.map((key) => cell(row, key)).join("\t"));
  return `${[...HEADER, COLUMNS.join("\t"), ...lines].join("\n")}\n`;
}

// A row of what was counted: { language, program, release }, { samples, good, whole, names, lines }
// without what is not judged.
function row(of, sum) {
  const judged = PERCENTS.filter((key) => sum[key] !== undefined);
  const shares = judged.map((key) => [key, Number(percent(sum[key], sum.samples))]);
  const none = PERCENTS.map((key) => [key, null]);
  const release = of.release.trim().replace(/\s+/g, " ");
  return { ...of, release, samples: sum.samples, ...Object.fromEntries([...none, ...shares]) };
}

// Replaces the rows of these programs. What has run for too short a time stays as it was.
function record(rows, file = FILE) {
  const key = ({ language, program }) => `${language}\t${program}`;
  const all = new Map(read(file).map((r) => [key(r), r]));
  for (const r of rows) if (r.samples >= SAMPLES) all.set(key(r), r);
  const sorted = [...all.values()].sort(
    (a, b) =>
      a.language.localeCompare(b.language) ||
      a.release.localeCompare(b.release, undefined, { numeric: true }) ||
      a.program.localeCompare(b.program),
  );
  fs.writeFileSync(file, print(sorted));
}

module.exports = { parse, print, read, record, row };
