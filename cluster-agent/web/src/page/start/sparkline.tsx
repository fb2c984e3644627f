// A small curve of the cores of an application. It has no scale: the figure is beside it.

import { sparkPaths } from "../../model/applications";

const WIDTH = 96;
const HEIGHT = 20;

interface Props {
  values: (number | null)[] | undefined;
  width?: number;
  height?: number;
  wide?: boolean; // as wide as there is room
}

export function Sparkline({ values, width = WIDTH, height = HEIGHT, wide }: Props) {
  if (!values) return null;
  const { line, area } = sparkPaths(values, width, height);
  return (
    <svg
      class="spark"
      width={wide ? "100%" : width}
      height={height}
      preserveAspectRatio={wide ? "none" : undefined}
      viewBox={`0 0 ${width} ${height}`}
      aria-hidden="true"
    >
      <path class="spark-area" d={area} />
      <path d={line} />
    </svg>
  );
}
