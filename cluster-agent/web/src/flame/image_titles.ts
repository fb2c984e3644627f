// What the title of a box in an exported image says.

import { nodeFile, nodeName, type Tree } from "../model/tree";
import { grouped, percent, value } from "../model/units";

/** Of a frame, or of the sliver of all frames from `node` to `last` (0: no sliver). */
export function boxTitle(tree: Tree, node: number, last: number, unit: string): string {
  if (last) return `${grouped(last - node)} frames, too narrow to draw`;
  const figures = (what: string, v: number, whole: number): string =>
    `${what} ${value(v, unit)}, ${percent(v, whole)}`;
  const { total, self, baseTotal } = tree;
  return [
    nodeName(tree, node),
    nodeFile(tree, node),
    figures("total", total[node], total[0]),
    node > 0 ? figures("self", self[node], total[0]) : "",
    baseTotal ? figures("total before", baseTotal[node], baseTotal[0]) : "",
  ]
    .filter((s) => s !== "")
    .join("\n");
}
