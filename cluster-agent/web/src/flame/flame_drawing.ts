// Draws a flame graph into its canvas, and keeps it so while its properties and its size change.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Palette } from "../model/colors";
import type { DiffPalette } from "../model/diff";
import { FunctionClasses, keysOfFunctions, type Coloring } from "../model/hues";
import type { Matches } from "../model/search";
import type { Tree } from "../model/tree";
import type { Direction } from "../model/url_state";
import { type Cell, useSize } from "../state/hooks";
import { FlameCanvas, ROW } from "./flame_canvas";
import { flameHook, type FlameId } from "./flame_hook";
import { drawnFlame } from "./flame_image";

export interface FlameProps {
  id: FlameId;
  tree: Tree;
  unit: string;
  zoom: number;
  matches: Matches | null;
  coloring: Coloring;
  lit: string; // package that is not dimmed; "" for all
  palette: Palette;
  diff: DiffPalette | null;
  direction: Direction;
  atLeast: boolean;
  leafFirst: boolean;
  cursor: Cell<number>; // node under the mouse or the keys, -1 for none
  onPick: (node: number) => void;
  onBack: () => void;
  onMenu: (node: number, x: number, y: number, back: HTMLElement) => void;
}

interface Refs {
  scroller: { current: HTMLDivElement | null };
  canvas: { current: HTMLCanvasElement | null };
  outline: { current: HTMLDivElement | null }; // of the frame under the cursor
  view: { current: FlameCanvas | null }; // null until something is drawn
}

export interface Drawing extends Refs {
  size: { width: number; height: number };
  rows: number;
  redraw: () => void; // once per animation frame, however many changes there are
}

/** Per function: whether it is of the package that the legend picked; null for all. */
function litFunctions(c: Coloring, t: Tree, picked: string): Uint8Array | null {
  if (picked === "") return null;
  const keys = keysOfFunctions(t, c.by);
  return new Uint8Array(t.fns.n).map((_, fn) => Number(keys.key(fn) === picked));
}

function placeOutline({ view, outline }: Refs, cursor: Cell<number>): void {
  const v = view.current;
  const el = outline.current;
  if (!v || !el) return;
  const i = cursor.value < 0 ? -1 : v.layout.findRect(cursor.value);
  el.hidden = i < 0;
  if (i < 0) return;
  el.style.transform = `translate(${v.layout.x[i]}px, ${v.rowTop(v.layout.row[i])}px)`;
  el.style.width = `${Math.max(v.layout.w[i] - 1, 2)}px`;
}

/** Scrolls to a new zoom, with some ancestors in view; a refresh of the data does not scroll. */
function useScrollToZoom({ tree, zoom, direction }: FlameProps, d: Drawing): void {
  useLayoutEffect(() => {
    const el = d.scroller.current;
    const v = d.view.current;
    if (!el || !v) return;
    const away = Math.max(0, (tree.depth[zoom] - 8) * ROW);
    if (direction === "icicle" && v.scrollTop === away) return; // avoids a layout
    el.scrollTop = direction === "icicle" ? away : el.scrollHeight - el.clientHeight - away;
    if (v.scrollTop === el.scrollTop) return;
    v.scrollTop = el.scrollTop;
    d.redraw();
  }, [zoom, direction, direction === "flame" ? d.rows : 0, d.size.height > 0]);
}

export function useDrawing(p: FlameProps): Drawing {
  const { tree, zoom, direction } = p;
  const refs: Refs = {
    scroller: useRef<HTMLDivElement>(null),
    canvas: useRef<HTMLCanvasElement>(null),
    outline: useRef<HTMLDivElement>(null),
    view: useRef<FlameCanvas | null>(null),
  };
  const frame = useRef(0);
  const [rows, setRows] = useState(1);
  const size = useSize(refs.scroller);
  const classes = useMemo(() => new FunctionClasses(p.coloring, tree), [p.coloring, tree]);
  const lit = useMemo(() => litFunctions(p.coloring, tree, p.lit), [p.coloring, tree, p.lit]);
  const redraw = (): void => {
    if (frame.current) return;
    frame.current = requestAnimationFrame(() => {
      frame.current = 0;
      refs.view.current?.draw();
      placeOutline(refs, p.cursor);
    });
  };
  useLayoutEffect(() => {
    const canvas = refs.canvas.current;
    if (!canvas || size.width === 0) return;
    const v = (refs.view.current ??= new FlameCanvas(canvas));
    const look = { palette: p.palette, classes, diff: p.diff, lit };
    const empty = v.resize(size.width, size.height);
    v.show(tree, zoom, look, p.matches, direction);
    setRows(v.layout.rows);
    if (empty) v.draw();
    else redraw();
    placeOutline(refs, p.cursor);
    const unhook = flameHook(p.id, v, tree, zoom, canvas);
    if (p.id === "flame") drawnFlame.set(v);
    return unhook;
  }, [tree, zoom, classes, lit, p.palette, p.diff, p.matches, direction, size]);
  useEffect(() => () => void (p.id === "flame" && drawnFlame.set(null)), []);
  useEffect(() => p.cursor.watch(() => placeOutline(refs, p.cursor)), [p.cursor]);
  const drawing = { ...refs, size, rows, redraw };
  useScrollToZoom(p, drawing);
  return drawing;
}
