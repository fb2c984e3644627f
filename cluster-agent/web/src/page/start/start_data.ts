// What the start page knows about the applications. Their list is requested with every refresh. The
// sparklines are not: they are by far the largest and most expensive part of the answer, and look
// the same until another of their steps has passed.

import { useMemo, useRef } from "preact/hooks";
import { applicationsUrl, useApi, type Applications, type Loaded } from "../../state/api";
import { isRelative, isSilent, type Span } from "../../model/time_range";
import type { UrlState } from "../../model/url_state";

const POINTS = 24;
const LEAST_MS = 60_000; // between two requests for sparklines

/** The range of the sparklines: that of the page, but it moves on in steps. */
export function sparkSpan(span: Span, moves: boolean): Span {
  if (!moves) return span;
  const length = span.to - span.from;
  const step = Math.max(LEAST_MS, Math.round(length / POINTS));
  const to = Math.floor(span.to / step) * step;
  return { from: to - length, to };
}

/**
 * The range of the figures: that of the page, but while nothing comes any more, the one that ended
 * with the newest profile. Else cores would change although there is nothing new, as profiles leave
 * the range one after the other.
 */
export function figuresSpan(span: Span, newest: number | null, moves: boolean): Span {
  const inside = newest !== null && newest > span.from && newest <= span.to;
  if (!moves || !inside || !isSilent(newest, span.to)) return span;
  return { from: newest - (span.to - span.from), to: newest };
}

export interface KnownApplications extends Loaded<Applications> {
  sparks: Span; // range of the sparklines
}

/**
 * The applications of the range. On the start page they have sparklines and are null until these
 * have arrived: sparklines decide which commands are folded, so without them rows would move.
 */
export function useApplications(
  state: UrlState,
  span: Span,
  attempt: number,
): KnownApplications {
  const start = state.service === "";
  const moves = isRelative(state.range);
  const newest = useRef<number | null>(null);
  const figures = figuresSpan(span, newest.current, start && moves);
  const { from, to } = sparkSpan(figures, moves);
  // what is asked again and again has the same address while nothing comes
  const list = useApi<Applications>(
    applicationsUrl(figures),
    "",
    figures === span ? attempt : span.to,
  );
  newest.current = list.data?.lastSeen ?? null;
  const drawn = useApi<Applications>(
    start ? applicationsUrl({ from, to }, { points: POINTS }) : null,
    "",
    attempt,
    true,
  );
  const byService = useMemo(
    () => new Map(drawn.data?.applications.map((a) => [a.service, a.spark])),
    [drawn.data],
  );
  const missing = start && !drawn.data && !drawn.error;
  const data = useMemo(() => {
    if (!list.data || !start) return list.data;
    if (missing) return null;
    const { applications } = list.data;
    return {
      ...list.data,
      applications: applications.map((a) => ({ ...a, spark: byService.get(a.service) })),
    };
  }, [list.data, start, missing, byService]);
  const sparks = useMemo(() => ({ from, to }), [from, to]);
  return {
    data,
    error: list.error || drawn.error,
    status: list.status || drawn.status,
    loading: list.loading || (missing && drawn.loading),
    sparks,
  };
}
