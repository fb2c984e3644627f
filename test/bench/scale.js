// "make bench-scale": what a cluster of NODES=1000 nodes costs its receivers and their store. One
// program (senders/) plays the nodes, each with CONTAINERS=20 containers whose profiles it sends
// once per INTERVAL=60 seconds, for SECONDS=300, to AGENTS=3 cluster-agents that share one store
// (clickhouse-test-server). AGENTS=0 is a single one with the embedded engine. Every container
// then has profiles of SAMPLES=1200 observations of SERVICES=400 different programs. CPU figures
// leave out the first interval, in which no stack is known yet. Prints a Markdown table.
"use strict";

const { spawn } = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const readline = require("node:readline");
const { root, startCluster } = require("../e2e/lib/daemon");
const { CPU, api, sql } = require("../e2e/lib/query");
const { eventually, sleep } = require("../e2e/lib/wait");
const { startStore, storeArgs } = require("../soak/lib/store_server");

const number = (name, value) => Number(process.env[name] || value);
const AGENTS = number("AGENTS", 3);
const load = {
  NODES: number("NODES", 1000),
  CONTAINERS: number("CONTAINERS", 20),
  SERVICES: number("SERVICES", 400),
  INTERVAL: number("INTERVAL", 60),
  SECONDS: number("SECONDS", 300),
  SAMPLES: number("SAMPLES", 1200),
  POOL: number("POOL", 2000),
  NEW: number("NEW", 2000),
};

// CPU time of all threads, those that have exited included.
function cpuSeconds(pid) {
  const [, fields] = fs.readFileSync(`/proc/${pid}/stat`, "utf8").split(") ");
  const [user, system] = fields.split(" ").slice(11, 13).map(Number);
  return (user + system) / 100;
}
const statusMiB = (pid, key) =>
  Number(
    new RegExp(`^${key}:\\s+(\\d+)`, "m").exec(fs.readFileSync(`/proc/${pid}/status`, "utf8"))[1],
  ) / 1024;

