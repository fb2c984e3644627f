// One application: toolbar, table, flame graph and status line below the timeline.

import { useMemo, useState } from "preact/hooks";
import { functionUrl, type BaseSide, type FlameGraph, type Selection } from "../../state/api";
import type { Palette } from "../../model/colors";
import { Edits } from "./edits";
import { Flame } from "../../flame/flame";
import { FrameMenu, type MenuTarget } from "../../flame/frame_menu";
import { Cell, useAfterPaint, type Navigate } from "../../state/hooks";
import { useColoring } from "../../state/hue_memory";
import { Legend } from "../../flame/legend";
import { SandwichView } from "../../flame/sandwich";
import type { Coloring } from "../../model/hues";
import { exactQuery } from "../../model/search";
import { LinesPanel } from "../table/lines_panel";
import { viewOf, type Pane } from "../parts/panes";
import { useActions, useProfileKeys, type Actions } from "./profile_actions";
import { CompareTable } from "../comparison/compare_table";
import { plainSort } from "../../model/functions";
import { JvmStrip } from "./runtimes";
import { Status } from "./status";
import { Table } from "../table/table";
import { Toolbar } from "./toolbar";
import { functionColumns } from "../../model/transform";
import { nodeFile, nodeName, type Pointed, type Tree } from "../../model/tree";
import type { Span } from "../../model/time_range";
import type { DiffPalette } from "../../model/diff";
import type { FunctionId, UrlState, View } from "../../model/url_state";
import { useSearch, useViewTree, type SearchResult, type ViewTree } from "./view_tree";

interface Props {
  state: UrlState;
  pane: Pane;
  navigate: Navigate;
  graph: FlameGraph | null;
  loading: boolean;
  palette: Palette;
  changes: DiffPalette; // colours of a comparison
  subject: Selection;
  range: Span; // of the timeline
  span: Span; // what is shown of it
  base: BaseSide | null;
  baseScale: number; // what values of the baseline in other answers are multiplied by
  cursor: Cell<number>;
}

/** What the parts below share. */
interface Shown extends Props {
  v: ViewTree;
  found: SearchResult;
  coloring: Coloring;
  actions: Actions;
  view: View;
  pointed: Cell<Pointed | null>; // in a sandwich
  some: boolean; // there is something to show
  setMenu: (m: MenuTarget) => void;
}

function functionMenu(p: Shown) {
  return (f: FunctionId, x: number, y: number, from: HTMLElement): void =>
    p.setMenu({ node: -1, root: false, ...f, x, y, back: from });
}

/** What is wrong with what is shown. */
function Notices({ v, reset }: { v: ViewTree; reset: () => void }) {
  return (
    <>
      {v.broken && (
        <div class="strip error-strip" role="alert">
          <span class="one-line">The answer of the cluster-agent is no tree: {v.broken}</span>
        </div>
      )}
      {v.lostZoom && (
        <div class="strip" role="status">
          <span class="one-line">The zoomed stack is not in this range; the whole is shown.</span>
          <button type="button" class="button small" onClick={reset}>
            Reset zoom
          </button>
        </div>
      )}
      {v.shallow && !v.lostZoom && (
        <div class="strip error-strip" role="alert" data-testid="shallow">
          <span class="one-line">
            Small frames below the zoomed one are missing, as they could not be loaded: {v.shallow}
          </span>
          <button type="button" class="button small" onClick={v.retry}>
            Retry
          </button>
        </div>
      )}
    </>
  );
}

/** Edits change the functions, too; without any, the server's list is that of the whole. */
function useListed({ graph, state }: Props, upright: Tree | null): FlameGraph | null {
  const edited = state.edit.length > 0;
  return useMemo(
    () =>
      graph && upright && edited
        ? {
            ...graph,
            names: upright.names,
            files: upright.files,
            functions: functionColumns(upright),
          }
        : graph,
    [graph, upright, edited],
  );
}

