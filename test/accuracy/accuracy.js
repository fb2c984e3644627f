// "make accuracy": runs the workloads below the node-agent and below "perf record --call-graph
// dwarf" at once, judges the stacks of both (judge.js), prints a Markdown table, keeps it
// (proven.tsv), and fails if fewer than 99.9 % of the samples of any workload are whole and true.
// Needs root.
//
//   SECONDS=10              CPU time of each
//   HZ=499                  samples per second of each CPU
//   AT_ONCE=3               programs that run at the same time
//   ACCURACY="go go-cgo"    only these
//   VERBOSE=1               also what is wrong with stacks that do not count, and with perf's
"use strict";

process.env.RUN_DIR ??= "build/accuracy/run";

const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { root, runDir, startNode } = require("../e2e/lib/daemon");
const { eventually, sleep } = require("../e2e/lib/wait");
const { beginnings } = require("./chains");
const { STARTS, faultLines, judge, seenBy } = require("./judge");
const perf = require("./perf_stacks");
const { ProfileReceiver } = require("./profile_receiver");
const proven = require("./proven");
const { build, workloads } = require("./workloads");

const SECONDS = Number(process.env.SECONDS || 10);
const HZ = Number(process.env.HZ || 499);
const ONLY = (process.env.ACCURACY || "").split(" ").filter(Boolean);
const INTERVAL_S = 2;
const TARGET = 0.999;
// The time that a process has until the agent must have tables of its files; on an idle machine
// they are there after some hundredths of a second.
const YOUNG_MS = 3000;
const AT_ONCE = Number(process.env.AT_ONCE || 3);

const percent = (part, whole) => (whole > 0 ? `${((100 * part) / whole).toFixed(2)} %` : "–");

// Runs it below perf; returns perf's stacks when all profiles of that time have come.
async function run(workload, receiver) {
  const data = path.join(runDir, `${workload.name}.data`);
  const status = await perf.record(
    data,
    Math.min(HZ, 199),
    [...workload.command, String(SECONDS)],
    {
      bytes: workload.perfBytes,
      cwd: runDir,
    },
  );
  const ended = Date.now();
  if (status !== 0) throw new Error(`${workload.name} ended with ${status}`);
  await eventually("profiles of the next interval", () =>
    receiver.profiles.some(({ startMs }) => startMs > ended),
  );
  const { stacks, pids } = await perf.stacks(data);
  fs.rmSync(data);
  for (const pid of pids) fs.rmSync(`/tmp/perf-${pid}.map`, { force: true });
  return stacks;
}

// Judges all samples, those that are not of a young process, and perf's; prints what is wrong.
function compare(workload, { theirs, ours, names }, calls) {
  const { chains, jit, name } = workload;
  const first = Math.min(...ours.map((s) => s.startMs));
  const rules = { beginnings: chains && beginnings(chains), names, calls, program: name };
  const starts = workload.starts?.() ?? [];
  if (starts.length > 0)
    rules.starts = { test: (start) => STARTS.test(start) || starts.includes(start) };
  const perfs = judge(theirs, { ...rules, calls: undefined });
  // perf has few true stacks of some programs
  if (jit || perfs.good < perfs.samples / 2) delete rules.calls;
  const all = judge(ours, rules);
  const steady = judge(
    ours.filter((s) => s.startMs > first + YOUNG_MS),
    rules,
  );
  const good = steady.samples > 0 && steady.good >= TARGET * steady.samples;
  const row = [
    name,
    String(steady.samples),
    percent(steady.good, steady.samples),
    percent(all.good, all.samples),
    percent(perfs.good, perfs.samples),
  ];
  console.error(`${good ? "ok" : "FAIL"} ${row.join("  ")}`);
  for (const line of faultLines(steady, good ? 1 : 4)) console.error(line.slice(0, 600));
  if (process.env.VERBOSE) {
    const by = {};
    for (const s of ours) by[s.startMs] = (by[s.startMs] ?? 0) + s.count;
    console.error(by, theirs.length);
    for (const line of faultLines(all, 4)) console.error(`  all  ${line.slice(0, 600)}`);
    for (const line of faultLines(perfs)) console.error(`  perf ${line.slice(0, 400)}`);
  }
  const { samples, good: n } = steady;
  const of = { language: workload.language, program: name, release: workload.release(workload) };
  const proof = proven.row(of, { samples, good: n, whole: n, ...(chains && { names: n }) });
  return { row, proof, failed: !good };
}

// Waits until the agent has tables of what runs on this machine anyway; on one where new programs
// start all the time that never ends.
async function tablesAreBuilt(node) {
  for (let i = 0, quiet = 0; i < 60 && quiet < 4; i++) {
    await sleep(500);
    const built = await node.metric("coroot_node_agent_unwind_tables_built_total");
    const waiting = await node.metric("coroot_node_agent_unwind_tables_waiting");
    quiet = built > 0 && waiting === 0 ? quiet + 1 : 0;
  }
}

async function main() {
  const chosen = workloads.filter((w) => ONLY.length === 0 || ONLY.includes(w.name));
  for (const w of chosen) build(w);
  const receiver = await new ProfileReceiver(chosen.map((w) => w.name)).start();
  const node = await startNode({
    collector: receiver.url,
    interval: `${INTERVAL_S}s`,
    args: [
      `--profile-frequency=${HZ}`,
      "--line-numbers=false", // perf has no inlined calls
      ...(process.env.NODE_ARGS || "").split(" ").filter(Boolean),
    ],
  });
  await tablesAreBuilt(node);
  const runs = new Map();
  const calls = new Set();
  const waiting = [...chosen];
  const worker = async () => {
    for (let w; (w = waiting.shift());) {
      const theirs = await run(w, receiver);
      const names = seenBy(theirs, w.name, calls);
      runs.set(w, { theirs, ours: receiver.stacksOf(w.name), names });
      console.error(`${w.name} has run`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  await node.stop();
  receiver.stop();
  const results = new Map(chosen.map((w) => [w, compare(w, runs.get(w), calls)]));
  proven.record([...results.values()].map(({ proof }) => proof));
  const failed = [...results.values()].filter((r) => r.failed).length;
  console.log(
    `${os.cpus()[0].model}, ${os.cpus().length} cores, kernel ${os.release()}, ${HZ} Hz, ` +
      `${SECONDS} s each\n`,
  );
  console.log("| workload | samples | whole and true | from its start | perf, dwarf |");
  console.log("|---|---|---|---|---|");
  for (const w of chosen) console.log(`| ${results.get(w).row.join(" | ")} |`);
  console.log(`\naccuracy: ${chosen.length - failed} passed, ${failed} failed`);
  process.exit(failed ? 1 : 0);
}

main().catch((e) => {
  console.error(e);
  process.exit(1);
});
