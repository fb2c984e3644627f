// The range of time on show: the last N seconds, or from one instant to another.

import { fieldsAt, instantOf, shownZone, type Fields } from "./time_zone";

export type TimeRange = { last: number } | { from: number; to: number };

export interface Span {
  from: number;
  to: number;
}

export const presets: { seconds: number; label: string }[] = [
  { seconds: 300, label: "Last 5 minutes" },
  { seconds: 900, label: "Last 15 minutes" },
  { seconds: 3600, label: "Last hour" },
  { seconds: 3 * 3600, label: "Last 3 hours" },
  { seconds: 6 * 3600, label: "Last 6 hours" },
  { seconds: 12 * 3600, label: "Last 12 hours" },
  { seconds: 24 * 3600, label: "Last 24 hours" },
  { seconds: 7 * 24 * 3600, label: "Last 7 days" },
  { seconds: 30 * 24 * 3600, label: "Last 30 days" },
];

export const defaultRange: TimeRange = { last: 900 };

export const isRelative = (r: TimeRange): r is { last: number } => "last" in r;

export function resolve(r: TimeRange, nowMs: number): Span {
  return isRelative(r) ? { from: nowMs - r.last * 1000, to: nowMs } : { from: r.from, to: r.to };
}

const unitSeconds: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86400 };

/** "15m" or "1700000000000-1700000360000"; null for anything else. */
export function parseRange(text: string): TimeRange | null {
  const rel = /^(\d{1,6})([smhd])$/.exec(text);
  if (rel) {
    const last = Number(rel[1]) * unitSeconds[rel[2]];
    return last > 0 && last <= 366 * 86400 ? { last } : null;
  }
  const abs = /^(\d{1,14})-(\d{1,14})$/.exec(text);
  if (!abs) return null;
  const from = Number(abs[1]);
  const to = Number(abs[2]);
  return from < to ? { from, to } : null;
}

export function printRange(r: TimeRange): string {
  if (!isRelative(r)) return `${Math.round(r.from)}-${Math.round(r.to)}`;
  for (const unit of ["d", "h", "m"])
    if (r.last % unitSeconds[unit] === 0) return `${r.last / unitSeconds[unit]}${unit}`;
  return `${r.last}s`;
}

const two = (n: number): string => String(n).padStart(2, "0");
const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

// texts are of the zone that is shown (time_zone.ts) and do not name it

const clockOf = (f: Fields, seconds: boolean): string =>
  `${two(f.hour)}:${two(f.minute)}${seconds ? `:${two(f.second)}` : ""}`;

export const clock = (ms: number, seconds = false): string => clockOf(fieldsAt(ms), seconds);

/** "20 Nov", with the year when it is not the current one. */
export function day(ms: number, nowMs = Date.now()): string {
  const d = fieldsAt(ms);
  const year = d.year === fieldsAt(nowMs).year ? "" : ` ${d.year}`;
  return `${d.day} ${months[d.month - 1]}${year}`;
}

function sameDay(a: number, b: number): boolean {
  const [x, y] = [fieldsAt(a), fieldsAt(b)];
  return x.day === y.day && x.month === y.month && x.year === y.year;
}

/** "14:05 – 15:05", with days as soon as they are not today. */
export function spanLabel(s: Span, nowMs: number): string {
  const seconds = s.to - s.from < 10 * 60_000;
  if (sameDay(s.from, nowMs) && sameDay(s.to, nowMs))
    return `${clock(s.from, seconds)} – ${clock(s.to, seconds)}`;
  if (sameDay(s.from, s.to))
    return `${day(s.from, nowMs)}, ${clock(s.from, seconds)} – ${clock(s.to, seconds)}`;
  return `${day(s.from, nowMs)} ${clock(s.from)} – ${day(s.to, nowMs)} ${clock(s.to)}`;
}

export function rangeLabel(r: TimeRange, nowMs: number): string {
  if (!isRelative(r)) return spanLabel(r, nowMs);
  const preset = presets.find((p) => p.seconds === r.last);
  return preset ? preset.label : `Last ${duration(r.last * 1000)}`;
}

/** "45 s", "12 min", "3.5 h", "2 d". */
export function duration(ms: number): string {
  const s = Math.max(0, ms) / 1000;
  const one = (v: number): string => String(Math.round(v * 10) / 10);
  if (s < 90) return `${Math.round(s)} s`;
  if (s < 90 * 60) return `${Math.round(s / 60)} min`;
  if (s < 36 * 3600) return `${one(s / 3600)} h`;
  return `${one(s / 86400)} d`;
}

export function ago(ms: number, nowMs: number): string {
  return nowMs - ms < 5000 ? "just now" : `${duration(nowMs - ms)} ago`;
}

const SILENT_MS = 180_000; // three upload intervals

/** Whether a newest profile is so old that something is wrong. */
export const isSilent = (newest: number, nowMs: number): boolean => nowMs - newest >= SILENT_MS;

/** The day before, from midnight to midnight in the zone that is shown. */
export function yesterday(nowMs: number): Span {
  const midnight = (ms: number): number =>
    fromLocalInput(toLocalInput(ms).replace(/ .*/, " 00:00:00")) ?? ms;
  const to = midnight(nowMs);
  return { from: midnight(to - 3 * 3600_000), to };
}

/**
 * The range for a part of it that was selected: one that has the part. A link may be opened when
 * the part has long left the last minutes.
 */
export function rangeAround(range: TimeRange, part: Span, nowMs: number): TimeRange {
  const span = resolve(range, nowMs);
  if (part.from >= span.from && part.to <= span.to) return range;
  if (part.to > span.from && part.from < span.to)
    return { from: Math.min(part.from, span.from), to: Math.max(part.to, span.to) };
  const around = Math.max(span.to - span.from, 3 * (part.to - part.from)) - (part.to - part.from);
  return { from: Math.round(part.from - around / 2), to: Math.round(part.to + around / 2) };
}

/** Value of <input type="datetime-local"> in the zone that is shown, or another, and back. */
export function toLocalInput(ms: number, zone = shownZone()): string {
  const d = fieldsAt(ms, zone);
  return `${d.year}-${two(d.month)}-${two(d.day)} ${clockOf(d, true)}`;
}

export const fromLocalInput = (text: string, zone = shownZone()): number | null =>
  instantOf(text, zone);
