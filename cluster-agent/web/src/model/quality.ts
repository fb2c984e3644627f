// The quality of a profile: incomplete stacks and lost samples.

import { isSampled } from "./chance";
import { endsNameless, hasFewNames, type Naming } from "./naming";
import { grouped, percentComplete, value } from "./units";

export interface QualityFigures {
  samples: number;
  truncated: number;
  lost: number;
  scope?: "selection" | "application";
}

/** Whether the figures are those of all instances and labels although a filter chose some. */
export const isOfAll = (q: QualityFigures): boolean => q.scope === "application";

export type QualityLevel = "good" | "fair" | "bad";

/** By the shares of incomplete stacks, of samples that were lost, and of those without names. */
export function qualityLevel(q: QualityFigures, naming?: Naming | null): QualityLevel {
  const complete = q.samples > 0 ? (q.samples - q.truncated) / q.samples : 1;
  const lost = q.samples > 0 ? q.lost / (q.samples + q.lost) : 0;
  if (complete < 0.9 || lost > 0.02) return "bad";
  const lacksNames = naming && (hasFewNames(naming) || endsNameless(naming));
  return complete < 0.99 || lost > 0.001 || lacksNames ? "fair" : "good";
}

/**
 * How much was observed, in its own words: "6,000 samples", "1.2 M objects", "310 goroutines"; ""
 * where there is no such number (bytes, waiting time). `unit` names what the type counts.
 */
export function observed(
  q: QualityFigures,
  p: { type: string; unit: string; total: number },
): string {
  if (isSampled(p.type)) return `${grouped(q.samples)} samples`;
  return ["objects", "goroutines", "contentions"].includes(p.unit) ? value(p.total, p.unit) : "";
}

/** The same in one line. */
export function qualityText(q: QualityFigures, sampled: boolean, naming?: Naming | null): string {
  const stacks = sampled
    ? `${grouped(q.samples)} samples, ${grouped(q.truncated)} truncated, ${grouped(q.lost)} lost`
    : `${percentComplete(q.samples - q.truncated, q.samples)} complete stacks`;
  return naming?.known ? `${stacks}, ${percentComplete(naming.named, naming.known)} named` : stacks;
}
