// Requests of Pyroscope's protocols made by hand: keys, values in the store, refusals.
"use strict";

const assert = require("node:assert");
const fs = require("node:fs");
const path = require("node:path");
const { after, before, test } = require("node:test");
const zlib = require("node:zlib");
const { startCluster } = require("../e2e/lib/daemon");
const { encode } = require("../e2e/lib/pprof");
const { settled, sql } = require("../e2e/lib/query");

const KEY = "key-of-the-test";
const S = 1000000000;
const JSON_TYPE = { "Content-Type": "application/json" };
const corpus = path.join(__dirname, "../fuzz/corpus");
let cluster;

const post = async (address, body, headers = { "X-Api-Key": KEY }) => {
  const r = await fetch(cluster.url + address, { method: "POST", body, headers });
  return { status: r.status, text: await r.text(), headers: r.headers };
};
const ingest = (query, body, headers) =>
  post(`/ingest?${new URLSearchParams(query)}`, body, headers && { "X-Api-Key": KEY, ...headers });
const push = (body, headers = JSON_TYPE) =>
  post("/push.v1.PusherService/Push", body, { "X-Api-Key": KEY, ...headers });

const series = (service, ...profiles) => ({
  labels: [
    { name: "service_name", value: service },
    { name: "__name__", value: "process_cpu" },
    { name: "region", value: "eu" },
  ],
  samples: profiles.map((p) => ({ rawProfile: p.toString("base64") })),
});
const pprof = (value, type = "cpu") =>
  zlib.gzipSync(encode({ type, stacks: [{ frames: ["leaf", "main"], value }] }));

// [type, total, number of samples] of a service
const totals = async (service) =>
  (
    await sql(
      cluster,
      `SELECT Type AS type, sum(Value) AS total, count() AS n FROM profiling_samples
       WHERE ServiceName = '${service}' GROUP BY Type ORDER BY Type`,
    )
  ).map((r) => [r.type, r.total, r.n]);

async function countRows() {
  const tables = ["profiling_stacks", "profiling_samples", "profiling_quality"];
  const counts = tables.map((t) => `(SELECT count() FROM ${t})`).join(" + ");
  return (await sql(cluster, `SELECT ${counts} AS n`))[0].n;
}

before(async () => {
  cluster = await startCluster({ args: [`--api-key=${KEY}`] });
  cluster.headers = { "X-Api-Key": KEY };
});
after(() => cluster.stop());

test("a key is a password, a bearer's token or a header, and needed", async () => {
  const basic = (key) => `Basic ${Buffer.from(`any:${key}`).toString("base64")}`;
  const body = "main 1";
  const good = [
    { Authorization: basic(KEY), "X-Scope-OrgID": "tenant" },
    { Authorization: `Bearer ${KEY}` },
    { "X-Api-Key": KEY },
  ];
  for (const path of ["/ingest?name=keys", "/pyroscope/ingest?name=keys"])
    for (const headers of good) assert.strictEqual((await post(path, body, headers)).status, 200);
  const bad = [{}, { Authorization: basic("other") }, { Authorization: "Bearer other" }];
  for (const path of ["/ingest?name=keys", "/push.v1.PusherService/Push"])
    for (const headers of bad) assert.strictEqual((await post(path, body, headers)).status, 401);
  // text has no time, so each of the six was one
  assert.deepStrictEqual(await totals("keys"), [["pprof:cpu:nanoseconds", 6 * 1e7, 6]]);
});

