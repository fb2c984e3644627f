// A Service over two cluster-agents on one ClickHouse server: answers are lost, agents are killed
// at any moment, and what is sent again goes to either. Each upload is in the tables exactly once.
//
//   RESENT=500   how many are sent again before it ends
"use strict";

const assert = require("node:assert");
const crypto = require("node:crypto");
const { test } = require("node:test");
const { encode } = require("../e2e/lib/pprof");
const { sql } = require("../e2e/lib/query");
const { sleep } = require("../e2e/lib/wait");
const { Ledger } = require("./lib/ledger");
const { startStore, storeArgs } = require("./lib/store_server");
const { LONG, Victim } = require("./lib/torture");

const RESENT = Number(process.env.RESENT || (LONG ? 2000 : 120));
const CLAIM_WAIT_S = 15;
const WAIT_ARGS = process.env.NO_CLAIMS ? [] : [`--claim-wait=${CLAIM_WAIT_S}s`];

async function startAll(t) {
  const store = await startStore();
  const agents = [];
  t.after(async () => {
    for (const a of agents) await a.stop("SIGKILL");
    await store.stop("SIGKILL");
  });
  for (let i = 0; i < 2; i++) {
    agents.push(new Victim({ storage: storeArgs(store.port), args: WAIT_ARGS }));
    await agents[i].start();
  }
  return { store, agents };
}

for (const kills of [false, true])
  test(`answers are lost${kills ? ", and agents killed" : ""}`, async (t) => {
    const { store, agents } = await startAll(t);
    const ledger = new Ledger({
      ...{ agents: () => agents.map((a) => a.port), wander: true, lose: 0.4 },
    });
    ledger.start(8, 20);
    for (let k = 0; ledger.counts.resent < RESENT; k++) {
      await sleep(500 + Math.random() * 2500);
      if (!kills) continue;
      await agents[k % 2].stop(k % 10 === 9 ? "SIGTERM" : "SIGKILL");
      await sleep(Math.random() * 2000);
      await agents[k % 2].start(false);
      if (k % 3) await agents[k % 2].ready();
    }
    for (const a of agents) await a.ready();
    await ledger.finish();
    // what is held back is stored or found in the end
    for (const a of agents) await a.emptyLog((12 * CLAIM_WAIT_S + 120) * 1000);
    const wrong = await ledger.verify(store);
    t.diagnostic(`${ledger.report()}; ${agents.map((a) => a.lives)} lives`);
    assert.deepStrictEqual(wrong, []);
  });

const NOW_S = Math.floor(Date.now() / 1000);
const FOLDED = `from=${NOW_S - 10}&until=${NOW_S}&units=samples&sampleRate=100`;
const pushed = (service) =>
  JSON.stringify({
    series: [
      {
        labels: [
          { name: "service_name", value: service },
          { name: "__name__", value: "process_cpu" },
        ],
        samples: [{ rawProfile: encode({ type: "cpu" }).toString("base64") }],
      },
    ],
  });
// [name, path, body, type] of each way to send profiles
const ROUTES = [
  ["profiles", "/v1/profiles?service.name=twice-profiles", encode(), "application/octet-stream"],
  ["ingest", `/ingest?name=twice-ingest&${FOLDED}`, "main;leaf 7\n", "text/plain"],
  ["push", "/push.v1.PusherService/Push", pushed("twice-push"), "application/json"],
];

test("what is sent again to the other one, by any route, is stored once", async (t) => {
  const { store, agents } = await startAll(t);
  await Promise.all(
    ROUTES.map(async ([name, path, body, type]) => {
      const headers = {
        "Content-Type": type,
        "Idempotency-Key": crypto.randomBytes(16).toString("hex"),
      };
      for (const [i, agent] of agents.entries()) {
        if (i > 0) headers["Idempotency-Repeat"] = "1";
        const url = `http://127.0.0.1:${agent.port}${path}`;
        const answer = await fetch(url, { method: "POST", body, headers });
        assert.strictEqual(answer.status, 200, `${name}: ${await answer.text()}`);
      }
    }),
  );
  for (const a of agents) await a.emptyLog((12 * CLAIM_WAIT_S + 120) * 1000);
  const rows = await sql(
    store,
    `SELECT ServiceName AS name, count() AS n FROM profiling_samples
     WHERE ServiceName LIKE 'twice-%' GROUP BY name ORDER BY name`,
  );
  assert.deepStrictEqual(
    rows.map((r) => [r.name, r.n]),
    ROUTES.map(([name]) => [`twice-${name}`, 1]).sort(),
  );
});
