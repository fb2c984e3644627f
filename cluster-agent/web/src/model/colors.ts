// Colours of frames. All packages have the same lightness and chroma, so that none stands out.
// hues.ts decides which package has which hue.

import { KERNEL, moduleOf, packageOf, type FilePackages } from "./names";
import type { ColorBy } from "./url_state";

function gamma(c: number): number {
  const v = c <= 0.0031308 ? 12.92 * c : 1.055 * Math.pow(c, 1 / 2.4) - 0.055;
  return Math.round(Math.min(1, Math.max(0, v)) * 255);
}

/** OKLCH → sRGB bytes, after Björn Ottosson's definition of Oklab. Out of gamut is clipped. */
export function oklch(lightness: number, chroma: number, hue: number): [number, number, number] {
  const h = (hue * Math.PI) / 180;
  const a = chroma * Math.cos(h);
  const b = chroma * Math.sin(h);
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    gamma(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
    gamma(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
    gamma(-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s),
  ];
}

export const hex = (c: readonly number[]): string =>
  `#${c.map((v) => v.toString(16).padStart(2, "0")).join("")}`;

function mix(a: readonly number[], b: readonly number[], share: number): number[] {
  return a.map((v, i) => Math.round(v * share + b[i] * (1 - share)));
}

export function hash(text: string): number {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  h ^= h >>> 15; // FNV's low bits alone are poor for short names
  h = Math.imul(h, 0x2c1b3c6d);
  return (h ^ (h >>> 13)) >>> 0;
}

export const HUES = 12;
// classes 0..11 are hues; the rest are greys
export const CLASS_KERNEL = HUES;
export const CLASS_UNKNOWN = HUES + 1;
export const CLASS_ROOT = HUES + 2;
export const CLASSES = HUES + 3;

/**
 * What frames are coloured by: a package or a module; "" for those that are always grey. `known` as
 * in packageOf().
 */
export function colorKey(name: string, file: string, by: ColorBy, known?: FilePackages): string {
  if (file === KERNEL) return "";
  if (file === "" && (name === "other" || name.startsWith("["))) return "";
  return by === "module" ? moduleOf(name, file) : packageOf(name, file, known);
}

/** The grey of a frame without a key. */
export const greyClass = (file: string): number => (file === KERNEL ? CLASS_KERNEL : CLASS_UNKNOWN);

export interface Palette {
  fill: string[]; // by class
  dim: string[]; // the same behind a search or a zoom
  text: string;
  dimText: string;
  sliver: string;
  ground: string;
  accent: string;
  outline: string; // of the frame under the cursor
  ancestor: string;
  hatch: string; // lines of frames that stand for what was left out
}

function build(dark: boolean): Palette {
  const ground = dark ? [20, 23, 27] : [255, 255, 255];
  const colors: number[][] = [];
  for (let i = 0; i < HUES; i++)
    colors.push(dark ? oklch(0.46, 0.075, i * 30 + 15) : oklch(0.86, 0.068, i * 30 + 15));
  colors.push(dark ? oklch(0.42, 0.012, 255) : oklch(0.86, 0.012, 255)); // kernel
  colors.push(dark ? oklch(0.34, 0.006, 255) : oklch(0.9, 0.004, 255)); // unknown
  colors.push(dark ? oklch(0.29, 0.006, 255) : oklch(0.93, 0.002, 255)); // root
  return {
    fill: colors.map(hex),
    dim: colors.map((c) => hex(mix(c, ground, dark ? 0.45 : 0.4))),
    text: dark ? "#e8eaed" : "#1b1f24",
    dimText: dark ? "#a3aab4" : "#5c636d",
    sliver: dark ? "#33383f" : "#d9dce0",
    ground: hex(ground),
    accent: dark ? "#7ea2ff" : "#2962d9",
    outline: dark ? "#ffffff" : "#1b1f24",
    ancestor: dark ? "#23272d" : "#f0f1f3",
    hatch: dark ? "#454d57" : "#bfc5cc",
  };
}

export const palettes = { light: build(false), dark: build(true) };
