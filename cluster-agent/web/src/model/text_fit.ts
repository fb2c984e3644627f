// Text that fits a width. Widths of characters are measured once, because asking the canvas for
// every frame is slow.

export type Measure = (text: string) => number;

export class TextFitter {
  private widths = new Float64Array(0x250).fill(-1);
  private ellipsis: number;

  constructor(private measure: Measure) {
    this.ellipsis = measure("…");
  }

  private charWidth(code: number): number {
    if (code >= this.widths.length) return this.measure(String.fromCharCode(code));
    let w = this.widths[code];
    if (w < 0) {
      w = this.measure(String.fromCharCode(code));
      this.widths[code] = w;
    }
    return w;
  }

  /** The text, its beginning with `…`, or "" when not even two characters fit. */
  fit(text: string, width: number): string {
    let used = 0;
    let cut = 0; // characters that fit together with the ellipsis
    for (let i = 0; i < text.length; i++) {
      used += this.charWidth(text.charCodeAt(i));
      if (used + this.ellipsis <= width) cut = i + 1;
      if (used > width) {
        // not between the halves of one character
        if (text.charCodeAt(cut - 1) >> 10 === 0x36) cut--;
        return cut >= 2 ? `${text.slice(0, cut)}…` : "";
      }
    }
    return text;
  }
}
