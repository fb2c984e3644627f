// Where releases begin on the timeline. A click compares one with the release before it.

import { releaseName } from "../../model/releases";
import { clock, type Span } from "../../model/time_range";
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
