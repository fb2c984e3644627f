// The merged tree of a flame graph: columns as the server sends them, plus the few
// that drawing needs. Nodes are in depth-first preorder, so a subtree is a range.
//
// A comparison has a second value in each node, the base. A frame is then as wide as both sides
// together: in "share" by the mean of its shares of the two totals, in "absolute" by the sum of the
// two values. So new and vanished frames are both visible, children never need more room than their
// parent, and a frame that did not change is as wide as without a comparison. By the value of one
// side alone, vanished frames or new ones would have no width; the larger of both does not add up.

import type { NumberColumn } from "./columns";
import type { DiffMode, Sides } from "./diff";
import { fileKey } from "./file_key";

export interface NodeColumns {
  name?: number[]; // as is file, unless there is "function"
  file?: number[];
  function?: Int32Array; // index into the pairs
  depth: NumberColumn;
  total: NumberColumn;
  self: NumberColumn;
  baseTotal?: NumberColumn; // only in a comparison, as is baseSelf
  baseSelf?: NumberColumn;
  inlined?: NumberColumn; // indexes of nodes that are inlined into their caller in all stacks
}

export interface TreeColumns {
  names: string[];
  files: string[];
  nodes: NodeColumns;
  pairs?: { name: Int32Array; file: Int32Array }; // functions of nodes, each once
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

const noFunction = (i: number): Error => new Error(`node ${i} has no name or file`);

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
  const { parent, end, fn } = t;
  const nFunctions = c.fns.n;
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
    if (fn[i] < 0 || fn[i] >= nFunctions) throw noFunction(i);
  }
  t.maxDepth = deepest;
  t.width = widths(t);
  return t;
}

const isSize = (v: number): boolean => v >= 0 && v < Infinity;

const floats = (column: NumberColumn): Float64Array =>
  column instanceof Float64Array ? column : new Float64Array(column);

const integers = (column: NumberColumn): Int32Array =>
  column instanceof Int32Array ? column : new Int32Array(column);

const noSize = (i: number): Error => new Error(`node ${i} has no value`);

/**
 * The column as numbers; throws if one is no size. Looks at the upper bits of each: a negative
 * number has the first one, and what is not finite all of the exponent. A loop over small integers
 * is fast before the browser has compiled it; each fraction in it would be an object.
 */
function sizes(column: NumberColumn): Float64Array {
  const out = floats(column);
  const words = new Uint16Array(out.buffer, out.byteOffset, 4 * out.length);
  for (let i = 3; i < words.length; i += 4)
    if (words[i] >= NOT_FINITE && !isSize(out[i >> 2])) throw noSize(i >> 2);
  return out;
}

const NOT_FINITE = 0x7ff0; // and what is negative is larger

interface Numbered {
  fn: Int32Array;
  fns: FunctionPairs;
}

/** The functions as the server numbered them; assembleTree() checks those numbers. */
function numberedFunctions(c: TreeColumns, fn: Int32Array): Numbered {
  const { name, file } = c.pairs ?? {};
  if (!(name instanceof Int32Array && file instanceof Int32Array && name.length === file.length))
    throw new Error("columns are missing");
  const n = name.length;
  for (let i = 0; i < n; i++)
    if (!(name[i] >= 0 && name[i] < c.names.length && file[i] >= 0 && file[i] < c.files.length))
      throw new Error(`function ${i} has no name or file`);
  return { fn, fns: { n, name, file } };
}

