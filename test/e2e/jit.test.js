// Names of code that programs make while they run: real V8 and a real JVM, each in a mount
// namespace with a /tmp of its own, V8 in a PID namespace as well. And what the page says of a JVM
// that has no Java profiles.
"use strict";

const assert = require("node:assert");
const { execFileSync, spawn } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const { test, before, after } = require("node:test");
const { startCluster, startNode } = require("./lib/daemon");
const { BY_JAR, startJvm } = require("./lib/jvm");
const { application, flame } = require("./lib/query");
const { tempDir } = require("./lib/temp_dir");
const { eventually } = require("./lib/wait");
const { program } = require("./lib/workload");

const SAMPLES = 300;
// five standard deviations of a share of 0.7 of so many samples
const POINTS = 0.14;
// not in /tmp, where it would be hidden from it
const dir = tempDir("jit", { base: "/var/tmp" });
const SCRIPT = path.join(dir, "jit.js");
const V8 = program("jitv8");

let cluster;
let node;
let jvm;
let v8;

// Called so often that V8 compiles them; interpreted functions have no code of their own.
const source = `
function spendSeventy(x) { for (let i = 0; i < 70000; i++) x = (x * 48271) % 2147483647; return x; }
function spendThirty(x) { for (let i = 0; i < 30000; i++) x = (x * 48271) % 2147483647; return x; }
for (let x = 1; ; ) x = spendSeventy(x) + spendThirty(x);
`;

function startV8() {
  fs.writeFileSync(SCRIPT, source);
  fs.symlinkSync(process.execPath, path.join(dir, V8));
  const flags = ["--perf-basic-prof", "--no-turbo-inlining", SCRIPT];
  const child = spawn(
    "unshare",
    [
      ...["--mount", "--propagation", "private", "--pid", "--fork", "--kill-child"],
      ...["sh", "-c", 'mount -t tmpfs -o mode=1777 none /tmp && exec "$0" "$@"'],
      ...[path.join(dir, V8), ...flags],
    ],
    { stdio: "inherit", cwd: dir }, // V8 writes a log there
  );
  process.on("exit", () => child.kill("SIGKILL"));
  return child;
}

before(async () => {
  cluster = await startCluster();
  v8 = startV8();
  jvm = await startJvm("jitjvm", { activities: ["cpu"], flags: ["-XX:+PreserveFramePointer"] });
  await eventually("compiled methods", async () => (await jvm.ask())["cpu.heavyNs"] > 2e9);
  const jcmd = ["jcmd", String(jvm.pid), "Compiler.perfmap"];
  execFileSync("nsenter", ["-t", String(jvm.pid), "-m", ...jcmd]);
  assert.ok(fs.existsSync(jvm.file(`/tmp/perf-${jvm.pid}.map`)));
  node = await startNode({ cluster, interval: "2s", args: [BY_JAR] });
});
after(async () => {
  v8?.kill("SIGKILL");
  await jvm?.stop();
  await node?.stop();
  await cluster?.stop();
});

// The flame graph of an application, and in it the frames of one program, by its name at the root.
const graphOf = (name, root) =>
  eventually(`samples of ${name}`, async () => {
    const app = await application(cluster, name);
    if (!app) return null;
    const range = { from: node.startedAt, to: Date.now() + 1000 };
    const graph = await flame(cluster, { service: app.service, ...range });
    const rootOf = (n) => (n.depth > 1 ? rootOf(n.parent) : n);
    const list = graph.list.filter((n) => n.depth > 0 && (!root || rootOf(n).name === root));
    const total = list.reduce((sum, n) => sum + n.self, 0);
    return graph.quality.samples * (total / graph.total) >= SAMPLES && { graph, list, total };
  });
// V8 is called by its executable, as others on this machine may be
const v8Graph = () => graphOf("node", V8);
const jvmGraph = () => graphOf(jvm.name);
const shareOf = ({ list, total }, name) =>
  list.reduce((sum, n) => sum + (n.name === name ? n.total : 0), 0) / total;

const known = ({ list }) => list.map((n) => `${n.name} ${n.file}`).join(", ");

test("functions of V8 have names, files and their shares", async () => {
  const all = await v8Graph();
  for (const [name, share] of [
    ["spendSeventy", 0.7],
    ["spendThirty", 0.3],
  ]) {
    const nodes = all.list.filter((n) => n.name === name);
    assert.ok(nodes.length > 0, known(all));
    assert.ok(nodes.every((n) => n.file === SCRIPT));
    const got = shareOf(all, name);
    assert.ok(Math.abs(got - share) <= POINTS, `${name}: ${got}: ${known(all)}`);
  }
});

// Of what is inlined into a method, HotSpot knows little: so the time is that below it.
test("methods of a JVM that writes a perf map have names", async () => {
  const all = await jvmGraph();
  const ours = all.list.filter((n) => n.name.startsWith("workload.Cpu."));
  assert.ok(shareOf(all, "workload.Cpu.burn") > 0.5, known(all));
  assert.ok(
    ours.every((n) => n.file === "workload/Cpu"),
    known(all),
  );
});

test("the flame graph says that Java profiles are off", async () => {
  await eventually("the state", async () => (await jvmGraph()).graph.quality.runtimes["java:off"]);
  assert.deepStrictEqual((await v8Graph()).graph.quality.runtimes, {});
});

test("maps are counted, and none was refused", async () => {
  assert.ok((await node.metric("node_agent_perf_map_polls_total", 'result="read"')) >= 2);
  assert.ok((await node.metric("node_agent_symbol_lookups_total", 'result="perf_map"')) > 0);
});
