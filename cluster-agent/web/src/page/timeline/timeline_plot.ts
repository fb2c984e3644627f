// The chart of the timeline: its axes, lines and colours, without events and components.

import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { Timeline } from "../../state/api";
import { middles, seriesColor, shifted, type Steps } from "../../model/series";
import { axisSplits, lonePoints } from "../../model/axis";
import { clock, day, type Span } from "../../model/time_range";
import { fieldsAt, ownZone, shownZone } from "../../model/time_zone";
import { tick } from "../../model/units";

export const AXIS = 76; // px left of the chart
export const PAD = 12; // px right of it

export interface PlotProps {
  data: Timeline | null;
  base: Steps | null; // a line of its own for the baseline
  baseShift: number; // ms
  span: Span;
  perSecond: boolean;
  dark: boolean;
  hidden: ReadonlySet<string>; // names of series
}

const css = (name: string): string =>
  getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** A date whose local fields are those of the zone on show: days of the axis begin with these. */
const zonedDate = (s: number): Date =>
  shownZone() === ownZone() ? new Date(s * 1000) : uPlot.tzDate(new Date(s * 1000), shownZone());

function axisTimes(span: Span, splits: number[]): string[] {
  const long = span.to - span.from > 36 * 3600_000;
  const seconds = splits.some((s) => s % 60 !== 0);
  return splits.map((s) => {
    const ms = s * 1000;
    const at = fieldsAt(ms);
    return long && at.hour === 0 && at.minute === 0
      ? day(ms)
      : clock(ms, seconds);
  });
}

const HALF_LABEL = 26; // px

/** Without the texts that the edges of the plot would cut. */
function whole(u: uPlot, texts: string[], splits: number[]): string[] {
  // elements have no size yet when a chart is drawn for the first time
  const width = u.bbox.width / uPlot.pxRatio;
  return texts.map((text, i) => {
    const x = u.valToPos(splits[i], "x");
    return x < HALF_LABEL || x > width + PAD - HALF_LABEL ? "" : text;
  });
}

function axisValues({ data, perSecond }: PlotProps, splits: number[]): string[] {
  const some = data?.values.some((v) => v !== null) ?? false;
  // without data the scale means nothing
  return splits.map((v) => (some && data ? tick(v, data.unit, perSecond) : ""));
}

/** Which points to draw where all of them would be too dense: those that no line shows. */
const onlyLone: uPlot.Series.Points.Filter = (u, series, show) =>
  show ? null : lonePoints(u.data[series]);

function lines(p: PlotProps): uPlot.Series[] {
  const base: uPlot.Series[] = p.base
    ? [
        {
          stroke: css("--side-b"),
          width: 1.5,
          dash: [5, 4],
          points: { show: false, filter: onlyLone },
        },
      ]
    : [];
  if (!p.data?.series)
    return [
      {
        stroke: css("--accent"),
        fill: css("--area"),
        width: 1.5,
        points: { size: 4, filter: onlyLone },
        spanGaps: false,
      },
      ...base,
    ];
  const of = p.data.series.map((s, i): uPlot.Series => ({
    stroke: seriesColor(i, s.other === true, p.dark),
    width: 1.5,
    dash: s.other ? [2, 3] : undefined,
    points: { size: 4, filter: onlyLone },
    show: !p.hidden.has(s.name),
  }));
  return [...of, ...base];
}

/** What the chart is made of; another key needs another chart. */
export const plotKey = (p: PlotProps): string =>
  [
    p.dark,
    p.base !== null,
    p.data?.series !== undefined, // none at all is not the one line of a whole
    ...(p.data?.series ?? []).map((s) => `${p.hidden.has(s.name)}${s.name}`),
  ].join("\n");

export function columns(p: PlotProps): uPlot.AlignedData {
  const { data, base } = p;
  const n = (data?.series?.length ?? 1) + (base ? 1 : 0);
  if (!data) return [[], ...Array.from({ length: n }, () => [])];
  const own = data.series ? data.series.map((s) => s.values) : [data.values];
  return [middles(data), ...own, ...(base ? [shifted(base, p.baseShift, data)] : [])];
}

/** `now` gives the newest properties: the chart lives longer than they do. */
export function plotOptions(
  now: () => PlotProps,
  { width, height }: { width: number; height: number },
  onCursor: (u: uPlot) => void,
): uPlot.Options {
  const grid = { stroke: css("--line"), width: 1 };
  const font = '11px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';
  const axis = { stroke: css("--dim"), font, ticks: { show: false } };
  return {
    width,
    height,
    tzDate: zonedDate,
    padding: [8, PAD, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false, setScale: false }, points: { size: 6 } },
    scales: {
      x: { time: true, range: () => [now().span.from / 1000, now().span.to / 1000] },
      y: { range: (_u, _min, max) => [0, max > 0 ? max * 1.12 : 1] },
    },
    axes: [
      {
        ...axis,
        size: 22,
        gap: 4,
        grid: { show: false },
        values: (u, splits) => whole(u, axisTimes(now().span, splits), splits),
        space: 90,
      },
      {
        ...axis,
        size: AXIS,
        gap: 6,
        grid,
        space: 18,
        splits: (_u, _i, _min, max, step) => axisSplits(max, step, now().data?.unit ?? ""),
        values: (_u, splits) => axisValues(now(), splits),
      },
    ],
    series: [{}, ...lines(now())],
    hooks: { setCursor: [onCursor] },
  };
}
