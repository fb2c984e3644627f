// How well two colours can be told apart, by the formula of WCAG 2.

function linear(byte: number): number {
  const c = byte / 255;
  return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
}

/** Relative luminance of "#rrggbb", 0 … 1. */
export function luminance(color: string): number {
  const byte = (at: number): number => linear(parseInt(color.slice(at, at + 2), 16));
  return 0.2126 * byte(1) + 0.7152 * byte(3) + 0.0722 * byte(5);
}

/** 1 … 21; text needs 4.5. */
export function contrast(a: string, b: string): number {
  const x = luminance(a);
  const y = luminance(b);
  return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
}
