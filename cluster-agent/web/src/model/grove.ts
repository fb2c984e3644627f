// Builds a tree from stacks of another one: equal stacks merge, and the nodes of the result are in
// preorder, siblings by name, as in every tree. All edits of a flame graph and both halves of a
// sandwich are made this way.
//
// Children are found by a hash of (parent, function) in one open-addressing table of integers: a
// Map per node costs ten times as much, and a tree may have 200,000 nodes.

import { assembleTree, type FunctionPairs, type Tree } from "./tree";

const NONE = -1;

function grown<T extends Int32Array | Float64Array | Uint8Array>(old: T, n: number): T {
  const next = new (old.constructor as new (n: number) => T)(n);
  next.set(old);
  return next;
}

/** Where functions stand when sorted by name, then file; computed once per list of functions. */
const ranks = new WeakMap<FunctionPairs, Int32Array>();

function rankOf(names: string[], files: string[], fns: FunctionPairs): Int32Array {
  const known = ranks.get(fns);
  if (known && known.length === fns.n) return known;
  const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
  const order = Array.from({ length: fns.n }, (_, i) => i).sort(
    (a, b) =>
      compare(names[fns.name[a]], names[fns.name[b]]) ||
      compare(files[fns.file[a]], files[fns.file[b]]),
  );
  const rank = new Int32Array(fns.n);
  order.forEach((fn, at) => (rank[fn] = at));
  ranks.set(fns, rank);
  return rank;
}

export class Grove {
  n = 1; // node 0 is the root
  readonly fns: FunctionPairs;
  readonly names: string[];
  readonly files: string[];
  private fn: Int32Array;
  private parent: Int32Array;
  private self: Float64Array;
  private baseSelf: Float64Array | null;
  private inlined: Uint8Array; // 1: in all stacks so far
  private slots: Int32Array; // node + 1
  private mask: number;

  constructor(
    private from: Tree,
    rootFn: number,
    expected: number,
    more: { name: string; file: string }[] = [],
  ) {
    let size = 1024;
    while (size < expected * 2) size *= 2;
    this.slots = new Int32Array(size);
    this.mask = size - 1;
    this.fn = new Int32Array(size / 2);
    this.parent = new Int32Array(size / 2).fill(NONE);
    this.self = new Float64Array(size / 2);
    this.baseSelf = from.baseSelf ? new Float64Array(size / 2) : null;
    this.inlined = new Uint8Array(size / 2).fill(1);
    this.fn[0] = rootFn;
    this.inlined[0] = 0;
    this.names = from.names;
    this.files = from.files;
    this.fns = from.fns;
    if (more.length > 0) {
      const { n } = from.fns;
      this.names = [...from.names, ...more.map((f) => f.name)];
      this.files = [...from.files, ...more.map((f) => f.file)];
      this.fns = {
        n: n + more.length,
        name: Int32Array.from([...from.fns.name, ...more.map((_, i) => from.names.length + i)]),
        file: Int32Array.from([...from.fns.file, ...more.map((_, i) => from.files.length + i)]),
      };
    }
  }

  fnOf(node: number): number {
    return this.fn[node];
  }

  parentOf(node: number): number {
    return this.parent[node];
  }

  private slot(parent: number, fn: number): number {
    let h = Math.imul(parent, 0x9e3779b1) ^ Math.imul(fn, 0x85ebca6b);
    h ^= h >>> 15;
    h = Math.imul(h, 0x2c1b3c6d);
    let at = (h ^ (h >>> 13)) & this.mask;
    for (;;) {
      const node = this.slots[at] - 1;
      if (node < 0 || (this.parent[node] === parent && this.fn[node] === fn)) return at;
      at = (at + 1) & this.mask;
    }
  }

