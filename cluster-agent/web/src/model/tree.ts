// The merged tree of a flame graph: columns as the server sends them, plus the few
// that drawing needs. Nodes are in depth-first preorder, so a subtree is a range.
//
// A comparison has a second value in each node, the base. A frame is then as wide as both sides
// together: in "share" by the mean of its shares of the two totals, in "absolute" by the sum of the
// two values. So new and vanished frames are both visible, children never need more room than their
// parent, and a frame that did not change is as wide as without a comparison. By the value of one
// side alone, vanished frames or new ones would have no width; the larger of both does not add up.

import type { DiffMode, Sides } from "./diff";

export interface NodeColumns {
  name: number[];
  file: number[];
  depth: number[];
  total: number[];
  self: number[];
  baseTotal?: number[]; // only in a comparison, as is baseSelf
  baseSelf?: number[];
  inlined?: number[]; // indexes of nodes that are inlined into their caller in all stacks
}

export interface TreeColumns {
  names: string[];
  files: string[];
  nodes: NodeColumns;
}

/** Functions, numbered: a pair of name and file has one number, whatever nodes it is in. */
export interface FunctionPairs {
  n: number;
  name: Int32Array;
  file: Int32Array;
}

export interface Tree {
  n: number;
  names: string[];
  files: string[];
  fns: FunctionPairs;
  fn: Int32Array; // number of the node's function
  depth: Int32Array;
  total: Float64Array;
  self: Float64Array;
  baseTotal: Float64Array | null; // null: nothing is compared
  baseSelf: Float64Array | null;
  inlined: Uint8Array;
  parent: Int32Array; // -1 for the root
  end: Int32Array; // first node behind the subtree
  width: Float64Array; // what frames are drawn by; the total unless two sides are compared
  maxDepth: number;
  whole: Sides; // totals of the whole profile, which shares are of; an edited tree may show less
  mode: DiffMode;
}

/** What a tree is made of: columns in preorder. */
export interface TreeParts {
  names: string[];
  files: string[];
  fns: FunctionPairs;
  fn: Int32Array;
  depth: Int32Array;
  total: Float64Array;
  self: Float64Array;
  baseTotal: Float64Array | null;
  baseSelf: Float64Array | null;
  inlined: Uint8Array;
}

const utf8 = new TextEncoder();

// FNV-1a over the bytes of UTF-8, as the server computes it
function textHash(text: string, seed: number): number {
  let h = seed;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c >= 0x80) return bytesHash(utf8.encode(text), seed);
    h = Math.imul(h ^ c, 0x01000193);
  }
  return h >>> 0;
}

function bytesHash(bytes: Uint8Array, seed: number): number {
  let h = seed;
  for (let i = 0; i < bytes.length; i++) h = Math.imul(h ^ bytes[i], 0x01000193);
  return h >>> 0;
}

const step = (parent: number, item: number, prime: number): number => {
  let h = Math.imul(parent ^ item, prime);
  h ^= h >>> 15;
  return Math.imul(h, 0x85ebca6b) >>> 0;
};

/** How wide the nodes are; in "share", a share of each side's own total counts the same. */
function widths(t: Tree): Float64Array {
  const { n, total, baseTotal } = t;
  if (!baseTotal) return total;
  const { value, base } = t.whole;
  const share = t.mode === "share" && value > 0 && base > 0;
  const byValue = share ? (value + base) / 2 / value : 1;
  const byBase = share ? (value + base) / 2 / base : 1;
  const width = new Float64Array(n);
  for (let i = 0; i < n; i++) width[i] = total[i] * byValue + baseTotal[i] * byBase;
  return width;
}

/** Throws if the columns are not a tree. */
export function assembleTree(c: TreeParts, mode: DiffMode, whole?: Sides): Tree {
  const n = c.fn.length;
  const { depth } = c;
  const t: Tree = {
    ...c,
    n,
    parent: new Int32Array(n).fill(-1),
    end: new Int32Array(n).fill(n),
    width: c.total,
    maxDepth: 0,
    whole: whole ?? { value: c.total[0] ?? 0, base: c.baseTotal?.[0] ?? 0 },
    mode,
  };
  const { parent, end } = t;
  const path = new Int32Array(n + 1); // path[d] = latest node of depth d
  let open = 0; // depths in path
  let deepest = 0;
  for (let i = 0; i < n; i++) {
    const d = depth[i];
    if (i === 0 ? d !== 0 : d < 1 || d > open) throw new Error(`node ${i} has no parent`);
    while (open > d) end[path[--open]] = i;
    path[open++] = i;
    if (d > deepest) deepest = d;
    if (d > 0) parent[i] = path[d - 1];
  }
  t.maxDepth = deepest;
  t.width = widths(t);
  return t;
}

const isSize = (v: number): boolean => v >= 0 && v < Infinity;

/** The column as numbers; throws if one is no size. */
function sizes(column: number[]): Float64Array {
  const out = new Float64Array(column);
  for (let i = 0; i < out.length; i++)
    if (!isSize(out[i])) throw new Error(`node ${i} has no value`);
  return out;
}

