// The list of all applications below the name in the header.

import { useMemo, useRef, useState } from "preact/hooks";
import { choose, filterWords } from "../../model/applications";
import type { Application } from "../../model/applications";
import { useVirtual } from "../../state/virtual";
import { FilterField } from "../parts/filter_field";
import { coresColumn, ServiceName } from "../parts/service_name";

const ROW = 30; // px, as in start.css

interface Props {
  applications: Application[];
  current: string;
  pick: (service: string) => void;
  onTargets: () => void;
}

export function ApplicationPicker({ applications, current, pick, onTargets }: Props) {
  const [filter, setFilter] = useState("");
  const scroller = useRef<HTMLDivElement>(null);
  const shown = useMemo(
    () => choose(applications, filterWords(filter), ""),
    [applications, filter],
  );
  const visible = useVirtual(scroller, shown.length, ROW);
  return (
    <div class="picker">
      <FilterField
        what="Filter applications"
        testId="picker-filter"
        autofocus
        value={filter}
        set={(text) => {
          setFilter(text);
          if (scroller.current) scroller.current.scrollTop = 0;
        }}
        onEnter={() => shown.length > 0 && pick(shown[0].service)}
      />
      <button
        type="button"
        class={current === "" ? "item checked" : "item"}
        aria-pressed={current === ""}
        data-testid="picker-all"
        onClick={() => pick("")}
      >
        <span>All applications</span>
        <span class="num dim">{applications.length}</span>
      </button>
      <button type="button" class="item" data-testid="picker-targets" onClick={onTargets}>
        Targets
      </button>
      <div
        class="scroll picker-rows"
        ref={scroller}
        role="listbox"
        aria-label="Applications"
        onScroll={visible.onScroll}
      >
        <div class="spacer" style={{ height: `${visible.above}px` }} />
        {shown.slice(visible.from, visible.to).map((a, i) => (
          <button
            type="button"
            key={a.service}
            class={a.service === current ? "item checked" : "item"}
            role="option"
            aria-selected={a.service === current}
            aria-setsize={shown.length}
            aria-posinset={visible.from + i + 1}
            title={a.service}
            data-testid="picker-item"
            onClick={() => pick(a.service)}
          >
            <ServiceName service={a.service} />
            <span class="num dim">{a.cores === null ? "" : coresColumn(a.cores)}</span>
          </button>
        ))}
        <div class="spacer" style={{ height: `${visible.below}px` }} />
      </div>
      {shown.length === 0 && <div class="note">No application matches</div>}
    </div>
  );
}
