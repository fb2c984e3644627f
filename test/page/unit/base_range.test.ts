import assert from "node:assert/strict";
import { test } from "node:test";
import * as b from "../../../cluster-agent/web/src/model/base_range";

const shown = { from: 1_700_000_900_000, to: 1_700_001_800_000 };

test("every baseline survives its text", () => {
  for (const text of ["", "same", "previous", "-1d", "-7d", "-90s", "1700000000000-1700000360000"])
    assert.equal(b.printBase(b.parseBase(text)), text);
  assert.deepEqual(b.parseBase("-24h"), { shift: 86400 });
  for (const text of ["5m", "-0s", "--5m", "-1700000000000-1700000360000", "before"])
    assert.equal(b.parseBase(text), "", text);
});

test("a baseline lies where its name says", () => {
  assert.deepEqual(b.resolveBase("same", shown), shown);
  assert.deepEqual(b.resolveBase("", shown), shown);
  assert.deepEqual(b.resolveBase("previous", shown), {
    from: 1_700_000_000_000,
    to: 1_700_000_900_000,
  });
  assert.deepEqual(b.resolveBase({ shift: 60 }, shown), {
    from: 1_700_000_840_000,
    to: 1_700_001_740_000,
  });
  const fixed = { from: 5, to: 9 };
  assert.equal(b.resolveBase(fixed, shown), fixed);
});

test("only a fixed baseline stays behind", () => {
  assert.ok(b.followsRange("previous") && b.followsRange({ shift: 60 }) && b.followsRange("same"));
  assert.ok(!b.followsRange({ from: 5, to: 9 }));
});
