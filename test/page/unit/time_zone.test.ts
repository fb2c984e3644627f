import assert from "node:assert/strict";
import { test } from "node:test";
import * as r from "../../../cluster-agent/web/src/model/time_range";
import * as z from "../../../cluster-agent/web/src/model/time_zone";

const SUMMER = Date.UTC(2026, 6, 1, 12, 0, 0);
const WINTER = Date.UTC(2026, 0, 1, 12, 0, 0);

test("a zone is named by its distance from UTC then", () => {
  assert.equal(z.zoneName(SUMMER, "utc"), "UTC");
  assert.equal(z.zoneName(SUMMER, "Europe/Berlin"), "UTC+02:00");
  assert.equal(z.zoneName(WINTER, "Europe/Berlin"), "UTC+01:00");
  assert.equal(z.zoneName(WINTER, "America/St_Johns"), "UTC−03:30");
  assert.equal(z.zoneName(WINTER, "Europe/London"), "UTC");
});

test("only zones that exist are taken from an address", () => {
  for (const [text, zone] of [
    ["utc", "utc"],
    ["UTC", "utc"],
    ["Etc/UTC", "utc"],
    ["Asia/Kathmandu", "Asia/Kathmandu"],
    ["", ""],
    ["Mars/Olympus", ""],
    ["<b>", ""],
    ["constructor", ""],
    ["a".repeat(100), ""],
  ])
    assert.equal(z.parseZone(text), zone, text);
});

test("a time that is typed is the one that is shown, in any zone and when clocks change", () => {
  for (const zone of ["utc", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", z.ownZone()])
    for (let ms = Date.UTC(2026, 2, 27); ms < Date.UTC(2026, 2, 31); ms += 1800_000 + 7000)
      assert.equal(r.fromLocalInput(r.toLocalInput(ms, zone), zone), ms, `${zone} ${ms}`);
});

test("all texts are of the zone on show", () => {
  const own = z.shownZone();
  const span = { from: Date.UTC(2026, 10, 20, 22, 30), to: Date.UTC(2026, 10, 20, 23, 30) };
  try {
    z.showZone("utc");
    assert.equal(r.spanLabel(span, span.to), "22:30 – 23:30");
    z.showZone("Asia/Tokyo");
    assert.equal(r.clock(span.from, true), "07:30:00");
    assert.equal(r.day(span.from, span.to), "21 Nov");
    assert.equal(r.toLocalInput(span.from), "2026-11-21 07:30:00");
    assert.equal(z.zoned(r.clock(span.from), span.from), "07:30 UTC+09:00");
    z.showZone("Europe/Berlin");
    assert.equal(r.spanLabel(span, span.to + 1), "20 Nov 23:30 – 21 Nov 00:30");
  } finally {
    z.showZone(own);
  }
});
