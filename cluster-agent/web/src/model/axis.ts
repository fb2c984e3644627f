// What the chart library lacks: axis steps that are powers of two, and points without neighbours.

const round = (v: number): number => Number(v.toPrecision(12));

/**
 * Values to label on an axis from 0 to `max`, `step` or a little more apart. Bytes have steps of 1,
 * 2, 4 … 512 B, KiB, MiB …, as 50,000,000 of them are no round number.
 */
export function axisSplits(max: number, step: number, unit: string): number[] {
  const used = unit === "bytes" ? 2 ** Math.max(0, Math.ceil(Math.log2(step))) : step;
  const splits: number[] = [];
  for (let i = 0; i * used <= max && i < 100; i++) splits.push(round(i * used));
  return splits;
}

/** Indexes of values between gaps: a line through them has no length. */
export function lonePoints(values: ArrayLike<number | null | undefined>): number[] {
  const lone: number[] = [];
  for (let i = 0; i < values.length; i++)
    if (values[i] != null && values[i - 1] == null && values[i + 1] == null) lone.push(i);
  return lone;
}