test("folded stacks have their window, labels and files in the store", async () => {
  const from = Math.floor(Date.now() / 1000) - 100;
  const query = {
    name: "folded{region=eu,hostname=h1,__session_id__=7}",
    from: String(from),
    until: `${from + 10}${"0".repeat(9)}`,
    spyName: "pyspy",
    sampleRate: "50",
  };
  const text = "<module> (app.py:1);leaf (lib/a b.py:7) 3\n<module> (app.py:1) 2\n";
  assert.strictEqual((await ingest(query, text)).status, 200);
  assert.strictEqual((await ingest(query, text)).status, 200, "again");
  assert.deepStrictEqual(await totals("folded"), [["python:cpu:nanoseconds", 5 * 2e7, 2]]);
  const rows = await sql(
    cluster,
    `SELECT toUnixTimestamp(Start) AS from, toUnixTimestamp(End) AS until, Labels AS labels,
            Stack AS stack
     FROM profiling_samples AS p
     JOIN profiling_stacks AS s ON s.Hash = p.StackHash AND s.ServiceName = p.ServiceName
     WHERE p.ServiceName = 'folded' ORDER BY length(Stack) DESC LIMIT 1`,
  );
  assert.deepStrictEqual(rows, [
    {
      from,
      until: from + 10,
      labels: { region: "eu", hostname: "h1" },
      stack: ["leaf lib/a_b.py:7", "<module> app.py:1"],
    },
  ]);
});

test("what is odd in folded stacks and parameters is named, and the rest is stored", async () => {
  const text = "# austin: 3.7.0\n# mode: wall\n\nP1;T1;/a.py:main:3 1500.5\n<html>\nP1;T1 +1e3\n";
  const query = { name: "odd", from: "now-1m", until: "now", sampleRate: "abc", format: "any" };
  const r = await ingest(query, text);
  assert.strictEqual(r.status, 200, r.text);
  assert.match(r.text, /1 line.*sampleRate is taken for 100.*format "any" is not known/);
  assert.deepStrictEqual(await totals("odd"), [["python:wall:nanoseconds", 2500500, 2]]);
  assert.strictEqual(
    await cluster.metric("coroot_cluster_agent_ingest_left_out_total", 'reason="broken_lines"'),
    1,
  );
});

// a frame of one block that is not compressed, which any reader of zstd takes
const zstd = (text) =>
  Buffer.concat([
    Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x20, text.length, (text.length << 3) | 1, 0, 0]),
    Buffer.from(text),
  ]);

test("bodies may have the encodings of HTTP, and others are refused with 415", async () => {
  const text = "main 1";
  const bodies = { gzip: zlib.gzipSync(text), deflate: zlib.deflateSync(text), zstd: zstd(text) };
  for (const [encoding, body] of Object.entries(bodies)) {
    const r = await ingest({ name: "encoded" }, body, { "Content-Encoding": encoding });
    assert.strictEqual(r.status, 200, `${encoding}: ${r.text}`);
  }
  assert.strictEqual((await ingest({ name: "encoded" }, zstd(text))).status, 200);
  assert.deepStrictEqual(await totals("encoded"), [["pprof:cpu:nanoseconds", 4 * 1e7, 4]]);
  const json = JSON.stringify({ series: [series("encoded.push", pprof(S))] });
  const deflated = { ...JSON_TYPE, "Content-Encoding": "deflate" };
  assert.strictEqual((await push(zlib.deflateSync(json), deflated)).status, 200);
  assert.deepStrictEqual(await totals("encoded.push"), [["pprof:cpu:nanoseconds", S, 1]]);
  const other = { "X-Api-Key": KEY, "Content-Encoding": "br" };
  const sentence = /Content-Encoding must be gzip, zstd, deflate or identity/;
  for (const r of [
    await ingest({ name: "encoded" }, text, other),
    await post("/v1/profiles?service.name=encoded", text, other),
    await push(json, { ...JSON_TYPE, ...other }),
  ]) {
    assert.strictEqual(r.status, 415);
    assert.match(r.text, sentence);
  }
});

