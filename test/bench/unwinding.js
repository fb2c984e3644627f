// The second part of "make bench-node": a node with PROCESSES=300 processes without frame pointers
// that all do a little, below the node-agent by tables and by frame pointers, and below "perf
// record" by frame pointers and with copies of the stack; then what a start costs, without and
// with tables on disk, 100 processes of C and then of Python in calls of 20 functions, and a storm
// of 6,000 processes in six seconds. WINDOW=60 seconds each; PARTS="start languages" for only
// these. Each of these processes is sampled about once a
// minute, and read when that is for the first time; so there is another window when nearly all are
// known, WARM=240 seconds after the start. Needs root. The processes use half of a core.
"use strict";

process.env.RUN_DIR ??= "build/bench/run";

const { execFileSync, spawn } = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { root, runDir, startNode } = require("../e2e/lib/daemon");
const { eventually, sleep } = require("../e2e/lib/wait");
const { ProfileReceiver } = require("../accuracy/profile_receiver");

const PROCESSES = Number(process.env.PROCESSES || 300);
const COMPILERS = Number(process.env.COMPILERS || 3);
const WINDOW = Number(process.env.WINDOW || 60);
const WARM = Number(process.env.WARM || 240);
const ONLY = (process.env.PARTS || "").split(" ").filter(Boolean);
const MIB = 1 << 20;
const built = (name) => path.join(root, "build/bench", name);

// A tenth of a millisecond of work, ten times a second. Every third program is a copy, as
// those of containers are.
function startProcesses() {
  const perl = "while (1) { select undef, undef, undef, 0.1; $x += $_ for 1 .. 1000 }";
  const python = "import time\nwhile True:\n time.sleep(0.1)\n sum(range(2000))";
  return Array.from({ length: PROCESSES }, (_, i) => {
    if (i % 3 === 0) return spawn("/usr/bin/python3", ["-c", python], { stdio: "ignore" });
    let file = "/usr/bin/perl";
    if (i % 3 === 1) {
      file = path.join(runDir, `perl${i % 40}`);
      if (!fs.existsSync(file)) fs.copyFileSync("/usr/bin/perl", file);
    }
    return spawn(file, ["-e", perl], { stdio: "ignore" });
  });
}

function cpuSeconds(pid) {
  let ns = 0;
  for (const t of fs.readdirSync(`/proc/${pid}/task`))
    ns += Number(fs.readFileSync(`/proc/${pid}/task/${t}/schedstat`, "utf8").split(" ")[0]);
  return ns / 1e9;
}
const residentMiB = (pid) =>
  Number(/^VmRSS:\s+(\d+)/m.exec(fs.readFileSync(`/proc/${pid}/status`, "utf8"))[1]) / 1024;

async function bpfUse(node) {
  await sleep(1500); // the agent's statistics are at most one second old
  return {
    runs: await node.metric("coroot_node_agent_bpf_runs_total"),
    seconds: await node.metric("coroot_node_agent_bpf_run_seconds_total"),
    cpu: cpuSeconds(node.pid),
    at: Date.now(),
  };
}

const startAgent = (receiver, mode, cacheDir) =>
  startNode({
    collector: receiver.url,
    interval: "30s",
    args: [`--unwinding=${mode}`, `--cache-dir=${cacheDir}`],
  });

async function windowCost(node) {
  const before = await bpfUse(node);
  await sleep(WINDOW * 1000);
  const after = await bpfUse(node);
  const bpf = after.seconds - before.seconds;
  const percent = (seconds) => `${((1e5 * seconds) / (after.at - before.at)).toFixed(2)} %`;
  return (
    `${percent(after.cpu - before.cpu + bpf)} of one core, ${percent(bpf)} of that in BPF ` +
    `(${Math.round((bpf * 1e9) / (after.runs - before.runs))} ns per sample)`
  );
}

async function agentMemory(node, mode) {
  const tables =
    mode === "tables" ? await node.metric("coroot_node_agent_unwind_bytes", 'use="allocated"') : 0;
  const maps = ((await node.metric("coroot_node_agent_bpf_map_bytes")) + tables) / MIB;
  return `${residentMiB(node.pid).toFixed(1)} MiB resident, ${maps.toFixed(1)} MiB in maps`;
}

