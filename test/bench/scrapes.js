// "make bench-scrapes": what a cluster-agent costs that scrapes PODS=5000 pods, five profiles
// of each a minute, and forwards them, as a Markdown table. One program (simulation/) plays
// everything around the agent, and checks when each endpoint was scraped and whether the
// uploads add up to what it served. Runs for MINUTES=4; the CPU figure leaves out the first, in
// which the pods are found.
"use strict";

const { spawn } = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const readline = require("node:readline");
const { clusterAgent, Daemon, freePort, root, scratch } = require("../e2e/lib/daemon");
const { eventually, sleep } = require("../e2e/lib/wait");

const PODS = Number(process.env.PODS || 5000);
const MINUTES = Number(process.env.MINUTES || 4);
const CONCURRENCY = Number(process.env.CONCURRENCY || 2000);
const INTERVAL_S = 60;
const CPU_S = 10;

async function startSimulation() {
  const args = [`-pods=${PODS}`, `-interval=${INTERVAL_S}s`];
  const child = spawn(path.join(root, "build/bench/simulation"), args, {
    stdio: ["ignore", "pipe", "inherit"],
  });
  process.on("exit", () => child.kill("SIGKILL"));
  for await (const line of readline.createInterface(child.stdout))
    return { child, ...JSON.parse(line) };
  throw new Error("the simulation ended");
}

function writeKubeconfig(server) {
  const file = `${scratch("kubeconfig")}.json`;
  const config = {
    apiVersion: "v1",
    kind: "Config",
    "current-context": "simulation",
    contexts: [{ name: "simulation", context: { cluster: "simulation", user: "agent" } }],
    clusters: [{ name: "simulation", cluster: { server } }],
    users: [{ name: "agent", user: { token: "anything" } }],
  };
  fs.writeFileSync(file, JSON.stringify(config));
  return file;
}

// The agent has a connection for each request that is under way, and keeps some idle ones: more
// descriptors than most shells allow.
async function startAgent(simulation) {
  const port = await freePort();
  const args = [
    `--listen=127.0.0.1:${port}`,
    `--kubeconfig=${writeKubeconfig(simulation.api)}`,
    `--coroot-url=${simulation.receiver}`,
    "--max-spool-size=0", // what one run leaves is not the next one's
    `--profiles-scrape-interval=${INTERVAL_S}s`,
    `--profiles-scrape-cpu-duration=${CPU_S}s`,
    `--profiles-scrape-concurrency=${CONCURRENCY}`,
  ];
  const raise = 'ulimit -Sn "$(ulimit -Hn)" && exec "$@"';
  const agent = new Daemon("/bin/sh", ["-c", raise, "sh", clusterAgent, ...args], {
    name: "cluster-agent",
    url: `http://127.0.0.1:${port}`,
  });
  return agent.ready("/healthz");
}

// CPU time of all threads, those that have exited included.
function cpuSeconds(pid) {
  const [, fields] = fs.readFileSync(`/proc/${pid}/stat`, "utf8").split(") ");
  const [user, system] = fields.split(" ").slice(11, 13).map(Number);
  return { user: user / 100, system: system / 100 };
}
const statusMiB = (pid, key) =>
  Number(
    new RegExp(`^${key}:\\s+(\\d+)`, "m").exec(fs.readFileSync(`/proc/${pid}/status`, "utf8"))[1],
  ) / 1024;

const report = async (simulation) => (await fetch(`${simulation.receiver}/report`)).json();

// Makes the pods serve nothing more. Once two seconds pass without an upload, everything that they
// served has arrived.
async function finish(simulation) {
  await fetch(`${simulation.receiver}/freeze`, { method: "POST" });
  let last = -1;
  return eventually(
    "all uploads",
    async () => {
      await sleep(2000);
      const r = await report(simulation);
      const quiet = r.uploads === last;
      last = r.uploads;
      return quiet && r;
    },
    60000,
  );
}

function table(m, r) {
  const percent = (x, digits = 1) => `${(x * 100).toFixed(digits)} %`;
  const total = Object.values(r.scrapes).reduce((a, b) => a + b, 0);
  const p = r.punctuality;
  return [
    ["resident memory", `${m.rss.toFixed(1)} MiB (peak ${m.peak.toFixed(1)} MiB)`, "< 150 MiB"],
    [
      "CPU, of one core",
      `${percent(m.user + m.system)} (user ${percent(m.user)}, system ${percent(m.system)})`,
      "< 50 %",
    ],
    [
      "scrapes within 1 s of their slot",
      `${percent(p.onTime, 2)} of ${p.gaps} ` +
        `(half within ${p.p50} s, 99 % within ${p.p99} s, all within ${p.max} s)`,
      "≥ 99 %",
    ],
    [
      "under way at once",
      `${r.inFlight.average.toFixed(0)} on average, ${r.inFlight.max} at most`,
      "≥ 500",
    ],
    [
      "profiles",
      `${total} scraped, ${r.uploads} uploaded ` +
        `(${(r.uploadedBytes / 1024 / r.uploads).toFixed(1)} KiB and ` +
        `${Math.round(r.uploadedSamples / r.uploads)} stacks each)`,
      "",
    ],
    [
      "sums of service and type that differ from what was served",
      String(r.differences.length),
      "0",
    ],
  ];
}

async function main() {
  const simulation = await startSimulation();
  const agent = await startAgent(simulation);
  await sleep(60000);
  const before = { ...cpuSeconds(agent.pid), at: Date.now() };
  await sleep((MINUTES - 1) * 60000);
  const after = { ...cpuSeconds(agent.pid), at: Date.now() };
  const wall = (after.at - before.at) / 1000;
  const measured = {
    user: (after.user - before.user) / wall,
    system: (after.system - before.system) / wall,
    rss: statusMiB(agent.pid, "VmRSS"),
    peak: statusMiB(agent.pid, "VmHWM"),
  };
  const r = await finish(simulation);
  const result = await agent.stop();
  simulation.child.kill();
  if (result.code !== 0)
    throw new Error(`the cluster-agent ended with ${JSON.stringify(result)}: ${agent.log()}`);

  console.log(
    `${os.cpus()[0].model}, ${os.cpus().length} cores, kernel ${os.release()}, ` +
      `${PODS} pods, ${MINUTES} minutes\n`,
  );
  console.log("| what | measured | target |\n|---|---|---|");
  for (const row of table(measured, r)) console.log(`| ${row.join(" | ")} |`);
  for (const d of r.differences.slice(0, 20)) console.log(d);
  if (Object.keys(r.refused).length > 0) console.log("refused:", JSON.stringify(r.refused));
  if (r.differences.length > 0) process.exitCode = 1;
}

main().catch((e) => {
  console.error(e);
  process.exit(1);
});
