// For end-to-end tests: what is drawn where, in pixels of the window. A canvas has no elements that
// a test could look for.

import { nodeFile, nodeName, type Tree } from "../model/tree";
import { ROW, type FlameCanvas } from "./flame_canvas";

export type FlameId = "flame" | "callers" | "callees";

export interface DrawnFrame {
  name: string;
  file: string;
  depth: number;
  total: number;
  self: number;
  base: number;
  x: number;
  y: number;
  w: number;
  h: number;
}

export interface FlameHook {
  zoom: () => string;
  frames: () => DrawnFrame[];
}

declare global {
  interface Window {
    __flame?: FlameHook;
    __callers?: FlameHook;
    __callees?: FlameHook;
  }
}

/** Installs the hook; the returned function removes it. */
export function flameHook(
  id: FlameId,
  view: FlameCanvas,
  tree: Tree,
  zoom: number,
  canvas: HTMLCanvasElement,
): () => void {
  const hook: FlameHook = {
    zoom: () => nodeName(tree, zoom),
    frames: () => {
      const box = canvas.getBoundingClientRect();
      const { layout } = view;
      const out: DrawnFrame[] = [];
      for (let i = 0; i < layout.count; i++) {
        if (layout.isSliver(i)) continue;
        const node = layout.node[i];
        out.push({
          name: nodeName(tree, node),
          file: nodeFile(tree, node),
          depth: tree.depth[node],
          total: tree.total[node],
          self: tree.self[node],
          base: tree.baseTotal ? tree.baseTotal[node] : 0,
          x: box.left + layout.x[i],
          y: box.top + view.rowTop(layout.row[i]),
          w: layout.w[i],
          h: ROW - 1,
        });
      }
      return out;
    },
  };
  window[`__${id}`] = hook;
  return () => {
    if (window[`__${id}`] === hook) window[`__${id}`] = undefined;
  };
}
