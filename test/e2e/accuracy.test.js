// Stacks of code without frame pointers in the store: whole, to the start of the thread, and
// exactly the chains of calls that the programs make. "make accuracy" does the same for more.
"use strict";

const { spawn } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const { test, before, after } = require("node:test");
const { beginnings } = require("../accuracy/chains");
const { STARTS, faultLines, judge } = require("../accuracy/judge");
const { build, workloads } = require("../accuracy/workloads");
const { runDir, startCluster, startNode } = require("./lib/daemon");
const { sql, application, CPU } = require("./lib/query");
const { eventually } = require("./lib/wait");
const { program } = require("./lib/workload");

const HZ = 499;
const CPU_S = 3600; // until the test ends
const SAMPLES = 500;
const TARGET = 0.998;
// Where threads start, in a C library that may have no names of its own functions.
const starts = new RegExp(`${STARTS.source}|^libc\\.so\\.6\\+0x`);

const names = ["c-o2", "c-static", "c-debuglink", "c-debug-frame", "cxx-o2", "go-stripped"];
const chosen = workloads.filter((w) => names.includes(w.name));
const started = [];
let cluster;
let node;

process.on("exit", () => {
  for (const { child, file } of started) {
    child.kill("SIGKILL");
    fs.rmSync(file, { force: true });
  }
});

// Runs it under a name that nobody else's run has.
function start(workload, i) {
  const file = path.join(path.dirname(workload.file), program(`acc${i}-`));
  fs.copyFileSync(workload.file, file);
  const child = spawn(file, [String(CPU_S)], { stdio: "inherit", cwd: runDir });
  started.push({ child, file });
}

before(async () => {
  for (const w of chosen) build(w);
  cluster = await startCluster();
  node = await startNode({ cluster, interval: "2s", args: [`--profile-frequency=${HZ}`] });
  chosen.forEach(start);
});
after(async () => {
  await node?.stop();
  await cluster?.stop();
});

// [{ frames, count }] from the root of the user's stack; the root in the store is the process.
async function stacksOf(service, sinceMs) {
  const rows = await sql(
    cluster,
    `SELECT Stack, round(sum(Value) / (1e9 / ${HZ})) AS count
     FROM profiling_samples
     INNER JOIN (SELECT Hash, any(Stack) AS Stack FROM profiling_stacks
                 WHERE ServiceName = '${service}' GROUP BY Hash) AS s ON StackHash = s.Hash
     WHERE ServiceName = '${service}' AND Type = '${CPU}'
       AND toUnixTimestamp64Milli(Start) >= ${sinceMs} GROUP BY Stack`,
  );
  const frame = (text) => {
    const [, name, file] = /^(.*?) ?([^ ]*)$/.exec(text);
    return { name, file };
  };
  return rows.map(({ Stack, count }) => ({ frames: Stack.map(frame).reverse().slice(1), count }));
}

chosen.forEach((w, i) => {
  test(`${w.name}: stacks are whole and true`, async () => {
    // Samples from before the tables are there are not whole, and on a busy machine that is long.
    let since = 0;
    await eventually("whole stacks", async () => {
      const app = await application(cluster, program(`acc${i}-`));
      const stacks = app ? await stacksOf(app.service, since) : [];
      const result = judge(stacks, { beginnings: beginnings(w.chains), starts });
      if (result.samples < SAMPLES) throw new Error(`${result.samples} samples`);
      if (result.good >= TARGET * result.samples) return true;
      since = Date.now();
      throw new Error(`${result.good} of ${result.samples}:\n${faultLines(result).join("\n")}`);
    });
    started[i].child.kill("SIGKILL");
  });
});
