// "make bench-ingest": the path of an upload through the cluster-agent with the embedded engine, on
// one core, as Markdown tables. The least of several rounds is taken of what one thread does
// (ingest/ingest_cost.c). Whole agents are measured by CPU time, from the first byte sent until the
// last row can be queried, and compared with what inserting the same rows into the same engine
// costs without an agent around it (ingest/ingest_insert.c), in the same run. ROUNDS=3 of each
// comparison are made, and the median taken.
"use strict";

const { execFileSync, spawn } = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { Daemon, clusterAgent, freePort, root, scratch } = require("../e2e/lib/daemon");
const { sql } = require("../e2e/lib/query");
const { eventually, sleep } = require("../e2e/lib/wait");

const ROUNDS = Number(process.env.ROUNDS || 3);
const SECONDS = Number(process.env.SECONDS || 10);
const CPU = process.env.CPU || "0";
const bin = (name) => path.join(root, "build/release/test/bench", name);
const OTHER_CPUS =
  os.cpus().length > 1
    ? [...os.cpus().keys()].filter((i) => String(i) !== CPU).join(",")
    : CPU;
const FILES = fs
  .readdirSync(path.join(__dirname, "ingest/profiles"))
  .map((f) => path.join(__dirname, "ingest/profiles", f));

const run = (cpus, command, ...args) =>
  new Promise((resolve, reject) => {
    const child = spawn("taskset", ["-c", cpus, command, ...args], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    let text = "";
    child.stdout.on("data", (d) => (text += d));
    child.on("exit", (code) =>
      code === 0
        ? resolve(text.trim().split("\n").map((l) => JSON.parse(l)))
        : reject(new Error(`${command} ${args.join(" ")}: exit code ${code}`)),
    );
  });

async function startAgent() {
  const port = await freePort();
  const sqlPort = await freePort();
  const dataDir = scratch("data");
  const args = [
    `--listen=127.0.0.1:${port}`,
    `--clickhouse-listen=127.0.0.1:${sqlPort}`,
    `--data-dir=${dataDir}`,
  ];
  const agent = new Daemon("taskset", ["-c", CPU, clusterAgent, ...args], {
    name: "cluster-agent",
    url: `http://127.0.0.1:${port}`,
  });
  Object.assign(agent, { port, sqlPort, dataDir });
  return agent.ready("/readyz");
}

async function stopAgent(agent) {
  await agent.stop();
  fs.rmSync(agent.dataDir, { recursive: true, force: true });
}

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

const countRows = async (agent, table) =>
  (await sql(agent, `SELECT count() AS n FROM ${table}`))[0].n;

// One row of profiling_quality per type and upload.
const committed = (agent, rows) =>
  eventually(`${rows} rows`, async () => (await countRows(agent, "profiling_quality")) >= rows);

const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];
const types = { new: 1, known: 1 };

// From the first byte to rows that can be queried. Profiles that are to be known are sent before.
async function flood(kind) {
  const agent = await startAgent();
  const what = kind === "files" ? FILES : [kind];
  const before = { rss: statusMiB(agent.pid, "VmRSS") };
  if (kind !== "new") {
    await run(OTHER_CPUS, bin("ingest/ingest_flood"), String(agent.port), "0", ...what);
    await sleep(2000);
  }
  before.rows = await countRows(agent, "profiling_quality");
  before.cpu = cpuSeconds(agent.pid);
  before.ms = Date.now();
  const [sent] = await run(
    OTHER_CPUS,
    bin("ingest/ingest_flood"),
    String(agent.port),
    String(SECONDS),
    ...what,
  );
  await committed(agent, before.rows + sent.uploads * (types[kind] ?? 1));
  const cpu = cpuSeconds(agent.pid) - before.cpu;
  const wall = (Date.now() - before.ms) / 1000;
  await sql(agent, "OPTIMIZE TABLE profiling_samples FINAL").catch(() => {});
  const disk = await sql(
    agent,
    `SELECT name AS table, total_rows AS n, total_bytes AS bytes FROM system.tables
     WHERE database = currentDatabase() AND engine LIKE '%MergeTree'`,
  );
  const result = {
    ...sent,
    cpu,
    wall,
    disk: Object.fromEntries(disk.map((d) => [d.table, d])),
    rssBefore: before.rss,
    rssPeak: statusMiB(agent.pid, "VmHWM"),
    logBytes: await agent.metric("cluster_agent_wal_appended_bytes_total").catch(() => 0),
    logUploads: await agent.metric("cluster_agent_wal_appends_total").catch(() => 0),
  };
  await stopAgent(agent);
  return result;
}

