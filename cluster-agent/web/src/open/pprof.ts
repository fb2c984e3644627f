// Reads a pprof (profile.proto). Its messages refer to each other by ids and indexes and come in
// any order, the names usually last: so samples are read after everything else. A reference to
// something that does not exist costs that sample or that name, not the file.

import { ProtoReader } from "./proto";
import { addValue, checkCount, FileError, MAX_DEPTH, pageUnit } from "./stacks";
import { StackTable, UNKNOWN } from "./stacks";
import type { FileContent, FileType } from "./stacks";

type Id = number | bigint;

interface Location {
  mapping: Id;
  address: Id;
  lines: { fn: Id; line: number }[]; // the last one is the function, the others are inlined into it
}

interface Function {
  name: number; // index of texts, as are the next two
  systemName: number;
  file: number;
}

interface Parts {
  types: { type: number; unit: number }[];
  samples: ProtoReader[];
  locations: Map<Id, Location>;
  functions: Map<Id, Function>;
  mappings: Map<Id, { file: number; build: number }>;
  texts: string[];
  time: number; // ns
  duration: number;
  preferred: number; // index of a text
  comments: number[]; // likewise
}

/** Reads the numbers of a message by their fields. */
function fields(r: ProtoReader, wanted: number): number[] {
  const out = new Array<number>(wanted + 1).fill(0);
  while (r.next()) {
    if (r.field <= wanted) out[r.field] = r.int();
    else r.skip();
  }
  return out;
}

function readLocation(r: ProtoReader, p: Parts): void {
  let id: Id = 0;
  const l: Location = { mapping: 0, address: 0, lines: [] };
  while (r.next()) {
    if (r.field === 1) id = r.id();
    else if (r.field === 2) l.mapping = r.id();
    else if (r.field === 3) l.address = r.id();
    else if (r.field === 4) {
      const of = r.message();
      const line = { fn: 0 as Id, line: 0 };
      while (of.next()) {
        if (of.field === 1) line.fn = of.id();
        else if (of.field === 2) line.line = of.int();
        else of.skip();
      }
      l.lines.push(line);
      checkCount(l.lines.length, "functions at one location", MAX_DEPTH);
    } else r.skip();
  }
  p.locations.set(id, l);
  checkCount(p.locations.size, "locations");
}

function readFunction(r: ProtoReader, p: Parts): void {
  let id: Id = 0;
  const f: Function = { name: 0, systemName: 0, file: 0 };
  while (r.next()) {
    if (r.field === 1) id = r.id();
    else if (r.field === 2) f.name = r.int();
    else if (r.field === 3) f.systemName = r.int();
    else if (r.field === 4) f.file = r.int();
    else r.skip();
  }
  p.functions.set(id, f);
  checkCount(p.functions.size, "functions");
}

function readMapping(r: ProtoReader, p: Parts): void {
  let id: Id = 0;
  const m = { file: 0, build: 0 };
  while (r.next()) {
    if (r.field === 1) id = r.id();
    else if (r.field === 5) m.file = r.int();
    else if (r.field === 6) m.build = r.int();
    else r.skip();
  }
  p.mappings.set(id, m);
  checkCount(p.mappings.size, "mappings");
}

function readParts(bytes: Uint8Array): Parts {
  const p: Parts = {
    ...{ types: [], samples: [], texts: [], comments: [], time: 0, duration: 0, preferred: 0 },
    ...{ locations: new Map(), functions: new Map(), mappings: new Map() },
  };
  const decoder = new TextDecoder();
  const r = new ProtoReader(bytes);
  while (r.next()) {
    if (r.field === 1) {
      const [, type, unit] = fields(r.message(), 2);
      p.types.push({ type, unit });
      checkCount(p.types.length, "types", 100);
    } else if (r.field === 2) {
      p.samples.push(r.message());
      checkCount(p.samples.length, "samples");
    } else if (r.field === 3) readMapping(r.message(), p);
    else if (r.field === 4) readLocation(r.message(), p);
    else if (r.field === 5) readFunction(r.message(), p);
    else if (r.field === 6) {
      p.texts.push(r.text(decoder));
      checkCount(p.texts.length, "names");
    } else if (r.field === 9) p.time = r.int();
    else if (r.field === 10) p.duration = r.int();
    else if (r.field === 13) r.numbers((n) => p.comments.length < 100 && p.comments.push(n.int()));
    else if (r.field === 14) p.preferred = r.int();
    else r.skip();
  }
  return p;
}

/** Makes the frames of locations, each once. */
class Frames {
  private known = new Map<Id, number[]>(); // of a location, root first

  constructor(
    private p: Parts,
    private table: StackTable,
  ) {}

  private text(index: number): string {
    const text = this.p.texts[index];
    if (text === undefined) this.table.lose("names that the file does not have");
    return text ?? "";
  }

