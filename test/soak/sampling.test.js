// Sampling at the highest rate while everything that a walk over stacks reads is changing below
// it, one agent beside another that is killed again and again, and, at length, beside "perf
// record" with stacks of its own. The kernel has nothing to say about it, nobody is held up, what
// is lost is counted, stacks are true, and the agent does not grow.
"use strict";

const assert = require("node:assert");
const { execFileSync, spawn } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const { test } = require("node:test");
const { root, runDir, startNode } = require("../e2e/lib/daemon");
const { eventually, sleep } = require("../e2e/lib/wait");
const { ProfileReceiver } = require("../accuracy/profile_receiver");
const { LONG } = require("./lib/torture");

const SECONDS = Number(process.env.SECONDS || (LONG ? 1800 : 15));
const LIBRARIES = 12;
const HZ = 999;
const MIB = 1 << 20;
const built = (name) => path.join(root, "build", name);

// What the kernel writes when something has gone wrong in it.
const KERNEL_TROUBLE =
  /\b(BUG|WARNING|Oops|stall|lockup|hung|general protection|NMI handler|Call Trace)\b/;
const kernelTrouble = () =>
  execFileSync("dmesg", { encoding: "utf8", maxBuffer: 64 * MIB })
    .split("\n")
    .filter((line) => KERNEL_TROUBLE.test(line));

// Copies are files of their own, each with a table of its own.
function copiesOfLibrary() {
  return Array.from({ length: LIBRARIES }, (_, i) => {
    const copy = path.join(runDir, `libchurn${i}.so`);
    fs.copyFileSync(built("soak/libchurn.so"), copy);
    return copy;
  });
}

