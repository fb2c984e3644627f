// Reads a recording of Java Flight Recorder, of the JDK or of async-profiler. It is chunks, each
// with its own description of what its events and constants are made of (metadata), constants by
// number (stacks, methods, names), and events. A chunk is read in two passes, as constants may come
// after the events that refer to them. Values are read by what the metadata says, whatever release
// wrote it. What a hostile file may claim is bounded by its size: each chunk has so many steps to
// be read in.

import { addValue, checkCount, FileError, StackTable } from "./stacks";
import type { FileContent, FileType } from "./stacks";

type Id = number | bigint;
type Value = Id | string | null | Value[] | Fields;
interface Fields {
  [name: string]: Value;
}

interface Field {
  name: string;
  type: Id;
  array: boolean;
  constant: boolean; // a number that refers to a constant
}

interface Class {
  name: string;
  fields: Field[];
}

const HEADER = 68; // bytes
const METADATA = 0; // types of events
const CONSTANTS = 1;
const MAX_DEPTH = 16; // of values in values
const STEPS_PER_BYTE = 8; // more than any value has

const damaged = (): FileError => new FileError("It is damaged: a part of it ends in the middle.");

class Reader {
  private utf8 = new TextDecoder();
  private latin1 = new TextDecoder("latin1");

  constructor(
    readonly bytes: Uint8Array,
    public at: number,
    readonly end: number,
  ) {}

  byte(): number {
    if (this.at >= this.end) throw damaged();
    return this.bytes[this.at++];
  }

  skip(n: number): void {
    if (n > this.end - this.at) throw damaged();
    this.at += n;
  }

  /** Seven bits a byte, and eight in the ninth; exact, as ids use all 64. */
  id(): Id {
    let v = 0;
    let scale = 1;
    for (let i = 0; i < 7; i++, scale *= 128) {
      const b = this.byte();
      v += (b & 127) * scale;
      if (b < 128) return v;
    }
    let wide = BigInt(v);
    const eighth = this.byte();
    wide |= BigInt(eighth & 127) << 49n;
    if (eighth >= 128) wide |= BigInt(this.byte()) << 56n;
    return wide <= 9007199254740991n ? Number(wide) : wide;
  }

  int(): number {
    return Number(this.id());
  }

  /** A number of things of which each has at least one byte. */
  count(): number {
    const n = this.int();
    if (n > this.end - this.at) throw damaged();
    return n;
  }

  private text(decoder: TextDecoder): string {
    const n = this.count();
    this.at += n;
    return decoder.decode(this.bytes.subarray(this.at - n, this.at));
  }

  /** A string, or the number of the constant that is one. */
  string(): string | Id | null {
    const kind = this.byte();
    if (kind === 0) return null;
    if (kind === 1) return "";
    if (kind === 2) return this.id();
    if (kind === 3) return this.text(this.utf8);
    if (kind === 5) return this.text(this.latin1);
    if (kind !== 4) throw damaged();
    const n = this.count();
    let s = "";
    for (let i = 0; i < n; i++) s += String.fromCharCode(this.int() & 0xffff);
    return s;
  }
}

/** The classes of a chunk by number, and how many more values may be read of it. */
class Classes extends Map<Id, Class> {
  constructor(private left: number) {
    super();
  }

  spend(steps: number): void {
    if ((this.left -= steps) < 0) throw damaged();
  }
}

/** The elements of the metadata: classes with their fields, all others only to be passed over. */
function readElement(
  r: Reader,
  texts: string[],
  classes: Classes,
  of: Class | null,
  depth: number,
): void {
  if (depth > MAX_DEPTH) throw damaged();
  const text = (): string => texts[r.int()] ?? "";
  const element = text();
  const attributes: Record<string, string> = Object.create(null) as Record<string, string>;
  for (let n = r.count(); n > 0; n--) attributes[text()] = text();
  const name = attributes.name ?? "";
  const number = (s: string | undefined): number => Number(s ?? 0);
  let next: Class | null = null;
  if (element === "class") classes.set(number(attributes.id), (next = { name, fields: [] }));
  else if (element === "field" && of)
    of.fields.push({
      name,
      type: number(attributes.class),
      array: number(attributes.dimension) > 0,
      constant: attributes.constantPool === "true",
    });
  for (let n = r.count(); n > 0; n--) readElement(r, texts, classes, next, depth + 1);
}

function readMetadata(bytes: Uint8Array, at: number, end: number): Classes {
  const r = new Reader(bytes, at, end);
  r.int(); // size
  if (r.int() !== METADATA) throw damaged();
  for (let i = 0; i < 3; i++) r.id(); // start, duration, number
  const texts: string[] = [];
  for (let n = r.count(); n > 0; n--) texts.push(String(r.string() ?? ""));
  const classes = new Classes(STEPS_PER_BYTE * bytes.length);
  readElement(r, texts, classes, null, 0);
  return classes;
}

