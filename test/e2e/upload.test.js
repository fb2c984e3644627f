// Uploads to the cluster-agent: bad input, keys, SIGKILL, a full disk.
"use strict";

const assert = require("node:assert");
const fs = require("node:fs");
const { test } = require("node:test");
const zlib = require("node:zlib");
const { Daemon, clusterAgent, freePort, scratch, startCluster } = require("./lib/daemon");
const { encode, upload } = require("./lib/pprof");
const { sql } = require("./lib/query");
const { eventually, sleep } = require("./lib/wait");

const rows = async (cluster) =>
  (await sql(cluster, "SELECT count() AS n FROM profiling_samples"))[0].n;

test("truncated and hostile profiles are answered 400, and not written", async (t) => {
  const cluster = await startCluster();
  t.after(() => cluster.stop());
  assert.strictEqual((await upload(cluster, "/good")).status, 200);
  const before = await eventually("the good one", () => rows(cluster));

  const good = encode();
  const zipped = zlib.gzipSync(good);
  const bad = {
    empty: Buffer.alloc(0),
    "not a profile": Buffer.from("<html>no</html>"),
    "truncated message": good.subarray(0, good.length - 40),
    "truncated gzip": zipped.subarray(0, zipped.length - 12),
    "damaged gzip": Buffer.concat([zipped.subarray(0, 20), Buffer.alloc(zipped.length - 20, 0xff)]),
    "a length past the end": Buffer.from([0x32, 0xff, 0xff, 0xff, 0xff, 0x0f]),
    "an endless varint": Buffer.alloc(64, 0xff),
    "locations that do not exist": encode({ locationShift: 1000000 }),
    "a type without a name": encode({ type: "", unit: "" }),
  };
  for (const [what, body] of Object.entries(bad)) {
    const r = await upload(cluster, "/bad", body);
    assert.strictEqual(r.status, 400, `${what}: ${r.status} ${r.text}`);
    assert.match(r.text.trim(), /^[^\n]{5,}$/, `${what}: the reason in one line`);
  }
  assert.strictEqual((await upload(cluster, "", zipped)).status, 400, "no service name");
  const bomb = zlib.gzipSync(Buffer.alloc(1 << 30), { level: 9 });
  const r = await upload(cluster, "/bad", bomb);
  assert.ok(r.status === 413 || r.status === 400, `1 GiB of zeros: ${r.status}`);

  await sleep(1500);
  assert.strictEqual(await rows(cluster), before);
  assert.strictEqual((await upload(cluster, "/good")).status, 200);
  // other tools have types that we do not know; what addresses do not like is not in their names
  const odd = encode({ type: "nonsense with spaces" });
  assert.strictEqual((await upload(cluster, "/odd", odd)).status, 200);
  await eventually("its type", async () => {
    const types = await sql(
      cluster,
      "SELECT DISTINCT Type AS t FROM profiling_samples WHERE ServiceName = '/odd'",
    );
    assert.strictEqual(types.length, 1);
    assert.match(types[0].t, /^[a-z]+:nonsense_with_spaces:nanoseconds$/);
    return true;
  });
  assert.ok(cluster.running);
});

test("with a key, uploads and SQL need it", async (t) => {
  const cluster = await startCluster({ args: ["--api-key=secret"] });
  t.after(() => cluster.stop());
  assert.strictEqual((await upload(cluster, "/keyed")).status, 401);
  assert.strictEqual(
    (await upload(cluster, "/keyed", undefined, { "X-Api-Key": "secreT" })).status,
    401,
  );
  assert.strictEqual(
    (await upload(cluster, "/keyed", undefined, { "X-Api-Key": "secret" })).status,
    200,
  );
  await assert.rejects(sql(cluster, "SELECT 1"), /: 40[13] |Code: 516|AUTHENTICATION/);
});

