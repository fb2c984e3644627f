// The two agents as child processes, with their own ports and directories.
"use strict";

const { spawn } = require("node:child_process");
const dgram = require("node:dgram");
const fs = require("node:fs");
const net = require("node:net");
const path = require("node:path");
const { LIMIT_MS, deadline, eventually } = require("./wait");

const root = path.resolve(__dirname, "../../..");
const bin = process.env.BIN || path.join(root, "build/release");
const nodeAgent = path.join(bin, "coroot-node-agent");
const clusterAgent = path.join(bin, "coroot-cluster-agent");

// One folder per test file, emptied at its start, and kept so that the logs can be read afterwards.
const runDir = path.join(
  root,
  process.env.RUN_DIR || "build/e2e/run",
  path.basename(require.main.filename, ".test.js"),
);
fs.rmSync(runDir, { recursive: true, force: true });
fs.mkdirSync(runDir, { recursive: true });

const alive = new Set();
const all = [];

// Agents run under their filter of system calls: one that it refused or killed for is missing in
// the list, so the test has failed, whatever came of the call.
function findRefusedCalls() {
  for (const d of all) {
    const refused = /refused a system call .*/.exec(d.log());
    if (!refused && d.result?.signal !== "SIGSYS") continue;
    console.error(`${d.logFile}: ${refused ? refused[0] : "killed for a system call"}`);
    process.exitCode = 1;
  }
}

process.on("exit", () => {
  for (const d of alive) d.child.kill("SIGKILL");
  findRefusedCalls();
});
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(1));

const FIRST_PORT = 20000;
const PORTS = 12000;

const isFree = (port) =>
  new Promise((resolve) => {
    const s = net.createServer();
    s.once("error", () => resolve(false));
    s.listen(port, "127.0.0.1", () => s.close(() => resolve(true)));
  });

// Reserves a port by binding the same number for UDP, which nothing else uses, for as long as this
// process lives: no test that runs beside it takes the port before its daemon does.
const reserve = (port) =>
  new Promise((resolve) => {
    const s = dgram.createSocket("udp4");
    s.once("error", () => resolve(false));
    s.bind({ port, address: "127.0.0.1", exclusive: true }, () => resolve(Boolean(s.unref())));
  });

// Below the ephemeral ports of the kernel, so that a restarted daemon finds its port still free.
async function freePort() {
  for (;;) {
    const port = FIRST_PORT + Math.floor(Math.random() * PORTS);
    if ((await reserve(port)) && (await isFree(port))) return port;
  }
}

let count = 0;
const scratch = (name) => path.join(runDir, `${name}-${++count}`);

class Daemon {
  constructor(command, args, { name = path.basename(command), env = {}, url = "" } = {}) {
    this.name = name;
    this.url = url;
    this.logFile = `${scratch(name)}.log`;
    this.startedAt = Date.now();
    const out = fs.openSync(this.logFile, "a");
    this.child = spawn(command, args, {
      stdio: ["ignore", out, out],
      env: { ...process.env, ...env },
      cwd: root,
    });
    fs.closeSync(out);
    // What a failed test leaves running does not keep this process from ending, which kills it.
    this.child.unref();
    alive.add(this);
    all.push(this);
    this.ended = new Promise((resolve) => {
      const done = (code, signal) => {
        alive.delete(this);
        this.result = { code, signal };
        resolve(this.result);
      };
      this.child.once("exit", done);
      this.child.once("error", (e) => {
        fs.appendFileSync(this.logFile, `${e.message}\n`);
        done(-1, null);
      });
    });
  }

  get pid() {
    return this.child.pid;
  }
  // With code and signal. Whoever waits for it keeps this process alive.
  get exited() {
    this.child.ref();
    return this.ended;
  }
  get running() {
    return !this.result;
  }
  log() {
    return fs.readFileSync(this.logFile, "utf8");
  }

  // waits until GET path answers 200; if the daemon exits, the error has its output
  async ready(path, timeoutMs = LIMIT_MS) {
    const answers = async () => !this.running || (await fetch(this.url + path)).ok;
    await eventually(`${this.name} ${path}`, answers, timeoutMs);
    if (!this.running)
      throw new Error(`${this.name} ended (${JSON.stringify(this.result)}): ${this.log()}`);
    return this;
  }

  async stop(signal = "SIGTERM", timeoutMs = LIMIT_MS) {
    if (this.running) this.child.kill(signal);
    const late = deadline(timeoutMs).then(() => ({ code: "late" }));
    const result = await Promise.race([this.exited, late]);
    if (result.code === "late") {
      this.child.kill("SIGKILL");
      throw new Error(`${this.name} does not end within ${timeoutMs} ms of ${signal}`);
    }
    return result;
  }

