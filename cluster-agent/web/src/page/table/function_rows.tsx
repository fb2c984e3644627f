// The table of functions, with or without a comparison: the head that sorts, the rows in view, the
// arrow keys. Only the rows in view exist.

import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { isMenuKey } from "../../flame/frame_menu";
import type { Change } from "../../model/diff";
import { clip, fullName, label, visible } from "../../model/names";
import { compileQuery, exactQuery } from "../../model/search";
import { grouped } from "../../model/units";
import type { FunctionId, SortBy } from "../../model/url_state";
import type { FlameGraph } from "../../state/api";
import { LongTable, orderOf, SortHead, toNextRow } from "../parts/long_table";

const ROW = 25; // px, as in style.css

export interface FunctionHead {
  by: SortBy;
  label: string;
  title?: string;
}

/** How a row looks beside its name and its figures. */
export interface RowLook {
  swatch: string;
  bar?: string; // its own colour
  share: number; // of the longest bar, 0 to 1
  change?: Change["kind"];
}

interface Props {
  className: string; // of what scrolls
  graph: FlameGraph;
  order: number[]; // rows of graph.functions
  heads: FunctionHead[];
  sort: SortBy;
  ascending: boolean;
  search: string;
  look: (row: number) => RowLook;
  figures: (row: number) => ComponentChildren; // cells
  none: string; // in place of rows
  onSort: (sort: SortBy, ascending: boolean) => void;
  onPick: (search: string) => void;
  onMenu: (f: FunctionId, x: number, y: number, back: HTMLElement) => void;
}

/**
 * Rows of functions that a search finds; all of them if it marks one of them, as picking a
 * function marks it where it is.
 */
export function useFound(graph: FlameGraph, search: string): number[] {
  const text = search.startsWith('"') ? "" : search;
  return useMemo(() => {
    const { names, files, functions: f } = graph;
    const matches = compileQuery(text)?.among(names, files);
    const rows: number[] = [];
    for (let i = 0; i < f.name.length; i++)
      if (!matches || matches(f.name[i], f.file[i])) rows.push(i);
    return rows;
  }, [graph, text]);
}

/** Enter picks, M opens a menu, arrows go to the next row. */
function moveBetweenRows(
  e: KeyboardEvent,
  pick: () => void,
  menu: (x: number, y: number) => void,
): void {
  const row = e.currentTarget as HTMLElement;
  if (e.key === "Enter" || e.key === " ") pick();
  else if (isMenuKey(e)) {
    const box = row.getBoundingClientRect();
    menu(box.left + 40, box.bottom);
  } else if (!toNextRow(e)) return;
  e.preventDefault();
}

function Head({ heads, graph, order, sort, ascending, onSort }: Props) {
  const all = graph.functions.name.length;
  const count =
    order.length === all ? "Function" : `${grouped(order.length)} of ${grouped(all)} functions`;
  return (
    <tr>
      {heads.map((h) => (
        <SortHead
          key={h.by}
          className={h.by === "name" ? "" : "num"}
          title={h.title}
          testId={`sort-${h.by}`}
          order={orderOf(h.by === sort, ascending)}
          onClick={() => onSort(h.by, h.by === sort ? !ascending : h.by === "name")}
        >
          {h.by === "name" ? count : h.label}
        </SortHead>
      ))}
    </tr>
  );
}

function Name({ name, file, look }: FunctionId & { look: RowLook }) {
  return (
    <td title={`${fullName(name)}\n${visible(file)}`}>
      <span class="swatch" style={{ background: look.swatch }} />
      <span class="mono">{clip(label(name), 200)}</span>
      <span class="share" style={{ width: `${look.share * 90}%`, background: look.bar }} />
    </td>
  );
}

function Row({ p, row, at, entry }: { p: Props; row: number; at: number; entry: boolean }) {
  const { names, files, functions: f } = p.graph;
  const fn = { name: names[f.name[row]], file: files[f.file[row]] };
  const look = p.look(row);
  const exact = exactQuery(fn.name);
  const on = exact === p.search;
  const pick = (): void => p.onPick(on ? "" : exact);
  return (
    <tr
      class={on ? "row on" : "row"}
      tabIndex={entry ? 0 : -1}
      aria-rowindex={at + 2}
      aria-current={on}
      data-testid="function"
      data-name={fn.name}
      data-file={fn.file}
      data-change={look.change}
      onClick={pick}
      onContextMenu={(e) => {
        e.preventDefault();
        p.onMenu(fn, e.clientX, e.clientY, e.currentTarget);
      }}
      onKeyDown={(e) => moveBetweenRows(e, pick, (x, y) => p.onMenu(fn, x, y, e.currentTarget))}
    >
      <Name {...fn} look={look} />
      {p.figures(row)}
    </tr>
  );
}

export const FunctionRows = (p: Props) => (
  <LongTable
    rows={p.order}
    row={(row, at, entry) => <Row key={row} p={p} row={row} at={at} entry={entry} />}
    height={ROW}
    label="Functions"
    testId="functions"
    head={<Head {...p} />}
    none={p.order.length === 0 ? p.none : ""}
    scroller={p.className}
  />
);
