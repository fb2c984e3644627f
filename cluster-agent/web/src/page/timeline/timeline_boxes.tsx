// The ranges that are picked on the timeline: the comparison (A) and the baseline (B). Edges can be
// dragged and moved with the arrow keys.

import { useRef, useState } from "preact/hooks";
import { movedEdge } from "../../model/series";
import { clock, type Span } from "../../model/time_range";
import { zoned } from "../../model/time_zone";

interface BoxProps {
  side: "a" | "b";
  label: string; // "" = none is shown
  title: string;
  span: Span;
  chart: Span;
  onMove: ((s: Span) => void) | null; // null = the edges are fixed
}

/** Where a time is on the plot. */
export const percentOf = (ms: number, chart: Span): number =>
  Math.min(100, Math.max(0, ((ms - chart.from) / (chart.to - chart.from)) * 100));

const ROOM = 10; // per cent of the plot that a name needs

/** How the name of a mark is shown, of marks by their places from left to right. */
export function markLook(lefts: number[], i: number): string {
  const next = lefts[i + 1] ?? Infinity;
  return next - lefts[i] < ROOM ? "narrow" : lefts[i] > 100 - ROOM ? "left" : "";
}

/** A range as an overlay of the plot; its position is a share of the plot's width. */
export function RangeBox(p: BoxProps) {
  const [draft, setDraft] = useState<Span | null>(null); // while an edge is dragged
  const span = draft ?? p.span;
  const from = percentOf(span.from, p.chart);
  const to = percentOf(span.to, p.chart);
  const visible = span.to > p.chart.from && span.from < p.chart.to;
  if (!visible) return null;
  return (
    <div
      class={`range-box side-${p.side}`}
      style={{ left: `${from}%`, width: `${to - from}%` }}
      data-testid={`box-${p.side}`}
    >
      {p.label && (
        <span class="range-tag" title={p.title}>
          {p.label}
        </span>
      )}
      {p.onMove &&
        (["from", "to"] as const).map((edge) => (
          <Edge key={edge} edge={edge} {...p} span={span} draft={setDraft} onMove={p.onMove!} />
        ))}
    </div>
  );
}

interface EdgeProps extends BoxProps {
  edge: "from" | "to";
  draft: (s: Span | null) => void;
  onMove: (s: Span) => void;
}

function Edge(p: EdgeProps) {
  const now = useRef<Span | null>(null);
  const at = p.span[p.edge];
  const drag = (e: PointerEvent): void => {
    const plot = (e.currentTarget as HTMLElement).closest(".boxes")!.getBoundingClientRect();
    const share = (e.clientX - plot.left) / plot.width;
    const ms = p.chart.from + share * (p.chart.to - p.chart.from);
    now.current = movedEdge(p.span, p.edge, ms, p.chart);
    p.draft(now.current);
  };
  const drop = (keep: boolean): void => {
    const moved = now.current;
    now.current = null;
    p.draft(null);
    if (keep && moved) p.onMove(moved);
  };
  const key = (e: KeyboardEvent): void => {
    const way = e.key === "ArrowLeft" ? -1 : e.key === "ArrowRight" ? 1 : 0;
    if (!way) return;
    e.preventDefault();
    e.stopPropagation();
    const step = ((p.chart.to - p.chart.from) / 100) * (e.shiftKey ? 5 : 1);
    p.onMove(movedEdge(p.span, p.edge, at + way * step, p.chart));
  };
  const side = p.side === "a" ? "selection" : "baseline";
  return (
    <div
      class={`edge ${p.edge}`}
      role="slider"
      tabIndex={0}
      aria-label={`${p.edge === "from" ? "Start" : "End"} of the ${side}`}
      aria-valuemin={Math.round(p.chart.from / 1000)}
      aria-valuemax={Math.round(p.chart.to / 1000)}
      aria-valuenow={Math.round(at / 1000)}
      aria-valuetext={zoned(clock(at, true), at)}
      data-testid={`edge-${p.side}-${p.edge}`}
      onPointerDown={(e) => {
        e.stopPropagation();
        e.currentTarget.setPointerCapture(e.pointerId);
        now.current = p.span;
      }}
      onPointerMove={(e) => now.current && drag(e)}
      onPointerUp={() => drop(true)}
      onPointerCancel={() => drop(false)}
      onClick={(e) => e.stopPropagation()}
      onKeyDown={key}
    />
  );
}
