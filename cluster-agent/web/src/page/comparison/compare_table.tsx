// The function table of a comparison: baseline, now and change, of own or total values.

import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import type { FlameGraph } from "../../state/api";
import type { Navigate } from "../../state/hooks";
import { memo } from "../../state/memo";
import type { Sampling } from "../../model/chance";
import {
  changeAmount,
  changeColor,
  changePercentText,
  changeShareText,
  changeTextColor,
  changeValueText,
  type Change,
  type DiffPalette,
} from "../../model/diff";
import {
  comparedSort,
  functionChanges,
  hasChanged,
  sidesOf,
  sortChanges,
} from "../../model/functions";
import { tableText } from "../../model/table_text";
import { grouped, percentFixed, value } from "../../model/units";
import type { Changed, ComparedState, DiffBy, FunctionId } from "../../model/url_state";
import { FunctionRows, useFound, type FunctionHead, type RowLook } from "../table/function_rows";
import { GroupBar, rowTitle, type Grouping } from "../table/table_bar";
import { Segments } from "../parts/popover";

interface Props {
  graph: FlameGraph; // with a base
  state: ComparedState;
  navigate: Navigate;
  search: string;
  atLeast: boolean; // figures of a tree that was made of a cut one
  changes: DiffPalette;
  onPick: (search: string, fn: FunctionId) => void;
  onMenu: (f: FunctionId, x: number, y: number, back: HTMLElement) => void;
  grouping: Grouping;
}

const HINT = "Growth first; click again for what shrank";

const headsOf = (diff: DiffBy): FunctionHead[] => [
  { by: "name", label: "Function", title: "" },
  { by: "base", label: "Baseline", title: "Side B" },
  { by: "now", label: "Now", title: "Side A" },
  { by: "change", label: "Change", title: HINT },
  {
    by: "other",
    label: diff === "share" ? "Value" : "Share",
    title: `Change of the ${diff === "share" ? "value" : "share"}. ${HINT}`,
  },
];
const heads = { share: headsOf("share"), absolute: headsOf("absolute") };

interface Counts {
  new: number;
  gone: number;
}

function countsOf({ functions: f }: FlameGraph, sampling: Sampling | null): Counts {
  const n = { new: 0, gone: 0 };
  for (let i = 0; i < f.name.length; i++) {
    if (hasChanged(f, i, "new", sampling)) n.new++;
    else if (hasChanged(f, i, "gone", sampling)) n.gone++;
  }
  return n;
}

/** Why no row is left. */
function whyNone(changed: Changed, counts: Counts): string {
  return changed && counts[changed] === 0 ? `No function is ${changed}` : "No function matches";
}

type BarProps = Pick<Props, "state" | "navigate"> & {
  counts: Counts;
  children: ComponentChildren;
};

function Bar({ state, navigate, counts, children }: BarProps) {
  return (
    <div class="table-bar">
      <Segments
        label="Figures"
        testId="measure"
        value={state.measure}
        options={[
          { value: "self", label: "Self", title: "What each function itself used" },
          { value: "total", label: "Total", title: "With everything that it called" },
        ]}
        onChange={(m) => navigate({ measure: m }, "replace")}
      />
      <Segments<Changed | "all">
        label="Rows"
        testId="changed"
        value={state.changed || "all"}
        options={[
          { value: "all", label: "All" },
          {
            value: "new",
            label: `New ${grouped(counts.new)}`,
            title: "Not in the baseline, by more samples than chance explains",
          },
          {
            value: "gone",
            label: `Gone ${grouped(counts.gone)}`,
            title: "In the baseline only, by more samples than chance explains",
          },
        ]}
        onChange={(c) => navigate({ changed: c === "all" ? "" : c }, "replace")}
      />
      {children}
    </div>
  );
}

interface FiguresProps {
  p: Props;
  i: number;
  c: Change;
  sampling: Sampling | null;
}

/** Both sides and the change of a function. */
function Figures({ p, i, c, sampling }: FiguresProps) {
  const { graph } = p;
  const { measure, diff } = p.state;
  const f = graph.functions;
  const side = (v: number, total: number, tag: "new" | "gone") => (
    <td class="num">
      {hasChanged(f, i, tag, sampling) ? (
        <span class="change-tag">{tag}</span>
      ) : (
        (p.atLeast ? "≥ " : "") + (diff === "share" ? percentFixed(v, total) : value(v, graph.unit))
      )}
    </td>
  );
  const base = measure === "self" ? f.baseSelf : f.baseTotal;
  return (
    <>
      {side(base?.[i] ?? 0, graph.base?.total ?? 0, "new")}
      {side(f[measure][i], graph.total, "gone")}
      <ChangeCell c={c} unit={graph.unit} mode={diff} palette={p.changes} />
      <td class="num dim" data-testid="other-change">
        {changeAmount(c, graph.unit, diff === "share" ? "absolute" : "share")}
      </td>
    </>
  );
}

function CompareTableView(p: Props) {
  const { graph, state, navigate } = p;
  const { names, functions: f } = graph;
  const { measure, diff, changed, ascending } = state;
  const sort = comparedSort(state.sort);
  const whole = useMemo(() => sidesOf(graph), [graph]);
  const changes = useMemo(
    () => functionChanges(f, measure, whole, diff),
    [graph, measure, diff],
  );
  const sampling = whole.samplings?.[diff] ?? null;
  const counts = useMemo(() => countsOf(graph, sampling), [graph, sampling]);
  const found = useFound(graph, p.search, p.grouping);
  const order = useMemo(() => {
    const rows = found.filter((i) => hasChanged(f, i, changed, sampling));
    return sortChanges(rows, f, names, changes, sort, ascending, measure, diff);
  }, [found, changes, sort, ascending, changed, sampling]);
  const size = (i: number): number =>
    Math.abs(diff === "share" ? changes[i].share : changes[i].value);
  const most = useMemo(() => order.reduce((m, i) => Math.max(m, size(i)), 0), [order, changes]);
  const look = (i: number): RowLook => {
    const color = changeColor(changes[i].score, p.changes);
    const share = most > 0 ? size(i) / most : 0;
    return { swatch: color, bar: color, share, change: changes[i].kind };
  };
  return (
    <div class="table compare-table">
      <Bar state={state} navigate={navigate} counts={counts}>
        <GroupBar
          grouping={p.grouping}
          text={() => tableText(graph, order, rowTitle(p.grouping))}
        />
      </Bar>
      <FunctionRows
        {...p}
        className="table-scroll"
        order={order}
        heads={heads[diff]}
        sort={sort}
        ascending={ascending}
        look={look}
        figures={(i) => <Figures p={p} i={i} c={changes[i]} sampling={sampling} />}
        none={whyNone(changed, counts)}
        onSort={(by, asc) => navigate({ sort: by, ascending: asc }, "replace")}
      />
    </div>
  );
}

interface CellProps {
  c: Change;
  unit: string;
  mode: DiffBy;
  palette: DiffPalette;
}

function ChangeCell({ c, unit, mode, palette }: CellProps) {
  const relative = changePercentText(c);
  const titles = [changeValueText(c, unit), changeShareText(c), relative].filter(Boolean);
  return (
    <td class="num" title={titles.join("\n")} style={{ color: changeTextColor(c, palette) }}>
      <div class="cell">
        <span class="unit">{relative}</span>
        {changeAmount(c, unit, mode)}
      </div>
    </td>
  );
}

export const CompareTable = memo(CompareTableView);
