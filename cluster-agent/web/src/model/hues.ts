// Which package gets which hue. Twelve hues can be told apart, a profile has hundreds of packages.
//
// A hash of the name alone gives the two largest packages of a profile the same hue every so often.
// So packages choose by rank, the one that covers most of the graph first. Each takes the hue that
// it had before in this application, else the one of its hash, else the one that disturbs least:
//   - the twelve largest never share one;
//   - all others avoid the hues of packages that are drawn beside, above or below them.
// The same tree and the same memory give the same colours.

import { CLASS_KERNEL, CLASS_ROOT, colorKey, greyClass, hash, HUES } from "./colors";
import { filePackages, KERNEL, type FilePackages } from "./names";
import type { FunctionPairs, Tree } from "./tree";
import type { ColorBy } from "./url_state";

export interface LegendEntry {
  key: string;
  hue: number; // colour class; the kernel's is a grey
  share: number; // of the own value of the whole profile
}

export interface Coloring {
  by: ColorBy;
  hues: Map<string, number>;
  legend: LegendEntry[]; // largest first
}

// frames below this share of the width are too narrow for anybody to see what is beside them
const SEEN = 0.001;

const MAX_TABLE = 700; // packages of which each may be beside each in a plain table

/** What packages, by their numbers, cover. */
interface Uses {
  list: string[]; // names of the packages
  area: Float64Array; // sum of the widths of all frames
  self: Float64Array;
  beside: number[][]; // neighbours
  shared: number[][]; // the width that each of them shares
}

const keyCache = new WeakMap<FunctionPairs, Partial<Record<ColorBy, string[]>>>();

/** Keys of all functions, see colorKey(); the kernel, which is grey, is one as well. */
export function keyOfFunctions(t: Tree, by: ColorBy): string[] {
  const known = keyCache.get(t.fns) ?? {};
  keyCache.set(t.fns, known);
  const files: FilePackages[] = []; // by the numbers of the files, which are few
  return (known[by] ??= Array.from({ length: t.fns.n }, (_, fn) => {
    const number = t.fns.file[fn];
    const file = t.files[number];
    if (file === KERNEL) return KERNEL;
    return colorKey(t.names[t.fns.name[fn]], file, by, (files[number] ??= filePackages(file)));
  }));
}

/** Numbers instead of texts, because there is one look-up for each frame that can be seen. */
function numbered(keys: string[]): { id: Int32Array; list: string[] } {
  const ids = new Map<string, number>();
  const list: string[] = [];
  const id = Int32Array.from(keys, (key) => {
    if (key === "") return -1;
    let n = ids.get(key);
    if (n === undefined) ids.set(key, (n = list.push(key) - 1));
    return n;
  });
  return { id, list };
}

function usesOf(t: Tree, by: ColorBy): Uses {
  const { id, list } = numbered(keyOfFunctions(t, by));
  const n = list.length;
  const area = new Float64Array(n);
  const selfs = new Float64Array(n);
  const near = n <= MAX_TABLE ? new Float64Array(n * n) : null;
  const far = new Map<number, number>(); // instead of it
  const pairs: number[] = [];
  const least = t.n > 0 ? t.width[0] * SEEN : 0;
  const meet = (a: number, b: number, width: number): void => {
    if (a === b || a < 0 || b < 0) return;
    const pair = a < b ? a * n + b : b * n + a;
    const old = near ? near[pair] : (far.get(pair) ?? 0);
    if (old === 0) pairs.push(pair);
    if (near) near[pair] = old + width;
    else far.set(pair, old + width);
  };
  const { fn, width, self, parent, end } = t;
  for (let i = 1; i < t.n; i++) {
    const key = id[fn[i]];
    if (key < 0) continue;
    area[key] += width[i];
    if (self[i] !== 0) selfs[key] += self[i]; // few have any
  }
  for (let i = 1; i < t.n; i = width[i] < least ? end[i] : i + 1) {
    const w = width[i];
    if (w < least) continue;
    const key = id[fn[i]];
    const p = parent[i];
    if (p > 0) meet(key, id[fn[p]], w);
    const next = end[i];
    if (next < t.n && parent[next] === p) meet(key, id[fn[next]], Math.min(w, width[next]));
  }
  const beside = list.map((): number[] => []);
  const shared = list.map((): number[] => []);
  for (const pair of pairs.sort((a, b) => a - b)) {
    const w = near ? near[pair] : (far.get(pair) as number);
    const a = Math.floor(pair / n);
    const b = pair % n;
    beside[a].push(b);
    shared[a].push(w);
    beside[b].push(a);
    shared[b].push(w);
  }
  return { list, area, self: selfs, beside, shared };
}