  private grow(): void {
    const size = this.slots.length * 2;
    this.slots = new Int32Array(size);
    this.mask = size - 1;
    this.fn = grown(this.fn, size / 2);
    this.parent = grown(this.parent, size / 2);
    this.self = grown(this.self, size / 2);
    if (this.baseSelf) this.baseSelf = grown(this.baseSelf, size / 2);
    this.inlined = grown(this.inlined, size / 2).fill(1, this.n);
    for (let i = 1; i < this.n; i++) this.slots[this.slot(this.parent[i], this.fn[i])] = i + 1;
  }

  /** The child of a node for this function; made when there is none. */
  child(parent: number, fn: number, inlined: number): number {
    let at = this.slot(parent, fn);
    let node = this.slots[at] - 1;
    if (node < 0) {
      if (this.n * 2 >= this.slots.length) {
        this.grow();
        at = this.slot(parent, fn);
      }
      node = this.n++;
      this.slots[at] = node + 1;
      this.fn[node] = fn;
      this.parent[node] = parent;
    }
    if (!inlined) this.inlined[node] = 0;
    return node;
  }

  /** Adds the value of stacks that end in this node. */
  add(node: number, value: number, base: number): void {
    this.self[node] += value;
    if (this.baseSelf) this.baseSelf[node] += base;
  }

  /** Totals from own values; a parent has a smaller number than its children. */
  private sums(self: Float64Array): Float64Array {
    const total = self.slice(0, this.n);
    for (let i = this.n - 1; i > 0; i--) total[this.parent[i]] += total[i];
    return total;
  }

  /** Nodes in preorder, siblings by name. Those without any value are left out. */
  private order(total: Float64Array, baseTotal: Float64Array | null): Int32Array {
    const { n, fn, parent } = this;
    const rank = rankOf(this.names, this.files, this.fns);
    // counting sort of all nodes by rank, then each goes in front of its parent's list, last first
    const start = new Int32Array(this.fns.n + 1);
    for (let i = 1; i < n; i++) start[rank[fn[i]] + 1]++;
    for (let r = 0; r < this.fns.n; r++) start[r + 1] += start[r];
    const sorted = new Int32Array(n - 1);
    for (let i = 1; i < n; i++) sorted[start[rank[fn[i]]]++] = i;
    const first = new Int32Array(n).fill(NONE);
    const next = new Int32Array(n).fill(NONE);
    for (let k = n - 2; k >= 0; k--) {
      const i = sorted[k];
      if (total[i] <= 0 && !(baseTotal && baseTotal[i] > 0)) continue;
      next[i] = first[parent[i]];
      first[parent[i]] = i;
    }
    const out = new Int32Array(n);
    let count = 0;
    for (let at = 0; at >= 0;) {
      out[count++] = at;
      let to = first[at];
      while (to < 0 && at > 0) {
        to = next[at];
        if (to < 0) at = parent[at];
      }
      at = to;
    }
    return out.subarray(0, count);
  }

  tree(): Tree {
    const total = this.sums(this.self);
    const baseTotal = this.baseSelf ? this.sums(this.baseSelf) : null;
    const order = this.order(total, baseTotal);
    const n = order.length;
    const depthOf = new Int32Array(this.n);
    for (let i = 1; i < this.n; i++) depthOf[i] = depthOf[this.parent[i]] + 1;
    const fn = new Int32Array(n);
    const depth = new Int32Array(n);
    const inlined = new Uint8Array(n);
    for (let k = 0; k < n; k++) {
      const i = order[k];
      fn[k] = this.fn[i];
      depth[k] = depthOf[i];
      inlined[k] = this.inlined[i];
    }
    const values = (a: Float64Array): Float64Array => {
      const out = new Float64Array(n);
      for (let k = 0; k < n; k++) out[k] = a[order[k]];
      return out;
    };
    return assembleTree(
      {
        names: this.names,
        files: this.files,
        fns: this.fns,
        fn,
        depth,
        total: values(total),
        self: values(this.self),
        baseTotal: baseTotal && values(baseTotal),
        baseSelf: this.baseSelf && values(this.baseSelf),
        inlined,
      },
      this.from.mode,
      this.from.whole,
    );
  }
}
