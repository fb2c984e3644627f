// Draws an invented profile off screen while the first real one is being loaded. Browsers optimize
// code only after it has run many times, so the first graph takes half the time if another one was
// drawn before it.

import { palettes } from "../model/colors";
import { assignHues, FunctionClasses } from "../model/hues";
import { buildTree, type Tree } from "../model/tree";
import { FlameCanvas } from "./flame_canvas";

const NODES = 2000;
const FUNCTIONS = 300;
const DEPTH = 20;
const ROUNDS = 3;
const LATEST_MS = 2000; // a page that is busy until then has no profile of this size

/** A few wide frames and many narrow ones, with names of several languages. */
function madeUp(): Tree {
  const kinds = [
    (i: number): string => `example.com/p${i % 40}/q.(*T).F${i}`,
    (i: number): string => `r${i % 20}.f${i}`,
    (i: number): string => `s_${i}`,
  ];
  const names = Array.from({ length: FUNCTIONS }, (_, i) => kinds[i % kinds.length](i));
  const fn = new Int32Array(NODES);
  const depth = new Int32Array(NODES);
  const total = new Float64Array(NODES);
  const self = new Float64Array(NODES);
  for (let i = 1; i < NODES; i++) {
    fn[i] = (i * 7) % FUNCTIONS;
    depth[i] = 1 + ((i - 1) % DEPTH);
    self[i] = i % DEPTH === 0 ? 1e9 / i : 0;
  }
  // each stack is a chain of its own below the root
  for (let i = NODES - 1; i > 0; i--) {
    total[i] += self[i];
    total[depth[i] === 1 ? 0 : i - 1] += total[i];
  }
  const number = Int32Array.from(names, (_, i) => i);
  return buildTree({
    names: ["total", ...names.slice(1)],
    files: ["", "/usr/src/q/main.go"],
    nodes: { function: fn, depth, total, self, inlined: new Int32Array(0) },
    pairs: { name: number, file: number.map((i) => (i === 0 ? 0 : 1)) },
  });
}

function drawOnce(): void {
  const view = new FlameCanvas(document.createElement("canvas"));
  const tree = madeUp();
  const coloring = assignHues(tree, "package");
  const classes = new FunctionClasses(coloring, tree);
  view.resize(1200, 500);
  view.show(tree, 0, { palette: palettes.light, classes, diff: null, lit: null }, null, "icicle");
  view.draw();
}

/** Warms up while the browser is idle; the returned function stops it. */
export function warmUp(): () => void {
  if (!("requestIdleCallback" in window)) return () => {}; // of Safari
  let left = ROUNDS;
  let next = 0;
  const run = (): void => {
    drawOnce();
    if (--left > 0) next = requestIdleCallback(run, { timeout: LATEST_MS });
  };
  next = requestIdleCallback(run);
  return () => cancelIdleCallback(next);
}
