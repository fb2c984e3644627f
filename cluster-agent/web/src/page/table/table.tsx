// Functions with their own and total value.

import { memo } from "../../state/memo";
import { useMemo } from "preact/hooks";
import type { FlameGraph } from "../../state/api";
import type { Palette } from "../../model/colors";
import { classOf, type Coloring } from "../../model/hues";
import { sortFunctions } from "../../model/functions";
import { percentFixed, value } from "../../model/units";
import type { FunctionId, SortBy } from "../../model/url_state";
import { FunctionRows, useFound, type FunctionHead, type RowLook } from "./function_rows";

interface Props {
  graph: FlameGraph;
  search: string;
  atLeast: boolean; // figures of a tree that was made of a cut one
  coloring: Coloring;
  palette: Palette;
  sort: SortBy;
  ascending: boolean;
  onSort: (sort: SortBy, ascending: boolean) => void;
  onPick: (search: string) => void;
  onMenu: (f: FunctionId, x: number, y: number, back: HTMLElement) => void;
}

const heads: FunctionHead[] = [
  { by: "name", label: "Function" },
  { by: "self", label: "Self" },
  { by: "total", label: "Total" },
];

function FunctionTable(p: Props) {
  const { graph, sort, ascending } = p;
  const { names, files, functions: f } = graph;
  const found = useFound(graph, p.search);
  const order = useMemo(
    () => sortFunctions([...found], f, names, sort, ascending),
    [found, sort, ascending],
  );
  const bar = sort === "total" ? f.total : f.self;
  const most = useMemo(() => order.reduce((m, i) => Math.max(m, bar[i]), 0), [order]);
  const look = (i: number): RowLook => ({
    swatch: p.palette.fill[classOf(p.coloring, names[f.name[i]], files[f.file[i]])],
    share: most > 0 ? bar[i] / most : 0,
  });
  const figure = (v: number) => (
    <td class="num" title={value(v, graph.unit)}>
      <span class="dim unit">{value(v, graph.unit)}</span>
      {p.atLeast && "≥ "}
      {percentFixed(v, graph.total)}
    </td>
  );
  return (
    <FunctionRows
      {...p}
      className="table"
      order={order}
      heads={heads}
      look={look}
      figures={(i) => (
        <>
          {figure(f.self[i])}
          {figure(f.total[i])}
        </>
      )}
      none="No function matches"
    />
  );
}

export const Table = memo(FunctionTable);
