// "make truth": programs as distributions and registries ship them, each recorded for some seconds,
// and of the samples the shares that are whole, that have guessed steps, whose frames all have
// names, and whose leaf has a source line. A process that exits or executes a program has no stack
// any more at some moment: such samples are a column of their own, and not in the one before it.
// A table for BENCHMARKS.md; nothing is judged.
//
//   truth.js AGENT FOLDER [NAME…]   FOLDER has what truth-programs.sh fetches
"use strict";

const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { spawnSync } = require("node:child_process");
const { contents } = require("../e2e/lib/pprof");
const { hasNoStack, isKernel } = require("./judge");

const [given, folder, ...wanted] = process.argv.slice(2);
const agent = path.resolve(given); // programs run in a folder of their own
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
// a server, and what keeps it busy from when a command says that it is there
const served = (server, isThere, client) =>
  `exec >/dev/null 2>&1; ${server} & until ${isThere}; do sleep 0.1; done; ${forever(client)}`;
const postgres = (program) => `runuser -u postgres -- /usr/lib/postgresql/*/bin/${program}`;
const nginx = `events {} pid nginx.pid; http { access_log off;
server { listen 127.0.0.1:18080; root .; gzip on; gzip_min_length 1; gzip_types *; } }`;
const sums = `CREATE TABLE t AS WITH RECURSIVE n(i) AS
    (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000)
  SELECT i, i * 7919 % 1000 AS k FROM n;
SELECT k, count(*), sum(i) FROM t GROUP BY k ORDER BY 3 LIMIT 3; DROP TABLE t;`;

const python = { file: /\.py$|^<string>$/ };
const js = { file: /script\.js$/ };

