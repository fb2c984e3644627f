// The profiles: the list of applications, or one of them with its timeline and flame graph.

import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { outage, useRetry } from "../../state/connection";
import {
  Cell,
  useHidden,
  useNow,
  type Navigate,
  type Theme,
} from "../../state/hooks";
import { useHueMemory } from "../../state/hue_memory";
import { useScheme } from "../../state/scheme";
import type { FlameGraph } from "../../state/api";
import { palettes } from "../../model/colors";
import { isAbout, type Comparison } from "../../model/comparison";
import { diffPalettes, type DiffScheme } from "../../model/diff";
import { withMatcher } from "../../model/matchers";
import { splitService } from "../../model/names";
import { describe } from "../../model/profile_types";
import { isRelative, resolve, type Span } from "../../model/time_range";
import type { UrlState } from "../../model/url_state";
import { WrongClocks } from "./clocks";
import { CompareBar, EmptyBase } from "../comparison/compare_bar";
import { CompareMenu } from "../comparison/compare_menu";
import { NoDataYet, NothingInRange, Problems, Silence } from "../parts/empty";
import { FilterBar, FilterRefused } from "../timeline/filters";
import { Header } from "../header/header";
import { pauseReason } from "../parts/live";
import { PaneTabs, usePane, type Pane } from "../parts/panes";
import { Profile } from "../profile/profile";
import { useProfiles, type ProfilesData } from "./profiles_data";
import { Start } from "../start/start";
import { Timeline } from "../timeline/timeline";
import { Waiting } from "../parts/waiting";

const cursor = new Cell(-1);

