// One application: what is compared, its timeline and its profile, or why there is none.

import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import type { BaseRange } from "../../model/base_range";
import { palettes } from "../../model/colors";
import { isAbout, littleText, type Comparison } from "../../model/comparison";
import { diffPalettes } from "../../model/diff";
import { withMatcher } from "../../model/matchers";
import { splitService } from "../../model/names";
import { lastIn } from "../../model/series";
import { describe } from "../../model/profile_types";
import type { Span } from "../../model/time_range";
import type { UrlState } from "../../model/url_state";
import type { FlameGraph } from "../../state/api";
import type { Cell, Navigate } from "../../state/hooks";
import { CompareBar, EmptyBase, SelectionBar } from "../comparison/compare_bar";
import { NoteMarks } from "../notes/note_marks";
import { NothingInRange } from "../parts/empty";
import { PaneTabs } from "../parts/panes";
import { Strip } from "../parts/strip";
import { StillLoading, Waiting } from "../parts/waiting";
import { Profile } from "../profile/profile";
import { FilterRefused, GroupBy } from "../timeline/filters";
import { Heatmap } from "../timeline/heatmap";
import { Timeline } from "../timeline/timeline";
import { jumpTo, type PartProps } from "./page_props";

type Props = PartProps & { cursor: Cell<number> };

/** What the timeline's buttons do to the address. */
function timelinePicks(state: UrlState, navigate: Navigate) {
  const one = (name: string, value: string): Partial<UrlState> =>
    name === "instance"
      ? { instance: value }
      : { where: withMatcher(state.where, { name, op: "=", value }) };
  return {
    onSelect: (selection: Span | null) => navigate({ selection }),
    onCompare: (selection: Span, base: BaseRange = "previous") => navigate({ selection, base }),
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

function TimelinePart(p: Props & { onPick: Pick }) {
  const { state, navigate, data, dark } = p;
  const { lines, comparison, second } = data;
  const corner = <GroupBy {...{ state, navigate }} subject={data.subject} span={data.shown} />;
  if (state.chart === "heat")
    return (
      <Heatmap
        {...p}
        subject={data.subject}
        chart={data.chart}
        perSecond={data.perSecond}
        corner={corner}
      />
    );
  return (
    <Timeline
      data={lines.named}
      base={second ? lines.second.data : null}
      baseShift={second?.shift ?? 0}
      span={data.chart}
      perSecond={data.perSecond}
      dark={dark}
      selection={state.selection}
      comparison={comparison}
      fixedBase={typeof state.base === "object" && "from" in state.base}
      by={state.by}
      releases={data.releases}
      notes={<NoteMarks notes={p.notes.notes} chart={data.chart} navigate={navigate} />}
      corner={corner}
      onPick={p.onPick}
      {...timelinePicks(state, navigate)}
    />
  );
}

type Pick = (selection: Span) => void;

/** The line of A and B: the part that is selected, or what is compared. */
function SidesBar(p: Props & { replaced: Span | null }) {
  const { state, data } = p;
  const { comparison, perSecond } = data;
  const { selection } = state;
  if (!comparison && !selection) return null;
  if (!comparison)
    return (
      <SelectionBar {...p} perSecond={perSecond} selection={selection!} curve={data.lines.named} />
    );
  return (
    <CompareBar
      {...p}
      state={{ ...state, diff: data.diff }}
      comparison={comparison}
      graph={data.flame.data}
      rateUnit={data.lines.timeline.data?.unit ?? ""}
      perSecond={perSecond}
      factor={data.factor}
    />
  );
}

/** Whether a refusal is about label matchers; others are about the range, say. */
const isOfFilter = (reason: string): boolean =>
  /^(where|baseWhere)\b|regular expression/.test(reason);

const lacksBase = (g: FlameGraph | null, c: Comparison): boolean =>
  g?.base?.total === 0 && g.total > 0 && isAbout(g.base, c.b.span);

interface Before {
  state: UrlState;
  data: Props["data"];
}

/** What was shown before another profile of the application was asked for, until that is there. */
function useBefore({ state, data }: Props): Before | null {
  const kept = useRef<Before | null>(null);
  const { loading, error } = data.flame;
  if (data.graph?.total && !loading) kept.current = { state, data };
  const old = kept.current;
  const waits = data.known && loading && !error && old?.state.service === state.service;
  return waits && old.data.question !== data.question ? old : null;
}

/** The profile, and what its baseline lacks. */
function ComparedProfile(props: Props) {
  const before = useBefore(props);
  const data = before?.data ?? props.data;
  const { dark, scheme } = props;
  const p = { ...props, data, state: { ...props.state, diff: data.diff } };
  const { comparison, flame } = data;
  const little = littleText(flame.data?.base, data.factor);
  return (
    <>
      {before && (
        <StillLoading
          key={props.data.question}
          onCancel={() => props.navigate(before.state, "replace")}
        />
      )}
      {comparison && lacksBase(flame.data, comparison) && (
        <EmptyBase {...p} comparison={comparison} />
      )}
      {comparison && little && (
        <Strip look="warn" testId="little-base" text={little} />
      )}
      <InPlaceOfProfile {...p}>
        <Profile
          {...p}
          graph={data.graph}
          loading={props.data.flame.loading}
          stale={before !== null}
          level={data.perSecond ? null : { last: lastIn(data.lines.timeline.data, data.shown) }}
          palette={dark ? palettes.dark : palettes.light}
          changes={diffPalettes[dark ? "dark" : "light"][scheme]}
          subject={data.subject}
          range={data.span}
          span={data.shown}
          until={data.lines.timeline.data?.completeTo}
          base={data.baseline}
          baseScale={data.factor}
        />
      </InPlaceOfProfile>
    </>
  );
}

/** The profile, or why there is none. */
function InPlaceOfProfile(p: Props & { children: ComponentChildren }) {
  const { state, navigate, data } = p;
  const { cold, empty, type } = data;
  if (cold?.status === 400 && isOfFilter(cold.error))
    return <FilterRefused reason={cold.error} navigate={navigate} />;
  if (cold)
    return (
      <Waiting
        what={empty ? "older profiles" : data.known ? "profile" : "applications"}
        loaded={cold}
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

export function OneApplication(p: Props) {
  const { state, pane } = p;
  const replaced = useRef<Span | null>(null); // by the part that was dragged last
  const onPick: Pick = (selection) => {
    replaced.current = state.selection;
    p.navigate({ selection });
  };
  return (
    <>
      <PaneTabs pane={pane} panel={state.panel} onPane={p.setPane} />
      {(pane === "all" || pane === "timeline") && <TimelinePart {...p} onPick={onPick} />}
      <SidesBar {...p} replaced={replaced.current} />
      <ComparedProfile {...p} />
    </>
  );
}
