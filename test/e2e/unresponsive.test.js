// Go programs that do not run: stopped, frozen, and one whose memory blocks its readers.
"use strict";

const assert = require("node:assert");
const fs = require("node:fs");
const path = require("node:path");
const { test, before, after } = require("node:test");
const { startCluster, startNode } = require("./lib/daemon");
const { program, AskedWorkload } = require("./lib/workload");
const { sql } = require("./lib/query");
const { eventually } = require("./lib/wait");

const TYPE = "go:goroutine_goroutine:count";
// of an agent that would wait for ever; it takes a second or two on an idle machine
const ENDS_WITHIN_MS = 60000;

let cluster;
let waits;
let silent;

before(async () => {
  cluster = await startCluster();
  waits = new AskedWorkload("gowaits");
  silent = new AskedWorkload("gosilent");
  await waits.line();
  await silent.line();
});
after(async () => {
  waits?.stop();
  silent?.stop();
  await cluster?.stop();
});

const start = (...workloads) =>
  startNode({
    cluster,
    interval: "2s",
    pids: workloads.map((w) => w.pid),
    args: ["--go-heap-interval=1s", "--go-goroutine-profiler=reasons"],
  });

// The number of stored profiles of its goroutines.
async function profiles(name) {
  const [row] = await sql(
    cluster,
    `SELECT uniqExact(End) AS n FROM profiling_samples
     WHERE ServiceName LIKE '%${program(name)}%' AND Type = '${TYPE}'`,
  );
  return row.n;
}

async function someMore(node, name) {
  const n = await profiles(name);
  try {
    await eventually(`profiles of ${name}`, async () => (await profiles(name)) >= n + 3);
  } catch (e) {
    throw new Error(`${e.message}\n${await node.report(/_agent_(go|profiles|upload)/)}`);
  }
}

async function readsWell(node, name) {
  await someMore(node, name);
  assert.strictEqual(await node.metric("node_agent_go_readings_failed_total"), 0);
}

test("a stopped program is read like any other", async () => {
  waits.child.kill("SIGSTOP");
  const node = await start(waits);
  await readsWell(node, "gowaits");
  waits.child.kill("SIGCONT");
  await readsWell(node, "gowaits");
  await node.stop();
});

test("so is one in a frozen cgroup", async () => {
  const [, mount] = fs
    .readFileSync("/proc/mounts", "utf8")
    .split("\n")
    .map((line) => line.split(" "))
    .find((fields) => fields[2] === "cgroup2");
  const group = path.join(mount, `coroot-e2e-${process.pid}`);
  const frozen = async (is) => {
    fs.writeFileSync(path.join(group, "cgroup.freeze"), is);
    const events = () => fs.readFileSync(path.join(group, "cgroup.events"), "utf8");
    await eventually("the freezer", async () => events().includes(`frozen ${is}`));
  };
  fs.mkdirSync(group);
  const frozenOne = new AskedWorkload("gocounters");
  try {
    await frozenOne.line();
    fs.writeFileSync(path.join(group, "cgroup.procs"), String(frozenOne.pid));
    await frozen("1");
    const node = await start(frozenOne);
    await eventually(
      "profiles",
      async () => (await node.metric("node_agent_go_profiles_total", "goroutine")) >= 3,
    );
    assert.strictEqual(await node.metric("node_agent_go_readings_failed_total"), 0);
    // a frozen program may be killed, and the agent may exit
    assert.strictEqual((await node.stop("SIGTERM", ENDS_WITHIN_MS)).code, 0);
    await frozen("0");
  } finally {
    frozenOne.stop();
    // not before the process has exited
    await eventually("the end of the cgroup", async () => {
      fs.rmdirSync(group);
      return true;
    });
  }
});

const leftOut = (node) => node.metric("node_agent_go_processes_left_out_total");

// Whether the agent has a thread that waits for the file system.
function hangs(node) {
  const tasks = `/proc/${node.pid}/task`;
  return fs.readdirSync(tasks).some((tid) => {
    const comm = fs.readFileSync(`${tasks}/${tid}/comm`, "utf8");
    return (
      comm === "go-profile\n" && fs.readFileSync(`${tasks}/${tid}/stack`, "utf8").includes("fuse")
    );
  });
}

test("a program whose memory blocks is ignored, and nothing else is", async () => {
  const node = await start(waits, silent);
  await someMore(node, "gosilent");
  await silent.ask("silence");
  await eventually("that it is left out", async () => (await leftOut(node)) === 1);
  assert.strictEqual(await node.metric("node_agent_go_stuck_threads"), 1);
  await someMore(node, "gowaits");
  assert.strictEqual(await leftOut(node), 1);
  const lines = node.log().match(/level=warn .*ignoring this process.*/g);
  assert.strictEqual(lines.length, 1);
  assert.ok(
    lines[0].includes(`pid=${silent.pid} `) && lines[0].includes(program("gosilent")),
    lines[0],
  );
  // while one thread waits all the time
  assert.ok(hangs(node));
  assert.strictEqual((await node.stop("SIGTERM", ENDS_WITHIN_MS)).code, 0);
});

test("an agent with a blocked thread exits on SIGTERM", async () => {
  const node = await start(silent);
  await eventually("that it hangs", async () => hangs(node));
  assert.strictEqual((await node.stop("SIGTERM", ENDS_WITHIN_MS)).code, 0);
  assert.ok(node.log().includes("what the agent switched on stays on"));
});

// Whoever looks at the mappings of a process waits, if one of its threads does that maps memory
// while somebody waits for a page of it: ps and all other agents of this machine, too, so that is
// over as soon as can be.
test("a program whose mappings cannot be looked at costs nothing but itself", async () => {
  const first = await start(silent);
  await eventually("that it hangs", async () => hangs(first));
  await silent.ask("map");
  const node = await start(silent);
  const line = `when the lock is free" pid=${silent.pid} name="${program("gosilent")}"`;
  await eventually("the line about it", async () => node.log().includes(line));
  const cycles = () => node.metric("node_agent_profiles_total");
  const n = await cycles();
  await eventually("more profiles of the node", async () => (await cycles()) > n);
  assert.strictEqual((await node.stop("SIGTERM", ENDS_WITHIN_MS)).code, 0);
  assert.strictEqual((await first.stop("SIGTERM", ENDS_WITHIN_MS)).code, 0);
});

test("once its memory can be read, the program is read again", async () => {
  await silent.ask("answer");
  const node = await start(silent);
  await someMore(node, "gosilent");
  assert.strictEqual(await leftOut(node), 0);
  await node.stop();
});
