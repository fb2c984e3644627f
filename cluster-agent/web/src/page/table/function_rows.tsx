// The table of functions, with or without a comparison: the head that sorts, the rows in view, the
// arrow keys. Only the rows in view exist.

import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { isMenuKey } from "../../flame/frame_menu";
import type { Change } from "../../model/diff";
import { groupOf } from "../../model/groups";
import { clip, fullName, label, visible } from "../../model/names";
import { groupTitle, rowTitle, type Grouping } from "./table_bar";
import { compileQuery, exactQuery } from "../../model/search";
import { grouped, percent, value } from "../../model/units";
import type { FunctionId, SortBy } from "../../model/url_state";
import type { FlameGraph } from "../../state/api";
import { ColumnEdge, useColumns, type Columns } from "../parts/column_edge";
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
  share?: number; // of the longest bar, 0 to 1
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
  grouping?: Grouping;
  onSort: (sort: SortBy, ascending: boolean) => void;
  onPick: (search: string, fn: FunctionId) => void;
  onMenu: (f: FunctionId, x: number, y: number, back: HTMLElement) => void;
}

/**
 * Rows of functions that a search finds; all of them if it marks one of them, as picking a
 * function marks it where it is.
 */
export function useFound(graph: FlameGraph, search: string, g?: Grouping): number[] {
  const text = search.startsWith('"') ? "" : search;
  return useMemo(() => {
    const { names, files, functions: f } = graph;
    const matches = compileQuery(text)?.among(names, files);
    const rows: number[] = [];
    const within = g?.by ? g.within : null;
    const isIn = (i: number): boolean =>
      within === null || groupOf(g?.by ?? "", names[f.name[i]], files[f.file[i]]) === within;
    for (let i = 0; i < f.name.length; i++)
      if ((!matches || matches(f.name[i], f.file[i])) && isIn(i)) rows.push(i);
    return rows;
  }, [graph, text, g?.by, g?.within]);
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

function Head(p: Props & { columns: Columns }) {
  const { heads, graph, order, sort, ascending, onSort, columns } = p;
  const all = graph.functions.name.length;
  const title = rowTitle(p.grouping);
  const count =
    order.length === all
      ? title
      : `${grouped(order.length)} of ${grouped(all)} ${title.toLowerCase()}s`;
  return (
    <tr>
      {heads.map((h) => (
        <SortHead
          key={h.by}
          className={h.by === "name" ? "" : "num"}
          width={columns.widths[h.by]}
          edge={h.by !== "name" && <ColumnEdge column={h.by} columns={columns} />}
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

function Name({ text, look }: { text: string; look: RowLook }) {
  return (
    <td>
      <span class="swatch" style={{ background: look.swatch }} />
      <span class="mono">{clip(text, 200)}</span>
      {look.share !== undefined && (
        <span class="share" style={{ width: `${look.share * 90}%`, background: look.bar }} />
      )}
    </td>
  );
}

/** All figures of a row, whatever its columns show. */
function tooltipOf({ graph }: Props, row: number, title: string): string {
  const { files, functions: f, unit, base } = graph;
  const figures = (self: number, total: number, whole: number): string =>
    `self ${value(self, unit)}, ${percent(self, whole)} · ` +
    `total ${value(total, unit)}, ${percent(total, whole)}`;
  const before = base
    ? `baseline: ${figures(f.baseSelf?.[row] ?? 0, f.baseTotal?.[row] ?? 0, base.total)}`
    : "";
  const now = figures(f.self[row], f.total[row], graph.total);
  return [title, visible(files[f.file[row]]), now, before].filter(Boolean).join("\n");
}

function Row({ p, row, at, entry }: { p: Props; row: number; at: number; entry: boolean }) {
  const { names, files, functions: f } = p.graph;
  const fn = { name: names[f.name[row]], file: files[f.file[row]] };
  const look = p.look(row);
  const g = p.grouping;
  const isGroup = g !== undefined && g.by !== "" && g.within === null;
  const exact = exactQuery(fn.name);
  const on = !isGroup && exact === p.search;
  const pick = (): void => (isGroup ? g.onWithin(fn.name) : p.onPick(on ? "" : exact, fn));
  const menu = (x: number, y: number, from: HTMLElement): void => {
    if (!isGroup) p.onMenu(fn, x, y, from);
  };
  const text = isGroup ? groupTitle(g.by, fn.name) : label(fn.name);
  return (
    <tr
      class={on ? "row on" : "row"}
      tabIndex={entry ? 0 : -1}
      aria-rowindex={at + 2}
      aria-current={on}
      title={tooltipOf(p, row, isGroup ? text : fullName(fn.name))}
      data-testid={isGroup ? "group-row" : "function"}
      data-name={isGroup ? undefined : fn.name}
      data-file={isGroup ? undefined : fn.file}
      data-group={isGroup ? fn.name : undefined}
      data-change={look.change}
      onClick={pick}
      onContextMenu={(e) => {
        e.preventDefault();
        menu(e.clientX, e.clientY, e.currentTarget);
      }}
      onKeyDown={(e) => moveBetweenRows(e, pick, (x, y) => menu(x, y, e.currentTarget))}
    >
      <Name text={text} look={look} />
      {p.figures(row)}
    </tr>
  );
}

export function FunctionRows(p: Props) {
  const columns = useColumns();
  return (
    <LongTable
      rows={p.order}
      row={(row, at, entry) => <Row key={row} p={p} row={row} at={at} entry={entry} />}
      height={ROW}
      label={`${rowTitle(p.grouping)}s`}
      testId="functions"
      head={<Head {...p} columns={columns} />}
      none={p.order.length === 0 ? p.none : ""}
      scroller={p.className}
    />
  );
}
