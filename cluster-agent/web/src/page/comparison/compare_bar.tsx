// The line of A and B: the selected part and what to do with it; or what is compared with what, in
// words: both ranges or label sets, their totals, how values are compared, what the colours mean.

import type { FlameGraph, Timeline } from "../../state/api";
import type { Navigate } from "../../state/hooks";
import { isSampled } from "../../model/chance";
import {
  absoluteText,
  baseRangeName,
  isAbout,
  sideNames,
  swapped,
  timesText,
  type Comparison,
} from "../../model/comparison";
import {
  changeOf,
  changePercentText,
  changeTextColor,
  diffPalettes,
  LEVELS,
  levelOf,
  type DiffScheme,
} from "../../model/diff";
import { namingOf, type Naming } from "../../model/naming";
import { qualityText, qualityLevel } from "../../model/quality";
import { meanIn } from "../../model/series";
import { duration, spanLabel, type Span } from "../../model/time_range";
import { zoned, zoneName } from "../../model/time_zone";
import { rate, sideRate } from "../../model/units";
import { noBase, type ComparedState, type UrlState } from "../../model/url_state";
import { Segments } from "../parts/popover";
import { Strip } from "../parts/strip";

export interface CompareProps {
  state: ComparedState;
  navigate: Navigate;
  comparison: Comparison;
  graph: FlameGraph | null; // as the server sent it
  rateUnit: string; // of the timeline
  perSecond: boolean;
  now: number;
  replaced: Span | null; // the part that was selected before this one
  factor: number; // of the baseline's values when they are absolute
  dark: boolean;
  scheme: DiffScheme;
  setScheme: (s: DiffScheme) => void;
}

interface ActionProps {
  selection: Span;
  base: UrlState["base"]; // of the comparison that there is, or ""
  navigate: Navigate;
  replaced: Span | null;
}

/** What to do with a part that is selected. */
function RangeActions({ selection, base, navigate, replaced }: ActionProps) {
  const button = (text: string, id: string, title: string, patch: Partial<UrlState>) => (
    <button
      type="button"
      class="button plain small"
      title={title}
      data-testid={id}
      onClick={() => navigate(patch)}
    >
      {text}
    </button>
  );
  return (
    <>
      {button("Zoom", "selection-zoom", "Make this part the range of time", {
        range: selection,
        selection: null,
      })}
      {button(
        "As baseline",
        "selection-baseline",
        "Compare with this part: then drag the other one",
        // what was compared so far stays on its side
        { base: selection, selection: base ? replaced : null },
      )}
    </>
  );
}

interface SelectionProps extends Pick<CompareProps, "navigate" | "perSecond" | "now"> {
  selection: Span;
  curve: Timeline | null;
}

/** The selected part while nothing is compared. */
export function SelectionBar({ selection, curve, navigate, perSecond, now }: SelectionProps) {
  const mean = curve && meanIn(curve, selection);
  return (
    <section class="compare-bar" aria-label="Selection" data-testid="selection-bar">
      <div class="compare-words">
        <SideText
          letter="A"
          name={zoned(spanLabel(selection, now), selection.to)}
          hint={duration(selection.to - selection.from)}
          rate={curve && mean !== null ? rate(mean, curve.unit, perSecond) : ""}
        />
      </div>
      <div class="compare-tools">
        <button
          type="button"
          class="button primary small"
          title="Compare this part with the time of equal length right before it"
          data-testid="selection-compare"
          onClick={() => navigate({ base: "previous" })}
        >
          Compare with previous
        </button>
        <RangeActions {...{ selection, navigate }} base="" replaced={null} />
        <button
          type="button"
          class="button plain small"
          aria-label="Drop the selection"
          title="Drop the selection (Esc)"
          data-testid="selection-clear"
          onClick={() => navigate({ selection: null })}
        >
          ✕
        </button>
      </div>
    </section>
  );
}

const zoneAfter = (ms: number): string => ` ${zoneName(ms)}`;

interface SideProps {
  letter: "A" | "B";
  name: string;
  hint: string;
  rate: string;
  quality?: FlameGraph["quality"] | null;
  naming?: Naming | null;
  sampled?: boolean;
}

function SideText({ letter, name, hint, rate, quality, naming, sampled = false }: SideProps) {
  const text = quality ? qualityText(quality, sampled, naming) : "";
  return (
    <span class="compare-side" data-testid={`side-${letter.toLowerCase()}`}>
      <span class={`side-mark side-${letter.toLowerCase()}`} aria-hidden="true">
        {letter}
      </span>
      <b>{name}</b>
      {hint && <span class="dim">{hint}</span>}
      {rate && <span class="num">{rate}</span>}
      {quality && (
        <span
          class={`dot ${qualityLevel(quality, naming)}`}
          role="img"
          aria-label={text}
          title={text}
        />
      )}
    </span>
  );
}

/** How values are compared, and what widths mean. */
const measure = (p: CompareProps): string =>
  `${compared(p)}.\nA frame is as wide as the mean of both sides`;

function compared(p: CompareProps): string {
  if (p.state.diff === "share")
    return "Each side’s share of its own total: a change of load alone changes nothing";
  return p.perSecond ? absoluteText(p.factor) : "Averages over each side’s time";
}

