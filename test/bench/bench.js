// "make bench-node": what the node-agent costs under full load of every core, as a Markdown
// table. The load is SECONDS=60 of call chains of 30 frames over PATHS=8192 distinct stacks,
// measured after a warm-up of WARMUP=75 s, in which the first two profiles are made. Needs
// root.
"use strict";

const { execFileSync, spawn } = require("node:child_process");
const fs = require("node:fs");
const http = require("node:http");
const os = require("node:os");
const path = require("node:path");
const { root, startNode } = require("../e2e/lib/daemon");
const { summary } = require("../e2e/lib/pprof");
const { sleep } = require("../e2e/lib/wait");

const SECONDS = Number(process.env.SECONDS || 60);
const WARMUP = Number(process.env.WARMUP || 75);
const PATHS = Number(process.env.PATHS || 8192);
const HZ = 99;
const cores = os.cpus().length;
const built = (name) => path.join(root, "build/bench", name);

// Receives every upload and refuses none, so that only the cost of the agent is measured.
function startSink() {
  const sink = { profiles: 0, bytes: 0, samples: 0, stacks: 0, lost: 0 };
  const bodies = [];
  const server = http.createServer((req, res) => {
    const chunks = [];
    req.on("data", (c) => chunks.push(c));
    req.on("end", () => {
      // the first request asks whether the server is there, and has none
      if (chunks.length > 0) bodies.push(Buffer.concat(chunks));
      res.end();
    });
  });
  sink.finish = () => {
    server.close();
    for (const body of bodies) {
      const s = summary(body);
      sink.profiles++;
      sink.bytes += body.length;
      sink.samples += s.samples;
      sink.stacks += s.stacks;
      // every profile of an interval repeats the node's losses: the sum is an upper bound
      for (const c of s.comments) sink.lost += Number(/^lost:.*=(\d+)$/.exec(c)?.[1] ?? 0);
    }
    return sink;
  };
  return new Promise((resolve) =>
    server.listen(0, "127.0.0.1", () =>
      resolve(Object.assign(sink, { port: server.address().port })),
    ),
  );
}

// Runs one process per core; resolves when all have exited.
const load = (seconds) =>
  Promise.all(
    Array.from({ length: cores }, () => {
      const p = spawn(built("paths"), [String(seconds), String(PATHS)], { stdio: "ignore" });
      return new Promise((resolve) => p.once("exit", resolve));
    }),
  );

function cpuSeconds(pid) {
  let ns = 0;
  for (const t of fs.readdirSync(`/proc/${pid}/task`))
    ns += Number(fs.readFileSync(`/proc/${pid}/task/${t}/schedstat`, "utf8").split(" ")[0]);
  return ns / 1e9;
}
const statusMiB = (pid, key) =>
  Number(
    new RegExp(`^${key}:\\s+(\\d+)`, "m").exec(fs.readFileSync(`/proc/${pid}/status`, "utf8"))[1],
  ) / 1024;
// The kernel's statistics of the BPF program; the agent's are at most one second old.
async function bpfStats(node) {
  await sleep(1500);
  return {
    runs: await node.metric("coroot_node_agent_bpf_runs_total"),
    seconds: await node.metric("coroot_node_agent_bpf_run_seconds_total"),
  };
}