/** Numbers the functions of the nodes, and checks all that is not checked elsewhere. */
function numberFunctions(
  c: TreeColumns,
  total: Float64Array,
  self: Float64Array,
): { fn: Int32Array; fns: FunctionPairs } {
  const { name, file } = c.nodes;
  const nNames = c.names.length;
  const nFiles = c.files.length;
  const fn = new Int32Array(name.length);
  const names: number[] = [];
  const files: number[] = [];
  // a name is rarely in two files: its first one needs no look-up in a map
  const first = new Int32Array(nNames).fill(-1);
  const others = new Map<number, number>();
  const add = (name: number, file: number): number => files.push(file) && names.push(name) - 1;
  for (let i = 0; i < fn.length; i++) {
    const a = name[i];
    const b = file[i];
    if (!(a >= 0 && a < nNames && b >= 0 && b < nFiles))
      throw new Error(`node ${i} has no name or file`);
    if (!isSize(total[i]) || !isSize(self[i])) throw new Error(`node ${i} has no value`);
    let id = first[a];
    if (id < 0) id = first[a] = add(a, b);
    else if (files[id] !== b) {
      const pair = a * nFiles + b;
      const known = others.get(pair);
      id = known ?? add(a, b);
      if (known === undefined) others.set(pair, id);
    }
    fn[i] = id;
  }
  const fns = { n: names.length, name: Int32Array.from(names), file: Int32Array.from(files) };
  return { fn, fns };
}

const isText = (v: unknown): boolean => typeof v === "string";

/** Throws if the columns are not a tree. `whole`: unless the root has the totals of everything. */
export function buildTree(c: TreeColumns, mode: DiffMode = "share", whole?: Sides): Tree {
  const { name, file, depth, total, self, baseTotal, baseSelf } = c.nodes ?? {};
  if (![c.names, c.files, name, file, depth, total, self].every(Array.isArray))
    throw new Error("columns are missing");
  const n = name.length;
  if ([file, depth, total, self].some((col) => col.length !== n))
    throw new Error("columns of different length");
  if (!c.names.every(isText) || !c.files.every(isText)) throw new Error("names are no texts");
  if ([baseTotal, baseSelf].some((col) => col && col.length !== n) || !baseTotal !== !baseSelf)
    throw new Error("columns of the base of different length");
  const inlined = new Uint8Array(n);
  for (const i of c.nodes.inlined ?? []) inlined[i] = 1;
  const totals = new Float64Array(total);
  const selfs = new Float64Array(self);
  return assembleTree(
    {
      names: c.names,
      files: c.files,
      ...numberFunctions(c, totals, selfs),
      depth: new Int32Array(depth),
      total: totals,
      self: selfs,
      baseTotal: baseTotal ? sizes(baseTotal) : null,
      baseSelf: baseSelf ? sizes(baseSelf) : null,
      inlined,
    },
    mode,
    whole,
  );
}

/** The same nodes, as wide as this mode wants them. */
export function compareBy(t: Tree, mode: DiffMode): Tree {
  if (!t.baseTotal || t.mode === mode) return t;
  const other = { ...t, mode };
  other.width = widths(other);
  return other;
}

/** Share of the whole that an edited tree still shows. */
export const shownShare = (t: Tree): number =>
  t.n > 0 && t.whole.value > 0 ? t.total[0] / t.whole.value : 1;

export const nodeName = (t: Tree, node: number): string => t.names[t.fns.name[t.fn[node]]];
export const nodeFile = (t: Tree, node: number): string => t.files[t.fns.file[t.fn[node]]];

interface PathKeys {
  high: Uint32Array;
  low: Uint32Array;
}

// by the column of functions, which all trees of the same nodes share
const keyCache = new WeakMap<Int32Array, PathKeys>();

/** Path keys of all nodes; computed when the first one is asked for, as most trees need none. */
function keysOf(t: Tree): PathKeys {
  const known = keyCache.get(t.fn);
  if (known) return known;
  const { n, fn, fns, parent } = t;
  const high = new Uint32Array(n);
  const low = new Uint32Array(n);
  const nameHigh = Uint32Array.from(t.names, (s) => textHash(s, 0x811c9dc5));
  const nameLow = Uint32Array.from(t.names, (s) => textHash(s, 0x1234567));
  const fileHash = Uint32Array.from(t.files, (s) => textHash(s, 0x9e3779b9));
  for (let i = 0; i < n; i++) {
    const p = parent[i];
    const name = fns.name[fn[i]];
    const file = fns.file[fn[i]];
    high[i] = step(p < 0 ? 17 : high[p], nameHigh[name], 0x01000193);
    low[i] = step(p < 0 ? 29 : low[p], nameLow[name] ^ fileHash[file], 0xc2b2ae35);
  }
  const keys = { high, low };
  keyCache.set(t.fn, keys);
  return keys;
}

const word = (v: number): string => v.toString(16).padStart(8, "0");

/**
 * Address of a node that survives a new answer: 16 hex digits; "" for the root. The server computes
 * the same key over names and files as it sends them; test/data/path_keys.tsv has examples.
 */
export function pathKey(t: Tree, node: number): string {
  if (node <= 0) return "";
  const { high, low } = keysOf(t);
  return word(high[node]) + word(low[node]);
}

/** The node with this key, 0 for "", -1 when this tree has none. */
export function findByKey(t: Tree, key: string): number {
  if (key === "") return 0;
  const keys = keysOf(t);
  const high = parseInt(key.slice(0, 8), 16);
  const low = parseInt(key.slice(8), 16);
  for (let i = 1; i < t.n; i++) if (keys.high[i] === high && keys.low[i] === low) return i;
  return -1;
}

/** From the root to the node. */
export function ancestry(t: Tree, node: number): number[] {
  const path: number[] = [];
  for (let i = node; i >= 0; i = t.parent[i]) path.unshift(i);
  return path;
}

/** A frame of a graph other than the main one. */
export interface Pointed {
  tree: Tree;
  node: number;
}
