// The function table of a comparison: baseline, now and change, of own or total values.

import { useMemo, useRef } from "preact/hooks";
import type { FlameGraph } from "../state/api";
import type { Navigate } from "../state/hooks";
import { memo } from "../state/memo";
import { useVirtual } from "../state/virtual";
import {
  changeColor,
  changePercentText,
  changeShareText,
  changeTextColor,
  changeValueText,
  type Change,
  type DiffPalette,
} from "../model/diff";
import { comparedSort, functionChanges, hasChanged, sortChanges } from "../model/functions";
import { clip, fullName, label, visible } from "../model/names";
import { compileQuery, exactQuery } from "../model/search";
import { grouped, percentFixed, value } from "../model/units";
import type { Changed, FunctionId, SortBy, UrlState } from "../model/url_state";
import { Segments } from "./popover";
import { countHead, moveBetweenRows, ROW, SortHead } from "./table_rows";

interface Props {
  graph: FlameGraph; // with a base
  state: UrlState;
  navigate: Navigate;
  search: string;
  atLeast: boolean; // figures of a tree that was made of a cut one
  changes: DiffPalette;
  onPick: (search: string) => void;
  onMenu: (f: FunctionId, x: number, y: number, back: HTMLElement) => void;
}

const heads: { by: SortBy; label: string; title: string }[] = [
  { by: "name", label: "Function", title: "" },
  { by: "base", label: "Baseline", title: "Side B" },
  { by: "now", label: "Now", title: "Side A" },
  { by: "change", label: "Change", title: "Growth first; click again for what shrank" },
];

