// Programs without symbols are profiled, and when somebody looks at the profile, the cluster agent
// asks debuginfod servers for them: Debian's debuginfod with real debug files, and servers that
// fail in every way.
"use strict";

const assert = require("node:assert");
const { execFile, execFileSync } = require("node:child_process");
const fs = require("node:fs");
const http = require("node:http");
const path = require("node:path");
const { test, before, after } = require("node:test");
const { promisify } = require("node:util");
const { ApiSchema } = require("./lib/api_schema");
const {
  Daemon,
  freePort,
  nodeAgent,
  root,
  scratch,
  startCluster,
  startNode,
} = require("./lib/daemon");
const { api, application, CPU, flame, settled } = require("./lib/query");
const { LIMIT_MS, eventually } = require("./lib/wait");
const { program } = require("./lib/workload");

const run = promisify(execFile);
const CPU_S = 2;
const CHAIN = ["chain_leaf", "chain_middle", "chain_outer"];
const LIBC = "/lib/x86_64-linux-gnu/libc.so.6";
const dir = scratch("programs");
const served = scratch("served");
const dataDir = scratch("data");
const range = {};
let app;
let debuginfod;
let front; // a server of ours before it
let cluster;

const buildId = (file) =>
  /Build ID: ([0-9a-f]+)/.exec(execFileSync("readelf", ["-n", file], { encoding: "utf8" }))[1];

// The stripped program, and the debug file where debuginfod finds it.
function build() {
  const file = path.join(dir, program("remote"));
  const cc = (...args) => execFileSync(args[0], args.slice(1), { cwd: root });
  cc("gcc", "-g", "-O2", "-gz", "-fno-optimize-sibling-calls", "-pthread", "-Wl,--build-id=sha1",
    "-o", `${file}.full`, "test/e2e/workloads/nofp.c"); // prettier-ignore
  cc("objcopy", "--only-keep-debug", `${file}.full`, path.join(served, "remote.debug"));
  cc("strip", "-o", file, `${file}.full`);
  fs.rmSync(`${file}.full`);
  return file;
}

// Debian's libc and its debug file, as they are in libc6 and libc6-dbg.
function serveLibc() {
  const id = buildId(LIBC);
  fs.copyFileSync(LIBC, path.join(served, "libc.so.6"));
  fs.copyFileSync(
    `/usr/lib/debug/.build-id/${id.slice(0, 2)}/${id.slice(2)}.debug`,
    path.join(served, "libc.debug"),
  );
}

async function startDebuginfod() {
  const port = await freePort();
  const args = ["-F", "-p", port, "-d", ":memory:", "-t", "1", "-g", "0", served].map(String);
  const d = new Daemon("debuginfod", args, { url: `http://127.0.0.1:${port}` });
  return d.ready("/metrics");
}

// Passes requests on, unless `answer` answers them itself. Counts them by build id.
async function startFront() {
  const f = { asked: [], answer: null };
  f.server = http.createServer((req, res) => {
    f.asked.push(req.url);
    if (f.answer?.(req, res)) return;
    http
      .get(`${debuginfod.url}${req.url}`, (r) => {
        res.writeHead(r.statusCode, r.headers);
        r.pipe(res);
      })
      .on("error", () => res.destroy());
  });
  const port = await freePort();
  await new Promise((resolve) => f.server.listen(port, "127.0.0.1", resolve));
  f.url = `http://127.0.0.1:${port}`;
  return f;
}

const start = (more = {}) =>
  startCluster({ ...more, args: [`--debuginfod-urls=${front.url}/`, ...(more.args ?? [])] });

const graph = (c, service) => flame(c, { service, ...range });
const namesOf = async (c, service) =>
  new Set((await graph(c, service)).list.map((n) => n.name));
const unnamed = (names, of) => [...names].filter((n) => n.startsWith(`${of}+0x`));

