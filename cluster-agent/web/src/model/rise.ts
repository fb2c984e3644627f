// Where a curve rises: the instant before and after which the means of windows differ most, long
// windows counting more than short ones, if Welch's t-test tells the difference from noise. A step
// is found where it is, a steady growth in its middle.

import { lastIndex, type Steps } from "./series";
import type { Span } from "./time_range";

const FEWEST = 8; // values on each side; fewer prove nothing
const LEAST_RATIO = 1.3; // of both means
// most instants of any curve are tried, and values beside each other are alike
const LEAST_T = 8;

export interface Rise {
  base?: Span; // what the part is compared with; nothing: the time before it
  part: Span; // from there until the curve falls again, and no longer than what is before it
  ratio: number; // of the means after and before
}

/** Gives number, mean and variance of the values between two indexes. */
function moments(values: (number | null)[]) {
  const added = (f: (v: number) => number): Float64Array => {
    const out = new Float64Array(values.length + 1);
    values.forEach((v, i) => (out[i + 1] = out[i] + (v === null ? 0 : f(v))));
    return out;
  };
  const [count, sum, square] = [added(() => 1), added((v) => v), added((v) => v * v)];
  return (from: number, to: number) => {
    const n = count[to] - count[from];
    const mean = n > 0 ? (sum[to] - sum[from]) / n : 0;
    return { n, mean, variance: Math.max(0, (square[to] - square[from]) / n - mean * mean) };
  };
}

/** The largest rise; null if there is none that can be told from noise. */
export function riseOf({ startMs, stepMs, values }: Steps): Rise | null {
  const of = moments(values);
  const least = of(0, values.length).mean / 1e6; // no curve is smoother
  let best = { score: 0, at: -1, ratio: 0, middle: 0 };
  for (let at = FEWEST; at + FEWEST <= values.length; at++)
    for (let size = FEWEST; size < 2 * (values.length - at); size *= 2) {
      const before = of(Math.max(0, at - size), at);
      const after = of(at, Math.min(values.length, at + size));
      if (before.n < FEWEST || after.n < FEWEST) continue;
      const spread = Math.sqrt(before.variance / before.n + after.variance / after.n) + least;
      const more = after.mean - before.mean;
      const score = more * Math.sqrt(Math.min(before.n, after.n));
      const ratio = after.mean / Math.max(before.mean, least);
      if (score > best.score && ratio >= LEAST_RATIO && more / spread >= LEAST_T)
        best = { score, at, ratio, middle: before.mean + more / 2 };
    }
  if (best.at < 0) return null;
  let end = best.at + FEWEST;
  const last = Math.min(values.length, 2 * best.at);
  while (end < last && (values[end] ?? Infinity) >= best.middle) end++;
  const ms = (i: number): number => startMs + i * stepMs;
  return { part: { from: ms(best.at), to: ms(end) }, ratio: best.ratio };
}

const ENDS = 5; // a fifth of the values at either end

/**
 * How much higher a level is at the end than at the start, as that of a leak: which part of it grew
 * most does not matter. Null if it is not by much, or not to be told from noise.
 */
export function growthOf({ startMs, stepMs, values }: Steps): Rise | null {
  const first = values.findIndex((v) => v !== null);
  const last = lastIndex(values, (v) => v !== null) + 1;
  const size = Math.floor((last - first) / ENDS);
  const of = moments(values);
  const [before, after] = [of(first, first + size), of(last - size, last)];
  if (first < 0 || before.n < FEWEST || after.n < FEWEST) return null;
  const ratio = after.mean / Math.max(before.mean, after.mean / 1e6);
  const spread = Math.sqrt(before.variance / before.n + after.variance / after.n);
  if (ratio < LEAST_RATIO || after.mean - before.mean < LEAST_T * spread) return null;
  const part = (i: number): Span => ({
    from: startMs + i * stepMs,
    to: startMs + (i + size) * stepMs,
  });
  return { base: part(first), part: part(last - size), ratio };
}