// Rows of 35 s after the start, when there are tables and the first profile, and of WARM seconds.
async function agentCost(receiver, mode, cacheDir) {
  const node = await startAgent(receiver, mode, cacheDir);
  const rows = [];
  for (const seconds of [35, WARM]) {
    await sleep(Math.max(node.startedAt + seconds * 1000 - Date.now(), 0));
    const cost = await windowCost(node);
    const whole = await node.metric("coroot_node_agent_samples_unwound_total", 'end="complete"');
    const all = await node.metric("coroot_node_agent_samples_profiled_total");
    rows.push([
      `node-agent, --unwinding=${mode}, from ${seconds} s after its start`,
      cost,
      await agentMemory(node, mode),
      `${((100 * whole) / all).toFixed(1)} % of all samples whole`,
    ]);
  }
  await node.stop();
  return rows;
}

async function perfCost(graph) {
  const file = path.join(runDir, "perf.data");
  const child = spawn(
    "perf",
    ["record", "-q", "-a", "-F", "99", "-e", "cpu-clock", ...graph, "-o", file],
    { stdio: "ignore" },
  );
  await sleep(5000);
  const [cpu, size, at] = [cpuSeconds(child.pid), fs.statSync(file).size, Date.now()];
  await sleep(WINDOW * 1000);
  const wall = (Date.now() - at) / 1000;
  const used = cpuSeconds(child.pid) - cpu;
  const bytes = fs.statSync(file).size - size;
  const rss = residentMiB(child.pid);
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGINT");
  await ended;
  fs.rmSync(file);
  return [
    `perf record ${graph.join(" ")}`,
    `${((100 * used) / wall).toFixed(2)} % of one core, without what it does in interrupts`,
    `${rss.toFixed(1)} MiB resident`,
    `${((bytes / wall) * (60 / MIB)).toFixed(1)} MiB a minute to disk`,
  ];
}

const SIMILAR = 100;
const CALLS = 20;

// Processes whose stacks have as many functions of the language.
function similar(language) {
  const calls = `def f(n):\n if n: return f(n - 1)\n return sum(range(2000))\n`;
  const script = `import time\n${calls}while True:\n time.sleep(0.1)\n f(${CALLS})`;
  const [command, ...args] =
    language === "Python" ? ["/usr/bin/python3", "-c", script] : [built("calls"), String(CALLS)];
  return Array.from({ length: SIMILAR }, () => spawn(command, args, { stdio: "ignore" }));
}

async function similarCost(receiver, cacheDir, language) {
  const children = similar(language);
  process.on("exit", () => children.forEach((c) => c.kill("SIGKILL")));
  const node = await startAgent(receiver, "tables", cacheDir);
  await sleep(35000); // tables, and the first profile
  const cost = await windowCost(node);
  const frames = (result) =>
    node.metric("coroot_node_agent_interpreter_frames_total", result && `result="${result}"`);
  const [named, all] = [await frames("named"), await frames("")];
  const memory = await agentMemory(node, "tables");
  await node.stop();
  for (const c of children) c.kill("SIGKILL");
  return [
    `beside ${SIMILAR} more of ${language}, ${CALLS} calls deep`,
    cost,
    memory,
    all > 0 ? `${((100 * named) / all).toFixed(2)} % of the frames of interpreters named` : "",
  ];
}

// CPU time until the agent has sampled this node for ten seconds.
async function startCost(receiver, what, cacheDir) {
  const node = await startAgent(receiver, "tables", cacheDir);
  await sleep(10000);
  const cpu = cpuSeconds(node.pid);
  const build = await node.metric("coroot_node_agent_unwind_build_seconds_total");
  const tables = await node.metric("coroot_node_agent_unwind_tables");
  await node.stop();
  return [
    `start, ${what}`,
    `${cpu.toFixed(3)} s of CPU time in ten seconds`,
    `${build.toFixed(3)} s of that for ${tables} tables`,
    "",
  ];
}

