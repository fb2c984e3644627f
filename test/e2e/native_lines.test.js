// Lines and inlined calls of a C++ program, from its DWARF to the page and to pprof.
"use strict";

const assert = require("node:assert");
const { execFileSync } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const { test, before, after } = require("node:test");
const { openBrowser, drawnFrames } = require("./lib/browser");
const { root, scratch, startCluster, startNode } = require("./lib/daemon");
const { CPU, application, cpuStacks } = require("./lib/query");
const { eventually } = require("./lib/wait");
const { program, runWorkload } = require("./lib/workload");

// Several profiles: the first one may be without lines.
const CPU_S = 12;
const SOURCE = "test/e2e/workloads/nativelines.cc";

let cluster;
let node;
let app;
let helpers;
const range = {};

const lineOf = (name) => {
  const lines = fs.readFileSync(path.join(root, SOURCE), "utf8").split("\n");
  return lines.findIndex((l) => l.endsWith(`// line of ${name}`)) + 1;
};
const escape = (text) => text.replace(/[^\w\s]/g, "\\$&");
const NAMES = {
  mix: "shop::Price::mix(unsigned long) const",
  step: "unsigned long shop::step<shop::Price>(shop::Price const&, unsigned long)",
  spend: "shop::spend(int)",
  main: "main",
};

const childrenOf = (pid) =>
  fs
    .readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8")
    .trim()
    .split(" ")
    .map((child) => fs.readFileSync(`/proc/${child}/cmdline`, "utf8").split("\0"));

before(async () => {
  cluster = await startCluster();
  node = await startNode({ cluster, interval: "2s" });
  range.from = node.startedAt;
  await runWorkload("nativelines", CPU_S);
  helpers = childrenOf(node.pid);
  await node.stop();
  range.to = Date.now() + 1000;
  app = await application(cluster, program("nativelines"));
});
after(() => cluster?.stop());

const stacks = () => cpuStacks(cluster, app.service);

test("most of the time is in one line, below the lines that it is inlined into", async () => {
  const [top, ...others] = await stacks();
  const at = (name, suffix) =>
    new RegExp(`^${escape(NAMES[name])} \\S*${SOURCE}:${lineOf(name)}${suffix}$`);
  assert.match(top.stack[0], at("mix", ":inlined"), top.stack.join("\n"));
  assert.match(top.stack[1], at("step", ":inlined"));
  assert.match(top.stack[2], at("spend", ""));
  assert.match(top.stack[3], at("main", ""));
  const total = others.reduce((sum, s) => sum + s.ns, top.ns);
  assert.ok(top.ns > total / 2, `${top.ns} of ${total} ns`);
});

test("the agent's own binary has read them, in a process of its own", () => {
  assert.deepStrictEqual(helpers, [["coroot-node-agent", "internal-line-reader", ""]]);
});

test("go tool pprof shows the lines, and which are inlined", async () => {
  const query = new URLSearchParams({ service: app.service, type: CPU, ...range });
  const answer = await fetch(`${cluster.url}/api/pprof?${query}`, { headers: cluster.headers });
  assert.strictEqual(answer.status, 200);
  const file = path.join(scratch("pprof"), "cpu.pb.gz");
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, Buffer.from(await answer.arrayBuffer()));
  const go = execFileSync("test/setup/go.sh", { cwd: root, encoding: "utf8" }).trim();
  const top = execFileSync(go, ["tool", "pprof", "-lines", "-top", file], {
    cwd: root,
    encoding: "utf8",
  });
  assert.match(top, new RegExp(`Price::mix.*${SOURCE}:${lineOf("mix")} \\(inline\\)`));
  assert.match(top, new RegExp(`shop::step.*${SOURCE}:${lineOf("step")} \\(inline\\)`));
  assert.match(top, new RegExp(`shop::spend.*${SOURCE}:${lineOf("spend")}\n`));
});

test("the page draws the inlined calls with their file, and lists the lines", async () => {
  const { browser, page } = await openBrowser();
  try {
    await page.goto(`${cluster.url}/#/`);
    const row = page.locator(`[data-testid="application"][data-service="${app.service}"]`);
    await row.locator("a").first().click();
    const frame = async (name) => (await drawnFrames(page)).find((f) => f.name === NAMES[name]);
    const mix = await eventually("the innermost call", () => frame("mix"));
    assert.match(mix.file, new RegExp(`${SOURCE}$`));
    const spend = await frame("spend");
    assert.ok(mix.y > spend.y && mix.x >= spend.x - 1);
    await page.picture("lines");
    assert.deepStrictEqual(page.errors, []);
  } finally {
    await browser.close();
  }
});
