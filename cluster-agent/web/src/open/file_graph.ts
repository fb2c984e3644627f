// From the stacks of a file, or of two, to what the server would answer about them: so that all
// views of a profile work on a file as well.

import { baseFactor } from "../model/comparison";
import { fileKey } from "../model/file_key";
import { Grove } from "../model/grove";
import { functionColumns } from "../model/transform";
import { assembleTree, type Tree } from "../model/tree";
import type { BaseInfo, Figures, FlameGraph, FunctionView } from "../state/api";
import type { FunctionId } from "../model/url_state";
import type { OpenedFile } from "./open_file";
import { isLevel, sumOf, type FileType, type StackTable } from "./stacks";

const MAX_NODES = 300_000; // more cannot be drawn at every move of the mouse
export const LEFT_OUT = "[left out]";

/** One type of a file. */
export interface Side {
  file: OpenedFile;
  type: FileType;
}

/** The type of another file for a type: the same, or one of the same unit. */
export function sameType(b: OpenedFile, { type }: Side): Side | null {
  const found =
    b.types.find((t) => t.title === type.title && t.unit === type.unit) ??
    b.types.find((t) => t.unit === type.unit);
  return found ? { file: b, type: found } : null;
}

/** Functions of one or two files: one of the same name, in a file of the same key, is the same. */
class Functions {
  readonly names: string[] = [];
  readonly files: string[] = [];
  private ids = new Map<string, number>();
  private texts = new Map<string, number>();

  id(name: string, file: string): number {
    const key = `${name}\n${fileKey(file)}`;
    let id = this.ids.get(key);
    if (id === undefined) {
      id = this.names.push(name) - 1;
      this.files.push(file);
      this.ids.set(key, id);
    }
    return id;
  }

  of(table: StackTable): Int32Array {
    return Int32Array.from(table.name, (name, i) => this.id(name, table.file[i]));
  }

  private numbered(all: string[], list: string[]): Int32Array {
    this.texts.clear();
    return Int32Array.from(all, (text) => {
      const known = this.texts.get(text);
      if (known !== undefined) return known;
      const at = list.push(text) - 1;
      this.texts.set(text, at);
      return at;
    });
  }

  columns() {
    const names: string[] = [];
    const files: string[] = [];
    const name = this.numbered(this.names, names);
    const file = this.numbered(this.files, files);
    return { names, files, fns: { n: name.length, name, file } };
  }
}

function emptyTree(f: Functions, compared: boolean): Tree {
  const none = (): Float64Array => new Float64Array(0);
  return assembleTree(
    {
      ...f.columns(),
      fn: new Int32Array(0),
      depth: new Int32Array(0),
      total: none(),
      self: none(),
      baseTotal: compared ? none() : null,
      baseSelf: compared ? none() : null,
      inlined: new Uint8Array(0),
    },
    "share",
  );
}

interface Part {
  side: Side;
  fnOf: Int32Array; // of frames
  isBase: boolean;
}

/** Largest first, so that the small ones are left out if there are too many; returns how many. */
function plant(grove: Grove, part: Part, most: number, leftOut: number): number {
  const { stacks, values } = part.side.type;
  const { table } = part.side.file;
  const order = Array.from(stacks, (_, i) => i).sort((a, b) => values[b] - values[a]);
  let lost = 0;
  for (const i of order) {
    let node = 0;
    const whole = grove.n < most;
    if (!whole) lost++;
    if (!whole) node = grove.child(0, leftOut, 0);
    else
      for (const f of table.framesOf(stacks[i]))
        node = grove.child(node, part.fnOf[f], table.inlined[f] ? 1 : 0);
    grove.add(node, part.isBase ? 0 : values[i], part.isBase ? values[i] : 0);
  }
  return lost;
}

const noQuality = { samples: 0, truncated: 0, lost: 0, lostReasons: {} };

/** What the graph of files says besides. */
export interface FileGraph {
  graph: FlameGraph;
  stacksLeftOut: number; // too small to have frames of their own
  factor: number; // of the baseline's values where they are absolute: as of a live comparison
}

/** How much a side has per second, if its file says how long that took; a level is as it is. */
function rateOf({ file, type }: Side): { rate: number; covered: number } {
  const total = sumOf(type);
  const perSecond = file.covered > 0 ? (total / file.covered) * 1000 : 0;
  return { rate: isLevel(type.title) ? total : perSecond, covered: file.covered };
}

