// Draws a layout on a canvas: pixels and colours, no events and no components. The frame
// under the cursor is not drawn here: an outline of its own moves over the canvas, so that a move
// of the mouse draws nothing again.

import { CLASS_UNKNOWN, type Palette } from "../model/colors";
import { changeColor, changeScore, LEVELS, levelOf, type DiffPalette } from "../model/diff";
import type { FunctionClasses } from "../model/hues";
import { Layout } from "../model/layout";
import { label } from "../model/names";
import type { Matches } from "../model/search";
import { TextFitter } from "../model/text_fit";
import { functionOf, type Tree } from "../model/tree";
import type { Direction } from "../model/url_state";
import { ThinFrames } from "./thin_frames";

export const ROW = 19; // px, of which one is the gap
export const FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';
const MIN_LABEL = 22;
const PAD = 5;
const THIN = 3; // px; narrower frames are drawn by ThinFrames

/** How frames are coloured. */
export interface Look {
  palette: Palette;
  classes: FunctionClasses;
  diff: DiffPalette | null; // colours by change instead of class
  lit: Uint8Array | null; // by function: 0 is dimmed
}

/** What boxes and labels are drawn on: a canvas, or a file. */
export type Surface = Pick<
  CanvasRenderingContext2D,
  "fillStyle" | "font" | "textBaseline" | "fillRect" | "fillText" | "setTransform"
>;

export class FlameCanvas {
  readonly layout = new Layout();
  scrollTop = 0;
  private tree: Tree | null = null;
  private look: Look | null = null;
  private matches: Matches | null = null;
  private direction: Direction = "icicle";
  private zoom = 0;
  private width = 0;
  private height = 0;
  private labels: (string | undefined)[] = []; // by name
  private other = -1; // the function "other", for frames that the answer left out
  private fitter: TextFitter | null = null;
  private thin = new ThinFrames();
  private hatch: CanvasPattern | null = null;
  private hatchOf: Palette | null = null;
  private ctx: Surface;
  private own: CanvasRenderingContext2D; // of the canvas on the page

  constructor(private canvas: HTMLCanvasElement) {
    const ctx = canvas.getContext("2d", { alpha: false });
    if (!ctx) throw new Error("this browser has no canvas");
    this.ctx = this.own = ctx;
  }

  show(tree: Tree, zoom: number, look: Look, matches: Matches | null, direction: Direction): void {
    if (tree !== this.tree) {
      if (tree.names !== this.tree?.names) this.labels = [];
      this.other = functionOf(tree, "other", "");
    }
    if (tree !== this.tree || zoom !== this.zoom) this.layout.compute(tree, zoom, this.width);
    this.tree = tree;
    this.zoom = zoom;
    this.look = look;
    this.matches = matches;
    this.direction = direction;
  }

  /** Resizes the canvas, which clears it; returns whether the size has changed. */
  resize(width: number, height: number): boolean {
    const ratio = devicePixelRatio || 1;
    const w = Math.round(width * ratio);
    const h = Math.round(height * ratio);
    const other = this.canvas.width !== w || this.canvas.height !== h;
    if (other) {
      this.canvas.width = w;
      this.canvas.height = h;
    }
    if (this.tree && width !== this.width) this.layout.compute(this.tree, this.zoom, width);
    this.width = width;
    this.height = height;
    return other;
  }

  get contentHeight(): number {
    return this.layout.rows * ROW;
  }

  /** What is shown; the tree is null before the first one. */
  get shown(): { tree: Tree | null; zoom: number; width: number; palette: Palette | undefined } {
    return { tree: this.tree, zoom: this.zoom, width: this.width, palette: this.look?.palette };
  }

  /** Draws everything, also what is scrolled out of view, on another surface. */
  drawWhole(ctx: Surface, then?: () => void): void {
    const own = { ctx: this.ctx, top: this.scrollTop, height: this.height };
    this.ctx = ctx;
    this.scrollTop = 0;
    this.height = this.contentHeight;
    try {
      this.draw();
      then?.();
    } finally {
      this.ctx = own.ctx;
      this.scrollTop = own.top;
      this.height = own.height;
    }
  }

  /** Top of a row on the canvas. In a flame the root is at the bottom. */
  rowTop(row: number): number {
    return this.direction === "icicle"
      ? row * ROW - this.scrollTop
      : Math.max(this.contentHeight, this.height) - (row + 1) * ROW - this.scrollTop;
  }

  private rowAt(y: number): number {
    return this.direction === "icicle"
      ? Math.floor((y + this.scrollTop) / ROW)
      : Math.floor((Math.max(this.contentHeight, this.height) - y - this.scrollTop) / ROW);
  }

  /** Rectangle under a point of the canvas, -1 for none. */
  hit(x: number, y: number): number {
    return this.layout.at(this.rowAt(y), x);
  }

  /** Label of a frame, shortened once. */
  private labelOf(name: number): string {
    return (this.labels[name] ??= label(this.tree?.names[name] ?? ""));
  }

  draw(): void {
    const { ctx, tree, look } = this;
    if (!tree || !look || this.width === 0) return;
    const ratio = devicePixelRatio || 1;
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.fillStyle = look.palette.ground;
    ctx.fillRect(0, 0, this.width, this.height);
    const a = this.rowAt(0);
    const b = this.rowAt(this.height);
    const first = Math.max(0, Math.min(a, b));
    const last = Math.min(this.layout.rows - 1, Math.max(a, b));
    this.drawBoxes(tree, look, first, last, ctx === this.own ? this.thin : null);
    this.drawOutlines(look, first, last);
    this.drawLabels(tree, look, first, last);
  }

