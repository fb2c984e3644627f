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
  private rowStart = new Int32Array(1);
  private byRow = new Int32Array(0);

  isSliver(i: number): boolean {
    return this.last[i] !== 0;
  }

  private push(node: number, last: number, row: number, x: number, w: number): void {
    const i = this.count++;
    this.node[i] = node;
    this.last[i] = last;
    this.row[i] = row;
    this.x[i] = x;
    this.w[i] = w;
  }

  private reserve(n: number): void {
    if (this.node.length >= n) return;
    this.node = new Int32Array(n);
    this.last = new Int32Array(n);
    this.row = new Int32Array(n);
    this.x = new Float64Array(n);
    this.w = new Float64Array(n);
    this.byRow = new Int32Array(n);
  }

  /** Ancestors of `zoom` fill their rows; its subtree is spread over `width` pixels. */
  compute(t: Tree, zoom: number, width: number): void {
    this.reserve(t.n);
    this.count = 0;
    for (let a = t.parent[zoom]; a >= 0; a = t.parent[a]) this.push(a, 0, t.depth[a], 0, width);
    const scale = t.total[zoom] > 0 ? width / t.total[zoom] : 0;
    const left = t.start[zoom];
    const end = t.end[zoom];
    let i = zoom;
    while (i < end) {
      const w = i === zoom ? width : t.total[i] * scale;
      const x = i === zoom ? 0 : (t.start[i] - left) * scale;
      if (w >= MIN_WIDTH) {
        this.push(i, 0, t.depth[i], x, w);
        i++;
        continue;
      }
      // all narrow siblings that follow one another
      let k = t.end[i];
      let sum = w;
      while (k < end && t.depth[k] === t.depth[i] && t.total[k] * scale < MIN_WIDTH) {
        sum += t.total[k] * scale;
        k = t.end[k];
      }
      this.push(i, k, t.depth[i], x, sum);
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

  /** Rectangles of one row, from left to right. */
  rowItems(row: number): Int32Array {
    if (row < 0 || row >= this.rows) return this.byRow.subarray(0, 0);
    return this.byRow.subarray(this.rowStart[row], this.rowStart[row + 1]);
  }

  /** Rectangle of a node drawn as a frame of its own, -1 when it is not on screen. */
  find(node: number): number {
    for (let i = 0; i < this.count; i++) if (this.node[i] === node && this.last[i] === 0) return i;
    return -1;
  }
}
