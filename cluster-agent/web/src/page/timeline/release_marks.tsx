// What the timeline points out: where releases begin, a click compares one with the release before
// it; and the largest rise, a click compares what follows with the time before it.

import { useMemo } from "preact/hooks";
import { releaseName } from "../../model/releases";
import { growthOf, riseOf } from "../../model/rise";
import type { Steps } from "../../model/series";
import { clock, spanLabel, type Span } from "../../model/time_range";
import { zoned } from "../../model/time_zone";
import type { Releases } from "./release_data";
import { markLook, percentOf } from "./timeline_boxes";

interface Props {
  releases: Releases;
  chart: Span;
  onCompare: (name: string, a: string, b: string) => void;
}

export function ReleaseMarks({ releases, chart, onCompare }: Props) {
  const { label, marks } = releases;
  const seen = marks.filter((m) => m.at > chart.from && m.at < chart.to);
  const lefts = seen.map((m) => percentOf(m.at, chart));
  return (
    <>
      {seen.map(({ at, value, previous }, i) => {
        const title =
          `${label} ${value} first seen at ${zoned(clock(at, true), at)}.\n` +
          `Click to compare it with ${previous}`;
        return (
          <div class="release" key={value} style={{ left: `${lefts[i]}%` }} data-testid="release">
            <button
              type="button"
              class={`release-tag ${markLook(lefts, i)}`}
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
  level: boolean; // its end is compared with its start
  onCompare: (part: Span, base?: Span) => void;
}

/** "+80 %", and "×12" beyond what per cent are good for. */
function growth(ratio: number): string {
  if (ratio < 3) return `+${Math.round((ratio - 1) * 100)} %`;
  return ratio < 1000 ? `×${Math.round(ratio)}` : "new";
}

export function RiseMark({ curve, chart, level, onCompare }: RiseProps) {
  const rise = useMemo(() => (level && growthOf(curve)) || riseOf(curve), [curve, level]);
  if (!rise) return null;
  const { part, base, ratio } = rise;
  const left = percentOf(part.from, chart);
  const title =
    `${growth(ratio)} from ${zoned(spanLabel(part, chart.to), part.to)}.\n` +
    `Click to compare this part with the ${base ? "start" : "time before it"}`;
  return (
    <div class="release rise" style={{ left: `${left}%` }}>
      <button
        type="button"
        class={`release-tag ${markLook([left], 0)}`}
        aria-label={title}
        title={title}
        data-testid="rise"
        onClick={() => onCompare(part, base)}
      >
        ▲ {growth(ratio)}
        {base && " since the start"}
      </button>
    </div>
  );
}
