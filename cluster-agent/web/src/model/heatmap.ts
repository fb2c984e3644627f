// The heatmap of a timeline: which cells a rectangle has, what it filters by, and its colours.

import { parseMatchers, printMatcher, withMatcher, withoutLabel } from "./matchers";
import type { NamedValues, Steps } from "./series";
import type { Span } from "./time_range";

export interface HeatSteps extends Steps {
  series: NamedValues[]; // rows, the largest first
}

/** A corner of a rectangle. */
export interface HeatCell {
  row: number;
  step: number;
}

const MAX_WHERE = 4000; // bytes; the server takes 4,095

/** The time of the columns between two corners, within the range on show. */
export function spanOf(d: Steps, a: HeatCell, b: HeatCell, chart: Span): Span {
  const [first, last] = [Math.min(a.step, b.step), Math.max(a.step, b.step)];
  return {
    from: Math.max(chart.from, d.startMs + first * d.stepMs),
    to: Math.min(chart.to, d.startMs + (last + 1) * d.stepMs),
  };
}

/** What a filter has to say about these rows. */
export interface RowFilter {
  instance: string;
  where: string;
}

const escaped = (s: string): string => s.replace(/[\\.+*?()|[\]{}^$]/g, "\\$&");
const oneOf = (names: string[]): string => names.map(escaped).join("|");

/**
 * The filter that has the rows from one to another, in place of what `where` says about the label;
 * null if it would be too long. All rows need none. What has no row of its own ("other") can only
 * be had by excluding those that are not wanted.
 */
export function filterOf(
  rows: NamedValues[],
  a: HeatCell,
  b: HeatCell,
  label: string,
  where: string,
): RowFilter | null {
  const [first, last] = [Math.min(a.row, b.row), Math.max(a.row, b.row)];
  const rest = withoutLabel(where, label);
  const wanted = rows.slice(first, last + 1);
  if (wanted.length === rows.length) return { instance: "", where: rest };
  const names = (list: NamedValues[]): string[] => list.filter((s) => !s.other).map((s) => s.name);
  if (wanted.length === 1 && !wanted[0].other)
    return label === "instance"
      ? { instance: wanted[0].name, where: rest }
      : { instance: "", where: withMatcher(rest, { name: label, op: "=", value: wanted[0].name }) };
  const unwanted = rows.filter((s) => !wanted.includes(s));
  const hasOther = (list: NamedValues[]): boolean => list.some((s) => s.other);
  const forms: string[] = [];
  if (!hasOther(wanted))
    forms.push(withMatcher(rest, { name: label, op: "=~", value: oneOf(names(wanted)) }));
  if (!hasOther(unwanted))
    forms.push(withMatcher(rest, { name: label, op: "!~", value: oneOf(names(unwanted)) }));
  const bytes = (s: string): number => new TextEncoder().encode(s).length;
  const best = forms.sort((x, y) => bytes(x) - bytes(y))[0];
  return bytes(best) <= MAX_WHERE ? { instance: "", where: best } : null;
}

/** Which rows a filter has; null: all. An expression that this browser cannot read has all. */
export function rowsOf(
  rows: NamedValues[],
  label: string,
  filter: RowFilter,
): boolean[] | null {
  const own = parseMatchers(filter.where).matchers.filter((m) => m.name === label);
  const instance = label === "instance" ? filter.instance : "";
  if (own.length === 0 && !instance) return null;
  const tests = own.map((m) => {
    const negative = m.op.startsWith("!");
    if (!m.op.endsWith("~")) return (s: string): boolean => (s === m.value) !== negative;
    try {
      const re = new RegExp(`^(?:${m.value})$`, "s");
      return (s: string): boolean => re.test(s) !== negative;
    } catch {
      return (): boolean => true;
    }
  });
  // an instance may be written with its host and without
  const names = (s: string): string[] =>
    label === "instance" ? [s, s.replace(/@[^@]*$/, "")] : [s];
  const negative = (i: number): boolean => own[i].op.startsWith("!");
  return rows.map((row) => {
    const all = names(row.name);
    if (row.other) return !instance && own.every((_, i) => negative(i));
    return (
      (!instance || all.includes(instance)) &&
      tests.every((t, i) => (negative(i) ? all.every(t) : all.some(t)))
    );
  });
}

/** What a condition about rows says, short enough for a line. */
export const rowCondition = (where: string, label: string): string =>
  parseMatchers(where)
    .matchers.filter((m) => m.name === label)
    .map(printMatcher)
    .join(", ");

export const largest = (rows: NamedValues[]): number =>
  rows.reduce((most, s) => s.values.reduce((m: number, v) => Math.max(m, v ?? 0), most), 0);

/** Whether steps are longer than they would be, as profiles say nothing about shorter ones. */
export const isLimited = (
  d: { stepMs: number; profileMs?: number },
  span: Span,
  points: number,
): boolean => d.profileMs !== undefined && d.profileMs * 0.95 * points > span.to - span.from;

// One hue, from the ground to its strongest: lightness alone tells more from less.
const lightStops = ["#e6eefc", "#7ba4ee", "#2962d9", "#0b2a6f"];
const darkStops = ["#1f2a40", "#2f55a8", "#6f9bff", "#dbe7ff"];
export const HEAT_COLORS = 32;

const channels = (hex: string): number[] => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));

/** Colours of values, the smallest first. */
export function heatColors(dark: boolean): string[] {
  const stops = (dark ? darkStops : lightStops).map(channels);
  return Array.from({ length: HEAT_COLORS }, (_, i) => {
    const at = (i / (HEAT_COLORS - 1)) * (stops.length - 1);
    const k = Math.min(Math.floor(at), stops.length - 2);
    const mixed = stops[k].map((c, j) => Math.round(c + (stops[k + 1][j] - c) * (at - k)));
    return `rgb(${mixed.join(",")})`;
  });
}

/** The colour of a value. Square roots, so that a single peak does not hide all else. */
export function colorIndex(v: number, most: number): number {
  const share = most > 0 ? Math.sqrt(Math.min(Math.max(v / most, 0), 1)) : 0;
  return Math.min(HEAT_COLORS - 1, Math.floor(share * HEAT_COLORS));
}

const STEPS_S = [
  ...[1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400],
  ...[2 * 86400, 5 * 86400, 7 * 86400, 14 * 86400, 30 * 86400],
];

/** Round times for an axis, `most` at most; `offset` ms are added to make them local. */
export function axisTicks(span: Span, most: number, offset: number): number[] {
  const least = (span.to - span.from) / Math.max(1, most);
  const step = (STEPS_S.find((s) => s * 1000 >= least) ?? STEPS_S[STEPS_S.length - 1]) * 1000;
  const ticks: number[] = [];
  for (let t = Math.ceil((span.from + offset) / step) * step - offset; t < span.to; t += step)
    ticks.push(t);
  return ticks;
}
