// Search: plain text, /regular expression/ or "exact name"; only the exact one is case-sensitive.

import type { Tree } from "./tree";

export interface Query {
  test: (name: string, file: string) => boolean;
  error: string; // why a regular expression is invalid; "" otherwise
}

export function compileQuery(text: string): Query | null {
  const q = text.trim();
  if (q === "" || q === "/") return null;
  if (q.length > 2 && q.startsWith('"') && q.endsWith('"')) {
    const exact = q.slice(1, -1);
    return { test: (name) => name === exact, error: "" };
  }
  if (q.startsWith("/")) {
    const body = q.length > 2 && q.endsWith("/") ? q.slice(1, -1) : q.slice(1);
    try {
      const re = new RegExp(body, "i");
      return { test: (name, file) => re.test(name) || (file !== "" && re.test(file)), error: "" };
    } catch (e) {
      const why = (e as Error).message.replace(/^.*: /, "");
      return { test: () => false, error: why };
    }
  }
  const plain = q.toLowerCase();
  return {
    test: (name, file) => name.toLowerCase().includes(plain) || file.toLowerCase().includes(plain),
    error: "",
  };
}

export const exactQuery = (name: string): string => `"${name}"`;

export interface Matches {
  hit: Uint8Array; // per node
  before: Int32Array; // hits among nodes 0..i-1, for "does this range hold any"
  frames: number;
  total: number; // of all stacks through a match; each counted once
}

export function matchTree(t: Tree, q: Query): Matches {
  const m: Matches = {
    hit: new Uint8Array(t.n),
    before: new Int32Array(t.n + 1),
    frames: 0,
    total: 0,
  };
  const known = new Map<number, boolean>(); // (name, file) pairs are few, nodes are many
  let covered = 0; // nodes before this one lie below a match already counted
  for (let i = 0; i < t.n; i++) {
    m.before[i + 1] = m.before[i];
    if (i === 0) continue; // the root is no function
    const pair = t.name[i] * t.files.length + t.file[i];
    let hit = known.get(pair);
    if (hit === undefined) {
      hit = q.test(t.names[t.name[i]], t.files[t.file[i]]);
      known.set(pair, hit);
    }
    if (!hit) continue;
    m.hit[i] = 1;
    m.before[i + 1]++;
    m.frames++;
    if (i >= covered) {
      m.total += t.total[i];
      covered = t.end[i];
    }
  }
  return m;
}
