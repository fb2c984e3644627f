// Programs that know what a true profile of them says (test/e2e/workloads).
"use strict";

const { execFile } = require("node:child_process");
const path = require("node:path");
const { promisify } = require("node:util");
const { root } = require("./daemon");

// Runs it until it has spent that much CPU; what it says about itself, plus when it ran (ms).
async function runWorkload(name, cpuSeconds) {
  const from = Date.now();
  const { stdout } = await promisify(execFile)(path.join(root, "build/e2e", name), [String(cpuSeconds)], {
    timeout: cpuSeconds * 20000,
  });
  return { name, from, to: Date.now(), ...JSON.parse(stdout) };
}

module.exports = { runWorkload };
