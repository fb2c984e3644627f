// The flame graph as an image that is readable on its own: all rows of the present zoom, search
// and colours below a line that says what it shows.

import { Cell } from "../state/cell";
import { FONT, type FlameCanvas } from "./flame_canvas";
import { HEAD, headOf, svgOf } from "./svg_image";

const MAX_PIXELS = 16_000; // of a side: browsers refuse larger canvases

/** What is drawn now, null while no flame graph is in sight. */
export const drawnFlame = new Cell<FlameCanvas | null>(null);

function pngOf(view: FlameCanvas, caption: string): Promise<Blob> {
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

export type ImageKind = "png" | "svg";

/** `unit`: of the values in titles, which SVG has. */
export async function imageOf(
  kind: ImageKind,
  view: FlameCanvas,
  caption: string,
  unit: string,
): Promise<Blob> {
  if (kind === "png") return pngOf(view, caption);
  return new Blob([svgOf(view, caption, unit)], { type: "image/svg+xml" });
}
