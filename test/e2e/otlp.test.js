// OTLP profiles, in and out, with the OpenTelemetry Collector between: it takes what our node agent
// sends, and sends it on to our cluster agent over gRPC and HTTP.
"use strict";

const assert = require("node:assert");
const { execFileSync } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const { test } = require("node:test");
const zlib = require("node:zlib");
const { Daemon, freePort, root, scratch, startCluster, startNode } = require("./lib/daemon");
const { sql } = require("./lib/query");
const { eventually } = require("./lib/wait");

const NS = 1000000000n;

// One stack, work ← main, with a native frame that has no name.
function request(service, { value = "7000000000", startNs, stack = [3, 1, 2], code } = {}) {
  const { file, buildId, offset } = code ?? {
    file: "/usr/lib/libx.so",
    buildId: "0123abcd",
    offset: 272,
  };
  const start = startNs || BigInt(Date.now()) * 1000000n - 20n * NS;
  const attribute = (key, stringValue) => ({ key, value: { stringValue } });
  return {
    resourceProfiles: [
      {
        resource: {
          attributes: [
            ...(service ? [attribute("service.name", service)] : []),
            attribute("host.name", "node-7"),
            attribute("k8s.namespace.name", "shop"),
            attribute("k8s.pod.name", "cart-5d8f9c7b6-x2x4z"),
            attribute("container.id", "c0ffee"),
          ],
        },
        scopeProfiles: [
          {
            scope: { name: "go.opentelemetry.io/ebpf-profiler" },
            profiles: [
              {
                sampleType: { typeStrindex: 1, unitStrindex: 2 },
                timeUnixNano: String(start),
                durationNano: String(10n * NS),
                samples: [{ stackIndex: 1, values: [value] }],
              },
            ],
          },
        ],
      },
    ],
    dictionary: {
      stringTable: [
        ...["", "cpu", "nanoseconds", "work", "main", "/src/app.py", file],
        ...["process.executable.build_id.gnu", buildId],
      ],
      attributeTable: [{}, { keyStrindex: 7, value: { stringValue: buildId } }],
      linkTable: [{}],
      mappingTable: [
        {},
        {
          memoryStart: "4096",
          memoryLimit: "1052672",
          fileOffset: "256",
          filenameStrindex: 6,
          attributeIndices: [1],
        },
      ],
      functionTable: [
        {},
        { nameStrindex: 3, filenameStrindex: 5 },
        { nameStrindex: 4, filenameStrindex: 5 },
      ],
      locationTable: [
        {},
        { lines: [{ functionIndex: 1, line: "7" }] },
        { lines: [{ functionIndex: 2, line: "12" }] },
        { mappingIndex: 1, address: String(4096 + offset - 256) },
      ],
      stackTable: [{}, { locationIndices: stack }],
    },
  };
}

async function post(url, body, headers = {}) {
  const r = await fetch(`${url}/v1development/profiles`, {
    method: "POST",
    headers: { "Content-Type": "application/json", ...headers },
    body: typeof body === "string" || Buffer.isBuffer(body) ? body : JSON.stringify(body),
  });
  const text = await r.text();
  return { status: r.status, text, json: () => JSON.parse(text) };
}

const stored = (cluster, service) =>
  sql(
    cluster,
    `SELECT Type AS type, sum(Value) AS value, count() AS n, any(Labels) AS labels
     FROM profiling_samples WHERE ServiceName = '${service}' GROUP BY Type ORDER BY Type`,
  );

const stacks = async (cluster, service) =>
  (
    await sql(
      cluster,
      `SELECT DISTINCT Stack AS stack FROM profiling_stacks WHERE ServiceName = '${service}'`,
    )
  ).map((row) => row.stack);

// args: options of the cluster agent; tls: settings of both exporters
async function startCollector(cluster, grpcPort, { headers = {} } = {}) {
  const bin = execFileSync(path.join(root, "test/otlp/build-collector.sh"), { encoding: "utf8" });
  const dir = scratch("collector");
  const [grpc, http] = [await freePort(), await freePort()];
  const exporter = { headers, sending_queue: { enabled: false } };
  const config = {
    receivers: {
      otlp: {
        protocols: {
          grpc: { endpoint: `127.0.0.1:${grpc}` },
          http: { endpoint: `127.0.0.1:${http}` },
        },
      },
    },
    exporters: {
      otlp_grpc: { ...exporter, endpoint: `127.0.0.1:${grpcPort}`, tls: { insecure: true } },
      otlp_http: { ...exporter, endpoint: cluster.url, compression: "zstd" },
    },
    service: {
      telemetry: { metrics: { level: "none" } },
      pipelines: { profiles: { receivers: ["otlp"], exporters: ["otlp_grpc", "otlp_http"] } },
    },
  };
  const file = path.join(dir, "collector.yaml");
  fs.mkdirSync(dir, { recursive: true });
  fs.writeFileSync(file, JSON.stringify(config)); // which is YAML
  const d = new Daemon(
    bin.trim(),
    [`--config=${file}`, "--feature-gates=service.profilesSupport"],
    { url: `http://127.0.0.1:${http}`, name: "otlp-collector" },
  );
  await eventually("the collector listens", async () => {
    assert.ok(d.running, d.log());
    return fetch(d.url).then(
      () => true,
      () => false,
    );
  });
  return d;
}