export function fileGraph(a: Side, b: Side | null): FileGraph {
  const functions = new Functions();
  const root = functions.id("total", "");
  const leftOut = functions.id(LEFT_OUT, "");
  const parts = [a, ...(b ? [b] : [])].map((side, i) => {
    const fnOf = functions.of(side.file.table);
    return { side, fnOf, isBase: i === 1 };
  });
  const grove = new Grove(emptyTree(functions, b !== null), root, 1024);
  let lost = 0;
  parts.forEach((p, i) => (lost += plant(grove, p, (MAX_NODES * (i + 1)) / parts.length, leftOut)));
  const tree = grove.tree();
  const inlined: number[] = [];
  tree.inlined.forEach((v, i) => v && inlined.push(i));
  const { fn, depth, total, self, baseTotal, baseSelf, fns } = tree;
  const ofBase = baseTotal && baseSelf ? { baseTotal, baseSelf } : {};
  const graph: FlameGraph = {
    service: a.file.name,
    type: `file:${a.type.title}:${a.type.unit}`,
    unit: a.type.unit,
    ...{ from: a.file.from, to: a.file.to, total: sumOf(a.type), quality: noQuality },
    ...{ names: tree.names, files: tree.files, pairs: { name: fns.name, file: fns.file } },
    nodes: { function: fn, depth, total, self, inlined, ...ofBase },
    functions: functionColumns(tree),
    other: { nodes: 0, value: 0 },
    ...{ stacks: a.type.stacks.length, stacksCut: 0, valueCut: 0 },
  };
  if (!b) return { graph, stacksLeftOut: lost, factor: 1 };
  const compared = { ...graph, ...rateOf(a), base: baseOf(b) };
  const factor = baseFactor(compared, compared.base, !isLevel(a.type.title));
  return { graph: compared, stacksLeftOut: lost, factor };
}

const baseOf = (b: Side): BaseInfo => ({
  ...{ service: b.file.name, from: b.file.from, to: b.file.to, total: sumOf(b.type) },
  ...{ quality: noQuality, stacks: b.type.stacks.length, ...rateOf(b) },
});

const nothing = { self: 0, total: 0, baseSelf: 0, baseTotal: 0 };

type Line = FunctionView["lines"][number];

/** Adds what the stacks of a side say about the lines of a function. */
function addLines(
  { file, type }: Side,
  fn: FunctionId,
  lines: Map<string, Line>,
  put: (f: Figures, total: number, self: number) => void,
  all: Figures,
): void {
  const { table } = file;
  const key = fileKey(fn.file);
  const is = table.name.map((name, f) => name === fn.name && fileKey(table.file[f]) === key);
  type.stacks.forEach((stack, i) => {
    const frames = table.framesOf(stack);
    const seen = new Set<string>();
    frames.forEach((f, at) => {
      if (!is[f]) return;
      const [line, inlined] = [table.line[f], table.inlined[f]];
      const id = `${line} ${inlined}`;
      const entry = lines.get(id) ?? { line, inlined, ...nothing };
      lines.set(id, entry);
      const self = at === frames.length - 1 ? type.values[i] : 0;
      put(entry, seen.has(id) ? 0 : type.values[i], self);
      put(all, seen.size > 0 ? 0 : type.values[i], self);
      seen.add(id);
    });
  });
}

const noTree = { names: [], files: [], nodes: { depth: [], total: [], self: [] } };

/** The lines of a function, as the server would answer. */
export function fileFunction(fn: FunctionId, a: Side, b: Side | null): FunctionView {
  const lines = new Map<string, Line>();
  const all = { ...nothing };
  const own = (f: Figures, total: number, self: number): void => {
    f.total += total;
    f.self += self;
  };
  const base = (f: Figures, total: number, self: number): void => {
    f.baseTotal = (f.baseTotal ?? 0) + total;
    f.baseSelf = (f.baseSelf ?? 0) + self;
  };
  addLines(a, fn, lines, own, all);
  if (b) addLines(b, fn, lines, base, all);
  return { ...fn, ...all, lines: [...lines.values()], callers: noTree, callees: noTree };
}
