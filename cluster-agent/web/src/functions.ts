// Order of the function table.

import { shortName } from "./names";
import type { SortBy } from "./url_state";

interface Columns {
  name: number[];
  self: number[];
  total: number[];
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
    if (k === undefined) shown.set(f.name[i], (k = shortName(names[f.name[i]]).toLowerCase()));
    return k;
  };
  const byName = (a: number, b: number): number => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0);
  if (by === "name") return rows.sort((a, b) => sign * byName(a, b) || a - b);
  const first = by === "self" ? f.self : f.total;
  const second = by === "self" ? f.total : f.self;
  return rows.sort(
    (a, b) => sign * (first[a] - first[b]) || second[b] - second[a] || byName(a, b) || a - b,
  );
}
