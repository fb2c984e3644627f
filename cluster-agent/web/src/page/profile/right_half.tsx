// The flame graph, or a function between its callers and its callees, and the legend of both.

import { useState } from "preact/hooks";
import { Flame } from "../../flame/flame";
import { Legend } from "../../flame/legend";
import { SandwichView } from "../../flame/sandwich";
import { nodeFile, nodeName, type Tree } from "../../model/tree";
import type { FunctionId } from "../../model/url_state";
import { functionUrl } from "../../state/api";
import { useDetails } from "../../state/details";
import { Details } from "../details/details";
import { functionMenu, type Shown } from "./shown";

/** What a flame graph and both of a sandwich share. */
function useShared(p: Shown) {
  const [lit, setLit] = useState("");
  const { coloring, palette, v } = p;
  const diff = v.shown?.baseTotal ? p.changes : null;
  const unit = p.graph?.unit ?? "";
  const shared = { coloring, palette, lit, diff, unit };
  return { shared: { ...shared, atLeast: v.atLeast, onBack: p.actions.back }, lit, setLit };
}
type Shared = ReturnType<typeof useShared>["shared"];

function Sandwich(p: Shown & { shared: Shared; fn: FunctionId; upright: Tree }) {
  const { v, fn, navigate } = p;
  const whole = v.cut && p.state.edit.length === 0;
  return (
    <SandwichView
      {...p}
      {...p.shared}
      tree={p.upright}
      fn={fn}
      ask={whole ? functionUrl(p.subject, p.span, fn, p.base) : null}
      onFunction={(f) => navigate({ fn: f })}
      onMenu={functionMenu(p)}
      onClose={() => navigate({ panel: "" })}
    />
  );
}

function WholeFlame(p: Shown & { shared: Shared; tree: Tree }) {
  const { state, tree, setMenu } = p;
  const nodeMenu = (node: number, x: number, y: number, from: HTMLElement): void => {
    const name = nodeName(tree, node);
    const file = nodeFile(tree, node);
    setMenu({ node, root: node === 0, name, file, x, y, back: from });
  };
  return (
    <Flame
      {...p.shared}
      id="flame"
      tree={tree}
      zoom={p.v.zoom}
      matches={p.found.matches}
      direction={state.direction}
      leafFirst={state.invert}
      cursor={p.cursor}
      onPick={p.actions.zoomTo}
      onMenu={nodeMenu}
    />
  );
}

/** The flame graph, or a function between its callers and its callees. */
export function RightHalf(p: Shown) {
  const { state, pane, view, v } = p;
  const { shared, lit, setLit } = useShared(p);
  const tree = v.shown;
  const details = useDetails();
  const drawing = pane !== "timeline" && pane !== "panel" && view !== "table";
  const room = pane === "panel" || (pane === "all" && view !== "table");
  const fn = state.panel === "sandwich" && room ? state.fn : null;
  if (!p.some || !tree || !((fn && v.upright) || drawing)) return null;
  return (
    <div class="graph">
      {fn && v.upright ? (
        <Sandwich {...p} shared={shared} fn={fn} upright={v.upright} />
      ) : (
        <WholeFlame {...p} shared={shared} tree={tree} />
      )}
      {!shared.diff && (
        <Legend
          coloring={p.coloring}
          tree={v.whole}
          palette={p.palette}
          picked={lit}
          onPick={setLit}
        />
      )}
      {details.open && !state.panel && state.fn && v.upright && (
        <Details p={p} tree={v.upright} fn={state.fn} asSheet={details.asSheet} />
      )}
    </div>
  );
}
