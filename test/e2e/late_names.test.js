// Programs without symbols are profiled, and their functions have names once somebody uploads the
// symbols: in profiles that were stored before, too.
"use strict";

const assert = require("node:assert");
const { execFile, execFileSync } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const { test, before, after } = require("node:test");
const { promisify } = require("node:util");
const { root, scratch, startCluster, startNode } = require("./lib/daemon");
const { CPU, api, application, cpuStacks, flame, settled } = require("./lib/query");
const { LIMIT_MS } = require("./lib/wait");
const { program } = require("./lib/workload");

const run = promisify(execFile);
const CPU_S = 4;
const CHAIN = ["chain_leaf", "chain_middle", "chain_outer"];
const dir = scratch("late");
const dataDir = scratch("data");
const range = {};
const apps = {};
let cluster;
let middle;

// The same source as a program at any address, whose symbols are in a debug file, and as one at a
// fixed address, whose symbols are in the file that was not stripped.
const BUILDS = { late: [], fixed: ["-no-pie"] };

function build(name, flags) {
  const file = path.join(dir, program(name));
  const cc = (...args) => execFileSync(args[0], args.slice(1), { cwd: root });
  cc("gcc", "-g", "-O2", "-fno-optimize-sibling-calls", "-pthread", "-Wl,--build-id=sha1",
    ...flags, "-o", `${file}.full`, "test/e2e/workloads/nofp.c"); // prettier-ignore
  cc("objcopy", "--only-keep-debug", `${file}.full`, `${file}.debug`);
  cc("strip", "-o", file, `${file}.full`);
  return file;
}

// Runs the command; what it prints, or says when it fails.
const symbols = (...args) =>
  run(path.join(root, "build/release/coroot-node-agent"), [
    ...["symbols", "upload", `--collector-endpoint=${cluster.url}`],
    ...args,
  ]).then(
    (r) => ({ code: 0, ...r }),
    (e) => e,
  );

const namesOf = async (app) =>
  new Set((await flame(cluster, { service: app.service, ...range })).list.map((n) => n.name));
const unnamed = (names, name) => [...names].filter((n) => n.startsWith(`${program(name)}+0x`));

before(async () => {
  fs.mkdirSync(dir, { recursive: true });
  cluster = await startCluster({ dataDir });
  const node = await startNode({ cluster, interval: "2s" });
  range.from = node.startedAt;
  for (const [name, flags] of Object.entries(BUILDS)) {
    middle = Date.now(); // when the second one starts
    await run(build(name, flags), [String(CPU_S)], { timeout: LIMIT_MS });
  }
  await node.stop();
  range.to = Date.now() + 1000;
  for (const name of Object.keys(BUILDS)) apps[name] = await application(cluster, program(name));
});
after(() => cluster?.stop());

test("code without symbols is stored with its build and its address", async () => {
  for (const name of Object.keys(BUILDS)) {
    const names = await namesOf(apps[name]);
    assert.ok(unnamed(names, name).length >= CHAIN.length, [...names].join(" "));
    for (const f of CHAIN) assert.ok(!names.has(f), f);
    const [top] = await cpuStacks(cluster, apps[name].service);
    const file = path.join(dir, program(name));
    const notes = execFileSync("readelf", ["-n", `${file}.full`], { encoding: "utf8" });
    const id = /Build ID: ([0-9a-f]+)/.exec(notes)[1];
    const symbol = execFileSync("nm", [`${file}.full`], { encoding: "utf8" });
    const address = parseInt(/([0-9a-f]+) T chain_leaf/.exec(symbol)[1], 16).toString(16);
    assert.strictEqual(top.stack[0], `${program(name)}+0x${address} [${program(name)}@${id}]:0`);
  }
});

test("what has no symbols is refused, with what to do", async () => {
  const r = await symbols(path.join(dir, program("late")), "/etc/hostname", "/nowhere");
  assert.strictEqual(r.code, 1);
  assert.match(r.stderr, /late\d+: it is stripped: its symbols are in the file before/);
  assert.match(r.stderr, /hostname: not a 64-bit little-endian program or library/);
  assert.match(r.stderr, /nowhere: No such file/);
  assert.match(r.stderr, /3 of 3 files not uploaded/);
});

test("once symbols are uploaded, profiles of before have names", async () => {
  const files = [
    path.join(dir, `${program("late")}.debug`),
    path.join(dir, `${program("fixed")}.full`),
  ];
  const first = await symbols(...files);
  assert.strictEqual(first.code, 0, first.stderr);
  assert.match(first.stdout, /late\d+\.debug: [0-9a-f]{40} \(\d+ functions, \d+ bytes\): stored/);
  for (const name of Object.keys(BUILDS)) {
    const names = await namesOf(apps[name]);
    for (const f of [...CHAIN, "main"]) assert.ok(names.has(f), `${name}: ${f}`);
    // what has no symbol anywhere keeps its address
    const own = execFileSync("nm", [path.join(dir, `${program(name)}.full`)], { encoding: "utf8" });
    for (const n of unnamed(names, name)) assert.ok(!own.includes(n.split("+0x")[1]), n);
  }
  const again = await symbols(...files);
  assert.match(again.stdout, /: known already\n.*: known already\n$/);
});

test("names are in lists, exports and after a restart", async () => {
  const get = (what, more) =>
    fetch(`${cluster.url}/api/${what}?${new URLSearchParams({
      service: apps.late.service, type: CPU, ...range, ...more,
    })}`).then((r) => r.text()); // prettier-ignore
  await settled(cluster);
  assert.match(await get("folded"), /main.*;chain_outer;chain_middle;chain_leaf \d+/);
  assert.match(await get("functions"), /"chain_leaf"/);
  assert.match(await get("speedscope"), /"chain_leaf"/);
  const sides = { from: middle, to: range.to, baseFrom: range.from, baseTo: middle };
  const { movers } = await api(cluster, "movers", sides);
  const named = movers.filter((m) => m.name === "chain_leaf");
  assert.strictEqual(named.length, 2, JSON.stringify(movers));
  await cluster.stop();
  cluster = await startCluster({ dataDir });
  assert.ok((await namesOf(apps.late)).has("chain_leaf"));
});

test("a table that is none changes nothing", async () => {
  const post = (body, headers) =>
    fetch(`${cluster.url}/v1/symbols`, { method: "POST", body, headers });
  const refused = [
    ["", {}],
    ["CSYMBOL1", {}],
    ["\x7fELF", {}],
    ["CSYMBOL1" + "\0".repeat(100), {}],
    ["x", { "content-encoding": "zstd" }],
    ["x", { "content-encoding": "br" }],
  ];
  for (const [body, headers] of refused) {
    const r = await post(body, headers);
    assert.strictEqual(r.status, 400, await r.text());
  }
  const tables = fs.readdirSync(path.join(dataDir, "symbols"));
  assert.strictEqual(tables.filter((f) => f.endsWith(".symbols")).length, 2, tables.join(" "));
});
