// "What changed, and where?" on real agents: a program that changes what it does at a known moment,
// the page that compares both halves of it, and what the page says when the agent is slow or gone.
"use strict";

const assert = require("node:assert");
const { test, before, after } = require("node:test");
const { startCluster, startNode } = require("./lib/daemon");
const { openBrowser, drawnFrames } = require("./lib/browser");
const { CPU, application, flame, settled, sql } = require("./lib/query");
const { AskedWorkload, program } = require("./lib/workload");
const { eventually } = require("./lib/wait");

const INTERVAL_MS = 2000;
const SECONDS = 8;
const FUNCTIONS = ["spend_first", "spend_second", "spend_added"];

let cluster;
let node;
let browser;
let page;
let service;
let phases; // what the program says of itself, before and after
let middle; // between the two
let half; // length of each side

const sumOf = (phase) => FUNCTIONS.reduce((sum, f) => sum + phase[f], 0);
const shareOf = (phase, f) => phase[f] / sumOf(phase);
// Tolerance of a share: 5 points for the 800 samples that each side has, and as many standard
// deviations for the smaller side when a busy machine gives it less.
const samples = () => 99e-9 * Math.min(...phases.map(sumOf));
const points = () => 0.05 * Math.sqrt(Math.max(1, 800 / samples()));
const near = (a, b, what, tolerance = points()) =>
  assert.ok(Math.abs(a - b) < tolerance, `${what}: ${a}, truth ${b} ± ${tolerance}`);
// A difference of two shares is off by what both are.
const nearChange = (a, b, what) => near(a, b, what, Math.SQRT2 * points());

const of = () => `ServiceName = '${service}' AND Type = '${CPU}'`;
const ms = (column) => `toUnixTimestamp64Milli(${column})`;
async function sqlSum(from, to) {
  const [row] = await sql(
    cluster,
    `SELECT sum(Value) AS v FROM profiling_samples
     WHERE ${of()} AND ${ms("End")} > ${from} AND ${ms("Start")} < ${to}`,
  );
  return row.v;
}

// Profiles that begin after this moment are in the store, whosever they are.
const profilesSince = (t) =>
  eventually("profiles of a later time", async () => {
    const [row] = await sql(cluster, `SELECT max(${ms("Start")}) AS t FROM profiling_samples`);
    return row.t > t;
  });

before(async () => {
  cluster = await startCluster();
  node = await startNode({ cluster, interval: `${INTERVAL_MS / 1000}s` });
  const work = new AskedWorkload("shift");
  // on a busy machine, the first stacks of a process are cut while its tables are being made
  const first = await work.ask(`70 30 0 1`);
  await profilesSince(first.to + 2 * INTERVAL_MS);
  phases = [await work.ask(`70 30 0 ${SECONDS}`)];
  // a profile that has some of both would belong to neither side
  await profilesSince(phases[0].to + INTERVAL_MS);
  phases.push(await work.ask(`24 56 20 ${SECONDS}`));
  work.stop();
  await profilesSince(phases[1].to);
  await settled(cluster);
  ({ service } = await application(cluster, program("shift")));
  const [gap] = await sql(
    cluster,
    `SELECT maxIf(${ms("End")}, ${ms("Start")} < ${phases[0].to}) AS a,
            minIf(${ms("Start")}, ${ms("End")} > ${phases[1].from}) AS b
     FROM profiling_samples WHERE ${of()}`,
  );
  assert.ok(gap.a <= gap.b, `no profile has both: ${JSON.stringify(gap)}`);
  middle = Math.round((gap.a + gap.b) / 2);
  half = Math.max(middle - phases[0].from, phases[1].to - middle) + INTERVAL_MS;
  ({ browser, page } = await openBrowser());
});
after(async () => {
  await browser?.close();
  await node?.stop("SIGKILL");
  await cluster?.stop("SIGKILL");
});

