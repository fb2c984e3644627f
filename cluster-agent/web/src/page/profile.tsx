// One application: toolbar, table, flame graph and status line below the timeline.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { functionUrl, type BaseSide, type FlameGraph, type Selection } from "../state/api";
import type { Palette } from "../model/colors";
import { Edits } from "./edits";
import { Flame } from "../flame/flame";
import { FrameMenu, type MenuTarget } from "../flame/frame_menu";
import { Cell, useAfterPaint, type Navigate } from "../state/hooks";
import { useColoring } from "../state/hue_memory";
import { Legend } from "../flame/legend";
import { SandwichView } from "../flame/sandwich";
import { exactQuery } from "../model/search";
import { LinesPanel } from "./lines_panel";
import { viewOf, type Pane } from "./panes";
import { CompareTable } from "./compare_table";
import { plainSort } from "../model/functions";
import { JvmStrip } from "./runtimes";
import { Status } from "./status";
import { Table } from "./table";
import { Toolbar } from "./toolbar";
import { functionColumns, touchesPath } from "../model/transform";
import { findByKey, nodeFile, nodeName, pathKey, type Pointed } from "../model/tree";
import type { Span } from "../model/time_range";
import type { DiffPalette } from "../model/diff";
import {
  comparing,
  noBase,
  type FunctionId,
  type Panel,
  type Transform,
  type UrlState,
} from "../model/url_state";
import { useSearch, useViewTree } from "./view_tree";

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

