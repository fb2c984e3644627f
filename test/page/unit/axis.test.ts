import assert from "node:assert/strict";
import { test } from "node:test";
import { axisSplits, lonePoints } from "../../../cluster-agent/web/src/model/axis";
import { tick } from "../../../cluster-agent/web/src/model/units";

const MiB = 2 ** 20;

test("bytes have round binary values on an axis", () => {
  const labels = (max: number, step: number): string[] =>
    axisSplits(max, step, "bytes").map((v) => tick(v, "bytes", false));
  assert.deepEqual(labels(300e6, 100e6), ["0 B", "128 MiB", "256 MiB"]);
  assert.deepEqual(labels(3.2e9, 1e9), ["0 B", "1 GiB", "2 GiB"]);
  assert.deepEqual(labels(700, 200), ["0 B", "256 B", "512 B"]);
  assert.deepEqual(axisSplits(4 * MiB, MiB, "bytes"), [0, MiB, 2 * MiB, 3 * MiB, 4 * MiB]);
});

test("other values keep the step of the chart", () => {
  assert.deepEqual(axisSplits(0.35, 0.1, "cores"), [0, 0.1, 0.2, 0.3]);
  assert.deepEqual(axisSplits(0, 0, "cores").length, 100);
});

test("a value between gaps is found, also at the ends", () => {
  assert.deepEqual(lonePoints([1, null, 2, 3, null, 0, null, 5]), [0, 5, 7]);
  assert.deepEqual(lonePoints([1, 2]), []);
  assert.deepEqual(lonePoints([]), []);
});
