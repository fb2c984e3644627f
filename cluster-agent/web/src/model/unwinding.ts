// How the walks over stacks ended, and in which binaries they ended too early.

import { grouped, percent } from "./units";

/** Samples by end, "no_table", and by end and binary, "no_table:libc.so.6". */
export type Unwinding = Record<string, number>;

export interface Ends {
  end: string;
  n: number;
}

export interface BinaryEnds {
  binary: string;
  seen: number; // samples with a frame of it; at least `ended`
  ended: number; // samples whose walk ended in it too early
  ends: Ends[]; // most frequent first
}

export interface WalkEnds {
  total: number; // samples whose end is known
  complete: number;
  guessed: number; // likewise whole, but a step was a guess
  ends: Ends[]; // all others, most frequent first
  binaries: BinaryEnds[]; // those that ended walks, most frequent first
}

// What each end says of some stacks, behind their number. docs/page.md has the same names.
const texts: Record<string, string> = {
  depth_limit: "deeper than the limit of frames",
  unreadable: "stack memory could not be read",
  not_ascending: "code without frame pointers",
  bad_address: "code without frame pointers",
  compat: "32-bit programs",
  gone: "the process was exiting",
  no_unwind_info: "code without unwind information",
  no_table: "unwind information not loaded",
  no_mapping: "code that was mapped a moment ago",
  jit: "generated code (JIT) without frame pointers",
  implausible: "code without frame pointers",
  unproven: "nothing shows that the bottom was reached",
  kernel: "the kernel's own frames are cut",
};

/** An end of a newer agent is shown by its name. */
export const endText = (end: string): string =>
  Object.hasOwn(texts, end) ? texts[end] : end.replaceAll("_", " ");

/** Ends that mean the same to a reader are added up. */
function merged(counts: Map<string, number>): Ends[] {
  const sums = new Map<string, Ends>();
  for (const [end, n] of counts) {
    const text = endText(end);
    sums.set(text, { end: text, n: (sums.get(text)?.n ?? 0) + n });
  }
  return [...sums.values()].sort((a, b) => b.n - a.n || (a.end < b.end ? -1 : 1));
}

/** Null if nothing is known, as of profiles that other agents took. */
export function walkEnds(unwinding: Unwinding | undefined): WalkEnds | null {
  const all = new Map<string, number>();
  const seen = new Map<string, number>();
  const binaries = new Map<string, Map<string, number>>();
  for (const [key, n] of Object.entries(unwinding ?? {})) {
    const colon = key.indexOf(":");
    if (colon < 0) {
      all.set(key, n);
      continue;
    }
    const end = key.slice(0, colon);
    const binary = key.slice(colon + 1);
    if (end === "seen") seen.set(binary, n);
    else binaries.set(binary, (binaries.get(binary) ?? new Map()).set(end, n));
  }
  const total = [...all.values()].reduce((sum, n) => sum + n, 0);
  if (total === 0) return null;
  const complete = all.get("complete") ?? 0;
  const guessed = all.get("guessed") ?? 0;
  all.delete("complete");
  all.delete("guessed");
  const list = [...binaries].map(([binary, ends]) => {
    const ended = [...ends.values()].reduce((sum, n) => sum + n, 0);
    return {
      binary,
      ended,
      seen: Math.max(seen.get(binary) ?? 0, ended),
      ends: merged(ends),
    };
  });
  list.sort((a, b) => b.ended - a.ended || (a.binary < b.binary ? -1 : 1));
  return { total, complete, guessed, ends: merged(all), binaries: list };
}

/** One sentence about what is missing; "" if nothing is. */
export function walkSentence(w: WalkEnds): string {
  const missing = w.total - w.complete - w.guessed;
  if (missing <= 0 || w.ends.length === 0) return "";
  const share = `${grouped(missing)} of ${grouped(w.total)} stacks end too early`;
  const why = `${share}, mostly because: ${w.ends[0].end}`;
  const worst = w.binaries[0];
  return worst && worst.ended * 2 > missing
    ? `${why}. ${percent(worst.ended, missing)} of them end in ${worst.binary}.`
    : `${why}.`;
}
