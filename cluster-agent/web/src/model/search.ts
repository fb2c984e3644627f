// Search: plain text, /regular expression/ or "exact name"; only the exact one is case-sensitive.

import type { Tree } from "./tree";

export interface Query {
  test: (name: string, file: string) => boolean;
  /** The same by the numbers of both in these lists. */
  among: (names: string[], files: string[]) => (name: number, file: number) => boolean;
  error: string; // why a regular expression is invalid; "" otherwise
}

type Test = (text: string) => boolean;

/** Tests each text of a list once, however many functions and frames share it. */
function onceEach(test: Test): (list: string[]) => Uint8Array {
  const known = new WeakMap<string[], Uint8Array>();
  return (list) => {
    let hits = known.get(list);
    if (!hits) known.set(list, (hits = Uint8Array.from(list, (text) => Number(test(text)))));
    return hits;
  };
}

function queryOf(inName: Test, inFile: Test, error = ""): Query {
  const ofNames = onceEach(inName);
  const ofFiles = onceEach(inFile);
  return {
    test: (name, file) => inName(name) || inFile(file),
    among: (names, files) => {
      const n = ofNames(names);
      const f = ofFiles(files);
      return (name, file) => n[name] === 1 || f[file] === 1;
    },
    error,
  };
}

const never: Test = () => false;

function compile(q: string): Query | null {
  if (q === "" || q === "/") return null;
  if (q.length > 2 && q.startsWith('"') && q.endsWith('"')) {
    const exact = q.slice(1, -1);
    return queryOf((name) => name === exact, never);
  }
  if (q.startsWith("/")) {
    const body = q.length > 2 && q.endsWith("/") ? q.slice(1, -1) : q.slice(1);
    try {
      const re = new RegExp(body, "i");
      return queryOf(
        (name) => re.test(name),
        (file) => file !== "" && re.test(file),
      );
    } catch (e) {
      return queryOf(never, never, (e as Error).message.replace(/^.*: /, ""));
    }
  }
  const plain = q.toLowerCase();
  const has: Test = (text) => text.toLowerCase().includes(plain);
  return queryOf(has, has);
}

let latest = { text: "", query: null as Query | null };

/** The same query for the same text, so that the graph and the table share what it has tested. */
export function compileQuery(text: string): Query | null {
  const q = text.trim();
  if (q !== latest.text) latest = { text: q, query: compile(q) };
  return latest.query;
}

export const exactQuery = (name: string): string => `"${name}"`;

export interface Matches {
  hit: Uint8Array; // per node
  before: Int32Array; // hits among nodes 0..i-1, for "does this range hold any"
  frames: number;
  functions: number;
  total: number; // of all stacks through a match; each counted once
  baseTotal: number;
}

export function matchTree(t: Tree, q: Query): Matches {
  const m: Matches = {
    hit: new Uint8Array(t.n),
    before: new Int32Array(t.n + 1),
    frames: 0,
    functions: 0,
    total: 0,
    baseTotal: 0,
  };
  const { fns } = t;
  const hits = new Uint8Array(fns.n); // functions are few, nodes are many
  const root = t.n > 0 ? t.fn[0] : -1; // no function
  const matches = q.among(t.names, t.files);
  for (let fn = 0; fn < fns.n; fn++)
    if (fn !== root && matches(fns.name[fn], fns.file[fn])) hits[fn] = 1;
  const seen = new Uint8Array(fns.n);
  const { hit, before } = m;
  const { n, fn, end, total, baseTotal } = t;
  let frames = 0;
  let covered = 0; // nodes before this one lie below a match already counted
  for (let i = 0; i < n; i++) {
    const f = fn[i];
    if (hits[f] === 1) {
      hit[i] = 1;
      frames++;
      if (seen[f] === 0) {
        seen[f] = 1;
        m.functions++;
      }
      if (i >= covered) {
        m.total += total[i];
        if (baseTotal) m.baseTotal += baseTotal[i];
        covered = end[i];
      }
    }
    before[i + 1] = frames;
  }
  m.frames = frames;
  return m;
}