test("files of speedscope, tries and recordings are stored", async () => {
  const file = (name) => fs.readFileSync(path.join(corpus, name));
  const bodies = [
    ["speedscope.a", { format: "speedscope" }, file("speedscope_profiles/py_spy")],
    ["speedscope.b", {}, file("speedscope_profiles/pyinstrument")],
    ["trie.alloc_objects", { format: "trie", spyName: "gospy" }, file("node_stacks/trie")],
    ["jfr", {}, file("jfr_stacks/made_weights")],
  ];
  const answers = {};
  for (const [name, query, body] of bodies) {
    const r = await ingest({ name, from: "now-10s", until: "now", ...query }, body);
    assert.strictEqual(r.status, 200, `${name}: ${r.text}`);
    answers[name] = r.text;
  }
  assert.deepStrictEqual(await totals("speedscope.a"), [["python:cpu:nanoseconds", 4e8, 2]]);
  const [[type, total]] = await totals("speedscope.b");
  assert.strictEqual(type, "python:cpu:nanoseconds");
  assert.ok(Math.abs(total - 359675218) <= 1, String(total));
  assert.deepStrictEqual(await totals("trie"), [["go:heap_alloc_objects:count", 3, 2]]);
  assert.match(answers.jfr, /jdk\.ThreadPark \(\d+\)/);
});

test("bodies of real clients are stored", async () => {
  const names = ["go_cpu", "go_heap", "go_block", "go_goroutines", "node_heap", "node_wall"];
  for (const name of names) {
    const file = fs.readFileSync(path.join(corpus, "ingest_body", name));
    let at = 0;
    const lines = Array.from({ length: 5 }, () => {
      const end = file.indexOf("\n", at);
      const line = file.toString("latin1", at, end);
      at = end + 1;
      return line;
    });
    const query = { name, spyName: name.startsWith("go") ? "gospy" : "nodespy" };
    const r = await ingest(query, file.subarray(at), { "Content-Type": lines[4] });
    assert.strictEqual(r.status, 200, `${name}: ${r.text}`);
  }
  const all = [];
  for (const name of names) all.push(...(await totals(name)).map(([type]) => `${name} ${type}`));
  assert.deepStrictEqual(all, [
    "go_cpu go:profile_cpu:nanoseconds",
    "go_heap go:heap_alloc_objects:count",
    "go_heap go:heap_alloc_space:bytes",
    "go_heap go:heap_inuse_objects:count",
    "go_heap go:heap_inuse_space:bytes",
    "go_block go:block_contentions:count",
    "go_block go:block_delay:nanoseconds",
    "go_goroutines go:goroutine_goroutine:count",
    "node_heap nodejs:heap_inuse_objects:count",
    "node_heap nodejs:heap_inuse_space:bytes",
    "node_wall nodejs:cpu:nanoseconds",
    "node_wall nodejs:wall:nanoseconds",
  ]);
});

test("a push has profiles of several services", async () => {
  const body = JSON.stringify({
    series: [series("push.a", pprof(1 * S), pprof(2 * S)), series("push.b", pprof(4 * S))],
  });
  const r = await push(zlib.gzipSync(body), { ...JSON_TYPE, "Content-Encoding": "gzip" });
  assert.strictEqual(r.status, 200, r.text);
  assert.deepStrictEqual([r.headers.get("content-type"), r.text], ["application/json", "{}"]);
  assert.strictEqual((await push(body)).status, 200);
  assert.strictEqual((await push(body)).status, 200, "again");
  // gzipped it is another body
  assert.deepStrictEqual(await totals("push.a"), [["pprof:cpu:nanoseconds", 6 * S, 4]]);
  assert.deepStrictEqual(await totals("push.b"), [["pprof:cpu:nanoseconds", 8 * S, 2]]);
  const proto = await push(fs.readFileSync(path.join(corpus, "push_request/python.gz")), {
    "Content-Type": "application/proto",
    "Content-Encoding": "gzip",
  });
  assert.deepStrictEqual([proto.status, proto.text], [200, ""]);
  assert.strictEqual(proto.headers.get("content-type"), "application/proto");
  assert.deepStrictEqual((await totals("py.app")).map((row) => row[0]), ["python:cpu:nanoseconds"]);
});

