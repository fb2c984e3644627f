// "make bench-memory": the resident memory of the node-agent beside a storm of short compilations,
// by what it consists of, each second for SECONDS=240 after WARMUP=70 s. AGENTS="old new" runs
// several agents beside the same storm, to compare builds. COMPILERS=2 at nice 19; INTERVAL=60s.
// Needs root.
"use strict";

process.env.RUN_DIR ??= "build/bench/run";

const { execFileSync, spawn } = require("node:child_process");
const fs = require("node:fs");
const http = require("node:http");
const os = require("node:os");
const path = require("node:path");
const { Daemon, freePort, nodeAgent, root, runDir, scratch } = require("../e2e/lib/daemon");
const { sleep } = require("../e2e/lib/wait");

const SECONDS = Number(process.env.SECONDS || 240);
const WARMUP = Number(process.env.WARMUP || 70);
const COMPILERS = Number(process.env.COMPILERS || 2);
const INTERVAL = process.env.INTERVAL || "60s";
const AGENTS = (process.env.AGENTS || nodeAgent).split(" ");

// Compilations of this tree's own files, one after the other, without a cache of their results.
function startCompilers() {
  const list = path.join(runDir, "sources");
  const sources = execFileSync("git", ["ls-files", "common/*.c", "node-agent/*.c"], { cwd: root });
  fs.writeFileSync(list, sources);
  const compile = "/usr/bin/gcc -std=gnu11 -D_GNU_SOURCE -O2 -g -w -I. -Ibuild/release/gen";
  const script = `while :; do shuf ${list} | while read -r f; do
    ${compile} -c -o /dev/null "$f" 2>/dev/null; done; done`;
  return Array.from({ length: COMPILERS }, () =>
    spawn("nice", ["-n", "19", "/bin/sh", "-c", script], {
      cwd: root,
      stdio: "ignore",
      detached: true,
    }),
  );
}

// Accepts everything.
function startSink() {
  const server = http.createServer((request, response) => {
    request.resume();
    request.on("end", () => response.end());
  });
  return new Promise((resolve) =>
    server.listen(0, "127.0.0.1", () => resolve(`http://127.0.0.1:${server.address().port}`)),
  );
}

async function startAgent(program, collector) {
  const port = await freePort();
  const spool = scratch("spool");
  const args = [
    `--listen=127.0.0.1:${port}`,
    `--collector-endpoint=${collector}`,
    `--profile-interval=${INTERVAL}`,
    `--wal-dir=${spool}`,
  ];
  return new Daemon(program, args, { url: `http://127.0.0.1:${port}` }).ready("/healthz");
}

const KINDS = ["heap", "stacks", "own file", "libraries", "BPF maps", "other"];

function kindOf(name, own) {
  if (name.startsWith("anon_inode:bpf") || name.includes("bpf-map") || name.includes("bpf_"))
    return "BPF maps";
  if (name === own) return "own file";
  if (name.startsWith("/")) return "libraries";
  if (name === "[heap]" || name === "") return "heap";
  return name.startsWith("[stack") ? "stacks" : "other";
}

// KiB: resident and private dirty of all, and resident of each kind.
function memoryOf(pid, own) {
  const m = { resident: 0, dirty: 0, by: Object.fromEntries(KINDS.map((k) => [k, 0])) };
  let kind;
  for (const line of fs.readFileSync(`/proc/${pid}/smaps`, "utf8").split("\n")) {
    const start = /^[0-9a-f]+-[0-9a-f]+ \S+ \S+ \S+ \d+ *(.*)$/.exec(line);
    const value = /^(Rss|Private_Dirty): +(\d+) kB$/.exec(line);
    if (start) kind = kindOf(start[1], own);
    if (value?.[1] === "Private_Dirty") m.dirty += Number(value[2]);
    if (value?.[1] !== "Rss") continue;
    m.resident += Number(value[2]);
    m.by[kind] += Number(value[2]);
  }
  return m;
}

// CPU time of all threads, those that have exited included.
function cpuSeconds(pid) {
  const [, fields] = fs.readFileSync(`/proc/${pid}/stat`, "utf8").split(") ");
  const [user, system] = fields.split(" ").slice(11, 13).map(Number);
  return (user + system) / 100;
}

function column(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const mib = (kib) => (kib / 1024).toFixed(1);
  return `${mib(sorted[sorted.length >> 1])}, ${mib(sorted.at(-1))}`;
}

async function main() {
  const sink = await startSink();
  const agents = [];
  for (const program of AGENTS) agents.push(await startAgent(path.resolve(program), sink));
  const compilers = startCompilers();
  process.on("exit", () => compilers.forEach((c) => process.kill(-c.pid, "SIGKILL")));
  await sleep(WARMUP * 1000);
  const cpu = agents.map((a) => cpuSeconds(a.pid));
  const samples = agents.map(() => []);
  for (let i = 0; i < SECONDS; i++) {
    const next = sleep(1000);
    for (const [k, a] of agents.entries())
      samples[k].push(memoryOf(a.pid, path.resolve(AGENTS[k])));
    await next;
  }
  const rows = [
    ["resident", (m) => m.resident],
    ["resident but for BPF maps", (m) => m.resident - m.by["BPF maps"]],
    ...KINDS.map((kind) => [`— ${kind}`, (m) => m.by[kind]]),
    ["private dirty", (m) => m.dirty],
  ];
  const profiled = [];
  for (const a of agents) profiled.push(await a.metric("coroot_node_agent_samples_profiled_total"));
  const table = rows.map(([what, of]) => [
    `${what}, MiB: median, most`,
    ...samples.map((s) => column(s.map(of))),
  ]);
  table.push(["CPU time, s", ...agents.map((a, k) => (cpuSeconds(a.pid) - cpu[k]).toFixed(2))]);
  table.push(["samples in profiles", ...profiled]);
  if (process.env.VERBOSE)
    for (const [k, s] of samples.entries())
      console.error(`${AGENTS[k]}: ${s.map((m) => `${m.resident}/${m.by.heap}`).join(" ")}`);
  console.log(
    `\n${os.cpus()[0].model}, ${os.cpus().length} cores, load ${os.loadavg()[1].toFixed(0)}, ` +
      `${SECONDS} s, interval ${INTERVAL}\n`,
  );
  console.log(`| | ${AGENTS.map((a) => path.basename(a)).join(" | ")} |`);
  console.log(`|---|${"---|".repeat(AGENTS.length)}`);
  for (const row of table) console.log(`| ${row.join(" | ")} |`);
  for (const a of agents) await a.stop();
  process.exit(0);
}

main().catch((e) => {
  console.error(e);
  process.exit(1);
});
