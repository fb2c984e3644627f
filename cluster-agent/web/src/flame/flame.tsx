// A flame graph as a part of the page: mouse, touch, keys, tooltip. The page has one, or the two of
// a sandwich.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Palette } from "../model/colors";
import { moveCursor, type Move } from "../model/cursor";
import type { DiffPalette } from "../model/diff";
import { FunctionClasses, keysOfFunctions, type Coloring } from "../model/hues";
import type { Matches } from "../model/search";
import type { Tree } from "../model/tree";
import type { Direction } from "../model/url_state";
import { type Cell, useSize } from "../state/hooks";
import { FlameCanvas, ROW } from "./flame_canvas";
import { drawnFlame } from "./flame_image";
import { isMenuKey } from "./frame_menu";
import { flameHook, type FlameId } from "./flame_hook";
import { type Hover, placeTooltip, Tooltip } from "./tooltip";

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

const HELP = "Arrow keys move through the frames, Enter zooms, M opens a menu, Escape goes back";
const labels: Record<FlameId, string> = {
  flame: "Flame graph",
  callers: "Callers",
  callees: "Called functions",
};

const moves: Record<string, Move> = {
  ArrowUp: "up",
  ArrowDown: "down",
  ArrowLeft: "left",
  ArrowRight: "right",
};
const mirrored: Record<Move, Move> = { up: "down", down: "up", left: "left", right: "right" };

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

