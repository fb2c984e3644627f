// The releases of what is shown, loaded beside it: they change with deployments, not with every
// refresh.

import { useMemo } from "preact/hooks";
import {
  lastSeen,
  newestFirst,
  onlyReleases,
  releaseLabel,
  releaseMarks,
  withoutReleases,
  type ReleaseMark,
} from "../../model/releases";
import type { Span } from "../../model/time_range";
import { labelsUrl, timelineUrl, useApi, type Labels, type Selection } from "../../state/api";
import type { Timeline } from "../../state/api";
import { sparkSpan } from "../start/start_data";

const WEEK = 7 * 86_400_000;
const POINTS = 180;
const LONG_POINTS = 168; // hours of a week

export interface Releases {
  label: string;
  newest: string[]; // newest first, at least two
  marks: ReleaseMark[];
  lastSeen: (value: string) => Span | null; // a step of the chart
}

/** What a chart of the week that ends with a range is of. */
export const weekOf = ({ to }: Span): Span => ({ from: to - WEEK, to });

/** `moves`: the chart follows the time. Null while there is but one release. */
export function useReleases(subject: Selection, chart: Span, moves: boolean): Releases | null {
  const { from, to } = sparkSpan(chart, moves);
  const where = withoutReleases(subject.where);
  const all = { ...subject, where };
  const about = `${subject.service} ${subject.type} ${subject.instance} ${where}`;
  const known = subject.service !== "" && subject.type !== "";
  const labels = useApi<Labels>(known ? labelsUrl(all, { from, to }) : null, about, 0, true);
  const label = useMemo(() => releaseLabel(labels.data?.labels ?? []), [labels.data]);
  const of = label && { ...all, where: onlyReleases(where, label) };
  const line = (s: Span, points: number): string | null =>
    of && label && timelineUrl(of, s, points, label.name);
  const shown = useApi<Timeline>(line({ from, to }, POINTS), about, 0, true);
  const past = to - Math.max(WEEK, 3 * (to - from));
  const long = useApi<Timeline>(line({ from: past, to }, LONG_POINTS), about, 0, true);
  return useMemo(() => {
    if (!label) return null;
    const newest = newestFirst(label.values, long.data);
    const marks = releaseMarks(newest, shown.data, long.data, { from, to });
    const last = (value: string): Span | null => lastSeen(value, shown.data);
    return { label: label.name, newest, marks, lastSeen: last };
  }, [label, shown.data, long.data]);
}
