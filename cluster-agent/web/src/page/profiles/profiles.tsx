// The profiles: the list of applications, or one of them with its timeline and flame graph.

import { useEffect, useMemo, useState } from "preact/hooks";
import { splitService } from "../../model/names";
import { isRelative, resolve } from "../../model/time_range";
import type { UrlState } from "../../model/url_state";
import { outage, useRetry } from "../../state/connection";
import { Cell, useHidden, useNow } from "../../state/hooks";
import { useHueMemory } from "../../state/hue_memory";
import { useNotes } from "../../state/note_store";
import { useScheme } from "../../state/scheme";
import { CompareMenu } from "../comparison/compare_menu";
import { Header } from "../header/header";
import { NoDataYet, NothingInRange, Problems, Silence } from "../parts/empty";
import { pauseReason } from "../parts/live";
import { NotesPanel } from "../notes/notes";
import { usePane } from "../parts/panes";
import { Waiting } from "../parts/waiting";
import { Start } from "../start/start";
import { Filters } from "../timeline/filters";
import { StoreBehind, useBacklog } from "./backlog";
import { WrongClocks } from "./clocks";
import { OneApplication } from "./one_application";
import { jumpTo, type PageProps, type PartProps } from "./page_props";
import { useProfiles } from "./profiles_data";

const cursor = new Cell(-1);

/** Whether a frame is under the cursor. */
function usePointed(): boolean {
  const [pointing, set] = useState(false);
  useEffect(() => cursor.watch((node) => set(node >= 0)), []);
  return pointing;
}

/** The time of what is shown: whether it moves on by itself, and how to ask again. */
function useTime(state: UrlState) {
  const { range } = state;
  const hidden = useHidden();
  const pointing = usePointed();
  const [attempt, setAttempt] = useState(0);
  const relative = isRelative(range);
  const paused = pauseReason(state, hidden, pointing);
  const [now, refresh] = useNow(relative && !paused);
  const span = useMemo(() => resolve(range, now), [range, now]);
  const retry = (): void => {
    setAttempt(attempt + 1);
    refresh();
  };
  useRetry(retry, !hidden);
  return { now, span, attempt, refresh, retry, relative, live: relative ? paused || "live" : "" };
}

function useTitle(title: string): void {
  useEffect(() => {
    document.title = title;
  }, [title]);
}

export function Profiles(p: PageProps) {
  const { state, navigate } = p;
  const [pane, setPane] = usePane(state);
  const [scheme, setScheme] = useScheme();
  useHueMemory(state.service, state.color);
  const time = useTime(state);
  const { now, attempt, retry, relative } = time;
  const data = useProfiles(state, navigate, time);
  const backlog = useBacklog(now);
  const notes = useNotes(state.service, now);
  const { apps, problems, cold, lines } = data;
  const group = splitService(state.service).name;
  useTitle(state.service ? `${group} · profiles` : "Profiles");
  const parts = { ...p, data, notes, now, attempt, retry, pane, setPane, scheme, setScheme };
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
        live={time.live}
        loading={data.loading}
        failing={problems.map((x) => `${x.what}: ${x.error}`).join(" · ")}
        notes={<NotesPanel {...parts} {...data} known={notes} />}
        onRefresh={outage.value === null ? time.refresh : retry}
        {...(state.service && contextOf(parts))}
      />
      {!(cold && cold.error) && <Problems problems={problems} onRetry={retry} />}
      {backlog && <StoreBehind {...backlog} />}
      {relative && !data.empty && apps.data && !backlog && (
        <Silence
          what={state.service && group}
          own={data.app?.lastSeen ?? null}
          any={apps.data.lastSeen}
          now={now}
        />
      )}
      {state.service === "" && apps.data && <WrongClocks now={now} />}
      {state.service === "" ? (
        <AllApplications {...parts} />
      ) : (
        <OneApplication {...parts} cursor={cursor} />
      )}
    </>
  );
}

/** What the header has of an application. */
function contextOf({ state, navigate, data }: PartProps) {
  const { apps, lines, subject, shown } = data;
  const instances = (lines.everyone.data ?? lines.timeline.data)?.instances ?? [];
  return {
    filters: <Filters {...{ state, navigate, subject }} span={shown} />,
    compare: (
      <CompareMenu
        {...{ state, navigate, subject, shown }}
        applications={apps.data?.applications ?? []}
        instances={instances.map((i) => i.id)}
        releases={data.releases}
      />
    ),
  };
}

function AllApplications(p: PartProps) {
  const { data, now } = p;
  const { apps } = data;
  if (!apps.data)
    return (
      <Waiting
        what="applications"
        loaded={{ ...apps, error: data.cold?.error ?? "" }}
        onRetry={p.retry}
      />
    );
  if (apps.data.applications.length > 0)
    return (
      <Start
        {...p}
        applications={apps.data.applications}
        newest={apps.data.lastSeen}
        registry={data.registry}
        span={data.span}
        sparks={apps.sparks}
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
