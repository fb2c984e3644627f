// What chance explains of a change. The values of a CPU profile are counted in samples: two
// profiles of the same work differ by some, and by much where there are few.

import { seconds, type SideTotal } from "./comparison";
import type { DiffBy } from "./url_state";

/** Whether a profiler took samples: other profiles have a record per stack, which is no measure. */
export const isSampled = (type: string): boolean => /cpu[^:]*:nanoseconds$/.test(type);

/** How samples of the two sides relate. */
export interface Sampling {
  value: number; // of a sample of the selection
  base: number; // of one of the baseline
  odds: number; // that a sample is of the selection, if nothing has changed
  all: number; // samples of both sides, if those that are not of a function can only be of others
}

interface SampledSide extends SideTotal {
  quality: { samples: number; scope?: string };
}

/**
 * Null if values are not made of samples, or it is unknown of how many. Shares are compared by how
 * many samples the sides have, absolute values by the time that they stand for.
 */
export function samplingOf(a: SampledSide, b: SampledSide, mode: DiffBy): Sampling | null {
  const counts = (s: SampledSide): boolean =>
    s.quality.scope !== "application" && s.quality.samples > 0 && s.total > 0;
  if (!counts(a) || !counts(b)) return null;
  const samples = [a.quality.samples, b.quality.samples];
  const [x, y] = mode === "share" ? samples : [seconds(a), seconds(b)];
  if (x <= 0 || y <= 0) return null;
  const ofSample = (s: SampledSide): number => s.total / s.quality.samples;
  const all = mode === "share" ? x + y : Infinity;
  return { value: ofSample(a), base: ofSample(b), odds: x / (x + y), all };
}

/** Of a graph with a baseline, in either mode. */
export const samplingsOf = (
  g: SampledSide & { type: string; base?: SampledSide },
): Record<DiffBy, Sampling | null> | undefined =>
  g.base && isSampled(g.type)
    ? { share: samplingOf(g, g.base, "share"), absolute: samplingOf(g, g.base, "absolute") }
    : undefined;

const SIGNIFICANT = 0.001;
const CHI_SQUARE = 10.83; // has that probability to be exceeded, with one degree of freedom

/**
 * Whether chance explains that the sides have these values. That all of k samples are on one side
 * has the probability odds^k; where both have some, it is Pearson's test.
 */
export function isChance(value: number, base: number, s: Sampling): boolean {
  const [a, b] = [value / s.value, base / s.base];
  if (b <= 0) return s.odds ** Math.round(a) >= SIGNIFICANT;
  if (a <= 0) return (1 - s.odds) ** Math.round(b) >= SIGNIFICANT;
  const n = a + b;
  const variance = n * s.odds * (1 - s.odds) * Math.max(0, 1 - n / s.all);
  return (a - n * s.odds) ** 2 <= CHI_SQUARE * variance;
}
