// The last line of the page: the frame under the cursor, and the keys.

import { useEffect, useState } from "preact/hooks";
import {
  changeAmount,
  changeOf,
  changePercentText,
  changeTextColor,
  type DiffPalette,
} from "../../model/diff";
import { originOf } from "../../flame/tooltip";
import { fullName } from "../../model/names";
import { nodeFile, nodeName, type Pointed, type Tree } from "../../model/tree";
import { percent, value } from "../../model/units";
import type { FunctionId } from "../../model/url_state";
import { useCell, type Cell } from "../../state/hooks";

export interface Level {
  last: number | null; // of the whole, at the end of the range
}

interface Props {
  pointed: Cell<Pointed | null>;
  tree: Tree | null;
  unit: string;
  cursor: Cell<number>;
  zoom: number;
  onZoom: (node: number) => void;
  onDetails?: (f: FunctionId) => void; // where there is no room to show them
  diff: DiffPalette | null;
  atLeast: boolean;
  leafFirst: boolean;
  level?: Level | null; // values are averages over the time
  isFile?: boolean; // a recording: without menus and help
}

function Change({ tree, node, unit, diff }: Props & { tree: Tree; node: number }) {
  if (!tree.baseTotal) return null;
  const base = tree.baseTotal[node];
  const c = changeOf(tree.total[node], base, tree.whole, tree.mode);
  const baseline = `baseline ${value(base, unit)} ${percent(base, tree.whole.base)}`;
  return (
    <>
      {` · ${baseline} · `}
      <span style={{ color: diff ? changeTextColor(c, diff) : "" }}>
        {changeAmount(c, unit, tree.mode)} {changePercentText(c)}
      </span>
    </>
  );
}

/** What a screen reader says of the frame that the arrow keys lead to. */
function Spoken({ tree, cursor }: { tree: Tree; cursor: Cell<number> }) {
  const [text, setText] = useState("");
  const at = useCell(cursor);
  useEffect(() => {
    // a mouse that passes over frames is not spoken, nor are the frames on the way of a held key
    if (at < 0 || at >= tree.n || !document.activeElement?.matches("canvas")) return;
    const share = percent(tree.total[at], tree.whole.value);
    const timer = setTimeout(
      () => setText(`${nodeName(tree, at)}, ${share} of total, depth ${tree.depth[at]}`),
      120,
    );
    return () => clearTimeout(timer);
  }, [tree, at]);
  return (
    <div class="sr" role="status" aria-live="polite" data-testid="spoken">
      {text}
    </div>
  );
}

export function Status(p: Props) {
  const { unit } = p;
  const at = useCell(p.cursor);
  const elsewhere = useCell(p.pointed);
  const tree = elsewhere?.tree ?? p.tree;
  const node = elsewhere?.node ?? (at >= 0 ? at : p.zoom);
  const name = tree && node < tree.n ? nodeName(tree, node) : "";
  const whole = node === 0 && !elsewhere;
  const figure = (v: number): string =>
    tree ? `${value(v, unit)} ${percent(v, tree.whole.value)}` : "";
  const origin =
    tree && (node > 0 || elsewhere) && node < tree.n ? originOf(name, nodeFile(tree, node)) : "";
  return (
    <footer class="status">
      {p.tree && <Spoken tree={p.tree} cursor={p.cursor} />}
      {tree && node < tree.n ? (
        <span class="status-frame" data-testid="status">
          <b title={fullName(name)}>{fullName(name, 90)}</b>
          <span class="mono dim">
            {p.level ? "mean" : "total"} {p.atLeast && "≥ "}
            {figure(tree.total[node])}
            {whole && p.level && p.level.last !== null && ` · last ${value(p.level.last, unit)}`}
            {node > 0 && !p.leafFirst && ` · self ${figure(tree.self[node])}`}
            <Change {...p} tree={tree} node={node} />
            {whole && tree.baseTotal && " · widths: mean of both sides"}
            {origin && ` · ${origin}`}
            {tree.inlined[node] === 1 && " · inlined"}
          </span>
        </span>
      ) : (
        <span />
      )}
      {!elsewhere && tree && node > 0 && node < tree.n && p.onDetails && (
        <button
          type="button"
          class="button small touch-only"
          data-testid="touch-details"
          onClick={() => p.onDetails?.({ name, file: nodeFile(tree, node) })}
        >
          Details
        </button>
      )}
      {!elsewhere && at >= 0 && at !== p.zoom && (
        <button
          type="button"
          class="button small touch-only"
          data-testid="touch-zoom"
          onClick={() => p.onZoom(at)}
        >
          Zoom
        </button>
      )}
      {p.isFile ? (
        <span class="keys dim">
          Click zoom · <kbd>/</kbd> search · <kbd>Esc</kbd> back
        </span>
      ) : (
        <span class="keys dim">
          Click zoom · <kbd>D</kbd> details · <kbd>M</kbd> menu · <kbd>/</kbd> search ·{" "}
          <kbd>?</kbd> all keys
        </span>
      )}
    </footer>
  );
}
