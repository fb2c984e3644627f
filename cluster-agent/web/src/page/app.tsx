// The whole page: what is loaded when, and which of the views is shown.

import { useEffect, useMemo, useState } from "preact/hooks";
import {
  applicationsUrl,
  flamegraphUrl,
  lacksOfFlameGraph,
  timelineUrl,
  useApi,
  type BaseSide,
  type Applications,
  type FlameGraph,
  type Selection,
  type Timeline as TimelineData,
  type TypesAnswer,
} from "../state/api";
import { outage, useRetry } from "../state/connection";
import { WrongClocks } from "./clocks";
import { CompareBar, EmptyBase } from "./compare_bar";
import { CompareMenu } from "./compare_menu";
import { FilterBar, FilterRefused } from "./filters";
import { typeNames } from "../model/applications";
import { palettes } from "../model/colors";
import {
  baseFactor,
  chartSpan,
  comparisonOf,
  followsLive,
  isAbout,
  scaleBase,
  secondLine,
  type Comparison,
} from "../model/comparison";
import { diffPalettes } from "../model/diff";
import { withMatcher } from "../model/matchers";
import { useScheme } from "../state/scheme";
import { useHueMemory } from "../state/hue_memory";
import { NoDataYet, NothingInRange, Problems, Silence } from "./empty";
import { Header, TargetsHeader } from "./header";
import {
  Cell,
  useCell,
  useHidden,
  useNow,
  useTheme,
  useUrlState,
  type Navigate,
  type Theme,
} from "../state/hooks";
import { warmUp } from "../flame/warm_up";
import { KeysHelp } from "./keys_help";
import { Login } from "./login";
import { splitService } from "../model/names";
import { describe, tabsOf } from "../model/profile_types";
import { PaneTabs, usePane } from "./panes";
import { Profile } from "./profile";
import { access, checkAccess } from "../state/session";
import { zoneToShow } from "../state/zone";
import { Start } from "./start";
import { useApplications } from "./start_data";
import type { Targets } from "../model/targets";
import { TargetsPage } from "./target_page";
import { Timeline } from "./timeline";
import { Waiting } from "./waiting";
import { isRelative, resolve, type Span } from "../model/time_range";
import { showZone } from "../model/time_zone";
import { unitOf } from "../model/units";
import { emptyState, type UrlState } from "../model/url_state";

const POINTS = 180;
const DAY = 86_400_000;

const cursor = new Cell(-1);

/** Why the page does not refresh itself; "" while it does. */
function pauseReason(s: UrlState, hidden: boolean, pointing: boolean): string {
  if (hidden) return "while the page is hidden";
  if (!followsLive(s)) return "while a fixed range is compared";
  if (s.selection) return "while a part of the range is selected";
  if (s.zoom) return "while zoomed";
  if (pointing) return "while the mouse is on a frame";
  return "";
}

/** Whether a frame is under the cursor. */
function usePointing(): boolean {
  const [pointing, set] = useState(false);
  useEffect(() => cursor.watch((node) => set(node >= 0)), []);
  return pointing;
}

