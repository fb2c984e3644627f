// Moves the keyboard cursor through the flame graph.

import type { Layout } from "./layout";
import type { Tree } from "./tree";

export type Move = "up" | "down" | "left" | "right";

/** Next node; `from` < 0 starts at the zoomed frame. Only frames on screen are reached. */
export function moveCursor(
  t: Tree,
  layout: Layout,
  from: number,
  zoom: number,
  move: Move,
): number {
  const at = from < 0 ? -1 : layout.find(from);
  if (at < 0) return zoom;
  const node = layout.node[at];
  if (move === "up") return t.parent[node] >= 0 ? t.parent[node] : node;
  if (move === "down") {
    let best = -1; // the widest frame right below
    for (const i of layout.rowItems(layout.row[at] + 1)) {
      if (layout.isSliver(i) || t.parent[layout.node[i]] !== node) continue;
      if (best < 0 || layout.w[i] > layout.w[best]) best = i;
    }
    return best < 0 ? node : layout.node[best];
  }
  const row = layout.rowItems(layout.row[at]).filter((i) => !layout.isSliver(i));
  const next = row[row.indexOf(at) + (move === "left" ? -1 : 1)];
  return next === undefined ? node : layout.node[next];
}