/** How far two hues are apart on the circle. */
function distance(a: number, b: number): number {
  const d = Math.abs(a - b);
  return Math.min(d, HUES - d);
}

const NONE = -1;

/**
 * The hue among `free` that disturbs a package least: few shared with neighbours, then far from
 * their hues. `given`: hues by package, NONE for those without one.
 */
function leastDisturbing(
  free: number[],
  preferred: number,
  u: Uses,
  key: number,
  given: Int32Array,
): number {
  const shared = new Float64Array(HUES); // by hue: widths of neighbours that have it or one like it
  u.beside[key].forEach((other, k) => {
    const theirs = given[other];
    if (theirs === NONE) return;
    const width = u.shared[key][k];
    shared[theirs] += width * 8;
    shared[(theirs + 1) % HUES] += width;
    shared[(theirs + HUES - 1) % HUES] += width;
  });
  let best = preferred;
  let cost = Infinity;
  for (const hue of free) {
    const c = shared[hue] + distance(hue, preferred) * 1e-9;
    if (c < cost) {
      cost = c;
      best = hue;
    }
  }
  return best;
}

const all = Array.from({ length: HUES }, (_, i) => i);

/** Assigns hues for a whole, unedited tree. `memory`: those of earlier views of the application. */
export function assignHues(t: Tree, by: ColorBy, memory?: ReadonlyMap<string, number>): Coloring {
  const uses = usesOf(t, by);
  const { list, area, beside } = uses;
  const listed: number[] = [];
  list.forEach((_, k) => area[k] !== 0 && listed.push(k));
  listed.sort((a, b) => area[b] - area[a] || (list[a] < list[b] ? -1 : 1));
  const ranked = listed.filter((k) => list[k] !== KERNEL);
  const given = new Int32Array(list.length).fill(NONE);
  const taken = new Uint8Array(HUES);
  // what a large package had before it keeps, whatever a larger new one would like
  const large = ranked.slice(0, HUES);
  for (const k of large) {
    const hue = memory?.get(list[k]);
    if (hue === undefined || hue >= HUES || taken[hue]) continue;
    given[k] = hue;
    taken[hue] = 1;
  }
  for (const k of large) {
    if (given[k] !== NONE) continue;
    const free = all.filter((h) => !taken[h]);
    given[k] = leastDisturbing(free, hash(list[k]) % HUES, uses, k, given);
    taken[given[k]] = 1;
  }
  for (const k of ranked.slice(HUES)) {
    const preferred = memory?.get(list[k]) ?? hash(list[k]) % HUES;
    const used = beside[k].some((other) => given[other] === preferred);
    given[k] = used ? leastDisturbing(all, preferred, uses, k, given) : preferred;
  }
  const whole = t.whole.value > 0 ? t.whole.value : 1;
  return {
    by,
    hues: new Map(ranked.map((k) => [list[k], given[k]])),
    legend: listed.map((k) => ({
      key: list[k],
      hue: given[k] === NONE ? CLASS_KERNEL : given[k],
      share: uses.self[k] / whole,
    })),
  };
}

/** Colour class of a function, whether or not the tree of the colouring has it. */
export function classOf(c: Coloring, name: string, file: string): number {
  const key = colorKey(name, file, c.by);
  return key === "" ? greyClass(file) : (c.hues.get(key) ?? hash(key) % HUES);
}

/** Colour classes by function, for a tree and for what edits made of it. */
export function classesOf(c: Coloring, t: Tree): Uint8Array {
  const classes = new Uint8Array(t.fns.n);
  const { fns } = t;
  const keys = keyOfFunctions(t, c.by);
  for (let fn = 0; fn < fns.n; fn++) {
    const key = keys[fn];
    classes[fn] =
      key === "" || key === KERNEL
        ? greyClass(t.files[fns.file[fn]])
        : (c.hues.get(key) ?? hash(key) % HUES);
  }
  if (t.n > 0 && t.depth[0] === 0 && isTotal(t, fns)) classes[t.fn[0]] = CLASS_ROOT;
  return classes;
}

// the root of a sandwich is a function and has that function's colour
const isTotal = (t: Tree, fns: FunctionPairs): boolean =>
  t.names[fns.name[t.fn[0]]] === "total" && t.files[fns.file[t.fn[0]]] === "";
