// The range of time: presets up to now, or from one instant to another; and the zone of all times.

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Navigate } from "../../state/hooks";
import { MenuItem, Popover } from "../parts/popover";
import {
  fromLocalInput,
  isRelative,
  presets,
  rangeLabel,
  resolve,
  spanLabel,
  toLocalInput,
  yesterday,
  type TimeRange,
} from "../../model/time_range";
import { ownZone, shownZone, UTC, zoned, zoneName } from "../../model/time_zone";
import type { UrlState } from "../../model/url_state";
import { preferZone } from "../../state/zone";

interface Props {
  state: UrlState;
  now: number;
  navigate: Navigate;
}

export function RangePicker({ state, now, navigate }: Props) {
  const { range, zone } = state;
  const span = resolve(range, now);
  const label = isRelative(range) ? (
    <>
      <span class="wide-only">{zoned(spanLabel(span, now), span.to)} · </span>
      {rangeLabel(range, now).toLowerCase()}
    </>
  ) : (
    zoned(rangeLabel(range, now), span.to)
  );
  return (
    <Popover
      label={<span class="one-line">{label}</span>}
      title="Range of time"
      testId="range"
      className="range"
      align="right"
      kind="dialog"
    >
      {(close) => (
        <>
          <RangePanel
            range={range}
            now={now}
            zone={shownZone()}
            pick={(r) => {
              navigate({ range: r, selection: null });
              close();
            }}
          />
          <Zones address={zone} at={span.to} navigate={navigate} />
        </>
      )}
    </Popover>
  );
}

/** The browser's zone, UTC, and that of the link if it is another one. */
function Zones({ address, at, navigate }: { address?: string; at: number; navigate: Navigate }) {
  const [linked] = useState(address);
  const own = ownZone();
  const others = linked && linked !== own && linked !== UTC ? [linked] : [];
  const zones = [...new Set([own, UTC, ...others])];
  const nameOf = (zone: string): string =>
    zone === UTC
      ? "UTC"
      : `${zone === own ? "This browser" : zone.replace(/_/g, " ")}, ${zoneName(at, zone)}`;
  return (
    <fieldset class="zones">
      <legend>Times in</legend>
      {zones.map((zone) => (
        <label key={zone}>
          <input
            type="radio"
            name="zone"
            checked={zone === shownZone()}
            data-testid={zone === UTC ? "zone-utc" : zone === own ? "zone-own" : "zone-link"}
            onChange={() => {
              if (zone === own || zone === UTC) preferZone(zone);
              navigate({ zone }, "replace");
            }}
          />
          {nameOf(zone)}
        </label>
      ))}
    </fieldset>
  );
}

interface PanelProps {
  range: TimeRange;
  now: number;
  zone: string;
  pick: (r: TimeRange) => void;
}

function RangePanel(p: PanelProps) {
  const { range, pick } = p;
  const day = yesterday(p.now);
  return (
    <div class="range-panel">
      <div role="menu" aria-label="Up to now">
        {presets.map((x) => (
          <MenuItem
            key={x.seconds}
            checked={isRelative(range) && range.last === x.seconds}
            testId={`range-${x.seconds}`}
            onClick={() => pick({ last: x.seconds })}
          >
            {x.label}
          </MenuItem>
        ))}
        <MenuItem
          checked={!isRelative(range) && range.from === day.from && range.to === day.to}
          testId="range-yesterday"
          onClick={() => pick(day)}
        >
          Yesterday
        </MenuItem>
      </div>
      <FromTo {...p} />
    </div>
  );
}

/** A range that is typed. */
function FromTo({ range, now, zone, pick }: PanelProps) {
  const span = resolve(range, now);
  const [from, setFrom] = useState(toLocalInput(span.from));
  const [to, setTo] = useState(toLocalInput(span.to));
  const [problem, setProblem] = useState("");
  const written = useRef(zone); // of the fields
  useLayoutEffect(() => {
    const old = written.current;
    written.current = zone;
    if (zone === old) return;
    const again = (text: string): string => {
      const ms = fromLocalInput(text, old);
      return ms === null ? text : toLocalInput(ms, zone);
    };
    setFrom(again);
    setTo(again);
  }, [zone]);
  const apply = (e: Event): void => {
    e.preventDefault();
    const a = fromLocalInput(from);
    const b = fromLocalInput(to);
    if (a === null || b === null) setProblem("Not a time, as 2026-01-31 14:05");
    else if (a >= b) setProblem("“From” must be before “to”");
    else pick({ from: a, to: b });
  };
  const field = (name: string, testId: string, value: string, set: (text: string) => void) => (
    <label>
      {name}
      <input
        spellcheck={false}
        placeholder="2026-01-31 14:05"
        value={value}
        data-testid={testId}
        onInput={(e) => set(e.currentTarget.value)}
      />
    </label>
  );
  return (
    <form onSubmit={apply}>
      {field("From", "range-from", from, setFrom)}
      {field("To", "range-to", to, setTo)}
      {problem && <div class="problem">{problem}</div>}
      <button type="submit" class="button primary" data-testid="range-apply">
        Apply
      </button>
    </form>
  );
}
