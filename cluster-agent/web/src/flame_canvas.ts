// Draws a layout on a canvas. Knows pixels and colours, no events and no components.

import { CLASS_ROOT, CLASS_UNKNOWN, colorClass, type Palette } from "./colors";
import { Layout } from "./layout";
import { shortName } from "./names";
import type { Matches } from "./search";
import { TextFitter } from "./text_fit";
import type { Tree } from "./tree";
import type { ColorBy } from "./url_state";

export const ROW = 19; // px, of which one is the gap
const FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';
const MIN_LABEL = 22;
const PAD = 5;

export class FlameCanvas {
  readonly layout = new Layout();
  private tree: Tree | null = null;
  private zoom = 0;
  private width = 0;
  private height = 0;
  private classes = new Uint8Array(0);
  private labels: string[] = [];
  private colorBy: ColorBy | "" = "";
  private fitter: TextFitter | null = null;
  private ctx: CanvasRenderingContext2D;

  palette!: Palette;
  matches: Matches | null = null;
  cursor = -1; // node with the outline
  scrollTop = 0;

  constructor(private canvas: HTMLCanvasElement) {
    const ctx = canvas.getContext("2d", { alpha: false });
    if (!ctx) throw new Error("this browser has no canvas");
    this.ctx = ctx;
  }

  show(tree: Tree, zoom: number, colorBy: ColorBy): void {
    if (tree !== this.tree) this.labels = tree.names.map(shortName);
    if (tree !== this.tree || colorBy !== this.colorBy) this.classify(tree, colorBy);
    this.tree = tree;
    this.colorBy = colorBy;
    this.zoom = zoom;
    this.layout.compute(tree, zoom, this.width);
  }

  private classify(t: Tree, by: ColorBy): void {
    const known = new Map<number, number>();
    this.classes = new Uint8Array(t.n);
    for (let i = 0; i < t.n; i++) {
      const pair = t.name[i] * t.files.length + t.file[i];
      let c = known.get(pair);
      if (c === undefined) {
        c = colorClass(t.names[t.name[i]], t.files[t.file[i]], by);
        known.set(pair, c);
      }
      this.classes[i] = c;
    }
    if (t.n > 0) this.classes[0] = CLASS_ROOT;
  }

  resize(width: number, height: number): void {
    const ratio = devicePixelRatio || 1;
    this.width = width;
    this.height = height;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    if (this.tree) this.layout.compute(this.tree, this.zoom, width);
  }

  get contentHeight(): number {
    return this.layout.rows * ROW;
  }

  /** Rectangle under a point of the canvas, -1 for none. */
  hit(x: number, y: number): number {
    return this.layout.at(Math.floor((y + this.scrollTop) / ROW), x);
  }

  draw(): void {
    const { ctx, tree } = this;
    if (!tree || this.width === 0) return;
    const ratio = devicePixelRatio || 1;
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.fillStyle = this.palette.ground;
    ctx.fillRect(0, 0, this.width, this.height);
    const first = Math.floor(this.scrollTop / ROW);
    const last = Math.ceil((this.scrollTop + this.height) / ROW);
    this.drawBoxes(tree, first, last);
    this.drawLabels(tree, first, last);
    this.drawCursor();
  }

  private colorOf(tree: Tree, i: number): string {
    const node = this.layout.node[i];
    const p = this.palette;
    if (this.layout.isSliver(i)) {
      const m = this.matches;
      return m && m.before[this.layout.last[i]] > m.before[node] ? p.accent : p.sliver;
    }
    if (tree.depth[node] < tree.depth[this.zoom]) return p.ancestor;
    const c = this.classes[node];
    return this.matches && !this.matches.hit[node] ? p.dim[c] : p.fill[c];
  }

  private drawBoxes(tree: Tree, first: number, last: number): void {
    const { ctx, layout } = this;
    let color = "";
    let outlines = false;
    ctx.beginPath();
    for (let i = 0; i < layout.count; i++) {
      const row = layout.row[i];
      if (row < first || row > last) continue;
      const next = this.colorOf(tree, i);
      if (next !== color) ctx.fillStyle = color = next;
      const x = layout.x[i];
      const w = layout.w[i];
      const y = row * ROW - this.scrollTop;
      // frames of a few pixels keep a gap as well, a smaller one
      ctx.fillRect(x, y, w >= 3 ? w - 1 : Math.max(w * 0.75, 0.5), ROW - 1);
      if (w >= 3 && this.matches?.hit[layout.node[i]] && !layout.isSliver(i)) {
        ctx.rect(x + 0.5, y + 0.5, w - 2, ROW - 2);
        outlines = true;
      }
    }
    if (!outlines) return;
    ctx.strokeStyle = this.palette.accent;
    ctx.lineWidth = 1;
    ctx.stroke();
  }

  private drawLabels(tree: Tree, first: number, last: number): void {
    const { ctx, layout, palette } = this;
    ctx.font = FONT;
    ctx.textBaseline = "middle";
    this.fitter ??= new TextFitter((s) => ctx.measureText(s).width);
    let color = "";
    for (let i = 0; i < layout.count; i++) {
      const w = layout.w[i];
      const row = layout.row[i];
      if (w < MIN_LABEL || row < first || row > last || layout.isSliver(i)) continue;
      const node = layout.node[i];
      const text = this.fitter.fit(this.labels[tree.name[node]], w - 2 * PAD + 1);
      if (text === "") continue;
      const dim =
        tree.depth[node] < tree.depth[this.zoom] ||
        (this.matches !== null && !this.matches.hit[node]) ||
        this.classes[node] === CLASS_UNKNOWN;
      const next = dim ? palette.dimText : palette.text;
      if (next !== color) ctx.fillStyle = color = next;
      ctx.fillText(text, layout.x[i] + PAD, row * ROW - this.scrollTop + (ROW - 1) / 2 + 0.5);
    }
  }

  private drawCursor(): void {
    if (this.cursor < 0) return;
    const { layout, ctx } = this;
    for (let i = 0; i < layout.count; i++) {
      if (layout.node[i] !== this.cursor) continue;
      ctx.strokeStyle = this.palette.outline;
      ctx.lineWidth = 1.5;
      const y = layout.row[i] * ROW - this.scrollTop;
      ctx.strokeRect(layout.x[i] + 0.75, y + 0.75, Math.max(layout.w[i] - 2.5, 1), ROW - 2.5);
      return;
    }
  }
}
