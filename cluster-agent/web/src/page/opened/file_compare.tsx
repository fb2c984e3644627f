// Two files side by side, in words.

import { changeOf, changePercentText, changeTextColor, diffPalettes } from "../../model/diff";
import type { DiffScheme } from "../../model/diff";
import { value } from "../../model/units";
import type { DiffBy } from "../../model/url_state";
import type { Side } from "../../open/file_graph";
import { sumOf } from "../../open/stacks";
import type { FlameGraph } from "../../state/api";
import { DiffLegend } from "../comparison/compare_bar";
import { Segments } from "../parts/popover";

interface Props {
  a: Side;
  b: Side;
  graph: FlameGraph;
  diff: DiffBy;
  dark: boolean;
  scheme: DiffScheme;
  setScheme: (s: DiffScheme) => void;
  onDiff: (d: DiffBy) => void;
  onSwap: () => void;
  onLeave: () => void;
}

const SideName = ({ letter, side }: { letter: "a" | "b"; side: Side }) => (
  <span class="compare-side" data-testid={`side-${letter}`}>
    <span class={`side-mark side-${letter}`} aria-hidden="true">
      {letter.toUpperCase()}
    </span>
    <b>{side.file.name}</b>
    <span class="num">{value(sumOf(side.type), side.type.unit)}</span>
  </span>
);

const hints: Record<DiffBy, string> = {
  share: "Each side’s share of its own total",
  absolute: "Values as they are in the files, however long each was recorded",
};

export function FileCompareBar(p: Props) {
  const { a, b, diff, dark, scheme } = p;
  const [now, base] = [sumOf(a.type), sumOf(b.type)];
  const change = changeOf(now, base, { value: now, base }, "absolute");
  const palette = diffPalettes[dark ? "dark" : "light"][scheme];
  return (
    <section class="compare-bar" aria-label="Comparison" data-testid="compare-bar">
      <div class="compare-words" role="status">
        <SideName letter="a" side={a} />
        <span class="dim">with</span>
        <SideName letter="b" side={b} />
        <b
          class="num"
          title="Change of the total"
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
