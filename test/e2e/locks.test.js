// Mutex and block profiles of a Go program that never asks for them, from its memory to the
// store; and that the program is restored. The agent sees no other processes, since it would
// change them as well.
"use strict";

const assert = require("node:assert");
const { spawn } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const readline = require("node:readline");
const { test, before, after } = require("node:test");
const { setTimeout: sleep } = require("node:timers/promises");
const {
  BY_EXECUTABLE,
  Daemon,
  freePort,
  nodeAgent,
  root,
  runDir,
  startCluster,
} = require("./lib/daemon");
const { program } = require("./lib/workload");
const { sql, flame, application } = require("./lib/query");
const { eventually } = require("./lib/wait");

const INTERVAL_S = 2;
const BURST_S = 1;
const OURS = 113;

let cluster;
let node;
let workload;
let asked = [];
const range = {};

function startWorkload() {
  const file = path.join(runDir, program("golocks"));
  fs.copyFileSync(path.join(root, "build/e2e/golocks"), file);
  const child = spawn(file, [], { stdio: ["pipe", "pipe", "inherit"] });
  const lines = readline.createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  process.on("exit", () => child.kill("SIGKILL"));
  return {
    pid: child.pid,
    async ask() {
      child.stdin.write("\n");
      return JSON.parse((await lines.next()).value);
    },
    stop: () => child.stdin.end(),
  };
}

// A directory in place of /proc, with links to this process and to everything but processes.
async function startNodeThatSees(pid) {
  const port = await freePort();
  const real = path.join(runDir, "proc");
  fs.mkdirSync(real, { recursive: true });
  const hide = `mount --rbind /proc '${real}' && mount -t tmpfs none /proc &&
    for f in '${real}'/*; do case \${f##*/} in [0-9]*) ;; *) ln -s "$f" /proc/ ;; esac; done &&
    ln -s '${real}'/1 '${real}'/${pid} /proc/ && exec "$0" "$@"`;
  const args = [
    `--listen=127.0.0.1:${port}`,
    `--collector-endpoint=${cluster.url}`,
    "--profile-interval=5s",
    "--wal-dir=",
    "--go-heap-profiler=disabled",
    `--go-heap-interval=${INTERVAL_S}s`,
    "--go-mutex-profiler=on",
    "--go-block-profiler=burst",
    `--go-block-burst=${BURST_S}s`,
    BY_EXECUTABLE,
  ];
  const command = ["--mount", "--propagation=private", "sh", "-c", hide, nodeAgent, ...args];
  return new Daemon("unshare", command, {
    name: "coroot-node-agent",
    url: `http://127.0.0.1:${port}`,
  }).ready("/healthz");
}

const made = (profile) => node.metric("node_agent_go_profiles_total", `"${profile}"`);

before(async () => {
  cluster = await startCluster();
  workload = startWorkload();
  range.from = Date.now();
  asked.push(await workload.ask());
  node = await startNodeThatSees(workload.pid);
  await eventually(
    "profiles",
    async () => (await made("mutex")) >= 5 && (await made("block")) >= 4,
  );
  // enough of them are sampled that ten per cent are five standard deviations
  const enough = asked[0].waits + 3000 * OURS;
  await eventually("waits", async () => (asked[1] = await workload.ask()).waits > enough, 240000);
});
after(async () => {
  workload?.stop();
  if (node.running) await node?.stop();
  await cluster?.stop();
});

const service = async () =>
  (await eventually("the application", () => application(cluster, program("golocks")))).service;

// Nanoseconds of waiting per second that its profiles cover.
async function reported(type) {
  const [row] = await sql(
    cluster,
    `SELECT sum(v) AS ns, sum(seconds) AS s FROM
       (SELECT sum(Value) AS v, max(End - Start) AS seconds FROM profiling_samples
        WHERE ServiceName = '${await service()}' AND Type = '${type}' GROUP BY Start, End)`,
  );
  return row.ns / row.s;
}
const waited = () =>
  ((asked[1].waitedNs - asked[0].waitedNs) / (asked[1].atNs - asked[0].atNs)) * 1e9;

function assertNear(got, want, missing = 0) {
  const ratio = got / want;
  assert.ok(
    ratio > 0.9 - missing && ratio < 1.1,
    `${got / 1e9} s per second, not ${want / 1e9} less ${missing * 100} %`,
  );
}

test("while the agent runs the mutex profiler is on", () => {
  assert.strictEqual(asked[0].mutexRate, 0);
  assert.strictEqual(asked[1].mutexRate, OURS);
  assert.ok(asked[1].blockCycles > 0);
});

test("at its end, the agent restores the program", async () => {
  await node.stop();
  const first = await workload.ask();
  assert.strictEqual(first.mutexRate, 0);
  await sleep(500);
  assert.strictEqual((await workload.ask()).blockCycles, first.blockCycles);
});

test("profilers that a killed agent left on are switched off by the next one", async () => {
  node = await startNodeThatSees(workload.pid);
  await eventually(
    "a burst",
    async () => (await node.metric("node_agent_go_lock_switched_on_total", "block")) >= 1,
  );
  await node.stop("SIGKILL");
  assert.strictEqual((await workload.ask()).mutexRate, OURS);
  node = await startNodeThatSees(workload.pid);
  // the agent recognizes it once a burst has ended
  await eventually(
    "its end",
    async () => (await node.metric("node_agent_go_lock_restored_total", "block")) >= 1,
  );
  assert.strictEqual((await workload.ask()).mutexRate, OURS);
  await node.stop();
  const last = await workload.ask();
  assert.strictEqual(last.mutexRate, 0);
  await sleep(500);
  assert.strictEqual((await workload.ask()).blockCycles, last.blockCycles);
});

test("contention has its true duration, in the function that holds the lock", async () => {
  assertNear(await reported("go:mutex_delay:nanoseconds"), waited());
  range.to = Date.now() + 60000;
  const f = await flame(cluster, {
    service: await service(),
    type: "go:mutex_delay:nanoseconds",
    ...range,
  });
  assert.ok(
    f.share("main.(*pair).turn") > 0.95,
    `functions: ${f.list.map((n) => n.name).join(" ")}`,
  );
});

test("a burst shows how long goroutines blocked, and where", async () => {
  // waits that begin before it or end after it are missing; on a busy machine these are longer
  const meanS = (asked[1].waitedNs - asked[0].waitedNs) / (asked[1].waits - asked[0].waits) / 1e9;
  assertNear(await reported("go:block_delay:nanoseconds"), waited(), (2 * meanS) / BURST_S);
  const f = await flame(cluster, {
    service: await service(),
    type: "go:block_delay:nanoseconds",
    ...range,
  });
  assert.ok(
    f.share("main.(*pair).turn") > 0.95,
    `functions: ${f.list.map((n) => n.name).join(" ")}`,
  );
});