  // The end of its log, and the lines of its metrics that match: why it did not do something.
  async report(metrics) {
    const tail = this.log().trimEnd().split("\n").slice(-20);
    let lines;
    try {
      const text = await (await fetch(`${this.url}/metrics`)).text();
      lines = text.split("\n").filter((l) => !l.startsWith("#") && metrics.test(l));
    } catch (e) {
      lines = [`no metrics: ${e.message}`];
    }
    return [`${this.name}:`, ...tail, ...lines].join("\n");
  }

  // The sum over its labels, or over those that contain some text. "coroot_" may be left out.
  async metric(name, labels = "") {
    const text = await (await fetch(`${this.url}/metrics`)).text();
    const bare = (s) => s.replace(/^coroot_/, "");
    const values = [];
    for (const line of text.split("\n")) {
      const m = /^([a-zA-Z0-9_:]+)(\{.*\})? (\S+)/.exec(line);
      if (m && bare(m[1]) === bare(name) && (m[2] || "").includes(labels))
        values.push(Number(m[3]));
    }
    if (values.length === 0) throw new Error(`${this.name} has no metric ${name} (${labels})`);
    return values.reduce((sum, v) => sum + v, 0);
  }
}

// storage: "embedded", or a list of arguments that name another; within: a command that runs it;
// scheme: "https" if args have a certificate
async function startCluster({
  scheme = "http",
  host = "127.0.0.1",
  storage = "embedded",
  dataDir = scratch("data"),
  port,
  sqlPort,
  args = [],
  env = {},
  within = [],
  wait = true,
} = {}) {
  port = port || (await freePort());
  sqlPort = sqlPort || (await freePort());
  const [command, ...first] = [...within, clusterAgent];
  const d = new Daemon(
    command,
    [
      ...first,
      `--listen=${host}:${port}`,
      ...(storage === "embedded" ? ["--storage=embedded"] : storage),
      `--data-dir=${dataDir}`,
      ...(storage === "embedded" ? [`--clickhouse-listen=127.0.0.1:${sqlPort}`] : []),
      ...args,
    ],
    { url: `${scheme}://${host}:${port}`, env, name: path.basename(clusterAgent) },
  );
  Object.assign(d, { dataDir, port, sqlPort });
  return wait ? d.ready("/readyz") : d;
}

// The tests run below make, and would be builds: processes are called by their executables.
const BY_EXECUTABLE = "--name-rule=^([^ ]*/)?([^/ ]+)( .*)?$=\\2";

// pids: the only processes that it sees in /proc, for an agent that writes to those it finds;
// within: a command that runs it
async function startNode({
  scheme = "http",
  cluster,
  collector,
  otlp, // base URL to which it sends OTLP instead
  interval = "5s",
  port,
  args = [],
  wait = true,
  within = [],
  pids,
  // what one agent leaves there is not another's
  walDir = scratch("spool"),
} = {}) {
  port = port || (await freePort());
  const view = pids ? [path.join(root, "test/e2e/private-proc.sh"), pids.join(" ")] : [];
  const [command, ...first] = [...view, ...within, nodeAgent];
  const d = new Daemon(
    command,
    [
      ...first,
      `--listen=127.0.0.1:${port}`,
      otlp ? `--otlp-endpoint=${otlp}` : `--collector-endpoint=${collector || cluster.url}`,
      `--profile-interval=${interval}`,
      `--wal-dir=${walDir}`,
      ...args,
      BY_EXECUTABLE,
    ],
    { url: `${scheme}://127.0.0.1:${port}`, name: path.basename(nodeAgent) },
  );
  d.port = port;
  return wait ? d.ready("/healthz") : d;
}

// A start that must fail; returns the output and the exit status.
async function failToStart(command, args, timeoutMs = LIMIT_MS) {
  const d = new Daemon(command, args);
  const late = deadline(timeoutMs).then(() => null);
  const result = await Promise.race([d.exited, late]);
  if (!result) {
    await d.stop("SIGKILL");
    throw new Error(`${d.name} ${args.join(" ")} keeps running: ${d.log()}`);
  }
  return { ...result, lines: d.log().trimEnd().split("\n") };
}

module.exports = {
  BY_EXECUTABLE,
  Daemon,
  root,
  runDir,
  scratch,
  nodeAgent,
  clusterAgent,
  freePort,
  startCluster,
  startNode,
  failToStart,
};
