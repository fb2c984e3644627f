// What the page of profiles loads: what the address asks for, completed by what the answers say.

import { useEffect, useMemo, useRef } from "preact/hooks";
import {
  applicationsUrl,
  flamegraphUrl,
  lacksOfFlameGraph,
  timelineUrl,
  useApi,
  type Applications,
  type BaseSide,
  type FlameGraph,
  type Loaded,
  type Selection,
  type Timeline,
  type TypesAnswer,
} from "../../state/api";
import type { Navigate } from "../../state/hooks";
import { warmUp } from "../../flame/warm_up";
import { typeNames, type Application } from "../../model/applications";
import {
  baseFactor,
  chartSpan,
  comparisonOf,
  isAbout,
  scaleBase,
  secondLine,
  usualDiff,
  type Comparison,
} from "../../model/comparison";
import { describe, tabsOf, type ProfileType } from "../../model/profile_types";
import type { Targets } from "../../model/targets";
import { completed } from "../../model/series";
import { isRelative, type Span } from "../../model/time_range";
import { unitOf } from "../../model/units";
import { emptyState, type DiffBy, type UrlState } from "../../model/url_state";
import { useApplications, type KnownApplications } from "../start/start_data";
import { useReleases } from "../timeline/release_data";

const POINTS = 180;
const DAY = 86_400_000;

/** Which profile is shown. */
export interface Chosen {
  span: Span; // of the timeline
  shown: Span; // what is shown of it
  registry: ProfileType[];
  app: Application | undefined;
  type: string; // "" while it is not known
  known: boolean; // application and type
  subject: Selection;
  comparison: Comparison | null;
  baseline: BaseSide | null;
  chart: Span; // of the timeline, with the baseline
  second: { shift: number } | null; // line of the baseline
  about: string; // changes when data of before would be wrong
}

function useChosen(
  state: UrlState,
  span: Span,
  apps: KnownApplications,
  types: Loaded<TypesAnswer>,
): Chosen {
  const shown = state.selection ?? span;
  const registry = types.data?.types ?? [];
  const app = apps.data?.applications.find((a) => a.service === state.service);
  const firstType = app ? (tabsOf(typeNames(app), registry)[0]?.type ?? "") : "";
  const type = state.type || (types.data || types.error ? firstType : "");
  const { service, instance, where } = state;
  const subject = useMemo<Selection>(
    () => ({ service, type, instance, where }),
    [service, type, instance, where],
  );
  const known = service !== "" && type !== "";
  const comparison = useMemo(
    () => (known ? comparisonOf(state, shown) : null),
    [known, state, shown.from, shown.to],
  );
  const baseline: BaseSide | null = comparison && {
    ...comparison.b.span,
    service: state.baseService,
    instance: state.baseInstance,
    where: state.baseWhere,
  };
  const chart = chartSpan(span, comparison);
  const second = comparison && !state.by ? secondLine(comparison, chart) : null;
  const about = `${service} ${type} ${instance} ${where}`;
  return {
    ...{ span, shown, registry, app, type, known, subject },
    ...{ comparison, baseline, chart, second, about },
  };
}

/** The same, with the name of what it counts as its unit. */
function useNamed<T extends { unit: string }>(data: T | null, type: string): T | null {
  return useMemo(() => data && { ...data, unit: unitOf(type, data.unit) }, [data, type]);
}

function useTimelines(c: Chosen, by: string, attempt: number) {
  const { service, type, instance, where } = c.subject;
  const whole = useApi<Timeline>(
    c.known ? timelineUrl(c.subject, c.chart, POINTS, by) : null,
    `${c.about} ${by}`,
    attempt,
  );
  const data = useMemo(() => whole.data && completed(whole.data), [whole.data]);
  const timeline = { ...whole, data };
  const other = c.comparison?.b;
  const second = useApi<Timeline>(
    other && c.second
      ? timelineUrl(
          { service: other.service, type, instance: other.instance, where: other.where },
          { from: c.chart.from - c.second.shift, to: c.chart.to - c.second.shift },
          POINTS,
        )
      : null,
    `${other?.service} ${type} ${other?.instance} ${other?.where}`,
    attempt,
  );
  const base = useMemo(() => second.data && completed(second.data), [second.data]);
  // the list of instances does not depend on the one that is picked
  const everyone = useApi<Timeline>(
    c.known && instance ? timelineUrl({ service, type, instance: "", where }, c.span, 1) : null,
    `${service} ${type}`,
    attempt,
  );
  return { timeline, second: { ...second, data: base }, everyone, named: useNamed(data, type) };
}