test("SIGKILL at any time loses nothing that was answered 200", async (t) => {
  let cluster = await startCluster();
  t.after(() => cluster.stop());
  const { dataDir } = cluster;
  const answered = [];
  for (let round = 0; round < 3; round++) {
    let stop = false;
    const sender = async (s) => {
      for (let i = 0; !stop; i++) {
        const name = `/kill/${round}-${s}-${i}`;
        try {
          if ((await upload(cluster, name)).status === 200) answered.push(name);
        } catch {
          return; // the connection broke: not answered
        }
      }
    };
    const senders = [0, 1, 2].map(sender);
    const before = answered.length;
    await eventually("an answer", () => answered.length > before);
    await sleep(300 + 700 * round);
    await cluster.stop("SIGKILL");
    stop = true;
    await Promise.all(senders);
    cluster = await startCluster({ dataDir });
  }
  assert.ok(answered.length >= 3, `only ${answered.length} uploads were answered`);
  await eventually("all that was answered", async () => {
    const [{ names }] = await sql(
      cluster,
      `SELECT groupUniqArray(ServiceName) AS names FROM profiling_samples
       WHERE ServiceName LIKE '/kill/%'`,
    );
    const stored = new Set(names);
    const missing = answered.filter((n) => !stored.has(n));
    if (missing.length > 0) throw new Error(`missing: ${missing}`);
    return true;
  });
  const stacks = await sql(
    cluster,
    `SELECT count() AS n FROM profiling_samples
     WHERE (ServiceName, StackHash) NOT IN (SELECT ServiceName, Hash FROM profiling_stacks)`,
  );
  assert.strictEqual(stacks[0].n, 0, "samples whose stack is not there");
});

test("a full disk: 503 and counted, alive, and it recovers when there is space", async (t) => {
  const dataDir = scratch("small");
  fs.mkdirSync(dataDir);
  const port = await freePort();
  const sqlPort = await freePort();
  // a private file system that ends with the daemon
  const mount = `mount -t tmpfs -o size=96m tmpfs ${dataDir} && exec "$0" "$@"`;
  const cluster = new Daemon(
    "unshare",
    [
      ...[
        "--mount",
        "--propagation=private",
        "sh",
        "-c",
        mount,
        clusterAgent,
        "--storage=embedded",
      ],
      ...[
        `--listen=127.0.0.1:${port}`,
        `--data-dir=${dataDir}`,
        `--clickhouse-listen=127.0.0.1:${sqlPort}`,
      ],
    ],
    { url: `http://127.0.0.1:${port}`, name: "full-disk" },
  );
  cluster.sqlPort = sqlPort;
  t.after(() => cluster.stop());
  await cluster.ready("/readyz");
  assert.strictEqual((await upload(cluster, "/disk/before")).status, 200);

  const filler = `/proc/${cluster.pid}/root${dataDir}/filler`;
  const fill = () => {
    const fd = fs.openSync(filler, "a");
    try {
      for (let size = 1 << 20; size >= 512; size >>= 1)
        try {
          while (fs.writeSync(fd, Buffer.alloc(size)) === size);
        } catch (e) {
          if (e.code !== "ENOSPC") throw e;
        }
    } finally {
      fs.closeSync(fd);
    }
  };
  fill();
  const many = () =>
    Array.from({ length: 500 }, (_, i) => ({ frames: [`f${Math.random()}`, `g${i}`], value: 1 }));
  const refused = await eventually("an upload that is refused", async () => {
    fill();
    const r = await upload(cluster, "/disk/full", zlib.gzipSync(encode({ stacks: many() })));
    return r.status !== 200 && r;
  });
  assert.ok([429, 503].includes(refused.status), `${refused.status} ${refused.text}`);
  assert.ok(Number(refused.retryAfter) > 0, "Retry-After");
  assert.ok(cluster.running, cluster.log());
  assert.strictEqual(
    (await fetch(`${cluster.url}/healthz`)).status,
    200,
    "liveness does not depend on the disk",
  );
  const refusals = (reason) =>
    cluster.metric("cluster_agent_uploads_refused_total", `reason="${reason}"`);
  assert.ok((await refusals("disk_full")) + (await refusals("log_full")) > 0, "counted");

  fs.rmSync(filler);
  await eventually(
    "an upload that is taken",
    async () => (await upload(cluster, "/disk/after")).status === 200,
  );
  await eventually("both in the tables", async () => {
    const [{ n }] = await sql(
      cluster,
      `SELECT uniqExact(ServiceName) AS n FROM profiling_samples
       WHERE ServiceName IN ('/disk/before', '/disk/after')`,
    );
    return n === 2;
  });
});
