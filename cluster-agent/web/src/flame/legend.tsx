// The legend: packages and their colours, the largest first. A click dims all others.

import type { Palette } from "../model/colors";
import { useMemo } from "preact/hooks";
import { selfShares, type Coloring, type LegendEntry } from "../model/hues";
import { clip, KERNEL, visible } from "../model/names";
import type { Tree } from "../model/tree";
import { percent } from "../model/units";
import { useAfterPaint } from "../state/hooks";
import { memo } from "../state/memo";

const MOST = 24;

/** The end of a path, "ssagen", unless another package of the legend ends alike. */
function shortKey(key: string, all: readonly LegendEntry[]): string {
  const end = key.slice(key.lastIndexOf("/") + 1);
  if (end === "" || all.some((e) => e.key !== key && e.key.endsWith(`/${end}`))) return key;
  return all.some((e) => e.key === end && e.key !== key) ? key : end;
}

interface Props {
  coloring: Coloring;
  tree: Tree | null; // the whole
  palette: Palette;
  picked: string;
  onPick: (key: string) => void;
}

/** Titles of entries; what each package used is added up once the graph is drawn. */
function useTitles(tree: Tree | null, coloring: Coloring): (key: string) => string {
  const drawn = useAfterPaint(tree);
  const shares = useMemo(
    () => (drawn && drawn === tree ? selfShares(drawn, coloring.by) : null),
    [drawn, tree, coloring.by],
  );
  return (key) => {
    const self = shares ? `self ${percent(shares.get(key) ?? 0, 1)}; ` : "";
    return `${visible(key)}\n${self}a click dims all others`;
  };
}

function Entries({ coloring, tree, palette, picked, onPick }: Props) {
  const titleOf = useTitles(tree, coloring);
  const entries = coloring.legend.slice(0, MOST);
  // a package that was picked elsewhere can be unpicked here
  const far = coloring.legend.slice(MOST).find((e) => e.key === picked);
  if (far) entries.unshift(far);
  if (entries.length === 0) return null;
  return (
    <div
      class="packages"
      role="group"
      aria-label={`Colours of ${coloring.by}s`}
      data-testid="legend"
    >
      {entries.map((e) => (
        <button
          type="button"
          key={e.key}
          class="package"
          aria-pressed={e.key === picked}
          title={titleOf(e.key)}
          data-testid="legend-entry"
          data-package={e.key}
          onClick={() => onPick(e.key === picked ? "" : e.key)}
        >
          <span class="swatch" style={{ background: palette.fill[e.hue] }} />
          {e.key === KERNEL ? "kernel" : clip(visible(shortKey(e.key, entries)), 32)}
        </button>
      ))}
    </div>
  );
}

export const Legend = memo(Entries);
