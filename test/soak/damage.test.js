// What befalls the files of the log while the agent is stopped: torn, cut, flipped, strange, gone.
// The store is down while the log fills, so that all uploads are in the log and nowhere else.
"use strict";

const assert = require("node:assert");
const fs = require("node:fs");
const path = require("node:path");
const { test } = require("node:test");
const { clusterAgent, freePort, failToStart } = require("../e2e/lib/daemon");
const { Ledger } = require("./lib/ledger");
const { startStore, storeArgs } = require("./lib/store_server");
const { Victim } = require("./lib/torture");
const { eventually } = require("../e2e/lib/wait");

const UPLOADS = 400;

// An agent that was killed with some hundred uploads in its log, of which the store has none.
async function killedWithBacklog(t) {
  const store = await startStore();
  const victim = new Victim({ storage: storeArgs(store.port) });
  const ledger = new Ledger({ agents: () => [victim.port], largeEvery: 1000 });
  const state = { victim, ledger, store, log: path.join(victim.dataDir, "wal") };
  t.after(async () => {
    await victim.stop("SIGKILL");
    await state.store.stop("SIGKILL");
  });
  await victim.start();
  await store.stop();
  ledger.start(8);
  await eventually("uploads", () => ledger.counts.answered >= UPLOADS);
  await ledger.finish();
  await victim.stop("SIGKILL");
  return state;
}

const segments = (log) =>
  fs
    .readdirSync(log)
    .filter((name) => /^[0-9a-f]+\.segment$/.test(name))
    .sort()
    .map((name) => path.join(log, name))
    .filter((file) => fs.statSync(file).size > 0);

const largest = (files) =>
  files.sort((a, b) => fs.statSync(b).size - fs.statSync(a).size)[0] ?? assert.fail("no segment");

// Starts store and agent again; returns what is wrong, and what the agent counted.
async function recover(state) {
  const { victim, ledger, store } = state;
  const { dataDir, port } = store;
  state.store = await startStore({ dataDir, port });
  await victim.start();
  await eventually(
    "an empty log",
    async () => (await victim.daemon.metric("cluster_agent_wal_bytes")) === 0,
  );
  // the agent is ready before the tables are
  const found = await eventually("the tables", () => ledger.compare(state.store));
  const metric = (name) => victim.daemon.metric(`cluster_agent_wal_${name}`);
  return { ...found, metric, output: victim.daemon.log() };
}

const nothingTwice = ({ twice, partial }) => assert.deepStrictEqual({ twice, partial }, NOTHING);
const NOTHING = { twice: [], partial: [] };

test("a torn write at the end, files of strangers, a segment without content", async (t) => {
  const state = await killedWithBacklog(t);
  const last = segments(state.log).at(-1);
  fs.appendFileSync(last, fs.readFileSync(last).subarray(0, 100));
  fs.writeFileSync(path.join(state.log, "README"), "not ours");
  fs.mkdirSync(path.join(state.log, "lost+found"));
  fs.writeFileSync(last.replace(/[0-9a-f]+\.segment$/, "00000000000000ff.segment"), "");
  const after = await recover(state);
  nothingTwice(after);
  assert.deepStrictEqual(after.missing, []);
});

test("a flipped bit costs the uploads that it hit, and is kept and counted", async (t) => {
  const state = await killedWithBacklog(t);
  const file = largest(segments(state.log));
  const fd = fs.openSync(file, "r+");
  const at = Math.floor(fs.fstatSync(fd).size / 2);
  const byte = Buffer.alloc(1);
  fs.readSync(fd, byte, 0, 1, at);
  byte[0] ^= 4;
  fs.writeSync(fd, byte, 0, 1, at);
  fs.closeSync(fd);
  const after = await recover(state);
  nothingTwice(after);
  assert.ok(after.missing.length > 0 && after.missing.length < UPLOADS, `${after.missing.length}`);
  assert.strictEqual(await after.metric("damaged_segments_total"), 1);
  assert.ok((await after.metric("lost_records_total")) > 0);
  assert.ok(
    fs.readdirSync(state.log).some((name) => name.endsWith(".damaged")),
    "kept aside",
  );
  assert.match(after.output, /damaged/);
  t.diagnostic(`${after.missing.length} of ${state.ledger.counts.answered} uploads are lost`);
  // whoever has them still may send them again, and only those are stored then
  for (const i of after.missing) {
    const upload = state.ledger.uploads[i - 1];
    upload.answered = false;
    state.ledger.waiting.push(upload);
  }
  state.ledger.start(4);
  await state.ledger.finish();
  assert.deepStrictEqual(await state.ledger.verify(state.store), []);
});

test("a segment that was cut, and files with ids that are rubbish", async (t) => {
  const state = await killedWithBacklog(t);
  const file = largest(segments(state.log));
  fs.truncateSync(file, Math.floor(fs.statSync(file).size * 0.7));
  for (const name of fs.readdirSync(state.log))
    if (name.endsWith(".ids")) fs.writeFileSync(path.join(state.log, name), "rubbish".repeat(99));
  const after = await recover(state);
  nothingTwice(after);
  assert.ok(after.missing.length > 0 && after.missing.length < UPLOADS, `${after.missing.length}`);
});

test("without its directory, the agent starts with an empty log", async (t) => {
  const state = await killedWithBacklog(t);
  fs.rmSync(state.log, { recursive: true });
  const after = await recover(state);
  nothingTwice(after);
  // the senders have them no more, so they are lost; but nothing else is
  assert.strictEqual(after.missing.length, state.ledger.counts.answered);
  Object.assign(state.ledger, { stopping: false, senders: [] });
  const { answered } = state.ledger.counts;
  state.ledger.start(4);
  await eventually("uploads", () => state.ledger.counts.answered > answered + 100);
  await state.ledger.finish();
});

test("the log of a running agent is refused to a second one", async (t) => {
  const store = await startStore();
  const storage = storeArgs(store.port);
  const victim = new Victim({ storage });
  t.after(async () => {
    await victim.stop("SIGKILL");
    await store.stop("SIGKILL");
  });
  await victim.start();
  const second = await failToStart(clusterAgent, [
    ...storage,
    `--listen=127.0.0.1:${await freePort()}`,
    `--data-dir=${victim.dataDir}`,
  ]);
  assert.notStrictEqual(second.code, 0);
  assert.match(second.lines.join("\n"), /another process|in use|locked/);
  assert.ok(victim.running);
});