function useSlashKey(): void {
  useEffect(() => {
    const onKey = (e: KeyboardEvent): void => {
      const from = e.target as HTMLElement;
      if (e.key !== "/" || e.ctrlKey || e.metaKey || /^(INPUT|TEXTAREA|SELECT)$/.test(from.tagName))
        return;
      const input = document.querySelector<HTMLInputElement>("input[data-slash]");
      if (!input) return;
      e.preventDefault();
      input.focus();
      input.select();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
}

/** The same, with the name of what it counts as its unit. */
function useNamed<T extends { unit: string }>(data: T | null, type: string): T | null {
  return useMemo(() => data && { ...data, unit: unitOf(type, data.unit) }, [data, type]);
}

/** What the timeline's buttons do to the address. */
function timelinePicks(state: UrlState, navigate: Navigate) {
  const one = (name: string, value: string): Partial<UrlState> =>
    name === "instance"
      ? { instance: value }
      : { where: withMatcher(state.where, { name, op: "=", value }) };
  return {
    onSelect: (selection: Span | null) => navigate({ selection }),
    onZoom: (range: Span) => navigate({ range, selection: null }),
    onCompare: (selection: Span) => navigate({ selection, base: "previous" }),
    onBaseline: (base: Span, selection: Span | null) => navigate({ base, selection }),
    onFilter: (name: string, value: string, exclude: boolean) =>
      navigate(
        exclude
          ? { where: withMatcher(state.where, { name, op: "!=", value }), zoom: "" }
          : { ...one(name, value), zoom: "" },
      ),
    onCompareValues: (name: string, a: string, b: string | null) => {
      const base: Partial<UrlState> =
        name === "instance"
          ? { baseInstance: b ?? "" }
          : {
              baseWhere: withMatcher(
                state.where,
                b === null ? { name, op: "!=", value: a } : { name, op: "=", value: b },
              ),
            };
      navigate({ ...one(name, a), base: "same", ...base, by: "", zoom: "" });
    },
  };
}

/** Whether a refusal is about label matchers; others are about the range, say. */
const isOfFilter = (reason: string): boolean =>
  /^(where|baseWhere)\b|regular expression/.test(reason);

const lacksBase = (g: FlameGraph | null, c: Comparison): boolean =>
  g?.base?.total === 0 && g.total > 0 && isAbout(g.base, c.b.span);

interface PageProps {
  state: UrlState;
  navigate: Navigate;
  theme: Theme;
  dark: boolean;
  setTheme: (t: Theme) => void;
}

export function App() {
  const [state, navigate] = useUrlState();
  showZone(zoneToShow(state.zone)); // before anything is drawn
  const look = useTheme();
  useSlashKey();
  useEffect(() => void checkAccess(), []);
  const may = useCell(access);
  if (may === "unknown") return null;
  if (may === "locked") return <Login />;
  const Page = state.page === "targets" ? Targeting : Profiles;
  return (
    <>
      <Page state={state} navigate={navigate} {...look} />
      <KeysHelp />
    </>
  );
}

function Targeting(p: PageProps) {
  const hidden = useHidden();
  const [now, refresh] = useNow(!hidden);
  const targets = useApi<Targets>("targets", "", now);
  useRetry(refresh, !hidden);
  return (
    <>
      <TargetsHeader
        {...p}
        forwarding={targets.data?.forwarding !== undefined}
        live={pauseReason(p.state, hidden, false) || "live"}
        loading={targets.loading && !targets.data}
        onRefresh={refresh}
      />
      <TargetsPage
        state={p.state}
        navigate={p.navigate}
        loaded={targets}
        onRetry={refresh}
      />
    </>
  );
}

function Profiles({ state, navigate, theme, dark, setTheme }: PageProps) {
  const hidden = useHidden();
  const pointing = usePointing();
  const [attempt, setAttempt] = useState(0);

  const [pane, setPane] = usePane(state);

  const relative = isRelative(state.range);
  const [scheme, setScheme] = useScheme();
  useHueMemory(state.service, state.color);
  const paused = pauseReason(state, hidden, pointing);
  const [now, refresh] = useNow(relative && !paused);
  const span = useMemo(() => resolve(state.range, now), [state.range, now]);
  const shown = state.selection ?? span;

  const types = useApi<TypesAnswer>("api/types", "", attempt);
  const apps = useApplications(state, span, attempt);
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

  const timeline = useApi<TimelineData>(
    known ? timelineUrl(subject, chart, POINTS, state.by) : null,
    `${about} ${state.by}`,
    attempt,
  );
  const other = comparison?.b;
  const secondTimeline = useApi<TimelineData>(
    other && second
      ? timelineUrl(
          { service: other.service, type, instance: other.instance, where: other.where },
          { from: chart.from - second.shift, to: chart.to - second.shift },
          POINTS,
        )
      : null,
    `${other?.service} ${type} ${other?.instance} ${other?.where}`,
    attempt,
  );
  // the list of instances does not depend on the one that is picked
  const everyone = useApi<TimelineData>(
    known && instance ? timelineUrl({ service, type, instance: "", where }, span, 1) : null,
    `${service} ${type}`,
    attempt,
  );
  const aboutBase = [state.baseService, state.baseInstance, state.baseWhere]
    .map((v) => (v === null ? "" : `=${v}`))
    .join(" ");
  const flame = useApi<FlameGraph>(
    known ? flamegraphUrl(subject, shown, baseline) : null,
    `${about} ${aboutBase}`,
    attempt,
    false,
    lacksOfFlameGraph,
  );
  const waits = known && flame.data === null;
  useEffect(() => (waits ? warmUp() : undefined), [waits]);
  const timelineData = useNamed(timeline.data, type);
  const named = useNamed(flame.data, type);
  // without a store all of the above fail, and only the targets can be shown
  const targets = useApi<Targets>(apps.status === 404 ? "targets" : null, "", 0);
  useEffect(() => {
    if (targets.data?.forwarding !== undefined)
      navigate({ ...emptyState, page: "targets" }, "replace");
  }, [targets.data]);

  const empty =
    service !== "" && (known ? flame.data?.total === 0 : apps.data !== null && types.data !== null);
  const past = useMemo(() => ({ from: now - 30 * DAY, to: now }), [empty, service, attempt]);
  const wide = useApi<Applications>(
    empty ? applicationsUrl(past, { service }) : null,
    service,
    attempt,
  );

  const group = splitService(service).name;
  useEffect(() => {
    document.title = service ? `${group} · profiles` : "Profiles";
  }, [service]);

  const described = describe(type, registry);
  const perSecond = described.aggregation === "sum";
  // of the type, as an application may have other profiles after the last one of it
  const long = wide.data?.applications.find((a) => a.service === service);
  const lastSeen = long
    ? ((type ? long.types.find((t) => t.type === type)?.lastSeen : long.lastSeen) ?? null)
    : null;
  const factor = named?.base ? baseFactor(named, named.base, perSecond) : 1;
  const baseScale = state.diff === "absolute" ? factor : 1;
  const graph = useMemo(
    () => named && scaleBase(named, baseScale),
    [named, baseScale],
  );
  const problems = [
    { what: "Applications", error: apps.error || types.error },
    { what: "Timeline", error: timeline.error || everyone.error || secondTimeline.error },
    { what: "Flame graph", error: flame.error },
  ].filter((x) => x.error);
  const jump = (last: number): void => {
    const length = span.to - span.from;
    navigate({ range: { from: last - length, to: last + 1000 }, selection: null, zoom: "" });
  };
  const picks = timelinePicks(state, navigate);
  const retry = (): void => {
    setAttempt(attempt + 1);
    refresh();
  };
  useRetry(retry, !hidden);
  const loading = apps.loading || timeline.loading || flame.loading || secondTimeline.loading;
  // what has to come before anything can be shown
  const wanted = service === "" ? apps : empty ? wide : known ? flame : apps.error ? apps : types;
  const cold = wanted.data === null && wanted.status !== 404 ? wanted : null;

  return (
    <>
      <Header
        state={state}
        type={type}
        navigate={navigate}
        applications={apps.data?.applications ?? []}
        registry={registry}
        timeline={instance && everyone.data ? everyone.data : timelineData}
        perSecond={perSecond}
        now={now}
        live={relative ? paused || "live" : ""}
        loading={loading}
        failing={problems.map((p) => `${p.what}: ${p.error}`).join(" · ")}
        onRefresh={outage.value === null ? refresh : retry}
        theme={theme}
        setTheme={setTheme}
      />
      {!(cold && cold.error) && <Problems problems={problems} onRetry={retry} />}
      {relative && !empty && apps.data && (
        <Silence
          what={service && group}
          own={app?.lastSeen ?? null}
          any={apps.data.lastSeen}
          now={now}
        />
      )}
      {service === "" && apps.data && <WrongClocks now={now} />}
      {service === "" ? (
        startOrEmpty()
      ) : (
        <>
          <PaneTabs pane={pane} panel={state.panel} onPane={setPane} />
          {(pane === "all" || pane === "timeline") && (
            <>
              <FilterBar state={state} navigate={navigate} subject={subject} span={shown}>
                <CompareMenu
                  state={state}
                  navigate={navigate}
                  subject={subject}
                  shown={shown}
                  applications={apps.data?.applications ?? []}
                  instances={(everyone.data ?? timeline.data)?.instances.map((i) => i.id) ?? []}
                />
              </FilterBar>
              <Timeline
                data={timelineData}
                base={second ? secondTimeline.data : null}
                baseShift={second?.shift ?? 0}
                span={chart}
                now={now}
                perSecond={perSecond}
                dark={dark}
                selection={state.selection}
                comparison={comparison}
                fixedBase={typeof state.base === "object" && "from" in state.base}
                by={state.by}
                {...picks}
              />
            </>
          )}
          {comparison && (
            <CompareBar
              state={state}
              navigate={navigate}
              comparison={comparison}
              graph={flame.data}
              rateUnit={timeline.data?.unit ?? ""}
              perSecond={perSecond}
              factor={factor}
              now={now}
              dark={dark}
              scheme={scheme}
              setScheme={setScheme}
            />
          )}
          {comparison && lacksBase(flame.data, comparison) && (
            <EmptyBase state={state} navigate={navigate} comparison={comparison} now={now} />
          )}
          {cold?.status === 400 && isOfFilter(cold.error) ? (
            <FilterRefused reason={cold.error} navigate={navigate} />
          ) : cold ? (
            <Waiting
              what={empty ? "older profiles" : known ? "profile" : "applications"}
              loading={cold.loading}
              error={cold.error}
              status={cold.status}
              onRetry={retry}
            />
          ) : empty ? (
            <NothingInRange
              what={group}
              of={described.title ? `profile “${described.title}”` : "profile"}
              filtered={instance !== "" || where !== ""}
              span={shown}
              lastSeen={lastSeen}
              now={now}
              onJump={jump}
              onUnfilter={() => navigate({ instance: "", where: "" })}
              onOther={
                type && (long ?? app)?.types.some((t) => t.type !== type)
                  ? () => navigate({ type: "", zoom: "" })
                  : undefined
              }
            />
          ) : (
            <Profile
              state={state}
              pane={pane}
              navigate={navigate}
              graph={graph}
              loading={flame.loading}
              palette={dark ? palettes.dark : palettes.light}
              changes={diffPalettes[dark ? "dark" : "light"][scheme]}
              subject={subject}
              range={span}
              span={shown}
              base={baseline}
              baseScale={baseScale}
              cursor={cursor}
            />
          )}
        </>
      )}
    </>
  );

  function startOrEmpty() {
    if (!apps.data)
      return (
        <Waiting
          what="applications"
          loading={apps.loading}
          error={cold?.error ?? ""}
          status={apps.status}
          onRetry={retry}
        />
      );
    if (apps.data.applications.length > 0)
      return (
        <Start
          applications={apps.data.applications}
          newest={apps.data.lastSeen}
          state={state}
          navigate={navigate}
          registry={registry}
          now={now}
          span={span}
          sparks={apps.sparks}
          attempt={attempt}
        />
      );
    if (apps.data.lastSeen === null) return <NoDataYet />;
    return (
      <NothingInRange
        what="any application"
        of="profile"
        filtered={false}
        span={span}
        lastSeen={apps.data.lastSeen}
        now={now}
        onJump={jump}
      />
    );
  }
}
