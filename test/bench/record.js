// "make bench-record": from Enter to the picture, with "coroot-node-agent record" and with "perf
// record", "perf script" and a script that folds its output, which flamegraph.pl would then draw.
// Of the same process, one after the other. Prints a Markdown table. Needs root and perf.
//
//   SECONDS=5   of each recording
//   ROUNDS=3    the median of which is shown
"use strict";

const { execFileSync, spawn, spawnSync } = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { tempDir } = require("../e2e/lib/temp_dir");

const SECONDS = Number(process.env.SECONDS || 5);
const ROUNDS = Number(process.env.ROUNDS || 3);
const root = path.resolve(__dirname, "../..");
const agent = path.join(root, "build/release/coroot-node-agent");
const dir = tempDir("bench-record");
const file = (name) => path.join(dir, name);

// Runs a shell command; CPU time is that of all its processes.
function timed(command) {
  const times = file("times");
  const t0 = process.hrtime.bigint();
  const r = spawnSync("/usr/bin/time", ["-f", "%U %S", "-o", times, "sh", "-ec", command], {
    encoding: "utf8",
    cwd: dir,
    maxBuffer: 1 << 30,
  });
  const wall = Number(process.hrtime.bigint() - t0) / 1e9;
  if (r.status !== 0) throw new Error(`${command}: ${r.stderr}`);
  const [user, system] = fs.readFileSync(times, "utf8").trim().split("\n").at(-1).split(" ");
  return { wall, cpu: Number(user) + Number(system) };
}

// What is small and fast, in the place of stackcollapse-perf.pl: a line per stack.
const FOLD = `awk '/^[^ \\t]/ { comm = $1 } /^[ \\t]+[0-9a-f]+ / { stack = $2 ";" stack }
/^$/ && stack { n[comm ";" stack]++; stack = "" } END { for (s in n) print s, n[s] }'`;

const perf = (how) => (pid) =>
  `perf record -q ${how} -F 99 -p ${pid} -o perf.data -- sleep ${SECONDS}
   perf script -i perf.data 2>/dev/null | sed 's/+0x[0-9a-f]*//' | ${FOLD} >out.folded`;
const ours = (ending) => (pid) =>
  `${agent} record -p ${pid} -d ${SECONDS}s -o out.${ending} >/dev/null`;

const cases = [
  ["`record -o x.svg`", ours("svg")],
  ["`record -o x.html`", ours("html")],
  ["`record -o x.folded`", ours("folded")],
  ["`perf record -g`, folded", perf("-g")],
  ["`perf record --call-graph dwarf`, folded", perf("--call-graph dwarf")],
];

// Share of the samples of chain_leaf whose callers are the ones that it has.
function wholeShare() {
  let all = 0;
  let whole = 0;
  for (const line of fs.readFileSync(file("out.folded"), "utf8").trimEnd().split("\n")) {
    const n = Number(line.slice(line.lastIndexOf(" ")));
    if (!line.includes("chain_leaf")) continue;
    all += n;
    if (/;main;.*chain_outer;chain_middle;chain_leaf/.test(line)) whole += n;
  }
  return all > 0 ? `${((100 * whole) / all).toFixed(1)} %` : "no samples";
}

const median = (list) => list.sort((a, b) => a - b)[Math.floor(list.length / 2)];

const child = spawn(path.join(root, "build/e2e/nofp"), ["100000"], { stdio: "ignore" });
process.on("exit", () => child.kill("SIGKILL"));
const version = execFileSync("perf", ["--version"], { encoding: "utf8" }).trim();
console.log(`${os.cpus().length} CPUs, load ${os.loadavg()[0].toFixed(0)}, ${version}`);
console.log(`${SECONDS} s at 99 Hz, median of ${ROUNDS}\n`);
console.log("| | from Enter to the file, beyond the recording | CPU time | whole stacks |");
console.log("|---|---|---|---|");
for (const [name, command] of cases) {
  const runs = Array.from({ length: ROUNDS }, () => timed(command(child.pid)));
  const late = median(runs.map((r) => r.wall - SECONDS));
  const cpu = median(runs.map((r) => r.cpu));
  const whole = name.includes("folded") ? wholeShare() : "as folded";
  console.log(`| ${name} | ${late.toFixed(2)} s | ${(cpu * 1000).toFixed(0)} ms | ${whole} |`);
}
process.exit(0);
