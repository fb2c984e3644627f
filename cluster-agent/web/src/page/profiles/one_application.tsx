// One application: what is compared, its timeline and its profile, or why there is none.

import type { ComponentChildren } from "preact";
import { palettes } from "../../model/colors";
import { isAbout, type Comparison } from "../../model/comparison";
import { diffPalettes } from "../../model/diff";
import { withMatcher } from "../../model/matchers";
import { splitService } from "../../model/names";
import { lastIn } from "../../model/series";
import { describe } from "../../model/profile_types";
import type { Span } from "../../model/time_range";
import type { UrlState } from "../../model/url_state";
import type { FlameGraph } from "../../state/api";
import type { Cell, Navigate } from "../../state/hooks";
import { CompareBar, EmptyBase } from "../comparison/compare_bar";
import { CompareMenu } from "../comparison/compare_menu";
import { NothingInRange } from "../parts/empty";
import { PaneTabs } from "../parts/panes";
import { Waiting } from "../parts/waiting";
import { Profile } from "../profile/profile";
import { FilterBar, FilterRefused } from "../timeline/filters";
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

function TimelinePart({ state, navigate, data, now, dark, attempt }: Props) {
  const { apps, lines, comparison, second } = data;
  const instances = (lines.everyone.data ?? lines.timeline.data)?.instances ?? [];
  return (
    <>
      <FilterBar {...{ state, navigate }} subject={data.subject} span={data.shown}>
        <CompareMenu
          {...{ state, navigate }}
          subject={data.subject}
          shown={data.shown}
          applications={apps.data?.applications ?? []}
          instances={instances.map((i) => i.id)}
          releases={data.releases}
        />
      </FilterBar>
      {state.chart === "heat" ? (
        <Heatmap
          {...{ state, navigate, dark }}
          subject={data.subject}
          chart={data.chart}
          attempt={attempt}
          perSecond={data.perSecond}
        />
      ) : (
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
        releases={data.releases}
        {...timelinePicks(state, navigate)}
      />
      )}
    </>
  );
}

/** Whether a refusal is about label matchers; others are about the range, say. */
const isOfFilter = (reason: string): boolean =>
  /^(where|baseWhere)\b|regular expression/.test(reason);

const lacksBase = (g: FlameGraph | null, c: Comparison): boolean =>
  g?.base?.total === 0 && g.total > 0 && isAbout(g.base, c.b.span);

/** What is compared, if anything is, and the profile. */
function ComparedProfile(props: Props) {
  const { data, dark, scheme } = props;
  const p = { ...props, state: { ...props.state, diff: data.diff } };
  const { comparison, flame } = data;
  return (
    <>
      {comparison && (
        <CompareBar
          {...p}
          comparison={comparison}
          graph={flame.data}
          rateUnit={data.lines.timeline.data?.unit ?? ""}
          perSecond={data.perSecond}
          factor={data.factor}
        />
      )}
      {comparison && lacksBase(flame.data, comparison) && (
        <EmptyBase {...p} comparison={comparison} />
      )}
      <InPlaceOfProfile {...p}>
        <Profile
          {...p}
          graph={data.graph}
          loading={flame.loading}
          level={data.perSecond ? null : { last: lastIn(data.lines.timeline.data, data.shown) }}
          palette={dark ? palettes.dark : palettes.light}
          changes={diffPalettes[dark ? "dark" : "light"][scheme]}
          subject={data.subject}
          range={data.span}
          span={data.shown}
          base={data.baseline}
          baseScale={data.baseScale}
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
  return (
    <>
      <PaneTabs pane={pane} panel={state.panel} onPane={p.setPane} />
      {(pane === "all" || pane === "timeline") && <TimelinePart {...p} />}
      <ComparedProfile {...p} />
    </>
  );
}
