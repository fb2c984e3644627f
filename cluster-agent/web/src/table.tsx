// Functions with their own and total value. Only the rows in view exist.

import { memo } from "./memo";
import { useMemo, useRef, useState } from "preact/hooks";
import type { FlameGraph } from "./api";
import { colorClass, type Palette } from "./colors";
import { useSize } from "./hooks";
import { shortName } from "./names";
import { compileQuery, exactQuery } from "./search";
import { sortFunctions } from "./functions";
import { percentFixed, value } from "./units";
import type { ColorBy, SortBy } from "./url_state";

const ROW = 25;
const SPARE = 8; // rows beyond the edges

interface Props {
  graph: FlameGraph;
  search: string;
  colorBy: ColorBy;
  palette: Palette;
  sort: SortBy;
  ascending: boolean;
  onSort: (sort: SortBy, ascending: boolean) => void;
  onPick: (search: string) => void;
}

const heads: { by: SortBy; label: string }[] = [
  { by: "name", label: "Function" },
  { by: "self", label: "Self" },
  { by: "total", label: "Total" },
];

function Head({ sort, ascending, onSort }: Props) {
  return (
    <thead>
      <tr>
        {heads.map((h) => (
          <th
            key={h.by}
            scope="col"
            class={h.by === "name" ? "" : "num"}
            aria-sort={h.by !== sort ? "none" : ascending ? "ascending" : "descending"}
          >
            <button
              type="button"
              data-testid={`sort-${h.by}`}
              onClick={() => onSort(h.by, h.by === sort ? !ascending : h.by === "name")}
            >
              {h.label}
              <span class="arrow" aria-hidden="true">
                {h.by === sort ? (ascending ? "▴" : "▾") : ""}
              </span>
            </button>
          </th>
        ))}
      </tr>
    </thead>
  );
}

function FunctionTable(p: Props) {
  const scroller = useRef<HTMLDivElement>(null);
  const { height } = useSize(scroller);
  const [top, setTop] = useState(0);
  const { graph } = p;
  const { names, files, functions: f } = graph;
  const picked = p.search.startsWith('"');

  const order = useMemo(() => {
    // picking a function marks it where it is, instead of hiding all others
    const query = picked ? null : compileQuery(p.search);
    const rows: number[] = [];
    for (let i = 0; i < f.name.length; i++)
      if (!query || query.test(names[f.name[i]], files[f.file[i]])) rows.push(i);
    return sortFunctions(rows, f, names, p.sort, p.ascending);
  }, [graph, picked ? "" : p.search, p.sort, p.ascending]);

  const most = useMemo(() => {
    const column = p.sort === "total" ? f.total : f.self;
    return order.reduce((m, i) => Math.max(m, column[i]), 0);
  }, [order]);

  const from = Math.max(0, Math.min(Math.floor(top / ROW) - SPARE, order.length));
  const to = Math.min(order.length, from + Math.ceil(height / ROW) + 2 * SPARE);
  // the row that Tab leads to; arrow keys move from there
  const entry = Math.min(order.length - 1, Math.ceil(top / ROW));
  const bar = p.sort === "total" ? f.total : f.self;

  return (
    <div class="table" ref={scroller} onScroll={(e) => setTop(e.currentTarget.scrollTop)}>
      <table aria-label="Functions" aria-rowcount={order.length + 1} data-testid="functions">
        <Head {...p} />
        <tbody>
          {from > 0 && <tr aria-hidden="true" style={{ height: `${from * ROW}px` }} />}
          {order.slice(from, to).map((i, k) => {
            const name = names[f.name[i]];
            const exact = exactQuery(name);
            const on = exact === p.search;
            const pick = (): void => p.onPick(on ? "" : exact);
            return (
              <tr
                key={i}
                class={on ? "row on" : "row"}
                tabIndex={from + k === entry ? 0 : -1}
                aria-rowindex={from + k + 2}
                aria-current={on}
                data-testid="function"
                data-name={name}
                onClick={pick}
                onKeyDown={(e) => {
                  const side =
                    e.key === "ArrowDown"
                      ? "nextElementSibling"
                      : e.key === "ArrowUp"
                        ? "previousElementSibling"
                        : "";
                  if (e.key === "Enter" || e.key === " ") pick();
                  else if (side) (e.currentTarget[side] as HTMLElement | null)?.focus();
                  else return;
                  e.preventDefault();
                }}
              >
                <td title={`${name}\n${files[f.file[i]]}`}>
                  <span
                    class="swatch"
                    style={{
                      background: p.palette.fill[colorClass(name, files[f.file[i]], p.colorBy)],
                    }}
                  />
                  <span class="mono">{shortName(name)}</span>
                  <span
                    class="share"
                    style={{ width: `${most > 0 ? (bar[i] / most) * 90 : 0}%` }}
                  />
                </td>
                <td class="num" title={value(f.self[i], graph.unit)}>
                  <span class="dim unit">{value(f.self[i], graph.unit)}</span>
                  {percentFixed(f.self[i], graph.total)}
                </td>
                <td class="num" title={value(f.total[i], graph.unit)}>
                  <span class="dim unit">{value(f.total[i], graph.unit)}</span>
                  {percentFixed(f.total[i], graph.total)}
                </td>
              </tr>
            );
          })}
          {to < order.length && (
            <tr aria-hidden="true" style={{ height: `${(order.length - to) * ROW}px` }} />
          )}
        </tbody>
      </table>
      {order.length === 0 && <div class="note">No function matches</div>}
    </div>
  );
}

export const Table = memo(FunctionTable);
