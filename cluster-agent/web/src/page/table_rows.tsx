// What both function tables share: the head that sorts, the rows in view, the arrow keys.

import { isMenuKey } from "../flame/frame_menu";
import { grouped } from "../model/units";
import type { SortBy } from "../model/url_state";

export const ROW = 25;
/** Enter picks, M opens a menu, arrows go to the next row. */
export function moveBetweenRows(
  e: KeyboardEvent,
  pick: () => void,
  menu: (x: number, y: number) => void,
): void {
  const row = e.currentTarget as HTMLElement;
  if (e.key === "Enter" || e.key === " ") pick();
  else if (isMenuKey(e)) {
    const box = row.getBoundingClientRect();
    menu(box.left + 40, box.bottom);
  } else if (e.key === "ArrowDown") (row.nextElementSibling as HTMLElement | null)?.focus();
  else if (e.key === "ArrowUp") (row.previousElementSibling as HTMLElement | null)?.focus();
  else return;
  e.preventDefault();
}

/** Head of the column of names; says how many functions a search has left. */
export const countHead = (shown: number, all: number): string =>
  shown === all ? "Function" : `${grouped(shown)} of ${grouped(all)} functions`;

interface HeadProps {
  heads: { by: SortBy; label: string; title?: string }[];
  sort: SortBy;
  ascending: boolean;
  onSort: (sort: SortBy, ascending: boolean) => void;
}

export function SortHead({ heads, sort, ascending, onSort }: HeadProps) {
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
              title={h.title}
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
