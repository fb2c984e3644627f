// What changed between two profiles, as figures and as colours. The graph, the table, the legend
// and the timeline all ask here, so that a change looks the same everywhere.
//
// Two ways to compare: "share" compares each side's share of its own total, so two ranges of
// different load or length can be compared; "absolute" compares the values as they are.
//
// The colour shows the change relative to the larger side, (value - base) / max(value, base). It is
// bounded and symmetric: twice as much is +0.5, half as much is -0.5, new is +1, vanished is -1.
// The plain ratio has no upper bound, so the largest one would make all others look unchanged. What
// chance explains (chance.ts) has the colour of what is the same; its figures are what they are.

import { isChance, type Sampling } from "./chance";
import { hex, oklch } from "./colors";
import { percent, value as valueText } from "./units";
import type { DiffBy } from "./url_state";

export type DiffMode = DiffBy;
export type DiffScheme = "red-green" | "blue-orange";

/** Totals of both sides. */
export interface Sides {
  value: number;
  base: number;
  samplings?: Record<DiffMode, Sampling | null>; // of profiles that are made of samples
}

/** "none": neither side has it. */
export type ChangeKind = "grew" | "shrank" | "same" | "new" | "vanished" | "none";

export interface Change {
  kind: ChangeKind;
  value: number; // value - base, in the unit of the profile
  share: number; // share of the total minus share of the base's total, -1 … 1
  percent: number | null; // by the mode; 61 for +61 %; null without a base to relate to
  score: number; // -1 … 1, what the colour shows; 0 if chance explains the change
}

// A baseline is scaled to the length of the other range, which leaves a nanosecond of rounding.
const ROUNDING = 1e-7;

function difference(value: number, base: number): number {
  const d = value - base;
  return Math.abs(d) <= ROUNDING * Math.max(value, base) ? 0 : d;
}

const shareOf = (part: number, whole: number): number => (whole > 0 ? part / whole : 0);

/** (value - base) / max of both by the mode, -1 … 1; 0 where chance explains that they differ. */
export function changeScore(value: number, base: number, whole: Sides, mode: DiffMode): number {
  const sampling = whole.samplings?.[mode];
  if (sampling && isChance(value, base, sampling)) return 0;
  const a = mode === "share" ? shareOf(value, whole.value) : value;
  const b = mode === "share" ? shareOf(base, whole.base) : base;
  const most = a > b ? a : b;
  return most > 0 ? (a - b) / most : 0;
}

export function changeOf(value: number, base: number, whole: Sides, mode: DiffMode): Change {
  const score = changeScore(value, base, whole, mode);
  const share = shareOf(value, whole.value) - shareOf(base, whole.base);
  const a = mode === "share" ? shareOf(value, whole.value) : value;
  const b = mode === "share" ? shareOf(base, whole.base) : base;
  const kind =
    value <= 0 && base <= 0
      ? "none"
      : base <= 0
        ? "new"
        : value <= 0
          ? "vanished"
          : levelOf(score) === 0
            ? "same"
            : score > 0
              ? "grew"
              : "shrank";
  return {
    kind,
    value: difference(value, base),
    share,
    percent: b > 0 ? (a / b - 1) * 100 : null,
    score,
  };
}

/** Colour steps to each side of "same". */
export const LEVELS = 7;

/**
 * The colour step of a score, -LEVELS … LEVELS. The square root makes small changes visible: +10 %
 * is two steps away from grey; less than about half a per cent is grey.
 */
export const levelOf = (score: number): number =>
  Math.sign(score) * Math.round(LEVELS * Math.sqrt(Math.min(1, Math.abs(score))));

export interface DiffPalette {
  fill: string[]; // [LEVELS + level]: from "vanished" over "same" to "new"
  dim: string[]; // the same behind a search
  grewText: string; // of figures on the ground of the page
  shrankText: string;
}

const hues: Record<DiffScheme, { grew: number; shrank: number }> = {
  "red-green": { grew: 24, shrank: 150 },
  "blue-orange": { grew: 62, shrank: 252 }, // told apart without red and green
};

function build(dark: boolean, scheme: DiffScheme): DiffPalette {
  const fill: string[] = [];
  const dim: string[] = [];
  for (let level = -LEVELS; level <= LEVELS; level++) {
    const hue = level < 0 ? hues[scheme].shrank : hues[scheme].grew;
    const far = Math.abs(level) / LEVELS;
    const chroma = level === 0 ? 0.003 : 0.02 + (dark ? 0.1 : 0.11) * far;
    fill.push(
      hex(dark ? oklch(0.36 + 0.1 * far, chroma, hue) : oklch(0.91 - 0.13 * far, chroma, hue)),
    );
    dim.push(
      hex(
        dark
          ? oklch(0.27 + 0.03 * far, chroma / 3, hue)
          : oklch(0.95 - 0.02 * far, chroma / 3, hue),
      ),
    );
  }
  const text = (hue: number): string => hex(dark ? oklch(0.76, 0.13, hue) : oklch(0.5, 0.15, hue));
  return { fill, dim, grewText: text(hues[scheme].grew), shrankText: text(hues[scheme].shrank) };
}

export const diffPalettes: Record<"light" | "dark", Record<DiffScheme, DiffPalette>> = {
  light: {
    "red-green": build(false, "red-green"),
    "blue-orange": build(false, "blue-orange"),
  },
  dark: { "red-green": build(true, "red-green"), "blue-orange": build(true, "blue-orange") },
};

export const changeColor = (score: number, p: DiffPalette): string =>
  p.fill[LEVELS + levelOf(score)];

/** Colour of a figure that says how something changed; "" for the usual one. */
export function changeTextColor(c: Change, p: DiffPalette): string {
  if (levelOf(c.score) === 0) return "";
  if (c.kind === "grew" || c.kind === "new") return p.grewText;
  return c.kind === "shrank" || c.kind === "vanished" ? p.shrankText : "";
}

const MINUS = "−";

/** The text of a size with the sign of `v` in front: "+0.8 min", "−12 MiB"; none for zero. */
function signed(v: number, text: (size: number) => string): string {
  const size = text(Math.abs(v));
  return /^0(?![.\d])/.test(size) ? size : (v > 0 ? "+" : MINUS) + size;
}

/** "+0.8 min" */
export const changeValueText = (c: Change, unit: string): string =>
  signed(c.value, (v) => valueText(v, unit));

/** Change of the share in percentage points: "+1.31 pp". */
export const changeShareText = (c: Change): string =>
  signed(c.share, (v) => percent(v, 1).replace("%", "pp"));

/** By the mode: of the share, or of the value. */
export const changeAmount = (c: Change, unit: string, mode: DiffMode): string =>
  mode === "share" ? changeShareText(c) : changeValueText(c, unit);

const grouped = (v: number): string => v.toFixed(0).replace(/\B(?=(\d{3})+$)/g, ",");

/** "+61 %", "new", "vanished"; one decimal below 10 %. */
export function changePercentText(c: Change): string {
  if (c.kind === "none") return "";
  if (c.kind === "new" || c.kind === "vanished") return c.kind;
  if (c.percent === null) return "";
  return signed(c.percent, (v) => {
    if (v === 0) return "0 %";
    if (v < 0.05) return "<0.1 %";
    return `${v < 9.95 ? v.toFixed(1) : grouped(v)} %`;
  });
}
