// Functions with their own and total value. Only the rows in view exist.

import { memo } from "../state/memo";
import { useMemo, useRef } from "preact/hooks";
import type { FlameGraph } from "../state/api";
import type { Palette } from "../model/colors";
import { classOf, type Coloring } from "../model/hues";
import { useVirtual } from "../state/virtual";
import { clip, fullName, label, visible } from "../model/names";
import { compileQuery, exactQuery } from "../model/search";
import { sortFunctions } from "../model/functions";
import { percentFixed, value } from "../model/units";
import type { FunctionId, SortBy } from "../model/url_state";
import { countHead, moveBetweenRows, ROW, SortHead } from "./table_rows";

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

const heads: { by: SortBy; label: string }[] = [
  { by: "name", label: "Function" },
  { by: "self", label: "Self" },
  { by: "total", label: "Total" },
];

function FunctionTable(p: Props) {
  const scroller = useRef<HTMLDivElement>(null);
  const { graph } = p;
  const { names, files, functions: f } = graph;
  const picked = p.search.startsWith('"');

  const order = useMemo(() => {
    // picking a function marks it where it is, instead of hiding all others
    const matches = picked ? null : compileQuery(p.search)?.among(names, files);
    const listed: number[] = [];
    for (let i = 0; i < f.name.length; i++)
      if (!matches || matches(f.name[i], f.file[i])) listed.push(i);
    return sortFunctions(listed, f, names, p.sort, p.ascending);
  }, [graph, picked ? "" : p.search, p.sort, p.ascending]);

  const most = useMemo(() => {
    const column = p.sort === "total" ? f.total : f.self;
    return order.reduce((m, i) => Math.max(m, column[i]), 0);
  }, [order]);

  const rows = useVirtual(scroller, order.length, ROW);
  const bar = p.sort === "total" ? f.total : f.self;

  return (
    <div class="table" ref={scroller} onScroll={rows.onScroll}>
      <table aria-label="Functions" aria-rowcount={order.length + 1} data-testid="functions">
        <SortHead
          heads={[
            { ...heads[0], label: countHead(order.length, f.name.length) },
            ...heads.slice(1),
          ]}
          sort={p.sort}
          ascending={p.ascending}
          onSort={p.onSort}
        />
        <tbody>
          {rows.above > 0 && <tr aria-hidden="true" style={{ height: `${rows.above}px` }} />}
          {order.slice(rows.from, rows.to).map((i, k) => {
            const name = names[f.name[i]];
            const exact = exactQuery(name);
            const on = exact === p.search;
            const pick = (): void => p.onPick(on ? "" : exact);
            return (
              <tr
                key={i}
                class={on ? "row on" : "row"}
                tabIndex={rows.from + k === rows.entry ? 0 : -1}
                aria-rowindex={rows.from + k + 2}
                aria-current={on}
                data-testid="function"
                data-name={name}
                data-file={files[f.file[i]]}
                onClick={pick}
                onContextMenu={(e) => {
                  e.preventDefault();
                  p.onMenu({ name, file: files[f.file[i]] }, e.clientX, e.clientY, e.currentTarget);
                }}
                onKeyDown={(e) =>
                  moveBetweenRows(e, pick, (x, y) =>
                    p.onMenu({ name, file: files[f.file[i]] }, x, y, e.currentTarget),
                  )
                }
              >
                <td title={`${fullName(name)}\n${visible(files[f.file[i]])}`}>
                  <span
                    class="swatch"
                    style={{
                      background: p.palette.fill[classOf(p.coloring, name, files[f.file[i]])],
                    }}
                  />
                  <span class="mono">{clip(label(name), 200)}</span>
                  <span
                    class="share"
                    style={{ width: `${most > 0 ? (bar[i] / most) * 90 : 0}%` }}
                  />
                </td>
                <td class="num" title={value(f.self[i], graph.unit)}>
                  <span class="dim unit">{value(f.self[i], graph.unit)}</span>
                  {p.atLeast && "≥ "}
                  {percentFixed(f.self[i], graph.total)}
                </td>
                <td class="num" title={value(f.total[i], graph.unit)}>
                  <span class="dim unit">{value(f.total[i], graph.unit)}</span>
                  {p.atLeast && "≥ "}
                  {percentFixed(f.total[i], graph.total)}
                </td>
              </tr>
            );
          })}
          {rows.below > 0 && (
            <tr aria-hidden="true" style={{ height: `${rows.below}px` }} />
          )}
        </tbody>
      </table>
      {order.length === 0 && <div class="note">No function matches</div>}
    </div>
  );
}

export const Table = memo(FunctionTable);
