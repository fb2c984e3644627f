// Left of the flame graph: the table of functions, or the lines of one.

import { useMemo } from "preact/hooks";
import { plainSort, sidesOf } from "../../model/functions";
import { groupColumns } from "../../model/groups";
import { functionColumns } from "../../model/transform";
import type { Tree } from "../../model/tree";
import type { FunctionId } from "../../model/url_state";
import type { FlameGraph } from "../../state/api";
import { useAfterPaint } from "../../state/hooks";
import { CompareTable } from "../comparison/compare_table";
import { LinesPanel } from "../table/lines_panel";
import type { Grouping } from "../table/table_bar";
import { Table } from "../table/table";
import { functionMenu, type Shown } from "./shown";

/** Edits change the functions, too; without any, the server's list is that of the whole. */
function useListed({ graph, state }: Shown, upright: Tree | null): FlameGraph | null {
  const edited = state.edit.length > 0;
  const by = state.within === null ? state.group : "";
  return useMemo(() => {
    if (!graph || !upright || !(edited || by)) return graph;
    const { names, files } = upright;
    if (!by) return { ...graph, names, files, functions: functionColumns(upright) };
    const { names: groups, ...functions } = groupColumns(upright, by);
    return { ...graph, names: groups, files: [""], functions };
  }, [graph, upright, edited, by]);
}

/** Once the graph is drawn. */
function Functions(p: Shown & { graph: FlameGraph | null }) {
  const { graph, state, navigate, v } = p;
  if (!graph) return <div class="table" />;
  const shared = {
    graph,
    search: state.search,
    atLeast: v.cut && (state.edit.length > 0 || (state.group !== "" && state.within === null)),
    grouping: {
      by: state.group,
      within: state.group ? state.within : null,
      onBy: (group) => navigate({ group, within: null }, "replace"),
      onWithin: (within) => navigate({ within }),
    } satisfies Grouping,
    onPick: (search: string, fn: FunctionId) => navigate({ search, fn: search ? fn : null }),
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
export function LeftHalf(p: Shown) {
  const { state, graph, pane } = p;
  const tabled = useAfterPaint(useListed(p, p.v.upright)); // the graph is drawn first
  if (!p.some || !graph || pane === "timeline") return null;
  const lined = state.panel === "lines" && (pane === "panel" || pane === "all") ? state.fn : null;
  if (lined)
    return (
      <LinesPanel
        {...p}
        fn={lined}
        whole={sidesOf(graph)}
        unit={graph.unit}
        mode={state.diff}
        onClose={() => p.navigate({ panel: "" })}
      />
    );
  if (pane === "panel" || p.view === "flame") return null;
  return <Functions {...p} graph={tabled} />;
}
