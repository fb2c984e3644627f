// Details of the frame under the mouse. Never covers it, never leaves the window.

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import {
  changeAmount,
  changeOf,
  changePercentText,
  changeTextColor,
  type DiffPalette,
} from "../model/diff";
import { whyUnnamed } from "../model/late_symbols";
import { fullName, KERNEL, splitModule, visible } from "../model/names";
import { nodeFile, nodeName, type Tree } from "../model/tree";
import { grouped, percent, value } from "../model/units";

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
  diff: DiffPalette | null;
  atLeast: boolean; // figures of a tree that was made of a cut one
  leafFirst: boolean; // hides own values: they would be those of stacks that begin here
}

/** The line below the name: where the function is from. */
export function originOf(name: string, file: string): string {
  if (file === KERNEL) return "Linux kernel";
  if (name === "[truncated]") return "the stack walk ended here, callers are not known";
  if (name === "[unknown]")
    return "no file is mapped here: code made while the program runs has names by a perf map";
  if (name === "other" && file === "") return "small frames that the answer leaves out";
  if (!file.startsWith("[")) return visible(file);
  const { module, build } = splitModule(file);
  return name.startsWith(`${module}+0x`)
    ? whyUnnamed(visible(module), build)
    : visible(module);
}

/** Puts the tooltip beside the frame, where there is room. */
export function placeTooltip(el: HTMLElement, h: { x: number; top: number; bottom: number }): void {
  const { offsetWidth: width, offsetHeight: height } = el;
  const below = h.bottom + 6;
  const above = h.top - 6 - height;
  const fits = below + height <= innerHeight - 4 || above < 4;
  el.style.top = `${fits ? below : above}px`;
  el.style.left = `${Math.max(8, Math.min(h.x + 12, innerWidth - width - 8))}px`;
}

interface SideProps {
  label: string;
  tree: Tree;
  unit: string;
  now: number;
  before: number;
  diff: DiffPalette | null;
}

/** Both sides of one figure and what changed. */
function ChangeRows({ label, tree, unit, now, before, diff }: SideProps) {
  const { whole } = tree;
  const c = changeOf(now, before, whole, tree.mode);
  const color = diff ? changeTextColor(c, diff) : "";
  return (
    <>
      <dt>{label}</dt>
      <dd>
        {value(now, unit)} <span class="dim">{percent(now, whole.value)}</span>
      </dd>
      <dd>
        {value(before, unit)} <span class="dim">{percent(before, whole.base)}</span>
      </dd>
      <dd style={{ color }}>{changeAmount(c, unit, tree.mode)}</dd>
      <dd style={{ color }}>{changePercentText(c)}</dd>
    </>
  );
}

interface FigureProps {
  label: string;
  size: number;
  tree: Tree;
  unit: string;
  zoomed: number; // value that the second share is of; 0 for none
}

function FigureRow({ label, size, tree, unit, zoomed }: FigureProps) {
  return (
    <>
      <dt>{label}</dt>
      <dd>{value(size, unit)}</dd>
      <dd>{percent(size, tree.whole.value)}</dd>
      {zoomed > 0 && <dd>{percent(size, zoomed)}</dd>}
    </>
  );
}

function Figures(p: Props & { total: number; base: number; node: number }) {
  const { tree, unit, node, zoom, total, base } = p;
  if (tree.baseTotal && tree.baseSelf)
    return (
      <dl class="sides">
        <dt />
        <dd class="dim">now</dd>
        <dd class="dim">baseline</dd>
        <dd class="dim">change</dd>
        <dd />
        <ChangeRows {...p} label="Total" now={total} before={base} />
        {node >= 0 && !p.leafFirst && (
          <ChangeRows {...p} label="Self" now={tree.self[node]} before={tree.baseSelf[node]} />
        )}
      </dl>
    );
  const zoomed = zoom > 0 && node >= zoom && node < tree.end[zoom] ? tree.total[zoom] : 0;
  return (
    <dl class={zoomed > 0 ? "three" : ""}>
      {zoomed > 0 && (
        <>
          <dt />
          <dd />
          <dd class="dim">of all</dd>
          <dd class="dim">of zoom</dd>
        </>
      )}
      <FigureRow label="Total" size={total} tree={tree} unit={unit} zoomed={zoomed} />
      {node >= 0 && !p.leafFirst && (
        <FigureRow label="Self" size={tree.self[node]} tree={tree} unit={unit} zoomed={zoomed} />
      )}
    </dl>
  );
}

function Sliver(p: Props) {
  const { hover, tree } = p;
  let total = 0;
  let base = 0;
  for (let i = hover.node; i < hover.last; i = tree.end[i]) {
    total += tree.total[i];
    base += tree.baseTotal ? tree.baseTotal[i] : 0;
  }
  const n = hover.last - hover.node;
  return (
    <>
      <b>
        {grouped(n)} {n === 1 ? "frame" : "frames"}, too narrow to draw
      </b>
      <Figures {...p} node={-1} total={total} base={base} />
    </>
  );
}

const Mark = ({ children }: { children: ComponentChildren }) => (
  <span class="mark">{children}</span>
);

function Frame(p: Props) {
  const { tree, atLeast } = p;
  const { node } = p.hover;
  const name = nodeName(tree, node);
  const file = nodeFile(tree, node);
  const origin = tree.depth[node] === 0 && file === "" ? "" : originOf(name, file);
  const mono = file.startsWith("[") && file !== KERNEL;
  return (
    <>
      <b class="frame-name">{fullName(name)}</b>
      {origin && (
        <div class={mono ? "mono dim" : "dim"}>
          {origin}
          {file === KERNEL && <Mark>kernel</Mark>}
          {tree.inlined[node] === 1 && <Mark>inlined</Mark>}
        </div>
      )}
      <Figures
        {...p}
        node={node}
        total={tree.total[node]}
        base={tree.baseTotal ? tree.baseTotal[node] : 0}
      />
      {atLeast && <div class="dim note-line">At least: small frames were left out</div>}
      {tree.baseTotal && node === 0 && (
        <div class="dim note-line">
          Frames are as wide as {tree.mode === "share" ? "the mean of both shares" : "both values"}
        </div>
      )}
    </>
  );
}

export function Tooltip(p: Props) {
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (box.current) placeTooltip(box.current, p.hover);
  });
  return (
    <div class="tooltip" ref={box} role="tooltip" data-testid="tooltip">
      {p.hover.last ? <Sliver {...p} /> : <Frame {...p} />}
    </div>
  );
}