/** Numbers the functions of the nodes. */
function numberFunctions(c: TreeColumns, name: number[], file: number[]): Numbered {
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
    if (!(a >= 0 && a < nNames && b >= 0 && b < nFiles)) throw noFunction(i);
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
const isColumn = (v: unknown): boolean => Array.isArray(v) || ArrayBuffer.isView(v);

/** Throws if the columns are not a tree. `whole`: unless the root has the totals of everything. */
export function buildTree(c: TreeColumns, mode: DiffMode = "share", whole?: Sides): Tree {
  const { function: fn, depth, total, self, baseTotal, baseSelf } = c.nodes ?? {};
  const name = fn ?? c.nodes?.name;
  const file = fn ?? c.nodes?.file;
  if (![c.names, c.files, name, file, depth, total, self].every(isColumn) || !name || !file)
    throw new Error("columns are missing");
  const n = name.length;
  if ([file, depth, total, self].some((col) => col.length !== n))
    throw new Error("columns of different length");
  if (!c.names.every(isText) || !c.files.every(isText)) throw new Error("names are no texts");
  if ([baseTotal, baseSelf].some((col) => col && col.length !== n) || !baseTotal !== !baseSelf)
    throw new Error("columns of the base of different length");
  const inlined = new Uint8Array(n);
  for (const i of c.nodes.inlined ?? []) inlined[i] = 1;
  return assembleTree(
    {
      names: c.names,
      files: c.files,
      ...(fn ? numberedFunctions(c, fn) : numberFunctions(c, name as number[], file as number[])),
      depth: integers(depth),
      total: sizes(total),
      self: sizes(self),
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

/** The number of a function, -1 if the tree has none of this name and file. */
export function functionOf(t: Tree, name: string, file: string): number {
  const inName = t.names.indexOf(name);
  const inFile = t.files.indexOf(file);
  if (inName < 0 || inFile < 0) return -1;
  const { name: names, file: files } = t.fns;
  for (let fn = names.indexOf(inName); fn >= 0; fn = names.indexOf(inName, fn + 1))
    if (files[fn] === inFile) return fn;
  return -1;
}

/** The nodes right below one. */
export function childrenOf(t: Tree, node: number): number[] {
  const out: number[] = [];
  for (let child = node + 1; child < t.end[node]; child = t.end[child]) out.push(child);
  return out;
}

export const nodeName = (t: Tree, node: number): string => t.names[t.fns.name[t.fn[node]]];
export const nodeFile = (t: Tree, node: number): string => t.files[t.fns.file[t.fn[node]]];

/** Path keys of nodes, made when asked for; of all nodes only to find one by a key from outside. */
class PathKeys {
  private node = new Map<string, number>(); // by key
  private parts = new Map<number, [number, number]>(); // hashes by function

  constructor(private tree: Tree) {}

  of(node: number): string {
    let high = 17;
    let low = 29;
    for (const i of ancestry(this.tree, node)) [high, low] = this.step(high, low, i);
    const key = word(high) + word(low);
    this.node.set(key, node);
    return key;
  }

  find(key: string): number {
    const known = this.node.get(key);
    if (known !== undefined) return known;
    const { n, parent } = this.tree;
    const wanted = [parseInt(key.slice(0, 8), 16), parseInt(key.slice(8), 16)];
    const highs = new Uint32Array(n);
    const lows = new Uint32Array(n);
    let found = -1;
    for (let i = 0; i < n && found < 0; i++) {
      const p = parent[i];
      [highs[i], lows[i]] = this.step(p < 0 ? 17 : highs[p], p < 0 ? 29 : lows[p], i);
      if (i > 0 && highs[i] === wanted[0] && lows[i] === wanted[1]) found = i;
    }
    this.node.set(key, found);
    return found;
  }

  private step(high: number, low: number, node: number): [number, number] {
    const [name, place] = this.partsOf(this.tree.fn[node]);
    return [step(high, name, 0x01000193), step(low, place, 0xc2b2ae35)];
  }

  private partsOf(fn: number): [number, number] {
    const known = this.parts.get(fn);
    if (known) return known;
    const { names, files, fns } = this.tree;
    const name = names[fns.name[fn]];
    const file = textHash(fileKey(files[fns.file[fn]]), 0x9e3779b9);
    const parts: [number, number] = [
      textHash(name, 0x811c9dc5),
      textHash(name, 0x1234567) ^ file,
    ];
    this.parts.set(fn, parts);
    return parts;
  }
}

// by the column of functions, which all trees of the same nodes share
const keyCache = new WeakMap<Int32Array, PathKeys>();

function keysOf(t: Tree): PathKeys {
  let keys = keyCache.get(t.fn);
  if (!keys) keyCache.set(t.fn, (keys = new PathKeys(t)));
  return keys;
}

const word = (v: number): string => v.toString(16).padStart(8, "0");

/**
 * Address of a node that survives a new answer: 16 hex digits; "" for the root. The server computes
 * the same one; test/data/path_keys.tsv has examples. Functions of two releases have one key.
 */
export const pathKey = (t: Tree, node: number): string => (node <= 0 ? "" : keysOf(t).of(node));

/** The node with this key, 0 for "", -1 when this tree has none. */
export const findByKey = (t: Tree, key: string): number => (key === "" ? 0 : keysOf(t).find(key));

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
