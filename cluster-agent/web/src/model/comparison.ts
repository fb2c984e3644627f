// What is compared with what: both sides of the address resolved, named in words, and brought to
// the same measure. Side A is the selection, side B the baseline.

import { followsRange, resolveBase, type BaseRange } from "./base_range";
import type { NumberColumn } from "./columns";
import { onlyIn, parseMatchers, printMatcher } from "./matchers";
import { splitService } from "./names";
import { duration, spanLabel, type Span } from "./time_range";
import { comparing, type DiffBy, type UrlState } from "./url_state";

export interface Side {
  service: string;
  instance: string; // "" = all
  where: string;
  span: Span;
}

export interface Comparison {
  a: Side;
  b: Side;
}

/** Both sides while a baseline is given; `shown` is the range on show. */
export function comparisonOf(s: UrlState, shown: Span): Comparison | null {
  if (!comparing(s)) return null;
  return {
    a: { service: s.service, instance: s.instance, where: s.where, span: shown },
    b: {
      service: s.baseService ?? s.service,
      instance: s.baseInstance ?? s.instance,
      where: s.baseWhere ?? s.where,
      span: resolveBase(s.base, shown),
    },
  };
}

export const sameSpan = (a: Span, b: Span): boolean => a.from === b.from && a.to === b.to;

/** Whether both sides are of the same thing, at different times. */
export const sameSubject = (c: Comparison): boolean =>
  c.a.service === c.b.service && c.a.instance === c.b.instance && c.a.where === c.b.where;

const short = (text: string): string =>
  text.length > 40 ? `${text.slice(0, 20)}…${text.slice(-16)}` : text;

/** What only this side has, the most significant first. */
function parts(own: Side, other: Side, nowMs: number, zone: (ms: number) => string): string[] {
  const out: string[] = [];
  if (own.service !== other.service) {
    const { name } = splitService(own.service);
    out.push(name === splitService(other.service).name ? own.service : name);
  }
  if (own.instance !== other.instance)
    out.push(own.instance ? short(own.instance) : "all instances");
  const added = onlyIn(own.where, other.where);
  const names = new Set(parseMatchers(own.where).matchers.map((m) => m.name));
  const freed = onlyIn(other.where, own.where).filter((m) => !names.has(m.name));
  const labels = [...added.map(printMatcher), ...freed.map((m) => `any ${m.name}`)];
  if (labels.length > 0) out.push([...new Set(labels)].map(short).join(", "));
  if (!sameSpan(own.span, other.span) || out.length === 0)
    out.push(spanLabel(own.span, nowMs) + zone(own.span.to));
  return out;
}

/**
 * "10:00 – 10:15" and "09:45 – 10:00"; 'version="1.4.2"' and 'version="1.4.1"'. `zone`
 * follows times.
 */
export function sideNames(
  c: Comparison,
  nowMs: number,
  zone = (_ms: number): string => "",
): { a: string; b: string } {
  return {
    a: parts(c.a, c.b, nowMs, zone).join(" · "),
    b: parts(c.b, c.a, nowMs, zone).join(" · "),
  };
}

/** How the range of the baseline relates to the other, in words; "" if it is chosen freely. */
export function baseRangeName(b: BaseRange, shown: Span): string {
  const length = duration(shown.to - shown.from);
  if (b === "previous") return `the ${length} before`;
  if (typeof b === "object" && "shift" in b) {
    if (b.shift === 86_400) return "a day before";
    if (b.shift === 7 * 86_400) return "a week before";
    return `${duration(b.shift * 1000)} before`;
  }
  return "";
}

/** The sides the other way round. Ranges become fixed unless both are the same. */
export function swapped(s: UrlState, shown: Span): Partial<UrlState> {
  const c = comparisonOf(s, shown);
  if (!c) return {};
  const given = <T>(base: T | null, own: T): T | null => (base === null ? null : own);
  const patch: Partial<UrlState> = {
    service: c.b.service,
    instance: c.b.instance,
    where: c.b.where,
    baseService: given(s.baseService, s.service),
    baseInstance: given(s.baseInstance, s.instance),
    baseWhere: given(s.baseWhere, s.where),
  };
  if (sameSpan(c.a.span, c.b.span)) return patch;
  return { ...patch, selection: c.b.span, base: c.a.span };
}

/** Whether live data may keep coming: both sides move along. */
export const followsLive = (s: UrlState): boolean => !comparing(s) || followsRange(s.base);

/** A side of an answer: its total, and that per second of the time that profiles cover. */
export interface SideTotal {
  total: number;
  rate?: number; // without a baseline there is none
  covered?: number; // ms
}

/** Seconds that the total of a side stands for. */
export function seconds(s: SideTotal): number {
  return s.rate && s.total > 0 ? s.total / s.rate : (s.covered ?? 0) / 1000;
}

const UNEVEN = 0.005; // the newest data is always some seconds old

/**
 * By what values of the baseline are multiplied to be comparable with the selection's: ranges may
 * differ in length, and profiles need not cover all of them. Averages over time need no factor.
 */
export function baseFactor(a: SideTotal, b: SideTotal, perSecond: boolean): number {
  if (!perSecond || seconds(a) === 0 || seconds(b) === 0) return 1;
  const factor = seconds(a) / seconds(b);
  return Math.abs(factor - 1) < UNEVEN ? 1 : factor;
}

