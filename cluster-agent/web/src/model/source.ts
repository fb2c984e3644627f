// The text of a source file with the figures of its lines.

import { visible } from "./names";

/** Of one line of a function. `base…` only with a baseline. */
export interface LineFigures {
  line: number;
  self: number;
  total: number;
  baseSelf?: number;
  baseTotal?: number;
}

export interface SourceLine {
  line: number; // from 1
  text: string;
  figures: LineFigures | null; // null: the function has no samples there
}

/** A line may be there twice: on its own, and where the compiler copied it. */
function sumByLine(lines: readonly LineFigures[]): Map<number, LineFigures> {
  const sums = new Map<number, LineFigures>();
  for (const l of lines) {
    const old = sums.get(l.line);
    const two = l.baseTotal !== undefined;
    sums.set(l.line, {
      line: l.line,
      self: l.self + (old?.self ?? 0),
      total: Math.max(l.total, old?.total ?? 0),
      ...(two && {
        baseSelf: (l.baseSelf ?? 0) + (old?.baseSelf ?? 0),
        baseTotal: Math.max(l.baseTotal ?? 0, old?.baseTotal ?? 0),
      }),
    });
  }
  return sums;
}

/** Tabs stay; whatever else cannot be seen is escaped, as in names. */
const seen = (text: string): string => text.split("\t").map(visible).join("\t");

/** All lines of the text. */
export function sourceLines(text: string, lines: readonly LineFigures[]): SourceLine[] {
  const sums = sumByLine(lines);
  const texts = text.split(/\r?\n/);
  if (texts.length > 1 && texts[texts.length - 1] === "") texts.pop();
  return texts.map((t, i) => ({
    line: i + 1,
    text: seen(t),
    figures: sums.get(i + 1) ?? null,
  }));
}

/** The line to look at first: where most of the function's time is spent. */
export function hottestLine(lines: readonly LineFigures[]): number {
  const weight = (l: LineFigures): number => l.self + (l.baseSelf ?? 0);
  const total = (l: LineFigures): number => l.total + (l.baseTotal ?? 0);
  let best: LineFigures | null = null;
  for (const l of lines) {
    if (l.line <= 0) continue;
    const more = best && (weight(l) - weight(best) || total(l) - total(best));
    if (more === null || more > 0) best = l;
  }
  return best?.line ?? 0;
}

/** Lines of samples that a text does not have: it is of another version then. */
export const linesBeyond = (n: number, lines: readonly LineFigures[]): number =>
  lines.reduce((most, l) => (l.line > n ? Math.max(most, l.line) : most), 0);

/** The address of a line at a forge; "" if it is not one that a browser should open. */
export function lineUrl(url: string | undefined, line: number): string {
  if (!url || !/^https?:\/\/[^/]/.test(url)) return "";
  return url.replaceAll("{line}", String(Math.max(line, 1)));
}

/** "github.com" of an address. */
export const hostOf = (url: string): string => /^https?:\/\/([^/]+)/.exec(url)?.[1] ?? "";
