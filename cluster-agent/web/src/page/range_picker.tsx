// The range of time: presets up to now, or from one instant to another.

import { useState } from "preact/hooks";
import type { Navigate } from "../state/hooks";
import { MenuItem, Popover } from "./popover";
import {
  fromLocalInput,
  isRelative,
  presets,
  rangeLabel,
  resolve,
  spanLabel,
  toLocalInput,
  type TimeRange,
} from "../model/time_range";

interface Props {
  range: TimeRange;
  now: number;
  navigate: Navigate;
}

export function RangePicker({ range, now, navigate }: Props) {
  const label = isRelative(range) ? (
    <>
      <span class="wide-only">{spanLabel(resolve(range, now), now)} · </span>
      {rangeLabel(range, now).toLowerCase()}
    </>
  ) : (
    rangeLabel(range, now)
  );
  return (
    <Popover label={label} title="Range of time" testId="range" align="right" kind="dialog">
      {(close) => (
        <RangePanel
          range={range}
          now={now}
          pick={(r) => {
            navigate({ range: r, selection: null });
            close();
          }}
        />
      )}
    </Popover>
  );
}

function RangePanel({
  range,
  now,
  pick,
}: {
  range: TimeRange;
  now: number;
  pick: (r: TimeRange) => void;
}) {
  const span = resolve(range, now);
  const [from, setFrom] = useState(toLocalInput(span.from));
  const [to, setTo] = useState(toLocalInput(span.to));
  const [problem, setProblem] = useState("");
  const apply = (e: Event): void => {
    e.preventDefault();
    const a = fromLocalInput(from);
    const b = fromLocalInput(to);
    if (a === null || b === null) setProblem("Not a date and time");
    else if (a >= b) setProblem("“From” must be before “to”");
    else pick({ from: a, to: b });
  };
  return (
    <div class="range-panel">
      <div role="menu" aria-label="Up to now">
        {presets.map((p) => (
          <MenuItem
            key={p.seconds}
            checked={isRelative(range) && range.last === p.seconds}
            testId={`range-${p.seconds}`}
            onClick={() => pick({ last: p.seconds })}
          >
            <span>{p.label}</span>
          </MenuItem>
        ))}
      </div>
      <form onSubmit={apply}>
        <label>
          From
          <input
            type="datetime-local"
            step="1"
            value={from}
            data-testid="range-from"
            onInput={(e) => setFrom(e.currentTarget.value)}
          />
        </label>
        <label>
          To
          <input
            type="datetime-local"
            step="1"
            value={to}
            data-testid="range-to"
            onInput={(e) => setTo(e.currentTarget.value)}
          />
        </label>
        {problem && <div class="problem">{problem}</div>}
        <button type="submit" class="button primary" data-testid="range-apply">
          Apply
        </button>
      </form>
    </div>
  );
}
