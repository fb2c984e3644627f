// The JVM's half of "make bench-java": what profiling costs a JVM, and the agent that profiles it,
// as a Markdown table. Phases with and without --enable-java-async-profiler alternate; the agent
// runs in both. Needs root. ROUNDS pairs of phases of SECONDS each.
"use strict";

const fs = require("node:fs");
const http = require("node:http");
const { freePort } = require("../e2e/lib/daemon");
const { startJavaNode, startJvm, stateOf } = require("../e2e/lib/jvm");
const { eventually, sleep } = require("../e2e/lib/wait");

const ROUNDS = Number(process.env.ROUNDS || 5);
const SECONDS = Number(process.env.SECONDS || 20);
const WARM_UP_S = 20;
const INTERVAL_S = 10;

const median = (v) => [...v].sort((a, b) => a - b)[Math.floor(v.length / 2)];
const percent = (ratio) => `${ratio < 1 ? "" : "+"}${((ratio - 1) * 100).toFixed(1)} %`;

// CPU time of the threads of that name, or of all.
function cpuNs(pid, name) {
  let ns = 0;
  for (const t of fs.readdirSync(`/proc/${pid}/task`)) {
    const dir = `/proc/${pid}/task/${t}`;
    if (name && fs.readFileSync(`${dir}/comm`, "utf8").trim() !== name) continue;
    ns += Number(fs.readFileSync(`${dir}/schedstat`, "utf8").split(" ")[0]);
  }
  return ns;
}

// One phase; per is CPU time of the JVM per operation.
async function phase(jvm, collector, on) {
  const node = await startJavaNode({
    collector,
    jvms: [jvm],
    intervalS: INTERVAL_S,
    ...(on ? {} : { args: [] }),
  });
  const state = on ? "profiled" : "off";
  await eventually(state, async () => (await stateOf(node, jvm.name)) === state);
  const begin = await jvm.ask();
  const cpu = cpuNs(jvm.pid);
  const agent = cpuNs(node.pid, "java-profile");
  await sleep(SECONDS * 1000);
  const end = await jvm.ask();
  const operations = end["throughput.operations"] - begin["throughput.operations"];
  const seconds = (end.nowNs - begin.nowNs) / 1e9;
  const result = {
    per: (cpuNs(jvm.pid) - cpu) / operations,
    rate: operations / seconds,
    agentShare: (cpuNs(node.pid, "java-profile") - agent) / 1e9 / seconds,
    readSeconds: await node.metric("node_agent_java_recordings_cpu_seconds_total"),
    jfrBytes: await node.metric("node_agent_java_recorded_bytes_total"),
  };
  await node.stop();
  return result;
}

async function main() {
  const port = await freePort();
  http.createServer((q, a) => q.resume().on("end", () => a.end())).listen(port, "127.0.0.1");
  const jvm = await startJvm("jbench", {
    gc: "G1",
    flags: ["-Xmx512m"],
    activities: ["throughput"],
  });
  await sleep(WARM_UP_S * 1000);
  const pairs = [];
  for (let i = 0; i < ROUNDS; i++) {
    const collector = `http://127.0.0.1:${port}`;
    pairs.push({ off: await phase(jvm, collector, false), on: await phase(jvm, collector, true) });
  }
  await jvm.stop();
  const all = (f) => median(pairs.map(f));
  const range = (f) => {
    const v = pairs.map(f).sort((a, b) => a - b);
    return `${percent(v[0])} to ${percent(v[v.length - 1])}`;
  };
  const cpu = (p) => p.on.per / p.off.per;
  const rate = (p) => p.off.rate / p.on.rate;
  const perMb = all((p) => (p.on.readSeconds * 1e3) / (p.on.jfrBytes / 1e6));
  console.log(`
| what | measured | all pairs |
|---|---|---|
| CPU time of the JVM per operation, with profiling | ${percent(all(cpu))} | ${range(cpu)} |
| time per operation | ${percent(all(rate))} | ${range(rate)} |
| recording | ${(all((p) => p.on.jfrBytes) / 1e3 / SECONDS).toFixed(0)} kB/s | |
| agent's thread, of one core | ${(all((p) => p.on.agentShare) * 100).toFixed(2)} % | |
| agent's CPU time per MB of recording, parsed and made into profiles | ${perMb.toFixed(1)} ms | |
`);
  process.exit(0);
}

main();
