// A table of many rows, of which only those in view exist, and heads that sort.

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { useVirtual } from "../../state/virtual";

interface Props<T> {
  rows: readonly T[];
  row: (row: T, at: number, entry: boolean) => ComponentChildren; // `entry`: Tab leads to it
  height: number; // px, of each
  label: string;
  testId: string;
  head: ComponentChildren;
  none: string; // in place of rows, "" = nothing
  scroller?: string; // class of what scrolls
  start?: number; // the row to look at first, in the upper half of the view
  table?: { class?: string; role?: "treegrid"; onKeyDown?: (e: KeyboardEvent) => void };
}

const Spacer = ({ height }: { height: number }) =>
  height > 0 ? <tr class="spacer" aria-hidden="true" style={{ height: `${height}px` }} /> : null;

export function LongTable<T>({ rows, row, ...p }: Props<T>) {
  const scroller = useRef<HTMLDivElement>(null);
  const view = useVirtual(scroller, rows.length, p.height);
  useLayoutEffect(() => {
    const box = scroller.current;
    if (box && p.start !== undefined)
      box.scrollTop = Math.max(0, p.start * p.height - box.clientHeight / 3);
  }, [p.start]);
  return (
    <div class={p.scroller ?? "start-scroll"} ref={scroller} onScroll={view.onScroll}>
      <table
        {...p.table}
        aria-label={p.label}
        aria-rowcount={rows.length + 1}
        data-testid={p.testId}
      >
        <thead>{p.head}</thead>
        <tbody>
          <Spacer height={view.above} />
          {rows
            .slice(view.from, view.to)
            .map((r, k) => row(r, view.from + k, view.from + k === view.entry))}
          <Spacer height={view.below} />
        </tbody>
      </table>
      {p.none && <div class="note">{p.none}</div>}
    </div>
  );
}

/** Moves the focus to the row above or below; false for other keys than these. */
export function toNextRow(e: KeyboardEvent): boolean {
  const row = e.currentTarget as HTMLElement;
  if (e.key === "ArrowDown") (row.nextElementSibling as HTMLElement | null)?.focus();
  else if (e.key === "ArrowUp") (row.previousElementSibling as HTMLElement | null)?.focus();
  else return false;
  return true;
}

interface SortProps {
  className?: string;
  title?: string;
  testId: string;
  order: "ascending" | "descending" | "none"; // of the rows by this column
  onClick: () => void;
  width?: number; // px
  edge?: ComponentChildren; // to drag
  children: ComponentChildren;
}

/** What a sorted column is, or none. */
export const orderOf = (sorted: boolean, ascending: boolean): SortProps["order"] =>
  !sorted ? "none" : ascending ? "ascending" : "descending";

export const SortHead = ({ className, title, testId, order, onClick, ...p }: SortProps) => (
  <th scope="col" class={className} aria-sort={order} style={p.width ? { width: p.width } : {}}>
    {p.edge}
    <button type="button" title={title} data-testid={testId} onClick={onClick}>
      {p.children}
      <span class="arrow" aria-hidden="true">
        {{ ascending: "▴", descending: "▾", none: "" }[order]}
      </span>
    </button>
  </th>
);