export function CompareBar(p: CompareProps) {
  const { comparison: c, graph, state } = p;
  const withZones = sideNames(c, p.now, zoneAfter);
  const sameZone = zoneName(c.a.span.to) === zoneName(c.b.span.to);
  const names = sameZone ? { a: sideNames(c, p.now).a, b: withZones.b } : withZones;
  const base = graph?.base && isAbout(graph.base, c.b.span) ? graph.base : undefined;
  // the timeline says whether nanoseconds are cores or waiting
  const rateOf = (v: number): string =>
    p.rateUnit && sideRate(v, graph?.unit ?? "", p.rateUnit, p.perSecond);
  const a = (base && graph?.rate) ?? 0;
  const b = base?.rate ?? 0;
  const change = changeOf(a, b, { value: a, base: b }, "absolute");
  const named = graph && namingOf(graph);
  const palette = diffPalettes[p.dark ? "dark" : "light"][p.scheme];
  return (
    <section class="compare-bar" aria-label="Comparison" data-testid="compare-bar">
      <div class="compare-words" role="status">
        <SideText
          letter="A"
          name={names.a}
          hint=""
          rate={graph && base ? rateOf(a) : ""}
          quality={base && graph ? graph.quality : null}
          naming={named?.own}
          sampled={isSampled(p.graph?.type ?? "")}
        />
        <span class="dim">with</span>
        <SideText
          letter="B"
          name={names.b}
          hint={[baseRangeName(state.base, c.a.span), timesText(p.factor, state.diff)]
            .filter(Boolean)
            .join(", ")}
          rate={base ? rateOf(b) : ""}
          quality={base?.quality ?? null}
          naming={named?.base}
          sampled={isSampled(p.graph?.type ?? "")}
        />
        {base && base.total > 0 && (
          <b
            class="num"
            data-testid="total-change"
            title="Change of the total per second"
            style={{ color: changeTextColor(change, palette) }}
          >
            {changePercentText(change)}
          </b>
        )}
      </div>
      <Tools {...p} />
    </section>
  );
}

/** How is compared, and ways out. */
function Tools(p: CompareProps) {
  const { comparison: c, navigate, state } = p;
  return (
    <div class="compare-tools">
      <Segments
        label="Compare by"
        testId="diff"
        value={state.diff}
        options={[
          { value: "share", label: "Share", title: "Shares of each side’s own total" },
          {
            value: "absolute",
            label: "Absolute",
            title: "Values per unit of time, whatever the totals are",
          },
        ]}
        onChange={(diff) => navigate({ diff }, "replace")}
      />
      <DiffLegend scheme={p.scheme} setScheme={p.setScheme} dark={p.dark} title={measure(p)} />
      {state.selection && <RangeActions {...p} selection={state.selection} base={state.base} />}
      <button
        type="button"
        class="button plain small"
        data-testid="swap"
        title="The sides the other way round"
        onClick={() => navigate(swapped(state, c.a.span))}
      >
        ⇄<span class="wide-word"> Swap</span>
      </button>
      <button
        type="button"
        class="button plain small"
        data-testid="leave-comparison"
        title="Show A alone (Esc)"
        onClick={() => navigate(noBase)}
      >
        ✕<span class="wide-word"> Leave</span>
      </button>
    </div>
  );
}

const other: Record<DiffScheme, DiffScheme> = {
  "red-green": "blue-orange",
  "blue-orange": "red-green",
};
const schemeNames: Record<DiffScheme, string> = {
  "red-green": "red and green",
  "blue-orange": "orange and blue, for the colour-blind",
};

const marks: Record<number, string> = {
  [LEVELS + levelOf(-0.5)]: "½",
  [LEVELS]: "=",
  [LEVELS + levelOf(0.5)]: "2×",
};

/** The scale of colours; a click changes the colours. */
export function DiffLegend({
  scheme,
  setScheme,
  dark,
  title,
}: {
  scheme: DiffScheme;
  setScheme: (s: DiffScheme) => void;
  dark: boolean;
  title: string;
}) {
  const { fill } = diffPalettes[dark ? "dark" : "light"][scheme];
  return (
    <button
      type="button"
      class="diff-legend"
      data-testid="diff-legend"
      title={`${title}.\nClick for ${schemeNames[other[scheme]]}`}
      onClick={() => setScheme(other[scheme])}
    >
      <span class="sr">Colours: {schemeNames[scheme]}. Change them. From</span>
      <span class="dim">gone</span>
      <span class="scale">
        {fill.map((c, i) => (
          <span key={c} style={{ background: c }}>
            {marks[i] && <b>{marks[i]}</b>}
          </span>
        ))}
      </span>
      <span class="dim">new</span>
    </button>
  );
}

interface EmptyBaseProps extends Pick<CompareProps, "navigate" | "comparison" | "now"> {
  state: UrlState;
}

/** The baseline has no data: what to compare with instead. */
export function EmptyBase({ state, navigate, comparison: c, now }: EmptyBaseProps) {
  const { b } = sideNames(c, now, zoneAfter);
  const offer = (text: string, base: UrlState["base"]) => (
    <button
      type="button"
      class="button small"
      onClick={() => navigate({ base, baseService: null, baseInstance: null, baseWhere: null })}
    >
      {text}
    </button>
  );
  return (
    <Strip
      look="warn"
      testId="empty-base"
      text={`No data in the baseline (${b}): everything looks new. Compare with`}
    >
      <span class="strip-actions">
        {state.base !== "previous" && offer("the time right before", "previous")}
        {offer("a day before", { shift: 86_400 })}
        {offer("a week before", { shift: 7 * 86_400 })}
        <button type="button" class="button small" onClick={() => navigate(noBase)}>
          Leave
        </button>
      </span>
    </Strip>
  );
}
