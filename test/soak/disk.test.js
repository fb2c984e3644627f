// Full disks, of the log and of the store, with kills in between: uploads are refused for a while,
// and what was answered with 200 is in the tables exactly once when there is space again.
"use strict";

const assert = require("node:assert");
const { test } = require("node:test");
const { scratch } = require("../e2e/lib/daemon");
const { eventually, sleep } = require("../e2e/lib/wait");
const { Ledger } = require("./lib/ledger");
const { SmallDisks } = require("./lib/small_disks");
const { LONG, Victim } = require("./lib/torture");

const ROUNDS = LONG ? 20 : 2;

async function fillAndFree(t, { sizes, full, dataDir, refuses }) {
  const disks = await SmallDisks.mount(sizes);
  const victim = await new Victim({ dataDir, within: disks.within });
  t.after(async () => {
    await victim.stop("SIGKILL");
    disks.stop();
  });
  await victim.start();
  const ledger = new Ledger({ agents: () => [victim.port], largeStacks: 500 });
  ledger.start(4, 10);
  for (let round = 0; round < ROUNDS; round++) {
    const { answered, refused } = ledger.counts;
    await eventually("answers", () => ledger.counts.answered > answered + 30);
    disks.fill(full);
    if (refuses)
      await eventually("refusals", () => {
        disks.fill(full);
        return ledger.counts.refused > refused;
      });
    else await sleep(2000);
    assert.strictEqual((await fetch(`${victim.url}/healthz`)).status, 200);
    if (round % 2 === 1) {
      // one that is killed cannot start without space, or starts and refuses
      await victim.stop("SIGKILL");
      disks.free(full);
      await victim.start(false);
    } else {
      disks.free(full);
    }
    await victim.ready();
  }
  await ledger.finish();
  const wrong = await ledger.verify(victim);
  t.diagnostic(ledger.report());
  assert.deepStrictEqual(wrong, []);
}

test("the disk of the log is full", async (t) => {
  const dataDir = scratch("data");
  const log = `${dataDir}/wal`;
  await fillAndFree(t, { sizes: { [log]: "8m" }, full: log, dataDir, refuses: true });
});

test("the disk of log and store is full", async (t) => {
  const dataDir = scratch("data");
  const sizes = { [dataDir]: "128m" };
  await fillAndFree(t, { sizes, full: dataDir, dataDir, refuses: true });
});

test("the disk of the store is full, that of the log is not", async (t) => {
  const dataDir = scratch("data");
  const sizes = { [dataDir]: "128m", [`${dataDir}/wal`]: "64m" };
  await fillAndFree(t, { sizes, full: dataDir, dataDir, refuses: false });
});
