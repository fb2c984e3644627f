// Many JVMs at once, of every kind: those that may be profiled are, whatever JDK, user and
// namespaces they have; all others are left alone, and the reason is reported.
"use strict";

const assert = require("node:assert");
const { execFileSync, spawn } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const { test, before, after } = require("node:test");
const { root, runDir, startCluster } = require("./lib/daemon");
const { Jvm, startJavaNode, startJvm, stateOf } = require("./lib/jvm");
const { application, flame } = require("./lib/query");
const { tempDir } = require("./lib/temp_dir");
const { eventually } = require("./lib/wait");
const { program } = require("./lib/workload");

const USER = 1000;
const NOEXEC = "mount -t tmpfs -o mode=1777,noexec none";
const READ_ONLY = "mount -t tmpfs -o ro none";
const noexecHere = 'mount --bind "$PWD" "$PWD" && mount -o remount,noexec,bind "$PWD" && cd "$PWD"';
const readOnlyHere = 'mount --bind "$PWD" "$PWD" && mount -o remount,ro,bind "$PWD" && cd "$PWD"';
const library = path.join(root, "build/release/libasyncProfiler.so");
const foreign = tempDir("foreign", { base: "/var/tmp" });

const theirs =
  `-agentpath:${foreign}/libasyncProfiler.so=start,event=ctimer,` +
  `loglevel=none,quiet,jfr,file=${foreign}/theirs.jfr`;

// name: how it is started, and its state
const JVMS = {
  j8: [{ jdk: 8 }, "profiled"],
  j8user: [{ jdk: 8, uid: USER }, "profiled"],
  j11: [{ jdk: 11 }, "profiled"],
  j21: [{ jdk: 21, gc: "Parallel" }, "profiled"],
  j25: [{ jdk: 25, gc: "G1" }, "profiled"],
  juser: [{ uid: USER }, "profiled"],
  jpids: [{ uid: USER, ownPids: true }, "profiled"],
  jshm: [
    { uid: USER, mounts: `${NOEXEC} /tmp && mount -t tmpfs -o mode=1777 none /dev/shm` },
    "profiled",
  ],
  jcwd: [{ uid: USER, mounts: `${NOEXEC} /tmp && ${NOEXEC} /dev/shm` }, "profiled"],
  jnoexec: [{ mounts: `${NOEXEC} /tmp && ${NOEXEC} /dev/shm && ${noexecHere}` }, "no_place"],
  jreadonly: [
    { mounts: `${READ_ONLY} /tmp && ${READ_ONLY} /dev/shm && ${readOnlyHere}` },
    "no_place",
  ],
  jattach: [{ flags: ["-XX:+DisableAttachMechanism"] }, "attach_disabled"],
  jattach8: [{ jdk: 8, flags: ["-XX:+DisableAttachMechanism"] }, "attach_disabled"],
  jload: [{ jdk: 21, flags: ["-XX:-EnableDynamicAgentLoading"] }, "loading_disabled"],
  // the variable of the launcher is not on its command line
  jtool: [{ env: { JAVA_TOOL_OPTIONS: "-Xrs" } }, "signals_reduced"],
  jxrs: [{ jdk: 25, flags: ["-Xrs"] }, "signals_reduced"],
  jforeign: [{ flags: [theirs] }, "foreign_profiler"],
  jout: [{ env: { COROOT_EBPF_PROFILING: "disabled" } }, null],
};
// what those that are profiled do, and when that cannot be missed in their profiles
const ENOUGH = {
  cpu: ["cpu.heavyNs", 5e8],
  allocations: ["allocations.small.bytes", 32 << 20],
  locks: ["locks.monitor.waits", 10],
};

let cluster, node, openj9;
const jvms = new Map();
const range = { from: Date.now() };

before(async () => {
  fs.copyFileSync(library, path.join(foreign, "libasyncProfiler.so"));
  for (const [name, [options]] of Object.entries(JVMS)) jvms.set(name, new Jvm(name, options));
  await Promise.all([...jvms.values()].map((jvm) => jvm.ready()));

  // what OpenJ9 looks like from outside
  const j9 = path.join(runDir, "libj9vm29.so");
  const cc = ["-shared", "-fPIC", "-o", j9, "-xc", "-"];
  execFileSync("cc", cc, { input: "int J9_CreateJavaVM(void) { return 0; }" });
  const sleeper = path.join(runDir, program("jopenj9"));
  fs.copyFileSync("/bin/sleep", sleeper);
  openj9 = spawn(sleeper, ["3600"], { env: { LD_PRELOAD: j9 }, stdio: "inherit" });
  process.on("exit", () => openj9.kill("SIGKILL"));

  cluster = await startCluster();
  node = await startJavaNode({ cluster, jvms: [openj9, ...jvms.values()] });
});
after(async () => {
  openj9?.kill("SIGKILL");
  await node?.stop();
  await Promise.all([...jvms.values()].map((jvm) => jvm.stop()));
  await cluster?.stop();
});

