// Measures what it costs a Go program that the agent switches its mutex or block profiler on; rows
// for go.js. Each work is done with the profiler off and on in turn, so that other load on the
// machine affects both alike; each ratio is of two neighbouring runs.
"use strict";

const { execFileSync, spawn } = require("node:child_process");
const readline = require("node:readline");

// [profiler, work, what that is, target]
const CASES = [
  ["mutex", "mutex", "4 goroutines on one mutex", "not measurable"],
  ["mutex", "service", "requests of 20 µs", "not measurable"],
  ["block", "channel", "channel ping-pong", ""],
  ["block", "mutex", "4 goroutines on one mutex", ""],
  ["block", "service", "requests of 20 µs", ""],
];

async function costOfLocks(check, program, pairs) {
  const child = spawn(program, [], {
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...process.env, GOMAXPROCS: "2" },
  });
  const lines = readline.createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const measure = async (work) => {
    child.stdin.write(`${work}\n`);
    return Number((await lines.next()).value);
  };
  const change = (how, kind) => execFileSync(check, [how, String(child.pid), kind]);
  const compare = async (profiler, work) => {
    await measure(work);
    const ratios = [];
    const off = [];
    for (let i = 0; i < pairs; i++) {
      off.push(await measure(work));
      change("on", profiler);
      ratios.push((await measure(work)) / off[i]);
      change("off", profiler);
    }
    const sorted = (list) => list.sort((a, b) => a - b);
    sorted(off);
    sorted(ratios);
    return {
      off: off[off.length >> 1],
      min: ratios[0],
      median: ratios[ratios.length >> 1],
      max: ratios[ratios.length - 1],
    };
  };
  const rows = [];
  try {
    for (const [profiler, work, what, target] of CASES) {
      const r = await compare(profiler, work);
      rows.push([
        `CPU time of a program with its ${profiler} profiler on: ${what}`,
        `${r.median.toFixed(3)} of what it is without (${r.min.toFixed(3)} to ` +
          `${r.max.toFixed(3)} in ${pairs} pairs); ${r.off} ns per operation`,
        target,
      ]);
    }
  } finally {
    child.kill();
  }
  return rows;
}

module.exports = { costOfLocks };
