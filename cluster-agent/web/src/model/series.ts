// The lines of the timeline: one, or one for each value of a label, and perhaps the baseline's.

import type { Span } from "./time_range";

/** Values at equal steps. */
export interface Steps {
  startMs: number;
  stepMs: number;
  values: (number | null)[];
}

export interface NamedValues {
  name: string;
  values: (number | null)[];
  other?: boolean;
}

// Told apart without red and green, by lightness too: after Okabe and Ito, and Paul Tol.
const lightColors = [
  "#0072b2",
  "#d55e00",
  "#00815e",
  "#a8467c",
  "#8f6400",
  "#3c8fc4",
  "#6a1b4d",
  "#5d7a00",
  "#332288",
  "#c2402b",
];
const darkColors = [
  "#62aef0",
  "#f08a4b",
  "#35c79c",
  "#e79ac6",
  "#f0c04a",
  "#a5d8ff",
  "#c9789f",
  "#b5cf5a",
  "#a99cf0",
  "#ff9d8a",
];

/** Colour of the i-th series; grey for the rest of them. */
export function seriesColor(i: number, other: boolean, dark: boolean): string {
  if (other) return dark ? "#8e97a3" : "#69717c";
  const colors = dark ? darkColors : lightColors;
  return colors[i % colors.length];
}

/** The middle of each step, in seconds. */
export const middles = (d: Steps): number[] =>
  d.values.map((_, i) => (d.startMs + (i + 0.5) * d.stepMs) / 1000);

/** Values of `d`, moved by `shift` ms, at the steps of `onto`. */
export function shifted(d: Steps, shift: number, onto: Steps): (number | null)[] {
  return onto.values.map((_, i) => {
    const at = onto.startMs + (i + 0.5) * onto.stepMs - shift;
    return d.values[Math.floor((at - d.startMs) / d.stepMs)] ?? null;
  });
}

/** Where the last value is for which this holds; -1 if there is none. */
export function lastIndex<T>(values: T[], holds: (v: T) => boolean): number {
  let i = values.length - 1;
  while (i >= 0 && !holds(values[i])) i--;
  return i;
}

interface OpenSteps extends Steps {
  completeTo?: number; // ms
  series?: NamedValues[];
}

const MOST_OPEN = 0.2; // of a step, without which its value says nothing

/**
 * Without the newest values, to which agents have yet to contribute: else each curve of several
 * nodes would end with a drop.
 */
export function completed<T extends OpenSteps>(t: T): T {
  const { completeTo } = t;
  if (completeTo === undefined) return t;
  const whole = (values: (number | null)[]): (number | null)[] =>
    values.map((v, i) => (t.startMs + (i + 1 - MOST_OPEN) * t.stepMs > completeTo ? null : v));
  const series = t.series?.map((s) => ({ ...s, values: whole(s.values) }));
  return { ...t, values: whole(t.values), ...(series && { series }) };
}

/** The newest value in a range; null if there is none. */
export function lastIn(d: Steps | null, span: Span): number | null {
  for (let i = (d?.values.length ?? 0) - 1; d && i >= 0; i--) {
    const at = d.startMs + i * d.stepMs;
    const v = d.values[i];
    if (v !== null && at < span.to && at + d.stepMs > span.from) return v;
  }
  return null;
}

/** The mean of the values in a range; null if there is none. */
export function meanIn(d: Steps, span: Span): number | null {
  let [sum, n] = [0, 0];
  d.values.forEach((v, i) => {
    const middle = d.startMs + (i + 0.5) * d.stepMs;
    if (v === null || middle < span.from || middle > span.to) return;
    sum += v;
    n++;
  });
  return n > 0 ? sum / n : null;
}

const MOST_LETTERS = 28;

/**
 * Names as a legend has room for: pods of one deployment differ at their end, so what all have in
 * common is left out; other long names lose their middle.
 */
export function legendNames(names: string[]): string[] {
  const long = names.filter((n) => n.length > MOST_LETTERS);
  let common = long.length > 1 ? long[0].length : 0;
  for (const n of names) while (common > 0 && !n.startsWith(long[0].slice(0, common))) common--;
  common = long.length > 1 ? Math.max(0, common - 4) : 0;
  const fit = (s: string): string =>
    s.length > MOST_LETTERS ? `${s.slice(0, 12)}…${s.slice(-14)}` : s;
  return names.map((n) => (common > 8 ? `…${fit(n.slice(common))}` : fit(n)));
}

/** Share of each series in the sum of all. */
export function seriesShares(series: NamedValues[]): number[] {
  const sums = series.map((s) => s.values.reduce((sum: number, v) => sum + (v ?? 0), 0));
  const all = sums.reduce((a, b) => a + b, 0);
  return sums.map((s) => (all > 0 ? s / all : 0));
}

/** The series whose value at this step is nearest to `v`; -1 if none is within `reach`. */
export function nearestSeries(
  series: NamedValues[],
  hidden: ReadonlySet<string>,
  step: number,
  v: number,
  reach: number,
): number {
  let best = -1;
  let distance = reach;
  series.forEach((s, i) => {
    const own = s.values[step];
    if (own === null || own === undefined || hidden.has(s.name)) return;
    if (Math.abs(own - v) <= distance) {
      best = i;
      distance = Math.abs(own - v);
    }
  });
  return best;
}

/** A range within `outer`, at least `least` ms long, that keeps its fixed end. */
export function movedEdge(s: Span, edge: "from" | "to", to: number, outer: Span): Span {
  const least = Math.max(1, (outer.to - outer.from) / 500);
  const at = Math.round(Math.min(Math.max(to, outer.from), outer.to));
  return edge === "from"
    ? { from: Math.min(at, s.to - least), to: s.to }
    : { from: s.from, to: Math.max(at, s.from + least) };
}