test("each has its state", async () => {
  for (const [name, [, state]] of Object.entries(JVMS))
    await eventually(`${name} is ${state}`, async () => {
      const got = await stateOf(node, jvms.get(name).name);
      if (got !== state) throw new Error(`${got}`);
      return true;
    });
  await eventually("OpenJ9", async () => (await stateOf(node, program("jopenj9"))) === "openj9");
});

test("those that may not be profiled have nothing of the agent", () => {
  for (const [name, [, state]] of Object.entries(JVMS)) {
    if (state === "profiled") continue;
    const jvm = jvms.get(name);
    assert.deepStrictEqual(jvm.leftovers(), [], name);
    assert.strictEqual(jvm.hasProfiler, name === "jforeign", name);
  }
});

test("a profiler of somebody else goes on", async () => {
  const { pid } = jvms.get("jforeign");
  assert.notStrictEqual(fs.readFileSync(`/proc/${pid}/timers`, "utf8"), "");
  assert.ok(fs.existsSync(path.join(foreign, "theirs.jfr")));
});

test("those that are profiled have profiles of all kinds", async () => {
  const profiled = Object.keys(JVMS).filter((name) => JVMS[name][1] === "profiled");
  // one after the other, and no longer than it takes
  for (const name of profiled)
    for (const [activity, [counter, least]] of Object.entries(ENOUGH)) {
      const jvm = jvms.get(name);
      await jvm.ask("resume");
      await jvm.ask(activity);
      await eventually(`${counter} of ${name}`, async () => (await jvm.ask())[counter] >= least);
      await jvm.ask("pause");
    }
  // asking before that is all in the store costs more than everything else here
  const rounds = () => node.metric("node_agent_java_recordings_read_total");
  const done = await rounds();
  await eventually("two rounds", async () => (await rounds()) >= done + 2 * profiled.length);
  for (const name of profiled) {
    const { service } = await eventually(name, () => application(cluster, jvms.get(name).name));
    for (const [type, method] of [
      ["java:cpu:nanoseconds", "workload.Cpu.heavy"],
      ["java:lock_delay:nanoseconds", "workload.Locks.enterMonitor"],
      // Debian's JDK 8 has no symbols, without which its allocations cannot be sampled
      ...(JVMS[name][0].jdk === 8
        ? []
        : [["java:heap_alloc_space:bytes", "workload.Allocations.small"]]),
    ])
      await eventually(`${type} of ${name}`, async () => {
        const f = await flame(cluster, { service, type, ...range, to: Date.now() + 1000 });
        return f.share(method) > 0;
      });
  }
});

test("none has printed anything, and all live", async () => {
  for (const [name, jvm] of jvms) {
    await jvm.ask();
    assert.match(jvm.stdout, /^ready\n(\{[^{}]*\}\n)+$/, name);
    const picked = name === "jtool" ? "Picked up JAVA_TOOL_OPTIONS: -Xrs\n" : "";
    assert.strictEqual(jvm.stderr, picked, name);
  }
});

test("at its end, the agent stops all profilers and removes its files", async () => {
  await node.stop();
  for (const [name, jvm] of jvms) {
    assert.deepStrictEqual(jvm.leftovers(), [], name);
    if (name === "jforeign") continue;
    assert.strictEqual(fs.readFileSync(`/proc/${jvm.pid}/timers`, "utf8"), "", name);
    await jvm.ask();
  }
});

test("without the option, or before the delay has passed, JVMs are not touched", async () => {
  const jvm = await startJvm("junseen");
  jvms.set("junseen", jvm);
  for (const [args, state] of [
    [[], "off"],
    [["--enable-java-async-profiler", "--java-async-profiler-delay=1h"], "waiting"],
  ]) {
    node = await startJavaNode({ cluster, jvms: [jvm], args });
    await eventually(state, async () => (await stateOf(node, jvm.name)) === state);
    assert.ok(!jvm.hasProfiler);
    assert.deepStrictEqual(jvm.leftovers(), []);
    await node.stop();
  }
});