export function Profile(p: Props) {
  const { state, navigate, graph } = p;
  const v = useViewTree(p, state);
  const found = useSearch(p, state, v);
  const { shown: tree, zoom } = v;
  const coloring = useColoring(v.whole, state.service, state.color);
  const [lit, setLit] = useState("");
  const [menu, setMenu] = useState<MenuTarget | null>(null);
  const pointed = useMemo(() => new Cell<Pointed | null>(null), []);
  const trail = useRef<string[]>([]); // zooms to go back to

  const zoomTo = (node: number): void => {
    if (!tree) return;
    trail.current.push(state.zoom);
    navigate({ zoom: pathKey(tree, node) });
  };
  // the newest earlier zoom that the current one lies in; the browser's back button may have
  // changed the zoom since it was recorded
  const outward = (): string => {
    for (let key = trail.current.pop(); key !== undefined; key = trail.current.pop()) {
      const node = tree ? findByKey(tree, key) : -1;
      if (tree && node >= 0 && node < zoom && zoom < tree.end[node]) return key;
    }
    return "";
  };
  const back = (): void => {
    if (state.panel) navigate({ panel: "" });
    else if (state.zoom) navigate({ zoom: outward() });
    else if (state.search) navigate({ search: "" }, "replace");
    else if (state.edit.length > 0) navigate({ edit: state.edit.slice(0, -1) });
    else if (comparing(state)) navigate(noBase);
    else if (state.selection) navigate({ selection: null });
  };
  const reset = (): void => {
    trail.current = [];
    navigate({ zoom: "" });
  };
  const edit = (t: Transform): void => {
    const keep = !state.invert && tree !== null && zoom > 0 && !touchesPath(tree, zoom, t);
    navigate({ edit: [...state.edit, t], zoom: keep ? state.zoom : "" });
  };
  const setEdits = (next: Transform[]): void => navigate({ edit: next, zoom: "" });
  const choose = (fn: FunctionId, panel: Panel): void =>
    navigate({ fn, panel, ...(state.view === "table" ? { view: "both" as const } : {}) });

  /** Of the row with the focus, otherwise of the frame under the cursor. */
  const openLines = (from: HTMLElement): void => {
    if (/^(INPUT|TEXTAREA|SELECT)$/.test(from.tagName)) return;
    const { name, file } = from.dataset;
    const at = pointed.value ?? (tree && { tree, node: p.cursor.value });
    if (name !== undefined && file !== undefined) choose({ name, file }, "lines");
    else if (at && at.node > 0 && at.node < at.tree.n)
      choose({ name: nodeName(at.tree, at.node), file: nodeFile(at.tree, at.node) }, "lines");
  };
  useEffect(() => {
    const onKey = (e: KeyboardEvent): void => {
      const from = e.target as HTMLElement;
      if (e.key === "l" && !e.ctrlKey && !e.metaKey && !e.altKey) openLines(from);
      if (
        e.key !== "Escape" ||
        e.defaultPrevented ||
        /^(INPUT|TEXTAREA|SELECT)$/.test(from.tagName)
      )
        return;
      back();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  });

  // edits change the functions, too; without any, the server's list is that of the whole
  const listed = useMemo(
    () =>
      graph && v.upright && state.edit.length > 0
        ? {
            ...graph,
            names: v.upright.names,
            files: v.upright.files,
            functions: functionColumns(v.upright),
          }
        : graph,
    [graph, v.upright, state.edit.length > 0],
  );
  const tabled = useAfterPaint(listed); // the graph is drawn first
  const diff = tree?.baseTotal ? p.changes : null;
  const show = graph && listed && tree && graph.total > 0;
  const view = viewOf(p.pane, state.view);
  const drawing = show && p.pane !== "timeline" && p.pane !== "panel";
  const sandwiched =
    show &&
    state.panel === "sandwich" &&
    state.fn &&
    v.upright &&
    (p.pane === "panel" || (p.pane === "all" && view !== "table"))
      ? { tree: v.upright, fn: state.fn }
      : null;
  // they take the place of the table
  const lined =
    show && state.panel === "lines" && (p.pane === "panel" || p.pane === "all") ? state.fn : null;
  const nodeMenu = (node: number, x: number, y: number, from: HTMLElement): void => {
    if (!tree) return;
    const name = nodeName(tree, node);
    const file = nodeFile(tree, node);
    setMenu({ node, root: node === 0, name, file, x, y, back: from });
  };
  const functionMenu = (f: FunctionId, x: number, y: number, from: HTMLElement): void =>
    setMenu({ node: -1, root: false, ...f, x, y, back: from });
  const shared = {
    unit: graph?.unit ?? "",
    coloring,
    lit,
    palette: p.palette,
    diff,
    atLeast: v.atLeast,
    onBack: back,
  };

  return (
    <>
      {p.pane !== "timeline" && (
        <Toolbar {...p} tree={tree} zoom={zoom} found={found} onResetZoom={reset} />
      )}
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
      {p.pane !== "timeline" && (
        <JvmStrip service={state.service} runtimes={graph?.quality.runtimes} />
      )}
      <Edits edits={state.edit} tree={v.upright} onChange={setEdits} />
      <main class={`profile ${view} pane-${p.pane}`} aria-busy={p.loading}>
        {lined && graph && (
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
            onClose={() => navigate({ panel: "" })}
          />
        )}
        {drawing && !lined && !tabled && view !== "flame" && <div class="table" />}
        {drawing && !lined && tabled?.base && view !== "flame" && (
          <CompareTable
            graph={tabled}
            state={state}
            navigate={navigate}
            search={state.search}
            atLeast={v.cut && state.edit.length > 0}
            changes={p.changes}
            onPick={(search) => navigate({ search })}
            onMenu={functionMenu}
          />
        )}
        {drawing && !lined && tabled && !tabled.base && view !== "flame" && (
          <Table
            graph={tabled}
            search={state.search}
            atLeast={v.cut && state.edit.length > 0}
            coloring={coloring}
            palette={p.palette}
            sort={plainSort(state.sort)}
            ascending={state.ascending}
            onSort={(sort, ascending) => navigate({ sort, ascending }, "replace")}
            onPick={(search) => navigate({ search })}
            onMenu={functionMenu}
          />
        )}
        {(sandwiched || (drawing && view !== "table")) && tree && (
          <div class="graph">
            {sandwiched ? (
              <SandwichView
                {...shared}
                tree={sandwiched.tree}
                fn={sandwiched.fn}
                ask={
                  v.cut && state.edit.length === 0
                    ? functionUrl(p.subject, p.span, sandwiched.fn, p.base)
                    : null
                }
                baseScale={p.baseScale}
                cursor={p.cursor}
                pointed={pointed}
                onFunction={(fn) => navigate({ fn })}
                onMenu={functionMenu}
                onClose={() => navigate({ panel: "" })}
              />
            ) : (
              <Flame
                {...shared}
                id="flame"
                tree={tree}
                zoom={zoom}
                matches={found.matches}
                direction={state.direction}
                leafFirst={state.invert}
                cursor={p.cursor}
                onPick={zoomTo}
                onMenu={nodeMenu}
              />
            )}
            {!diff && (
              <Legend
                coloring={coloring}
                tree={v.whole}
                palette={p.palette}
                picked={lit}
                onPick={setLit}
              />
            )}
          </div>
        )}
      </main>
      {menu && (
        <FrameMenu
          target={menu}
          colorBy={state.color}
          onClose={() => setMenu(null)}
          onZoom={zoomTo}
          onEdit={edit}
          onFunction={choose}
          onSearch={(name) => navigate({ search: exactQuery(name) })}
        />
      )}
      <Status
        tree={show ? tree : null}
        unit={graph?.unit ?? ""}
        cursor={p.cursor}
        pointed={pointed}
        zoom={zoom}
        onZoom={zoomTo}
        diff={diff}
        atLeast={v.atLeast}
        leafFirst={state.invert}
      />
    </>
  );
}
