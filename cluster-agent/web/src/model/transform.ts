// Edits of a flame graph, in the order in which they were made. Each makes a new tree of the one
// before, with both sides of a comparison. A tree with own values is the same as the set of its
// stacks, so an edit of the tree is an edit of each stack:
//
//   focus      only stacks through a function
//   hide       the frames of a function or library go; what they called moves up to their callers
//   library    neighbouring frames of one library become one frame
//   recursion  from the outermost to the innermost call of a function only one frame stays
//   invert     leaf first
//
// Only focus drops values. An edit of something that the tree does not have changes nothing, but a
// focus on it leaves nothing.

import { fileKey } from "./file_key";
import { Grove } from "./grove";
import { moduleOf, packageOf, splitModule } from "./names";
import { assembleTree, type Tree } from "./tree";
import type { Transform } from "./url_state";

/** As the name of a recursion: that of every function. */
export const EVERY = "*";

/**
 * The library of a frame, as an edit names it: "[libc.so.6]" is a module, anything else a package.
 * "" where none is known.
 */
export const libraryOf = (name: string, file: string, by: "package" | "module"): string =>
  by === "package"
    ? packageOf(name, file)
    : file.startsWith("[")
      ? `[${splitModule(file).module}]`
      : moduleOf(name, file);

function inLibrary(name: string, file: string, library: string): boolean {
  if (library.startsWith("["))
    return file.startsWith("[") && `[${splitModule(file).module}]` === library;
  return packageOf(name, file) === library || moduleOf(name, file) === library;
}

/** Per function: whether the edit is about it. */
function targets(t: Tree, e: Transform): Uint8Array {
  const hit = new Uint8Array(t.fns.n);
  const wanted = fileKey(e.file); // the edit may be of another release
  for (let fn = 0; fn < t.fns.n; fn++) {
    const name = t.names[t.fns.name[fn]];
    const file = t.files[t.fns.file[fn]];
    const on =
      e.name === ""
        ? inLibrary(name, file, e.file)
        : name === e.name && fileKey(file) === wanted;
    if (on || (e.kind === "recursion" && e.name === EVERY)) hit[fn] = 1;
  }
  if (t.n > 0) hit[t.fn[0]] = 0; // the root is no function
  return hit;
}

/** The nodes with these numbers, in order, with other values. */
function pick(t: Tree, kept: Int32Array, values: Record<Values, Float64Array | null>): Tree {
  const n = kept.length;
  const fn = new Int32Array(n);
  const depth = new Int32Array(n);
  const inlined = new Uint8Array(n);
  for (let k = 0; k < n; k++) {
    fn[k] = t.fn[kept[k]];
    depth[k] = t.depth[kept[k]];
    inlined[k] = t.inlined[kept[k]];
  }
  const of = (column: Float64Array): Float64Array => {
    const out = new Float64Array(n);
    for (let k = 0; k < n; k++) out[k] = column[kept[k]];
    return out;
  };
  const { names, files, fns } = t;
  return assembleTree(
    {
      names,
      files,
      fns,
      fn,
      depth,
      inlined,
      total: of(values.total as Float64Array),
      self: of(values.self as Float64Array),
      baseTotal: values.baseTotal && of(values.baseTotal),
      baseSelf: values.baseSelf && of(values.baseSelf),
    },
    t.mode,
    t.whole,
  );
}

type Values = "total" | "self" | "baseTotal" | "baseSelf";

function focus(t: Tree, hit: Uint8Array): Tree {
  const inside = new Uint8Array(t.n);
  for (let i = 0, end = 0; i < t.n; i++) {
    if (i >= end && hit[t.fn[i]]) end = t.end[i];
    inside[i] = i < end ? 1 : 0;
  }
  const only = (self: Float64Array | null, total: Float64Array | null) => {
    if (!self || !total) return { self: null, total: null };
    const s = new Float64Array(t.n);
    const sum = new Float64Array(t.n);
    for (let i = t.n - 1; i >= 0; i--) {
      if (inside[i]) {
        s[i] = self[i];
        sum[i] = total[i];
      }
      const p = t.parent[i];
      if (p >= 0 && !inside[p]) sum[p] += sum[i];
    }
    return { self: s, total: sum };
  };
  const value = only(t.self, t.total);
  const base = only(t.baseSelf, t.baseTotal);
  const kept = new Int32Array(t.n);
  let n = 0;
  for (let i = 0; i < t.n; i++)
    if (i === 0 || (value.total as Float64Array)[i] > 0 || (base.total && base.total[i] > 0))
      kept[n++] = i;
  return pick(t, kept.subarray(0, n), {
    total: value.total,
    self: value.self,
    baseTotal: base.total,
    baseSelf: base.self,
  });
}