async function compare(kind) {
  const rounds = [];
  for (let i = 0; i < ROUNDS; i++) {
    const agent = await flood(kind);
    const what = kind === "files" ? FILES : [kind];
    // batches as large as those of the agent, which makes about one a second
    const rows = Math.max(1000, Math.round(agent.stacks / agent.wall));
    const [bare] = await run(
      CPU,
      bin("ingest/ingest_insert"),
      scratch("bare"),
      String(agent.uploads),
      String(rows),
      ...what,
    );
    rounds.push({
      agent,
      bare,
      cpuRatio: bare.cpu / bare.uploads / (agent.cpu / agent.uploads),
      wallRatio: bare.wall / bare.uploads / (agent.wall / agent.uploads),
    });
  }
  return rounds;
}

async function steady(settings, seconds) {
  const agent = await startAgent();
  const args = Object.entries({ ...settings, SECONDS: seconds }).map(([k, v]) => `${k}=${v}`);
  const url = `${agent.url}/v1/profiles`;
  const idle = { cpu: cpuSeconds(agent.pid), ms: Date.now() };
  await sleep(5000);
  const from = { cpu: cpuSeconds(agent.pid), ms: Date.now() };
  const sending = run(OTHER_CPUS, bin("senders/senders"), ...args, url);
  const skip = Math.min(settings.INTERVAL * 1000 + 2000, (seconds * 1000) / 3);
  await sleep(skip);
  const before = { cpu: cpuSeconds(agent.pid), ms: Date.now() };
  const rss = [];
  while (Date.now() < from.ms + seconds * 1000) {
    rss.push(statusMiB(agent.pid, "VmRSS"));
    await sleep(1000);
  }
  const after = { cpu: cpuSeconds(agent.pid), ms: Date.now() };
  const last = (await sending).at(-1);
  await stopAgent(agent);
  const share = (a, b) => ((b.cpu - a.cpu) * 1000) / (b.ms - a.ms);
  return { last, idle: share(idle, from), share: share(before, after), rss };
}

const say = (...cells) => console.log(`| ${cells.join(" | ")} |`);
const percent = (x) => `${(100 * x).toFixed(0)} %`;
const thousands = (x) => Math.round(x).toLocaleString("en-US");

async function printCosts() {
  const rows = await run(CPU, bin("ingest/ingest_cost"), ...FILES);
  console.log(
    "\nBytes → frames, one thread:\n\n| profiles | stacks of frames | inflated bytes per stack " +
      "| inflate, MB/s | inflate and decode, MB/s | new, stacks/s | known, stacks/s " +
      "| bytes in the log, new and known |\n|---|---|---|---|---|---|---|---|",
  );
  for (const r of rows)
    say(
      r.name,
      `${r.stacks / r.profiles} of ${r.depth.toFixed(1)}`,
      (r.inflated / r.stacks).toFixed(0),
      ((r.inflated * 1e3) / r.inflateNs).toFixed(0),
      ((r.inflated * 1e3) / r.decodeNs).toFixed(0),
      thousands((r.stacks * 1e9) / r.newNs),
      thousands((r.stacks * 1e9) / r.knownNs),
      `${(r.newBytes / r.stacks).toFixed(0)} and ${(r.knownBytes / r.stacks).toFixed(1)}`,
    );
  return Object.fromEntries(rows.map((r) => [r.name, r]));
}

