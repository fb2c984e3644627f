// JVMs that run test/java/workload, on any of the JDKs that tests have.
"use strict";

const { execFileSync, spawn } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const readline = require("node:readline");
const { root, startNode } = require("./daemon");
const { tempDir } = require("./temp_dir");
const { eventually, sleep } = require("./wait");
const { program } = require("./workload");

const jar = path.join(root, "build/java/workload.jar");
const runInRoot = path.join(root, "test/java/run-in-root.sh");
const DEBIAN_JAVA = "/usr/lib/jvm/java-17-openjdk-amd64/bin/java";
const JAVA_8 = "/usr/lib/jvm/java-8-openjdk-amd64/jre/bin/java";
// many of them fit on a small machine
const SMALL = ["-Xms24m", "-Xmx96m", "-XX:CICompilerCount=2", "-Xss512k"];

let fetched;
const jdks = () =>
  (fetched ??= execFileSync(path.join(root, "test/java/jdks.sh"), {
    encoding: "utf8",
    env: { DEPS: path.join(process.env.HOME, ".cache/coroot-agents"), ...process.env },
  }).trim());

const all = [];
process.on("exit", () => all.forEach((jvm) => jvm.kill()));

// A JVM in a mount namespace of its own, with an empty /tmp in which a test finds what others
// leave there. Its working directory is /var/tmp/…, and its name, by which profiles are stored,
// that of its jar (see startJavaNode).
//
// jdk        8, 11, 17, 21 or 25; another user can use 8 and 17
// activities of the workload
// flags      of the JVM
// gc         its garbage collector
// uid        whose process it is; its folder is this user's, too
// mounts     shell commands, run in the namespace by root before it starts
// ownPids    it is process 1 of a PID namespace
class Jvm {
  constructor(name, options = {}) {
    const { jdk = 17, activities = ["rest"], flags = [], gc = "Serial", ...o } = options;
    const { uid = 0, env = {} } = o;
    this.name = program(name);
    this.dir = tempDir("jvm", { base: "/var/tmp", mode: 0o755 });
    fs.chownSync(this.dir, uid, uid);
    fs.copyFileSync(jar, path.join(this.dir, `${this.name}.jar`));
    const java = { 8: JAVA_8, 17: DEBIAN_JAVA }[jdk] ?? path.join(jdks(), String(jdk), "bin/java");
    const dir = jdk === 8 ? "/program" : this.dir;
    const command = [
      ...[java, `-XX:+Use${gc}GC`, ...SMALL, ...flags],
      ...["-jar", `${dir}/${this.name}.jar`, ...activities],
    ];
    const mounts = ["mount -t tmpfs -o mode=1777 none /tmp", o.mounts ?? "true"].join(" && ");
    const user = ["setpriv", `--reuid=${uid}`, `--regid=${uid}`, "--clear-groups"];
    const own = o.ownPids ? ["--pid", "--fork", "--kill-child", "--mount-proc"] : [];
    const [file, ...args] =
      jdk === 8
        ? [runInRoot, path.join(jdks(), "8"), this.dir, String(uid), ...command]
        : [
            ...["unshare", "--mount", "--propagation", "private", ...own],
            ...["sh", "-c", `${mounts} && exec "$0" "$@"`, ...user, ...command],
          ];
    this.child = spawn(file, args, { cwd: this.dir, env: { ...process.env, ...env } });
    this.hasParent = Boolean(o.ownPids);
    this.stdout = this.stderr = "";
    this.child.stdout.on("data", (s) => (this.stdout += s));
    this.child.stderr.on("data", (s) => (this.stderr += s));
    this.child.stdin.on("error", () => {}); // it may have been killed
    this.exited = new Promise((resolve) =>
      this.child.once("exit", (code, signal) => {
        this.ended = true;
        resolve({ code, signal });
      }),
    );
    all.push(this);
    this.lines = readline.createInterface({ input: this.child.stdout })[Symbol.asyncIterator]();
  }

  async ready() {
    const first = await this.line();
    if (first !== "ready") throw new Error(`${this.name} printed ${first}`);
    this.pid = this.child.pid;
    if (this.hasParent) {
      const children = fs.readFileSync(`/proc/${this.pid}/task/${this.pid}/children`, "utf8");
      this.pid = Number(children);
    }
    return this;
  }
  async line() {
    const { value, done } = await this.lines.next();
    if (done) throw new Error(`${this.name} has ended: ${this.stderr}`);
    return value;
  }
  // its counters; text is what it is told to do first
  async ask(text = "") {
    this.child.stdin.write(`${text}\n`);
    return JSON.parse(await this.line());
  }
  // its counters once no activity counts any more
  async pause() {
    let last = await this.ask("pause");
    return eventually("a pause", async () => {
      const before = last;
      await sleep(200);
      last = await this.ask();
      const counts = Object.keys(last).filter((k) => k !== "nowNs" && !k.startsWith("vm."));
      return counts.every((k) => last[k] === before[k]) && last;
    });
  }

  // a file as the JVM sees it
  file(name) {
    return `/proc/${this.pid}/root${name}`;
  }
  // files and folders of the agent that it sees, wherever it may have put them
  leftovers() {
    const places = ["/tmp", "/dev/shm"].map((d) => this.file(d)).concat(this.dir);
    return places.flatMap((d) =>
      fs.readdirSync(d).filter((f) => /coroot|attach_pid|asyncProfiler/i.test(f)),
    );
  }
  get hasProfiler() {
    return /asyncProfiler/i.test(fs.readFileSync(`/proc/${this.pid}/maps`, "utf8"));
  }
  fds() {
    return fs.readdirSync(`/proc/${this.pid}/fd`).length;
  }
  threads() {
    return fs.readdirSync(`/proc/${this.pid}/task`).length;
  }
  rssBytes() {
    const status = fs.readFileSync(`/proc/${this.pid}/status`, "utf8");
    return Number(/VmRSS:\s*(\d+)/.exec(status)[1]) * 1024;
  }

  kill() {
    // one that has not said that it is ready may not be a JVM yet
    if (!this.ended && this.pid) process.kill(this.pid, "SIGKILL");
    this.child.kill("SIGKILL");
  }
  async stop() {
    this.kill();
    return this.exited;
  }
}

async function startJvm(name, options) {
  return new Jvm(name, options).ready();
}

// names a JVM by its jar
const BY_JAR = "--name-rule=/java (.+)[.]jar$=\\1";
const ENABLED = ["--enable-java-async-profiler", "--java-async-profiler-delay=0s"];

// A node agent that sees these JVMs and no other processes, since it loads its library into all
// JVMs that it sees. args: its options for Java, unless it is to profile at once.
async function startJavaNode({ jvms, intervalS = 2, args = ENABLED, ...options }) {
  return startNode({
    interval: "3s",
    ...options,
    pids: jvms.map(({ pid }) => pid),
    args: [...args, `--java-interval=${intervalS}s`, BY_JAR],
  });
}

// Whether a JVM is profiled, or why not; null if it is not known. id: part of its container's.
async function stateOf(node, id) {
  const text = await (await fetch(`${node.url}/metrics`)).text();
  const found = text
    .split("\n")
    .filter((l) => l.includes("container_jvm_profiling_status{") && l.includes(id));
  if (found.length > 1) throw new Error(found.join("\n"));
  return found.length ? /reason="([^"]*)"/.exec(found[0])[1] : null;
}

module.exports = { BY_JAR, Jvm, startJvm, startJavaNode, stateOf };
