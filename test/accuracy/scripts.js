// The third part of "make accuracy": scripts of other interpreted languages, of every release that
// Debian has, run in known chains of calls below the node-agent; script_judge.js judges their
// stacks. Prints a Markdown table, keeps it (proven.tsv), and fails if fewer than 99.5 % of the
// samples of any are whole and true. Needs root.
//
//   SECONDS=10              CPU time of each
//   HZ=499                  samples per second of each CPU
//   AT_ONCE=2               programs that run at the same time
//   SCRIPTS="PHP ruby3.1"   only those whose names contain one of these
"use strict";

process.env.RUN_DIR ??= "build/accuracy/run";

const fs = require("node:fs");
const os = require("node:os");
const { startNode } = require("../e2e/lib/daemon");
const { eventually, sleep } = require("../e2e/lib/wait");
const { faultLines } = require("./judge");
const { ProfileReceiver } = require("./profile_receiver");
const proven = require("./proven");
const { tally } = require("./python_judge");
const { ScriptRules } = require("./script_judge");
const { scripts } = require("./script_programs");

const SECONDS = Number(process.env.SECONDS || 10);
const HZ = Number(process.env.HZ || 499);
const ONLY = (process.env.SCRIPTS || "").split(" ").filter(Boolean);
const AT_ONCE = Number(process.env.AT_ONCE || 2);
const TARGET = 0.995;
const LATE_MS = 3000;

const percent = (part, whole) => (whole > 0 ? `${((100 * part) / whole).toFixed(2)} %` : "–");

const running = new Set();
process.on("exit", () => running.forEach((program) => program.stop()));

// User and system time of a process and of those that it has started.
function cpuSeconds(pid) {
  const stats = [];
  for (const dir of fs.readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      const fields = fs.readFileSync(`/proc/${dir}/stat`, "utf8").replace(/^.*\) /, "").split(" ");
      stats.push({ pid: dir, parent: fields[1], ticks: Number(fields[11]) + Number(fields[12]) });
    } catch {} // it has exited
  }
  const own = new Set([String(pid)]);
  for (let n = 0; n !== own.size;) {
    n = own.size;
    for (const s of stats) if (own.has(s.parent)) own.add(s.pid);
  }
  return stats.reduce((sum, s) => sum + (own.has(s.pid) ? s.ticks / 100 : 0), 0);
}

// Until the agent has tables of its files; on a machine where new programs start all the time that
// takes a while.
async function tablesAreBuilt({ comm }, receiver) {
  const isTrue = (sum, { frames, count }) => sum + (frames[0]?.name === "[truncated]" ? 0 : count);
  for (let i = 0; i < 60; i++, await sleep(1000)) {
    const last = receiver.stacksOf(comm, receiver.profiles.slice(-20));
    const n = last.reduce((sum, { count }) => sum + count, 0);
    if (n > 50 && last.reduce(isTrue, 0) > 0.95 * n) return;
  }
}

// Resolves with when its samples begin to count, and when it is stopped.
async function run(script, receiver) {
  const program = await script.start();
  running.add(program);
  await sleep(LATE_MS);
  await tablesAreBuilt(script, receiver);
  const begin = Date.now();
  const until = cpuSeconds(program.pid) + SECONDS;
  await eventually(`${script.name} computes`, () => cpuSeconds(program.pid) >= until, 600000);
  const end = Date.now();
  program.stop();
  running.delete(program);
  return { begin, end };
}

function compare(script, { begin, end }, receiver) {
  const rules = new ScriptRules(script.chains);
  const stacks = receiver.stacksOf(script.comm);
  const counted = stacks.filter(({ startMs }) => startMs >= begin && startMs < end);
  const [sum, all] = [counted, stacks].map((s) => tally(s, (frames) => rules.verdict(frames)));
  const lines = script.hasLines === false ? "" : percent(sum.lines, sum.samples);
  const good = sum.samples > 0 && sum.good >= TARGET * sum.samples;
  const row = [
    `${script.language} ${script.release}, ${script.title}`,
    String(sum.samples),
    percent(sum.good, sum.samples),
    percent(sum.whole, sum.samples),
    percent(sum.names, sum.samples),
    lines,
    percent(all.good, all.samples),
  ];
  console.error(`${good ? "ok" : "FAIL"} ${script.name} ${row.join("  ")}`);
  for (const line of faultLines(sum, 1)) console.error(`  ${line.slice(0, 1500)}`);
  const { language, name, release } = script;
  const judged = { ...sum, ...(lines ? {} : { lines: undefined }) };
  return { row, failed: !good, proof: proven.row({ language, program: name, release }, judged) };
}

async function main() {
  const chosen = scripts(ONLY);
  const receiver = await new ProfileReceiver(chosen.map(({ comm }) => comm)).start();
  const node = await startNode({
    collector: receiver.url,
    interval: "2s",
    args: [`--profile-frequency=${HZ}`],
  });
  await sleep(2000);
  const runs = new Map();
  const waiting = [...chosen];
  const worker = async () => {
    for (let script; (script = waiting.shift());) {
      runs.set(script, await run(script, receiver));
      console.error(`${script.name} has run`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  const ended = Date.now();
  await eventually("profiles of the next interval", () =>
    receiver.profiles.some(({ startMs }) => startMs > ended),
  );
  await node.stop();
  receiver.stop();
  const results = chosen.map((script) => compare(script, runs.get(script), receiver));
  proven.record(results.map(({ proof }) => proof));
  console.log(
    `${os.cpus()[0].model}, ${os.cpus().length} cores, load ${os.loadavg()[0].toFixed(0)}, ` +
      `kernel ${os.release()}, ${HZ} Hz, ${SECONDS} s each\n`,
  );
  console.log("| program | samples | whole and true | whole | names | lines | from its start |");
  console.log(`|${"---|".repeat(7)}`);
  for (const { row } of results) console.log(`| ${row.join(" | ")} |`);
  const failed = results.filter((r) => r.failed).length;
  console.log(`\naccuracy of scripts: ${results.length - failed} passed, ${failed} failed`);
  process.exit(failed || results.length === 0 ? 1 : 0);
}

main().catch((e) => {
  console.error(e);
  process.exit(1);
});
