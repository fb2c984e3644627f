// The timeline: how much, when. Dragging picks a part of the range, to look at or to compare.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import type { Timeline as Data } from "../../state/api";
import { useSize } from "../../state/hooks";
import type { Comparison } from "../../model/comparison";
import { nearestSeries, type Steps } from "../../model/series";
import { clock, type Span } from "../../model/time_range";
import { shownZone, zoned } from "../../model/time_zone";
import { rate } from "../../model/units";
import { RangeBox } from "./timeline_boxes";
import { AXIS, columns, PAD, plotKey, plotOptions } from "./timeline_plot";
import type { Releases } from "./release_data";
import { ReleaseMarks, RiseMark } from "./release_marks";
import { SeriesLegend } from "./timeline_legend";

interface Props {
  data: Data | null;
  base: Steps | null; // the baseline's own line
  baseShift: number; // ms that move it to the range that it is compared with
  span: Span;
  perSecond: boolean;
  dark: boolean;
  selection: Span | null;
  comparison: Comparison | null;
  fixedBase: boolean; // the baseline's range was picked by itself
  by: string; // label of the series
  releases: Releases | null;
  notes: ComponentChildren; // marks of them
  corner: ComponentChildren;
  onPick: (s: Span) => void; // dragged anew
  onCompare: (s: Span, base?: Span) => void; // with the range before it, or another
  onSelect: (s: Span | null) => void;
  onBaseline: (base: Span, selection: Span | null) => void;
  onFilter: (name: string, value: string, exclude: boolean) => void;
  onCompareValues: (name: string, a: string, b: string | null) => void; // null: all others
}

const MIN_DRAG = 4; // px; less is a click
const NEAR = 10; // px from a line that a click still hits
const BESIDE = 14; // px between the pointer and its text

interface Pointer {
  text: string;
  series: number; // the nearest, -1
  x: number; // px from the left edge of the plot
  room: number; // px to its right edge
}
const nowhere: Pointer = { text: "", series: -1, x: 0, room: 0 };

/** Beside the pointer, on the side that has more room. */
const Reading = ({ text, x, room }: Pointer) => (
  <div
    class="reading num"
    style={
      x > room
        ? { left: "auto", right: `${room + PAD + BESIDE}px` }
        : { left: `${AXIS + x + BESIDE}px` }
    }
  >
    {text}
  </div>
);

/** What is under the cursor, in words. */
function readAt(u: uPlot, p: Props, hidden: ReadonlySet<string>): Pointer {
  const i = u.cursor.idx;
  const { data, span, perSecond } = p;
  if (i === null || i === undefined || !data || (u.cursor.left ?? -1) < 0) return nowhere;
  const x = u.cursor.left ?? 0;
  const where = { x, room: u.over.clientWidth - x };
  const at = data.startMs + i * data.stepMs;
  const t = zoned(clock(at, span.to - span.from < 3 * 3600_000), at);
  const text = (v: number | null | undefined): string =>
    v === null || v === undefined ? "no data" : rate(v, data.unit, perSecond);
  if (data.series) {
    const v = u.posToVal(u.cursor.top ?? 0, "y");
    const reach = (Math.abs(u.posToVal(0, "y") - u.posToVal(1, "y")) || 0) * NEAR;
    const near = nearestSeries(data.series, hidden, i, v, reach);
    const all = `${t}  all ${text(data.values[i])}`;
    if (near < 0) return { text: all, series: -1, ...where };
    const s = data.series[near];
    const name = s.other ? "all others" : s.name || "no value";
    return { text: `${all} · ${name} ${text(s.values[i])}`, series: near, ...where };
  }
  const own = `${t}  ${text(data.values[i])}`;
  if (!p.base) return { text: own, series: -1, ...where };
  const base = u.data[u.data.length - 1][i];
  return { text: `${own} · baseline ${text(base)}`, series: -1, ...where };
}

/** Picks a range by pointer, mouse or finger; a click without a drag is reported by itself. */
function listen(
  u: uPlot,
  on: { draft: (s: Span | null) => void; pick: (s: Span) => void; click: (u: uPlot) => void },
): void {
  const { over } = u;
  let start: number | null = null;
  const x = (e: PointerEvent): number => {
    const box = over.getBoundingClientRect();
    return Math.min(Math.max(e.clientX - box.left, 0), box.width);
  };
  const span = (a: number, b: number): Span => {
    const [from, to] = [Math.min(a, b), Math.max(a, b)];
    const at = (px: number): number => Math.round(u.posToVal(px, "x") * 1000);
    return { from: at(from), to: at(to) };
  };
  over.addEventListener("pointerdown", (e) => {
    if (e.button !== 0) return;
    start = x(e);
    over.setPointerCapture(e.pointerId);
  });
  over.addEventListener("pointermove", (e) => {
    if (start !== null) on.draft(Math.abs(x(e) - start) < MIN_DRAG ? null : span(start, x(e)));
  });
  over.addEventListener("pointerup", (e) => {
    if (start === null) return;
    const [a, b] = [start, x(e)];
    start = null;
    on.draft(null);
    if (Math.abs(a - b) >= MIN_DRAG) on.pick(span(a, b));
    else on.click(u);
  });
  over.addEventListener("pointercancel", () => {
    start = null;
    on.draft(null);
  });
}

