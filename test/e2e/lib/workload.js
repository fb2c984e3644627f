// Programs that know what a correct profile of them shows (test/e2e/workloads).
"use strict";

const { execFile, spawn } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const readline = require("node:readline");
const { promisify } = require("node:util");
const { root, runDir } = require("./daemon");
const { LIMIT_MS } = require("./wait");

// The name under which it runs here: profiles are by program name, and someone else may be
// running these tests on the machine too. Within the kernel's 15 characters.
const program = (name) => `${name}${process.pid % 10000}`;

// Runs it until it has used that much CPU; returns its own report.
async function runWorkload(name, cpuSeconds) {
  const file = path.join(runDir, program(name));
  fs.copyFileSync(path.join(root, "build/e2e", name), file);
  const { stdout } = await promisify(execFile)(file, [String(cpuSeconds)], { timeout: LIMIT_MS });
  return { name, ...JSON.parse(stdout) };
}

// A program that does something for each line of input, and answers with a line.
class AskedWorkload {
  constructor(name) {
    const file = path.join(runDir, program(name));
    fs.copyFileSync(path.join(root, "build/e2e", name), file);
    this.child = spawn(file, [], { stdio: ["pipe", "pipe", "inherit"] });
    process.on("exit", () => this.stop());
    this.lines = readline.createInterface({ input: this.child.stdout })[Symbol.asyncIterator]();
  }
  get pid() {
    return this.child.pid;
  }
  async line() {
    const { value, done } = await this.lines.next();
    if (done) throw new Error("the workload has ended");
    return value;
  }
  async ask(text) {
    this.child.stdin.write(`${text}\n`);
    return JSON.parse(await this.line());
  }
  stop() {
    this.child.kill("SIGKILL");
  }
}

module.exports = { program, runWorkload, AskedWorkload };
