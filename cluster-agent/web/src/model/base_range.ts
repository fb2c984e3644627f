// The range of the baseline, relative to what it is compared with or fixed.

import { parseRange, printRange, type Span } from "./time_range";

/**
 * "": none is given; "same": the range on show (two label sets are compared); "previous": the range
 * of equal length right before it; `shift`: that many seconds earlier.
 */
export type BaseRange = "" | "same" | "previous" | { shift: number } | Span;

/** "previous", "same", "-24h" or "1700000000000-1700000360000"; "" for anything else. */
export function parseBase(text: string): BaseRange {
  if (text === "same" || text === "previous") return text;
  const range = parseRange(text.replace(/^-/, ""));
  if (!range) return "";
  if ("last" in range) return text.startsWith("-") ? { shift: range.last } : "";
  return text.startsWith("-") ? "" : range;
}

export function printBase(b: BaseRange): string {
  if (typeof b === "string") return b;
  return "shift" in b ? `-${printRange({ last: b.shift })}` : printRange(b);
}

/** Whether the baseline moves along with the range that it is compared with. */
export const followsRange = (b: BaseRange): boolean => typeof b === "string" || "shift" in b;

export function resolveBase(b: BaseRange, shown: Span): Span {
  if (b === "" || b === "same") return shown;
  if (b === "previous") return { from: shown.from - (shown.to - shown.from), to: shown.from };
  if ("shift" in b) return { from: shown.from - b.shift * 1000, to: shown.to - b.shift * 1000 };
  return b;
}
