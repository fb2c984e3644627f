// The flame graph as a part of the page: mouse, keys, tooltip.

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Palette } from "./colors";
import { FlameCanvas, ROW } from "./flame_canvas";
import { type Cell, useSize } from "./hooks";
import { moveCursor, type Move } from "./cursor";
import type { Matches } from "./search";
import { type Hover, Tooltip } from "./tooltip";
import type { Tree } from "./tree";
import type { ColorBy } from "./url_state";

interface Props {
  tree: Tree;
  unit: string;
  zoom: number;
  matches: Matches | null;
  colorBy: ColorBy;
  palette: Palette;
  cursor: Cell<number>; // node under the mouse or the keys, -1 for none
  onZoom: (node: number) => void;
  onBack: () => void;
}

const HELP = "Flame graph. Arrow keys move through the frames, Enter zooms, Escape goes back";

const moves: Record<string, Move> = {
  ArrowUp: "up",
  ArrowDown: "down",
  ArrowLeft: "left",
  ArrowRight: "right",
};

/** For end-to-end tests: what is drawn where, in pixels of the window. */
export interface FlameHook {
  zoom: () => string;
  frames: () => {
    name: string;
    file: string;
    depth: number;
    total: number;
    self: number;
    x: number;
    y: number;
    w: number;
    h: number;
  }[];
}

declare global {
  interface Window {
    __flame?: FlameHook;
  }
}

function installHook(view: FlameCanvas, tree: Tree, zoom: number, canvas: HTMLCanvasElement): void {
  window.__flame = {
    zoom: () => tree.names[tree.name[zoom]],
    frames: () => {
      const box = canvas.getBoundingClientRect();
      const { layout } = view;
      const out = [];
      for (let i = 0; i < layout.count; i++) {
        if (layout.isSliver(i)) continue;
        const node = layout.node[i];
        out.push({
          name: tree.names[tree.name[node]],
          file: tree.files[tree.file[node]],
          depth: tree.depth[node],
          total: tree.total[node],
          self: tree.self[node],
          x: box.left + layout.x[i],
          y: box.top + layout.row[i] * ROW - view.scrollTop,
          w: layout.w[i],
          h: ROW - 1,
        });
      }
      return out;
    },
  };
}

export function Flame(p: Props) {
  const scroller = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const view = useRef<FlameCanvas | null>(null);
  const frame = useRef(0);
  const [hover, setHover] = useState<Hover | null>(null);
  const [rows, setRows] = useState(1);
  const size = useSize(scroller);

  const redraw = (): void => {
    if (frame.current) return;
    frame.current = requestAnimationFrame(() => {
      frame.current = 0;
      view.current?.draw();
    });
  };

  useLayoutEffect(() => {
    if (!canvas.current || size.width === 0) return;
    view.current ??= new FlameCanvas(canvas.current);
    const v = view.current;
    v.palette = p.palette;
    v.matches = p.matches;
    v.resize(size.width, size.height);
    v.show(p.tree, p.zoom, p.colorBy);
    v.cursor = p.cursor.value;
    setRows(v.layout.rows);
    v.draw();
    installHook(v, p.tree, p.zoom, canvas.current);
  }, [p.tree, p.zoom, p.colorBy, p.palette, p.matches, size]);

  // another tree or zoom: the frame that was under the mouse has moved
  useEffect(() => {
    setHover(null);
    p.cursor.set(-1);
  }, [p.tree, p.zoom]);
  useEffect(() => {
    // some ancestors stay in view; a mere refresh does not scroll
    if (scroller.current)
      scroller.current.scrollTop = Math.max(0, (p.tree.depth[p.zoom] - 8) * ROW);
  }, [p.zoom]);

  useEffect(
    () =>
      p.cursor.watch((node) => {
        if (view.current) view.current.cursor = node;
        redraw();
      }),
    [p.cursor],
  );
  useEffect(() => () => void (window.__flame = undefined), []);

  const point = (e: MouseEvent): void => {
    const v = view.current;
    const box = canvas.current?.getBoundingClientRect();
    if (!v || !box) return;
    const i = v.hit(e.clientX - box.left, e.clientY - box.top);
    if (i < 0) return leave();
    const { layout } = v;
    p.cursor.set(layout.node[i]);
    const top = box.top + layout.row[i] * ROW - v.scrollTop;
    setHover({ node: layout.node[i], last: layout.last[i], x: e.clientX, top, bottom: top + ROW });
  };
  const leave = (): void => {
    setHover(null);
    p.cursor.set(-1);
  };

  const click = (e: MouseEvent): void => {
    const v = view.current;
    const box = canvas.current?.getBoundingClientRect();
    if (!v || !box) return;
    const i = v.hit(e.clientX - box.left, e.clientY - box.top);
    if (i < 0) return;
    // a sliver is too narrow to tell its frames apart: show what holds it
    const node = v.layout.isSliver(i) ? p.tree.parent[v.layout.node[i]] : v.layout.node[i];
    if (node !== p.zoom) p.onZoom(node);
  };

  const key = (e: KeyboardEvent): void => {
    const v = view.current;
    if (!v || e.ctrlKey || e.metaKey || e.altKey) return;
    const move = moves[e.key];
    if (move) {
      e.preventDefault();
      const node = moveCursor(p.tree, v.layout, p.cursor.value, p.zoom, move);
      setHover(null);
      p.cursor.set(node);
      const el = scroller.current;
      const top = p.tree.depth[node] * ROW;
      if (el && top < el.scrollTop) el.scrollTop = top;
      else if (el && top + ROW > el.scrollTop + el.clientHeight)
        el.scrollTop = top + ROW - el.clientHeight;
    } else if (e.key === "Enter" && p.cursor.value >= 0) {
      e.preventDefault();
      if (p.cursor.value !== p.zoom) p.onZoom(p.cursor.value);
    } else if (e.key === "Escape" || e.key === "Backspace") {
      e.preventDefault();
      e.stopPropagation();
      p.onBack();
    }
  };

  // arrows work at once, without going to the graph by Tab first
  useEffect(() => {
    const onKey = (e: KeyboardEvent): void => {
      if (e.target !== document.body || !(moves[e.key] || e.key === "Enter")) return;
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
          if (view.current) view.current.scrollTop = e.currentTarget.scrollTop;
          setHover(null);
          redraw();
        }}
      >
        <canvas
          ref={canvas}
          tabIndex={0}
          role="application"
          aria-label={HELP}
          data-testid="flame"
          style={{ width: `${size.width}px`, height: `${size.height}px` }}
          onPointerMove={point}
          onPointerLeave={leave}
          onClick={click}
          onKeyDown={key}
        />
        <div style={{ height: `${Math.max(0, rows * ROW - size.height)}px` }} />
      </div>
      {hover && <Tooltip hover={hover} tree={p.tree} unit={p.unit} zoom={p.zoom} />}
    </div>
  );
}
