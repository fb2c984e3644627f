// The flame graph as an image that is readable on its own: all rows of the present zoom, search
// and colours below a line that says what it shows.

import { Cell } from "../state/cell";
import { FONT, ROW, type FlameCanvas } from "./flame_canvas";
import { SvgContext, xmlText } from "./svg_context";
import { nodeName } from "../model/tree";
import { boxTitle } from "./image_titles";

const HEAD = 28; // px above the graph
const MAX_PIXELS = 16_000; // of a side: browsers refuse larger canvases

/** What is drawn now, null while no flame graph is in sight. */
export const drawnFlame = new Cell<FlameCanvas | null>(null);

function headOf(view: FlameCanvas, caption: string): string {
  const { tree, zoom } = view.shown;
  if (!tree) return caption;
  return zoom > 0 ? `${caption} · zoom: ${nodeName(tree, zoom)}` : caption;
}

/** Invisible boxes whose titles browsers show as tooltips and screen readers read. */
function titles(view: FlameCanvas, unit: string): string {
  const { tree } = view.shown;
  const { layout } = view;
  const out: string[] = [];
  for (let i = 0; tree && i < layout.count; i++) {
    const width = Math.max(layout.w[i], 0.5).toFixed(2);
    const title = xmlText(boxTitle(tree, layout.node[i], layout.last[i], unit));
    out.push(
      `<rect x="${layout.x[i].toFixed(2)}" y="${view.rowTop(layout.row[i])}" width="${width}" ` +
        `height="${ROW - 1}"><title>${title}</title></rect>`,
    );
  }
  return out.join("\n");
}

export function svgOf(view: FlameCanvas, caption: string, unit: string): string {
  const real = document.createElement("canvas").getContext("2d");
  if (!real) throw new Error("this browser has no canvas");
  const svg = new SvgContext(real, "url(#hatch)");
  let boxes = "";
  view.drawWhole(svg as unknown as CanvasRenderingContext2D, () => {
    boxes = titles(view, unit);
  });
  const { width, palette: p } = view.shown;
  if (!p) throw new Error("nothing is drawn yet");
  const height = view.contentHeight;
  const head = xmlText(headOf(view, caption));
  const family = xmlText(FONT.slice(FONT.indexOf(" ") + 1));
  return `<?xml version="1.0" encoding="UTF-8"?>
<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height + HEAD}" \
viewBox="0 0 ${width} ${height + HEAD}" font-family="${family}" font-size="12" role="img">
<title>${head}</title>
<defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse">\
<rect width="6" height="6" fill="${p.ancestor}"/><path d="M0 6L6 0" stroke="${p.hatch}"/>\
</pattern></defs>
<rect width="100%" height="100%" fill="${p.ground}"/>
<text x="6" y="${HEAD / 2}" dominant-baseline="central" fill="${p.text}">${head}</text>
<g transform="translate(0 ${HEAD})">
${svg.text}
<g fill="transparent">
${boxes}
</g>
</g>
</svg>
`;
}

export function pngOf(view: FlameCanvas, caption: string): Promise<Blob> {
  const { width, palette } = view.shown;
  if (!palette) throw new Error("nothing is drawn yet");
  const ratio = devicePixelRatio || 1;
  const height = Math.min(view.contentHeight, Math.floor(MAX_PIXELS / ratio) - HEAD);
  const make = (rows: number): [HTMLCanvasElement, CanvasRenderingContext2D] => {
    const canvas = document.createElement("canvas");
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(rows * ratio);
    const ctx = canvas.getContext("2d", { alpha: false });
    if (!ctx) throw new Error("this browser has no canvas");
    return [canvas, ctx];
  };
  const [graph, graphCtx] = make(height);
  view.drawWhole(graphCtx);
  const [canvas, ctx] = make(height + HEAD);
  ctx.fillStyle = palette.ground;
  ctx.fillRect(0, 0, canvas.width, canvas.height);
  ctx.drawImage(graph, 0, Math.round(HEAD * ratio));
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  ctx.font = FONT;
  ctx.textBaseline = "middle";
  ctx.fillStyle = palette.text;
  ctx.fillText(headOf(view, caption), 6, HEAD / 2);
  return new Promise((done, fail) =>
    canvas.toBlob((b) => (b ? done(b) : fail(new Error("the image is too large"))), "image/png"),
  );
}
