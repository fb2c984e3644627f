// Both agents over https: uploads while the certificate is replaced, SQL, and the page.
"use strict";

const assert = require("node:assert");
const { execFileSync } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const { test } = require("node:test");
const { openBrowser } = require("./lib/browser");
const { Authority, ServerFiles, fetchTrusting } = require("./lib/certificates");
const { clusterAgent, failToStart, scratch, startCluster, startNode } = require("./lib/daemon");
const { upload } = require("./lib/pprof");
const { sampledNs, sql, application } = require("./lib/query");
const { assertOnce, program, runWorkload } = require("./lib/workload");
const { eventually, sleep } = require("./lib/wait");

const authority = new Authority("ca");
const stranger = new Authority("other-ca");
// what the helpers ask by
globalThis.fetch = fetchTrusting(authority.file, stranger.file);

const scheme = "https";
// A pair that is half replaced for longer is looked at twice, and then reported.
const SLOW_MS = 500;

test("nothing is lost while certificates, and then their authority, are replaced", async (t) => {
  const files = new ServerFiles();
  const trusted = path.join(path.dirname(files.cert), "trusted.pem");
  fs.copyFileSync(authority.file, trusted);
  files.replace(authority.make());
  let cluster = await startCluster({ scheme, args: files.args });
  t.after(() => cluster.stop());
  const node = await startNode({
    ...{ scheme, cluster, interval: "2s" },
    args: [...files.args, `--ca-file=${trusted}`],
  });
  t.after(() => node.stop());

  const serials = new Set();
  const answered = [];
  let busy = true;
  let slow = 0;
  const replacing = (async () => {
    for (let i = 0; busy; i++) {
      const made = authority.make(i % 2 ? "ec" : "rsa");
      const began = Date.now();
      files.replace(made);
      if (Date.now() - began > SLOW_MS) slow++;
      await sleep(700);
    }
  })();
  const uploading = (async () => {
    for (let i = 0; busy; i++) {
      const r = await upload(cluster, `/rotated/${i}`);
      assert.strictEqual(r.status, 200);
      answered.push(`/rotated/${i}`);
      serials.add((await fetch(`${cluster.url}/healthz`)).serial);
    }
  })();
  const ran = await runWorkload("share", 12);
  await eventually("several certificates were served", () => serials.size >= 3);
  busy = false;
  await Promise.all([replacing, uploading]);
  const failed = await cluster.metric("cluster_agent_tls_certificate_load_failures_total");
  assert.ok(failed <= slow, `${failed} failed, ${slow} were written slowly`);

  // an authority that the node agent does not know yet
  files.replace(stranger.make());
  await cluster.stop();
  cluster = await startCluster({
    ...{ scheme, args: files.args },
    ...{ dataDir: cluster.dataDir, port: cluster.port, sqlPort: cluster.sqlPort },
  });
  const spooled = () => node.metric("node_agent_upload_spool_profiles");
  await eventually("profiles that wait", async () => (await spooled()) > 0);
  fs.appendFileSync(trusted, fs.readFileSync(stranger.file));
  await eventually("an empty spool", async () => (await spooled()) === 0);

  const app = await eventually("the workload", () => application(cluster, program("share")));
  assertOnce(await sampledNs(cluster, app.service), ran);
  assert.strictEqual(await node.metric("node_agent_profiles_dropped_total"), 0);
  const [{ n }] = await sql(
    cluster,
    `SELECT uniqExact(ServiceName) AS n FROM profiling_samples
     WHERE ServiceName LIKE '/rotated/%'`,
  );
  assert.strictEqual(n, answered.length);
});

test("the page is served over https, to browsers that trust the authority", async (t) => {
  const files = new ServerFiles();
  files.replace(authority.make());
  const cluster = await startCluster({ scheme, args: files.args });
  t.after(() => cluster.stop());
  assert.strictEqual((await upload(cluster, "/e2e/over-https")).status, 200);
  await application(cluster, "over-https");

  const home = scratch("home");
  const database = path.join(home, ".pki/nssdb");
  fs.mkdirSync(database, { recursive: true });
  const certutil = (...args) => execFileSync("certutil", ["-d", `sql:${database}`, ...args]);
  certutil("-N", "--empty-password");
  certutil("-A", "-n", "e2e", "-t", "C,,", "-i", authority.file);
  const { browser, page } = await openBrowser([], { ...process.env, HOME: home });
  t.after(() => browser.close());
  await page.goto(cluster.url);
  await page.locator(`[data-testid="application"][data-service$="/over-https"]`).waitFor();
  assert.deepStrictEqual(page.errors, []);
  await page.picture("https");

  fs.mkdirSync(path.join(home, "empty"));
  const wary = await openBrowser([], { ...process.env, HOME: path.join(home, "empty") });
  t.after(() => wary.browser.close());
  await assert.rejects(wary.page.goto(cluster.url), /ERR_CERT_AUTHORITY_INVALID/);
});

test("files that cannot be used end the start with one line", async () => {
  const files = new ServerFiles();
  const other = authority.make();
  files.replace({ ...authority.make(), key: other.key });
  const start = (...args) =>
    failToStart(clusterAgent, [`--data-dir=${scratch("none")}`, "--listen=127.0.0.1:0", ...args]);
  const mismatch = await start(...files.args);
  assert.notStrictEqual(mismatch.code, 0);
  assert.match(mismatch.lines.at(-1), /--tls-key: .* is not the key of the first certificate/);
  assert.match((await start(files.args[0])).lines.at(-1), /--tls-cert and --tls-key go together/);
});
