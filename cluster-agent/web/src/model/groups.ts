// The table by packages or files instead of functions. A stack counts once for the total of a group
// however many of its functions are in it, so totals are not sums of those of functions.

import { colorKey } from "./colors";
import { keysOfFunctions } from "./hues";
import { KERNEL } from "./names";
import type { Tree } from "./tree";
import type { GroupBy } from "./url_state";

/** Columns as those of functions; the name is that of the group. */
export interface GroupColumns {
  names: string[];
  name: number[];
  file: number[];
  self: number[];
  total: number[];
  baseSelf?: number[];
  baseTotal?: number[];
}

const NONE = "";

/** The group of a function. */
export const groupOf = (by: GroupBy, name: string, file: string): string =>
  by === "file"
    ? file
    : by === "package"
      ? file === KERNEL
        ? KERNEL
        : colorKey(name, file, "package")
      : NONE;

/** The groups of all functions of a tree, by numbers, and their names. */
function numbered(t: Tree, by: GroupBy): { of: Int32Array; names: string[] } {
  const keys = keysOfFunctions(t, "package");
  const ids = new Map<string, number>();
  const names: string[] = [];
  const of = Int32Array.from({ length: t.fns.n }, (_, fn) => {
    const key = by === "file" ? t.files[t.fns.file[fn]] : keys.key(fn);
    let id = ids.get(key);
    if (id === undefined) ids.set(key, (id = names.push(key) - 1));
    return id;
  });
  return { of, names };
}

/** Adds up one side. */
function sums(t: Tree, of: Int32Array, n: number, selfs: Float64Array, totals: Float64Array) {
  const self = new Array<number>(n).fill(0);
  const total = new Array<number>(n).fill(0);
  const open = new Int32Array(n); // frames of the group on the path to the node
  const path = new Int32Array(t.maxDepth + 1);
  let depth = 0; // of the path
  for (let i = 1; i < t.n; i++) {
    while (depth >= t.depth[i]) open[path[depth--]]--;
    const g = of[t.fn[i]];
    path[++depth] = g;
    if (open[g]++ === 0) total[g] += totals[i];
    self[g] += selfs[i];
  }
  return { self, total };
}

export function groupColumns(t: Tree, by: GroupBy): GroupColumns {
  const { of, names } = numbered(t, by);
  const own = sums(t, of, names.length, t.self, t.total);
  const base =
    t.baseSelf && t.baseTotal ? sums(t, of, names.length, t.baseSelf, t.baseTotal) : null;
  const rows = names.map((_, g) => g).filter((g) => own.total[g] > 0 || (base?.total[g] ?? 0) > 0);
  const pick = (a: number[]): number[] => rows.map((g) => a[g]);
  return {
    names,
    name: rows,
    file: rows.map(() => 0),
    self: pick(own.self),
    total: pick(own.total),
    ...(base && { baseSelf: pick(base.self), baseTotal: pick(base.total) }),
  };
}