test("OTLP over HTTP becomes rows: services, labels, frames", async (t) => {
  const cluster = await startCluster();
  t.after(() => cluster.stop());
  const json = JSON.stringify(request("direct"));
  assert.deepStrictEqual((await post(cluster.url, json)).json(), {});
  // the same again, and compressed: stored once each
  assert.strictEqual((await post(cluster.url, json)).status, 200);
  const zipped = zlib.gzipSync(json);
  const r = await post(cluster.url, zipped, { "Content-Encoding": "gzip" });
  assert.strictEqual(r.status, 200, r.text);
  const rows = await eventually("both are stored", async () => {
    const found = await stored(cluster, "direct");
    return found.length === 1 && Number(found[0].n) === 2 && found;
  });
  assert.strictEqual(rows[0].type, "ebpf:cpu:nanoseconds");
  assert.strictEqual(rows[0].labels["container.id"], "c0ffee");
  assert.strictEqual(rows[0].labels["k8s.pod.name"], "cart-5d8f9c7b6-x2x4z");
  assert.deepStrictEqual(await stacks(cluster, "direct"), [
    ["libx.so+0x110 [libx.so:0123abcd]:0", "work /src/app.py:7", "main /src/app.py:12"],
  ]);
  // a service by the names of Kubernetes
  assert.strictEqual((await post(cluster.url, request(""))).status, 200);
  await eventually("the pod's", async () => (await stored(cluster, "/k8s/shop/cart")).length === 1);
});

// A library with a function, and the place of its code in the file.
function buildLibrary() {
  const dir = scratch("library");
  fs.mkdirSync(dir, { recursive: true });
  const file = path.join(dir, "libz.so");
  const run = (...args) => execFileSync(args[0], args.slice(1), { cwd: dir, encoding: "utf8" });
  fs.writeFileSync(path.join(dir, "z.c"), "int found_later(int a)\n{\n\treturn a * 7 + 1;\n}\n");
  run("gcc", "-g", "-O1", "-shared", "-fPIC", "-Wl,--build-id=sha1", "-o", file, "z.c");
  const buildId = /Build ID: ([0-9a-f]+)/.exec(run("readelf", "-n", file))[1];
  const symbols = run("readelf", "-sW", file);
  const address = parseInt(/ +\d+: ([0-9a-f]+) .*found_later/.exec(symbols)[1], 16);
  const [, from, vaddr] = /LOAD +0x([0-9a-f]+) 0x([0-9a-f]+) .*R E/
    .exec(run("readelf", "-lW", file))
    .map((n) => parseInt(n, 16));
  // behind the function's first instruction, as a profiler of stacks sees it
  return { file, buildId, offset: address - vaddr + from + 1 };
}

test("go tool pprof finds the names of frames that were sent without", async (t) => {
  const cluster = await startCluster();
  t.after(() => cluster.stop());
  const code = buildLibrary();
  const from = Date.now() - 60e3;
  assert.strictEqual((await post(cluster.url, request("nameless", { code }))).status, 200);
  await eventually("it is stored", async () => (await stored(cluster, "nameless")).length === 1);
  const query = new URLSearchParams({
    service: "nameless",
    type: "ebpf:cpu:nanoseconds",
    from: String(from),
    to: String(Date.now() + 60e3),
  });
  const r = await fetch(`${cluster.url}/api/pprof?${query}`);
  assert.strictEqual(r.status, 200);
  const file = `${scratch("pprof")}.pb.gz`;
  fs.writeFileSync(file, Buffer.from(await r.arrayBuffer()));
  const go = execFileSync("test/setup/go.sh", { cwd: root, encoding: "utf8" }).trim();
  const pprof = (...args) =>
    execFileSync(go, ["tool", "pprof", ...args, file], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
      env: { ...process.env, PPROF_TMPDIR: scratch("pprof"), PPROF_BINARY_PATH: "/nowhere" },
    });
  assert.match(pprof("-top"), new RegExp(`libz\\.so\\+0x${code.offset.toString(16)}\\b`));
  assert.match(pprof("-raw"), new RegExp(`libz\\.so ${code.buildId}`));
  const named = pprof("-top", "-lines", code.file);
  assert.match(named, /7s .* found_later .*z\.c:[123]/);
  assert.match(named, / work .*app\.py:7/);
});

