// What the timeline points out: where releases begin, a click compares one with the release before
// it; and the largest rise, a click compares what follows with the time before it.

import { useMemo } from "preact/hooks";
import { releaseName } from "../../model/releases";
import { riseOf } from "../../model/rise";
import type { Steps } from "../../model/series";
import { clock, spanLabel, type Span } from "../../model/time_range";
import { zoned } from "../../model/time_zone";
import type { Releases } from "./release_data";
import { percentOf } from "./timeline_boxes";

interface Props {
  releases: Releases;
  chart: Span;
  onCompare: (name: string, a: string, b: string) => void;
}

const ROOM = 10; // per cent of the plot that a name needs

export function ReleaseMarks({ releases, chart, onCompare }: Props) {
  const { label, marks } = releases;
  const seen = marks.filter((m) => m.at > chart.from && m.at < chart.to);
  return (
    <>
      {seen.map(({ at, value, previous }, i) => {
        const left = percentOf(at, chart);
        const next = i + 1 < seen.length ? percentOf(seen[i + 1].at, chart) : Infinity;
        const look = next - left < ROOM ? "narrow" : left > 100 - ROOM ? "left" : "";
        const title =
          `${label} ${value} first seen at ${zoned(clock(at, true), at)}.\n` +
          `Click to compare it with ${previous}`;
        return (
          <div class="release" key={value} style={{ left: `${left}%` }} data-testid="release">
            <button
              type="button"
              class={`release-tag ${look}`}
              aria-label={title}
              title={title}
              onClick={() => onCompare(label, value, previous)}
            >
              {releaseName(value)}
            </button>
          </div>
        );
      })}
    </>
  );
}

interface RiseProps {
  curve: Steps;
  chart: Span;
  onCompare: (part: Span) => void;
}

/** "+80 %", and "×12" beyond what per cent are good for. */
function growth(ratio: number): string {
  if (ratio < 3) return `+${Math.round((ratio - 1) * 100)} %`;
  return ratio < 1000 ? `×${Math.round(ratio)}` : "new";
}

export function RiseMark({ curve, chart, onCompare }: RiseProps) {
  const rise = useMemo(() => riseOf(curve), [curve]);
  if (!rise) return null;
  const { part, ratio } = rise;
  const left = percentOf(part.from, chart);
  const title =
    `${growth(ratio)} from ${zoned(spanLabel(part, chart.to), part.to)}.\n` +
    "Click to compare this part with the time before it";
  return (
    <div class="release rise" style={{ left: `${left}%` }}>
      <button
        type="button"
        class={`release-tag ${left > 100 - ROOM ? "left" : ""}`}
        aria-label={title}
        title={title}
        data-testid="rise"
        onClick={() => onCompare(part)}
      >
        ▲ {growth(ratio)}
      </button>
    </div>
  );
}