// [what, the process that is looked at, its command in a folder with the files below, and for an
// interpreted or managed language, what a frame of it looks like]
const programs = [
  ["gzip", "gzip", forever("gzip -9 <data >/dev/null")],
  ["xz", "xz", forever("xz -6 <data >/dev/null")],
  ["zstd", "zstd", forever("zstd -9 -c -q data >/dev/null")],
  ["sort", "sort", forever("sort lines >/dev/null")],
  ["mawk", "mawk", forever("mawk '{ n[$1]++ } END { for (k in n) print k }' lines >/dev/null")],
  ["gawk", "gawk", forever("gawk '{ n[$1]++ } END { for (k in n) print k }' lines >/dev/null")],
  ["sed", "sed", forever("sed -E 's/([a-z]+)_([a-z]+)/\\2_\\1/g' lines >/dev/null")],
  ["grep", "grep", forever("grep -cE '(int|char) [a-z]+(_t)?\\(.*\\);' lines >/dev/null")],
  ["sha256sum", "sha256sum", forever("sha256sum data >/dev/null")],
  ["openssl", "openssl", "openssl speed -seconds 6 -evp aes-128-gcm"],
  ["git", "git", forever("git grep -c -E 'x+' --no-index . >/dev/null")],
  ["jq", "jq", forever("jq -c 'map(.k)|sort' json >/dev/null")],
  ["sqlite3", "sqlite3", forever("sqlite3 :memory: <sums.sql >/dev/null")],
  ["ffmpeg", "ffmpeg", forever("ffmpeg -v quiet -f lavfi -i testsrc -t 5 -f null -")],
  ["ImageMagick", "convert", forever("convert -size 800x800 plasma: -blur 0x5 null:")],
  [
    "nginx",
    "nginx",
    served(
      "nginx -p $PWD -c nginx.conf -g 'daemon off;'",
      "[ -e nginx.pid ]",
      "ab -q -n 20000 -c 8 -H 'Accept-Encoding: gzip' http://127.0.0.1:18080/unit.c",
    ),
  ],
  [
    "redis",
    "redis-server",
    served(
      "redis-server --port 18081 --save ''",
      "redis-cli -p 18081 ping",
      "redis-benchmark -p 18081 -q -n 50000",
    ),
  ],
  [
    "PostgreSQL",
    "postgres",
    `install -d -o postgres db; ${postgres("initdb -D $PWD/db -E UTF8 --no-sync")} >/dev/null; ` +
      served(
        postgres("postgres -D $PWD/db -k $PWD/db -c listen_addresses="),
        "[ -S db/.s.PGSQL.5432 ]",
        postgres("psql -h $PWD/db -f $PWD/sums.sql"),
      ),
  ],
  ["gcc (cc1)", "cc1", forever("gcc -O2 -c unit.c -o /dev/null")],
  ["g++ (cc1plus)", "cc1plus", forever("g++ -O1 -c source.cc -o /dev/null")],
  ["clang", "clang", forever("clang -O2 -c unit.c -o /dev/null")],
  ["rustc", "rustc", forever("rustc -O --crate-type=lib unit.rs -o unit.rlib")],
  ["go build (compile)", "compile", forever("go build -a -o /dev/null unit.go")],
  ["ocamlopt", "ocamlopt.opt", forever("ocamlopt.opt -c sets.ml")],
  ["dash, starting ls", "ls", forever("ls / >/dev/null")],
  ["bash, forking", "bash", "bash -c 'while :; do x=$(echo $((RANDOM))); done'"],
  [
    "perl",
    "perl",
    `perl -e 'sub f { my %h; $h{$_ * 7919 % 1000} .= $_ for 1..20000; sort keys %h } f() while 1'`,
    { file: /^-e$/ },
  ],
  [
    "python3",
    "python3",
    `/usr/bin/python3 -c 'import json
while 1: json.loads(json.dumps([{"k": str(i * 7919 % 1000)} for i in range(5000)]))'`,
    python,
  ],
  [
    "python3, numpy",
    "python3",
    `/usr/bin/python3 -c 'import numpy
a = numpy.random.rand(300, 300)
while 1: numpy.sort(a @ a, axis=1)'`,
    python,
  ],
  [
    "ruby",
    "ruby",
    `ruby -e 'loop { (1..20000).map { |i| (i * 7919 % 1000).to_s }.sort.hash }'`,
    { file: /^-e$/ },
  ],
  [
    "php",
    "php",
    `php -r 'function f() { $a = array_map("md5", range(1, 20000)); sort($a); } for (;;) f();'`,
    { name: /^f$/ },
  ],
  [
    "lua",
    "lua5.4",
    `lua5.4 -e 'while true do local t = {}
for i = 1, 20000 do t[i] = tostring(i * 7919 % 1000) end table.sort(t) end'`,
    { name: /^\(command line\)$/ },
  ],
  [
    "R",
    "R",
    `R -q -e 'f <- function() sort(sapply(1:20000, function(i) i * 7919 %% 1000)); repeat f()'`,
  ],
  ["guile", "guile", "guile -c '(let f () (sort (iota 100000) >) (f))'"],
  ["tclsh", "tclsh", "echo 'while 1 { lsort [split [string repeat {b a } 9999]] }' | tclsh"],
  [
    "erlang",
    "beam.smp",
    `erl -noshell -eval 'F = fun(F) ->
  lists:sort([I * 7919 rem 1000 || I <- lists:seq(1, 50000)]), F(F) end, F(F).'`,
    { name: /^(lists|erl_eval):/ },
  ],
  ["node", "node", "node script.js", js],
  ["node --use-largepages", "node", "node --use-largepages=on script.js", js],
  ["deno", "deno", `${folder}/deno run script.js`],
  ["bun", "bun", `${folder}/bun script.js`],
  ["java", "java", "java Truth.java", { name: /^Truth\.main$/ }],
  ["ruff (musl)", "ruff", forever(`${folder}/ruff check ${ruff} python >/dev/null 2>&1`)],
  ["chromium", "chromium", forever(`chromium ${headless} file://$PWD/page.html >/dev/null 2>&1`)],
];