async function main() {
  const statsFile = "/proc/sys/kernel/bpf_stats_enabled";
  const statsBefore = fs.readFileSync(statsFile, "utf8");

  const floorLoad = load(7);
  await sleep(500);
  const floorNs = Number(execFileSync(built("bpf_floor"), [built("empty.bpf.o"), String(HZ), "5"]));
  await floorLoad;
  const costs = String(execFileSync(process.env.WALK_COST, ["999", "5000"]));
  const walk = Object.fromEntries(costs.trim().split("\n").map((line) => line.split(" ")));

  fs.writeFileSync(statsFile, "1");
  process.on("exit", () => fs.writeFileSync(statsFile, statsBefore));
  const sink = await startSink();
  const node = await startNode({ collector: `http://127.0.0.1:${sink.port}`, interval: "60s" });
  const readyMs = Date.now() - node.startedAt;
  await sleep(1000);
  const startCpu = cpuSeconds(node.pid);

  const loaded = load(WARMUP + SECONDS + 5);
  await sleep(WARMUP * 1000);
  const warmCpu = cpuSeconds(node.pid);
  const before = { cpu: warmCpu, stats: await bpfStats(node), at: Date.now() };
  before.cpu = cpuSeconds(node.pid);
  await sleep(SECONDS * 1000);
  const end = { stats: await bpfStats(node), cpu: cpuSeconds(node.pid), at: Date.now() };
  const rss = statusMiB(node.pid, "VmRSS");
  const peak = statusMiB(node.pid, "VmHWM");
  const mapBytes = await node.metric("coroot_node_agent_bpf_map_bytes");
  await loaded;
  const result = await node.stop();
  if (result.code !== 0)
    throw new Error(`the node-agent ended with ${JSON.stringify(result)}: ${node.log()}`);
  sink.finish();
  // CPU time of the BPF program until the agent stopped it
  const taken = Number(/ samples=(\d+) lost=\d+/.exec(node.log())[1]);

  const wall = (end.at - before.at) / 1000;
  const runs = end.stats.runs - before.stats.runs;
  const bpfSeconds = end.stats.seconds - before.stats.seconds;
  const rows = [
    [
      "BPF per sample of 30 frames",
      `${Math.round((bpfSeconds * 1e9) / runs)} ns (empty program: ${Math.round(floorNs)} ns)`,
      "< 5000 ns",
    ],
    [
      "— of 33 frames by tables",
      `${walk.by_table} ns (by frame pointers: ${walk.by_frame_pointer} ns)`,
      "≤ 2 times as much",
    ],
    ...[
      ["one_run", "— of 13 frames by tables and 20 of an interpreter", "≤ 2 times as much"],
      ...["PHP", "Ruby", "Perl"].map((l) => [l, `— with those of ${l}`, "≤ 2 times as much"]),
      ["many_runs", "— of 33 frames by tables, 20 of them with one of an interpreter", ""],
    ].map(([key, what, target]) => [
      what,
      `${walk[key]} ns (${(walk[key] / walk.by_table).toFixed(1)} times those 33)`,
      target,
    ]),
    [
      "agent, BPF included, of one core",
      `${(((end.cpu - before.cpu + bpfSeconds) / wall) * 100).toFixed(2)} %`,
      "< 0.3 %",
    ],
    ["— of that in BPF", `${((bpfSeconds / wall) * 100).toFixed(2)} %`, ""],
    ["resident memory", `${rss.toFixed(1)} MiB (peak ${peak.toFixed(1)} MiB)`, "< 20 MiB"],
    ["BPF maps", `${(mapBytes / (1 << 20)).toFixed(1)} MiB`, "< 16 MiB"],
    [
      "CPU for the start",
      `${startCpu.toFixed(3)} s (ready after ${readyMs} ms); ` +
        `${warmCpu.toFixed(3)} s with the first ${WARMUP} s of load`,
      "< 0.5 s",
    ],
    [
      "on the wire",
      `${(sink.bytes / sink.samples).toFixed(1)} bytes per sample, ` +
        `${sink.bytes} bytes in ${sink.profiles} profiles`,
      "",
    ],
    [
      "stacks sent, one for each path and interval",
      `${Math.round(sink.stacks / ((WARMUP + SECONDS + 5) / 60))} a minute`,
      "≥ 5000 a minute",
    ],
    [
      "samples delivered, of those taken",
      `${((sink.samples / taken) * 100).toFixed(2)} % ` +
        `(${sink.samples} of ${taken}; counted as lost: ${sink.lost})`,
      "≥ 99.9 %",
    ],
    [
      "samples taken, of those due",
      `${((runs / (wall * cores * HZ)) * 100).toFixed(2)} % of ${cores} busy cores × ${HZ} Hz`,
      "",
    ],
  ];
  console.log(
    `${os.cpus()[0].model}, ${cores} cores, kernel ${os.release()}, ${HZ} Hz, ` +
      `${SECONDS} s of full load after ${WARMUP} s\n`,
  );
  console.log("| what | measured | target |\n|---|---|---|");
  for (const r of rows) console.log(`| ${r.join(" | ")} |`);
}

main().catch((e) => {
  console.error(e);
  process.exit(1);
});