function startSenders(agents) {
  const program = path.join(root, "build/release/test/bench/senders/senders");
  const child = spawn(
    program,
    [
      ...Object.entries(load).map(([k, v]) => `${k}=${v}`),
      ...agents.map((a) => `${a.url}/v1/profiles`),
    ],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  process.on("exit", () => child.kill("SIGKILL"));
  const lines = [];
  const done = (async () => {
    for await (const line of readline.createInterface(child.stdout)) {
      lines.push(JSON.parse(line));
      if (process.env.VERBOSE) console.error(line);
    }
    return lines.at(-1);
  })();
  return { pid: child.pid, lines, done };
}

const cpuOf = (processes) =>
  Object.fromEntries(Object.entries(processes).map(([k, p]) => [k, cpuSeconds(p.pid)]));

// How many bytes the logs of all agents have at most while it runs.
function followLog(agents) {
  const seen = { max: 0, end: false };
  seen.done = (async () => {
    while (!seen.end) {
      const size = (a) => a.metric("cluster_agent_wal_bytes");
      const sizes = await Promise.all(agents.map(size));
      seen.max = Math.max(
        seen.max,
        sizes.reduce((a, b) => a + b),
      );
      await sleep(500);
    }
  })();
  return seen;
}

async function timeOf(repeat, fn) {
  const times = [];
  for (let i = 0; i < repeat; i++) {
    const from = performance.now();
    await fn();
    times.push(performance.now() - from);
  }
  return times.sort((a, b) => a - b)[repeat >> 1];
}

async function main() {
  const store = AGENTS ? await startStore() : null;
  const agents = [];
  for (let i = 0; i < (AGENTS || 1); i++)
    agents.push(await startCluster(store ? { storage: storeArgs(store.port) } : {}));
  const at = store ?? agents[0];
  const startMs = Date.now();
  const senders = startSenders(agents);
  const processes = { ...agents, senders };
  if (store) processes.store = store;
  await sleep(load.INTERVAL * 1000 + 5000);
  const log = followLog(agents);
  const before = { cpu: cpuOf(processes), ms: Date.now(), last: senders.lines.at(-1) };
  await sleep(startMs + load.SECONDS * 1000 - Date.now());
  const after = { cpu: cpuOf(processes), ms: Date.now(), last: senders.lines.at(-1) };
  const total = await senders.done;
  log.end = true;
  await log.done;

  const rows = async () => (await sql(at, "SELECT count() AS n FROM profiling_quality"))[0].n;
  await eventually("all profiles in the tables", async () => (await rows()) >= total.answered);
  const stored = await rows();
  const wall = (after.ms - before.ms) / 1000;
  const share = (k) => (after.cpu[k] - before.cpu[k]) / wall;
  const rate = (k) =>
    (after.last[k] - before.last[k]) / (after.last.seconds - before.last.seconds);
  const disk = await sql(
    at,
    `SELECT name AS table, total_bytes AS bytes, total_rows AS n FROM system.tables
     WHERE name LIKE 'profiling%' AND engine LIKE '%MergeTree' ORDER BY table`,
  );
  const range = { from: startMs - 60000, to: Date.now() };
  const flame = { service: "/k8s/default/service-1", type: CPU, ...range };
  const steady = senders.lines.filter((l) => !l.last && l.seconds > load.INTERVAL + 5);
  const worst = (k) => Math.max(...steady.map((l) => l[k]));
  const percent = (x) => `${(100 * x).toFixed(1)} %`;

  console.log(
    `${os.cpus()[0].model}, ${os.cpus().length} cores, kernel ${os.release()}; ` +
      `${Object.entries(load).map(([k, v]) => `${k}=${v}`)} AGENTS=${AGENTS}\n`,
  );
  console.log("| what | measured |\n|---|---|");
  const say = (what, value) => console.log(`| ${what} | ${value} |`);
  say("profiles per second", rate("answered").toFixed(0));
  say(
    "stacks per second, MB per second (gzipped)",
    `${rate("stacks").toFixed(0)}, ${(rate("bytes") / 1e6).toFixed(1)}`,
  );
  for (const [i, a] of agents.entries())
    say(
      `cluster-agent ${i + 1}: CPU of one core, resident memory (peak)`,
      `${percent(share(i))}, ${statusMiB(a.pid, "VmRSS").toFixed(0)} ` +
        `(${statusMiB(a.pid, "VmHWM").toFixed(0)}) MiB`,
    );
  if (store)
    say(
      "store: CPU of one core, resident memory",
      `${percent(share("store"))}, ${statusMiB(store.pid, "VmRSS").toFixed(0)} MiB`,
    );
  say("senders: CPU of one core", percent(share("senders")));
  say(
    "answered with 200 after",
    `${total.p50.toFixed(1)} ms (median), ${total.p99.toFixed(1)} ms (99 %); ` +
      `worst ten seconds: ${worst("p99").toFixed(1)} ms (99 %)`,
  );
  say("answers 5xx or none, sent again", `${total.refused} and ${total.failed}`);
  say("largest backlog of all logs", `${(log.max / 1e6).toFixed(1)} MB`);
  say("answered with 200, profiles in the tables", `${total.answered}, ${stored}`);
  for (const d of disk)
    say(`${d.table}: rows, bytes on disk`, `${d.n}, ${(d.bytes / 1e6).toFixed(1)} MB`);
  const samples = load.SAMPLES * total.answered;
  const bytes = disk.reduce((sum, d) => sum + d.bytes, 0);
  say("on disk per million observations", `${(bytes / samples).toFixed(1)} MB`);
  say(
    "flame graph of one application, all its containers, the whole time",
    `${(await timeOf(5, () => api(agents[0], "flamegraph", flame))).toFixed(0)} ms`,
  );
  say(
    "list of applications",
    `${(await timeOf(5, () => api(agents[0], "applications", range))).toFixed(0)} ms`,
  );
  if (stored !== total.answered) process.exitCode = 1;
  for (const d of [...agents, ...(store ? [store] : [])]) await d.stop();
}

main().then(
  () => process.exit(),
  (e) => {
    console.error(e);
    process.exit(1);
  },
);