async function printComparisons(costs) {
  console.log(
    "\nSocket → rows that can be queried, all threads on one core:\n\n" +
      "| profiles | per CPU second: profiles, stacks, MB inflated | per second: profiles " +
      "| of the bare insert, by CPU (by time) | gunzip + decode, of the CPU time " +
      "| stored, bytes per row of stacks and samples | log, bytes per stack " +
      "| peak of memory, MiB (before) |\n|---|---|---|---|---|---|---|---|",
  );
  for (const kind of ["new", "known", "files"]) {
    const rounds = await compare(kind);
    const ratio = median(rounds.map((r) => r.cpuRatio));
    const { agent } = rounds.find((r) => r.cpuRatio === ratio);
    const decode = costs[kind === "files" ? "all files" : "random, 1000"];
    const perRow = (t) =>
      agent.disk[t] ? (agent.disk[t].bytes / agent.disk[t].n).toFixed(1) : "–";
    say(
      kind,
      `${thousands(agent.uploads / agent.cpu)}, ${thousands(agent.stacks / agent.cpu)}, ` +
        `${(agent.inflated / agent.cpu / 1e6).toFixed(0)}`,
      thousands(agent.uploads / agent.wall),
      `${percent(ratio)} (${percent(median(rounds.map((r) => r.wallRatio)))})`,
      percent((decode.decodeNs / decode.stacks / 1e9) * (agent.stacks / agent.cpu)),
      `${perRow("profiling_stacks")}, ${perRow("profiling_samples")}`,
      (agent.logBytes / agent.logUploads / (agent.stacks / agent.uploads)).toFixed(1),
      `${agent.rssPeak.toFixed(0)} (${agent.rssBefore.toFixed(0)})`,
    );
    if (process.env.VERBOSE) console.error(JSON.stringify(rounds));
  }
}

async function printSteady() {
  const nodes = { NODES: 64, CONTAINERS: 20, INTERVAL: 10, SERVICES: 100, SAMPLES: 200 };
  const cluster = await steady(nodes, 60);
  const lone = await steady({ NODES: 4, CONTAINERS: 1, INTERVAL: 1, SERVICES: 4, SAMPLES: 50 }, 30);
  const growth = cluster.rss;
  console.log("\n| what | measured | target |\n|---|---|---|");
  say("64 nodes × 20 profiles in 10 s: CPU of one core", percent(cluster.share), "< 25 %");
  say(
    "… answered after",
    `${cluster.last.p50.toFixed(1)} ms (median), ${cluster.last.p99.toFixed(1)} ms (99 %)`,
    "",
  );
  say(
    "… resident memory, first and last, most",
    `${growth[0].toFixed(0)}, ${growth.at(-1).toFixed(0)}, ${Math.max(...growth).toFixed(0)} MiB`,
    "flat, < 200 MiB plus the engine",
  );
  say("… profiles, refused", `${cluster.last.answered}, ${cluster.last.refused}`, "0 refused");
  say(
    "a lone profile, four a second: answered after",
    `${lone.last.p50.toFixed(1)} ms (median), ${lone.last.p99.toFixed(1)} ms (99 %)`,
    "< 30 ms",
  );
  say("idle: CPU of one core", `${(100 * cluster.idle).toFixed(1)} %`, "");
}

async function main() {
  console.log(
    `${os.cpus()[0].model}, ${os.cpus().length} cores, kernel ${os.release()}, ` +
      `load ${os.loadavg()[0].toFixed(0)}`,
  );
  const costs = await printCosts();
  await printComparisons(costs);
  await printSteady();
}

main().then(
  () => process.exit(),
  (e) => {
    console.error(e);
    process.exit(1);
  },
);
