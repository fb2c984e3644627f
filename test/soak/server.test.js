// Two cluster-agents on one ClickHouse server, of which any may die at any time, and a network
// between them that resets, stalls, loses answers, and answers 500: what was answered with 200 is
// in the tables exactly once. What is sent again goes to the same agent; with WANDER=1, to any.
"use strict";

const assert = require("node:assert");
const { test } = require("node:test");
const { eventually, sleep } = require("../e2e/lib/wait");
const { Ledger } = require("./lib/ledger");
const { Proxy } = require("./lib/proxy");
const { startStore, storeArgs } = require("./lib/store_server");
const { LONG, Victim } = require("./lib/torture");

const KILLS = Number(process.env.KILLS || (LONG ? 200 : 6));
const FAULT_MS = LONG ? 60000 : 1500;
const FAULTS = ["refuse", "stall", "lose", "half", "500"];

// A store that keeps its port and directory over its lives.
class Store {
  database = "coroot";
  async start() {
    this.daemon = await startStore({ ...this, wait: false });
    this.dataDir = this.daemon.dataDir;
    this.port = this.sqlPort = this.daemon.port;
    return this;
  }
  async ready() {
    await this.daemon.ready("/ping");
    return this;
  }
  async stop(signal) {
    if (this.daemon.running) await this.daemon.stop(signal);
  }
}

async function startAll(t, n) {
  const store = await new Store().start();
  const agents = [];
  const proxy = await new Proxy(() => store.port).start();
  t.after(async () => {
    for (const a of agents) await a.stop("SIGKILL");
    await store.stop("SIGKILL");
    proxy.stop();
  });
  await store.ready();
  for (let i = 0; i < n; i++) {
    // what is sent again waits for so long, in which no insert of this test takes longer
    agents.push(new Victim({ storage: storeArgs(proxy.port), args: ["--claim-wait=15s"] }));
    await agents[i].start();
  }
  return { store, proxy, agents, ports: () => agents.map((a) => a.port) };
}

async function settle(t, ledger, { store, agents }) {
  await store.ready();
  for (const a of agents) await a.ready();
  await ledger.finish();
  for (const a of agents) await a.emptyLog(240000);
  const wrong = await ledger.verify(store);
  t.diagnostic(ledger.report());
  assert.deepStrictEqual(wrong, []);
}

for (const keyed of [true, false])
  test(`${KILLS} kills of agents and store, ${keyed ? "with" : "without"} keys`, async (t) => {
    const all = await startAll(t, 2);
    const ledger = new Ledger({ agents: all.ports, keyed, wander: Boolean(process.env.WANDER) });
    ledger.start(8, 5);
    for (let k = 0; k < KILLS; k++) {
      const victims = [[all.agents[k % 2]], [all.store], [all.agents[k % 2], all.store]][k % 3];
      await sleep(Math.random() * 1000);
      const signal = k % 10 === 9 ? "SIGTERM" : "SIGKILL";
      await Promise.all(victims.map((v) => v.stop(signal)));
      await sleep(Math.random() * 300);
      for (const v of victims) await v.start(false);
      if (Math.random() < 0.7) for (const v of victims) await v.ready();
    }
    await settle(t, ledger, all);
  });

test("a network that resets, stalls, loses answers and answers 500", async (t) => {
  const all = await startAll(t, 1);
  const ledger = new Ledger({ agents: all.ports });
  ledger.start(6, 5);
  for (const fault of FAULTS) {
    all.proxy.set(fault);
    const before = ledger.counts.answered;
    await sleep(FAULT_MS);
    await eventually("a connection", () => all.proxy.counts[fault] > 0);
    // the log takes what the store does not
    assert.ok(ledger.counts.answered > before, `${fault}: ${ledger.report()}`);
    all.proxy.set("pass");
    await sleep(500);
  }
  await settle(t, ledger, all);
  for (const fault of FAULTS) assert.ok(all.proxy.counts[fault] > 0, fault);
});

// A request that is under way when the fault begins, and one that is killed in it.
test("kills of the agent while the network loses answers", async (t) => {
  const all = await startAll(t, 1);
  const ledger = new Ledger({ agents: all.ports });
  ledger.start(6, 5);
  for (let k = 0; k < KILLS / 2; k++) {
    all.proxy.set(k % 2 ? "half" : "lose");
    await sleep(300 + Math.random() * 700);
    await all.agents[0].stop("SIGKILL");
    all.proxy.set("pass");
    await all.agents[0].start(false);
    await all.agents[0].ready();
    await sleep(Math.random() * 300);
  }
  await settle(t, ledger, all);
});

test("while the store is dead queries get 503, and no reader learns its address", async (t) => {
  const { store, agents } = await startAll(t, 1);
  const range = `from=${Date.now() - 60000}&to=${Date.now()}`;
  const ask = () => fetch(`http://127.0.0.1:${agents[0].port}/api/applications?${range}`);
  await eventually("an answer", async () => (await ask()).status === 200);
  await store.stop("SIGKILL");
  const answer = await ask();
  assert.strictEqual(answer.status, 503);
  const { error } = await answer.json();
  assert.match(error, /cannot be reached; uploads are kept/);
  assert.doesNotMatch(error, /127\.0\.0\.1|http/);
  assert.ok(answer.headers.get("retry-after"));
  await store.start();
  await eventually("an answer again", async () => (await ask()).status === 200);
});
