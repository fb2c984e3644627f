// Numbers as a person reads them. Every function here is pure and gives one string.

const thin = (n: number): string =>
  Math.round(n)
    .toString()
    .replace(/\B(?=(\d{3})+$)/g, ",");

/** 3 significant digits, without exponents: 0.0123, 1.23, 12.3, 123, 1,234. */
export function digits(v: number): string {
  const a = Math.abs(v);
  if (a === 0) return "0";
  if (a >= 99.95) return thin(v);
  if (a >= 9.995) return v.toFixed(1);
  if (a >= 0.995) return v.toFixed(2);
  return a >= 0.001 ? v.toPrecision(2) : a >= 0.0001 ? v.toFixed(4) : "<0.0001";
}

/** One decimal while it is significant: 1.4, 14.2, 142. */
const short = (v: number): string => (Math.abs(v) >= 99.95 ? thin(v) : v.toFixed(1));

const timeSteps: [number, string][] = [
  [86_400e9, "d"],
  [3_600e9, "h"],
  [60e9, "min"],
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "µs"],
];

export function nanoseconds(ns: number): string {
  if (ns === 0) return "0 s";
  // a minute and a half is still better read in seconds
  for (const [size, name] of timeSteps)
    if (Math.abs(ns) >= size * (size > 1e9 ? 1.2 : 1)) return `${short(ns / size)} ${name}`;
  return `${thin(ns)} ns`;
}

const byteSteps = ["KiB", "MiB", "GiB", "TiB", "PiB"];

export function bytes(n: number): string {
  if (Math.abs(n) < 1024) return `${thin(n)} B`;
  let v = n / 1024;
  let i = 0;
  while (Math.abs(v) >= 1023.95 && i < byteSteps.length - 1) {
    v /= 1024;
    i++;
  }
  return `${short(v)} ${byteSteps[i]}`;
}

export function count(n: number): string {
  const a = Math.abs(n);
  if (a < 1e5) return Number.isInteger(n) ? thin(n) : digits(n);
  if (a < 1e6) return `${short(n / 1e3)} k`;
  if (a < 1e9) return `${short(n / 1e6)} M`;
  return `${short(n / 1e9)} G`;
}

/** All digits, grouped: 511,200. */
export const grouped = thin;

export const cores = (v: number): string => `${digits(v)} ${v === 1 ? "core" : "cores"}`;

/** Time that all threads together spent waiting, per second. */
const WAITING = "seconds per second";

/** Value of a profile in its unit. */
export function value(v: number, unit: string): string {
  if (unit === "nanoseconds") return nanoseconds(v);
  if (unit === "bytes") return bytes(v);
  return unit === "count" || unit === ""
    ? count(v)
    : `${count(v)} ${v === 1 ? unit.replace(/s$/, "") : unit}`;
}

const counted = ["object", "goroutine", "contention"];

/** What a type counts, when all it says is "count": "go:heap_inuse_objects:count" → "objects". */
export function unitOf(type: string, unit: string): string {
  if (unit !== "count") return unit;
  const what = counted.find((w) => type.includes(w));
  return what ? `${what}s` : unit;
}

/** Value on the timeline. `perSecond` says that the values of a type of sums are rates. */
export function rate(v: number, unit: string, perSecond: boolean): string {
  if (unit === "cores") return cores(v);
  if (unit === WAITING) return `${digits(v)} s waiting/s`;
  if (unit === "nanoseconds") return nanoseconds(v);
  const text = value(v, unit);
  return perSecond ? `${text}/s` : text;
}

function shortRate(v: number, unit: string, perSecond: boolean): string {
  if (unit === WAITING) return `${digits(v)} s/s`;
  return rate(v, ["cores", "nanoseconds", "bytes"].includes(unit) ? unit : "count", perSecond);
}

/** The same on an axis, where most values are round: 2 cores, not 2.00 cores. */
export const tick = (v: number, unit: string, perSecond: boolean): string =>
  shortRate(v, unit, perSecond).replace(/\.0+(?=\D|$)|(\.\d*?[1-9])0+(?=\D|$)/, "$1");

/** Share of the whole, three digits: 69.8 %, 6.76 %, <0.01 %. */
export function percent(part: number, whole: number): string {
  if (!(whole > 0) || part === 0) return "0 %";
  const p = (part / whole) * 100;
  if (p < 0.01) return "<0.01 %";
  if (p >= 99.95) return part >= whole ? "100 %" : "99.9 %";
  return `${p >= 9.995 ? p.toFixed(1) : p.toFixed(2)} %`;
}

/** Share with two decimals always, for columns. */
export function percentFixed(part: number, whole: number): string {
  return `${whole > 0 ? ((part / whole) * 100).toFixed(2) : "0.00"} %`;
}

/** Never rounds up to 100 % while something is missing. */
export function percentComplete(good: number, all: number): string {
  if (all <= 0) return "0 %";
  if (good >= all) return "100 %";
  return `${(Math.floor((good / all) * 1e4) / 100).toFixed(2)} %`;
}

/**
 * A total per second, in the unit of the timeline: nanoseconds per second are cores, or time spent
 * waiting. Averages are shown as they are.
 */
export function sideRate(v: number, unit: string, rateUnit: string, perSecond: boolean): string {
  const inSeconds = unit === "nanoseconds" && rateUnit !== "nanoseconds";
  return inSeconds && perSecond ? rate(v / 1e9, rateUnit, true) : rate(v, unit, perSecond);
}
