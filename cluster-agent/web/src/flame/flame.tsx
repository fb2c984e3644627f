// A flame graph as a part of the page: mouse, touch, keys, tooltip. The page has one, or the two of
// a sandwich.

import { ROW } from "./flame_canvas";
import { useDrawing, type FlameProps } from "./flame_drawing";
import type { FlameId } from "./flame_hook";
import { useFlameKeys } from "./flame_keys";
import { usePointerEvents, usePointing } from "./flame_pointing";
import { Tooltip } from "./tooltip";

const HELP = "Arrow keys move through the frames, Enter zooms, M opens a menu, Escape goes back";
const labels: Record<FlameId, string> = {
  flame: "Flame graph",
  callers: "Callers",
  callees: "Called functions",
};

export function Flame(p: FlameProps) {
  const drawing = useDrawing(p);
  const pointing = usePointing(p, drawing);
  const pointerEvents = usePointerEvents(p, drawing, pointing);
  const key = useFlameKeys(p, drawing, pointing.hide);
  const { view, size } = drawing;
  const { hover, hide } = pointing;
  return (
    <div class="flame">
      <div
        class="flame-scroll"
        ref={drawing.scroller}
        onScroll={(e) => {
          if (view.current?.scrollTop === e.currentTarget.scrollTop) return;
          if (view.current) view.current.scrollTop = e.currentTarget.scrollTop;
          hide();
          drawing.redraw();
        }}
      >
        <div class="flame-view" style={{ height: `${size.height}px` }}>
          <canvas
            ref={drawing.canvas}
            tabIndex={0}
            role="application"
            aria-label={`${labels[p.id]}. ${HELP}`}
            data-testid={p.id}
            style={{ width: `${size.width}px`, height: `${size.height}px` }}
            {...pointerEvents}
            onKeyDown={key}
          />
          <div class="flame-cursor" ref={drawing.outline} hidden />
        </div>
        <div style={{ height: `${Math.max(0, drawing.rows * ROW - size.height)}px` }} />
      </div>
      {hover && hover.node < p.tree.n && <Tooltip {...p} hover={hover} />}
    </div>
  );
}
