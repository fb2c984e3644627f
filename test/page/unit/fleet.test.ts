import assert from "node:assert/strict";
import { test } from "node:test";
import {
  curveSpan,
  dayInUtc,
  daysSpan,
  daysText,
  versionsText,
  wholeDays,
} from "../../../cluster-agent/web/src/model/fleet";

const DAY = 86_400_000;
const TODAY = Date.UTC(2026, 10, 29);

test("a day that is not over is no fall of a curve", () => {
  const span = { from: TODAY - 2 * DAY, to: TODAY + DAY };
  const open = { ...span, upTo: TODAY + DAY / 8 };
  assert.deepEqual(wholeDays([8, 8, 1], open), [8, 8, null]);
  assert.deepEqual(wholeDays([null, null, 1], open), [null, null, 1]);
  assert.deepEqual(wholeDays([8, 8, 8], { ...span, upTo: TODAY + DAY }), [8, 8, 8]);
  assert.deepEqual(wholeDays([8, 8, 8], { ...span, upTo: null }), [8, 8, 8]);
});

test("a range is asked for by its days, and a curve has at least a week of them", () => {
  const now = TODAY + DAY / 2;
  const today = { from: TODAY, to: TODAY + DAY };
  assert.deepEqual(daysSpan({ from: now - 900_000, to: now }), today);
  assert.deepEqual(curveSpan(today), { from: TODAY - 6 * DAY, to: TODAY + DAY });
  const month = { from: TODAY - 30 * DAY, to: TODAY };
  assert.deepEqual(curveSpan(month), month);
  assert.equal(daysText(today), "29 Nov (day of UTC)");
  assert.equal(daysText({ from: TODAY - DAY, to: TODAY + DAY }), "28 Nov – 29 Nov (days of UTC)");
  assert.deepEqual(daysSpan({ from: now - 30 * DAY, to: now }), {
    from: TODAY - 30 * DAY,
    to: TODAY + DAY,
  });
  // a day that ends at midnight is one
  assert.deepEqual(daysSpan({ from: TODAY - 20 * DAY, to: TODAY }), {
    from: TODAY - 20 * DAY,
    to: TODAY,
  });
});

test("days are those of UTC", () => {
  assert.equal(dayInUtc(TODAY), "29 Nov");
  assert.equal(dayInUtc(TODAY - 1), "28 Nov");
});

test("versions are listed newest first with their shares", () => {
  const version = (name: string, total: number, firstDay: number) => ({
    version: name,
    self: 0,
    total,
    whole: 1000,
    firstDay,
    lastDay: null,
  });
  const a = {
    versions: [
      version("r/shop:1", 30, TODAY - 3 * DAY),
      version("r/shop:2", 250, TODAY),
      version("", 5, TODAY),
      { ...version("r/shop:0", 0, TODAY - 9 * DAY), whole: 0 },
    ],
  };
  const { short, full } = versionsText(a, (v) => v.slice(-1));
  assert.equal(short, "2 25 %, 1 3.0 %, 0 –");
  assert.match(full, /^r\/shop:2: 25 %, since 29 Nov\nr\/shop:1: 3\.0 %, since 26 Nov\n/);
});
