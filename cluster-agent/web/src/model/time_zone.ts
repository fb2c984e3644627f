// The zone that times are shown in: "utc", or a name like "Europe/Berlin". The browser's own unless
// the address has another one, or UTC was chosen in this browser.

export interface Fields {
  year: number;
  month: number; // 1 to 12
  day: number;
  hour: number;
  minute: number;
  second: number;
}

export const UTC = "utc";

const canonical = (name: string): string => (/^(etc\/)?utc$/i.test(name) ? UTC : name);

/** "" if the browser does not know it. */
export const ownZone = (): string =>
  canonical(Intl.DateTimeFormat().resolvedOptions().timeZone ?? "");

let shown = ownZone();

/** What all texts of times have from now on. */
export const showZone = (zone: string): void => void (shown = zone);
export const shownZone = (): string => shown;

const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(zone: string): Intl.DateTimeFormat {
  let format = formats.get(zone);
  if (!format) {
    format = new Intl.DateTimeFormat("en-US-u-ca-gregory-nu-latn", {
      timeZone: zone,
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    });
    formats.set(zone, format);
  }
  return format;
}

/** The zone that a link names; "" for none, and for one that the browser does not know. */
export function parseZone(text: string): string {
  if (!/^[A-Za-z][A-Za-z0-9_+/-]{0,63}$/.test(text)) return "";
  try {
    formatOf(canonical(text));
    return canonical(text);
  } catch {
    return "";
  }
}

export function fieldsAt(ms: number, zone = shown): Fields {
  const d = new Date(ms);
  if (zone === ownZone())
    return {
      year: d.getFullYear(),
      month: d.getMonth() + 1,
      day: d.getDate(),
      hour: d.getHours(),
      minute: d.getMinutes(),
      second: d.getSeconds(),
    };
  const part = new Map(formatOf(zone).formatToParts(d).map((p) => [p.type, Number(p.value)]));
  const of = (type: Intl.DateTimeFormatPartTypes): number => part.get(type) ?? 0;
  return {
    year: of("year"),
    month: of("month"),
    day: of("day"),
    hour: of("hour"),
    minute: of("minute"),
    second: of("second"),
  };
}

/** How far the zone is ahead of UTC then. */
function offsetAt(ms: number, zone: string): number {
  const f = fieldsAt(ms, zone);
  const second = Math.floor(ms / 1000) * 1000;
  return Date.UTC(f.year, f.month - 1, f.day, f.hour, f.minute, f.second) - second;
}

/** The instant of "2026-11-20T14:05:09" in the zone; null if it is no date and time. */
export function instantOf(text: string, zone = shown): number | null {
  const given = /^\s*(\d{4,6}-\d\d-\d\d)[T ](\d\d:\d\d(:\d\d)?)\s*$/.exec(text);
  const at = given ? Date.parse(`${given[1]}T${given[2]}Z`) : NaN;
  if (!Number.isFinite(at)) return null;
  // the offset of then, which is not known yet: one step suffices but where clocks change
  const first = at - offsetAt(at, zone);
  return at - offsetAt(first, zone);
}

const two = (n: number): string => String(n).padStart(2, "0");

/** "UTC", "UTC+02:00". */
export function zoneName(ms: number, zone = shown): string {
  const minutes = Math.round(offsetAt(ms, zone) / 60_000);
  if (minutes === 0) return "UTC";
  const size = Math.abs(minutes);
  return `UTC${minutes < 0 ? "−" : "+"}${two(Math.floor(size / 60))}:${two(size % 60)}`;
}

/** A text about that time, with the zone that it is in. */
export const zoned = (text: string, ms: number): string => `${text} ${zoneName(ms)}`;
