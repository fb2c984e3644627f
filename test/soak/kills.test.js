// kill -9 of the cluster-agent under load, with a ledger: what was answered with 200 is in the
// tables exactly once.
"use strict";

const assert = require("node:assert");
const { test } = require("node:test");
const { Ledger } = require("./lib/ledger");
const { LONG, Victim } = require("./lib/torture");

const KILLS = Number(process.env.KILLS || (LONG ? 200 : 8));

for (const keyed of [true, false])
  test(`${KILLS} kills, ${keyed ? "with" : "without"} Idempotency-Key`, async (t) => {
    const victim = new Victim();
    const ledger = new Ledger({ agents: () => [victim.port], keyed });
    t.after(() => victim.stop("SIGKILL"));
    await victim.start();
    ledger.start(8, 5);
    for (let k = 0; k < KILLS; k++) {
      await victim.liveAndDie(k % 10 === 9 ? "SIGTERM" : "SIGKILL");
      await victim.start(false);
    }
    await victim.ready();
    await ledger.finish();
    const wrong = await ledger.verify(victim);
    t.diagnostic(`${ledger.report()}; ${victim.killedEarly} kills during the start`);
    assert.deepStrictEqual(wrong, []);
  });
