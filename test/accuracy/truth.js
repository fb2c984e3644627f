// "make truth": programs as distributions and registries ship them, each recorded for some seconds,
// and of the samples the shares that are whole, that have guessed steps, whose frames all have
// names, and whose leaf has a source line. A table for BENCHMARKS.md; nothing is judged.
//
//   truth.js AGENT FOLDER [NAME…]   FOLDER has what truth-programs.sh fetches
"use strict";

const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { spawnSync } = require("node:child_process");
const { contents } = require("../e2e/lib/pprof");

const [agent, folder, ...wanted] = process.argv.slice(2);
const seconds = Number(process.env.SECONDS ?? 8);
const dir = fs.mkdtempSync(path.join(os.tmpdir(), "truth."));

const script = `const t = Date.now(); let n = 0;
while (Date.now() - t < 60000) {
  const o = [];
  for (let i = 0; i < 2000; i++)
    o.push({ k: "key" + ((i * 7919) % 1000), s: [i, "x".repeat(i % 30)] });
  const s = JSON.stringify(o);
  const p = JSON.parse(s).sort((a, b) => (a.k < b.k ? -1 : 1));
  n += p.length + s.replace(/key(\\d+)/g, "$1").length;
  n += s.split(",").map((x) => x.toUpperCase()).length;
}`;
const java = `public class Truth { public static void main(String[] a) {
  java.util.Map<String, Integer> m = new java.util.TreeMap<>();
  for (long i = 0; i < Long.MAX_VALUE; i++) m.merge("k" + i * 7919 % 100000, 1, Integer::sum); } }`;
const including = (...headers) =>
  headers.map((h) => `#include <${h}>\n`).join("") + "int main(void) { return 0; }\n";
const ruff = "--no-cache --isolated --select ALL";
const headless = "--headless --no-sandbox --disable-gpu --dump-dom";
const forever = (command) => `while :; do ${command}; done`;

// [what, the process that is looked at, its command in a folder with the files below]
const programs = [
  ["gzip", "gzip", forever("gzip -9 <data >/dev/null")],
  ["xz", "xz", forever("xz -6 <data >/dev/null")],
  ["sort", "sort", forever("sort lines >/dev/null")],
  ["mawk", "mawk", forever("mawk '{ n[$1]++ } END { for (k in n) print k }' lines >/dev/null")],
  ["sed", "sed", forever("sed -E 's/([a-z]+)_([a-z]+)/\\2_\\1/g' lines >/dev/null")],
  ["grep", "grep", forever("grep -cE '(int|char) [a-z]+(_t)?\\(.*\\);' lines >/dev/null")],
  ["sha256sum", "sha256sum", forever("sha256sum data >/dev/null")],
  ["openssl", "openssl", "openssl speed -seconds 6 -evp aes-128-gcm"],
  ["git", "git", forever("git grep -c -E 'x+' --no-index . >/dev/null")],
  ["jq", "jq", forever("jq -c 'map(.k)|sort' json >/dev/null")],
  ["gcc (cc1)", "cc1", forever("gcc -O2 -c unit.c -o /dev/null")],
  ["g++ (cc1plus)", "cc1plus", forever("g++ -O1 -c source.cc -o /dev/null")],
  ["clang", "clang", forever("clang -O2 -c unit.c -o /dev/null")],
  ["dash, starting ls", "ls", forever("ls / >/dev/null")],
  ["bash, forking", "bash", "bash -c 'while :; do x=$(echo $((RANDOM))); done'"],
  [
    "perl",
    "perl",
    `perl -e 'while (1) { my %h; $h{$_ * 7919 % 1000} .= $_ for 1..20000; sort keys %h }'`,
  ],
  ["python3", "python3", `python3 -c 'import json
while 1: json.loads(json.dumps([{"k": str(i * 7919 % 1000)} for i in range(5000)]))'`],
  ["ruby", "ruby", `ruby -e 'loop { (1..20000).map { |i| (i * 7919 % 1000).to_s }.sort.hash }'`],
  ["php", "php", `php -r 'for (;;) { $a = array_map("md5", range(1, 20000)); sort($a); }'`],
  [
    "lua",
    "lua5.4",
    `lua5.4 -e 'while true do local t = {}
for i = 1, 20000 do t[i] = tostring(i * 7919 % 1000) end table.sort(t) end'`,
  ],
  ["node", "node", "node script.js"],
  ["node --use-largepages", "node", "node --use-largepages=on script.js"],
  ["deno", "deno", `${folder}/deno run script.js`],
  ["bun", "bun", `${folder}/bun script.js`],
  ["java", "java", "java Truth.java"],
  ["ruff (musl)", "ruff", forever(`${folder}/ruff check ${ruff} python >/dev/null 2>&1`)],
  ["chromium", "chromium", forever(`chromium ${headless} file://$PWD/page.html >/dev/null 2>&1`)],
];

