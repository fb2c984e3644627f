import assert from "node:assert/strict";
import { test } from "node:test";
import { growthOf, riseOf } from "../../../cluster-agent/web/src/model/rise";

const STEP = 5000;
const START = 1_000_000;
const curve = (n: number, f: (i: number) => number | null) => ({
  startMs: START,
  stepMs: STEP,
  values: Array.from({ length: n }, (_, i) => f(i)),
});

/** Numbers between -1 and 1 that are the same in each run. */
function noise(seed: number): () => number {
  let x = seed;
  return () => {
    x = (x * 16807) % 2147483647;
    return (2 * x) / 2147483647 - 1;
  };
}
const at = (ms: number): number => (ms - START) / STEP;

test("a step is found where it is, up to where the curve falls again", () => {
  const next = noise(7);
  const rise = riseOf(curve(180, (i) => (i >= 100 && i < 140 ? 2 : 1) + next() * 0.1))!;
  assert.ok(Math.abs(at(rise.part.from) - 100) <= 1, `${at(rise.part.from)}`);
  assert.ok(Math.abs(at(rise.part.to) - 140) <= 1, `${at(rise.part.to)}`);
  assert.ok(rise.ratio > 1.9 && rise.ratio < 2.1, `${rise.ratio}`);
});

test("the part is no longer than the time before it, with which it is compared", () => {
  const { part } = riseOf(curve(180, (i) => (i >= 30 ? 5 : 1)))!;
  assert.deepEqual([at(part.from), at(part.to)], [30, 60]);
});

test("a steady growth, as of a leak, is found in its middle", () => {
  const next = noise(3);
  const { part, ratio } = riseOf(curve(180, (i) => 200 + 5 * i + 10 * next()))!;
  assert.ok(at(part.from) > 40 && at(part.from) < 140, `${at(part.from)}`);
  assert.ok(ratio > 1.3);
});

test("noise, a fall, gaps, and too few values are no rise", () => {
  for (let seed = 1; seed < 200; seed++) {
    const next = noise(seed * 7919);
    assert.equal(riseOf(curve(180, () => 1 + 0.9 * next())), null, `seed ${seed}`);
  }
  assert.equal(riseOf(curve(180, (i) => (i < 90 ? 2 : 1))), null);
  assert.equal(riseOf(curve(180, (i) => (i < 90 ? null : 1))), null);
  assert.equal(riseOf(curve(15, (i) => (i < 8 ? 1 : 9))), null);
  assert.equal(riseOf(curve(180, () => 0)), null);
  assert.equal(riseOf(curve(0, () => 0)), null);
});

test("what was zero may rise", () => {
  const { part } = riseOf(curve(180, (i) => (i < 90 ? 0 : 1)))!;
  assert.equal(at(part.from), 90);
});

test("the end of a level that grew is compared with its start", () => {
  const next = noise(3);
  const leak = curve(180, (i) => (i < 10 || i >= 170 ? null : 200 + 5 * i + 10 * next()));
  const { part, base, ratio } = growthOf(leak)!;
  assert.deepEqual([at(base!.from), at(base!.to)], [10, 42]);
  assert.deepEqual([at(part.from), at(part.to)], [138, 170]);
  assert.ok(ratio > 2.5 && ratio < 3.5, `${ratio}`);
  // what has come and gone, what is level, and what has few values is no growth
  assert.equal(growthOf(curve(180, (i) => (i > 60 && i < 120 ? 9 : 1))), null);
  assert.equal(growthOf(curve(180, () => 1 + 0.5 * next())), null);
  assert.equal(growthOf(curve(30, (i) => i)), null);
  assert.equal(growthOf(curve(180, () => null)), null);
});