/** Whether a frame is under the cursor. */
function usePointed(): boolean {
  const [pointing, set] = useState(false);
  useEffect(() => cursor.watch((node) => set(node >= 0)), []);
  return pointing;
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

export interface PageProps {
  state: UrlState;
  navigate: Navigate;
  theme: Theme;
  dark: boolean;
  setTheme: (t: Theme) => void;
}

/** What the parts of the page share. */
interface PartProps extends PageProps {
  data: ProfilesData;
  now: number;
  attempt: number;
  retry: () => void;
  pane: Pane;
  setPane: (pane: Pane) => void;
  scheme: DiffScheme;
  setScheme: (s: DiffScheme) => void;
}

export function Profiles(p: PageProps) {
  const { state, navigate } = p;
  const hidden = useHidden();
  const pointing = usePointed();
  const [attempt, setAttempt] = useState(0);
  const [pane, setPane] = usePane(state);
  const [scheme, setScheme] = useScheme();
  useHueMemory(state.service, state.color);
  const relative = isRelative(state.range);
  const paused = pauseReason(state, hidden, pointing);
  const [now, refresh] = useNow(relative && !paused);
  const span = useMemo(() => resolve(state.range, now), [state.range, now]);
  const data = useProfiles(state, navigate, { span, now, attempt });
  const { apps, problems, cold, lines } = data;
  const group = splitService(state.service).name;
  useEffect(() => {
    document.title = state.service ? `${group} · profiles` : "Profiles";
  }, [state.service]);
  const retry = (): void => {
    setAttempt(attempt + 1);
    refresh();
  };
  useRetry(retry, !hidden);
  const parts = { ...p, data, now, attempt, retry, pane, setPane, scheme, setScheme };
  return (
    <>
      <Header
        {...p}
        type={data.type}
        applications={apps.data?.applications ?? []}
        registry={data.registry}
        timeline={state.instance && lines.everyone.data ? lines.everyone.data : lines.named}
        perSecond={data.perSecond}
        now={now}
        live={relative ? paused || "live" : ""}
        loading={data.loading}
        failing={problems.map((x) => `${x.what}: ${x.error}`).join(" · ")}
        onRefresh={outage.value === null ? refresh : retry}
      />
      {!(cold && cold.error) && <Problems problems={problems} onRetry={retry} />}
      {relative && !data.empty && apps.data && (
        <Silence
          what={state.service && group}
          own={data.app?.lastSeen ?? null}
          any={apps.data.lastSeen}
          now={now}
        />
      )}
      {state.service === "" && apps.data && <WrongClocks now={now} />}
      {state.service === "" ? <AllApplications {...parts} /> : <OneApplication {...parts} />}
    </>
  );
}

/** Moves the range to where it ends with the last profile. */
function jumpTo({ navigate, data }: PartProps, last: number): void {
  const length = data.span.to - data.span.from;
  navigate({ range: { from: last - length, to: last + 1000 }, selection: null, zoom: "" });
}

function AllApplications(p: PartProps) {
  const { state, navigate, data, now, attempt } = p;
  const { apps } = data;
  if (!apps.data)
    return (
      <Waiting
        what="applications"
        loading={apps.loading}
        error={data.cold?.error ?? ""}
        status={apps.status}
        onRetry={p.retry}
      />
    );
  if (apps.data.applications.length > 0)
    return (
      <Start
        applications={apps.data.applications}
        newest={apps.data.lastSeen}
        state={state}
        navigate={navigate}
        registry={data.registry}
        now={now}
        span={data.span}
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
      span={data.span}
      lastSeen={apps.data.lastSeen}
      now={now}
      onJump={(last) => jumpTo(p, last)}
    />
  );
}

function OneApplication(p: PartProps) {
  const { state, pane } = p;
  return (
    <>
      <PaneTabs pane={pane} panel={state.panel} onPane={p.setPane} />
      {(pane === "all" || pane === "timeline") && <TimelinePart {...p} />}
      <ComparedProfile {...p} />
    </>
  );
}

function TimelinePart({ state, navigate, data, now, dark }: PartProps) {
  const { apps, lines, comparison, second } = data;
  const instances = (lines.everyone.data ?? lines.timeline.data)?.instances ?? [];
  return (
    <>
      <FilterBar state={state} navigate={navigate} subject={data.subject} span={data.shown}>
        <CompareMenu
          state={state}
          navigate={navigate}
          subject={data.subject}
          shown={data.shown}
          applications={apps.data?.applications ?? []}
          instances={instances.map((i) => i.id)}
        />
      </FilterBar>
      <Timeline
        data={lines.named}
        base={second ? lines.second.data : null}
        baseShift={second?.shift ?? 0}
        span={data.chart}
        now={now}
        perSecond={data.perSecond}
        dark={dark}
        selection={state.selection}
        comparison={comparison}
        fixedBase={typeof state.base === "object" && "from" in state.base}
        by={state.by}
        {...timelinePicks(state, navigate)}
      />
    </>
  );
}

/** What is compared, if anything is, and the profile. */
function ComparedProfile(p: PartProps) {
  const { state, navigate, data, now, dark, scheme } = p;
  const { comparison, flame } = data;
  return (
    <>
      {comparison && (
        <CompareBar
          state={state}
          navigate={navigate}
          comparison={comparison}
          graph={flame.data}
          rateUnit={data.lines.timeline.data?.unit ?? ""}
          perSecond={data.perSecond}
          factor={data.factor}
          now={now}
          dark={dark}
          scheme={scheme}
          setScheme={p.setScheme}
        />
      )}
      {comparison && lacksBase(flame.data, comparison) && (
        <EmptyBase state={state} navigate={navigate} comparison={comparison} now={now} />
      )}
      <InPlaceOfProfile {...p}>
        <Profile
          state={state}
          pane={p.pane}
          navigate={navigate}
          graph={data.graph}
          loading={flame.loading}
          palette={dark ? palettes.dark : palettes.light}
          changes={diffPalettes[dark ? "dark" : "light"][scheme]}
          subject={data.subject}
          range={data.span}
          span={data.shown}
          base={data.baseline}
          baseScale={data.baseScale}
          cursor={cursor}
        />
      </InPlaceOfProfile>
    </>
  );
}

/** The profile, or why there is none. */
function InPlaceOfProfile(p: PartProps & { children: ComponentChildren }) {
  const { state, navigate, data } = p;
  const { cold, empty, type } = data;
  if (cold?.status === 400 && isOfFilter(cold.error))
    return <FilterRefused reason={cold.error} navigate={navigate} />;
  if (cold)
    return (
      <Waiting
        what={empty ? "older profiles" : data.known ? "profile" : "applications"}
        loading={cold.loading}
        error={cold.error}
        status={cold.status}
        onRetry={p.retry}
      />
    );
  if (!empty) return <>{p.children}</>;
  const { title } = describe(type, data.registry);
  const others = (data.long ?? data.app)?.types.some((t) => t.type !== type);
  return (
    <NothingInRange
      what={splitService(state.service).name}
      of={title ? `profile “${title}”` : "profile"}
      filtered={state.instance !== "" || state.where !== ""}
      span={data.shown}
      lastSeen={data.lastSeen}
      now={p.now}
      onJump={(last) => jumpTo(p, last)}
      onUnfilter={() => navigate({ instance: "", where: "" })}
      onOther={type && others ? () => navigate({ type: "", zoom: "" }) : undefined}
    />
  );
}
