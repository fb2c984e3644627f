// Frames that are narrower than a few pixels, drawn by pixels instead of as rectangles. A large
// profile has thousands of them, and the canvas would take longer for them than for everything else
// that the page does in a frame.
//
// All frames of a row look alike from top to bottom. So each row is composed in one line of pixels,
// as the canvas composes rectangles with smooth edges: each covers its share of a pixel. Then
// all lines go into a small image, from which each is drawn as high as a row.

/** Components of "#rrggbb"; null for any other style. */
function componentsOf(style: string | CanvasPattern): number[] | null {
  if (typeof style !== "string" || !/^#[0-9a-f]{6}$/i.test(style)) return null;
  const v = parseInt(style.slice(1), 16);
  return [v >> 16, (v >> 8) & 255, v & 255];
}

const SHIFT = 8;
const ONE = 1 << SHIFT;

export class ThinFrames {
  private canvas = document.createElement("canvas");
  private image: ImageData | null = null;
  // Red, green, blue and opacity of each pixel, in units of 1/ONE. Whole numbers, because until the
  // browser has compiled a loop, each fraction in it is an object.
  private line = new Int32Array(0);
  private ratio = 1;
  private from = 0; // pixels of the line that are in use
  private to = 0;
  private components = new Map<string | CanvasPattern, number[] | null>();

  /** Begins a drawing of this width, in CSS pixels. */
  begin(width: number, rows: number, ratio: number): void {
    const w = Math.max(1, Math.round(width * ratio));
    const h = Math.max(1, rows);
    this.ratio = ratio;
    if (this.image?.width === w && this.image.height === h) this.image.data.fill(0);
    else {
      this.canvas.width = w;
      this.canvas.height = h;
      this.image = new ImageData(w, h);
      this.line = new Int32Array(4 * w);
    }
    this.from = w;
    this.to = 0;
  }

  /** Adds a frame to the current row; false if it has to be drawn in another way. */
  add(x: number, w: number, style: string | CanvasPattern): boolean {
    let color = this.components.get(style);
    if (color === undefined) this.components.set(style, (color = componentsOf(style)));
    if (color === null) return false;
    const { line, ratio } = this;
    const [red, green, blue] = color;
    const left = Math.max(0, Math.round(x * ratio * ONE));
    const right = Math.min((line.length / 4) * ONE, Math.round((x + w) * ratio * ONE));
    const first = left >> SHIFT;
    const end = (right + ONE - 1) >> SHIFT;
    for (let p = first; p < end; p++) {
      const covered = Math.min(right, (p + 1) * ONE) - Math.max(left, p * ONE);
      const kept = ONE - covered;
      const at = 4 * p;
      line[at] = ((line[at] * kept) >> SHIFT) + red * covered;
      line[at + 1] = ((line[at + 1] * kept) >> SHIFT) + green * covered;
      line[at + 2] = ((line[at + 2] * kept) >> SHIFT) + blue * covered;
      line[at + 3] = ((line[at + 3] * kept) >> SHIFT) + 255 * covered;
    }
    if (first < this.from) this.from = first;
    if (end > this.to) this.to = end;
    return true;
  }

  /** Ends the row, which is the nth of the image. */
  endRow(n: number): void {
    const { image, line } = this;
    if (!image) return;
    const { data } = image;
    let at = 4 * (n * image.width + this.from);
    for (let p = 4 * this.from; p < 4 * this.to; p += 4, at += 4) {
      const opacity = line[p + 3];
      if (opacity === 0) continue;
      data[at] = (255 * line[p]) / opacity;
      data[at + 1] = (255 * line[p + 1]) / opacity;
      data[at + 2] = (255 * line[p + 2]) / opacity;
      data[at + 3] = opacity / ONE;
    }
    line.fill(0, 4 * this.from, 4 * this.to);
    this.from = image.width;
    this.to = 0;
  }

  /** Draws row n of the image at y, in CSS pixels. */
  paint(ctx: CanvasRenderingContext2D, tops: number[], height: number): void {
    const { canvas, image } = this;
    const own = canvas.getContext("2d");
    if (!image || !own) return;
    own.putImageData(image, 0, 0);
    ctx.imageSmoothingEnabled = false;
    const width = image.width / this.ratio;
    tops.forEach((y, n) => ctx.drawImage(canvas, 0, n, image.width, 1, 0, y, width, height));
  }
}