  /** As the server names code by its binary: `[libc.so.6:<build id>]`. */
  private module(l: Location): string {
    const m = this.p.mappings.get(l.mapping);
    const file = m ? this.text(m.file) : "";
    const build = m && /^[0-9a-f]{4,64}$/.test(this.text(m.build)) ? `:${this.text(m.build)}` : "";
    const base = file.slice(file.lastIndexOf("/") + 1);
    return base && !base.startsWith("[") ? `[${base}${build}]` : base;
  }

  /** Root first; null if there is no such location. */
  of(id: Id): number[] | null {
    const known = this.known.get(id);
    if (known) return known;
    const l = this.p.locations.get(id);
    if (!l) return null;
    const frames: number[] = [];
    for (let i = l.lines.length - 1; i >= 0; i--) {
      const { fn, line } = l.lines[i];
      const f = this.p.functions.get(fn);
      const name = f ? this.text(f.name) || this.text(f.systemName) : "";
      const file = (f && this.text(f.file)) || this.module(l);
      const shown = name || this.unnamed(l);
      frames.push(this.table.frame(shown, file, Math.max(0, line), i < l.lines.length - 1));
    }
    if (frames.length === 0) frames.push(this.table.frame(this.unnamed(l), this.module(l)));
    this.known.set(id, frames);
    return frames;
  }

  private unnamed(l: Location): string {
    const module = this.module(l).replace(/^\[(.*?)(?::[0-9a-f]+)?\]$/, "$1");
    return l.address === 0 ? "[unknown]" : `${module && `${module}+`}0x${l.address.toString(16)}`;
  }
}

function readSample(r: ProtoReader, frames: Frames, types: FileType[], table: StackTable): void {
  const locations: Id[] = [];
  const values: number[] = [];
  while (r.next()) {
    if (r.field === 1) r.numbers((n) => locations.push(n.id()));
    else if (r.field === 2) r.numbers((n) => values.push(n.int()));
    else r.skip();
    checkCount(locations.length + values.length, "numbers in one sample", 1_000_000);
  }
  if (values.length !== types.length) return table.lose("samples without a value for each type");
  const stack: number[] = []; // leaf first
  for (let i = 0; i < locations.length && stack.length <= MAX_DEPTH; i++) {
    const found = frames.of(locations[i]);
    if (!found) return table.lose("samples at locations that the file does not have");
    for (let k = found.length - 1; k >= 0; k--) stack.push(found[k]);
  }
  if (stack.length === 0) stack.push(table.frame("[unknown]", ""));
  const at = table.add(stack.reverse());
  types.forEach((t, i) => addValue(t, table, at, values[i]));
}

/** The main type is the one that the file names, otherwise the last one, as in pprof. */
export function readPprof(bytes: Uint8Array): FileContent {
  const p = readParts(bytes);
  if (p.types.length === 0 || p.texts[0] !== "") throw new FileError(UNKNOWN);
  const table = new StackTable();
  const units = p.types.map((t) => pageUnit(p.texts[t.unit] ?? ""));
  const types: FileType[] = p.types.map((t, i) => ({
    title: (p.texts[t.type] ?? "").slice(0, 100) || `type ${i + 1}`,
    unit: units[i][0],
    stacks: [],
    values: [],
  }));
  const frames = new Frames(p, table);
  for (const s of p.samples) readSample(s, frames, types, table);
  types.forEach((t, i) => {
    const scale = units[i][1];
    if (scale !== 1) t.values = t.values.map((v) => v * scale);
  });
  const named = p.preferred ? types.findIndex((t) => t.title === p.texts[p.preferred]) : -1;
  // profiles of ours, whose types have three parts, say when they end; others when they begin
  const ours = types.some((t) => t.title.split(":").length === 3);
  return {
    ...{ table, types },
    main: named >= 0 ? named : types.length - 1,
    ...timesOf(p, ours),
  };
}

/** The comment that says which range was asked for, of which profiles may cover a part. */
const RANGE = /^range (\S+)\/(\S+)$/;
const iso = (ms: number): string => new Date(ms).toISOString();
export const rangeComment = (s: { from: number; to: number }): string =>
  `range ${iso(s.from)}/${iso(s.to)}`;

/** When it was, and how much of that time its values stand for. */
function timesOf(p: Parts, ours: boolean): { from: number; to: number; covered: number } {
  const covered = Math.max(0, p.duration) / 1e6;
  const said = p.comments.map((c) => RANGE.exec(p.texts[c] ?? "")).find(Boolean);
  const [from, to] = said ? [Date.parse(said[1]), Date.parse(said[2])] : [0, 0];
  if (from < to) return { from, to, covered };
  const begin = p.time > 0 ? p.time / 1e6 - (ours ? covered : 0) : 0;
  return { from: begin, to: begin && begin + covered, covered };
}
