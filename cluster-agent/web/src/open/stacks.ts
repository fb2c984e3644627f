// What a profile in a file becomes, whatever its format: a table of frames, stacks of them, and for
// each type of the file (CPU, allocated bytes, …) the stacks that have a value.
//
// Files come from anywhere and are read by the page itself, so every count in them is checked
// against a limit here, before memory is taken for it. What is odd but no reason to refuse the file
// is counted and named (leftOut).

import { grouped } from "../model/units";

/** Why a file cannot be opened: one sentence for the person who chose it. */
export class FileError extends Error {}

export const UNKNOWN =
  "It is no profile in a format that this page knows: pprof, folded stacks, speedscope, or JFR.";

export const MAX_STACKS = 4_000_000; // also of other lists in a file
export const MAX_DEPTH = 4096; // as the server; deeper stacks are cut at the root
const MAX_CELLS = 40_000_000; // frames of all stacks
const MAX_NAME = 4096; // characters; longer ones are cut

/** A count of a file that is a limit. */
export function checkCount(n: number, what: string, most = MAX_STACKS): void {
  if (n > most) throw new FileError(`It has more than ${grouped(most)} ${what}.`);
}

/** One kind of values; a stack may be in it more than once. */
export interface FileType {
  title: string;
  unit: string;
  stacks: number[];
  values: number[];
}

export class StackTable {
  // of frames
  readonly name: string[] = [];
  readonly file: string[] = [];
  readonly line: number[] = [];
  readonly inlined: boolean[] = [];
  readonly start: number[] = [0]; // of each stack in the cells; one more at the end
  readonly leftOut = new Map<string, number>(); // what was left out, and how often
  private ids = new Map<string, number>();
  private cells = new Int32Array(4096);
  private used = 0;

  get n(): number {
    return this.start.length - 1;
  }

  /** The number of a frame; equal ones have one. */
  frame(fullName: string, fullFile: string, line = 0, inlined = false): number {
    const name = fullName.slice(0, MAX_NAME);
    const file = fullFile.slice(0, MAX_NAME);
    const key = `${line}${inlined ? "i" : ""} ${name}\n${file}`;
    let id = this.ids.get(key);
    if (id === undefined) {
      id = this.name.push(name) - 1;
      this.file.push(file);
      this.line.push(line);
      this.inlined.push(inlined);
      this.ids.set(key, id);
      checkCount(this.name.length, "frames");
    }
    return id;
  }

  /** Adds a stack, root first, and returns its number. */
  add(frames: readonly number[]): number {
    const cut = frames.length > MAX_DEPTH;
    const kept = cut ? [this.frame("[truncated]", ""), ...frames.slice(-MAX_DEPTH)] : frames;
    if (cut) this.lose("stacks of more than 4,096 frames, cut at their roots");
    checkCount(this.used + kept.length, "frames in its stacks", MAX_CELLS);
    if (this.used + kept.length > this.cells.length) {
      const more = new Int32Array(Math.max(2 * this.cells.length, this.used + kept.length));
      more.set(this.cells);
      this.cells = more;
    }
    this.cells.set(kept, this.used);
    this.used += kept.length;
    this.start.push(this.used);
    checkCount(this.n, "stacks");
    return this.n - 1;
  }

  /** The frames of a stack, root first. */
  framesOf(stack: number): Int32Array {
    return this.cells.subarray(this.start[stack], this.start[stack + 1]);
  }

  lose(what: string, n = 1): void {
    this.leftOut.set(what, (this.leftOut.get(what) ?? 0) + n);
  }
}

/** What a reader of one format returns. */
export interface FileContent {
  table: StackTable;
  types: FileType[];
  main: number; // the type to show first
  from: number; // ms since the epoch; 0 = the file does not say
  to: number;
  covered: number; // ms that the values stand for; 0 = the file does not say
}

/** Whether values are amounts at a time, such as memory in use: they do not grow with time. */
export const isLevel = (title: string): boolean =>
  /in_?use|\b(live|goroutine|threads|threadcreate)/.test(title);

/** Adds a value; returns whether it can be shown. */
export function addValue(t: FileType, table: StackTable, stack: number, value: number): void {
  if (value === 0) return;
  if (!(value > 0 && value < Infinity)) {
    table.lose("values that are no positive numbers");
    return;
  }
  t.stacks.push(stack);
  t.values.push(value);
}

const scales: Record<string, [string, number]> = {
  ns: ["nanoseconds", 1],
  nanosecond: ["nanoseconds", 1],
  us: ["nanoseconds", 1e3],
  microseconds: ["nanoseconds", 1e3],
  ms: ["nanoseconds", 1e6],
  milliseconds: ["nanoseconds", 1e6],
  s: ["nanoseconds", 1e9],
  seconds: ["nanoseconds", 1e9],
  byte: ["bytes", 1],
  kilobytes: ["bytes", 1024],
  megabytes: ["bytes", 1024 * 1024],
  none: ["count", 1],
  "": ["count", 1],
};

/** A unit as the page shows it, and what values are multiplied by. */
export const pageUnit = (unit: string): [string, number] =>
  Object.hasOwn(scales, unit) ? scales[unit] : [unit.slice(0, 40), 1];

export const sumOf = (t: FileType): number => t.values.reduce((s, v) => s + v, 0);
