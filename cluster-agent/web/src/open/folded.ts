// Reads folded stacks: lines of "root;caller;leaf 42", as stackcollapse-perf.pl, py-spy and others
// write them. The syntax is that of docs/push.md.

import { KERNEL } from "../model/names";
import { addValue, checkCount, FileError, StackTable, UNKNOWN } from "./stacks";
import type { FileContent, FileType } from "./stacks";

// "42", or "42 17" of a difference, whose second number counts
const VALUES = /[ \t]+(?:[+\d.][\de.+-]*[ \t]+)?([+\d.][\de.+-]*)$/i;

interface Frame {
  name: string;
  file: string;
  line: number;
  inlined: boolean;
}

/** "leaf (app.py:12)", "leaf - app.rb:12", "copy_page_[k]" */
export function parseFrame(text: string): Frame {
  const mark = /_\[([kijs])\]$/.exec(text);
  if (mark) {
    const name = text.slice(0, -mark[0].length);
    return { name, file: mark[1] === "k" ? KERNEL : "", line: 0, inlined: mark[1] === "i" };
  }
  if (text.length > 1000) return { name: text, file: "", line: 0, inlined: false };
  const m =
    /^(.+?) \(([^()]*?\.\w+|<[^()]*>)(?::(\d{1,9}))?\)$/.exec(text) ??
    /^(.+?) - ([^ ]+?\.\w+)(?::(\d{1,9}))?$/.exec(text);
  if (!m) return { name: text, file: "", line: 0, inlined: false };
  return { name: m[1], file: m[2], line: Number(m[3] ?? 0), inlined: false };
}

export function readFolded(text: string): FileContent {
  const table = new StackTable();
  const type: FileType = { title: "samples", unit: "count", stacks: [], values: [] };
  const known = new Map<string, number>(); // frames by their text
  const frameOf = (part: string): number => {
    let id = known.get(part);
    if (id === undefined) {
      const f = parseFrame(part);
      id = table.frame(f.name, f.file, f.line, f.inlined);
      known.set(part, id);
    }
    return id;
  };
  let lines = 0;
  for (let at = 0; at < text.length; ) {
    const end = text.indexOf("\n", at);
    const line = text.slice(at, end < 0 ? undefined : end).trim();
    at = end < 0 ? text.length : end + 1;
    if (line === "" || line.startsWith("#")) continue;
    checkCount(++lines, "lines");
    const m = VALUES.exec(line.slice(-80));
    const value = m ? Number(m[1]) : NaN;
    const stack = m ? line.slice(0, line.length - m[0].length) : "";
    if (!Number.isFinite(value) || stack === "") {
      table.lose("lines that are no stack with a value");
      continue;
    }
    const parts = stack.split(";").filter((p) => p !== "");
    if (parts.length > 0) addValue(type, table, table.add(parts.map(frameOf)), value);
  }
  // a text of any kind may have a line that ends in a number
  const odd = table.leftOut.get("lines that are no stack with a value") ?? 0;
  if (lines === 0 || 4 * odd > lines) throw new FileError(UNKNOWN);
  return { table, types: [type], main: 0, from: 0, to: 0, covered: 0 };
}
