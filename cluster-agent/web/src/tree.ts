// The merged tree of a flame graph: columns as the server sends them, plus the few
// that drawing needs. Nodes are in depth-first preorder, so a subtree is a range.

export interface TreeColumns {
  names: string[];
  files: string[];
  nodes: { name: number[]; file: number[]; depth: number[]; total: number[]; self: number[] };
}

export interface Tree {
  n: number;
  names: string[];
  files: string[];
  name: Int32Array;
  file: Int32Array;
  depth: Int32Array;
  total: Float64Array;
  self: Float64Array;
  parent: Int32Array; // -1 for the root
  end: Int32Array; // first node behind the subtree
  start: Float64Array; // left edge, in values
  maxDepth: number;
  keyHigh: Uint32Array; // path key: the same stack has the same key in every answer
  keyLow: Uint32Array;
}

function textHash(text: string, seed: number): number {
  let h = seed;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  return h >>> 0;
}

const step = (parent: number, item: number, prime: number): number => {
  let h = Math.imul(parent ^ item, prime);
  h ^= h >>> 15;
  return Math.imul(h, 0x85ebca6b) >>> 0;
};

/** Throws if the columns are not a tree. */
export function buildTree(c: TreeColumns): Tree {
  const n = c.nodes.name.length;
  const { name, file, depth, total, self } = c.nodes;
  if ([file, depth, total, self].some((col) => col.length !== n))
    throw new Error("columns of different length");
  const t: Tree = {
    n,
    names: c.names,
    files: c.files,
    name: Int32Array.from(name),
    file: Int32Array.from(file),
    depth: Int32Array.from(depth),
    total: Float64Array.from(total),
    self: Float64Array.from(self),
    parent: new Int32Array(n).fill(-1),
    end: new Int32Array(n).fill(n),
    start: new Float64Array(n),
    maxDepth: 0,
    keyHigh: new Uint32Array(n),
    keyLow: new Uint32Array(n),
  };
  const nameHash = c.names.map((s) => [textHash(s, 0x811c9dc5), textHash(s, 0x1234567)]);
  const fileHash = c.files.map((s) => textHash(s, 0x9e3779b9));
  const path: number[] = []; // path[d] = latest node of depth d
  const cursor: number[] = [0]; // cursor[d] = where the next node of depth d begins
  for (let i = 0; i < n; i++) {
    const d = depth[i];
    if (i === 0 ? d !== 0 : d < 1 || d > path.length) throw new Error(`node ${i} has no parent`);
    for (let k = path.length - 1; k >= d; k--) t.end[path[k]] = i;
    path.length = d;
    path.push(i);
    t.start[i] = cursor[d];
    cursor[d] += t.total[i];
    cursor[d + 1] = t.start[i];
    if (d > t.maxDepth) t.maxDepth = d;
    const p = d > 0 ? path[d - 1] : -1;
    t.parent[i] = p;
    const [high, low] = nameHash[name[i]];
    t.keyHigh[i] = step(p < 0 ? 17 : t.keyHigh[p], high, 0x01000193);
    t.keyLow[i] = step(p < 0 ? 29 : t.keyLow[p], low ^ fileHash[file[i]], 0xc2b2ae35);
  }
  return t;
}

const word = (v: number): string => v.toString(16).padStart(8, "0");

/** Address of a node that survives a new answer: 16 hex digits; "" for the root. */
export const pathKey = (t: Tree, node: number): string =>
  node <= 0 ? "" : word(t.keyHigh[node]) + word(t.keyLow[node]);

/** The node with this key, 0 for "", -1 when this tree has none. */
export function findByKey(t: Tree, key: string): number {
  if (key === "") return 0;
  const high = parseInt(key.slice(0, 8), 16);
  const low = parseInt(key.slice(8), 16);
  for (let i = 1; i < t.n; i++) if (t.keyHigh[i] === high && t.keyLow[i] === low) return i;
  return -1;
}

/** From the root to the node. */
export function ancestry(t: Tree, node: number): number[] {
  const path: number[] = [];
  for (let i = node; i >= 0; i = t.parent[i]) path.unshift(i);
  return path;
}

/** Brendan Gregg's folded form: one line per stack with own value, root first. */
export function foldedText(t: Tree): string {
  const path: string[] = [];
  const lines: string[] = [];
  for (let i = 1; i < t.n; i++) {
    const d = t.depth[i];
    path.length = d - 1;
    path.push(t.names[t.name[i]].replace(/[;\n]/g, ":"));
    if (t.self[i] > 0) lines.push(`${path.join(";")} ${t.self[i]}`);
  }
  return lines.length === 0 ? "" : `${lines.join("\n")}\n`;
}
