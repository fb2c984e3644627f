// Releases of an application: values of the label that names them, ordered by when they were first
// seen. By their share of a profile, the older one is usually the first.

import { withMatcher, withoutLabel } from "./matchers";
import { lastIndex, type NamedValues, type Steps } from "./series";
import type { Span } from "./time_range";

/** Labels that name a release, the plainest first: those of sums/version_labels.h. */
declare const VERSION_LABELS: string[];
const NAMES = VERSION_LABELS;

/** The series of the server: at most as many. */
export const MOST_RELEASES = 10;

interface LabelOf {
  name: string;
  values: { value: string; share: number }[]; // largest first
}

export interface ReleaseLabel {
  name: string;
  values: string[]; // of one thing, at least two
}

/** "registry/shop:1.2" and "registry/shop@sha256:…" → "registry/shop"; a port is no tag. */
const repository = (image: string): string => image.replace(/@.*$/, "").replace(/:[^/:]*$/, "");

/** The label whose values are releases; null if there is but one. */
export function releaseLabel(labels: LabelOf[]): ReleaseLabel | null {
  for (const name of NAMES) {
    const label = labels.find((l) => l.name === name);
    // containers of a pod have images that are no releases of one another
    const of = name.includes("image") ? repository : () => "";
    const groups = new Map<string, string[]>();
    for (const { value } of label?.values ?? []) {
      if (value === "") continue;
      const group = groups.get(of(value));
      if (group) group.push(value);
      else groups.set(of(value), [value]);
    }
    const values = [...groups.values()].find((g) => g.length > 1);
    if (values) return { name, values: values.slice(0, MOST_RELEASES) };
  }
  return null;
}

/** Matchers without those on labels of releases: they would leave one value. */
export const withoutReleases = (where: string): string =>
  NAMES.reduce((text, name) => withoutLabel(text, name), where);

/** Matchers that leave these releases only. */
export const onlyReleases = (where: string, { name, values }: ReleaseLabel): string =>
  withMatcher(where, {
    name,
    op: "=~",
    value: values.map((v) => v.replace(/[\\^$.|?*+()[\]{}]/g, "\\$&")).join("|"),
  });

/** A timeline by that label. */
export interface ReleaseTimeline extends Steps {
  series?: NamedValues[];
}

const firstIndex = (values: (number | null)[]): number => values.findIndex((v) => (v ?? 0) > 0);

/** When each release was first seen (ms); those of the beginning may be older. */
function firstSeen(t: ReleaseTimeline | null): Map<string, number> {
  const seen = new Map<string, number>();
  for (const s of t?.series ?? []) {
    const i = s.other ? -1 : firstIndex(s.values);
    if (t && i >= 0) seen.set(s.name, t.startMs + i * t.stepMs);
  }
  return seen;
}

/** The step in which a release was seen last; null if it is in none. */
export function lastSeen(value: string, t: ReleaseTimeline | null): Span | null {
  const values = t?.series?.find((s) => !s.other && s.name === value)?.values ?? [];
  const i = lastIndex(values, (v) => (v ?? 0) > 0);
  if (!t || i < 0) return null;
  return { from: t.startMs + i * t.stepMs, to: t.startMs + (i + 1) * t.stepMs };
}

const natural = new Intl.Collator("en", { numeric: true });

/**
 * The releases, newest first. `long` is a timeline that begins well before what is shown. Those
 * that were first seen at the same time, and those of which it is unknown, are ordered by their
 * numbers.
 */
export function newestFirst(values: string[], long: ReleaseTimeline | null): string[] {
  const seen = firstSeen(long);
  const at = (v: string): number => seen.get(v) ?? -Infinity;
  return [...values].sort((a, b) =>
    at(a) === at(b) ? natural.compare(b, a) : at(b) > at(a) ? 1 : -1,
  );
}

export interface ReleaseMark {
  at: number; // ms
  value: string;
  previous: string;
}

/** Where releases begin on the timeline: those that were not there at its start, nor before. */
export function releaseMarks(
  order: string[],
  shown: ReleaseTimeline | null,
  long: ReleaseTimeline | null,
  span: Span,
): ReleaseMark[] {
  if (!shown || !long) return [];
  const before = firstSeen(long);
  const first = shown.startMs + firstIndex(shown.values) * shown.stepMs;
  const marks: ReleaseMark[] = [];
  for (const [value, at] of firstSeen(shown)) {
    const i = order.indexOf(value);
    const previous = order[i + 1];
    const old = (before.get(value) ?? at) < at - long.stepMs - shown.stepMs;
    if (i < 0 || previous === undefined || old || at <= first || at < span.from) continue;
    marks.push({ at, value, previous });
  }
  return marks.sort((a, b) => a.at - b.at);
}

/** Of an image what tells it from the others: its tag. */
export const releaseName = (value: string): string => {
  const name = repository(value);
  return name.includes("/") || value.includes("@") ? value.slice(name.length + 1) || value : value;
};

/**
 * A range as long as that on show in which the release ran, if it is not that on show. When it ran
 * last is known to an hour or so; if it is `gone` from the range on show, it ended before that.
 */
export function whenSeen(last: Span | null, shown: Span, gone: boolean): Span | null {
  if (!last) return null;
  const overlaps = last.from < shown.to && last.to > shown.from;
  if (overlaps && !(gone && last.from < shown.from)) return null;
  const to = overlaps ? shown.from : last.to;
  return { from: to - Math.max(shown.to - shown.from, last.to - last.from), to };
}
