// A canvas context that writes SVG, so that the same code draws the flame graph on the screen and
// in exported files. It implements only the methods that this code uses.

const digits = (v: number): string => String(Math.round(v * 100) / 100);

/** Text for XML, whatever bytes a function name has. */
export function xmlText(text: string): string {
  return (
    text
      // what XML 1.0 does not allow, not even escaped; halves of surrogate pairs as well
      // eslint-disable-next-line no-control-regex
      .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd")
      .replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "\ufffd")
      .replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`)
  );
}

type Paint = string | CanvasGradient | CanvasPattern;

export class SvgContext {
  fillStyle: Paint = "#000";
  strokeStyle: Paint = "#000";
  lineWidth = 1;
  globalAlpha = 1;
  font = "";
  textBaseline = "alphabetic";
  textAlign = "start";
  private out: string[] = [];
  private path: string[] = [];

  /** `real` measures texts; `hatch` replaces patterns. */
  constructor(
    private real: CanvasRenderingContext2D,
    private hatch: string,
  ) {}

  private paint(p: Paint): string {
    const color = typeof p === "string" ? p : this.hatch;
    return this.globalAlpha < 1 ? `${color}" opacity="${digits(this.globalAlpha)}` : color;
  }
  fillRect(x: number, y: number, w: number, h: number): void {
    this.out.push(
      `<rect x="${digits(x)}" y="${digits(y)}" width="${digits(w)}" height="${digits(h)}" ` +
        `fill="${this.paint(this.fillStyle)}"/>`,
    );
  }
  strokeRect(x: number, y: number, w: number, h: number): void {
    this.beginPath();
    this.rect(x, y, w, h);
    this.stroke();
  }
  beginPath(): void {
    this.path = [];
  }
  rect(x: number, y: number, w: number, h: number): void {
    this.path.push(`M${digits(x)} ${digits(y)}h${digits(w)}v${digits(h)}h${digits(-w)}z`);
  }
  moveTo(x: number, y: number): void {
    this.path.push(`M${digits(x)} ${digits(y)}`);
  }
  lineTo(x: number, y: number): void {
    this.path.push(`L${digits(x)} ${digits(y)}`);
  }
  closePath(): void {
    this.path.push("z");
  }
  private drawPath(attributes: string): void {
    if (this.path.length > 0) this.out.push(`<path d="${this.path.join("")}" ${attributes}/>`);
  }
  stroke(): void {
    this.drawPath(
      `fill="none" stroke="${this.paint(this.strokeStyle)}" stroke-width="${this.lineWidth}"`,
    );
  }
  fill(): void {
    this.drawPath(`fill="${this.paint(this.fillStyle)}"`);
  }
  fillText(text: string, x: number, y: number): void {
    const middle = this.textBaseline === "middle" ? ' dominant-baseline="central"' : "";
    this.out.push(
      `<text x="${digits(x)}" y="${digits(y)}"${middle} fill="${this.paint(this.fillStyle)}">` +
        `${xmlText(text)}</text>`,
    );
  }
  measureText(text: string): TextMetrics {
    this.real.font = this.font;
    return this.real.measureText(text);
  }
  createPattern(image: CanvasImageSource, repetition: string): CanvasPattern | null {
    return this.real.createPattern(image, repetition);
  }
  save(): void {}
  restore(): void {}
  clip(): void {}
  setTransform(): void {}
  setLineDash(): void {}

  get text(): string {
    return this.out.join("\n");
  }
}