/** A tree in which each node's own value went to another one; `to` is asked in preorder. */
function regrow(
  t: Tree,
  to: (g: Grove, i: number, parent: number) => number,
  more: { name: string; file: string }[] = [],
): Tree {
  const g = new Grove(t, t.fn[0], t.n, more);
  const at = new Int32Array(t.n);
  g.add(0, t.self[0], t.baseSelf ? t.baseSelf[0] : 0);
  for (let i = 1; i < t.n; i++) {
    const node = (at[i] = to(g, i, at[t.parent[i]]));
    if (t.self[i] > 0 || (t.baseSelf && t.baseSelf[i] > 0))
      g.add(node, t.self[i], t.baseSelf ? t.baseSelf[i] : 0);
  }
  return g.tree();
}

const hide = (t: Tree, hit: Uint8Array): Tree =>
  regrow(t, (g, i, p) => (hit[t.fn[i]] ? p : g.child(p, t.fn[i], t.inlined[i])));

/** What stands for a library in a graph: "runtime.…", "std::…", "libc.so.6". */
function libraryFrame(t: Tree, hit: Uint8Array, library: string): { name: string; file: string } {
  let file = "";
  let scoped = false;
  let dotted = false;
  for (let fn = 0, any = false; fn < t.fns.n; fn++) {
    if (!hit[fn]) continue;
    const name = t.names[t.fns.name[fn]];
    const own = t.files[t.fns.file[fn]];
    if (!any || own < file) file = own;
    any = true;
    scoped ||= name.includes(`${library}::`);
    dotted ||= name.startsWith(`${library}.`);
  }
  if (library.startsWith("[")) return { name: library.slice(1, -1), file: library };
  return { name: scoped ? `${library}::…` : dotted ? `${library}.…` : library, file };
}

function collapseLibrary(t: Tree, hit: Uint8Array, library: string): Tree {
  const one = t.fns.n; // the number of the frame that stands for the library
  return regrow(
    t,
    (g, i, p) =>
      !hit[t.fn[i]]
        ? g.child(p, t.fn[i], t.inlined[i])
        : g.fnOf(p) === one
          ? p
          : g.child(p, one, 0),
    [libraryFrame(t, hit, library)],
  );
}

function collapseRecursion(t: Tree, hit: Uint8Array): Tree {
  return regrow(t, (g, i, p) => {
    const fn = t.fn[i];
    if (hit[fn]) for (let a = p; a > 0; a = g.parentOf(a)) if (g.fnOf(a) === fn) return a;
    return g.child(p, fn, t.inlined[i]);
  });
}

// Steps upwards that the inverted tree may be made of. Its nodes can be as many, and a browser
// should need neither seconds nor gigabytes for them.
const MAX_STEPS = 600_000;
const FEW = 2; // callers that every stack keeps

/**
 * Leaf first: the root's children are the functions that had the value, their children the callers.
 * If there are more stacks than a browser can show, the smallest end after a few frames in "other".
 */
export function invert(t: Tree, maxSteps = MAX_STEPS): Tree {
  const ends: number[] = [];
  let steps = 0;
  for (let i = 1; i < t.n; i++)
    if (t.self[i] > 0 || (t.baseSelf && t.baseSelf[i] > 0)) {
      ends.push(i);
      steps += t.depth[i];
    }
  const cut = steps > maxSteps;
  const size = (i: number): number => t.self[i] + (t.baseSelf ? t.baseSelf[i] : 0);
  if (cut) ends.sort((a, b) => size(b) - size(a) || a - b);
  const g = new Grove(t, t.fn[0], t.n, cut ? [{ name: "other", file: "" }] : []);
  g.add(0, t.self[0], t.baseSelf ? t.baseSelf[0] : 0);
  steps = 0;
  for (const i of ends) {
    let node = 0;
    let left = steps < maxSteps ? Infinity : FEW;
    let a = i;
    for (; a > 0 && left > 0; a = t.parent[a], left--, steps++)
      node = g.child(node, t.fn[a], t.inlined[a]);
    if (a > 0) node = g.child(node, t.fns.n, 0);
    g.add(node, t.self[i], t.baseSelf ? t.baseSelf[i] : 0);
  }
  return g.tree();
}