/** Once the graph is drawn. */
function Functions(p: Shown & { graph: FlameGraph | null }) {
  const { graph, state, navigate, v } = p;
  if (!graph) return <div class="table" />;
  const shared = {
    graph,
    search: state.search,
    atLeast: v.cut && state.edit.length > 0,
    onPick: (search: string) => navigate({ search }),
    onMenu: functionMenu(p),
  };
  if (graph.base)
    return <CompareTable {...shared} state={state} navigate={navigate} changes={p.changes} />;
  return (
    <Table
      {...shared}
      coloring={p.coloring}
      palette={p.palette}
      sort={plainSort(state.sort)}
      ascending={state.ascending}
      onSort={(sort, ascending) => navigate({ sort, ascending }, "replace")}
    />
  );
}

/** The table, or the lines of a function in its place. */
function LeftHalf(p: Shown) {
  const { state, graph, pane } = p;
  const tabled = useAfterPaint(useListed(p, p.v.upright)); // the graph is drawn first
  if (!p.some || !graph || pane === "timeline") return null;
  const lined = state.panel === "lines" && (pane === "panel" || pane === "all") ? state.fn : null;
  if (lined)
    return (
      <LinesPanel
        fn={lined}
        subject={p.subject}
        span={p.span}
        base={p.base}
        baseScale={p.baseScale}
        whole={{ value: graph.total, base: graph.base?.total ?? 0 }}
        unit={graph.unit}
        mode={state.diff}
        changes={p.changes}
        onClose={() => p.navigate({ panel: "" })}
      />
    );
  if (pane === "panel" || p.view === "flame") return null;
  return <Functions {...p} graph={tabled} />;
}

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
      {...p.shared}
      tree={p.upright}
      fn={fn}
      ask={whole ? functionUrl(p.subject, p.span, fn, p.base) : null}
      baseScale={p.baseScale}
      cursor={p.cursor}
      pointed={p.pointed}
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
function RightHalf(p: Shown) {
  const { state, pane, view, v } = p;
  const { shared, lit, setLit } = useShared(p);
  const tree = v.shown;
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
    </div>
  );
}

export function Profile(p: Props) {
  const { state, navigate, graph, pane, cursor } = p;
  const v = useViewTree(p, state);
  const found = useSearch(p, state, v);
  const { shown: tree, zoom } = v;
  const coloring = useColoring(v.whole, state.service, state.color);
  const [menu, setMenu] = useState<MenuTarget | null>(null);
  const pointed = useMemo(() => new Cell<Pointed | null>(null), []);
  const actions = useActions({ state, navigate, tree, zoom });
  useProfileKeys(actions, tree, cursor, pointed);
  const some = graph !== null && tree !== null && graph.total > 0;
  const view = viewOf(pane, state.view);
  const shown = { ...p, v, found, coloring, actions, view, pointed, some, setMenu };
  return (
    <>
      {pane !== "timeline" && (
        <Toolbar {...p} tree={tree} zoom={zoom} found={found} onResetZoom={actions.reset} />
      )}
      <Notices v={v} reset={actions.reset} />
      {pane !== "timeline" && (
        <JvmStrip service={state.service} runtimes={graph?.quality.runtimes} />
      )}
      <Edits
        edits={state.edit}
        tree={v.upright}
        onChange={(next) => navigate({ edit: next, zoom: "" })}
      />
      <main class={`profile ${view} pane-${pane}`} aria-busy={p.loading}>
        <LeftHalf {...shown} />
        <RightHalf {...shown} />
      </main>
      {menu && (
        <FrameMenu
          target={menu}
          colorBy={state.color}
          onClose={() => setMenu(null)}
          onZoom={actions.zoomTo}
          onEdit={actions.edit}
          onFunction={actions.choose}
          onSearch={(name) => navigate({ search: exactQuery(name) })}
        />
      )}
      <Status
        tree={some ? tree : null}
        unit={graph?.unit ?? ""}
        cursor={cursor}
        pointed={pointed}
        zoom={zoom}
        onZoom={actions.zoomTo}
        diff={tree?.baseTotal ? p.changes : null}
        atLeast={v.atLeast}
        leafFirst={state.invert}
      />
    </>
  );
}
