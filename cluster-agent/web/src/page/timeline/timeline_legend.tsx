// The values of the label that splits the timeline: shows and hides lines, filters, compares two.

import type { Series } from "../../state/api";
import { legendNames, seriesColor, seriesShares } from "../../model/series";
import { percent } from "../../model/units";
import { toggled } from "../../state/hooks";
import { MenuItem, Popover } from "../parts/popover";

interface Props {
  label: string;
  series: Series[];
  dark: boolean;
  hidden: ReadonlySet<string>;
  pointed: string | null; // the line under the mouse
  setHidden: (names: ReadonlySet<string>) => void;
  onFilter: (name: string, value: string, exclude: boolean) => void;
  onCompareValues: (name: string, a: string, b: string | null) => void;
}

const nameOf = (s: Series): string => (s.other ? "all others" : s.name || "(no value)");

export function SeriesLegend(p: Props) {
  const shares = seriesShares(p.series);
  const short = legendNames(p.series.filter((s) => !s.other).map((s) => s.name));
  const only = (s: Series): void =>
    p.setHidden(new Set(p.series.filter((x) => x !== s).map((x) => x.name)));
  return (
    <div class="series-legend" role="group" aria-label={`Lines by ${p.label}`} data-testid="legend">
      {p.series.map((s, i) => (
        <span class={p.pointed === s.name ? "series-item pointed" : "series-item"} key={s.name}>
          <button
            type="button"
            class="series-name"
            aria-pressed={!p.hidden.has(s.name)}
            title={`${nameOf(s)}: show or hide the line`}
            data-testid="legend-toggle"
            onClick={() => p.setHidden(toggled(p.hidden, s.name))}
          >
            <span
              class="swatch"
              aria-hidden="true"
              style={{ background: seriesColor(i, s.other === true, p.dark) }}
            />
            <span class="one-line">{s.other ? nameOf(s) : short[i] || nameOf(s)}</span>
            <span class="dim num">{percent(shares[i], 1)}</span>
          </button>
          {!s.other && (
            <Popover
              label={<span aria-hidden="true">⋯</span>}
              title={`${nameOf(s)}: filter or compare`}
              className="plain series-menu"
              chevron={false}
              testId="legend-menu"
            >
              {() => <Actions {...p} one={s} only={only} />}
            </Popover>
          )}
        </span>
      ))}
    </div>
  );
}

interface ActionsProps extends Props {
  one: Series;
  only: (s: Series) => void;
}

function Actions({ one, series, label, onFilter, onCompareValues, only }: ActionsProps) {
  const item = (testId: string | undefined, text: string, run: () => void) => (
    <MenuItem testId={testId} onClick={run}>
      {text}
    </MenuItem>
  );
  const others = series.filter((s) => s !== one && !s.other);
  return (
    <div class="scroll">
      {item("legend-filter", `Only ${nameOf(one)}`, () => onFilter(label, one.name, false))}
      {item("legend-exclude", `Without ${nameOf(one)}`, () => onFilter(label, one.name, true))}
      {item(undefined, "Hide the other lines", () => only(one))}
      {series.length > 1 && (
        <>
          <div class="menu-title">Compare {nameOf(one)} with</div>
          {others.map((s) => (
            <MenuItem
              key={s.name}
              className="one-line"
              testId="legend-compare"
              onClick={() => onCompareValues(label, one.name, s.name)}
            >
              {nameOf(s)}
            </MenuItem>
          ))}
          {item("legend-compare-others", "all others", () =>
            onCompareValues(label, one.name, null),
          )}
        </>
      )}
    </div>
  );
}