// The turns of each of its threads, as it last said.
function startChurn() {
  const child = spawn(built("soak/churn"), copiesOfLibrary(), {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const churn = { child, turns: {}, longestMs: 0, saidAt: Date.now() };
  child.stdout.on("data", (text) => {
    const words = String(text).trim().split("\n").pop().split(" ");
    for (let i = 0; i + 1 < words.length; i += 2) churn.turns[words[i]] = Number(words[i + 1]);
    churn.longestMs = Math.max(churn.longestMs, Date.now() - churn.saidAt);
    churn.saidAt = Date.now();
  });
  return churn;
}

const agentArgs = (name, budget) => [
  `--profile-frequency=${HZ}`,
  `--unwind-table-budget=${budget}`,
  `--cache-dir=${path.join(runDir, name)}`,
];

// Its programs come and go while those of the other agent are on the same clock, and its tables,
// for which it has too little room, make room for each other all the time.
async function killAgain(until) {
  let lives = 0;
  while (Date.now() < until) {
    const node = await startNode({
      collector: "http://127.0.0.1:1",
      interval: "2s",
      args: agentArgs("killed", "1MiB"),
    });
    await sleep(Math.min(Math.random() * 8000, Math.max(0, until - Date.now())));
    await node.stop("SIGKILL");
    lives++;
  }
  return lives;
}

// perf by turns with the kernel's walk and with copies of the stack, attached anew each time.
async function perfBeside(until) {
  const file = path.join(runDir, "perf.data");
  const kinds = [
    ["-F", "4999", "-g"],
    ["-F", "999", "--call-graph", "dwarf,4096"],
  ];
  let runs = 0;
  while (LONG && Date.now() < until) {
    const args = ["record", "-q", "-a", "-e", "cpu-clock", ...kinds[runs % 2], "-o", file];
    const perf = spawn("perf", [...args, "--", "sleep", "15"], { stdio: "ignore" });
    const [code] = await new Promise((resolve) =>
      perf.once("close", (...result) => resolve(result)).once("error", (e) => resolve([e.message])),
    );
    assert.strictEqual(code, 0, "perf record");
    runs++;
  }
  fs.rmSync(file, { force: true });
  return runs;
}

// Its start, when the loader has a _start of its own, is behind it.
const hasStarted = (pid) => {
  const ticks = fs.readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ")[11];
  return Number(ticks) > 10;
};
const rssMib = (pid) =>
  Number(/VmRSS:\s*(\d+)/.exec(fs.readFileSync(`/proc/${pid}/status`, "utf8"))[1]) / 1024;

// What it knows of the kernel's samples: those that it sent, and what became of them.
async function accounts(node) {
  const one = (name, labels) => node.metric(`coroot_node_agent_samples_${name}`, labels);
  return {
    sent: await one("total"),
    profiled: await one("profiled_total"),
    whole: await one("unwound_total", 'end="complete"'),
    lost: await one("lost_total"),
    unprofiled: await one("unprofiled_total"),
  };
}

function judge(stacks) {
  const counts = { all: 0, whole: 0, wrong: [] };
  for (const { frames, count } of stacks) {
    const names = frames.map((f) => f.name);
    const chain = names.filter((n) => n.startsWith("chain_"));
    const expected = ["chain_outer", "chain_middle", "chain_leaf"].slice(0, chain.length);
    counts.all += count;
    if (names[0] !== "_start") continue;
    if (names.includes("main") && chain.join() === expected.join()) counts.whole += count;
    else counts.wrong.push(`${count} × ${names.join(";")}`);
  }
  return counts;
}

function newestOf(stacks) {
  const newest = Math.max(...stacks.map((s) => s.startMs));
  return stacks.filter((s) => s.startMs === newest);
}

test(`${SECONDS} s at ${HZ} Hz while everything changes`, async (t) => {
  const troubleBefore = kernelTrouble().length;
  const receiver = await new ProfileReceiver(["nofp"]).start();
  const known = spawn(built("e2e/nofp"), ["1000000"], { stdio: "ignore" });
  const churn = startChurn();
  t.after(() => {
    churn.child.stdin.end();
    known.kill("SIGKILL");
    receiver.stop();
  });
  await eventually("the known program runs", () => hasStarted(known.pid));
  const node = await startNode({
    collector: receiver.url,
    interval: "5s",
    args: agentArgs("kept", "4MiB"),
  });
  t.after(() => node.running && node.stop("SIGKILL"));
  await eventually("its first profile", () => receiver.stacksOf("nofp").length > 0);
  const rssFirst = rssMib(node.pid);
  const turnsFirst = { ...churn.turns };
  const until = Date.now() + SECONDS * 1000;
  let rssMost = 0;
  const watch = setInterval(() => (rssMost = Math.max(rssMost, rssMib(node.pid))), 1000);
  const [lives, perfRuns] = await Promise.all([killAgain(until), perfBeside(until)]).finally(() =>
    clearInterval(watch),
  );

  const turns = { ...churn.turns };
  const ofAgent = await accounts(node);
  const ofKnown = judge(receiver.stacksOf("nofp"));
  const evicted = await node.metric("coroot_node_agent_unwind_tables_evicted_total");
  for (const line of [
    `${lives} agents killed, perf attached ${perfRuns} times`,
    `samples ${JSON.stringify(ofAgent)}, nofp ${JSON.stringify(ofKnown)}`,
    `churn ${JSON.stringify(turns)}, silent for ${churn.longestMs} ms at most`,
    `agent ${rssFirst.toFixed(1)} MiB at first, ${rssMost.toFixed(1)} at most`,
    `${evicted} tables made room`,
  ])
    t.diagnostic(line);
  assert.deepStrictEqual(kernelTrouble().slice(troubleBefore), []);
  assert.strictEqual(churn.child.exitCode, null);
  for (const [name, n] of Object.entries(turns))
    assert.ok(n > (turnsFirst[name] ?? 0), `${name} stands still`);
  assert.ok(lives > 0);
  assert.ok(!LONG || perfRuns > 0);
  await eventually("all samples are in a counter", async () => {
    const now = await accounts(node);
    return now.profiled + now.lost + now.unprofiled >= ofAgent.sent;
  });
  assert.deepStrictEqual(ofKnown.wrong, []);
  if (LONG) assert.ok(ofKnown.whole >= 0.99 * ofKnown.all, JSON.stringify(ofKnown));
  await eventually("whole stacks in the newest profile", () => {
    const { all, whole } = judge(newestOf(receiver.stacksOf("nofp")));
    return whole >= 0.9 * all;
  });
  assert.ok(rssMost < 64, `${rssMost} MiB`);
  assert.deepStrictEqual(await node.stop(), { code: 0, signal: null });
});