function useFlameGraph(c: Chosen, state: UrlState, attempt: number) {
  const aboutBase = [state.baseService, state.baseInstance, state.baseWhere]
    .map((v) => (v === null ? "" : `=${v}`))
    .join(" ");
  const flame = useApi<FlameGraph>(
    c.known ? flamegraphUrl(c.subject, c.shown, c.baseline) : null,
    `${c.about} ${aboutBase}`,
    attempt,
    false,
    lacksOfFlameGraph,
  );
  const waits = c.known && flame.data === null;
  useEffect(() => (waits ? warmUp() : undefined), [waits]);
  const perSecond = describe(c.type, c.registry).aggregation === "sum";
  const named = useNamed(flame.data, c.type);
  const factor = named?.base ? baseFactor(named, named.base, perSecond) : 1;
  const { base, baseService, baseInstance, baseWhere, selection, range } = state;
  const sides = [c.about, base, baseService, baseInstance, baseWhere, selection, range];
  const question = JSON.stringify(sides);
  const diff = useDiff(state, c, named, perSecond, question);
  const graph = useMemo(() => named && scaleBase(named, factor), [named, factor]);
  return { flame, graph, perSecond, factor, diff, question };
}

/**
 * How values are compared. What suits the first answer is kept for those that follow it: near the
 * limit, the page must not change with each of them.
 */
function useDiff(
  state: UrlState,
  c: Chosen,
  graph: FlameGraph | null,
  perSecond: boolean,
  about: string,
): DiffBy {
  const kept = useRef<{ about: string; diff: DiffBy } | null>(null);
  if (graph?.base && c.comparison && isAbout(graph.base, c.comparison.b.span))
    if (kept.current?.about !== about)
      kept.current = { about, diff: usualDiff(graph, graph.base, perSecond) };
  return state.diff || (kept.current?.diff ?? "share");
}

/** Without a store all other requests fail, and only the targets can be shown. */
function useForwarding(apps: KnownApplications, navigate: Navigate): void {
  const targets = useApi<Targets>(apps.status === 404 ? "targets" : null, "", 0);
  useEffect(() => {
    if (targets.data?.forwarding !== undefined)
      navigate({ ...emptyState, page: "targets" }, "replace");
  }, [targets.data]);
}

/** Where there are profiles outside the range, once it is known that there are none in it. */
function useOlder(c: Chosen, empty: boolean, now: number, attempt: number) {
  const { service } = c.subject;
  const past = useMemo(() => ({ from: now - 30 * DAY, to: now }), [empty, service, attempt]);
  const wide = useApi<Applications>(
    empty ? applicationsUrl(past, { service }) : null,
    service,
    attempt,
  );
  // of the type, as an application may have other profiles after the last one of it
  const long = wide.data?.applications.find((a) => a.service === service);
  const lastSeen = long
    ? ((c.type ? long.types.find((t) => t.type === c.type)?.lastSeen : long.lastSeen) ?? null)
    : null;
  return { wide, long, lastSeen };
}

/** All that is loaded; `attempt` asks for it again. */
export function useProfiles(
  state: UrlState,
  navigate: Navigate,
  time: { span: Span; now: number; attempt: number },
) {
  const { span, now, attempt } = time;
  const types = useApi<TypesAnswer>("api/types", "", attempt);
  const apps = useApplications(state, span, attempt);
  const chosen = useChosen(state, span, apps, types);
  const lines = useTimelines(chosen, state.by, attempt);
  const drawn = useFlameGraph(chosen, state, attempt);
  const releases = useReleases(chosen.subject, chosen.chart, isRelative(state.range));
  useForwarding(apps, navigate);
  const { flame } = drawn;
  const { timeline, second, everyone } = lines;
  const empty =
    state.service !== "" &&
    (chosen.known ? flame.data?.total === 0 : apps.data !== null && types.data !== null);
  const older = useOlder(chosen, empty, now, attempt);
  const problems = [
    { what: "Applications", error: apps.error || types.error },
    { what: "Timeline", error: timeline.error || everyone.error || second.error },
    { what: "Flame graph", error: flame.error },
  ].filter((x) => x.error);
  // what has to come before anything can be shown
  const ofOne = empty ? older.wide : chosen.known ? flame : apps.error ? apps : types;
  const wanted: Loaded<unknown> = state.service === "" ? apps : ofOne;
  return {
    ...chosen,
    ...drawn,
    ...older,
    types,
    apps,
    lines,
    releases,
    empty,
    problems,
    loading: apps.loading || timeline.loading || flame.loading || second.loading,
    cold: wanted.data === null && wanted.status !== 404 ? wanted : null,
  };
}

export type ProfilesData = ReturnType<typeof useProfiles>;
