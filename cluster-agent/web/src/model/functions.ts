// Order of the function table.

import { isChance, samplingsOf, type Sampling } from "./chance";
import { changeOf, type Change, type DiffMode, type Sides } from "./diff";
import { label } from "./names";
import type { Changed, SortBy } from "./url_state";

interface Columns {
  name: number[];
  self: number[];
  total: number[];
  baseSelf?: number[];
  baseTotal?: number[];
}

/** Sorts row numbers in place. Equal values: the larger other value first, then by name. */
export function sortFunctions(
  rows: number[],
  f: Columns,
  names: string[],
  by: SortBy,
  ascending: boolean,
): number[] {
  const sign = ascending ? 1 : -1;
  const shown = new Map<number, string>(); // names sort as they are shown
  const key = (i: number): string => {
    let k = shown.get(f.name[i]);
    if (k === undefined) shown.set(f.name[i], (k = label(names[f.name[i]]).toLowerCase()));
    return k;
  };
  const byName = (a: number, b: number): number => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0);
  if (by === "name") return rows.sort((a, b) => sign * byName(a, b) || a - b);
  const first = by === "total" ? f.total : f.self;
  const second = by === "total" ? f.self : f.total;
  return rows.sort(
    (a, b) => sign * (first[a] - first[b]) || second[b] - second[a] || byName(a, b) || a - b,
  );
}

export type Measure = "self" | "total";

/** How every function changed: its own value, or its total. */
export function functionChanges(
  f: Columns,
  measure: Measure,
  whole: Sides,
  mode: DiffMode,
): Change[] {
  const now = f[measure];
  const base = (measure === "self" ? f.baseSelf : f.baseTotal) ?? [];
  return now.map((v, i) => changeOf(v, base[i] ?? 0, whole, mode));
}

/** Totals of both sides of a graph, and what chance explains between them. */
export const sidesOf = (g: Parameters<typeof samplingsOf>[0]): Sides => ({
  value: g.total,
  base: g.base?.total ?? 0,
  samplings: samplingsOf(g),
});

const kinds: Record<Exclude<Changed, "">, Change["kind"]> = { new: "new", gone: "vanished" };

/**
 * A function is new if the baseline does not have it at all, whether it has a value of its own or
 * not, and chance does not explain that; likewise it is gone.
 */
export function hasChanged(
  f: Columns,
  i: number,
  changed: Changed,
  sampling: Sampling | null,
): boolean {
  if (changed === "") return true;
  const total = { value: f.total[i], base: f.baseTotal?.[i] ?? 0 };
  if (changeOf(total.value, total.base, total, "absolute").kind !== kinds[changed]) return false;
  return !sampling || !isChance(total.value, total.base, sampling);
}

/**
 * Sorts the rows of a comparison in place: by a side, or by the change, growth first. "other" is
 * the change by the other measure.
 */
export function sortChanges(
  rows: number[],
  f: Columns,
  names: string[],
  changes: Change[],
  by: SortBy,
  ascending: boolean,
  measure: Measure,
  mode: DiffMode,
): number[] {
  if (by === "name") return sortFunctions(rows, f, names, "name", ascending);
  const base = (measure === "self" ? f.baseSelf : f.baseTotal) ?? [];
  const key = (i: number): number => {
    if (by === "base") return base[i] ?? 0;
    if (by === "now") return f[measure][i];
    return (mode === "share") === (by === "change") ? changes[i].share : changes[i].value;
  };
  const keys = new Map(rows.map((i) => [i, key(i)]));
  const sign = ascending ? 1 : -1;
  const size = (i: number): number => f.total[i] + (f.baseTotal?.[i] ?? 0);
  return rows.sort((a, b) => sign * (keys.get(a)! - keys.get(b)!) || size(b) - size(a) || a - b);
}

/** The column by which a comparison is sorted: that of one side alone means the default. */
export const comparedSort = (by: SortBy): SortBy =>
  by === "self" || by === "total" ? "change" : by;
/** The same without a comparison. */
export const plainSort = (by: SortBy): SortBy =>
  by === "name" || by === "total" ? by : "self";