const WIDTHS: Record<string, number> = { boolean: 1, byte: 1, float: 4, double: 8 };
const NUMBERS = new Set(["char", "short", "int", "long"]);

function readValue(r: Reader, classes: Classes, type: Id, depth: number): Value {
  const c = classes.get(type);
  if (!c || depth > MAX_DEPTH) throw damaged();
  if (NUMBERS.has(c.name)) return r.id();
  if (c.name === "java.lang.String") return r.string();
  const width = WIDTHS[c.name];
  if (width) {
    r.skip(width);
    return null;
  }
  return readFields(r, classes, c, depth);
}

function readFields(r: Reader, classes: Classes, c: Class, depth: number): Fields {
  const out: Fields = Object.create(null) as Fields;
  classes.spend(c.fields.length + 1);
  for (const f of c.fields) {
    const one = (): Value => (f.constant ? r.id() : readValue(r, classes, f.type, depth + 1));
    if (!f.array) out[f.name] = one();
    else {
      const n = r.count();
      classes.spend(n);
      out[f.name] = Array.from({ length: n }, one);
    }
  }
  return out;
}

type Pools = Map<string, Map<Id, Value>>; // constants by class

function readConstants(r: Reader, classes: Classes, pools: Pools): void {
  for (let i = 0; i < 3; i++) r.id(); // start, duration, where the one before is
  r.byte(); // kind
  for (let n = r.count(); n > 0; n--) {
    const type = r.id();
    const name = classes.get(type)?.name ?? "";
    const pool = pools.get(name) ?? new Map<Id, Value>();
    pools.set(name, pool);
    for (let k = r.count(); k > 0; k--) {
      const id = r.id();
      pool.set(id, readValue(r, classes, type, 0));
    }
    checkCount(pool.size, "constants");
  }
}

const isFields = (v: Value | undefined): v is Fields =>
  typeof v === "object" && v !== null && !Array.isArray(v);

/** Names of a chunk, and its stacks in the table of the file. */
class Names {
  private frames = new Map<string, number>();
  private stacks = new Map<Id, number>();

  constructor(
    private pools: Pools,
    private table: StackTable,
  ) {}

  private constant(kind: string, id: Value | undefined): Value | undefined {
    return this.pools.get(kind)?.get(id as Id);
  }

  private text(v: Value | undefined): string {
    const s = typeof v === "string" ? v : this.constant("java.lang.String", v);
    return typeof s === "string" ? s : "";
  }

  private symbol(id: Value | undefined): string {
    const s = this.constant("jdk.types.Symbol", id);
    return isFields(s) ? this.text(s.string) : "";
  }

