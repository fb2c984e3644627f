// Details of the frame under the mouse. Never covers it, never leaves the window.

import { useLayoutEffect, useRef } from "preact/hooks";
import { KERNEL } from "./names";
import type { Tree } from "./tree";
import { grouped, percent, value } from "./units";

export interface Hover {
  node: number;
  last: number; // sliver: node behind its last subtree; frame: 0
  x: number; // of the mouse, in the window
  top: number; // of the frame
  bottom: number;
}

interface Props {
  hover: Hover;
  tree: Tree;
  unit: string;
  zoom: number;
}

/** The line below the name: where the function is from. */
export function originOf(name: string, file: string): string {
  if (file === KERNEL) return "Linux kernel";
  if (name === "[truncated]") return "the stack walk ended here, callers are not known";
  if (name === "[unknown]") return "no symbol, and no file is mapped at this address";
  if (name === "other" && file === "") return "small frames that the answer leaves out";
  return file.startsWith("[") ? file.slice(1, -1) : file;
}

function Sliver({ hover, tree, unit }: Props) {
  let sum = 0;
  for (let i = hover.node; i < hover.last; i = tree.end[i]) sum += tree.total[i];
  const n = hover.last - hover.node;
  return (
    <>
      <b>
        {grouped(n)} {n === 1 ? "frame" : "frames"}, too narrow to draw
      </b>
      <dl>
        <dt>Total</dt>
        <dd>{value(sum, unit)}</dd>
        <dd>{percent(sum, tree.total[0])}</dd>
      </dl>
    </>
  );
}

function Frame({ hover, tree, unit, zoom }: Props) {
  const { node } = hover;
  const name = tree.names[tree.name[node]];
  const file = tree.files[tree.file[node]];
  const origin = node === 0 ? "" : originOf(name, file);
  const inZoom = zoom > 0 && node >= zoom && node < tree.end[zoom];
  return (
    <>
      <b>{name}</b>
      {origin && (
        <div class={file.startsWith("[") && file !== KERNEL ? "mono dim" : "dim"}>{origin}</div>
      )}
      <dl class={inZoom ? "three" : ""}>
        {inZoom && (
          <>
            <dt />
            <dd />
            <dd class="dim">of all</dd>
            <dd class="dim">of zoom</dd>
          </>
        )}
        <dt>Total</dt>
        <dd>{value(tree.total[node], unit)}</dd>
        <dd>{percent(tree.total[node], tree.total[0])}</dd>
        {inZoom && <dd>{percent(tree.total[node], tree.total[zoom])}</dd>}
        <dt>Self</dt>
        <dd>{value(tree.self[node], unit)}</dd>
        <dd>{percent(tree.self[node], tree.total[0])}</dd>
        {inZoom && <dd>{percent(tree.self[node], tree.total[zoom])}</dd>}
      </dl>
    </>
  );
}

export function Tooltip(p: Props) {
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const el = box.current;
    if (!el) return;
    const { offsetWidth: w, offsetHeight: h } = el;
    const below = p.hover.bottom + 6;
    const above = p.hover.top - 6 - h;
    const fitsBelow = below + h <= innerHeight - 4;
    el.style.top = `${fitsBelow || above < 4 ? below : above}px`;
    el.style.left = `${Math.max(8, Math.min(p.hover.x + 12, innerWidth - w - 8))}px`;
  });
  return (
    <div class="tooltip" ref={box} role="tooltip" data-testid="tooltip">
      {p.hover.last ? <Sliver {...p} /> : <Frame {...p} />}
    </div>
  );
}
