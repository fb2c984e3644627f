// Which rectangles of a tree are wide enough to be seen, for one zoom and one width.
// The arrays are kept between calls: drawing while the mouse moves allocates nothing.

import type { Tree } from "./tree";

export const MIN_WIDTH = 0.5; // px; narrower siblings become one sliver

export class Layout {
  count = 0;
  rows = 0; // rows in use
  node = new Int32Array(0); // first node of the rectangle
  last = new Int32Array(0); // sliver: node behind its last subtree; frame: 0
  row = new Int32Array(0);
  x = new Float64Array(0);
  w = new Float64Array(0);
  private cursor = new Float64Array(0); // left edge of the next node by depth, as a value
  private rowStart = new Int32Array(1);
  private byRow = new Int32Array(0);

  isSliver(i: number): boolean {
    return this.last[i] !== 0;
  }

  private push(node: number, last: number, row: number, x: number, w: number): void {
    const i = this.count++;
    if (i === this.node.length) this.grow();
    this.node[i] = node;
    this.last[i] = last;
    this.row[i] = row;
    this.x[i] = x;
    this.w[i] = w;
  }

  // most nodes of a large tree are too narrow for a rectangle of their own
  private grow(): void {
    const n = Math.max(4096, this.node.length * 2);
    const int = (old: Int32Array): Int32Array<ArrayBuffer> => {
      const next = new Int32Array(n);
      next.set(old);
      return next;
    };
    const float = (old: Float64Array): Float64Array<ArrayBuffer> => {
      const next = new Float64Array(n);
      next.set(old);
      return next;
    };
    this.node = int(this.node);
    this.last = int(this.last);
    this.row = int(this.row);
    this.x = float(this.x);
    this.w = float(this.w);
    this.byRow = new Int32Array(n);
  }

  /** Ancestors of `zoom` fill their rows; its subtree is spread over `width` pixels. */
  compute(t: Tree, zoom: number, width: number): void {
    this.count = 0;
    for (let a = t.parent[zoom]; a >= 0; a = t.parent[a]) this.push(a, 0, t.depth[a], 0, width);
    const scale = t.width[zoom] > 0 ? width / t.width[zoom] : 0;
    const end = t.end[zoom];
    if (this.cursor.length < t.maxDepth + 2) this.cursor = new Float64Array(t.maxDepth + 2);
    const { cursor } = this;
    cursor[t.depth[zoom]] = 0;
    let i = zoom;
    while (i < end) {
      const depth = t.depth[i];
      const left = cursor[depth];
      const w = i === zoom ? width : t.width[i] * scale;
      if (w >= MIN_WIDTH) {
        this.push(i, 0, depth, left * scale, w);
        cursor[depth] = left + t.width[i];
        cursor[depth + 1] = left;
        i++;
        continue;
      }
      // all narrow siblings that follow one another
      let k = t.end[i];
      let sum = t.width[i];
      while (k < end && t.depth[k] === depth && t.width[k] * scale < MIN_WIDTH) {
        sum += t.width[k];
        k = t.end[k];
      }
      this.push(i, k, depth, left * scale, sum * scale);
      cursor[depth] = left + sum;
      i = k;
    }
    this.index();
  }

  // counting sort by row; in a row the order of the tree is the order from left to right
  private index(): void {
    let rows = 0;
    for (let i = 0; i < this.count; i++) if (this.row[i] >= rows) rows = this.row[i] + 1;
    this.rows = rows;
    if (this.rowStart.length < rows + 2) this.rowStart = new Int32Array(rows * 2 + 2);
    const start = this.rowStart.fill(0);
    for (let i = 0; i < this.count; i++) start[this.row[i] + 2]++;
    for (let r = 2; r < rows + 2; r++) start[r] += start[r - 1];
    for (let i = 0; i < this.count; i++) this.byRow[start[this.row[i] + 1]++] = i;
  }

  /** Rectangle at this point, -1 for none. `slack` px help to hit narrow ones. */
  at(row: number, x: number, slack = 1): number {
    if (row < 0 || row >= this.rows) return -1;
    let lo = this.rowStart[row];
    let hi = this.rowStart[row + 1];
    const first = lo;
    while (lo < hi) {
      const mid = (lo + hi) >> 1;
      if (this.x[this.byRow[mid]] <= x) lo = mid + 1;
      else hi = mid;
    }
    if (lo > first) {
      const i = this.byRow[lo - 1];
      if (x < this.x[i] + Math.max(this.w[i], slack)) return i;
    }
    if (lo < this.rowStart[row + 1] && this.x[this.byRow[lo]] - x < slack) return this.byRow[lo];
    return -1;
  }

  // Rectangles of one row are inRow(rowBegin(row)) … inRow(rowEnd(row) - 1), from left to right.
  rowBegin(row: number): number {
    return this.rowStart[row];
  }
  rowEnd(row: number): number {
    return this.rowStart[row + 1];
  }
  inRow(k: number): number {
    return this.byRow[k];
  }

  /** Rectangles of one row, from left to right. */
  rowItems(row: number): Int32Array {
    if (row < 0 || row >= this.rows) return this.byRow.subarray(0, 0);
    return this.byRow.subarray(this.rowStart[row], this.rowStart[row + 1]);
  }

  /** Rectangle that begins with this node, a frame or a sliver; -1 when it is not on screen. */
  findRect(node: number): number {
    for (let i = 0; i < this.count; i++) if (this.node[i] === node) return i;
    return -1;
  }

  /** Rectangle of a node drawn as a frame of its own, -1 when it is not on screen. */
  find(node: number): number {
    for (let i = 0; i < this.count; i++) if (this.node[i] === node && this.last[i] === 0) return i;
    return -1;
  }
}