function CompareTableView(p: Props) {
  const scroller = useRef<HTMLDivElement>(null);
  const { graph, state } = p;
  const { names, files, functions: f } = graph;
  const { measure, diff, changed } = state;
  const sort = comparedSort(state.sort);
  const whole = { value: graph.total, base: graph.base?.total ?? 0 };
  const picked = p.search.startsWith('"');

  const changes = useMemo(() => functionChanges(f, measure, whole, diff), [graph, measure, diff]);
  const counts = useMemo(() => {
    const n = { new: 0, gone: 0 };
    for (let i = 0; i < f.name.length; i++) {
      if (hasChanged(f, i, "new")) n.new++;
      else if (hasChanged(f, i, "gone")) n.gone++;
    }
    return n;
  }, [graph]);
  const order = useMemo(() => {
    const matches = picked ? null : compileQuery(p.search)?.among(names, files);
    const listed: number[] = [];
    for (let i = 0; i < f.name.length; i++)
      if (hasChanged(f, i, changed) && (!matches || matches(f.name[i], f.file[i]))) listed.push(i);
    return sortChanges(listed, f, names, changes, sort, state.ascending, measure, diff);
  }, [graph, changes, picked ? "" : p.search, sort, state.ascending, changed]);
  const sizes = useMemo(() => {
    const size = (c: Change): number => Math.abs(diff === "share" ? c.share : c.value);
    return { size, most: order.reduce((m, i) => Math.max(m, size(changes[i])), 0) };
  }, [order, changes]);

  const rows = useVirtual(scroller, order.length, ROW);
  const base = (measure === "self" ? f.baseSelf : f.baseTotal) ?? [];
  const side = (v: number, total: number): string =>
    (p.atLeast ? "≥ " : "") + (diff === "share" ? percentFixed(v, total) : value(v, graph.unit));

  return (
    <div class="table compare-table">
      <div class="table-bar">
        <Segments
          label="Figures"
          testId="measure"
          value={measure}
          options={[
            { value: "self", label: "Self", title: "What each function itself used" },
            { value: "total", label: "Total", title: "With everything that it called" },
          ]}
          onChange={(m) => p.navigate({ measure: m }, "replace")}
        />
        <Segments<Changed | "all">
          label="Rows"
          testId="changed"
          value={changed || "all"}
          options={[
            { value: "all", label: "All" },
            { value: "new", label: `New ${grouped(counts.new)}`, title: "Not in the baseline" },
            { value: "gone", label: `Gone ${grouped(counts.gone)}`, title: "In the baseline only" },
          ]}
          onChange={(c) => p.navigate({ changed: c === "all" ? "" : c }, "replace")}
        />
      </div>
      <div class="table-scroll" ref={scroller} onScroll={rows.onScroll}>
        <table aria-label="Functions" aria-rowcount={order.length + 1} data-testid="functions">
          <SortHead
            heads={[
              { ...heads[0], label: countHead(order.length, f.name.length) },
              ...heads.slice(1),
            ]}
            sort={sort}
            ascending={state.ascending}
            onSort={(by, ascending) => p.navigate({ sort: by, ascending }, "replace")}
          />
          <tbody>
            {rows.above > 0 && <tr aria-hidden="true" style={{ height: `${rows.above}px` }} />}
            {order.slice(rows.from, rows.to).map((i, k) => {
              const name = names[f.name[i]];
              const c = changes[i];
              const exact = exactQuery(name);
              const on = exact === p.search;
              const pick = (): void => p.onPick(on ? "" : exact);
              const menu = (x: number, y: number, back: HTMLElement): void =>
                p.onMenu({ name, file: files[f.file[i]] }, x, y, back);
              const width = sizes.most > 0 ? (sizes.size(c) / sizes.most) * 90 : 0;
              const color = changeColor(c.score, p.changes);
              return (
                <tr
                  key={i}
                  class={on ? "row on" : "row"}
                  tabIndex={rows.from + k === rows.entry ? 0 : -1}
                  aria-rowindex={rows.from + k + 2}
                  aria-current={on}
                  data-testid="function"
                  data-name={name}
                  data-file={files[f.file[i]]}
                  data-change={c.kind}
                  onClick={pick}
                  onContextMenu={(e) => {
                    e.preventDefault();
                    menu(e.clientX, e.clientY, e.currentTarget);
                  }}
                  onKeyDown={(e) => moveBetweenRows(e, pick, (x, y) => menu(x, y, e.currentTarget))}
                >
                  <td title={`${fullName(name)}\n${visible(files[f.file[i]])}`}>
                    <span class="swatch" style={{ background: color }} />
                    <span class="mono">{clip(label(name), 200)}</span>
                    <span class="share" style={{ width: `${width}%`, background: color }} />
                  </td>
                  <td class="num" title={value(base[i] ?? 0, graph.unit)}>
                    {hasChanged(f, i, "new") ? (
                      <span class="change-tag">new</span>
                    ) : (
                      side(base[i] ?? 0, whole.base)
                    )}
                  </td>
                  <td class="num" title={value(f[measure][i], graph.unit)}>
                    {hasChanged(f, i, "gone") ? (
                      <span class="change-tag">gone</span>
                    ) : (
                      side(f[measure][i], whole.value)
                    )}
                  </td>
                  <ChangeCell c={c} unit={graph.unit} mode={diff} palette={p.changes} />
                </tr>
              );
            })}
            {rows.below > 0 && (
              <tr aria-hidden="true" style={{ height: `${rows.below}px` }} />
            )}
          </tbody>
        </table>
        {order.length === 0 && (
          <div class="note">
            {changed === "new" && counts.new === 0
              ? "No function is new"
              : changed === "gone" && counts.gone === 0
                ? "No function is gone"
                : "No function matches"}
          </div>
        )}
      </div>
    </div>
  );
}

interface CellProps {
  c: Change;
  unit: string;
  mode: UrlState["diff"];
  palette: DiffPalette;
}

function ChangeCell({ c, unit, mode, palette }: CellProps) {
  const amount = mode === "share" ? changeShareText(c) : changeValueText(c, unit);
  const relative = changePercentText(c);
  const titles = [changeValueText(c, unit), changeShareText(c), relative].filter(Boolean);
  return (
    <td class="num" title={titles.join("\n")} style={{ color: changeTextColor(c, palette) }}>
      <span class="unit">{relative}</span>
      {amount}
    </td>
  );
}

export const CompareTable = memo(CompareTableView);
