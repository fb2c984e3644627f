// A JVM that is profiled for many cycles: its descriptors, threads and memory, and those of the
// agent, are at the end what they were after the first cycles.
"use strict";

const assert = require("node:assert");
const fs = require("node:fs");
const http = require("node:http");
const { test } = require("node:test");
const { freePort } = require("../e2e/lib/daemon");
const { startJavaNode, startJvm } = require("../e2e/lib/jvm");
const { eventually } = require("../e2e/lib/wait");
const { LONG } = require("./lib/torture");

const CYCLES = Number(process.env.CYCLES || (LONG ? 300 : 20));
const FIRST = LONG ? 30 : 5;
const MIB = 1 << 20;
const ACTIVITIES = ["cpu", "allocations", "locks", "variety", "threads"];

const rssOf = (pid) =>
  Number(/VmRSS:\s*(\d+)/.exec(fs.readFileSync(`/proc/${pid}/status`, "utf8"))[1]) * 1024;
// Of which process a descriptor of the agent is; undefined: of none.
const processOf = (fd, file) =>
  file === "anon_inode:[pidfd]"
    ? /Pid:\s*(-?\d+)/.exec(fs.readFileSync(fd.replace("/fd/", "/fdinfo/"), "utf8"))?.[1]
    : /^\/proc\/(\d+)/.exec(file)?.[1];
// Those of the agent, without what other processes that it has sampled cost it, their executables
// and libraries, and the maps in which unwinding tables are.
const agentFds = (pid, jvmPid) =>
  fs.readdirSync(`/proc/${pid}/fd`).filter((name) => {
    try {
      const fd = `/proc/${pid}/fd/${name}`;
      const file = fs.readlinkSync(fd);
      const of = processOf(fd, file);
      if (of !== undefined && Number(of) !== jvmPid) return false;
      return file !== "anon_inode:bpf-map" && /^(?!\/)|^\/proc|\.coroot-java/.test(file);
    } catch {
      return false; // closed since
    }
  }).length;

test(`${CYCLES} cycles leave a JVM and the agent as they were`, async (t) => {
  const port = await freePort();
  const collector = http.createServer((q, a) => q.resume().on("end", () => a.end()));
  collector.listen(port, "127.0.0.1");
  const jvm = await startJvm("jsoak", { activities: ACTIVITIES });
  const fdsBefore = jvm.fds();
  const url = `http://127.0.0.1:${port}`;
  const node = await startJavaNode({ collector: url, jvms: [jvm], intervalS: 1 });
  t.after(async () => {
    if (node.running) await node.stop("SIGKILL");
    await jvm.stop();
    collector.closeAllConnections();
    collector.close();
  });
  const cycles = () => node.metric("node_agent_java_profiles_total", '"cpu"').catch(() => 0);
  const sizes = async () => ({
    fds: jvm.fds(),
    rss: jvm.rssBytes(),
    metaspace: (await jvm.ask())["vm.metaspaceBytes"],
    agentFds: agentFds(node.pid, jvm.pid),
    agentRss: rssOf(node.pid),
    files: jvm.leftovers().length,
  });

  await eventually("the first cycles", async () => (await cycles()) >= FIRST);
  const first = await sizes();
  await eventually("all cycles", async () => (await cycles()) >= CYCLES, 20 * 60 * 1000);
  const last = await sizes();
  t.diagnostic(`first ${JSON.stringify(first)}, last ${JSON.stringify(last)}`);
  // a connection or a file of the moment
  assert.ok(Math.abs(last.fds - first.fds) <= 2, `descriptors: ${first.fds}, ${last.fds}`);
  const settled = () => Math.abs(agentFds(node.pid, jvm.pid) - first.agentFds) <= 4;
  await eventually("the agent's descriptors of before", settled);
  assert.ok(last.rss - first.rss < 32 * MIB, `RSS: ${first.rss}, ${last.rss}`);
  assert.ok(last.metaspace - first.metaspace < MIB, "metaspace");
  assert.ok(last.agentRss - first.agentRss < 8 * MIB, `agent: ${first.agentRss}, ${last.agentRss}`);
  assert.ok(last.files <= first.files + 1);
  await node.stop();
  await eventually("descriptors", () => jvm.fds() <= fdsBefore + 2);
  assert.deepStrictEqual(jvm.leftovers(), []);
});

// async-profiler ends a recording five minutes after the last agent has begun it.
if (LONG)
  test("a recording whose agent never comes back ends by itself", async (t) => {
    const port = await freePort();
    const collector = http.createServer((q, a) => q.resume().on("end", () => a.end()));
    collector.listen(port, "127.0.0.1");
    const jvm = await startJvm("jalone", { activities: ACTIVITIES });
    const url = `http://127.0.0.1:${port}`;
    const node = await startJavaNode({ collector: url, jvms: [jvm], intervalS: 60 });
    t.after(async () => {
      await jvm.stop();
      collector.closeAllConnections();
      collector.close();
    });
    const timers = () => fs.readFileSync(`/proc/${jvm.pid}/timers`, "utf8");
    await eventually("timers", () => timers() !== "");
    await node.stop("SIGKILL");
    await eventually("its end", () => timers() === "", 20 * 60 * 1000);
    const bytes = () =>
      jvm
        .leftovers()
        .flatMap((dir) => fs.readdirSync(jvm.file(`/tmp/${dir}`)).map((f) => `/tmp/${dir}/${f}`))
        .reduce((sum, f) => sum + fs.statSync(jvm.file(f)).size, 0);
    const ended = bytes();
    assert.ok(ended < 64 * MIB, `${ended} bytes`);
    const { "cpu.heavyNs": ns } = await jvm.ask();
    await eventually("a second of work", async () => (await jvm.ask())["cpu.heavyNs"] > ns + 1e9);
    assert.strictEqual(bytes(), ended);
  });
