// Reads a file of speedscope (https://www.speedscope.app/file-format-schema.json). It may have many
// profiles, one for each thread say: those of one unit are also shown together.

import { addValue, checkCount, FileError, MAX_DEPTH, pageUnit, StackTable } from "./stacks";
import type { FileContent, FileType } from "./stacks";

interface Event {
  type?: unknown;
  at?: unknown;
  frame?: unknown;
}

interface Profile {
  type?: unknown;
  name?: unknown;
  unit?: unknown;
  samples?: unknown;
  weights?: unknown;
  events?: unknown;
}

const list = (v: unknown): unknown[] => (Array.isArray(v) ? v : []);
const text = (v: unknown): string => (typeof v === "string" ? v : "");
const record = (v: unknown): Record<string, unknown> =>
  typeof v === "object" && v !== null ? (v as Record<string, unknown>) : {};

const NO_FRAME = "stacks with frames that the file does not have";
const DISORDER = "events that are out of order";

function framesOf(shared: unknown, table: StackTable): number[] {
  const frames = list(record(shared).frames);
  checkCount(frames.length, "frames");
  return frames.map((f) => {
    const { name, file, line } = record(f);
    const at = Number.isInteger(line) && (line as number) > 0 ? (line as number) : 0;
    return table.frame(text(name) || "[unknown]", text(file), at);
  });
}

class Reader {
  constructor(
    readonly table: StackTable,
    private frames: number[],
  ) {}

  private known(index: unknown): boolean {
    return Number.isInteger(index) && this.frames[index as number] !== undefined;
  }

  sampled(p: Profile, type: FileType, scale: number): void {
    const weights = list(p.weights);
    list(p.samples).forEach((s, i) => {
      const stack = list(s);
      if (stack.length === 0) return; // the thread was idle
      if (!stack.every((f) => this.known(f))) return this.table.lose(NO_FRAME);
      const at = this.table.add(stack.map((f) => this.frames[f as number]));
      const weight = weights.length > 0 ? weights[i] : 1;
      addValue(type, this.table, at, (typeof weight === "number" ? weight : NaN) * scale);
    });
  }

  /** Calls and returns: the time between two of them is of the stack that is open. */
  evented(p: Profile, type: FileType, scale: number): void {
    const open: number[] = []; // indexes of frames
    let last = NaN;
    for (const e of list(p.events) as Event[]) {
      const { type: what, at, frame } = record(e) as Event;
      if (typeof at !== "number" || at < last || !this.known(frame)) {
        this.table.lose(DISORDER);
        continue;
      }
      if (open.length > 0 && at > last) {
        const deepest = open.slice(-MAX_DEPTH - 1).map((f) => this.frames[f]);
        const stack = this.table.add(deepest);
        addValue(type, this.table, stack, (at - last) * scale);
      }
      last = at;
      if (what === "O") open.push(frame as number);
      else if (open[open.length - 1] === frame) open.pop();
      else this.table.lose(DISORDER);
    }
  }
}

/** All of one unit together, before each alone. */
function withSums(types: FileType[]): FileType[] {
  const units = [...new Set(types.map((t) => t.unit))];
  const sums = units.flatMap((unit) => {
    const of = types.filter((t) => t.unit === unit);
    if (of.length === 1) return [];
    const stacks = of.flatMap((t) => t.stacks);
    const values = of.flatMap((t) => t.values);
    return [{ title: `all ${of.length} profiles`, unit, stacks, values }];
  });
  return [...sums, ...types];
}

/** `json`: the whole file. */
export function readSpeedscope(json: unknown): FileContent {
  const file = record(json);
  const profiles = list(file.profiles) as Profile[];
  if (!Array.isArray(record(file.shared).frames) || profiles.length === 0)
    throw new FileError("It is JSON, but no file of speedscope.");
  checkCount(profiles.length, "profiles", 10_000);
  const table = new StackTable();
  const reader = new Reader(table, framesOf(file.shared, table));
  const types = profiles.map((profile, i): FileType => {
    const p = record(profile) as Profile;
    const [unit, scale] = pageUnit(text(p.unit));
    const title = text(p.name).slice(0, 100) || `profile ${i + 1}`;
    const type: FileType = { title, unit, stacks: [], values: [] };
    if (p.type === "sampled") reader.sampled(p, type, scale);
    else if (p.type === "evented") reader.evented(p, type, scale);
    else table.lose("profiles of an unknown kind");
    return type;
  });
  const chosen = file.activeProfileIndex;
  const all = withSums(types);
  const main = all.length > types.length || !Number.isInteger(chosen) ? 0 : (chosen as number);
  return { table, types: all, main: all[main] ? main : 0, from: 0, to: 0, covered: 0 };
}