const id = (testId) => page.getByTestId(testId);
const address = () => new URLSearchParams(new URL(page.url()).search);
const open = (params) =>
  page.goto(`${cluster.url}/?${new URLSearchParams({ service, type: CPU, ...params })}`);
const whole = () => ({ range: `${middle - half}-${middle + half}` });
const row = (name) => page.locator(`[data-testid="function"][data-name="${name}"]`);
const cells = async (name) => (await row(name).locator("td.num").allInnerTexts()).map(figure);
const figure = (text) => Number(text.replace("−", "-").replace(/[^-\d.]/g, "")) / 100;
const compared = () => row("spend_added").and(page.locator('[data-change="new"]')).waitFor();
const frame = async (name) =>
  (await drawnFrames(page)).filter((f) => f.name === name).sort((a, b) => b.w - a.w)[0];

test("both sides of a difference are what the program did, and add up as SQL does", async () => {
  const sides = { from: middle, to: middle + half, baseFrom: middle - half, baseTo: middle };
  const f = await flame(cluster, { service, ...sides });
  assert.strictEqual(f.total, await sqlSum(sides.from, sides.to));
  assert.strictEqual(f.base.total, await sqlSum(sides.baseFrom, sides.baseTo));
  const [before, after] = phases;
  const own = (name, column) =>
    f.functions.name.reduce(
      (sum, n, i) => sum + (f.names[n] === name ? f.functions[column][i] : 0),
      0,
    );
  for (const name of FUNCTIONS) {
    near(own(name, "self") / f.total, shareOf(after, name), `${name} after`);
    near(own(name, "baseSelf") / f.base.total, shareOf(before, name), `${name} before`);
  }
  assert.strictEqual(own("spend_added", "baseSelf"), 0, "a new function");
});

test("a drag on the timeline and a click compare with the time before", async () => {
  await open(whole());
  const over = page.locator('[data-testid="timeline"] .u-over');
  await eventually("a drawn timeline", async () => (await frame("shift_work")) !== undefined);
  const box = await over.boundingBox();
  const y = box.y + box.height / 2;
  await page.mouse.move(box.x + box.width / 2, y);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.8, y, { steps: 4 });
  await page.mouse.move(box.x + box.width - 1, y, { steps: 4 });
  await page.mouse.up();
  const select = await eventually("a selected part", () => address().get("select"));
  const [from, to] = select.split("-").map(Number);
  const pixels = (2 * half) / box.width;
  assert.ok(Math.abs(from - middle) < 3 * pixels && Math.abs(to - middle - half) < 3 * pixels);
  await id("selection-compare").click();
  await id("compare-bar").waitFor();
  await eventually("a baseline", () => address().get("base") === "previous");
  // where the machine had less time for one of the sides, values are the default
  await id("diff-share").click();
  await compared();
  await page.picture("compare");
});

test("the table says by how much each function changed, and which one is new", async () => {
  const [before, after] = phases;
  // only rows in view exist, and on a busy machine there are many of the kernel
  const size = page.viewportSize();
  await page.setViewportSize({ ...size, height: 4000 });
  assert.strictEqual(await row("spend_added").getAttribute("data-change"), "new");
  await eventually("the shares of both sides", async () => {
    for (const name of FUNCTIONS) {
      const [base, now, change] = await cells(name);
      near(base, shareOf(before, name), `${name} before`);
      near(now, shareOf(after, name), `${name} after`);
      nearChange(change, shareOf(after, name) - shareOf(before, name), `change of ${name}`);
    }
    return true;
  });
  // what grew is first, what shrank is last
  const names = await id("function").evaluateAll((all) => all.map((r) => r.dataset.name));
  assert.strictEqual(names.filter((n) => FUNCTIONS.includes(n)).at(-1), "spend_first");
  await id("changed-new").click();
  await eventually("new functions alone", async () => (await row("spend_second").count()) === 0);
  assert.strictEqual(await row("spend_added").count(), 1);
  await id("changed-all").click();
  await page.setViewportSize(size);
});

