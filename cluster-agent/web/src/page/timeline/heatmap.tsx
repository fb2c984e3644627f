// The timeline as a heatmap: a row for each instance or value of a label, a column for each step. A
// rectangle picks rows and a time, which is what the flame graph below is of then.

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import {
  axisTicks,
  colorIndex,
  filterOf,
  heatColors,
  isLimited,
  largest,
  rowsOf,
  spanOf,
  type HeatCell,
} from "../../model/heatmap";
import { withoutLabel } from "../../model/matchers";
import { completed, legendNames } from "../../model/series";
import { clock, day, duration, type Span } from "../../model/time_range";
import { fieldsAt, zoned } from "../../model/time_zone";
import { rate, unitOf } from "../../model/units";
import type { UrlState } from "../../model/url_state";
import { heatmapUrl, useApi, type Heatmap as Data, type Selection } from "../../state/api";
import { hasModifier, useSize, type Navigate } from "../../state/hooks";
import { percentOf, RangeBox } from "./timeline_boxes";

interface Props {
  state: UrlState;
  navigate: Navigate;
  subject: Selection;
  chart: Span;
  attempt: number;
  perSecond: boolean;
  dark: boolean;
  corner: ComponentChildren; // what the timeline has in its corner
}

const POINTS = 200;
const ROWS = 100;
const HEIGHT = 220; // px of all rows, at most
const ROW = 16; // px of one, at most
const NAMED = 11; // px of a row that has room for its name
const TICK = 90; // px
const LABEL = 56; // px of its text, at most

const nameOf = (s: { name: string; other?: boolean }): string =>
  s.other ? "all others" : s.name || "(no value)";

function paint(
  canvas: HTMLCanvasElement,
  data: Data,
  p: Props,
  chosen: boolean[] | null,
  size: { width: number; height: number },
): void {
  const scale = window.devicePixelRatio || 1;
  const ctx = canvas.getContext("2d");
  canvas.width = Math.round(size.width * scale);
  canvas.height = Math.round(size.height * scale);
  if (!ctx) return;
  ctx.scale(scale, scale);
  const colors = heatColors(p.dark);
  const most = largest(data.series);
  const row = size.height / data.series.length;
  const gap = row >= 5 ? 1 : 0;
  const x = (step: number): number =>
    (percentOf(data.startMs + step * data.stepMs, p.chart) / 100) * size.width;
  const { selection } = p.state;
  data.series.forEach((s, i) =>
    s.values.forEach((v, step) => {
      if (!v || v <= 0) return;
      const from = data.startMs + step * data.stepMs;
      const out = selection && (from >= selection.to || from + data.stepMs <= selection.from);
      ctx.globalAlpha = out || (chosen && !chosen[i]) ? 0.3 : 1;
      ctx.fillStyle = colors[colorIndex(v, most)];
      const left = x(step);
      const wide = x(step + 1) - left;
      ctx.fillRect(left, i * row, wide > 4 ? wide - 1 : wide, row - gap);
    }),
  );
}

function Axis({ chart, width }: { chart: Span; width: number }) {
  const f = fieldsAt(chart.from);
  const local = Date.UTC(f.year, f.month - 1, f.day, f.hour, f.minute, f.second);
  const offset = local - Math.floor(chart.from / 1000) * 1000;
  const whole = (t: number): boolean => percentOf(t, chart) < 100 * (1 - LABEL / width);
  const ticks = axisTicks(chart, width / TICK, offset).filter(whole);
  const seconds = ticks.some((t) => t % 60_000 !== 0);
  const long = chart.to - chart.from > 36 * 3600_000;
  return (
    <div class="heat-axis num" aria-hidden="true">
      {ticks.map((t) => {
        const at = fieldsAt(t);
        const midnight = long && at.hour === 0 && at.minute === 0;
        return (
          <span key={t} style={{ left: `${percentOf(t, chart)}%` }}>
            {midnight ? day(t) : clock(t, seconds)}
          </span>
        );
      })}
    </div>
  );
}

interface PickProps {
  data: Data;
  chart: Span;
  pick: (a: HeatCell, b: HeatCell) => void;
  point: (c: HeatCell | null) => void;
}