/** The range of the baseline, if it is another than that on show. */
function baselineOf(c: Comparison | null): Span | null {
  return c && (c.b.span.from !== c.a.span.from || c.b.span.to !== c.a.span.to) ? c.b.span : null;
}

/** The selection and the baseline on the plot. */
function Boxes({ p, draft }: { p: Props; draft: Span | null }) {
  const { comparison: c } = p;
  const a = draft ?? (c ? c.a.span : p.selection);
  const b = baselineOf(c);
  // the whole needs no box, and would only tint everything
  const whole = a !== null && !b && a.from <= p.span.from && a.to >= p.span.to;
  return (
    <div class="boxes" style={{ left: `${AXIS}px`, right: `${PAD + 4}px` }}>
      {p.releases && (
        <ReleaseMarks releases={p.releases} chart={p.span} onCompare={p.onCompareValues} />
      )}
      {p.notes}
      {p.data && !a && !p.data.series && (
        <RiseMark
          curve={p.data}
          chart={p.span}
          level={!p.perSecond}
          onCompare={p.onCompare}
        />
      )}
      {b && !draft && (
        <RangeBox
          side="b"
          label="B baseline"
          title="Baseline: what is compared with"
          span={b}
          chart={p.span}
          onMove={(s) => p.onBaseline(s, p.selection)}
        />
      )}
      {a && !whole && (
        <RangeBox
          side="a"
          label={c && !draft ? "A comparison" : ""}
          title="Comparison: what is on show"
          span={a}
          chart={p.span}
          onMove={draft ? null : p.onSelect}
        />
      )}
    </div>
  );
}

/** The plot, drawn anew when its width or its kind changes; otherwise it gets new data. */
function usePlot(p: Props, hidden: ReadonlySet<string>) {
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const { width, height } = useSize(host);
  const [pointer, setPointer] = useState(nowhere);
  const [draft, setDraft] = useState<Span | null>(null); // while it is dragged
  const props = { ...p, hidden };
  const latest = useRef(props);
  latest.current = props;

  const click = (u: uPlot): void => {
    const now = latest.current;
    const s = now.data?.series?.[readAt(u, now, now.hidden).series];
    if (s && !s.other) now.onFilter(now.by, s.name, false);
    else if (now.selection) now.onSelect(null);
  };

  useEffect(() => {
    if (!host.current || width === 0) return;
    const u = new uPlot(
      plotOptions(
        () => latest.current,
        { width, height },
        (u) => {
          const next = readAt(u, latest.current, latest.current.hidden);
          setPointer((old) => (old.text === next.text && old.x === next.x ? old : next));
        },
      ),
      columns(latest.current),
      host.current,
    );
    listen(u, {
      draft: setDraft,
      click,
      pick: (s) => latest.current.onPick(s),
    });
    plot.current = u;
    return () => {
      u.destroy();
      plot.current = null;
    };
  }, [width, height, plotKey(props)]);

  useEffect(() => {
    plot.current?.setData(columns(latest.current));
  }, [p.data, p.base, p.baseShift, p.span.from, p.span.to, p.perSecond, shownZone()]);
  return { host, pointer, draft };
}

export function Timeline(p: Props) {
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  useEffect(() => setHidden(new Set()), [p.by]);
  const { host, pointer, draft } = usePlot(p, hidden);
  const { comparison: c } = p;
  const b = baselineOf(c);
  const asking = c !== null && p.fixedBase && !p.selection && b !== null;
  const series = p.data?.series;
  const pointed = series?.[pointer.series];
  return (
    <section class="timeline" aria-label="Timeline" data-testid="timeline">
      <div class={pointed ? "plot pointing" : "plot"} ref={host} />
      <Boxes p={p} draft={draft} />
      {asking && !pointer.text && (
        <div class="reading" role="status" data-testid="drag-hint">
          Drag the time to compare with the baseline
        </div>
      )}
      {pointer.text && <Reading {...pointer} />}
      <div class="timeline-corner">{p.corner}</div>
      {series && (
        <SeriesLegend
          label={p.by}
          series={series}
          dark={p.dark}
          hidden={hidden}
          pointed={pointed?.name ?? null}
          setHidden={setHidden}
          onFilter={p.onFilter}
          onCompareValues={p.onCompareValues}
        />
      )}
    </section>
  );
}
