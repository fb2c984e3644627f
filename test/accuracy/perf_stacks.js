// "perf record --call-graph dwarf" beside the agent, and what it saw. Its copies of the stack are
// limited (65,528 bytes), and what lies deeper is missing from its stacks.
"use strict";

const { execFile, spawn } = require("node:child_process");
const { promisify } = require("node:util");

const STACK_BYTES = 16384;

// Starts the command below perf; resolves with its exit status.
function record(file, hz, command, { bytes = STACK_BYTES, ...options } = {}) {
  const args = ["record", "-q", "-o", file, "-F", String(hz), "-e", "cpu-clock:u"];
  const child = spawn("perf", [...args, "--call-graph", `dwarf,${bytes}`, "--", ...command], {
    stdio: ["ignore", "ignore", "inherit"],
    ...options,
  });
  return new Promise((resolve) => child.once("exit", resolve));
}

// Stacks of a recording, as [{ frames, count }] with the root first and without inlined calls, and
// the processes that they are of. The start of a frame is its function's address in the file.
async function stacks(file) {
  const args = ["script", "-i", file, "--no-inline", "-F", "pid,ip,sym,symoff,dso"];
  const { stdout } = await promisify(execFile)("perf", args, { maxBuffer: 1 << 30 });
  const all = [];
  const pids = new Set();
  for (const block of stdout.split("\n\n")) {
    const frames = [];
    const [first, ...lines] = block.trimStart().split("\n");
    pids.add(parseInt(first, 10));
    for (const line of lines) {
      const m = /^\s+([0-9a-f]+) (.*?)(?:\+0x([0-9a-f]+))? \(([^()]*(?:\([^()]*\))?)\)$/.exec(line);
      if (!m) continue;
      const [, address, name, offset, object] = m;
      frames.unshift({
        name,
        file: "",
        object: object.replace(/ \(deleted\)$/, ""),
        start: offset && `0x${(BigInt(`0x${address}`) - BigInt(`0x${offset}`)).toString(16)}`,
      });
    }
    if (frames.length > 0) all.push({ frames, count: 1 });
  }
  return { stacks: all, pids };
}

module.exports = { record, stacks };