/** Two corners, by pointer or by keys, until they are picked. */
function usePick({ data, chart, pick, point }: PickProps) {
  const [corners, setCorners] = useState<[HeatCell, HeatCell] | null>(null);
  const dragging = useRef(false);
  const last = { row: data.series.length - 1, step: data.values.length - 1 };
  const within = (v: number, most: number): number => Math.min(Math.max(v, 0), most);
  const cellAt = (e: PointerEvent): HeatCell => {
    const box = (e.currentTarget as HTMLElement).getBoundingClientRect();
    const ms = chart.from + ((e.clientX - box.left) / box.width) * (chart.to - chart.from);
    return {
      row: within(Math.floor(((e.clientY - box.top) / box.height) * (last.row + 1)), last.row),
      step: within(Math.floor((ms - data.startMs) / data.stepMs), last.step),
    };
  };
  const show = (next: [HeatCell, HeatCell] | null): void => {
    setCorners(next);
    point(next && next[1]);
  };
  const key = (e: KeyboardEvent): void => {
    const [dx, dy] =
      ({ ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] } as const)[
        e.key as "ArrowLeft"
      ] ?? [0, 0];
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    if (dx || dy) {
      const [a, b] = corners ?? [null, { row: 0, step: last.step + (dx < 0 ? 1 : 0) }];
      const next = { row: within(b.row + dy, last.row), step: within(b.step + dx, last.step) };
      show([e.shiftKey && a ? a : next, next]);
    } else if (e.key === "Enter" && corners) {
      pick(...corners);
      show(null);
    } else if (e.key === "Escape" && corners) {
      show(null);
    } else {
      return;
    }
    e.preventDefault();
    e.stopPropagation();
  };
  const on = {
    onPointerDown: (e: PointerEvent): void => {
      if (e.button !== 0 || hasModifier(e as unknown as KeyboardEvent)) return;
      (e.currentTarget as HTMLElement).setPointerCapture(e.pointerId);
      dragging.current = true;
      show([cellAt(e), cellAt(e)]);
    },
    onPointerMove: (e: PointerEvent): void => {
      if (dragging.current && corners) show([corners[0], cellAt(e)]);
      else point(cellAt(e));
    },
    onPointerUp: (): void => {
      if (dragging.current && corners) pick(...corners);
      dragging.current = false;
      show(null);
    },
    onPointerCancel: (): void => {
      dragging.current = false;
      show(null);
    },
    onPointerLeave: (): void => {
      if (!dragging.current) point(corners && corners[1]);
    },
    onKeyDown: key,
    onBlur: () => show(null),
  };
  return { corners, on };
}

/** The rectangle that is being drawn, in per cent of the plot. */
function Draft({
  data,
  chart,
  corners,
}: {
  data: Data;
  chart: Span;
  corners: [HeatCell, HeatCell];
}) {
  const [a, b] = corners;
  const span = spanOf(data, a, b, chart);
  const n = data.series.length;
  const [top, bottom] = [Math.min(a.row, b.row), Math.max(a.row, b.row) + 1];
  return (
    <div
      class="heat-draft"
      style={{
        left: `${percentOf(span.from, chart)}%`,
        width: `${percentOf(span.to, chart) - percentOf(span.from, chart)}%`,
        top: `${(top / n) * 100}%`,
        height: `${((bottom - top) / n) * 100}%`,
      }}
    />
  );
}

function Rows(p: Props & { data: Data; label: string; unit: string }) {
  const { data, chart, label } = p;
  const plot = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const { width } = useSize(plot);
  const [at, setAt] = useState<HeatCell | null>(null);
  const [problem, setProblem] = useState("");
  const rows = data.series;
  const height = Math.min(HEIGHT, rows.length * ROW);
  const chosen = useMemo(() => rowsOf(rows, label, p.state), [rows, label, p.state]);
  const short = useMemo(() => legendNames(rows.map(nameOf)), [rows]);
  const pick = (a: HeatCell, b: HeatCell): void => {
    const filter = filterOf(rows, a, b, label, p.state.where);
    setProblem(filter ? "" : "These rows are too many for one filter: draw over fewer");
    if (filter) p.navigate({ selection: spanOf(data, a, b, chart), ...filter, zoom: "" });
  };
  const { corners, on } = usePick({ data, chart, pick, point: setAt });
  useLayoutEffect(() => {
    if (canvas.current && width > 0) paint(canvas.current, data, p, chosen, { width, height });
  }, [data, width, height, chosen, p.dark, p.state.selection, chart.from, chart.to]);
  useEffect(() => setProblem(""), [p.state.where, p.state.selection]);
  const text = at && rows[at.row] ? readCell(at, p, short[at.row]) : "";
  return (
    <>
      <div class="heat-body">
        <div class="heat-names mono" aria-hidden="true">
          {height / rows.length >= NAMED
            ? rows.map((s, i) => (
                <div key={s.name} title={nameOf(s)}>
                  <span class="one-line">{short[i]}</span>
                </div>
              ))
            : null}
        </div>
        <div
          class="heat-plot"
          ref={plot}
          style={{ height: `${height}px` }}
          tabIndex={0}
          role="application"
          aria-label={
            `Heatmap of ${rows.length} rows by ${label} and ${data.values.length} columns. ` +
            "Arrow keys move, with Shift they draw a rectangle, Enter shows its flame graph."
          }
          data-testid="heat-plot"
          {...on}
        >
          <canvas ref={canvas} aria-hidden="true" />
          {corners && <Draft data={data} chart={chart} corners={corners} />}
          {p.state.selection && !corners && (
            <RangeBox
              side="a"
              label=""
              title="What is on show"
              span={p.state.selection}
              chart={chart}
              onMove={null}
            />
          )}
        </div>
      </div>
      <Axis chart={chart} width={width} />
      {(problem || text) && (
        <div class="reading num" role="status" data-testid="heat-reading">
          {problem || text}
        </div>
      )}
    </>
  );
}

