// Programs that know what a correct profile of them shows (test/e2e/workloads).
"use strict";

const assert = require("node:assert");
const { execFile, spawn } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const readline = require("node:readline");
const { promisify } = require("node:util");
const { root, runDir } = require("./daemon");
const { tempDir } = require("./temp_dir");
const { LIMIT_MS } = require("./wait");

// The name under which it runs here: profiles are by program name, and someone else may be
// running these tests on the machine too. Within the kernel's 15 characters.
const program = (name) => `${name}${process.pid % 10000}`;

// What the host took from this virtual machine, as [stolen, busy] in jiffies: the clock that
// samples goes on meanwhile, the program's does not.
function jiffies() {
  const [user, nice, system, , , irq, softirq, steal] = fs
    .readFileSync("/proc/stat", "utf8")
    .split("\n")[0]
    .split(/ +/)
    .slice(1)
    .map(Number);
  return [steal, user + nice + system + irq + softirq + steal];
}

// Runs it until it has used that much CPU; returns its own report, and when it ran. stolen is the
// most by which stolen time can raise what is sampled, as a part of what it used: twice the
// machine's average, because the host does not take the same part of each program's time.
async function runWorkload(name, cpuSeconds, ...more) {
  const [first, from] = [jiffies(), Date.now()];
  const file = path.join(runDir, program(name));
  fs.copyFileSync(path.join(root, "build/e2e", name), file);
  const { stdout } = await promisify(execFile)(file, [String(cpuSeconds), ...more], {
    timeout: LIMIT_MS,
  });
  const [stolen, busy] = jiffies().map((v, i) => v - first[i]);
  return { name, ...JSON.parse(stdout), from, to: Date.now(), stolen: (2 * stolen) / busy };
}

// A program that used twelve seconds of CPU, in profiles of two seconds: a lost one leaves less
// than ALL of its time, and one that is stored twice makes it more than TWICE. On a busy machine,
// where a program runs for a few milliseconds at a stretch, both are five standard deviations of
// what is sampled.
const ALL = 0.88;
const TWICE = 1.12;

const isAll = (ns, ran) => ns > ALL * ran.cpuNs;

// Neither lost nor stored twice.
function assertOnce(ns, ran) {
  assert.ok(isAll(ns, ran), `${ns} of ${ran.cpuNs} ns`);
  assert.ok(ns < (TWICE + ran.stolen) * ran.cpuNs, `${ns} of ${ran.cpuNs} ns, ${ran.stolen}`);
}

// That something took no longer than it may on an idle machine: one that gives a workload half a
// CPU meanwhile is twice as slow at all the rest.
function assertWithin(limitMs, tookMs, ran) {
  const slowness = Math.max(1, ((ran.to - ran.from) * 1e6) / ran.cpuNs);
  assert.ok(tookMs < limitMs * slowness, `took ${tookMs} ms, ${slowness} times as slow`);
}

// A program that does something for each line of input, and answers with a line. uid: whose
// process it is, if not ours.
class AskedWorkload {
  constructor(name, { uid } = {}) {
    this.dir = uid ? tempDir("workload", { mode: 0o755 }) : runDir;
    const file = path.join(this.dir, program(name));
    fs.copyFileSync(path.join(root, "build/e2e", name), file);
    this.child = spawn(file, [], { stdio: ["pipe", "pipe", "inherit"], uid, gid: uid });
    process.on("exit", () => this.stop());
    // one that a failed test leaves does not keep this process from ending
    this.child.unref();
    this.child.stdin.unref();
    this.child.stdout.unref();
    this.lines = readline.createInterface({ input: this.child.stdout })[Symbol.asyncIterator]();
  }
  get pid() {
    return this.child.pid;
  }
  async line() {
    this.child.stdout.ref();
    const { value, done } = await this.lines.next();
    this.child.stdout.unref();
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

module.exports = { program, runWorkload, isAll, assertOnce, assertWithin, AskedWorkload };