export function Flame(p: FlameProps) {
  const { tree, zoom, direction } = p;
  const scroller = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const outline = useRef<HTMLDivElement>(null);
  const view = useRef<FlameCanvas | null>(null);
  const frame = useRef(0);
  const hovered = useRef(-1); // rectangle under the mouse
  const [hover, setHover] = useState<Hover | null>(null);
  const [rows, setRows] = useState(1);
  const size = useSize(scroller);
  const classes = useMemo(() => new FunctionClasses(p.coloring, tree), [p.coloring, tree]);
  const lit = useMemo(() => litFunctions(p.coloring, tree, p.lit), [p.coloring, tree, p.lit]);

  const placeOutline = (): void => {
    const v = view.current;
    const el = outline.current;
    if (!v || !el) return;
    const i = p.cursor.value < 0 ? -1 : v.layout.findRect(p.cursor.value);
    el.hidden = i < 0;
    if (i < 0) return;
    el.style.transform = `translate(${v.layout.x[i]}px, ${v.rowTop(v.layout.row[i])}px)`;
    el.style.width = `${Math.max(v.layout.w[i] - 1, 2)}px`;
  };
  const redraw = (): void => {
    if (frame.current) return;
    frame.current = requestAnimationFrame(() => {
      frame.current = 0;
      view.current?.draw();
      placeOutline();
    });
  };

  useLayoutEffect(() => {
    if (!canvas.current || size.width === 0) return;
    view.current ??= new FlameCanvas(canvas.current);
    const v = view.current;
    const look = { palette: p.palette, classes, diff: p.diff, lit };
    const empty = v.resize(size.width, size.height);
    v.show(tree, zoom, look, p.matches, direction);
    setRows(v.layout.rows);
    // the latter draws once per animation frame, however many changes there are
    if (empty) v.draw();
    else redraw();
    placeOutline();
    const unhook = flameHook(p.id, v, tree, zoom, canvas.current);
    if (p.id === "flame") drawnFlame.set(v);
    return unhook;
  }, [tree, zoom, classes, lit, p.palette, p.diff, p.matches, direction, size]);
  useEffect(() => () => void (p.id === "flame" && drawnFlame.set(null)), []);

  // another tree or zoom: the frame that was under the mouse has moved
  useEffect(() => {
    forget();
  }, [tree, zoom, direction]);
  useLayoutEffect(() => {
    // keeps some ancestors in view; a refresh of the data does not scroll
    const el = scroller.current;
    const v = view.current;
    if (!el || !v) return;
    const away = Math.max(0, (tree.depth[zoom] - 8) * ROW);
    if (direction === "icicle" && v.scrollTop === away) return; // avoids a layout
    el.scrollTop = direction === "icicle" ? away : el.scrollHeight - el.clientHeight - away;
    if (v.scrollTop === el.scrollTop) return;
    v.scrollTop = el.scrollTop;
    redraw();
  }, [zoom, direction, direction === "flame" ? rows : 0, size.height > 0]);
  useEffect(() => p.cursor.watch(placeOutline), [p.cursor]);

  const forget = (): void => {
    hovered.current = -1;
    setHover(null);
    p.cursor.set(-1);
  };
  const rectAt = (e: MouseEvent): number => {
    const box = canvas.current?.getBoundingClientRect();
    return view.current && box ? view.current.hit(e.clientX - box.left, e.clientY - box.top) : -1;
  };
  // the frames of a sliver cannot be told apart, so the action applies to their parent
  const nodeOf = (v: FlameCanvas, i: number): number =>
    v.layout.isSliver(i) ? tree.parent[v.layout.node[i]] : v.layout.node[i];

  const point = (e: PointerEvent): void => {
    const v = view.current;
    const i = rectAt(e);
    if (!v || !canvas.current || i < 0) return forget();
    const tip = scroller.current?.parentElement?.querySelector<HTMLElement>(".tooltip");
    if (i === hovered.current && hover) {
      hover.x = e.clientX;
      if (tip) placeTooltip(tip, hover);
      return;
    }
    describe(e, i);
  };
  const describe = (e: MouseEvent, i: number): void => {
    const v = view.current;
    if (!v || !canvas.current) return;
    hovered.current = i;
    const { layout } = v;
    p.cursor.set(layout.node[i]);
    const top = canvas.current.getBoundingClientRect().top + v.rowTop(layout.row[i]);
    setHover({ node: layout.node[i], last: layout.last[i], x: e.clientX, top, bottom: top + ROW });
  };

  const click = (e: MouseEvent): void => {
    const v = view.current;
    const i = rectAt(e);
    if (!v || i < 0 || press.wasLong()) return;
    // a finger cannot point without touching: the first tap describes, the second one zooms
    const touch = (e as PointerEvent).pointerType === "touch";
    if (touch && p.cursor.value !== v.layout.node[i]) return describe(e, i);
    const node = nodeOf(v, i);
    if (node !== zoom) p.onPick(node);
  };
  const menuAt = (e: MouseEvent): void => {
    e.preventDefault();
    const v = view.current;
    const i = rectAt(e);
    if (!v || i < 0 || !canvas.current) return;
    forget();
    p.onMenu(nodeOf(v, i), e.clientX, e.clientY, canvas.current);
  };
  const press = useLongPress(menuAt);

  const openMenuByKey = (): void => {
    const v = view.current;
    const node = p.cursor.value >= 0 ? p.cursor.value : zoom;
    const i = v ? v.layout.find(node) : -1;
    const box = canvas.current?.getBoundingClientRect();
    if (!v || !box || !canvas.current || i < 0) return;
    setHover(null);
    const x = box.left + v.layout.x[i] + Math.min(v.layout.w[i] / 2, 60);
    p.onMenu(node, x, box.top + v.rowTop(v.layout.row[i]) + ROW, canvas.current);
  };

  const scrollTo = (node: number): void => {
    const el = scroller.current;
    const v = view.current;
    if (!el || !v) return;
    const top = v.rowTop(tree.depth[node]);
    if (top < 0) el.scrollTop += top;
    else if (top + ROW > el.clientHeight) el.scrollTop += top + ROW - el.clientHeight;
  };

  const key = (e: KeyboardEvent): void => {
    const v = view.current;
    if (!v || e.ctrlKey || e.metaKey || e.altKey) return;
    const move = moves[e.key];
    if (move) {
      e.preventDefault();
      const way = direction === "icicle" ? move : mirrored[move];
      const node = moveCursor(tree, v.layout, p.cursor.value, zoom, way);
      setHover(null);
      hovered.current = -1;
      p.cursor.set(node);
      scrollTo(node);
    } else if (isMenuKey(e)) {
      e.preventDefault();
      openMenuByKey();
    } else if (e.key === "Enter" && p.cursor.value >= 0) {
      e.preventDefault();
      if (p.cursor.value !== zoom) p.onPick(p.cursor.value);
    } else if (e.key === "Escape" || e.key === "Backspace") {
      e.preventDefault();
      e.stopPropagation();
      p.onBack();
    }
  };

  // keys work at once, without going to the graph by Tab first
  useEffect(() => {
    if (p.id === "callers") return;
    const onKey = (e: KeyboardEvent): void => {
      if (e.target !== document.body || !(moves[e.key] || e.key === "Enter" || isMenuKey(e)))
        return;
      canvas.current?.focus({ preventScroll: true });
      key(e);
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  });

  return (
    <div class="flame">
      <div
        class="flame-scroll"
        ref={scroller}
        onScroll={(e) => {
          if (view.current?.scrollTop === e.currentTarget.scrollTop) return;
          if (view.current) view.current.scrollTop = e.currentTarget.scrollTop;
          hovered.current = -1;
          setHover(null);
          redraw();
        }}
      >
        <div class="flame-view" style={{ height: `${size.height}px` }}>
          <canvas
            ref={canvas}
            tabIndex={0}
            role="application"
            aria-label={`${labels[p.id]}. ${HELP}`}
            data-testid={p.id}
            style={{ width: `${size.width}px`, height: `${size.height}px` }}
            onPointerMove={(e) => (e.pointerType === "touch" ? press.move(e) : point(e))}
            onPointerLeave={(e) => {
              press.end();
              if (e.pointerType !== "touch") forget();
            }}
            onPointerDown={press.down}
            onPointerUp={press.end}
            onPointerCancel={press.end}
            onClick={click}
            onContextMenu={menuAt}
            onKeyDown={key}
          />
          <div class="flame-cursor" ref={outline} hidden />
        </div>
        <div style={{ height: `${Math.max(0, rows * ROW - size.height)}px` }} />
      </div>
      {hover && hover.node < tree.n && (
        <Tooltip
          hover={hover}
          tree={tree}
          unit={p.unit}
          zoom={zoom}
          diff={p.diff}
          atLeast={p.atLeast}
          leafFirst={p.leafFirst}
        />
      )}
    </div>
  );
}

/** Per function: whether it is of the package that the legend picked; null for all. */
function litFunctions(c: Coloring, t: Tree, picked: string): Uint8Array | null {
  if (picked === "") return null;
  const keys = keysOfFunctions(t, c.by);
  return new Uint8Array(t.fns.n).map((_, fn) => Number(keys.key(fn) === picked));
}