function applyOne(t: Tree, e: Transform): Tree {
  const hit = targets(t, e);
  if (e.kind === "focus") return focus(t, hit);
  if (!hit.includes(1)) return t;
  if (e.kind === "hide") return hide(t, hit);
  if (e.kind === "library") return collapseLibrary(t, hit, e.file);
  return collapseRecursion(t, hit);
}

/** The tree after all edits, root first. */
export const applyEdits = (t: Tree, edits: readonly Transform[]): Tree =>
  t.n === 0 ? t : edits.reduce(applyOne, t);

/** The number of a function in this tree, whatever its release; -1 if it has none. */
export function findFunction(t: Tree, name: string, file: string): number {
  const key = fileKey(file);
  for (let fn = 0; fn < t.fns.n; fn++)
    if (t.names[t.fns.name[fn]] === name && fileKey(t.files[t.fns.file[fn]]) === key) return fn;
  return -1;
}

export interface Sandwich {
  callers: Tree; // the root is the function, its children are its callers
  callees: Tree;
}

/**
 * Who calls a function and what it calls. Every stack counts once, by the outermost call of the
 * function, so both trees have the function's total; what it calls again is below it.
 */
export function sandwich(t: Tree, fn: number): Sandwich {
  const up = new Grove(t, fn, t.maxDepth * 4);
  const down = new Grove(t, fn, 1024);
  const at = new Int32Array(t.n);
  for (let i = 1; i < t.n;) {
    if (t.fn[i] !== fn) {
      i++;
      continue;
    }
    let node = 0;
    for (let a = t.parent[i]; a > 0; a = t.parent[a]) node = up.child(node, t.fn[a], t.inlined[a]);
    up.add(node, t.total[i], t.baseTotal ? t.baseTotal[i] : 0);
    const end = t.end[i];
    at[i] = 0;
    for (let k = i; k < end; k++) {
      if (k > i) at[k] = down.child(at[t.parent[k]], t.fn[k], t.inlined[k]);
      down.add(at[k], t.self[k], t.baseSelf ? t.baseSelf[k] : 0);
    }
    i = end;
  }
  return { callers: up.tree(), callees: down.tree() };
}

/** Values of all functions of a tree, by number; of recursive calls only the outermost counts. */
export interface FunctionValues {
  self: Float64Array;
  total: Float64Array;
  baseSelf: Float64Array | null;
  baseTotal: Float64Array | null;
}

export function functionValues(t: Tree): FunctionValues {
  const { n } = t.fns;
  const open = new Int32Array(n); // first node behind the outermost call
  const compared = t.baseTotal !== null;
  const v: FunctionValues = {
    self: new Float64Array(n),
    total: new Float64Array(n),
    baseSelf: compared ? new Float64Array(n) : null,
    baseTotal: compared ? new Float64Array(n) : null,
  };
  for (let i = 1; i < t.n; i++) {
    const fn = t.fn[i];
    v.self[fn] += t.self[i];
    if (v.baseSelf && t.baseSelf) v.baseSelf[fn] += t.baseSelf[i];
    if (i < open[fn]) continue;
    open[fn] = t.end[i];
    v.total[fn] += t.total[i];
    if (v.baseTotal && t.baseTotal) v.baseTotal[fn] += t.baseTotal[i];
  }
  return v;
}

/** Whether an edit changes the path to a node, so that it has another key or is gone. */
export function touchesPath(t: Tree, node: number, e: Transform): boolean {
  const hit = targets(t, e);
  let on = false;
  for (let i = node; i > 0; i = t.parent[i]) on ||= hit[t.fn[i]] === 1;
  return e.kind === "focus" ? !on : on;
}

export interface FunctionColumns {
  name: number[];
  file: number[];
  self: number[];
  total: number[];
  baseSelf?: number[];
  baseTotal?: number[];
}

/** Functions of a tree as the server lists those of the whole profile. */
export function functionColumns(t: Tree): FunctionColumns {
  const v = functionValues(t);
  const root = t.n > 0 ? t.fn[0] : -1;
  const rows: number[] = [];
  for (let fn = 0; fn < t.fns.n; fn++)
    if (fn !== root && (v.total[fn] > 0 || (v.baseTotal && v.baseTotal[fn] > 0))) rows.push(fn);
  const of = (a: Float64Array | Int32Array): number[] => rows.map((fn) => a[fn]);
  return {
    name: of(t.fns.name),
    file: of(t.fns.file),
    self: of(v.self),
    total: of(v.total),
    ...(v.baseSelf && v.baseTotal ? { baseSelf: of(v.baseSelf), baseTotal: of(v.baseTotal) } : {}),
  };
}