before(async () => {
  for (const d of [dir, served]) fs.mkdirSync(d, { recursive: true });
  const file = build();
  serveLibc();
  debuginfod = await startDebuginfod();
  front = await startFront();
  cluster = await startCluster({ dataDir });
  const node = await startNode({ cluster, interval: "2s" });
  range.from = node.startedAt;
  await run(file, [String(CPU_S)], { timeout: LIMIT_MS });
  await node.stop();
  range.to = Date.now() + 1000;
  app = await application(cluster, program("remote"));
  await settled(cluster);
});
after(async () => {
  await cluster?.stop();
  front?.server.closeAllConnections?.();
  front?.server.close();
  await debuginfod?.stop();
});


const statusOf = (g, id) => g.symbols?.find((s) => s.build === id);

// The value of a metric, summed over its labels.
async function metric(c, name) {
  const text = await (await fetch(`${c.url}/metrics`)).text();
  return [...text.matchAll(new RegExp(`^coroot_cluster_agent_debuginfod_${name} (\\S+)$`, "gm"))]
    .map((m) => Number(m[1]))
    .reduce((x, y) => x + y, 0);
}
const builds = (c, result) => metric(c, `builds_total{result="${result}"}`);

// Uploads a profile of this time with one frame: the byte at this offset of a file.
async function upload(c, service, file, id, offset, at) {
  const text = (stringValue) => ({ stringValue });
  const ns = (ms) => String(BigInt(ms) * 1000000n);
  const body = {
    resourceProfiles: [
      {
        resource: { attributes: [{ key: "service.name", value: text(service) }] },
        scopeProfiles: [
          {
            scope: { name: "go.opentelemetry.io/ebpf-profiler" },
            profiles: [
              {
                sampleType: { typeStrindex: 1, unitStrindex: 2 },
                timeUnixNano: ns(at),
                durationNano: ns(10000),
                samples: [{ stackIndex: 1, values: ["7000000000"] }],
              },
            ],
          },
        ],
      },
    ],
    dictionary: {
      stringTable: ["", "cpu", "nanoseconds", file, "process.executable.build_id.gnu"],
      attributeTable: [{}, { keyStrindex: 4, value: text(id) }],
      linkTable: [{}],
      mappingTable: [
        {},
        { memoryStart: "4096", memoryLimit: "1099511627776", filenameStrindex: 3,
          attributeIndices: [1] },
      ],
      functionTable: [{}],
      locationTable: [{}, { mappingIndex: 1, address: String(4096 + offset) }],
      stackTable: [{}, { locationIndices: [1] }],
    },
  };
  const r = await fetch(`${c.url}/v1development/profiles`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  assert.strictEqual(r.status, 200, await r.text());
  const range = { from: at - 60000, to: at + 60000 };
  const { applications } = await api(c, "applications", range);
  const found = applications.find((x) => x.service.endsWith(service));
  assert.ok(found, JSON.stringify(applications));
  return { service: found.service, ...range };
}

const strange = (i) => String(i).padStart(40, "ab");

test("record gets the debug file, keeps it, and does not ask for it again", async () => {
  const file = path.join(dir, program("remote"));
  const id = buildId(file);
  const cache = scratch("cache");
  await eventually("debuginfod has scanned the program", async () =>
    (await fetch(`${debuginfod.url}/buildid/${id}/debuginfo`)).ok); // prettier-ignore
  const record = async (urls, ...more) => {
    const out = path.join(dir, "recorded.folded");
    const env = { ...process.env, DEBUGINFOD_URLS: urls, DEBUGINFOD_CACHE_PATH: cache };
    const args = ["record", ...more, "-o", out, "--", file, "0.5"];
    const r = await run(nodeAgent, args, { env, timeout: LIMIT_MS });
    return { stacks: fs.readFileSync(out, "utf8"), said: r.stderr };
  };
  const none = await record(`${front.url}`, "--debuginfod-time", "0");
  assert.ok(!none.stacks.includes("chain_leaf"));
  assert.deepStrictEqual(front.asked, []);
  const asked = `/buildid/${id}/debuginfo`;
  for (let i = 0; i < 2; i++) {
    const r = await record(`http://127.0.0.1:1 ${front.url}`);
    for (const f of CHAIN) assert.ok(r.stacks.includes(f), r.said);
    assert.strictEqual(front.asked.filter((u) => u === asked).length, 1);
    if (i === 0) assert.match(r.said, /debuginfod: .*http:\/\/127\.0\.0\.1:1: /);
  }
  assert.ok(fs.existsSync(path.join(cache, id, "debuginfo")));
  front.asked.length = 0;
});

test("without servers nothing is asked, and the answer says nothing of them", async () => {
  const g = await graph(cluster, app.service);
  const names = new Set(g.list.map((n) => n.name));
  assert.ok(unnamed(names, program("remote")).length >= CHAIN.length, [...names].join(" "));
  assert.strictEqual(g.symbols, undefined);
  await cluster.stop();
  assert.deepStrictEqual(front.asked, []);
});

test("who looks at a profile has names within seconds", async () => {
  cluster = await start({ dataDir });
  assert.deepStrictEqual(front.asked, []);
  await eventually("names", async () => {
    const names = await namesOf(cluster, app.service);
    return [...CHAIN, "main"].every((f) => names.has(f));
  });
  const id = buildId(path.join(dir, program("remote")));
  assert.deepStrictEqual(
    front.asked.filter((u) => u.includes(id)),
    [`/buildid/${id}/debuginfo`],
  );
  assert.ok((await builds(cluster, "named")) >= 1);
  assert.ok((await metric(cluster, "received_bytes_total")) > 1000);
});

test("a profile of last week has names of Debian's libc", async () => {
  const id = buildId(LIBC);
  const debug = path.join(served, "libc.debug");
  const symbols = execFileSync("nm", [debug], { encoding: "utf8", maxBuffer: 1 << 26 });
  const vaddr = parseInt(/^([0-9a-f]+) t _int_malloc$/m.exec(symbols)[1], 16);
  const [, offset, start] = /LOAD +(0x\w+) (0x\w+) .*\n.* R E /.exec(
    execFileSync("readelf", ["-lW", LIBC], { encoding: "utf8" }).replace(/ R E/g, "\n  R E "),
  );
  const at = Date.now() - 6 * 86400e3;
  const where = vaddr + 5 - Number(start) + Number(offset);
  await eventually("debuginfod has scanned libc", async () =>
    (await fetch(`${debuginfod.url}/buildid/${id}/executable`)).ok &&
    (await fetch(`${debuginfod.url}/buildid/${id}/debuginfo`)).ok); // prettier-ignore
  const query = await upload(cluster, "old", LIBC, id, where, at);
  await eventually("names", async () =>
    (await flame(cluster, query)).list.some((n) => n.name === "_int_malloc"));
  assert.ok(front.asked.includes(`/buildid/${id}/executable`), front.asked.join(" "));
});

test("what no server has is remembered, after a restart, too", async () => {
  const id = strange(1);
  const query = await upload(cluster, "absent", "/bin/absent", id, 4096, Date.now() - 60000);
  await eventually("it is known", async () => {
    const s = statusOf(await flame(cluster, query), id);
    return s && !s.coming && s.why === "no debuginfod server has its symbols";
  });
  assert.ok((await builds(cluster, "absent")) >= 1);
  await cluster.stop();
  assert.match(
    fs.readFileSync(path.join(dataDir, "symbols/debuginfod.asked"), "utf8"),
    new RegExp(`^${id} absent \\d+$`, "m"),
  );
  const before = front.asked.filter((u) => u.includes(id)).length;
  assert.strictEqual(before, 1);
  cluster = await start({ dataDir });
  assert.ok((await metric(cluster, "remembered")) >= 0);
  const s = statusOf(await flame(cluster, query), id);
  assert.strictEqual(s.why, "no debuginfod server has its symbols");
  const schema = new ApiSchema();
  schema.check("flamegraph", await api(cluster, "flamegraph", { type: CPU, ...query }));
  assert.ok(!schema.unseen().some((f) => f.startsWith("Flamegraph.symbols")));
  assert.strictEqual(front.asked.filter((u) => u.includes(id)).length, before);
  // and what was found is there without a question
  assert.ok((await namesOf(cluster, app.service)).has("chain_leaf"));
});

test("what servers send that is of no use has a reason, and nothing else breaks", async () => {
  await cluster.stop();
  cluster = await start({ dataDir, args: ["--debuginfod-max-size=1MiB"] });
  const other = fs.readFileSync(path.join(served, "remote.debug"));
  const sent = {
    garbage: [strange(2), Buffer.from("<html>sign in</html>"), "not_valid", /damaged, or of/],
    cut: [strange(3), other.subarray(0, 3000), "no_symbols", /has no symbols/],
    other: [strange(4), other, "not_valid", /damaged, or of another build/],
    huge: [strange(5), Buffer.alloc(3 << 20), "too_large", /larger than --debuginfod-max-size/],
    stripped: [
      strange(6),
      fs.readFileSync(path.join(dir, program("remote"))),
      "no_symbols",
      /has no symbols/,
    ],
  };
  front.answer = (req, res) => {
    const found = Object.values(sent).find(([id]) => req.url.includes(id));
    if (found) res.end(found[1]);
    return Boolean(found);
  };
  for (const [name, [id, , result, why]] of Object.entries(sent)) {
    const before = await builds(cluster, result);
    const query = await upload(cluster, name, `/bin/${name}`, id, 4096, Date.now() - 60000);
    let s;
    await eventually(name, async () => {
      s = statusOf(await flame(cluster, query), id);
      return s && !s.coming;
    });
    assert.match(s.why, why, name);
    assert.strictEqual(await builds(cluster, result), before + 1, name);
  }
  front.answer = null;
  assert.ok((await namesOf(cluster, app.service)).has("chain_leaf"));
});

test("a server that fails is asked again, and the answer says why names are late", async () => {
  const late = path.join(dir, "late.so");
  execFileSync("gcc", ["-shared", "-fPIC", "-g", "-Wl,--build-id=sha1", "-xc", "-o", late, "-"], {
    input: "int late_name(int n) { return n * 3; }",
  });
  const id = buildId(late);
  const symbol = execFileSync("nm", [late], { encoding: "utf8" });
  const vaddr = parseInt(/([0-9a-f]+) T late_name/.exec(symbol)[1], 16); // as its offset
  fs.copyFileSync(late, path.join(served, "late.so"));
  let n = 0;
  front.answer = (req, res) => {
    if (!req.url.includes(id) || n++ > 0) return false;
    res.writeHead(503, { "Retry-After": "3" });
    res.end();
    return true;
  };
  const query = await upload(cluster, "late", late, id, vaddr, Date.now() - 60000);
  const g = await flame(cluster, query);
  await eventually("a reason", async () => {
    const s = statusOf(await flame(cluster, query), id);
    const late = /^http:\/\/127\.0\.0\.1:\d+: HTTP 503; it is asked again in \d+ s$/;
    return s?.coming && late.test(s.why);
  });
  assert.ok(statusOf(g, id).coming);
  assert.ok((await metric(cluster, 'requests_total{result="failed"}')) >= 1);
  assert.match(cluster.log(), /a debuginfod server fails; asking it again later/);
  await eventually("names", async () =>
    (await flame(cluster, query)).list.some((x) => x.name === "late_name"));
  front.answer = null;
});

test("a slow server holds no answer up", async () => {
  const id = strange(7);
  const query = await upload(cluster, "slow", "/bin/slow", id, 4096, Date.now() - 60000);
  const held = [];
  front.answer = (req, res) => req.url.includes(id) && held.push(res) > 0;
  const begin = Date.now();
  const g = await flame(cluster, query);
  assert.ok(Date.now() - begin < LIMIT_MS / 2);
  assert.deepStrictEqual(statusOf(g, id), { build: id, coming: true, why: "" });
  assert.ok(g.list.some((n) => n.name === "slow+0x1000"));
  front.answer = null;
  for (const res of held) res.writeHead(404).end();
  await eventually("an end", async () => !statusOf(await flame(cluster, query), id).coming);
});