const COVERED = 0.5; // less of a range with profiles, and it says little of the range

/** "1 min of 15 min" of the baseline have profiles; "" if it has enough of them. */
export function littleCovered(base: (Span & SideTotal) | undefined): string {
  const { from = 0, to = 0, covered = to - from } = base ?? {};
  if (!base?.total || covered >= COVERED * (to - from)) return "";
  return `${duration(covered)} of ${duration(to - from)}`;
}

/** What to say of such a baseline; "" if it has enough. */
export function littleText(base: (Span & SideTotal) | undefined, factor: number): string {
  const little = littleCovered(base);
  if (!little) return "";
  const times = factor > 1 ? ` Its values are multiplied by ${factor.toPrecision(3)}.` : "";
  return `Only ${little} of the baseline have profiles: what is not in these seems new.${times}`;
}

/** "values × 1.50": of a baseline that stands for less time. */
export const timesText = (factor: number, diff: DiffBy): string =>
  diff === "absolute" && factor !== 1 ? `values × ${factor.toPrecision(3)}` : "";

/** How absolute values are compared. */
export const absoluteText = (factor: number): string =>
  factor === 1
    ? "Values as they are: both ranges are of equal length"
    : `Baseline × ${factor.toPrecision(3)}: as if it were as long as the other range`;

const UNLIKE = 1.2; // times as much as the other side

/**
 * How values are compared unless it is said: shares hide that everything has grown. So levels, such
 * as memory in use, are compared as they are, and so are sides of which one uses much more.
 */
export function usualDiff(a: SideTotal, b: SideTotal | undefined, perSecond: boolean): DiffBy {
  if (!b) return "share";
  if (!perSecond) return "absolute";
  const [x, y] = [a.rate ?? 0, b.rate ?? 0];
  return Math.min(x, y) > 0 && Math.max(x, y) > UNLIKE * Math.min(x, y) ? "absolute" : "share";
}

/**
 * Whether an answer is about this range, give or take what passes while it is computed: until the
 * next one comes, the totals of the one before must not stand beside the new range.
 */
export function isAbout(answer: Span, s: Span): boolean {
  const slack = Math.max(15_000, (s.to - s.from) / 10);
  return Math.abs(answer.from - s.from) <= slack && Math.abs(answer.to - s.to) <= slack;
}

const inside = (s: Span, outer: Span): boolean => s.from >= outer.from && s.to <= outer.to;

const MOST_WIDENED = 3; // times as long as the range itself

/** What the timeline shows: both ranges, unless they are too far apart to see either. */
export function chartSpan(span: Span, c: Comparison | null): Span {
  if (!c || inside(c.b.span, span)) return span;
  const from = Math.min(span.from, c.b.span.from);
  const to = Math.max(span.to, c.b.span.to);
  return to - from <= MOST_WIDENED * (span.to - span.from) ? { from, to } : span;
}

/**
 * The baseline needs a line of its own on the timeline if the other line does not show it; `shift`
 * (ms) moves it to the range that it is compared with.
 */
export function secondLine(c: Comparison, chart: Span): { shift: number } | null {
  if (!inside(c.b.span, chart)) return { shift: c.a.span.from - c.b.span.from };
  return sameSubject(c) ? null : { shift: 0 };
}

interface BaseColumns {
  nodes: { baseTotal?: NumberColumn; baseSelf?: NumberColumn };
  functions: { baseTotal?: number[]; baseSelf?: number[] };
  base?: { total: number; rate?: number };
}

/** Columns or figures of which some are multiplied. */
function multiplied<T extends object>(c: T, factor: number, names: (keyof T)[]): T {
  const out = { ...c };
  for (const name of names) {
    const v: unknown = c[name];
    if (Array.isArray(v) || v instanceof Float64Array)
      out[name] = v.map((x: number) => x * factor) as T[keyof T];
    else if (typeof v === "number") out[name] = (v * factor) as T[keyof T];
  }
  return out;
}

/** The same with the values of the baseline multiplied. */
const times = <T extends { baseTotal?: unknown; baseSelf?: unknown }>(c: T, factor: number): T =>
  multiplied(c, factor, ["baseTotal", "baseSelf"]);

/** The same answer with the values of the baseline multiplied. */
export function scaleBase<T extends BaseColumns>(g: T, factor: number): T {
  if (!g.base || factor === 1) return g;
  return {
    ...g,
    nodes: times(g.nodes, factor),
    functions: times(g.functions, factor),
    // so that the total still stands for as many seconds
    base: multiplied(g.base, factor, ["total", "rate"]),
  };
}

interface BaseFigures {
  baseTotal?: number;
  baseSelf?: number;
}

interface BaseOfFunction extends BaseFigures {
  lines: BaseFigures[];
  callers: { nodes: BaseColumns["nodes"] };
  callees: { nodes: BaseColumns["nodes"] };
}

/** The same for the answer about one function. */
export function scaleFunction<T extends BaseOfFunction>(f: T, factor: number): T {
  if (f.baseTotal === undefined || factor === 1) return f;
  return {
    ...times(f, factor),
    lines: f.lines.map((l) => times(l, factor)),
    callers: { ...f.callers, nodes: times(f.callers.nodes, factor) },
    callees: { ...f.callees, nodes: times(f.callees.nodes, factor) },
  };
}