function makeFiles() {
  const write = (name, text) => fs.writeFileSync(path.join(dir, name), text);
  write("script.js", script);
  write("Truth.java", java);
  write("source.cc", including("algorithm", "map", "regex", "string"));
  write("unit.c", including("stdio.h", "elf.h", "netinet/in.h"));
  const elements = Array.from({ length: 50000 }, (_, i) => ({ k: (i * 7919) % 1000 }));
  write("json", JSON.stringify(elements));
  write("page.html", `<body><script>${script.replace("60000", "5000")}</script>`);
  const make =
    "cat /usr/include/*.h >lines; cat lines /bin/bash >data; cp -r /usr/lib/python3*/ python";
  spawnSync("sh", ["-c", make], { cwd: dir, stdio: "ignore" });
}

function record(command, file) {
  const bounded = ["timeout", "-s", "KILL", String(seconds), "sh", "-c", command];
  const options = { cwd: dir, stdio: "ignore", timeout: (seconds + 60) * 1000 };
  spawnSync(agent, ["record", "-o", file, "--", ...bounded], options);
  return contents(fs.readFileSync(file));
}

const isUnnamed = ({ name }) => /^\[unknown\]$|\+0x[0-9a-f]+$/.test(name);
const isKernel = ({ object }) => object === "[kernel]";

function judge({ stacks, comments }, name) {
  const sum = { n: 0, whole: 0, named: 0, lines: 0, gone: 0, guessed: 0 };
  const outcome = (what) =>
    Number(comments.find((c) => c.startsWith(`unwind:${what}=`))?.split("=")[1] ?? 0);
  let all = 0;
  for (const { frames, values } of stacks) {
    const n = values[0];
    all += n;
    if (frames[0].name !== name) continue;
    const own = frames.slice(1).filter((f) => !isKernel(f) && f.name !== "[truncated]");
    sum.n += n;
    sum.whole += frames.some((f) => f.name === "[truncated]") ? 0 : n;
    sum.named += own.some(isUnnamed) ? 0 : n;
    sum.lines += own.at(-1)?.line > 0 ? n : 0;
  }
  // of all that was recorded: the loop's shell, too
  sum.guessed = outcome("guessed") / (all || 1);
  sum.gone = outcome("gone") / (all || 1);
  return sum;
}

const percent = (x) => `${(100 * x).toFixed(1)} %`;

function main() {
  makeFiles();
  console.log("| program | samples | whole | guessed | exiting | all named | lines |");
  console.log("|---|---|---|---|---|---|---|");
  const total = { n: 0, whole: 0, named: 0, lines: 0, guessed: 0, gone: 0 };
  const row = (what, s) => {
    const shares = [s.whole / s.n, s.guessed, s.gone, s.named / s.n, s.lines / s.n].map(percent);
    console.log(`| ${what} | ${s.n} | ${shares.join(" | ")} |`);
  };
  for (const [what, name, command] of programs) {
    if (wanted.length > 0 && !wanted.some((w) => what.includes(w))) continue;
    const sum = judge(record(command, path.join(dir, "cpu.pb.gz")), name);
    row(what, sum);
    for (const key of ["n", "whole", "named", "lines"]) total[key] += sum[key];
    for (const key of ["guessed", "gone"]) total[key] += sum[key] * sum.n;
  }
  row("**all**", { ...total, guessed: total.guessed / total.n, gone: total.gone / total.n });
}

try {
  main();
} finally {
  fs.rmSync(dir, { recursive: true });
}
