// Columns of a table whose edges can be dragged. This browser remembers their widths.

import { useState } from "preact/hooks";
import { store, stored } from "../../state/stored";

const KEY = "column widths";
const LEAST = 56; // px
const MOST = 400;

type Widths = Record<string, number>;

function kept(): Widths {
  try {
    const all = JSON.parse(stored("localStorage", KEY)) as unknown;
    const good = (w: unknown): boolean => typeof w === "number" && w >= LEAST && w <= MOST;
    return Object.fromEntries(Object.entries(all as object).filter(([, w]) => good(w))) as Widths;
  } catch {
    return {};
  }
}

export interface Columns {
  widths: Widths;
  set: (column: string, px: number) => void; // 0: as the style has it
}

/** Widths of columns by their names. */
export function useColumns(): Columns {
  const [widths, setWidths] = useState(kept);
  return {
    widths,
    set: (column, px) =>
      setWidths((old) => {
        const { [column]: _, ...others } = old;
        const width = Math.min(Math.max(Math.round(px), LEAST), MOST);
        const next = px > 0 ? { ...others, [column]: width } : others;
        store("localStorage", KEY, JSON.stringify(next));
        return next;
      }),
  };
}

/** The left edge of a column: the first one takes what the others leave. */
export function ColumnEdge({ column, columns }: { column: string; columns: Columns }) {
  const onPointerMove = (e: PointerEvent): void => {
    const edge = e.currentTarget as HTMLElement;
    const head = edge.parentElement;
    if (head && edge.hasPointerCapture(e.pointerId))
      columns.set(column, head.getBoundingClientRect().right - e.clientX);
  };
  return (
    <span
      class="column-edge"
      aria-hidden="true"
      title="Drag; a double click sets it back"
      data-testid={`edge-${column}`}
      onPointerDown={(e) => {
        e.preventDefault();
        e.currentTarget.setPointerCapture(e.pointerId);
      }}
      onPointerMove={onPointerMove}
      onDblClick={() => columns.set(column, 0)}
    />
  );
}
