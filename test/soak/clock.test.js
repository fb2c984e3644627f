// Steps of the wall clock in both directions, by less than the hour that profiles may lie in the
// future: nothing is lost, stored twice or refused, whether the agent is killed meanwhile or not.
"use strict";

const assert = require("node:assert");
const fs = require("node:fs");
const path = require("node:path");
const { test } = require("node:test");
const { root, scratch } = require("../e2e/lib/daemon");
const { encode, upload } = require("../e2e/lib/pprof");
const { eventually } = require("../e2e/lib/wait");
const { Ledger } = require("./lib/ledger");
const { LONG, Victim } = require("./lib/torture");

const STEPS = LONG ? 60 : 6;
const MINUTES = [50, -50, 0, -3, 49, 1];

test(`${STEPS} steps of the clock, and a kill after each second one`, async (t) => {
  const file = scratch("step");
  const step = (minutes) => {
    const ns = Buffer.alloc(8);
    ns.writeBigInt64LE(BigInt(minutes) * 60n * 1000000000n);
    // in place, because the agent has mapped the file
    const fd = fs.openSync(file, fs.existsSync(file) ? "r+" : "w");
    fs.writeSync(fd, ns, 0, 8, 0);
    fs.closeSync(fd);
  };
  step(0);
  const env = { LD_PRELOAD: path.join(root, "build/soak/clock_step.so"), CLOCK_STEP: file };
  const victim = new Victim({ env });
  const ledger = new Ledger({ agents: () => [victim.port] });
  t.after(() => victim.stop("SIGKILL"));
  await victim.start();
  // the agent believes the step: what lies too far in the future no longer does
  const future = encode({ endMs: Date.now() + 70 * 60000 });
  assert.strictEqual((await upload(victim, "/future", future)).status, 400);
  step(50);
  assert.strictEqual((await upload(victim, "/future", future)).status, 200);
  ledger.start(4, 20);
  for (let i = 0; i < STEPS; i++) {
    step(MINUTES[i % MINUTES.length]);
    const before = ledger.counts.answered;
    if (i % 2 === 1) {
      await victim.liveAndDie();
      await victim.start(false);
    }
    await eventually("answers after a step", () => ledger.counts.answered > before + 20);
  }
  await victim.ready();
  await ledger.finish();
  const wrong = await ledger.verify(victim);
  t.diagnostic(ledger.report());
  assert.deepStrictEqual(wrong, []);
});
