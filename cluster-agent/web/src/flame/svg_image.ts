// The flame graph as SVG. A surface that writes elements takes the place of the canvas, so that the
// same code draws the flame graph on the screen and in the file.

import { nodeName } from "../model/tree";
import { FONT, ROW, type FlameCanvas, type Surface } from "./flame_canvas";
import { boxTitle } from "./image_titles";

const digits = (v: number): string => String(Math.round(v * 100) / 100);

/** Text for XML, whatever bytes a function name has. */
function xmlText(text: string): string {
  return (
    text
      // what XML 1.0 does not allow, not even escaped; halves of surrogate pairs as well
      // eslint-disable-next-line no-control-regex
      .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd")
      .replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "\ufffd")
      .replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`)
  );
}

/** An element that is not closed yet. */
const rect = (x: number, y: number, w: number, h: number): string =>
  `<rect x="${digits(x)}" y="${digits(y)}" width="${digits(w)}" height="${digits(h)}"`;

class SvgSurface implements Surface {
  fillStyle: Surface["fillStyle"] = "";
  font = "";
  textBaseline: CanvasTextBaseline = "middle";
  readonly elements: string[] = [];

  setTransform(): void {}
  private get fill(): string {
    return `fill="${typeof this.fillStyle === "string" ? this.fillStyle : "url(#hatch)"}"`;
  }
  fillRect(x: number, y: number, w: number, h: number): void {
    this.elements.push(`${rect(x, y, w, h)} ${this.fill}/>`);
  }
  fillText(text: string, x: number, y: number): void {
    const at = `x="${digits(x)}" y="${digits(y)}" dominant-baseline="central"`;
    this.elements.push(`<text ${at} ${this.fill}>${xmlText(text)}</text>`);
  }
}

/** Invisible boxes whose titles browsers show as tooltips and screen readers read. */
function titles(view: FlameCanvas, unit: string): string {
  const { tree } = view.shown;
  const { layout } = view;
  const out: string[] = [];
  for (let i = 0; tree && i < layout.count; i++) {
    const title = xmlText(boxTitle(tree, layout.node[i], layout.last[i], unit));
    const box = rect(layout.x[i], view.rowTop(layout.row[i]), Math.max(layout.w[i], 0.5), ROW - 1);
    out.push(`${box}><title>${title}</title></rect>`);
  }
  return out.join("\n");
}

export const HEAD = 28; // px above the graph in an image: the line that says what it shows

export function headOf(view: FlameCanvas, caption: string): string {
  const { tree, zoom } = view.shown;
  return tree && zoom > 0 ? `${caption} · zoom: ${nodeName(tree, zoom)}` : caption;
}

export function svgOf(view: FlameCanvas, caption: string, unit: string): string {
  const svg = new SvgSurface();
  let boxes = "";
  view.drawWhole(svg, () => {
    boxes = titles(view, unit);
  });
  const { width, palette: p } = view.shown;
  if (!p) throw new Error("nothing is drawn yet");
  const height = view.contentHeight + HEAD;
  const head = xmlText(headOf(view, caption));
  const family = xmlText(FONT.slice(FONT.indexOf(" ") + 1));
  return `<?xml version="1.0" encoding="UTF-8"?>
<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" \
viewBox="0 0 ${width} ${height}" font-family="${family}" font-size="12" role="img">
<title>${head}</title>
<defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse">\
<rect width="6" height="6" fill="${p.ancestor}"/><path d="M0 6L6 0" stroke="${p.hatch}"/>\
</pattern></defs>
<rect width="100%" height="100%" fill="${p.ground}"/>
<text x="6" y="${HEAD / 2}" dominant-baseline="central" fill="${p.text}">${head}</text>
<g transform="translate(0 ${HEAD})">
${svg.elements.join("\n")}
<g fill="transparent">
${boxes}
</g>
</g>
</svg>
`;
}
