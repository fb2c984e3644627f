// Functions with their own and total value.

import { memo } from "../../state/memo";
import { useMemo } from "preact/hooks";
import type { FlameGraph } from "../../state/api";
import { greyClass, type Palette } from "../../model/colors";
import { classOf, type Coloring } from "../../model/hues";
import { KERNEL } from "../../model/names";
import { sortFunctions } from "../../model/functions";
import { tableText } from "../../model/table_text";
import { percentFixed, value } from "../../model/units";
import type { FunctionId, SortBy } from "../../model/url_state";
import { FunctionRows, useFound, type FunctionHead, type RowLook } from "./function_rows";
import { GroupBar, rowTitle, type Grouping } from "./table_bar";

interface Props {
  graph: FlameGraph;
  search: string;
  atLeast: boolean; // figures of a tree that was made of a cut one
  coloring: Coloring;
  palette: Palette;
  sort: SortBy;
  ascending: boolean;
  onSort: (sort: SortBy, ascending: boolean) => void;
  onPick: (search: string, fn: FunctionId) => void;
  onMenu: (f: FunctionId, x: number, y: number, back: HTMLElement) => void;
  grouping?: Grouping;
}

const heads: FunctionHead[] = [
  { by: "name", label: "Function" },
  { by: "self", label: "Self" },
  { by: "total", label: "Total" },
];

function FunctionTable(p: Props) {
  const { graph, sort, ascending } = p;
  const { names, files, functions: f } = graph;
  const found = useFound(graph, p.search, p.grouping);
  const order = useMemo(
    () => sortFunctions([...found], f, names, sort, ascending),
    [found, sort, ascending],
  );
  const most = useMemo(
    () => ({
      self: order.reduce((m, i) => Math.max(m, f.self[i]), 0),
      total: order.reduce((m, i) => Math.max(m, f.total[i]), 0),
    }),
    [order],
  );
  const g = p.grouping;
  const isGroups = g !== undefined && g.by !== "" && g.within === null;
  const look = (i: number): RowLook => {
    const name = names[f.name[i]];
    const ofGroup = name === KERNEL ? greyClass(KERNEL) : p.coloring.hues.get(name);
    const own = isGroups ? ofGroup : classOf(p.coloring, name, files[f.file[i]]);
    return { swatch: own === undefined ? "var(--line)" : p.palette.fill[own] };
  };
  const figure = (v: number, longest: number) => (
    <td class="num">
      <div class="cell">
        <span class="dim unit">{value(v, graph.unit)}</span>
        {p.atLeast && "≥ "}
        {percentFixed(v, graph.total)}
      </div>
      <span class="cell-bar" style={{ width: `${longest > 0 ? (v / longest) * 100 : 0}%` }} />
    </td>
  );
  const rows = (
    <FunctionRows
      {...p}
      className={g ? "table-scroll" : "table"}
      order={order}
      heads={heads}
      look={look}
      figures={(i) => (
        <>
          {figure(f.self[i], most.self)}
          {figure(f.total[i], most.total)}
        </>
      )}
      none={`No ${rowTitle(g).toLowerCase()} matches`}
    />
  );
  if (!g) return rows;
  return (
    <div class="table barred">
      <div class="table-bar">
        <GroupBar grouping={g} text={() => tableText(graph, order, rowTitle(g))} />
      </div>
      {rows}
    </div>
  );
}

export const Table = memo(FunctionTable);
