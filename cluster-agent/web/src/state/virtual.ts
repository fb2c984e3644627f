// Long lists: only the rows in view exist, between two spacers.

import { useEffect, useState } from "preact/hooks";
import { useSize } from "./hooks";

const SPARE = 8; // rows beyond the edges

export interface Visible {
  from: number;
  to: number;
  above: number; // px
  below: number;
  entry: number; // the first row that is wholly in view: where Tab leads to
  onScroll: (e: Event) => void;
}

/** All rows are `height` px high. */
export function useVirtual(
  scroller: { current: HTMLElement | null },
  n: number,
  height: number,
): Visible {
  const size = useSize(scroller);
  const [top, setTop] = useState(0);
  // a shorter list may have moved the view without an event
  useEffect(() => {
    if (scroller.current) setTop(scroller.current.scrollTop);
  }, [n]);
  const first = Math.min(Math.ceil(top / height), Math.max(0, n - 1));
  const from = Math.max(0, first - SPARE);
  const to = Math.min(n, first + Math.ceil(size.height / height) + SPARE);
  return {
    from,
    to,
    above: from * height,
    below: (n - to) * height,
    entry: first,
    // in steps of whole rows: what lies between changes nothing
    onScroll: (e) => {
      const { scrollTop } = e.currentTarget as HTMLElement;
      setTop(Math.ceil(scrollTop / height) * height);
    },
  };
}