  private frame(f: Fields): number {
    const given = Number(f.lineNumber ?? 0); // -1 is 2^32 - 1 here
    const line = given > 0 && given < 2 ** 31 ? given : 0;
    const key = `${String(f.method)} ${line} ${String(f.type)}`;
    const known = this.frames.get(key);
    if (known !== undefined) return known;
    const method = this.constant("jdk.types.Method", f.method);
    const of = isFields(method) ? this.constant("java.lang.Class", method.type) : undefined;
    const owner = isFields(of) ? this.symbol(of.name) : "";
    const name = isFields(method) ? this.symbol(method.name) : "";
    const kind = this.constant("jdk.types.FrameType", f.type);
    const how = isFields(kind) ? this.text(kind.description) : "";
    const inlined = how === "Inlined";
    let id: number;
    if (how === "Kernel") id = this.table.frame(name, "[kernel]");
    else if (/^(Native|C\+\+)$/.test(how) && !owner.includes("/"))
      id = this.table.frame(name || "[unknown]", owner ? `[${owner}]` : "");
    else {
      // of each run, classes of lambdas have other numbers
      const shown = owner.replace(/\//g, ".").replace(/(\$\$Lambda).*/, "$1");
      const whole = [shown, name].filter(Boolean).join(".");
      id = this.table.frame(whole || "[unknown]", "", line, inlined);
    }
    this.frames.set(key, id);
    return id;
  }

  /** -1 if there is no such stack. */
  stack(id: Value | undefined): number {
    const known = this.stacks.get(id as Id);
    if (known !== undefined) return known;
    const trace = this.constant("jdk.types.StackTrace", id);
    const list = isFields(trace) && Array.isArray(trace.frames) ? trace.frames : [];
    const frames = list.filter(isFields).map((f) => this.frame(f));
    const at = frames.length > 0 ? this.table.add(frames.reverse()) : -1;
    this.stacks.set(id as Id, at);
    return at;
  }
}

interface Kind {
  title: string;
  unit: string;
  value: string; // field; "" = each event counts once
}

const CPU: Kind = { title: "samples of CPU time", unit: "count", value: "" };
const ALLOC = { title: "allocated", unit: "bytes" };
const LOCK = { title: "waiting for locks", unit: "nanoseconds", value: "duration" };

/** Events that are shown. Those of one title are one type of the file. */
const KINDS: Record<string, Kind> = {
  "jdk.ExecutionSample": CPU,
  "jdk.CPUTimeSample": CPU,
  "jdk.NativeMethodSample": { ...CPU, title: "samples in native methods" },
  "profiler.WallClockSample": { title: "samples of wall clock", unit: "count", value: "samples" },
  "jdk.ObjectAllocationSample": { ...ALLOC, value: "weight" },
  "jdk.ObjectAllocationInNewTLAB": { ...ALLOC, value: "tlabSize" },
  "jdk.ObjectAllocationOutsideTLAB": { ...ALLOC, value: "allocationSize" },
  "profiler.LiveObject": { title: "live", unit: "bytes", value: "allocationSize" },
  "profiler.Malloc": { title: "malloc", unit: "bytes", value: "size" },
  "jdk.JavaMonitorEnter": LOCK,
  "jdk.ThreadPark": { ...LOCK, title: "parked" },
};

interface Chunk {
  from: number; // bytes
  to: number;
  metadata: number;
  startNs: bigint;
  durationNs: bigint;
  nsPerTick: number;
}

function chunkAt(bytes: Uint8Array, from: number): Chunk {
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  if (bytes.length - from < HEADER || view.getUint32(from) !== 0x464c5200) throw damaged();
  const size = Number(view.getBigUint64(from + 8));
  const metadata = Number(view.getBigUint64(from + 24));
  if (size < HEADER || size > bytes.length - from || metadata < HEADER || metadata >= size)
    throw new FileError("It is damaged, or the recording has not ended yet.");
  if ((view.getUint32(from + 64) & 1) === 0)
    throw new FileError("Its numbers are not compressed: such JFR recordings are not read.");
  return {
    from,
    to: from + size,
    metadata: from + metadata,
    startNs: view.getBigInt64(from + 32),
    durationNs: view.getBigInt64(from + 40),
    nsPerTick: 1e9 / Math.max(1, Number(view.getBigUint64(from + 56))),
  };
}

/** Calls back for each event of a chunk, with a reader of what is in it. */
function eachEvent(bytes: Uint8Array, c: Chunk, run: (type: Id, r: Reader) => void): void {
  for (let at = c.from + HEADER; at < c.to;) {
    const head = new Reader(bytes, at, c.to);
    const size = head.int();
    if (size < 2 || size > c.to - at) throw damaged();
    const type = head.id();
    run(type, new Reader(bytes, head.at, at + size));
    at += size;
  }
}

function readChunk(bytes: Uint8Array, c: Chunk, types: Map<string, FileType>, table: StackTable) {
  const classes = readMetadata(bytes, c.metadata, c.to);
  const pools: Pools = new Map();
  eachEvent(bytes, c, (type, r) => {
    if (type === CONSTANTS) readConstants(r, classes, pools);
  });
  const names = new Names(pools, table);
  eachEvent(bytes, c, (type, r) => {
    const known = classes.get(type);
    const kind = known && Object.hasOwn(KINDS, known.name) ? KINDS[known.name] : undefined;
    if (!known || !kind) return;
    const e = readFields(r, classes, known, 0);
    const stack = names.stack(e.stackTrace);
    if (stack < 0) return table.lose("events without a stack");
    const raw = kind.value ? Number(e[kind.value] ?? 0) : 1;
    const to = types.get(kind.title) ?? { ...kind, stacks: [], values: [] };
    types.set(kind.title, to);
    addValue(to, table, stack, kind.value === "duration" ? Math.round(raw * c.nsPerTick) : raw);
    checkCount(to.values.length, "events");
  });
}

export function readJfr(bytes: Uint8Array): FileContent {
  const table = new StackTable();
  const types = new Map<string, FileType>();
  let [from, to] = [Infinity, 0];
  for (let at = 0; at < bytes.length;) {
    const chunk = chunkAt(bytes, at);
    readChunk(bytes, chunk, types, table);
    at = chunk.to;
    from = Math.min(from, Number(chunk.startNs / 1_000_000n));
    to = Math.max(to, Number((chunk.startNs + chunk.durationNs) / 1_000_000n));
  }
  const list = Object.values(KINDS).flatMap((k) => types.get(k.title) ?? []);
  const covered = Math.max(0, to - from);
  return { table, types: [...new Set(list)], main: 0, from: covered ? from : 0, to, covered };
}
