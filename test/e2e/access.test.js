// Who may come in, asked by a real browser: login, forms of other sites, names that were rebound.
"use strict";

const assert = require("node:assert");
const { execFileSync } = require("node:child_process");
const fs = require("node:fs");
const http = require("node:http");
const zlib = require("node:zlib");
const { test, before, after } = require("node:test");
const { openBrowser } = require("./lib/browser");
const { Daemon, freePort, clusterAgent, failToStart, scratch } = require("./lib/daemon");
const { startCluster, startNode } = require("./lib/daemon");
const { encode, upload } = require("./lib/pprof");
const { LIMIT_MS, eventually } = require("./lib/wait");

const RIGHT = "a-key-that-is-right";
const EVIL = "evil.example";

let browser;
let other; // another site
before(async () => {
  ({ browser } = await openBrowser([
    `--host-resolver-rules=MAP ${EVIL} 127.0.0.1, MAP other.example 127.0.0.1`,
    "--no-proxy-server",
  ]));
  const server = http.createServer((req, res) => {
    res.writeHead(200, { "content-type": "text/html" });
    res.end("<!doctype html><title>other</title>");
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  other = { url: `http://other.example:${server.address().port}/`, server };
});
after(async () => {
  await browser.close();
  other.server.closeAllConnections();
  other.server.close();
});

async function newPage() {
  const context = await browser.newContext();
  context.setDefaultTimeout(LIMIT_MS);
  return { context, page: await context.newPage() };
}

const stored = (cluster) => cluster.metric("cluster_agent_uploads_stored_total");
const refused = (daemon, reason) =>
  daemon.metric("http_server_refused_total", `reason="${reason}"`);

// A file is replaced as a whole, as Kubernetes does it.
function writeKeys(file, ...keys) {
  fs.writeFileSync(`${file}.new`, `${keys.join("\n")}\n`);
  fs.renameSync(`${file}.new`, file);
}

const withKeys = [`--api-key=w-${RIGHT}`, `--read-api-key=r-${RIGHT}`];

test("the page asks for the key once, and shows nothing without it", async (t) => {
  const readKeys = scratch("read-keys");
  writeKeys(readKeys, RIGHT);
  const cluster = await startCluster({
    args: [`--api-key=w-${RIGHT}`, `--read-api-key-file=${readKeys}`],
  });
  t.after(() => cluster.stop());
  const sent = await upload(cluster, "/shop/cart", undefined, { "X-Api-Key": `w-${RIGHT}` });
  assert.strictEqual(sent.status, 200);
  const { context, page } = await newPage();
  t.after(() => context.close());

  const status = (path, headers) => fetch(cluster.url + path, { headers }).then((r) => r.status);
  assert.strictEqual(await status("/api/types"), 401);
  assert.strictEqual(await status("/api/types", { "X-Api-Key": `w-${RIGHT}` }), 401);
  assert.strictEqual(await status("/api/types", { Authorization: `Bearer ${RIGHT}` }), 200);
  assert.strictEqual(await status("/targets"), 401);
  assert.strictEqual(await status("/metrics"), 200);

  const form = page.getByTestId("login");
  const logIn = async (key) => {
    await page.getByLabel("Key").fill(key);
    await page.getByRole("button", { name: "Log in" }).click();
  };
  const address = `${cluster.url}/?service=%2Fshop%2Fcart`;
  await page.goto(address);
  await form.waitFor();
  await logIn("wrong");
  await page.getByText("This key is wrong").waitFor();
  await logIn(RIGHT);
  await page.getByTestId("picker").waitFor();
  await form.waitFor({ state: "detached" });
  assert.strictEqual(page.url(), address);

  const [cookie] = await context.cookies(cluster.url);
  assert.strictEqual(cookie.name, `coroot_session_${cluster.port}`);
  assert.deepStrictEqual([cookie.httpOnly, cookie.sameSite], [true, "Strict"]);
  assert.ok(!cookie.value.includes(RIGHT));

  await page.reload();
  await page.getByTestId("logout").waitFor();

  // another key ends the session, and the form keeps the address
  writeKeys(readKeys, "another-key");
  await eventually("the new key", async () => {
    const r = await fetch(`${cluster.url}/api/types`, { headers: { "X-Api-Key": "another-key" } });
    return r.status === 200;
  });
  // unless the page has refreshed by itself, and the form is there already
  await page.evaluate(() => document.querySelector("[data-testid=live]")?.click());
  await form.waitFor();
  assert.strictEqual(page.url(), address);
  await logIn("another-key");
  await page.getByTestId("logout").click();
  await form.waitFor();
  assert.deepStrictEqual(await context.cookies(cluster.url), []);
  assert.strictEqual(await cluster.metric("cluster_agent_logins_total", 'result="right"'), 2);
  assert.strictEqual(await cluster.metric("cluster_agent_logins_total", 'result="wrong"'), 1);
});

test("notes are written by their own key, and are there after a restart", async (t) => {
  const args = [...withKeys, `--notes-api-key=n-${RIGHT}`];
  let cluster = await startCluster({ args });
  t.after(() => cluster.stop());
  const ask = (method, path, key, body) =>
    fetch(cluster.url + path, { method, body, headers: { "X-Api-Key": `${key}-${RIGHT}` } });
  const path = `/api/notes?service=/shop/cart&name=${encodeURIComponent("Release <1.4>")}`;
  for (const key of ["r", "w"])
    assert.strictEqual((await ask("POST", path, key, "text")).status, 401);
  const written = await ask("POST", path, "n", "line one\nline two");
  assert.strictEqual(written.status, 200);
  const { id } = await written.json();
  assert.strictEqual((await ask("GET", "/api/notes", "n")).status, 401);
  assert.strictEqual((await ask("DELETE", `/api/notes?id=${id}`, "r")).status, 401);
  assert.strictEqual((await ask("POST", path, "n", "x".repeat(5000))).status, 413);

  const { dataDir } = cluster;
  await cluster.stop();
  cluster = await startCluster({ args, dataDir });
  const { notes } = await (await ask("GET", "/api/notes?service=/shop/cart", "r")).json();
  assert.deepStrictEqual(
    notes.map((n) => [n.id, n.name, n.text]),
    [[id, "Release <1.4>", "line one\nline two"]],
  );
  assert.strictEqual((await ask("DELETE", `/api/notes?id=${id}`, "n")).status, 200);
  assert.strictEqual((await ask("DELETE", `/api/notes?id=${id}`, "n")).status, 404);
});

// Sends what a page of another site can send without being asked, and by a form.
async function attack(page, cluster, key) {
  const target = `${cluster.url}/v1/profiles?service.name=/attack`;
  await page.goto(other.url);
  await page.evaluate(
    async ([url, k, profile]) => {
      const headers = k ? { "X-Api-Key": k } : {};
      const body = new Uint8Array(profile);
      await fetch(url, { method: "POST", mode: "no-cors", body }).catch(() => {});
      await fetch(url, { method: "POST", headers, body }).catch(() => {});
    },
    [target, key, [...zlib.gzipSync(encode())]],
  );
  await page.evaluate((url) => {
    const form = document.createElement("form");
    Object.assign(form, { method: "POST", action: url, enctype: "text/plain" });
    document.body.append(form);
    form.submit();
  }, target);
  await page.getByText("a page of another site").waitFor();
}

for (const [how, args, key] of [
  ["without keys", [], ""],
  ["with keys", withKeys, `w-${RIGHT}`],
]) {
  test(`${how}, pages of another site can neither write nor load anything`, async (t) => {
    const cluster = await startCluster({ args });
    t.after(() => cluster.stop());
    const { context, page } = await newPage();
    t.after(() => context.close());
    const before = await stored(cluster);
    await attack(page, cluster, key);
    assert.ok((await refused(cluster, "origin")) >= 2);
    assert.strictEqual(await stored(cluster), before);
    // nothing reached the handler, not even the form, which is no profile
    assert.strictEqual(await cluster.metric("cluster_agent_uploads_refused_total"), 0);

    await page.goto(other.url);
    const loaded = await page.evaluate(
      (url) =>
        new Promise((done) => {
          const script = document.createElement("script");
          Object.assign(script, { src: url, onload: () => done(true), onerror: () => done(false) });
          document.head.append(script);
        }),
      `${cluster.url}/api/types`,
    );
    assert.strictEqual(loaded, false);
    // a link to the page works
    await page.goto(`${cluster.url}/`);
    await page.locator("#app > *").first().waitFor();
  });

  test(`${how}, a name that was rebound reads nothing`, async (t) => {
    const cluster = await startCluster({ args });
    t.after(() => cluster.stop());
    const node = await startNode({ cluster, args: key ? [`--api-key=${key}`] : [] });
    t.after(() => node.stop());
    const { context, page } = await newPage();
    t.after(() => context.close());

    const statuses = async (port, paths, method = "GET") => {
      // a page of the attacker: of the same origin as what it asks for, by the browser's rules
      await page.goto(`http://${EVIL}:${port}/healthz`);
      return page.evaluate(
        ([all, m]) => Promise.all(all.map((p) => fetch(p, { method: m }).then((r) => r.status))),
        [paths, method],
      );
    };
    const api = key ? 401 : 403;
    assert.deepStrictEqual(
      await statuses(cluster.port, ["/api/types", "/api/applications", "/targets", "/metrics"]),
      [api, api, api, 403],
    );
    assert.deepStrictEqual(await statuses(cluster.port, ["/v1/profiles"], "POST"), [
      key ? 401 : 403,
    ]);
    assert.deepStrictEqual(await statuses(node.port, ["/metrics"]), [403]);
    await page.goto(`http://${EVIL}:${cluster.sqlPort}/ping`);
    const sql = await page.evaluate(() => fetch("/?query=SELECT+1").then((r) => r.status));
    assert.strictEqual(sql, key ? 401 : 403);

    const named = await page.goto(`http://${EVIL}:${cluster.port}/metrics`);
    assert.match(await named.text(), /"evil\.example" is not one of this server: add it with --/);
    assert.strictEqual((await fetch(`${cluster.url}/metrics`)).status, 200);
  });
}

test("a listed name is one of the server's", async (t) => {
  const cluster = await startCluster({ args: [`--allowed-hosts=a.example,*.${EVIL},${EVIL}`] });
  t.after(() => cluster.stop());
  const { context, page } = await newPage();
  t.after(() => context.close());
  await page.goto(`http://${EVIL}:${cluster.port}/`);
  await page.getByTestId("empty").waitFor();
});

test("keys are neither on the command line nor in the environment of the agents", async (t) => {
  const key = "key-that-ps-must-not-show";
  const cluster = await startCluster({
    args: ["--api-key", `w-${key}`],
    env: { READ_API_KEY: `r-${key}` },
  });
  t.after(() => cluster.stop());
  const node = await startNode({ cluster, interval: "1s", args: [`--api-key=w-${key}`] });
  t.after(() => node.stop());
  for (const daemon of [cluster, node]) {
    for (const file of ["cmdline", "environ"]) {
      const text = fs.readFileSync(`/proc/${daemon.pid}/${file}`, "utf8");
      assert.ok(!text.includes(key), text);
      if (file === "cmdline") assert.match(text, /--api-key[=\0]\*\*\*/);
    }
  }
  // they are used all the same
  const types = (k) => fetch(`${cluster.url}/api/types`, { headers: { "X-Api-Key": k } });
  assert.strictEqual((await types(`r-${key}`)).status, 200);
  assert.strictEqual((await types(`w-${key}`)).status, 401);
  await eventually("an upload", async () => (await stored(cluster)) > 0);
});

test("keys are exchanged by their files, and no profile is lost", async (t) => {
  const [ours, theirs] = [scratch("sender-keys"), scratch("receiver-keys")];
  writeKeys(ours, "one");
  writeKeys(theirs, "one");
  const cluster = await startCluster({ args: [`--api-key-file=${theirs}`] });
  t.after(() => cluster.stop());
  const node = await startNode({ cluster, interval: "1s", args: [`--api-key-file=${ours}`] });
  t.after(() => node.stop());
  const uploaded = () => node.metric("node_agent_profiles_uploaded_total");
  const more = async () => {
    const n = await uploaded();
    await eventually("more uploads", async () => (await uploaded()) > n + 2);
  };
  await more();
  writeKeys(ours, "two", "one"); // the receiver does not know "two" yet
  await more();
  writeKeys(theirs, "two");
  await eventually("the old key ends", async () => {
    const r = await upload(cluster, "/old", undefined, { "X-Api-Key": "one" });
    return r.status === 401;
  });
  await more();
  writeKeys(ours, "two");
  await more();
  // the receiver first: everything is refused until the sender follows
  const before = await refused(cluster, "key");
  writeKeys(theirs, "three");
  await eventually("refused uploads", async () => (await refused(cluster, "key")) > before + 1);
  writeKeys(ours, "three");
  await more();
  await eventually(
    "an empty spool",
    async () => (await node.metric("node_agent_upload_spool_profiles")) === 0,
  );
  assert.strictEqual(await node.metric("node_agent_profiles_dropped_total"), 0);
  assert.strictEqual((await node.stop()).code, 0);
  assert.ok(!/lost profiles/.test(node.log()));
});

test("a directory of keys is followed as Kubernetes exchanges it", async (t) => {
  const dir = scratch("keys-dir");
  const put = (generation, keys) => {
    fs.mkdirSync(`${dir}/..${generation}`);
    for (const [name, key] of Object.entries(keys))
      fs.writeFileSync(`${dir}/..${generation}/${name}`, key);
    fs.symlinkSync(`..${generation}`, `${dir}/..data_tmp`);
    fs.renameSync(`${dir}/..data_tmp`, `${dir}/..data`);
  };
  fs.mkdirSync(dir);
  put(1, { one: "first", two: "second" });
  fs.symlinkSync("..data/one", `${dir}/one`);
  fs.symlinkSync("..data/two", `${dir}/two`);
  const cluster = await startCluster({ args: [`--api-key-file=${dir}`] });
  t.after(() => cluster.stop());
  const status = async (key) =>
    (await upload(cluster, "/dir", undefined, { "X-Api-Key": key })).status;
  assert.deepStrictEqual(
    [await status("first"), await status("second"), await status("third")],
    [200, 200, 401],
  );
  put(2, { one: "third", two: "second" });
  await eventually("the new key", async () => (await status("third")) === 200);
  assert.deepStrictEqual([await status("first"), await status("second")], [401, 200]);
  fs.unlinkSync(`${dir}/two`);
  await eventually("the end of a key", async () => (await status("second")) === 401);
  assert.strictEqual(await status("third"), 200);
});

test("contradictory, missing and empty keys are errors of one line", async () => {
  const empty = scratch("empty");
  fs.writeFileSync(empty, "\n");
  const fifo = scratch("fifo");
  execFileSync("mkfifo", [fifo]); // nobody writes it: reading would wait
  const listen = [`--listen=127.0.0.1:${await freePort()}`, `--data-dir=${scratch("data")}`];
  for (const [args, what] of [
    [["--api-key=a", `--api-key-file=${empty}`], /--api-key and --api-key-file contradict/],
    [["--read-api-key=a", `--read-api-key-file=${empty}`], /--read-api-key-file contradict/],
    [[`--api-key-file=${empty}`], /--api-key-file: .*no key in it/],
    [[`--api-key-file=${fifo}`], /--api-key-file: .*neither a file nor a directory/],
    [["--read-api-key-file=/nonexistent"], /--read-api-key-file: \/nonexistent: No such file/],
    [["--allowed-hosts=http://a"], /--allowed-hosts: "http:\/\/a" is not a name/],
  ]) {
    const { code, lines } = await failToStart(clusterAgent, [...listen, ...args]);
    assert.notStrictEqual(code, 0);
    assert.strictEqual(lines.length, 1, lines.join("\n"));
    assert.match(lines[0], what);
  }
});

test("an address that everybody reaches without a key is warned about", async (t) => {
  const port = await freePort();
  const d = new Daemon(
    clusterAgent,
    [`--listen=0.0.0.0:${port}`, `--data-dir=${scratch("data")}`, "--storage=embedded"],
    { url: `http://127.0.0.1:${port}` },
  );
  t.after(() => d.stop());
  await d.ready("/readyz");
  assert.match(d.log(), /level=warn msg="everybody who reaches this address can read all profiles/);
});
