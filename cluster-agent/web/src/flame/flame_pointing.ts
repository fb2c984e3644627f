// Pointing at a flame graph by mouse or finger: a tooltip for what is there, a click to zoom.

import { useEffect, useRef, useState } from "preact/hooks";
import { ROW, type FlameCanvas } from "./flame_canvas";
import type { Drawing, FlameProps } from "./flame_drawing";
import { type Hover, placeTooltip } from "./tooltip";

const LONG_PRESS_MS = 500;
const LONG_PRESS_SLACK = 8; // px that a finger may move

/** Calls `run` on a long press; `wasLong` says whether the click that follows belongs to it. */
function useLongPress(run: (e: PointerEvent) => void) {
  const timer = useRef(0);
  const from = useRef<PointerEvent | null>(null);
  const fired = useRef(false);
  const cancel = (): void => {
    clearTimeout(timer.current);
    from.current = null;
  };
  useEffect(() => cancel, []);
  return {
    down: (e: PointerEvent): void => {
      fired.current = false;
      if (e.pointerType === "mouse") return;
      from.current = e;
      timer.current = window.setTimeout(() => {
        fired.current = true;
        run(e);
      }, LONG_PRESS_MS);
    },
    move: (e: PointerEvent): void => {
      const f = from.current;
      if (f && Math.hypot(e.clientX - f.clientX, e.clientY - f.clientY) > LONG_PRESS_SLACK)
        cancel();
    },
    end: cancel,
    wasLong: (): boolean => fired.current,
  };
}

export interface Pointing {
  hover: Hover | null; // what the tooltip describes
  hide: () => void; // the tooltip; the cursor stays
  forget: () => void;
  point: (e: PointerEvent) => void;
  describe: (e: MouseEvent, rect: number) => void;
}

/** The rectangle under the mouse, -1 for none. */
function rectAt(d: Drawing, e: MouseEvent): number {
  const box = d.canvas.current?.getBoundingClientRect();
  const v = d.view.current;
  return v && box ? v.hit(e.clientX - box.left, e.clientY - box.top) : -1;
}

export function usePointing(p: FlameProps, d: Drawing): Pointing {
  const hovered = useRef(-1); // rectangle under the mouse
  const [hover, setHover] = useState<Hover | null>(null);
  const hide = (): void => {
    hovered.current = -1;
    setHover(null);
  };
  const forget = (): void => {
    hide();
    p.cursor.set(-1);
  };
  // another tree or zoom: the frame that was under the mouse has moved
  useEffect(forget, [p.tree, p.zoom, p.direction]);

  const describe = (e: MouseEvent, i: number): void => {
    const v = d.view.current;
    if (!v || !d.canvas.current) return;
    hovered.current = i;
    const { layout } = v;
    p.cursor.set(layout.node[i]);
    const top = d.canvas.current.getBoundingClientRect().top + v.rowTop(layout.row[i]);
    setHover({ node: layout.node[i], last: layout.last[i], x: e.clientX, top, bottom: top + ROW });
  };
  const point = (e: PointerEvent): void => {
    const i = rectAt(d, e);
    if (i < 0) return forget();
    if (i !== hovered.current || !hover) return describe(e, i);
    const tip = d.scroller.current?.parentElement?.querySelector<HTMLElement>(".tooltip");
    hover.x = e.clientX;
    if (tip) placeTooltip(tip, hover);
  };
  return { hover, hide, forget, point, describe };
}

/** What the canvas does on events of the mouse and of fingers. */
export function usePointerEvents(p: FlameProps, d: Drawing, pointing: Pointing) {
  const { point, forget, describe } = pointing;
  // the frames of a sliver cannot be told apart, so the action applies to their parent
  const nodeOf = ({ layout }: FlameCanvas, i: number): number =>
    layout.isSliver(i) ? p.tree.parent[layout.node[i]] : layout.node[i];

  const onContextMenu = (e: MouseEvent): void => {
    e.preventDefault();
    const v = d.view.current;
    const i = rectAt(d, e);
    if (!v || i < 0 || !d.canvas.current) return;
    forget();
    p.onMenu(nodeOf(v, i), e.clientX, e.clientY, d.canvas.current);
  };
  const press = useLongPress(onContextMenu);
  const onClick = (e: MouseEvent): void => {
    const v = d.view.current;
    const i = rectAt(d, e);
    if (!v || i < 0 || press.wasLong()) return;
    // a finger cannot point without touching: the first tap describes, the second one zooms
    const touch = (e as PointerEvent).pointerType === "touch";
    if (touch && p.cursor.value !== v.layout.node[i]) return describe(e, i);
    const node = nodeOf(v, i);
    if (node !== p.zoom) p.onPick(node);
  };
  return {
    onPointerMove: (e: PointerEvent) => (e.pointerType === "touch" ? press.move(e) : point(e)),
    onPointerLeave: (e: PointerEvent) => {
      press.end();
      if (e.pointerType !== "touch") forget();
    },
    onPointerDown: press.down,
    onPointerUp: press.end,
    onPointerCancel: press.end,
    onClick,
    onContextMenu,
  };
}