async function stormCost(receiver, cacheDir) {
  const node = await startAgent(receiver, "tables", cacheDir);
  await sleep(15000);
  const before = { cpu: cpuSeconds(node.pid), rss: residentMiB(node.pid) };
  const [ended, seconds] = execFileSync(built("fork_storm"), ["6000", "6"]).toString().split(" ");
  const stormed = cpuSeconds(node.pid) - before.cpu;
  await sleep(30000); // longer than a process is remembered
  const after = { rss: residentMiB(node.pid) };
  const lost = await node.metric("coroot_node_agent_unwind_lost_total");
  const events = await node.metric("coroot_node_agent_process_events_lost_total");
  await eventually("it answers", async () => (await fetch(`${node.url}/healthz`)).ok);
  await node.stop();
  return [
    `a storm of ${ended} processes in ${Number(seconds)} s`,
    `${stormed.toFixed(2)} s of CPU time`,
    `${before.rss.toFixed(1)} MiB resident before, ${after.rss.toFixed(1)} MiB half a minute later`,
    `lost: ${lost} tables or processes, ${events} events`,
  ];
}

// Processes of a compiler driver live for some hundredths of a second.
function startCompilers() {
  const source = path.join(runDir, "storm.c");
  const lines = Array.from({ length: 200 }, (_, i) => `int f${i}(int x) { return x * ${i} + 1; }`);
  fs.writeFileSync(source, `#include <stdio.h>\n#include <stdlib.h>\n${lines.join("\n")}\n`);
  const loop = `while :; do gcc -O1 -c -o /dev/null ${source}; done`;
  return Array.from({ length: COMPILERS }, () =>
    spawn("/bin/sh", ["-c", loop], { stdio: "ignore", detached: true }),
  );
}

async function unwound(node) {
  return {
    whole: await node.metric("coroot_node_agent_samples_unwound_total", 'end="complete"'),
    all: await node.metric("coroot_node_agent_samples_profiled_total"),
    cpu: cpuSeconds(node.pid),
  };
}

async function compilersCost(receiver, cacheDir) {
  const node = await startAgent(receiver, "tables", cacheDir);
  const compilers = startCompilers();
  await sleep(35000); // tables, and the first profile
  const before = await unwound(node);
  await sleep(WINDOW * 1000);
  const after = await unwound(node);
  const rss = residentMiB(node.pid);
  for (const c of compilers) process.kill(-c.pid, "SIGKILL");
  await node.stop();
  const [whole, all] = [after.whole - before.whole, after.all - before.all];
  return [
    `${COMPILERS} compilers that run one after the other`,
    `${((100 * (after.cpu - before.cpu)) / WINDOW).toFixed(2)} % of one core`,
    `${rss.toFixed(1)} MiB resident`,
    `${((100 * whole) / all).toFixed(1)} % of ${all} samples whole`,
  ];
}

async function main() {
  const statsFile = "/proc/sys/kernel/bpf_stats_enabled";
  const statsBefore = fs.readFileSync(statsFile, "utf8");
  const processes = startProcesses();
  process.on("exit", () => {
    fs.writeFileSync(statsFile, statsBefore);
    for (const p of processes) p.kill("SIGKILL");
  });
  fs.writeFileSync(statsFile, "1");
  await sleep(2000);
  const receiver = await new ProfileReceiver([]).start();
  const cacheDir = path.join(runDir, "tables");
  const parts = {
    start: async () => [
      await startCost(receiver, "nothing on disk", cacheDir),
      await startCost(receiver, "tables on disk", cacheDir),
    ],
    agent: async () => [
      ...(await agentCost(receiver, "tables", cacheDir)),
      ...(await agentCost(receiver, "frame-pointers", cacheDir)),
    ],
    perf: async () => [await perfCost(["-g"]), await perfCost(["--call-graph", "dwarf,16384"])],
    languages: async () => [
      await similarCost(receiver, cacheDir, "C"),
      await similarCost(receiver, cacheDir, "Python"),
    ],
    storm: async () => [await stormCost(receiver, cacheDir)],
    compilers: async () => [await compilersCost(receiver, cacheDir)],
  };
  const rows = [];
  for (const [name, part] of Object.entries(parts))
    if (ONLY.length === 0 || ONLY.includes(name)) rows.push(...(await part()));
  receiver.stop();
  console.log(
    `\n${PROCESSES} processes without frame pointers; ${os.cpus()[0].model}, ` +
      `${os.cpus().length} cores, load ${os.loadavg()[0].toFixed(0)}, 99 Hz\n`,
  );
  console.log("| what | CPU | memory | |\n|---|---|---|---|");
  for (const r of rows) console.log(`| ${r.join(" | ")} |`);
  process.exit(0);
}

main().catch((e) => {
  console.error(e);
  process.exit(1);
});
