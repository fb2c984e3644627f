// The timeline: how much, when. Dragging picks a part of the range.

import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { Timeline as Data } from "./api";
import { useSize } from "./hooks";
import { clock, day, type Span } from "./time_range";
import { rate, tick } from "./units";

interface Props {
  data: Data | null;
  span: Span;
  perSecond: boolean;
  dark: boolean;
  selection: Span | null;
  onSelect: (s: Span | null) => void;
  onZoom: (s: Span) => void;
}

const HEIGHT = 92;
const ACTIONS = 112; // px, the width of the buttons beside a selection
const MIN_DRAG = 4; // px; less is a click

const css = (name: string): string =>
  getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function axisTimes(span: Span, splits: number[]): string[] {
  const long = span.to - span.from > 36 * 3600_000;
  const seconds = splits.some((s) => s % 60 !== 0);
  return splits.map((s) => {
    const ms = s * 1000;
    return long && new Date(ms).getHours() === 0 && new Date(ms).getMinutes() === 0
      ? day(ms)
      : clock(ms, seconds);
  });
}

function axisValues({ data, perSecond }: Props, splits: number[]): string[] {
  const some = data?.values.some((v) => v !== null) ?? false;
  // without data the scale means nothing
  return splits.map((v) => (some && data ? tick(v, data.unit, perSecond) : ""));
}

/** `now` gives the newest properties: the chart lives longer than they do. */
function options(
  now: () => Props,
  width: number,
  events: { select: (u: uPlot) => void; cursor: (u: uPlot) => void },
): uPlot.Options {
  const grid = { stroke: css("--line"), width: 1 };
  const font = '11px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';
  return {
    width,
    height: HEIGHT,
    padding: [8, 12, 0, 0],
    legend: { show: false },
    cursor: {
      y: false,
      drag: { x: true, y: false, setScale: false, dist: MIN_DRAG },
      points: { size: 6 },
    },
    scales: {
      x: { time: true, range: () => [now().span.from / 1000, now().span.to / 1000] },
      y: { range: (_u, _min, max) => [0, max > 0 ? max * 1.12 : 1] },
    },
    axes: [
      {
        stroke: css("--dim"),
        font,
        size: 22,
        gap: 4,
        grid: { show: false },
        ticks: { show: false },
        values: (_u, splits) => axisTimes(now().span, splits),
        space: 90,
      },
      {
        stroke: css("--dim"),
        font,
        size: 76,
        gap: 6,
        grid,
        ticks: { show: false },
        space: 18,
        values: (_u, splits) => axisValues(now(), splits),
      },
    ],
    series: [
      {},
      {
        stroke: css("--accent"),
        fill: css("--area"),
        width: 1.5,
        points: { size: 4 },
        spanGaps: false,
      },
    ],
    hooks: { setSelect: [events.select], setCursor: [events.cursor] },
  };
}

function columns(d: Data | null): uPlot.AlignedData {
  if (!d) return [[], []];
  // the middle of each step
  const x = d.values.map((_, i) => (d.startMs + (i + 0.5) * d.stepMs) / 1000);
  return [x, d.values];
}

interface Box {
  left: number;
  width: number;
}

/** Places the buttons beside the selection, or on it if there is no room. */
function actionsLeft(box: Box, width: number): number {
  if (box.left - ACTIONS > 80) return box.left - ACTIONS;
  const right = box.left + box.width + 8;
  return right + ACTIONS < width ? right : box.left + box.width / 2 - ACTIONS / 2;
}

export function Timeline(p: Props) {
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const latest = useRef(p);
  latest.current = p;
  const dragged = useRef<Span | null>(null); // what the mouse drew, against calls of our own
  const { width } = useSize(host);
  const [reading, setReading] = useState("");
  const [box, setBox] = useState<Box | null>(null);

  const boxed = useRef(false);

  const place = (u: uPlot): void => {
    const s = latest.current.selection;
    if (!s) {
      // a drag under way is not ours to clear
      if (boxed.current) u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
      boxed.current = false;
      setBox(null);
      return;
    }
    const full = u.over.clientWidth;
    const left = Math.max(0, u.valToPos(s.from / 1000, "x"));
    const right = Math.min(full, u.valToPos(s.to / 1000, "x"));
    u.setSelect(
      { left, top: 0, width: Math.max(0, right - left), height: u.over.clientHeight },
      false,
    );
    boxed.current = true;
    setBox({ left: left + u.over.offsetLeft, width: right - left });
  };

  useEffect(() => {
    if (!host.current || width === 0) return;
    const u = new uPlot(
      options(() => latest.current, width, {
        select: (plot) => {
          if (plot.select.width < MIN_DRAG) return;
          const at = (px: number): number => Math.round(plot.posToVal(px, "x") * 1000);
          dragged.current = {
            from: at(plot.select.left),
            to: at(plot.select.left + plot.select.width),
          };
          latest.current.onSelect(dragged.current);
        },
        cursor: (plot) => {
          const i = plot.cursor.idx;
          const { data, span, perSecond } = latest.current;
          if (i === null || i === undefined || !data || plot.cursor.left! < 0)
            return setReading("");
          const v = data.values[i];
          const t = clock(data.startMs + i * data.stepMs, span.to - span.from < 3 * 3600_000);
          setReading(
            `${t}  ${v === null || v === undefined ? "no data" : rate(v, data.unit, perSecond)}`,
          );
        },
      }),
      columns(p.data),
      host.current,
    );
    // a click without a drag drops the selection; a drag may end outside, without a click
    u.over.addEventListener("pointerdown", () => (dragged.current = null));
    u.over.addEventListener("click", () => {
      if (!dragged.current && latest.current.selection) latest.current.onSelect(null);
    });
    plot.current = u;
    place(u);
    return () => {
      u.destroy();
      plot.current = null;
    };
  }, [width, p.dark]);

  useEffect(() => {
    plot.current?.setData(columns(p.data));
  }, [p.data, p.span.from, p.span.to, p.perSecond]);

  useEffect(() => {
    if (plot.current) place(plot.current);
  }, [p.data, p.span.from, p.span.to, p.selection?.from, p.selection?.to]);

  return (
    <section class="timeline" aria-label="Timeline" data-testid="timeline">
      <div class="plot" ref={host} />
      {reading && <div class="reading num">{reading}</div>}
      {p.selection && box && (
        <div
          class="selection-actions"
          role="group"
          aria-label="Selected part"
          style={{ left: `${actionsLeft(box, width)}px` }}
        >
          <button
            type="button"
            class="button primary"
            data-testid="selection-zoom"
            onClick={() => p.selection && p.onZoom(p.selection)}
          >
            Zoom
          </button>
          <button
            type="button"
            class="button plain"
            aria-label="Drop the selection"
            title="Drop the selection"
            data-testid="selection-clear"
            onClick={() => p.onSelect(null)}
          >
            ✕
          </button>
        </div>
      )}
    </section>
  );
}
