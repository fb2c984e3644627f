// One application: toolbar, table, flame graph and status line below the timeline.

import { useEffect, useMemo, useRef } from "preact/hooks";
import type { FlameGraph, Selection } from "./api";
import type { Palette } from "./colors";
import { Flame } from "./flame";
import { Cell, useCell, type Navigate } from "./hooks";
import { compileQuery, matchTree } from "./search";
import { Table } from "./table";
import { Toolbar } from "./toolbar";
import { originOf } from "./tooltip";
import { buildTree, findByKey, pathKey, type Tree } from "./tree";
import type { Span } from "./time_range";
import { percent, value } from "./units";
import type { UrlState } from "./url_state";

interface Props {
  state: UrlState;
  navigate: Navigate;
  graph: FlameGraph | null;
  loading: boolean;
  palette: Palette;
  subject: Selection;
  span: Span;
  cursor: Cell<number>;
}

function Status({
  tree,
  unit,
  cursor,
  zoom,
}: {
  tree: Tree | null;
  unit: string;
  cursor: Cell<number>;
  zoom: number;
}) {
  const at = useCell(cursor);
  const node = at >= 0 ? at : zoom;
  return (
    <footer class="status">
      {tree && node < tree.n ? (
        <span class="status-frame" data-testid="status">
          <b>{tree.names[tree.name[node]]}</b>
          <span class="mono dim">
            total {value(tree.total[node], unit)} {percent(tree.total[node], tree.total[0])}
            {node > 0 &&
              ` · self ${value(tree.self[node], unit)} ${percent(tree.self[node], tree.total[0])}`}
            {node > 0 &&
              ` · ${originOf(tree.names[tree.name[node]], tree.files[tree.file[node]])}`.replace(
                / · $/,
                "",
              )}
          </span>
        </span>
      ) : (
        <span />
      )}
      <span class="keys dim">
        Click zoom · <kbd>←↑↓→</kbd> move · <kbd>Enter</kbd> zoom · <kbd>/</kbd> search ·{" "}
        <kbd>Esc</kbd> back
      </span>
    </footer>
  );
}

export function Profile(p: Props) {
  const { state, navigate, graph } = p;
  const [tree, broken] = useMemo((): [Tree | null, string] => {
    try {
      return [graph ? buildTree(graph) : null, ""];
    } catch (e) {
      return [null, (e as Error).message];
    }
  }, [graph]);
  const found = useMemo(() => (tree ? findByKey(tree, state.zoom) : 0), [tree, state.zoom]);
  const zoom = Math.max(0, found);
  const query = useMemo(() => compileQuery(state.search), [state.search]);
  const matches = useMemo(
    () => (tree && query && !query.error ? matchTree(tree, query) : null),
    [tree, query],
  );
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
    if (state.zoom) navigate({ zoom: outward() });
    else if (state.search) navigate({ search: "" }, "replace");
    else if (state.selection) navigate({ selection: null });
  };
  const reset = (): void => {
    trail.current = [];
    navigate({ zoom: "" });
  };

  useEffect(() => {
    const onKey = (e: KeyboardEvent): void => {
      const from = e.target as HTMLElement;
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

  const show = graph && tree && graph.total > 0;
  return (
    <>
      <Toolbar {...p} tree={tree} zoom={zoom} query={query} matches={matches} onResetZoom={reset} />
      {broken && (
        <div class="strip error-strip" role="alert">
          <span class="one-line">The answer of the cluster-agent is no tree: {broken}</span>
        </div>
      )}
      {found < 0 && (
        <div class="strip" role="status">
          <span class="one-line">The zoomed stack is not in this range; the whole is shown.</span>
          <button type="button" class="button small" onClick={reset}>
            Reset zoom
          </button>
        </div>
      )}
      <main class={`profile ${state.view}`} aria-busy={p.loading}>
        {show && state.view !== "flame" && (
          <Table
            graph={graph}
            search={state.search}
            colorBy={state.color}
            palette={p.palette}
            sort={state.sort}
            ascending={state.ascending}
            onSort={(sort, ascending) => navigate({ sort, ascending }, "replace")}
            onPick={(search) => navigate({ search }, "replace")}
          />
        )}
        {show && state.view !== "table" && (
          <Flame
            tree={tree}
            unit={graph.unit}
            zoom={zoom}
            matches={matches}
            colorBy={state.color}
            palette={p.palette}
            cursor={p.cursor}
            onZoom={zoomTo}
            onBack={back}
          />
        )}
      </main>
      <Status tree={show ? tree : null} unit={graph?.unit ?? ""} cursor={p.cursor} zoom={zoom} />
    </>
  );
}