test("hostile requests change nothing; single profiles may be left out", async (t) => {
  const cluster = await startCluster();
  t.after(() => cluster.stop());
  const bad = {
    "not JSON": "<html>",
    "not the message": '{"resourceProfiles":7}',
    "a location that does not exist": request("bad", { stack: [9] }),
  };
  for (const [what, body] of Object.entries(bad)) {
    const r = await post(cluster.url, body);
    assert.strictEqual(r.status, 400, `${what}: ${r.status} ${r.text}`);
    assert.match(r.json().message, /^[^\n]{5,}$/, what);
  }
  // from a host with a wrong clock: stored when it arrives
  const early = await post(cluster.url, request("early", { startNs: 1n }));
  assert.strictEqual(early.status, 200, early.text);
  await eventually("it is stored", async () => (await stored(cluster, "early")).length === 1);
  const protobuf = { "Content-Type": "application/x-protobuf" };
  for (const bytes of [[0xff], [0x0a, 0x7f], [0x12, 0x03, 0x2a, 0x05, 0x41]])
    assert.strictEqual((await post(cluster.url, Buffer.from(bytes), protobuf)).status, 400);
  const bomb = zlib.gzipSync(Buffer.alloc(200 << 20));
  const r = await post(cluster.url, bomb, { ...protobuf, "Content-Encoding": "gzip" });
  assert.strictEqual(r.status, 413, r.text);
  assert.strictEqual((await post(cluster.url, "{}", { "Content-Type": "text/x" })).status, 415);
  assert.strictEqual((await post(cluster.url, "{}", { "Content-Encoding": "br" })).status, 415);

  const mixed = request("mixed");
  mixed.resourceProfiles.push(...request("mixed", { value: "-5" }).resourceProfiles);
  const partial = (await post(cluster.url, mixed)).json().partialSuccess;
  assert.strictEqual(partial.rejectedProfiles, "0");
  assert.match(partial.errorMessage, /1 negative value counted as 0/);
  await eventually("it is stored", async () => (await stored(cluster, "mixed")).length);
  assert.deepStrictEqual(await stored(cluster, "bad"), []);
  assert.ok(cluster.running);
});

test("profiles pass through the OpenTelemetry Collector, over gRPC and HTTP", async (t) => {
  const grpcPort = await freePort();
  const key = "a-key-of-uploads";
  const cluster = await startCluster({
    args: [`--otlp-grpc-listen=127.0.0.1:${grpcPort}`, `--api-key=${key}`, "--anonymous-read"],
  });
  t.after(() => cluster.stop());
  const collector = await startCollector(cluster, grpcPort, { headers: { "x-api-key": key } });
  t.after(() => collector.stop());

  assert.strictEqual((await post(cluster.url, request("x"))).status, 401);
  const r = await post(collector.url, request("collected"));
  assert.strictEqual(r.status, 200, r.text);
  // what both exporters send, with different bodies, is there twice
  const rows = await eventually("both are stored", async () => {
    const found = await stored(cluster, "collected");
    return found.length === 1 && Number(found[0].n) === 2 && found;
  });
  assert.strictEqual(Number(rows[0].value), 14e9);
  // more than one if the exporter has repeated it: it is stored once
  assert.ok((await cluster.metric("grpc_server_calls_total")) >= 1);

  // our node agent → the Collector → our cluster agent
  const node = await startNode({ otlp: collector.url, args: ["--log-level=debug"] });
  t.after(() => node.stop());
  const found = await eventually("CPU profiles of this test", async () => {
    const all = await stored(cluster, "/process/node");
    return all.length === 1 && Number(all[0].value) > 0 && all;
  });
  assert.strictEqual(found[0].type, "ebpf:cpu:nanoseconds");
  assert.strictEqual(await node.metric("node_agent_profiles_dropped_total"), 0);
  const frames = (await stacks(cluster, "/process/node")).flat();
  assert.ok(frames.some((f) => f.endsWith(" [kernel]:0")), frames.slice(0, 20).join("\n"));
  assert.ok(frames.some((f) => /^[^+]+ \[node\]:0$/.test(f)), frames.slice(0, 20).join("\n"));
  // what the agent says about its stacks arrives, too
  const quality = await eventually("ends of walks", async () => {
    const q = await sql(
      cluster,
      "SELECT any(Unwinding) AS u FROM profiling_quality WHERE ServiceName = '/process/node'",
    );
    return Object.keys(q[0].u).length > 0 && q[0].u;
  });
  assert.ok(Number(quality.complete) > 0, JSON.stringify(quality));
});

test("the node agent's OTLP is what it uploads otherwise, and survives an outage", async (t) => {
  const port = await freePort();
  const dataDir = scratch("data");
  const otlp = `http://127.0.0.1:${port}`;
  const node = await startNode({ otlp, args: ["--otlp-headers=x-tenant=a%20b"] });
  t.after(() => node.stop());
  const retries = () => node.metric("node_agent_profile_upload_retries_total");
  await eventually("uploads fail", async () => (await retries()) > 0);
  const cluster = await startCluster({ port, dataDir });
  t.after(() => cluster.stop());
  await eventually("profiles arrive", async () => (await stored(cluster, "/process/node")).length);
  assert.strictEqual(await node.metric("node_agent_profiles_dropped_total"), 0);
});