  private isDim(tree: Tree, look: Look, node: number): boolean {
    if (this.matches && !this.matches.hit[node]) return true;
    return look.lit !== null && !look.lit[tree.fn[node]];
  }

  private changeAt(tree: Tree, node: number): number {
    const base = tree.baseTotal ? tree.baseTotal[node] : 0;
    return changeScore(tree.total[node], base, tree.whole, tree.mode);
  }

  private colorOf(tree: Tree, look: Look, i: number): string | CanvasPattern {
    const node = this.layout.node[i];
    const p = look.palette;
    if (this.layout.isSliver(i)) {
      const m = this.matches;
      return m && m.before[this.layout.last[i]] > m.before[node] ? p.accent : p.sliver;
    }
    if (tree.depth[node] < tree.depth[this.zoom]) return p.ancestor;
    const fn = tree.fn[node];
    if (fn === this.other) return this.hatching(p);
    const dim = this.isDim(tree, look, node);
    if (look.diff) {
      const score = this.changeAt(tree, node);
      return dim ? look.diff.dim[LEVELS + levelOf(score)] : changeColor(score, look.diff);
    }
    return (dim ? p.dim : p.fill)[look.classes.of(fn)];
  }

  /** Diagonal lines: the answer left out the frames below. */
  private hatching(p: Palette): CanvasPattern | string {
    if (this.hatch && this.hatchOf === p) return this.hatch;
    const tile = document.createElement("canvas");
    tile.width = tile.height = 8;
    const c = tile.getContext("2d");
    if (!c) return p.sliver;
    c.fillStyle = p.ancestor;
    c.fillRect(0, 0, 8, 8);
    c.strokeStyle = p.hatch;
    c.lineWidth = 1;
    c.beginPath();
    for (const x of [-8, 0, 8]) {
      c.moveTo(x, 8);
      c.lineTo(x + 8, 0);
    }
    c.stroke();
    this.hatch = this.own.createPattern(tile, "repeat");
    this.hatchOf = p;
    return this.hatch ?? p.sliver;
  }

  /** thin: the renderer of narrow frames; null for images, which have a box for each frame. */
  private drawBoxes(
    tree: Tree,
    look: Look,
    first: number,
    last: number,
    thin: ThinFrames | null,
  ): void {
    const { ctx, layout } = this;
    const tops: number[] = [];
    let color: string | CanvasPattern = "";
    thin?.begin(this.width, last - first + 1, devicePixelRatio || 1);
    for (let row = first; row <= last; row++) {
      const y = this.rowTop(row);
      const end = layout.rowEnd(row);
      for (let k = layout.rowBegin(row); k < end; k++) {
        const i = layout.inRow(k);
        const next = this.colorOf(tree, look, i);
        const x = layout.x[i];
        const w = layout.w[i];
        // frames of a few pixels keep a gap as well, a smaller one
        const drawn = w >= THIN ? w - 1 : Math.max(w * 0.75, 0.5);
        if (w < THIN && thin?.add(x, drawn, next)) continue;
        if (next !== color) ctx.fillStyle = color = next;
        ctx.fillRect(x, y, drawn, ROW - 1);
      }
      thin?.endRow(row - first);
      tops.push(y);
    }
    thin?.paint(this.own, tops, ROW - 1);
  }

  /** Frames around matches: four thin rectangles each, which is faster than a path of thousands. */
  private drawOutlines(look: Look, first: number, last: number): void {
    const { ctx, layout, matches } = this;
    if (!matches) return;
    ctx.fillStyle = look.palette.accent;
    for (let row = first; row <= last; row++) {
      const y = this.rowTop(row);
      const end = layout.rowEnd(row);
      for (let k = layout.rowBegin(row); k < end; k++) {
        const i = layout.inRow(k);
        const w = layout.w[i] - 1;
        if (w < 2 || !matches.hit[layout.node[i]] || layout.isSliver(i)) continue;
        const x = layout.x[i];
        ctx.fillRect(x, y, w, 1);
        ctx.fillRect(x, y + ROW - 2, w, 1);
        ctx.fillRect(x, y + 1, 1, ROW - 3);
        ctx.fillRect(x + w - 1, y + 1, 1, ROW - 3);
      }
    }
  }

  private drawLabels(tree: Tree, look: Look, first: number, last: number): void {
    const { ctx, layout } = this;
    const { palette } = look;
    this.own.font = ctx.font = FONT; // texts are measured on the page's canvas
    ctx.textBaseline = "middle";
    this.fitter ??= new TextFitter((s) => this.own.measureText(s).width);
    let color = "";
    for (let row = first; row <= last; row++) {
      const y = this.rowTop(row) + (ROW - 1) / 2 + 0.5;
      const end = layout.rowEnd(row);
      for (let k = layout.rowBegin(row); k < end; k++) {
        const i = layout.inRow(k);
        const w = layout.w[i];
        if (w < MIN_LABEL || layout.isSliver(i)) continue;
        const node = layout.node[i];
        const text = this.fitter.fit(this.labelOf(tree.fns.name[tree.fn[node]]), w - 2 * PAD + 1);
        if (text === "") continue;
        const dim =
          tree.depth[node] < tree.depth[this.zoom] ||
          this.isDim(tree, look, node) ||
          (!look.diff && look.classes.of(tree.fn[node]) === CLASS_UNKNOWN);
        const next = dim ? palette.dimText : palette.text;
        if (next !== color) ctx.fillStyle = color = next;
        ctx.fillText(text, layout.x[i] + PAD, y);
      }
    }
  }
}
