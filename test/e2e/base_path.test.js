// The page and the API below a path, as an Ingress that does not rewrite paths asks for them.
"use strict";

const assert = require("node:assert");
const { test, before, after } = require("node:test");
const { openBrowser } = require("./lib/browser");
const { clusterAgent, failToStart, freePort, scratch, startCluster } = require("./lib/daemon");
const { upload } = require("./lib/pprof");
const { LIMIT_MS, eventually } = require("./lib/wait");

const KEY = "a-key-that-is-right";
const BASE = "/tools/coroot";

let browser;
let cluster;
before(async () => {
  ({ browser } = await openBrowser(["--no-proxy-server"]));
  cluster = await startCluster({
    args: [`--api-key=w-${KEY}`, `--read-api-key=${KEY}`],
    env: { URL_BASE_PATH: `${BASE}/` },
  });
});
after(async () => {
  await browser.close();
  await cluster?.stop();
});

test("agents upload below the path and at the root", async () => {
  for (const [url, service] of [
    [cluster.url, "/at/root"],
    [cluster.url + BASE, "/at/path"],
  ]) {
    const sent = await upload({ url }, service, undefined, { "X-Api-Key": `w-${KEY}` });
    assert.strictEqual(sent.status, 200);
    for (const path of ["/healthz", "/readyz", "/metrics"])
      assert.strictEqual((await fetch(url + path)).status, 200, url + path);
    const refused = await upload({ url }, service, undefined, { "X-Api-Key": "wrong" });
    assert.strictEqual(refused.status, 401);
  }
  await eventually("both services", async () => {
    const now = Date.now();
    const url = `${cluster.url}${BASE}/api/applications?from=${now - 3600e3}&to=${now + 3600e3}`;
    const text = await (await fetch(url, { headers: { "X-Api-Key": KEY } })).text();
    return text.includes("/at/root") && text.includes("/at/path");
  });
});

test("what is not below the path is not found", async () => {
  for (const path of [`${BASE}x/healthz`, "/tools/healthz", `${BASE}/${BASE}/none`])
    assert.strictEqual((await fetch(cluster.url + path)).status, 404, path);
});

test("a redirect has a parameter whole or not at all", async () => {
  const url = `${cluster.url}${BASE}?a=1&b=${"x".repeat(9000)}&c=2`;
  const answer = await fetch(url, { redirect: "manual" });
  assert.strictEqual(answer.status, 302);
  assert.strictEqual(answer.headers.get("location"), `${BASE}/?a=1&c=2`);
});

test("a person reads the page below the path, and nothing of it is elsewhere", async (t) => {
  const context = await browser.newContext();
  t.after(() => context.close());
  context.setDefaultTimeout(LIMIT_MS);
  const page = await context.newPage();
  const asked = [];
  page.on("request", (r) => asked.push(new URL(r.url()).pathname));

  // without its last slash the address is led to the page, and keeps what it asks for
  await page.goto(`${cluster.url}${BASE}?service=%2Fat%2Fpath`);
  await page.getByTestId("login").waitFor();
  const at = () => new URL(page.url());
  assert.strictEqual(at().pathname, `${BASE}/`);
  assert.strictEqual(at().searchParams.get("service"), "/at/path");
  await page.getByLabel("Key").fill(KEY);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByTestId("picker").waitFor();
  const [cookie] = await context.cookies(`${cluster.url}${BASE}/`);
  assert.strictEqual(cookie.path, BASE);
  assert.deepStrictEqual(await context.cookies(`${cluster.url}/`), []);
  await eventually("a flame graph", async () => asked.includes(`${BASE}/api/flamegraph`));
  assert.strictEqual(at().pathname, `${BASE}/`);

  // the documents, which the page links to
  const help = await fetch(`${cluster.url}${BASE}/docs/page.html`);
  assert.match(await help.text(), /<h1 id="the-page">/);
  await page.goto(`${cluster.url}${BASE}/targets`);
  await page.getByTestId("logout").waitFor();
  assert.strictEqual(at().pathname, `${BASE}/targets`);
  await page.getByTestId("logout").click();
  await page.getByTestId("login").waitFor();
  assert.deepStrictEqual(await context.cookies(`${cluster.url}${BASE}/`), []);
  const outside = asked.filter((path) => path !== BASE && !path.startsWith(`${BASE}/`));
  assert.deepStrictEqual(outside, []);
});

test("the page says to which address agents send", async (t) => {
  const empty = await startCluster({ args: ["--url-base-path=/p"] });
  t.after(() => empty.stop());
  const page = await browser.newPage();
  t.after(() => page.close());
  page.setDefaultTimeout(LIMIT_MS);
  await page.goto(`${empty.url}/p/`);
  await page.getByText(`--collector-endpoint=${empty.url}/p`).waitFor();
});

test("a path that cannot be one is an error of one line", async () => {
  const listen = [`--listen=127.0.0.1:${await freePort()}`, `--data-dir=${scratch("data")}`];
  for (const [value, what] of [
    ["coroot", /--url-base-path: not a path like/],
    ["/a/../b", /--url-base-path: not a path like/],
    ["/a//b", /--url-base-path: not a path like/],
    ["/api", /base path: \/api is a path of the agent itself/],
  ]) {
    const { code, lines } = await failToStart(clusterAgent, [
      ...listen,
      `--url-base-path=${value}`,
    ]);
    assert.notStrictEqual(code, 0);
    assert.match(lines[lines.length - 1], what);
  }
});
