// Random trees, and the same as a list of stacks: what edits of a tree are checked against.

import { buildTree, nodeName, type Tree } from "../../../cluster-agent/web/src/model/tree";

export interface Stack {
  frames: string[]; // root first
  value: number;
  base: number;
}

export function randomSource(seed: number): () => number {
  let s = seed;
  return () => (s = (s * 48271) % 2147483647) / 2147483647;
}

const separator = "\n";

/** Stacks of a few functions, so that they repeat, recurse and share beginnings. */
export function randomStacks(seed: number, n: number, functions = 7): Stack[] {
  const rnd = randomSource(seed);
  return Array.from({ length: n }, () => ({
    frames: Array.from({ length: 1 + Math.floor(rnd() * 9) }, () =>
      String.fromCharCode(97 + Math.floor(rnd() ** 1.5 * functions)),
    ),
    value: rnd() < 0.2 ? 0 : Math.floor(rnd() * 100),
    base: rnd() < 0.2 ? 0 : Math.floor(rnd() * 100),
  }));
}

/** Even functions are in [even], the others in [odd]. */
export const fileOf = (name: string): string => (name.charCodeAt(0) % 2 ? "[odd]" : "[even]");

interface Node {
  name: string;
  children: Map<string, Node>;
  value: number;
  base: number;
}

/** The tree of some stacks by maps, with both sides. */
export function treeOfStacks(stacks: Stack[], root = "total"): Tree {
  const top: Node = { name: root, children: new Map(), value: 0, base: 0 };
  for (const s of stacks) {
    if (s.value === 0 && s.base === 0) continue;
    let at = top;
    for (const f of s.frames) {
      let next = at.children.get(f);
      if (!next) at.children.set(f, (next = { name: f, children: new Map(), value: 0, base: 0 }));
      at = next;
    }
    at.value += s.value;
    at.base += s.base;
  }
  const names: string[] = [];
  const files: string[] = [];
  const id = (list: string[], s: string): number =>
    list.includes(s) ? list.indexOf(s) : list.push(s) - 1;
  const nodes = {
    name: [] as number[],
    file: [] as number[],
    depth: [] as number[],
    total: [] as number[],
    self: [] as number[],
    baseTotal: [] as number[],
    baseSelf: [] as number[],
  };
  const walk = (n: Node, depth: number): [number, number] => {
    const i = nodes.name.push(id(names, n.name)) - 1;
    nodes.file.push(id(files, depth === 0 ? "" : fileOf(n.name)));
    nodes.depth.push(depth);
    nodes.self.push(n.value);
    nodes.baseSelf.push(n.base);
    nodes.total.push(0);
    nodes.baseTotal.push(0);
    let value = n.value;
    let base = n.base;
    for (const key of [...n.children.keys()].sort()) {
      const [v, b] = walk(n.children.get(key) as Node, depth + 1);
      value += v;
      base += b;
    }
    nodes.total[i] = value;
    nodes.baseTotal[i] = base;
    return [value, base];
  };
  walk(top, 0);
  return buildTree({ names, files, nodes });
}

/** All stacks of a tree with their values, merged and sorted: two trees with the same are equal. */
export function stackTexts(t: Tree): string[] {
  const path: string[] = [];
  const out: string[] = [];
  for (let i = 0; i < t.n; i++) {
    path.length = t.depth[i];
    path.push(nodeName(t, i));
    const base = t.baseSelf ? t.baseSelf[i] : 0;
    if (t.self[i] > 0 || base > 0)
      out.push(`${path.slice(1).join(separator)} ${t.self[i]} ${base}`);
  }
  return out.sort();
}

export function mergedTexts(stacks: Stack[]): string[] {
  const sums = new Map<string, [number, number]>();
  for (const s of stacks) {
    if (s.value === 0 && s.base === 0) continue;
    const key = s.frames.join(separator);
    const sum = sums.get(key) ?? [0, 0];
    sums.set(key, [sum[0] + s.value, sum[1] + s.base]);
  }
  return [...sums].map(([key, [value, base]]) => `${key} ${value} ${base}`).sort();
}
