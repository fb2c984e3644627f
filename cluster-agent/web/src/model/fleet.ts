// A function over all applications: the days that are asked for, and texts of the answer.

import type { Span } from "./time_range";
import { UTC, fieldsAt } from "./time_zone";

const DAY_MS = 86_400_000;
const CURVE_DAYS = 7; // fewer would not show since when

/** The days in UTC of a range. */
export const daysSpan = (span: Span): Span => ({
  from: Math.floor(span.from / DAY_MS) * DAY_MS,
  to: Math.ceil(span.to / DAY_MS) * DAY_MS,
});

/** The days of a curve: at least the last week of them. */
export const curveSpan = ({ from, to }: Span): Span => ({
  from: Math.min(from, to - CURVE_DAYS * DAY_MS),
  to,
});

const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** "20 Nov", whatever zone the page shows. */
export function dayInUtc(ms: number): string {
  const d = fieldsAt(ms, UTC);
  return `${d.day} ${months[d.month - 1]}`;
}

/** "20 Nov – 26 Nov (days of UTC)", "26 Nov (day of UTC)" */
export function daysText({ from, to }: Span): string {
  const last = dayInUtc(to - 1);
  return to - from > DAY_MS ? `${dayInUtc(from)} – ${last} (days of UTC)` : `${last} (day of UTC)`;
}

/** The values of days, without one of which not all is summed yet: it would look like a fall. */
export function wholeDays(
  days: (number | null)[],
  { from, to, upTo }: { from: number; to: number; upTo: number | null },
): (number | null)[] {
  if (upTo === null || upTo >= to) return days;
  const open = Math.floor((upTo - from) / DAY_MS);
  const known = days.slice(0, open).some((v) => v !== null);
  return known ? days.map((v, i) => (i < open ? v : null)) : days;
}

export interface FleetVersion {
  version: string;
  self: number;
  total: number;
  whole: number;
  firstDay: number | null;
  lastDay: number | null;
}

const share = (v: { total: number; whole: number }): string =>
  v.whole > 0 ? `${((v.total / v.whole) * 100).toFixed(v.total * 10 < v.whole ? 1 : 0)} %` : "–";

/** "1.5.0 12 %, 1.4.2 3.0 %": the newest first, by the day on which each was seen first. */
export function versionsText(
  a: { versions: FleetVersion[] },
  nameOf: (version: string) => string,
): { short: string; full: string } {
  const named = a.versions
    .filter((v) => v.version !== "")
    .sort((x, y) => (y.firstDay ?? 0) - (x.firstDay ?? 0) || (x.version < y.version ? 1 : -1));
  const texts = named.map((v) => `${nameOf(v.version)} ${share(v)}`);
  return {
    short: texts.join(", "),
    full: named
      .map((v) => `${v.version}: ${share(v)}${v.firstDay ? `, since ${dayInUtc(v.firstDay)}` : ""}`)
      .join("\n"),
  };
}
