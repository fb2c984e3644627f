// "make run" as a user experiences it: half a minute after the start, the browser shows a
// correct flame graph.
"use strict";

const path = require("node:path");
const assert = require("node:assert");
const { test, before, after } = require("node:test");
const { BY_EXECUTABLE, Daemon, freePort, root, scratch } = require("./lib/daemon");
const { openBrowser, drawnFrames, inked } = require("./lib/browser");
const { program, assertWithin, runWorkload } = require("./lib/workload");
const { eventually } = require("./lib/wait");

let run;
let browser;
let page;
let ran;
let visibleMs;

before(async () => {
  const [port, nodePort] = [await freePort(), await freePort()];
  run = new Daemon(`${root}/test/setup/run.sh`, [], {
    name: "run",
    url: `http://127.0.0.1:${port}`,
    env: {
      PORT: port,
      NODE_PORT: nodePort,
      RUN_DIR: path.relative(root, scratch("run")),
      INTERVAL: "10s",
      NAME_RULE: BY_EXECUTABLE.replace("--name-rule=", ""),
    },
  });
  run.nodeUrl = `http://127.0.0.1:${nodePort}`;
  const work = runWorkload("share", 26);
  ({ browser, page } = await openBrowser());
  await run.ready("/readyz");
  const from = Date.now();
  await page.goto(run.url);
  // the page polls for new data: no reload
  const row = page.locator(`[data-testid="application"][data-service$="/${program("share")}"]`);
  await row.waitFor();
  await row.locator("a").first().click();
  await eventually("a drawn flame graph", async () =>
    (await drawnFrames(page)).some((f) => f.name === "spend_seventy"),
  );
  visibleMs = Date.now() - from;
  await page.picture("first");
  ran = await work;
});
after(async () => {
  await browser.close();
  if (run.running) await run.stop("SIGKILL");
});

const frame = async (name) => (await drawnFrames(page)).find((f) => f.name === name);
const clickFrame = async (f) => page.mouse.click(f.x + f.w / 2, f.y + f.h / 2);

test("the flame graph is visible within 30 s of the start", () => {
  assertWithin(30000, visibleMs, ran);
});

test("the page has one content security policy", async () => {
  const policy = (await fetch(run.url)).headers.get("content-security-policy");
  assert.match(policy, /^default-src 'self';/);
  assert.strictEqual(policy.split("default-src").length, 2, policy);
});

test("the list of applications shows what runs here, busiest first", async () => {
  await page.goto(run.url);
  const rows = page.locator('[data-testid="application"]');
  await rows.first().waitFor();
  await page.picture("applications");
  const services = () => rows.evaluateAll((all) => all.map((r) => r.dataset.service));
  // only the rows in view exist, and of a busy machine some are in groups
  const filter = page.getByTestId("application-filter");
  await filter.fill("coroot-cluster-agent");
  await eventually("the cluster-agent", async () => {
    const found = await services();
    return found.length > 0 && found.every((s) => s.includes("coroot-cluster-agent"));
  });
  await filter.fill(program("share"));
  await eventually("the workload", async () =>
    (await services()).some((s) => s.endsWith(`/${program("share")}`)),
  );
  await page
    .locator(`[data-testid="application"][data-service$="/${program("share")}"] a`)
    .first()
    .click();
  await eventually("the flame graph", () => frame("spend_seventy"));
});

test("frames are as wide as their share, and above their callers", async () => {
  // The last profile comes an interval later. Five points are then five standard deviations of the
  // samples.
  await eventually("all of it", async () => (await frame("total")).total > 0.9 * ran.cpuNs);
  const frames = await drawnFrames(page);
  const total = frames.find((f) => f.name === "total");
  const widthOf = (name) =>
    frames.filter((f) => f.name === name).reduce((s, f) => s + f.w, 0) / total.w;
  assert.ok(
    Math.abs(widthOf("spend_seventy") - ran.spend_seventy / ran.cpuNs) < 0.05,
    `${widthOf("spend_seventy")}`,
  );
  assert.ok(
    Math.abs(widthOf("spend_thirty") - ran.spend_thirty / ran.cpuNs) < 0.05,
    `${widthOf("spend_thirty")}`,
  );
  // a sample or two may have hit a prologue and appear elsewhere
  const widest = (name) =>
    frames.filter((f) => f.name === name).reduce((a, b) => (b.w > a.w ? b : a));
  const leaf = widest("spend_seventy");
  const caller = widest("share_work");
  assert.ok(
    leaf.y > caller.y && leaf.x >= caller.x - 1 && leaf.x + leaf.w <= caller.x + caller.w + 1,
  );
  assert.ok((await inked(page, '[data-testid="flame"]')) > 10000, "the canvas has ink on it");
});

test("the timeline is drawn", async () => {
  assert.ok((await inked(page, '[data-testid="timeline"] canvas')) > 200);
});

test("hovering shows name, file and numbers", async () => {
  const f = await frame("spend_seventy");
  await page.mouse.move(f.x + f.w / 2, f.y + f.h / 2);
  const tip = page.locator('[data-testid="tooltip"]');
  await tip.waitFor();
  const text = await tip.innerText();
  assert.match(text, /spend_seventy/);
  assert.match(text, /%/);
  await page.mouse.move(5, 5);
});

test("search shows which share of the time matches", async () => {
  await page.fill('[data-testid="search"]', "spend_thirty");
  const share = await eventually("the matched share", async () => {
    const m = /([\d.]+) ?%/.exec(await page.locator('[data-testid="matched"]').innerText());
    return m && Number(m[1]);
  });
  assert.ok(Math.abs(share / 100 - ran.spend_thirty / ran.cpuNs) < 0.05, `${share} %`);
  await eventually("the search in the address", () => /spend_thirty/.test(page.url()));
  await page.picture("search");
  await page.fill('[data-testid="search"]', "");
});

test("a click zooms in, the address keeps it, and back leads out again", async () => {
  const whole = await frame("share_work");
  await clickFrame(await frame("spend_seventy"));
  await eventually(
    "the zoom",
    async () => (await page.evaluate(() => window.__flame.zoom())) === "spend_seventy",
  );
  const zoomed = await frame("spend_seventy");
  assert.ok(zoomed.w > whole.w * 0.95, `as wide as the picture: ${zoomed.w}`);
  const address = await eventually("the zoom in the address", () =>
    /zoom=/.test(page.url()) ? page.url() : null,
  );
  await page.reload();
  await eventually(
    "the same zoom after a reload",
    async () => (await page.evaluate(() => window.__flame?.zoom())) === "spend_seventy",
  );
  assert.strictEqual(page.url(), address);
  await page.picture("zoom");
  await page.goBack();
  await eventually(
    "the whole picture",
    async () => (await page.evaluate(() => window.__flame?.zoom())) === "total",
  );
});

test("the page had no errors", () => {
  assert.deepStrictEqual(page.errors, []);
});

test("Ctrl-C stops both agents, and the last profiles arrive first", async () => {
  const result = await run.stop("SIGINT");
  assert.strictEqual(result.code, 0, run.log());
  await assert.rejects(fetch(`${run.url}/healthz`));
  await assert.rejects(fetch(`${run.nodeUrl}/healthz`));
  assert.doesNotMatch(run.log(), /killing it|ended by itself/);
});
