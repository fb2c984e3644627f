// Whoever may upload chooses names: of functions, files, services, labels. The page shows them as
// text, whatever they are, and a profile of 100,000 nodes as a whole.
"use strict";

const assert = require("node:assert");
const { test, before, after } = require("node:test");
const zlib = require("node:zlib");
const { startCluster } = require("./lib/daemon");
const { openBrowser, drawnFrames } = require("./lib/browser");
const { encode, upload } = require("./lib/pprof");
const { CPU, flame, settled, sql } = require("./lib/query");
const { eventually } = require("./lib/wait");

const HEAP = "go:heap_inuse_space:bytes";
const SCRIPT = `<img src=x onerror="window.attacked=1">`;
const SERVICE = `/k8s/shop/${SCRIPT}`;
const LONG = `std::map<${"A".repeat(4000)}>::operator[]`;
const names = [
  SCRIPT,
  `"><script>window.attacked=1</script>`,
  "javascript:window.attacked=1",
  "pay\u202Etxt.exe\u200B", // right to left, and a character without width
  "</title><svg onload=window.attacked=1>",
  "${window.attacked=1}{{constructor.constructor('window.attacked=1')()}}",
  LONG,
];
const VALUE = 1e9;
const LARGE = "/process/large";

let cluster;
let browser;
let page;

// Stacks that make a tree of at least that many nodes.
function largeStacks(nodes) {
  const stacks = [];
  for (let i = 0, n = 1; n < nodes; i++) {
    const frames = [`f${i % 61}_leaf`, `f${i % 331}`, `f${Math.floor(i / 10)}`, "main", "large"];
    // each has two nodes of its own, and one that ten share
    n += i % 10 === 0 ? 3 : 2;
    // some are wide enough to be drawn, most are slivers
    stacks.push({ frames, value: 1e6 + i + (i % 999 === 0 ? 1e9 : 0) });
  }
  return stacks;
}

async function send(service, options, labels) {
  const { text, status } = await upload(
    cluster,
    service,
    zlib.gzipSync(encode(options)),
    {},
    labels,
  );
  assert.strictEqual(status, 200, text);
}

before(async () => {
  cluster = await startCluster();
  const stacks = names.map((name) => ({ frames: [name, "main"], value: VALUE }));
  await send(SERVICE, { stacks }, { pod: SCRIPT, namespace: `"'><b>` });
  await send(LARGE, { stacks: largeStacks(100_000) });
  // two snapshots of one process: their average
  for (const k of [1, 3])
    await send(LARGE, {
      type: HEAP,
      unit: "bytes",
      stacks: [{ frames: ["leaf", "main"], value: k * 2 ** 20 }],
      endMs: Date.now() - k * 20_000,
    });
  await settled(cluster);
  ({ browser, page } = await openBrowser());
  page.on("dialog", (d) => page.errors.push(`dialog: ${d.message()}`) && d.dismiss());
  await page.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", (e) => {
      window.violations = [...(window.violations ?? []), `${e.violatedDirective} ${e.blockedURI}`];
    });
  });
});
after(async () => {
  await browser?.close();
  await cluster?.stop("SIGKILL");
});

const id = (testId) => page.getByTestId(testId);
const open = (params) => page.goto(`${cluster.url}/?${new URLSearchParams(params)}`);

async function assertHarmless() {
  const found = await page.evaluate(() => ({
    attacked: window.attacked ?? null,
    violations: window.violations ?? null,
    elements: document.querySelectorAll("img, script:not([src]), [onerror], [onload], b b").length,
  }));
  assert.deepStrictEqual(found, { attacked: null, violations: null, elements: 0 });
  assert.deepStrictEqual(page.errors, []);
}

