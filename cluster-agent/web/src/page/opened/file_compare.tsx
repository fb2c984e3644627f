// Two files side by side, in words.

import { absoluteText, timesText } from "../../model/comparison";
import { changeOf, changePercentText, changeTextColor, diffPalettes } from "../../model/diff";
import type { DiffScheme } from "../../model/diff";
import { duration } from "../../model/time_range";
import { value } from "../../model/units";
import type { DiffBy } from "../../model/url_state";
import type { Side } from "../../open/file_graph";
import { isLevel, sumOf } from "../../open/stacks";
import type { FlameGraph } from "../../state/api";
import { DiffLegend } from "../comparison/compare_bar";
import { Segments } from "../parts/popover";

interface Props {
  a: Side;
  b: Side;
  graph: FlameGraph;
  factor: number; // of the baseline's values when they are absolute
  diff: DiffBy;
  dark: boolean;
  scheme: DiffScheme;
  setScheme: (s: DiffScheme) => void;
  onDiff: (d: DiffBy) => void;
  onSwap: () => void;
  onLeave: () => void;
}

interface SideProps {
  letter: "a" | "b";
  side: Side;
  hint: string;
}

const SideName = ({ letter, side, hint }: SideProps) => (
  <span class="compare-side" data-testid={`side-${letter}`}>
    <span class={`side-mark side-${letter}`} aria-hidden="true">
      {letter.toUpperCase()}
    </span>
    <b>{side.file.name}</b>
    {hint && <span class="dim">{hint}</span>}
    <span class="num">
      {value(sumOf(side.type), side.type.unit)}
      {side.file.covered > 0 && !isLevel(side.type.title) && ` in ${duration(side.file.covered)}`}
    </span>
  </span>
);

/** A file that does not say how long it was recorded is compared as it is, and so is a level. */
function hintsOf({ a, b, factor }: Props): Record<DiffBy, string> {
  const asTheyAre = isLevel(a.type.title) || !(a.file.covered > 0 && b.file.covered > 0);
  return {
    share: "Each side’s share of its own total",
    absolute: asTheyAre ? "Values as they are in the files" : absoluteText(factor),
  };
}

export function FileCompareBar(p: Props) {
  const { a, b, diff, dark, scheme, factor } = p;
  const hints = hintsOf(p);
  const [now, base] = [sumOf(a.type), sumOf(b.type) * factor];
  const change = changeOf(now, base, { value: now, base }, "absolute");
  const palette = diffPalettes[dark ? "dark" : "light"][scheme];
  return (
    <section class="compare-bar" aria-label="Comparison" data-testid="compare-bar">
      <div class="compare-words" role="status">
        <SideName letter="a" side={a} hint="" />
        <span class="dim">with</span>
        <SideName letter="b" side={b} hint={timesText(factor, diff)} />
        <b
          class="num"
          title={factor === 1 ? "Change of the total" : "Change of the total per second"}
          data-testid="total-change"
          style={{ color: changeTextColor(change, palette) }}
        >
          {changePercentText(change)}
        </b>
      </div>
      <div class="compare-tools">
        <Segments
          label="Compare by"
          testId="diff"
          value={diff}
          options={[
            { value: "share", label: "Share", title: hints.share },
            { value: "absolute", label: "Absolute", title: hints.absolute },
          ]}
          onChange={p.onDiff}
        />
        <DiffLegend scheme={scheme} setScheme={p.setScheme} dark={dark} title={hints[diff]} />
        <button type="button" class="button plain small" data-testid="swap" onClick={p.onSwap}>
          ⇄<span class="wide-word"> Swap</span>
        </button>
        <button
          type="button"
          class="button plain small"
          data-testid="leave-comparison"
          title="Show A alone"
          onClick={p.onLeave}
        >
          ✕<span class="wide-word"> Leave</span>
        </button>
      </div>
    </section>
  );
}
