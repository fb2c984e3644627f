// A small curve of the cores of an application. It has no scale: the figure is beside it.

import { sparkPaths } from "../../model/applications";

const WIDTH = 96;
const HEIGHT = 20;

export function Sparkline({ values }: { values: (number | null)[] | undefined }) {
  if (!values) return null;
  const { line, area } = sparkPaths(values, WIDTH, HEIGHT);
  return (
    <svg
      class="spark"
      width={WIDTH}
      height={HEIGHT}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      aria-hidden="true"
    >
      <path class="spark-area" d={area} />
      <path d={line} />
    </svg>
  );
}
