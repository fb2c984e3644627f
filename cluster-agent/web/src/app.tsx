// The whole page: what is loaded when, and which of the views is shown.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import {
  applicationsUrl,
  flamegraphUrl,
  timelineUrl,
  useApi,
  type Applications,
  type FlameGraph,
  type Selection,
  type Timeline as TimelineData,
  type TypesAnswer,
} from "./api";
import { palettes } from "./colors";
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
} from "./hooks";
import { Login } from "./login";
import { splitService } from "./names";
import { describe, tabsOf } from "./profile_types";
import { Profile } from "./profile";
import { access, checkAccess } from "./session";
import { Start } from "./start";
import type { Targets } from "./targets";
import { TargetsPage } from "./target_page";
import { Timeline } from "./timeline";
import { isRelative, resolve } from "./time_range";
import { unitOf } from "./units";
import { emptyState, type UrlState } from "./url_state";

const POINTS = 180;
const DAY = 86_400_000;

const cursor = new Cell(-1);

/** Why the page does not refresh itself; "" while it does. */
function pauseReason(s: UrlState, hidden: boolean, pointing: boolean): string {
  if (hidden) return "while the page is hidden";
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

interface PageProps {
  state: UrlState;
  navigate: Navigate;
  theme: Theme;
  dark: boolean;
  setTheme: (t: Theme) => void;
}

export function App() {
  const [state, navigate] = useUrlState();
  const look = useTheme();
  useSlashKey();
  useEffect(() => void checkAccess(), []);
  const may = useCell(access);
  if (may === "unknown") return null;
  if (may === "locked") return <Login />;
  const Page = state.page === "targets" ? Targeting : Profiles;
  return <Page state={state} navigate={navigate} {...look} />;
}

function Targeting(p: PageProps) {
  const hidden = useHidden();
  const [now, refresh] = useNow(!hidden);
  const [forwarding, setForwarding] = useState(false);
  return (
    <>
      <TargetsHeader
        {...p}
        forwarding={forwarding}
        live={pauseReason(p.state, hidden, false) || "live"}
        onRefresh={refresh}
      />
      <TargetsPage state={p.state} navigate={p.navigate} now={now} onLoaded={setForwarding} />
    </>
  );
}

function Profiles({ state, navigate, theme, dark, setTheme }: PageProps) {
  const hidden = useHidden();
  const pointing = usePointing();
  const [attempt, setAttempt] = useState(0);

  const relative = isRelative(state.range);
  const paused = pauseReason(state, hidden, pointing);
  const busy = useRef(false);
  const [now, refresh] = useNow(relative && !paused, busy);
  const span = useMemo(() => resolve(state.range, now), [state.range, now]);
  const shown = state.selection ?? span;

  const types = useApi<TypesAnswer>("api/types", "", attempt);
  const apps = useApi<Applications>(applicationsUrl(span), "", attempt);
  const registry = types.data?.types ?? [];
  const app = apps.data?.applications.find((a) => a.service === state.service);
  const firstType = app ? (tabsOf(app.types, registry)[0]?.type ?? "") : "";
  const type = state.type || (types.data || types.error ? firstType : "");
  const { service, instance } = state;
  const subject = useMemo<Selection>(
    () => ({ service, type, instance }),
    [service, type, instance],
  );
  const known = service !== "" && type !== "";
  const about = `${service} ${type} ${instance}`;

  const timeline = useApi<TimelineData>(
    known ? timelineUrl(subject, span, POINTS) : null,
    about,
    attempt,
  );
  // the list of instances does not depend on the one that is picked
  const everyone = useApi<TimelineData>(
    known && instance ? timelineUrl({ service, type, instance: "" }, span, 1) : null,
    `${service} ${type}`,
    attempt,
  );
  const flame = useApi<FlameGraph>(known ? flamegraphUrl(subject, shown) : null, about, attempt);
  const timelineData = useNamed(timeline.data, type);
  const graph = useNamed(flame.data, type);
  // without a store all of the above fail, and only the targets can be shown
  const targets = useApi<Targets>(apps.status === 404 ? "targets" : null, "", 0);
  useEffect(() => {
    if (targets.data?.forwarding !== undefined)
      navigate({ ...emptyState, page: "targets" }, "replace");
  }, [targets.data]);

  const empty =
    service !== "" && (known ? flame.data?.total === 0 : apps.data !== null && types.data !== null);
  const wide = useApi<Applications>(
    empty ? applicationsUrl({ from: now - 30 * DAY, to: now }) : null,
    "",
    attempt,
  );

  const group = splitService(service).name;
  useEffect(() => {
    document.title = service ? `${group} · profiles` : "Profiles";
  }, [service]);

  const described = describe(type, registry);
  const perSecond = described.aggregation === "sum";
  const lastSeen = service
    ? ((app ?? wide.data?.applications.find((a) => a.service === service))?.lastSeen ?? null)
    : (apps.data?.lastSeen ?? null);
  const problems = [
    { what: "Applications", error: apps.error || types.error },
    { what: "Timeline", error: timeline.error || everyone.error },
    { what: "Flame graph", error: flame.error },
  ].filter((x) => x.error);
  const jump = (last: number): void => {
    const length = span.to - span.from;
    navigate({ range: { from: last - length, to: last + 1000 }, selection: null, zoom: "" });
  };
  const retry = (): void => {
    setAttempt(attempt + 1);
    refresh();
  };
  const loading = apps.loading || timeline.loading || flame.loading;
  busy.current = loading;

  return (
    <>
      {loading && <div class="progress" role="progressbar" aria-label="Loading" />}
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
        onRefresh={refresh}
        theme={theme}
        setTheme={setTheme}
      />
      <Problems problems={problems} onRetry={retry} />
      {relative && !empty && apps.data && (
        <Silence
          what={service && group}
          own={app?.lastSeen ?? null}
          any={apps.data.lastSeen}
          now={now}
        />
      )}
      {service === "" ? (
        startOrEmpty()
      ) : (
        <>
          <Timeline
            data={timelineData}
            span={span}
            perSecond={perSecond}
            dark={dark}
            selection={state.selection}
            onSelect={(selection) => navigate({ selection })}
            onZoom={(s) => navigate({ range: s, selection: null })}
          />
          {empty ? (
            (wide.data || wide.error) && (
              <NothingInRange
                what={group}
                rangeMs={shown.to - shown.from}
                lastSeen={lastSeen}
                now={now}
                onJump={jump}
              />
            )
          ) : (
            <Profile
              state={state}
              navigate={navigate}
              graph={graph}
              loading={flame.loading}
              palette={dark ? palettes.dark : palettes.light}
              subject={subject}
              span={shown}
              cursor={cursor}
            />
          )}
        </>
      )}
    </>
  );

  function startOrEmpty() {
    if (!apps.data) return <main class="empty" aria-busy={apps.loading} />;
    if (apps.data.applications.length > 0)
      return (
        <Start
          applications={apps.data.applications}
          state={state}
          registry={registry}
          current=""
          now={now}
          pick={(s) => navigate({ service: s, type: "", instance: "", zoom: "", search: "" })}
        />
      );
    if (apps.data.lastSeen === null) return <NoDataYet />;
    return (
      <NothingInRange
        what="any application"
        rangeMs={span.to - span.from}
        lastSeen={apps.data.lastSeen}
        now={now}
        onJump={jump}
      />
    );
  }
}
