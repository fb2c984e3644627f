// Programs that know what a true profile of them says (test/e2e/workloads).
"use strict";

const { execFile } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const { promisify } = require("node:util");
const { root, runDir } = require("./daemon");

// The name under which it runs here: profiles are by program name, and someone else may be
// running these tests on the machine too. Within the kernel's 15 characters.
const program = (name) => `${name}${process.pid % 10000}`;

// Runs it until it has spent that much CPU; what it says about itself.
async function runWorkload(name, cpuSeconds) {
  const file = path.join(runDir, program(name));
  fs.copyFileSync(path.join(root, "build/e2e", name), file);
  const { stdout } = await promisify(execFile)(file, [String(cpuSeconds)], { timeout: cpuSeconds * 20000 });
  return { name, ...JSON.parse(stdout) };
}

module.exports = { program, runWorkload };