test("a pprof of another tool is taken by /v1/profiles", async () => {
  const address = "/v1/profiles?service.name=plain&telemetry.sdk.language=ruby";
  const r = await post(address, pprof(3 * S, "wall"));
  assert.strictEqual(r.status, 200, r.text);
  assert.deepStrictEqual(await totals("plain"), [["ruby:wall:nanoseconds", 3 * S, 1]]);
});

test("what is bad is refused with a reason and changes nothing", async () => {
  await settled(cluster);
  const before = await countRows();
  const form = { "Content-Type": "multipart/form-data; boundary=b" };
  const part = (name) => `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n`;
  const bad = [
    [{}, "main 1", "query parameter name is missing"],
    [{ name: "bad" }, "", "the body is empty"],
    [{ name: "bad" }, "\nmain", /^line 2 is not "frame;frame value"/],
    [{ name: "bad", format: "pprof" }, "main 1", /^not a valid pprof/],
    [{ name: "bad", format: "jfr" }, "FLR\0....", /^not a valid JFR recording/],
    [{ name: "bad" }, zlib.gzipSync("main 1").subarray(0, 20), "not valid gzip"],
    [{ name: "bad" }, zlib.gzipSync(zlib.gzipSync("main 1")), "gzip within gzip"],
    [{ name: "bad" }, "main 1", /not valid multipart/, form],
    [{ name: "bad" }, `${part("profile")}x\r\n--b--`, /^not a valid pprof/, form],
    [{ name: "bad" }, `${part("x")}x\r\n--b--`, /neither "profile" nor "jfr"/, form],
  ];
  for (const [query, body, reason, headers = {}] of bad) {
    const r = await ingest(query, body, headers);
    const text = r.text.trimEnd();
    assert.strictEqual(r.status, 400, `${JSON.stringify(query)}: ${text}`);
    if (reason instanceof RegExp) assert.match(text, reason);
    else assert.strictEqual(text, reason);
    assert.ok(!text.includes("\n"), text);
  }
  const broken = pprof(S);
  broken.fill(0, broken.length - 4);
  const badPushes = [
    ["{", JSON_TYPE],
    ["[]", JSON_TYPE],
    [JSON.stringify({ series: [series("bad", pprof(S)), series("bad", broken)] }), JSON_TYPE],
    [JSON.stringify({ series: [series("bad", Buffer.from("x"))] }), JSON_TYPE],
    ["main 1", { "Content-Type": "application/proto" }],
  ];
  for (const [body, headers] of badPushes) {
    const r = await push(body, headers);
    assert.strictEqual(r.status, 400, r.text);
    assert.strictEqual(r.headers.get("content-type"), "application/json");
    assert.strictEqual(JSON.parse(r.text).code, "invalid_argument");
    assert.ok(JSON.parse(r.text).message.length > 0, r.text);
  }
  const badParameters = () =>
    cluster.metric("coroot_cluster_agent_uploads_refused_total", 'reason="bad_parameters"');
  const refused = await badParameters();
  assert.strictEqual((await push("x", { "Content-Type": "application/grpc" })).status, 415);
  assert.strictEqual(await badParameters(), refused + 1);
  const bomb = zlib.gzipSync(Buffer.alloc(129 << 20));
  const inner = JSON.stringify({ series: [series("bad", bomb)] });
  const zipped = { ...JSON_TYPE, "Content-Encoding": "gzip" };
  const bombs = [
    ingest({ name: "bad" }, bomb),
    ingest({ name: "bad", format: "jfr" }, bomb),
    push(bomb, zipped),
    push(inner),
    post("/v1/profiles?service.name=bad", bomb),
  ];
  for (const r of await Promise.all(bombs)) {
    assert.strictEqual(r.status, 413);
    assert.match(r.text, /inflates to more than 134217728 bytes/);
  }
  assert.strictEqual((await ingest({ name: "bad" }, Buffer.alloc(33 << 20))).status, 413);
  assert.strictEqual(await countRows(), before);
  assert.deepStrictEqual(await totals("bad"), []);
});
