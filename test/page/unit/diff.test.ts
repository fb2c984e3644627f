import assert from "node:assert/strict";
import { test } from "node:test";
import {
  changeColor,
  changeOf,
  changePercentText,
  changeShareText,
  changeTextColor,
  changeValueText,
  diffPalettes,
  LEVELS,
  levelOf,
  type DiffScheme,
} from "../../../cluster-agent/web/src/model/diff";
import { contrast } from "../../../cluster-agent/web/src/model/contrast";
import { palettes } from "../../../cluster-agent/web/src/model/colors";

const even = { value: 1000, base: 1000 };

test("a change is what both sides differ by, in the unit, in shares and in per cent", () => {
  const c = changeOf(161, 100, even, "share");
  assert.equal(c.kind, "grew");
  assert.equal(c.value, 61);
  assert.ok(Math.abs(c.share - 0.061) < 1e-12);
  assert.ok(Math.abs((c.percent ?? 0) - 61) < 1e-9);
  assert.equal(changePercentText(c), "+61 %");
  assert.equal(changeShareText(c), "+6.10 pp");
  assert.equal(changeValueText(changeOf(30e9, 42e9, even, "absolute"), "nanoseconds"), "−12.0 s");
  // what rounds to nothing has no sign
  assert.equal(changeValueText(changeOf(1, 1.2, even, "absolute"), "nanoseconds"), "0 ns");
  assert.equal(changeValueText(changeOf(1e6, 0.9e6, even, "absolute"), "nanoseconds"), "+100 µs");
  const scaled = changeOf(20e9 + 1, 20e9, even, "absolute");
  assert.equal(changeValueText(scaled, "nanoseconds"), "0 s");
});

test("shares compare ranges of different load; absolute values do not", () => {
  const whole = { value: 2000, base: 1000 };
  assert.equal(changeOf(200, 100, whole, "share").kind, "same");
  assert.equal(changeOf(200, 100, whole, "share").percent, 0);
  assert.equal(changePercentText(changeOf(200, 100, whole, "share")), "0 %");
  assert.equal(changeOf(200, 100, whole, "absolute").kind, "grew");
  assert.equal(changePercentText(changeOf(200, 100, whole, "absolute")), "+100 %");
  assert.equal(changeOf(100, 100, whole, "share").kind, "shrank");
});

test("what only one side has is new or vanished, and takes the outermost colour", () => {
  const p = diffPalettes.light["red-green"];
  const fresh = changeOf(5, 0, even, "share");
  assert.deepEqual([fresh.kind, fresh.score, fresh.percent], ["new", 1, null]);
  assert.equal(changePercentText(fresh), "new");
  assert.equal(changeColor(fresh.score, p), p.fill[2 * LEVELS]);
  assert.equal(changeTextColor(fresh, p), p.grewText);
  const gone = changeOf(0, 5, even, "share");
  assert.deepEqual([gone.kind, gone.score, gone.percent], ["vanished", -1, -100]);
  assert.equal(changePercentText(gone), "vanished");
  assert.equal(changeColor(gone.score, p), p.fill[0]);
  assert.equal(changeTextColor(gone, p), p.shrankText);
  const neither = changeOf(0, 0, even, "share");
  assert.deepEqual([neither.kind, neither.score, changePercentText(neither)], ["none", 0, ""]);
});

test("a side without any value does not divide by zero", () => {
  assert.equal(changeOf(5, 0, { value: 10, base: 0 }, "share").kind, "new");
  assert.equal(changeOf(0, 0, { value: 0, base: 0 }, "share").score, 0);
});

test("the colour is symmetric and grows with the change", () => {
  const level = (v: number, b: number): number => levelOf(changeOf(v, b, even, "share").score);
  assert.equal(level(200, 100), -level(100, 200));
  assert.equal(level(100, 100), 0);
  assert.ok(level(110, 100) >= 2, "ten per cent are seen");
  let last = 0;
  for (const v of [100, 101, 120, 150, 300, 100_000]) {
    assert.ok(level(v, 100) >= last);
    last = level(v, 100);
  }
  assert.equal(last, LEVELS);
});

test("labels on all colours and figures on the ground can be read", () => {
  for (const theme of ["light", "dark"] as const)
    for (const scheme of ["red-green", "blue-orange"] as DiffScheme[]) {
      const p = diffPalettes[theme][scheme];
      const { text, dimText, ground } = palettes[theme];
      for (const fill of p.fill) assert.ok(contrast(text, fill) >= 4.5, `${theme} ${fill}`);
      for (const fill of p.dim) assert.ok(contrast(dimText, fill) >= 4.5, `${theme} dim ${fill}`);
      for (const figure of [p.grewText, p.shrankText])
        assert.ok(contrast(figure, ground) >= 4.5, `${theme} ${figure}`);
    }
});