function readCell(at: HeatCell, p: Props & { data: Data; unit: string }, name: string): string {
  const { data, chart } = p;
  const from = Math.max(chart.from, data.startMs + at.step * data.stepMs);
  const v = data.series[at.row].values[at.step];
  const value = v === null || v === undefined ? "no data" : rate(v, p.unit, p.perSecond);
  const long = chart.to - chart.from > 36 * 3600_000;
  const time = `${long ? `${day(from)} ` : ""}${clock(from, data.stepMs % 60_000 !== 0)}`;
  return `${zoned(time, from)}  ${name}  ${value}`;
}

function Legend(p: Props & { data: Data; label: string; unit: string }) {
  const { data, label } = p;
  const most = largest(data.series);
  const n = data.series.filter((s) => !s.other).length;
  const instances = n === 1 ? "instance" : "instances";
  const rows = label === "instance" ? `${n} ${instances}` : `${n} of ${label}`;
  const more = data.series.some((s) => s.other) ? ", the largest, and all others" : "";
  const { instance, where, selection } = p.state;
  const rest = withoutLabel(where, label);
  const picked = selection !== null || rest !== where || (label === "instance" && instance !== "");
  return (
    <div class="heat-legend" data-testid="heat-legend">
      {p.corner}
      <span class="one-line">
        {rows}
        {more} · columns of {duration(data.stepMs)}
        {isLimited(data, p.chart, POINTS) && (
          <span data-testid="heat-limit">
            {" "}
            – not finer, as a profile stands for {duration(data.profileMs!)}
          </span>
        )}
      </span>
      {picked && (
        <button
          type="button"
          class="button plain small"
          data-testid="heat-drop"
          onClick={() =>
            p.navigate({
              selection: null,
              where: rest,
              zoom: "",
              ...(label === "instance" && { instance: "" }),
            })
          }
        >
          Whole heatmap
        </button>
      )}
      <span class="heat-scale num">
        0
        <span
          class="heat-ramp"
          style={{ background: `linear-gradient(90deg, ${heatColors(p.dark).join(",")})` }}
        />
        {rate(most, p.unit, p.perSecond)}
      </span>
    </div>
  );
}

export function Heatmap(p: Props) {
  const label = p.state.by || "instance";
  const { subject } = p;
  // all rows stay on show when some are picked
  const all: Selection = {
    ...subject,
    where: withoutLabel(subject.where, label),
    instance: label === "instance" ? "" : subject.instance,
  };
  const loaded = useApi<Data>(
    subject.type ? heatmapUrl(all, p.chart, { points: POINTS, by: p.state.by, limit: ROWS }) : null,
    `${all.service} ${all.type} ${all.instance} ${all.where} ${label}`,
    p.attempt,
  );
  const data = useMemo(() => loaded.data && completed(loaded.data), [loaded.data]);
  const unit = unitOf(subject.type, data?.unit ?? "");
  return (
    <section class="heatmap" aria-label="Heatmap" data-testid="heatmap">
      {data && data.series.length > 0 ? (
        <>
          <Rows {...p} data={data} label={label} unit={unit} />
          <Legend {...p} data={data} label={label} unit={unit} />
        </>
      ) : (
        <div class="note" role="status">
          {p.corner}
          {loaded.error && `Heatmap: ${loaded.error}`}
          {!loaded.error && (data ? "No profiles in this range" : "Loading…")}
        </div>
      )}
    </section>
  );
}

/** Lines or a heatmap. */
export const ChartSwitch = ({ state, navigate }: Pick<Props, "state" | "navigate">) => (
  <button
    type="button"
    class="button plain"
    aria-pressed={state.chart === "heat"}
    title="Show the timeline as rows of instances, or of the label that it is grouped by"
    data-testid="chart-heat"
    onClick={() => navigate({ chart: state.chart === "heat" ? "" : "heat" }, "replace")}
  >
    Heatmap
  </button>
);
