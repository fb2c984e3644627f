// The edge between table and graph, which can be dragged. This browser remembers where it is.

import { useEffect, useRef, useState } from "preact/hooks";
import { store, stored } from "../../state/stored";

const KEY = "table width";
const LEAST = 260; // px, of both sides
const STEP = 24;

const kept = (): number => Number(stored("localStorage", KEY)) || 0;

/** Sets the width of what is left of it, by a variable of its parent; 0: as the style has it. */
export function Splitter({ label }: { label: string }) {
  const edge = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(kept);
  const parent = (): HTMLElement | null => edge.current?.parentElement ?? null;
  const most = (): number => Math.max(LEAST, (parent()?.clientWidth ?? 0) - LEAST);
  const now = (): number => {
    const left = edge.current?.previousElementSibling;
    return left ? Math.round(left.getBoundingClientRect().width) : 0;
  };
  const set = (px: number): void => {
    const next = px > 0 ? Math.min(Math.max(px, LEAST), most()) : 0;
    setWidth(next);
    store("localStorage", KEY, String(next));
  };
  useEffect(() => {
    const at = parent();
    if (width > 0) at?.style.setProperty("--table-width", `${width}px`);
    else at?.style.removeProperty("--table-width");
    return () => at?.style.removeProperty("--table-width");
  }, [width]);
  const onPointerDown = (e: PointerEvent): void => {
    if (e.button !== 0) return;
    e.preventDefault();
    edge.current?.setPointerCapture(e.pointerId);
  };
  const onPointerMove = (e: PointerEvent): void => {
    const at = parent();
    if (!at || !edge.current?.hasPointerCapture(e.pointerId)) return;
    set(e.clientX - at.getBoundingClientRect().left);
  };
  const onKeyDown = (e: KeyboardEvent): void => {
    const by = { ArrowLeft: -STEP, ArrowRight: STEP }[e.key];
    if (by) set(now() + by);
    else if (e.key === "Home") set(0);
    else return;
    e.preventDefault();
    e.stopPropagation();
  };
  return (
    <div
      ref={edge}
      class="splitter"
      role="separator"
      aria-orientation="vertical"
      aria-label={label}
      aria-valuenow={width || now()}
      tabIndex={0}
      title="Drag, or arrow keys; a double click sets it back"
      data-testid="splitter"
      onPointerDown={onPointerDown}
      onPointerMove={onPointerMove}
      onDblClick={() => set(0)}
      onKeyDown={onKeyDown}
    />
  );
}