test("the tooltip has both sides of a frame", async () => {
  // an answer that arrives late moves frames, and closes the tooltip
  const shares = await eventually("a tooltip with both sides", async () => {
    const f = await frame("spend_first");
    if (!f) return null;
    await page.mouse.move(f.x + f.w / 2, f.y + f.h / 2 - 1);
    await page.mouse.move(f.x + f.w / 2, f.y + f.h / 2);
    if (!(await id("tooltip").isVisible())) return null;
    const text = await id("tooltip").innerText({ timeout: 1000 });
    const found = [...text.matchAll(/([\d.]+) %/g)].map((m) => Number(m[1]) / 100);
    return text.includes("spend_first") && found.length > 1 && found;
  });
  near(shares[0], shareOf(phases[1], "spend_first"), "now");
  near(shares[1], shareOf(phases[0], "spend_first"), "baseline");
  await page.mouse.move(5, 5);
});

test("the address alone shows the same comparison again", async () => {
  const shown = async () => ({
    bar: await id("compare-bar").innerText(),
    rows: await Promise.all(FUNCTIONS.map(cells)),
  });
  const first = await shown();
  await page.reload();
  await compared();
  await eventually("the same page", async () => {
    assert.deepStrictEqual(await shown(), first);
    return true;
  });
  await id("leave-comparison").click();
  await id("compare-bar").waitFor({ state: "detached" });
  await page.goBack();
  await id("compare-bar").waitFor();
});

test("search counts both sides' time; Escape leads out", async () => {
  await open({ ...whole(), select: `${middle}-${middle + half}` });
  await eventually("frames", () => frame("spend_added"));
  await page.keyboard.press("/");
  await page.keyboard.type("spend_added");
  await eventually("the matched share", async () => {
    const share = figure((await id("matched").innerText()).match(/[\d.]+ ?%/)[0]);
    near(share, shareOf(phases[1], "spend_added"), "matched");
    return true;
  });
  await page.keyboard.press("Escape");
  await eventually("no search", () => address().get("search") === null);
});

test("callers and callees of a function are its own", async () => {
  await open(whole());
  const f = await eventually("the function", () => frame("shift_work"));
  await page.mouse.click(f.x + f.w / 2, f.y + f.h / 2, { button: "right" });
  await id("menu-sandwich").click();
  const text = await id("sandwich-figures").innerText();
  assert.match(text, /%/);
  await page.picture("sandwich");
  await id("sandwich-close").click();
});

test("on a phone, nothing is wider than the window", async () => {
  await page.setViewportSize({ width: 390, height: 844 });
  await open({ ...whole(), select: `${middle}-${middle + half}`, base: "previous" });
  await eventually("the page", () => id("compare-bar").count());
  const width = () => page.evaluate(() => document.documentElement.scrollWidth);
  await eventually("no scrolling to the side", async () => (await width()) <= 390);
  await page.picture("phone");
  await page.setViewportSize({ width: 1440, height: 900 });
});

test("the page had no errors", () => {
  assert.deepStrictEqual(page.errors, []);
});

test("an agent that stands still, comes back and dies: the page says so", async () => {
  await page.goto(`${cluster.url}/?filter=${program("shift")}`);
  const link = page.locator(`[data-testid="application"][data-service="${service}"] a`).first();
  await link.waitFor();
  cluster.child.kill("SIGSTOP");
  await link.click();
  await eventually("a word", async () => /Loading/.test(await id("waiting").innerText()));
  await page.picture("waiting");
  cluster.child.kill("SIGCONT");
  await eventually("frames", () => frame("shift_work"));
  await cluster.stop("SIGKILL");
  await id("live").click(); // asks again
  await eventually("the error", async () =>
    /does not answer/.test(await id("error").innerText()) &&
    /Not answering since/.test(await id("live").innerText()));
  assert.ok(await frame("shift_work"), "what was loaded stays");
  await page.picture("gone");
});
