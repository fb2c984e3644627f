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
}

export interface Coloring {
  by: ColorBy;
  hues: Map<string, number>;
  legend: LegendEntry[]; // largest first
}

// the neighbours of frames below this share of the width cannot be seen
const SEEN = 0.001;

const MAX_KEYS = 1 << 15; // so that the numbers of two packages make one small integer

/** The area of each package in the graph, and its neighbours, by package number. */
interface Uses {
  list: string[]; // names of the packages
  area: number[]; // sum of the widths of frames; none of those that are not drawn
  beside: number[][]; // neighbours
  shared: number[][]; // the width that each of them shares
}

/**
 * The keys of the functions of a tree, see colorKey(), and numbers of them; the kernel, which is
 * grey, is one as well. A key is made when it is asked for: a large profile has thousands of
 * functions, of which few are wide enough to be drawn.
 */
class FunctionKeys {
  readonly list: string[] = []; // keys by their numbers
  private ids: Int32Array; // by function
  private numbers = new Map<string, number>();
  private files: FilePackages[] = []; // by the numbers of the files, which are few

  constructor(
    private tree: Tree,
    private by: ColorBy,
  ) {
    this.ids = new Int32Array(tree.fns.n).fill(UNASKED);
  }

  /** Number of the key of a function, KEYLESS for those that are always grey. */
  id(fn: number): number {
    const known = this.ids[fn];
    return known === UNASKED ? (this.ids[fn] = this.number(this.make(fn))) : known;
  }

  key(fn: number): string {
    const id = this.id(fn);
    return id === KEYLESS ? "" : this.list[id];
  }

  private make(fn: number): string {
    const { fns, names, files } = this.tree;
    const number = fns.file[fn];
    const file = files[number];
    if (file === KERNEL) return KERNEL;
    const packages = (this.files[number] ??= filePackages(file));
    return colorKey(names[fns.name[fn]], file, this.by, packages);
  }

  private number(key: string): number {
    if (key === "") return KEYLESS;
    let id = this.numbers.get(key);
    if (id === undefined) this.numbers.set(key, (id = this.list.push(key) - 1));
    return id;
  }
}

const KEYLESS = -1;
const UNASKED = -2;

const keyCache = new WeakMap<FunctionPairs, Partial<Record<ColorBy, FunctionKeys>>>();

/** The same for all trees that share their functions. */
export function keysOfFunctions(t: Tree, by: ColorBy): FunctionKeys {
  const known = keyCache.get(t.fns) ?? {};
  keyCache.set(t.fns, known);
  return (known[by] ??= new FunctionKeys(t, by));
}

/** Nodes that can be seen, and in place of what is below a narrow one, that alone. */
function usesOf(t: Tree, by: ColorBy): Uses {
  const keys = keysOfFunctions(t, by);
  const area: number[] = [];
  const near = new Map<number, number>(); // widths by pair
  const least = t.n > 0 ? t.width[0] * SEEN : 0;
  const meet = (a: number, b: number, width: number): void => {
    if (a === b || a < 0 || b < 0 || a >= MAX_KEYS || b >= MAX_KEYS) return;
    const pair = a < b ? a * MAX_KEYS + b : b * MAX_KEYS + a;
    near.set(pair, (near.get(pair) ?? 0) + width);
  };
  const { fn, width, parent, end } = t;
  for (let i = 1; i < t.n; ) {
    const w = width[i];
    const key = keys.id(fn[i]);
    if (key >= 0) area[key] = (area[key] ?? 0) + w;
    if (w < least) {
      i = end[i];
      continue;
    }
    const p = parent[i];
    if (p > 0) meet(key, keys.id(fn[p]), w);
    const next = end[i];
    if (next < t.n && parent[next] === p) meet(key, keys.id(fn[next]), Math.min(w, width[next]));
    i++;
  }
  const { list } = keys;
  const beside = list.map((): number[] => []);
  const shared = list.map((): number[] => []);
  for (const [pair, w] of [...near].sort((x, y) => x[0] - y[0])) {
    const a = Math.floor(pair / MAX_KEYS);
    const b = pair % MAX_KEYS;
    beside[a].push(b);
    shared[a].push(w);
    beside[b].push(a);
    shared[b].push(w);
  }
  return { list, area, beside, shared };
}

/** Shares of the whole that are the own value of each package, by key. */
export function selfShares(t: Tree, by: ColorBy): Map<string, number> {
  const keys = keysOfFunctions(t, by);
  const whole = t.whole.value > 0 ? t.whole.value : 1;
  const shares = new Map<string, number>();
  for (let i = 0; i < t.n; i++) {
    if (t.self[i] === 0) continue; // most nodes
    const key = keys.key(t.fn[i]);
    shares.set(key, (shares.get(key) ?? 0) + t.self[i] / whole);
  }
  return shares;
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
  list.forEach((_, k) => area[k] > 0 && listed.push(k));
  listed.sort((a, b) => area[b] - area[a] || (list[a] < list[b] ? -1 : 1));
  const ranked = listed.filter((k) => list[k] !== KERNEL);
  const given = new Int32Array(list.length).fill(NONE);
  const taken = new Uint8Array(HUES);
  // a large package keeps its earlier hue, even if a larger new one would get the same
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
  return {
    by,
    hues: new Map(ranked.map((k) => [list[k], given[k]])),
    legend: listed.map((k) => ({
      key: list[k],
      hue: given[k] === NONE ? CLASS_KERNEL : given[k],
    })),
  };
}

/** Colour class of a function, whether or not the tree of the colouring has it. */
export function classOf(c: Coloring, name: string, file: string): number {
  const key = colorKey(name, file, c.by);
  return key === "" ? greyClass(file) : (c.hues.get(key) ?? hash(key) % HUES);
}

/** Colour classes of the functions of a tree, or of what edits made of it; made when asked for. */
export class FunctionClasses {
  private known: Uint8Array; // by function
  private keys: FunctionKeys;

  constructor(
    private coloring: Coloring,
    private tree: Tree,
  ) {
    const { fns } = tree;
    this.known = new Uint8Array(fns.n).fill(UNKNOWN);
    this.keys = keysOfFunctions(tree, coloring.by);
    if (tree.n > 0 && tree.depth[0] === 0 && isTotal(tree, fns))
      this.known[tree.fn[0]] = CLASS_ROOT;
  }

  of(fn: number): number {
    const known = this.known[fn];
    return known === UNKNOWN ? (this.known[fn] = this.make(fn)) : known;
  }

  private make(fn: number): number {
    const { tree, coloring } = this;
    const key = this.keys.key(fn);
    return key === "" || key === KERNEL
      ? greyClass(tree.files[tree.fns.file[fn]])
      : (coloring.hues.get(key) ?? hash(key) % HUES);
  }
}

const UNKNOWN = 255;

// the root of a sandwich is a function and has that function's colour
const isTotal = (t: Tree, fns: FunctionPairs): boolean =>
  t.names[fns.name[t.fn[0]]] === "total" && t.files[fns.file[t.fn[0]]] === "";