test("names are text on every screen, whatever they are", async () => {
  await page.goto(cluster.url);
  await page.locator(`[data-testid="application"]`).first().waitFor();
  await assertHarmless();
  await open({ service: SERVICE, type: CPU });
  await eventually("frames", async () => (await drawnFrames(page)).length >= names.length + 2);
  const frames = await drawnFrames(page);
  for (const name of names) assert.ok(frames.some((f) => f.name === name), name.slice(0, 60));
  assert.strictEqual((await page.title()).includes(SCRIPT), true, "the title is text as well");
  for (const f of frames.filter((f) => f.depth > 1)) {
    await page.mouse.move(f.x + f.w / 2, f.y + f.h / 2);
    const box = await id("tooltip").boundingBox();
    const { width, height } = page.viewportSize();
    assert.ok(
      box.x >= 0 && box.y >= 0 && box.x + box.width <= width && box.y + box.height <= height,
      `${f.name.slice(0, 60)}: ${JSON.stringify(box)}`,
    );
    assert.match(await id("tooltip").innerText(), /14\.3 %/, "the figures are in sight");
  }
  await page.picture("names");
  await assertHarmless();
});

test("names in the table, the search, the address and the menu are text", async () => {
  await open({ service: SERVICE, type: CPU, search: SCRIPT, fn: `${SCRIPT}@`, panel: "sandwich" });
  await eventually("the matched share", async () => /14/.test(await id("matched").innerText()));
  await assertHarmless();
  await open({ service: SERVICE, type: CPU, where: `pod="${SCRIPT.replaceAll('"', '\\"')}"` });
  await eventually("frames", async () => (await drawnFrames(page)).length > names.length);
  await assertHarmless();
  await open({ service: SERVICE, type: CPU, by: "pod" });
  await eventually("frames", async () => (await drawnFrames(page)).length > names.length);
  await page.picture("labels");
  await assertHarmless();
  await open({ service: SCRIPT, type: SCRIPT, instance: SCRIPT, by: SCRIPT, zoom: SCRIPT });
  await id("empty").waitFor();
  await assertHarmless();
});

test("a profile of 100,000 nodes is shown whole, and its total is what SQL says", async () => {
  const range = { from: Date.now() - 3600e3, to: Date.now() };
  const answer = await flame(cluster, { service: LARGE, ...range });
  assert.ok(answer.list.length >= 100_000, `${answer.list.length} nodes`);
  assert.deepStrictEqual(answer.other, { nodes: 0, value: 0 });
  const [row] = await sql(
    cluster,
    `SELECT sum(Value) AS v FROM profiling_samples
     WHERE ServiceName = '${LARGE}' AND Type = '${CPU}'`,
  );
  assert.strictEqual(answer.total, row.v);
  assert.strictEqual(
    answer.list.reduce((sum, n) => sum + n.self, 0),
    row.v,
  );
  await open({ service: LARGE, type: CPU });
  await eventually("frames", async () => (await drawnFrames(page)).length > 3);
  const total = (await drawnFrames(page)).find((f) => f.depth === 0);
  assert.strictEqual(total.total, row.v);
  // the sum over all stacks with a match, from the tree in the browser
  await page.fill('[data-testid="search"]', '"f7_leaf"');
  const [match] = await sql(
    cluster,
    `SELECT sum(Value) AS v FROM profiling_samples AS s INNER JOIN
       (SELECT Hash, any(Stack) AS Stack FROM profiling_stacks WHERE ServiceName = '${LARGE}'
        GROUP BY Hash) AS t ON t.Hash = s.StackHash
     WHERE ServiceName = '${LARGE}' AND Type = '${CPU}'
       AND arrayExists(f -> f LIKE 'f7\\\\_leaf %', Stack)`,
  );
  const percent = `${((100 * match.v) / row.v).toFixed(1)}`;
  await eventually(`${percent} %`, async () =>
    (await id("matched").innerText()).includes(`${percent.replace(/\.0$/, "")}`),
  );
  await page.picture("large");
  await assertHarmless();
});

test("an average is that of its snapshots", async () => {
  const answer = await flame(cluster, {
    service: LARGE,
    type: HEAP,
    from: Date.now() - 3600e3,
    to: Date.now(),
  });
  const [row] = await sql(
    cluster,
    `SELECT sum(Value) / uniqExact(Start) AS v FROM profiling_samples
     WHERE ServiceName = '${LARGE}' AND Type = '${HEAP}'`,
  );
  assert.strictEqual(answer.total, row.v);
  await open({ service: LARGE, type: HEAP });
  await eventually("2 MiB", async () => /2(\.0)? MiB/.test(await id("status").innerText()));
  await assertHarmless();
});
