// Unmodified clients of ClickHouse, against the SQL port of the real agent with the embedded store.
//
// A client is a program in a folder here. It gets SQL_HOST, SQL_PORT and SQL_KEY (the password of
// any user), SQL_SERVICE, a service with stored profiles, and SQL_TOTAL, the sum of the values of
// these. It prints a line per check, "ok <check>" or "not ok <check>: <why>", and exits with 0 if
// all are ok. What it needs beside Debian's packages is fetched by a script that prints the folder
// in which that is kept (kept.sh), so that only the first run is slow.
"use strict";

const assert = require("node:assert");
const { execFile, spawn } = require("node:child_process");
const path = require("node:path");
const { after, before, test } = require("node:test");
const { promisify } = require("node:util");
const zlib = require("node:zlib");
const { startCluster } = require("../e2e/lib/daemon");
const { encode, upload } = require("../e2e/lib/pprof");
const { settled } = require("../e2e/lib/query");

const KEY = "key-of-the-test";
const SERVICE = "/sql/clients";
const LIMIT_MS = 300000;

const here = (...names) => path.join(__dirname, ...names);

// fetch: script and arguments; run: the command, of the folder that the script has printed
const clients = [
  { name: "curl", run: () => [here("curl/client.sh")] },
  {
    name: "node",
    fetch: ["node/fetch-node-client.sh"],
    run: (dir) => ["node", here("node/node_client.js"), dir],
  },
  ...["jdbc", "jdbc-v1"].map((name) => ({
    name,
    fetch: ["java/fetch-java-client.sh"],
    // one JVM for two seconds: the better compiler and parallel garbage collection do not pay off
    run: (dir) => [
      ...["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"],
      `-Dclickhouse.jdbc.v1=${name === "jdbc-v1"}`,
      ...["-cp", `${dir}:${dir}/*`, "Client"],
    ],
  })),
  { name: "altinity", run: () => ["node", here("altinity/altinity_requests.js")] },
  {
    name: "python",
    fetch: ["python/fetch-python-client.sh"],
    run: (dir) => ["env", `PYTHONPATH=${dir}`, "python3", here("python/sql_client.py")],
  },
  ...["2.8.3", "2.40.3"].map((release) => ({
    name: `go ${release}`,
    fetch: ["go/fetch-go-client.sh", release],
    // over HTTP, the driver's own interface came later than database/sql
    run: (dir) => [`${dir}/client`, ...(release === "2.8.3" ? [] : ["native"])],
  })),
];

const words = (process.env.SQL_CLIENTS || "").split(" ").filter(Boolean);
const chosen = clients.filter((c) => !words.length || words.some((w) => c.name.includes(w)));
let cluster;
let total = 0;

async function fetchClient([script, ...args]) {
  const { stdout } = await promisify(execFile)(here(script), args);
  return stdout.trim();
}

// Resolves to { checks: [{ name, why }], end }; why is "" if the check is ok.
function runClient(command, env) {
  const child = spawn(command[0], command.slice(1), {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: LIMIT_MS,
    killSignal: "SIGKILL",
  });
  const out = ["", ""];
  [child.stdout, child.stderr].forEach((stream, i) =>
    stream.on("data", (data) => {
      out[i] += data;
    }),
  );
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code, signal) => {
      const checks = [...out[0].matchAll(/^(not )?ok ([^:\n]+)(?:: (.*))?$/gm)].map((m) => ({
        name: m[2],
        why: m[1] ? m[3] || "failed" : "",
      }));
      resolve({ checks, end: signal || code, text: out.join("") });
    });
  });
}

before(async () => {
  cluster = await startCluster({ args: [`--api-key=${KEY}`] });
  const stacks = [];
  for (let i = 1; i <= 50; i++) {
    stacks.push({ frames: [`leaf ${i}`, "work \"it's\" λ", "program"], value: i * 10000000 });
    total += i * 10000000;
  }
  const r = await upload(cluster, SERVICE, zlib.gzipSync(encode({ stacks })), { "X-Api-Key": KEY });
  assert.strictEqual(r.status, 200, r.text);
  await settled(cluster);
});
after(() => cluster.stop());

for (const client of chosen) {
  test(client.name, async (t) => {
    const dir = client.fetch ? await fetchClient(client.fetch) : "";
    const r = await runClient(client.run(dir), {
      SQL_HOST: "127.0.0.1",
      SQL_PORT: String(cluster.sqlPort),
      SQL_KEY: KEY,
      SQL_SERVICE: SERVICE,
      SQL_TOTAL: String(total),
    });
    for (const check of r.checks) {
      await t.test(check.name, () => assert.strictEqual(check.why, "", check.why));
    }
    assert.ok(r.checks.length > 0 && r.end === 0, `${client.name} ended with ${r.end}:\n${r.text}`);
  });
}
test("some client was chosen", () => assert.ok(chosen.length > 0, `none of "${words}"`));
