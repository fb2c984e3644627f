import assert from "node:assert/strict";
import { test } from "node:test";
import * as t from "../../../cluster-agent/web/src/model/time_range";
import { showZone, shownZone } from "../../../cluster-agent/web/src/model/time_zone";

test("every range survives its text", () => {
  for (const text of ["5m", "15m", "1h", "3h", "1d", "7d", "90s", "1700000000000-1700000360000"]) {
    const range = t.parseRange(text);
    assert.ok(range, text);
    assert.equal(t.printRange(range), text);
  }
  assert.deepEqual(t.parseRange("24h"), { last: 86400 });
});

test("texts that are no range are refused", () => {
  for (const text of [
    "",
    "0m",
    "5",
    "m",
    "-5m",
    "5m ",
    "1e3s",
    "9-3",
    "5-5",
    "1700000000000-",
    "400d",
    "5.5h",
  ])
    assert.equal(t.parseRange(text), null, text);
});

test("a relative range ends now", () => {
  assert.deepEqual(t.resolve({ last: 300 }, 1_000_000), { from: 700_000, to: 1_000_000 });
  assert.deepEqual(t.resolve({ from: 1, to: 2 }, 1_000_000), { from: 1, to: 2 });
});

const at = (h: number, m: number, d = 20, y = 2026): number => new Date(y, 10, d, h, m).getTime();

test("labels name days and years only when they are needed", () => {
  const now = at(16, 0);
  assert.equal(t.spanLabel({ from: at(14, 5), to: at(15, 5) }, now), "14:05 – 15:05");
  assert.equal(
    t.spanLabel({ from: at(14, 5, 19), to: at(15, 5, 19) }, now),
    "19 Nov, 14:05 – 15:05",
  );
  assert.equal(
    t.spanLabel({ from: at(14, 5, 18), to: at(15, 5) }, now),
    "18 Nov 14:05 – 20 Nov 15:05",
  );
  assert.equal(
    t.spanLabel({ from: at(14, 5, 20, 2024), to: at(15, 5, 20, 2024) }, now),
    "20 Nov 2024, 14:05 – 15:05",
  );
  assert.equal(t.spanLabel({ from: at(14, 5), to: at(14, 6) }, now), "14:05:00 – 14:06:00");
});

test("a preset has its name, another length is written out", () => {
  assert.equal(t.rangeLabel({ last: 3600 }, 0), "Last hour");
  assert.equal(t.rangeLabel({ last: 7200 }, 0), "Last 2 h");
});

test("ages are short", () => {
  assert.equal(t.ago(1000, 3000), "just now");
  assert.equal(t.ago(0, 45_000), "45 s ago");
  assert.equal(t.ago(0, 12 * 60_000), "12 min ago");
  assert.equal(t.ago(0, 3.5 * 3600_000), "3.5 h ago");
  assert.equal(t.ago(0, 3 * 86400_000), "3 d ago");
});

test("the fields of the picker keep the second", () => {
  const ms = new Date(2026, 10, 20, 14, 5, 9).getTime();
  assert.equal(t.toLocalInput(ms), "2026-11-20 14:05:09");
  assert.equal(t.fromLocalInput(" 2026-11-20T14:05:09"), ms);
  assert.equal(t.fromLocalInput(t.toLocalInput(ms)), ms);
  assert.equal(t.fromLocalInput("yesterday"), null);
});

test("yesterday is a day of the zone, also where clocks change", () => {
  const now = Date.UTC(2026, 2, 30, 10, 0); // clocks went forward on the 29th in Berlin
  const before = shownZone();
  showZone("Europe/Berlin");
  try {
    const { from, to } = t.yesterday(now);
    assert.equal(to, Date.UTC(2026, 2, 29, 22));
    assert.equal(to - from, 23 * 3600_000);
  } finally {
    showZone(before);
  }
});

test("the range has the part that is selected", () => {
  const now = 1_000_000_000;
  const part = (from: number, to: number) => ({ from: now - from, to: now - to });
  const last = { last: 900 };
  assert.equal(t.rangeAround(last, part(600_000, 300_000), now), last);
  // a bit too old: widened
  assert.deepEqual(t.rangeAround(last, part(1_000_000, 800_000), now), part(1_000_000, 0));
  // long gone: as long as the range was, around it
  const old = t.rangeAround(last, part(90_000_000, 89_900_000), now);
  assert.deepEqual(old, part(90_400_000, 89_500_000));
  // longer than the range
  const long = t.rangeAround(last, part(90_000_000, 86_400_000), now);
  assert.deepEqual(long, part(93_600_000, 82_800_000));
});
