// The keys of a flame graph: arrows walk, Enter zooms, M opens the menu.

import { moveCursor, type Move } from "../model/cursor";
import { ROW } from "./flame_canvas";
import type { Drawing, FlameProps } from "./flame_drawing";
import { isMenuKey } from "./frame_menu";
import { hasModifier, usePageKeys } from "../state/hooks";

const moves: Record<string, Move> = {
  ArrowUp: "up",
  ArrowDown: "down",
  ArrowLeft: "left",
  ArrowRight: "right",
};
const mirrored: Record<Move, Move> = { up: "down", down: "up", left: "left", right: "right" };

function openMenu(p: FlameProps, d: Drawing, hide: () => void): void {
  const v = d.view.current;
  const node = p.cursor.value >= 0 ? p.cursor.value : p.zoom;
  const i = v ? v.layout.find(node) : -1;
  const box = d.canvas.current?.getBoundingClientRect();
  if (!v || !box || !d.canvas.current || i < 0) return;
  hide();
  const x = box.left + v.layout.x[i] + Math.min(v.layout.w[i] / 2, 60);
  p.onMenu(node, x, box.top + v.rowTop(v.layout.row[i]) + ROW, d.canvas.current);
}

function scrollTo(depth: number, d: Drawing): void {
  const el = d.scroller.current;
  const v = d.view.current;
  if (!el || !v) return;
  const top = v.rowTop(depth);
  if (top < 0) el.scrollTop += top;
  else if (top + ROW > el.clientHeight) el.scrollTop += top + ROW - el.clientHeight;
}

/** The canvas's handler of keys. `hide` drops the tooltip. */
export function useFlameKeys(p: FlameProps, d: Drawing, hide: () => void) {
  const walk = (move: Move): void => {
    const v = d.view.current;
    if (!v) return;
    const way = p.direction === "icicle" ? move : mirrored[move];
    const node = moveCursor(p.tree, v.layout, p.cursor.value, p.zoom, way);
    hide();
    p.cursor.set(node);
    scrollTo(p.tree.depth[node], d);
  };
  const onKey = (e: KeyboardEvent): void => {
    if (!d.view.current || hasModifier(e)) return;
    const move = moves[e.key];
    if (move) walk(move);
    else if (isMenuKey(e)) openMenu(p, d, hide);
    else if (e.key === "Enter" && p.cursor.value >= 0) {
      if (p.cursor.value !== p.zoom) p.onPick(p.cursor.value);
    } else if (e.key === "Escape" || e.key === "Backspace") {
      e.stopPropagation();
      p.onBack();
    } else return;
    e.preventDefault();
  };
  // keys work at once, without going to the graph by Tab first
  usePageKeys((e) => {
    if (p.id === "callers" || e.target !== document.body) return;
    if (!(moves[e.key] || e.key === "Enter" || isMenuKey(e))) return;
    d.canvas.current?.focus({ preventScroll: true });
    onKey(e);
  });
  return onKey;
}