function makeFiles() {
  const write = (name, text) => fs.writeFileSync(path.join(dir, name), text);
  write("script.js", script);
  write("Truth.java", java);
  write("source.cc", including("algorithm", "map", "regex", "string"));
  write("unit.c", including("stdio.h", "elf.h", "netinet/in.h"));
  const repeated = (line) => Array.from({ length: 200 }, (_, i) => line.replace("N", i)).join("\n");
  write("unit.rs", repeated("#[derive(Debug, Clone)] pub struct TN(u64);"));
  write("unit.go", 'package main\nimport _ "net/http"\nfunc main() {}\n');
  write("sets.ml", repeated("module SN = Set.Make(Int)"));
  write("nginx.conf", nginx);
  write("sums.sql", sums);
  const elements = Array.from({ length: 50000 }, (_, i) => ({ k: (i * 7919) % 1000 }));
  write("json", JSON.stringify(elements));
  write("page.html", `<body><script>${script.replace("60000", "5000")}</script>`);
  const make =
    "cat /usr/include/*.h >lines; cat lines /bin/bash >data; cp -r /usr/lib/python3*/ python";
  spawnSync("sh", ["-c", make], { cwd: dir, stdio: "ignore" });
  fs.chmodSync(dir, 0o755);
}

function record(command, file) {
  const bounded = ["timeout", "-s", "KILL", String(seconds), "sh", "-c", command];
  const options = { cwd: dir, stdio: "ignore", timeout: (seconds + 60) * 1000 };
  spawnSync(agent, ["record", "-o", file, "--", ...bounded], options);
  return contents(fs.readFileSync(file));
}

const isUnnamed = ({ name }) => /^\[unknown\]$|\+0x[0-9a-f]+$/.test(name);
const isCut = ({ name }) => name === "[truncated]";

function judge({ stacks, comments }, name, own) {
  const sum = { n: 0, whole: 0, named: 0, lines: 0, own: 0, ofOwn: 0, gone: 0, guessed: 0 };
  const isOwn = (f) => own?.file?.test(f.file) || own?.name?.test(f.name);
  const outcome = (what) =>
    Number(comments.find((c) => c.startsWith(`unwind:${what}=`))?.split("=")[1] ?? 0);
  let all = 0;
  for (const { frames, values } of stacks) {
    const n = values[0];
    all += n;
    if (frames[0].name !== name) continue;
    const user = frames.slice(1).filter((f) => !isKernel(f) && !isCut(f));
    sum.n += n;
    sum.ofOwn += own ? n : 0;
    sum.own += user.some(isOwn) ? n : 0;
    if (!frames.some(isCut)) sum.whole += n;
    else if (hasNoStack(frames.slice(1))) sum.gone += n;
    sum.named += user.some(isUnnamed) ? 0 : n;
    sum.lines += user.at(-1)?.line > 0 ? n : 0;
  }
  // of all that was recorded: the loop's shell, too
  sum.guessed = outcome("guessed") / (all || 1);
  return sum;
}

// of a program that was not caught there is nothing to say
const percent = (x) => (Number.isFinite(x) ? `${(100 * x).toFixed(1)} %` : "");

function main() {
  makeFiles();
  const columns = "program|samples|whole|guessed|exiting|all named|own language|lines".split("|");
  console.log(`| ${columns.join(" | ")} |\n${"|---".repeat(columns.length)}|`);
  const total = { n: 0, whole: 0, named: 0, lines: 0, own: 0, ofOwn: 0, guessed: 0, gone: 0 };
  const row = (what, s) => {
    const whole = s.whole / (s.n - s.gone);
    const shares = [whole, s.guessed, s.gone / s.n, s.named / s.n].map(percent);
    const own = s.ofOwn > 0 ? percent(s.own / s.ofOwn) : "";
    console.log(`| ${[what, s.n, ...shares, own, percent(s.lines / s.n)].join(" | ")} |`);
  };
  for (const [what, name, command, own] of programs) {
    if (wanted.length > 0 && !wanted.some((w) => what.includes(w))) continue;
    const sum = judge(record(command, path.join(dir, "cpu.pb.gz")), name, own);
    row(what, sum);
    for (const key of ["n", "whole", "named", "lines", "own", "ofOwn", "gone"])
      total[key] += sum[key];
    total.guessed += sum.guessed * sum.n;
  }
  row("**all**", { ...total, guessed: total.guessed / total.n });
}

try {
  main();
} finally {
  fs.rmSync(dir, { recursive: true });
}
