// Functions of Python by name, file and line: a program of threads, generators and calls through C,
// and scripts that have ended long before their profile is made.
"use strict";

const assert = require("node:assert");
const { spawn, spawnSync } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const { test, before, after } = require("node:test");
const { startCluster, startNode } = require("./lib/daemon");
const { application, cpuStacks } = require("./lib/query");
const { tempDir } = require("./lib/temp_dir");
const { eventually } = require("./lib/wait");
const { program } = require("./lib/workload");

const SAMPLES = 300;
const SAMPLE_NS = 1e9 / 99;
// five standard deviations of a share of 0.7 of so many samples
const POINTS = 0.14;
const PYTHON = "/usr/bin/python3"; // Debian's: one executable, stripped
const SHORT_RUNS = 12;
// applications are named by their scripts, which have these names
const SHOP = program("shop");
const SHORT = program("short");
const MOMENT = program("shown");
const BY_SCRIPT = "--name-rule=/python3[.0-9]* (.*/)?(sho[^/]+)[.]py$=\\2";

const shop = `import functools, threading

class Shop:
    def seventy(self, x):
        for i in range(70000): x = (x * 48271) % 2147483647
        return x
    def thirty(self, x):
        for i in range(30000): x = (x * 48271) % 2147483647
        return x
    def steps(self, x):
        yield self.seventy(x)
        yield self.thirty(x)
    def sell(self, x):
        return functools.reduce(lambda a, b: (a + b) % 2147483647, self.steps(x))

def forever():
    x = 1
    while True: x = Shop().sell(x)

threading.Thread(target=forever).start()
forever()
`;
const short = `def early(n):
    x = 1
    for i in range(n): x = (x * 48271) % 2147483647

early(1000000)
`;

// Of each text, the code is gone before its name can be read, and other objects take its place.
const moment = `def momentary(x):
    for i in range(20000): x = (x * 48271) % 2147483647
    return x

n = 0
while True:
    n += 1
    eval(compile("[momentary(%d), %d, %d][0]" % (n, n, n + 1), "<moment>", "eval"))
    junk = [bytes(size) for size in range(16, 512, 8)]
`;

let cluster;
let node;
let child;
let second;
let dir;
const fileOf = (name) => path.join(dir, `${name}.py`);

before(async () => {
  dir = tempDir("python", { base: "/var/tmp" });
  fs.writeFileSync(fileOf(SHOP), shop);
  fs.writeFileSync(fileOf(SHORT), short);
  fs.writeFileSync(fileOf(MOMENT), moment);
  cluster = await startCluster();
  node = await startNode({ cluster, interval: "2s", args: [BY_SCRIPT] });
  child = spawn(PYTHON, [fileOf(SHOP)], { stdio: "inherit" });
  process.on("exit", () => [child, second].forEach((c) => c?.kill("SIGKILL")));
});
after(async () => {
  child?.kill("SIGKILL");
  second?.kill("SIGKILL");
  await node?.stop();
  await cluster?.stop();
});

// Its stacks with some time in one of the functions, root first, as [{ frames, ns }].
// Those that are chosen, of which there are so many samples.
const stacksOf = (script, functions, samples, isChosen = () => true) =>
  eventually(`samples of ${script}`, async () => {
    const app = await application(cluster, script);
    if (!app) return null;
    const all = await cpuStacks(cluster, app.service);
    const stacks = all
      .map(({ stack, ns }) => ({ frames: [...stack].reverse(), ns }))
      .filter(({ frames }) => frames.some((f) => functions.includes(f.split(" ")[0])))
      .filter(isChosen);
    return nsOf(stacks) >= samples * SAMPLE_NS && stacks;
  });
const nsOf = (stacks) => stacks.reduce((sum, s) => sum + s.ns, 0);

test("functions have names, files, lines and their shares, in the order of calls", async () => {
  const stacks = await stacksOf(SHOP, ["Shop.seventy", "Shop.thirty"], SAMPLES);
  const file = fileOf(SHOP);
  const chains = new Map();
  for (const { frames, ns } of stacks) {
    const own = frames.filter((f) => f.includes(` ${file}:`)).join(" > ");
    chains.set(own, (chains.get(own) ?? 0) + ns);
  }
  // the way in: of the main thread, and of the other one
  const rest = (leaf) =>
    `forever ${file}:18 > Shop.sell ${file}:14 > Shop.steps ${file}:${leaf[0]} > ` +
    `Shop.${leaf[1]} ${file}:${leaf[2]}`;
  const whole = new Map();
  for (const leaf of [
    [11, "seventy", 5],
    [12, "thirty", 8],
  ])
    for (const way of ["", `<module> ${file}:21 > `]) {
      const ns = chains.get(way + rest(leaf));
      assert.ok(ns > 0, `${way}${rest(leaf)}: ${[...chains.keys()].join("\n")}`);
      whole.set(leaf[1], (whole.get(leaf[1]) ?? 0) + ns);
    }
  const total = nsOf(stacks);
  const known = whole.get("seventy") + whole.get("thirty");
  assert.ok(known > 0.97 * total, `${known} of ${total}: ${JSON.stringify([...chains])}`);
  const got = whole.get("seventy") / known;
  assert.ok(Math.abs(got - 0.7) <= POINTS, `${got}`);
});

test("native frames are between those of Python: the C function that calls back", async () => {
  // those from before the program's tables were made end above the loop
  const isWhole = ({ frames }) => !frames.includes("[truncated] :0");
  const whole = await stacksOf(SHOP, ["Shop.seventy"], 10, isWhole);
  for (const { frames } of whole) {
    const [sell, steps] = ["Shop.sell ", "Shop.steps "].map((name) =>
      frames.findIndex((f) => f.startsWith(name)),
    );
    assert.ok(sell > 0 && steps > sell + 1, frames.join("\n"));
  }
});

test("scripts that end after a moment have names, too", async () => {
  for (let i = 0; i < SHORT_RUNS; i++)
    assert.strictEqual(spawnSync(PYTHON, [fileOf(SHORT)], { stdio: "inherit" }).status, 0);
  const stacks = await stacksOf(SHORT, ["early"], SHORT_RUNS);
  const file = fileOf(SHORT);
  for (const { frames } of stacks)
    assert.ok(frames.includes(`<module> ${file}:5`), frames.join("\n"));
});

test("code that is gone after a moment has a name", async () => {
  second = spawn(PYTHON, [fileOf(MOMENT)], { stdio: "inherit" });
  const stacks = await stacksOf(MOMENT, ["momentary"], SAMPLES / 3);
  second.kill("SIGKILL");
  const named = stacks.filter(({ frames }) => frames.includes("<module> <moment>:1"));
  const [ns, total] = [nsOf(named), nsOf(stacks)];
  assert.ok(ns >= 0.98 * total, `${ns} of ${total}: ${JSON.stringify(stacks.slice(0, 5))}`);
});

test("what became of names is counted", async () => {
  const frames = (result) =>
    node.metric("node_agent_interpreter_frames_total", `result="${result}"`);
  assert.ok((await frames("named")) > 0);
  assert.strictEqual(await frames("full"), 0);
  assert.ok((await node.metric("node_agent_interpreter_processes")) >= 1);
});
