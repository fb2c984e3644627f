// The source lines of the selected function, the most expensive first.

import { useMemo, useState } from "preact/hooks";
import {
  functionUrl,
  useApi,
  type BaseSide,
  type Figures,
  type FunctionView,
  type Selection,
} from "../../state/api";
import { originOf } from "../../flame/tooltip";
import {
  changeOf,
  changePercentText,
  changeTextColor,
  type DiffMode,
  type DiffPalette,
  type Sides,
} from "../../model/diff";
import { scaleFunction } from "../../model/comparison";
import { KERNEL, fullName, splitModule, visible } from "../../model/names";
import type { Span } from "../../model/time_range";
import { percent, percentFixed, value } from "../../model/units";
import type { FunctionId } from "../../model/url_state";
import type { FileProfile } from "../profile/shown";
import { orderOf, SortHead } from "../parts/long_table";

interface Props {
  fn: FunctionId;
  subject: Selection;
  span: Span;
  base: BaseSide | null;
  baseScale: number; // what values of the baseline are multiplied by
  whole: Sides; // totals of the profile
  unit: string;
  mode: DiffMode;
  changes: DiffPalette;
  onClose: () => void;
  file?: FileProfile;
}

type Line = FunctionView["lines"][number];
type Order = "line" | "self" | "total";

/** Why a function has no lines, "" if it has some. */
export function whyNoLines({ name, file }: FunctionId, lines: { line: number }[]): string {
  if (lines.some((l) => l.line > 0)) return "";
  if (file === KERNEL) return "Frames of the kernel have symbols only: the kernel has no lines.";
  if (file === "") return `${visible(name)} is no function of a program, so it has no source.`;
  if (file.startsWith("["))
    return (
      `No frame of this function has a line: ${splitModule(file).module} was built without ` +
      "line tables, or in a language whose line tables the agent does not read."
    );
  return "No frame of this function has a line: its profile was made without line numbers.";
}

const byOrder = (order: Order) => (a: Line, b: Line) =>
  order === "line"
    ? a.line - b.line || Number(a.inlined) - Number(b.inlined)
    : b[order] + (b[order === "self" ? "baseSelf" : "baseTotal"] ?? 0) -
        (a[order] + (a[order === "self" ? "baseSelf" : "baseTotal"] ?? 0)) || a.line - b.line;

function Title({ p, view }: { p: Props; view: FunctionView | null }) {
  const { fn, whole, unit } = p;
  const figures = (v: number, all: number): string => `${value(v, unit)} ${percent(v, all)}`;
  return (
    <div class="lines-title">
      <div class="lines-name">
        <b class="mono">{fullName(fn.name)}</b>
        <button
          type="button"
          class="button small"
          title="Close the lines (Esc)"
          data-testid="lines-close"
          onClick={p.onClose}
        >
          Close
        </button>
      </div>
      <div class="mono dim lines-file" data-testid="lines-file">
        {fn.file === KERNEL && <span class="mark">kernel</span>}
        {visible(fn.file.startsWith("[") || !fn.file ? originOf(fn.name, fn.file) : fn.file)}
      </div>
      {view && (
        <div class="num lines-figures">
          <span>
            <span class="dim">self</span> {figures(view.self, whole.value)}
          </span>
          <span>
            <span class="dim">total</span> {figures(view.total, whole.value)}
          </span>
          {p.base && (
            <span>
              <span class="dim">before</span> {figures(view.baseTotal ?? 0, whole.base)}
            </span>
          )}
        </div>
      )}
    </div>
  );
}

function ChangeCell({ p, f }: { p: Props; f: Figures }) {
  const c = changeOf(f.total, f.baseTotal ?? 0, p.whole, p.mode);
  return (
    <td class="num" style={{ color: changeTextColor(c, p.changes) || undefined }}>
      {changePercentText(c)}
    </td>
  );
}

function Row({ p, line, most }: { p: Props; line: Line; most: number }) {
  const share = (v: number | undefined, all: number, name: string) => (
    <td class="num" title={`${name} ${value(v ?? 0, p.unit)}`}>
      {p.mode === "absolute" && p.base ? value(v ?? 0, p.unit) : percentFixed(v ?? 0, all)}
    </td>
  );
  const bar = (v: number): string => `${most > 0 ? (v / most) * 100 : 0}%`;
  return (
    <tr data-testid="line" data-line={line.line}>
      <th scope="row" class="num">
        {line.line > 0 ? line.line : "unknown"}
      </th>
      <td class="line-bars">
        {line.inlined && (
          <span class="mark" title="The compiler copied the code into the caller">
            inlined
          </span>
        )}
        <span class="line-bar" style={{ width: bar(line.total) }} />
        <span class="line-bar own" style={{ width: bar(line.self) }} />
      </td>
      {share(line.self, p.whole.value, "self")}
      {share(line.total, p.whole.value, "total")}
      {p.base && share(line.baseTotal, p.whole.base, "total before")}
      {p.base && <ChangeCell p={p} f={line} />}
    </tr>
  );
}

function Lines({ p, view }: { p: Props; view: FunctionView }) {
  const [order, setOrder] = useState<Order>("self");
  const lines = useMemo(() => [...view.lines].sort(byOrder(order)), [view, order]);
  const most = Math.max(...view.lines.map((l) => l.total), 0);
  const some = view.total > 0 || (view.baseTotal ?? 0) > 0;
  const why = some ? whyNoLines(p.fn, view.lines) : "This function is not in this selection.";
  if (why)
    return (
      <p class="note" data-testid="no-lines">
        {why}
      </p>
    );
  const head = (by: Order, text: string) => (
    <SortHead
      className="num"
      testId={`lines-by-${by}`}
      order={orderOf(by === order, false)}
      onClick={() => setOrder(by)}
    >
      {text}
    </SortHead>
  );
  return (
    <table class="lines" aria-label={`Lines of ${fullName(p.fn.name, 120)}`}>
      <thead>
        <tr>
          {head("line", "Line")}
          <th scope="col">
            <span class="sr">Bars</span>
          </th>
          {head("self", "Self")}
          {head("total", "Total")}
          {p.base && (
            <th scope="col" class="num">
              Before
            </th>
          )}
          {p.base && (
            <th scope="col" class="num">
              Change
            </th>
          )}
        </tr>
      </thead>
      <tbody>
        {lines.slice(0, 2000).map((l) => (
          <Row key={`${l.line} ${l.inlined}`} p={p} line={l} most={most} />
        ))}
      </tbody>
    </table>
  );
}

export function LinesPanel(p: Props) {
  const { fn, subject: s } = p;
  const about = [s.service, s.type, s.instance, s.where, fn.name, fn.file].join("\n");
  const url = p.file ? null : functionUrl(s, p.span, fn, p.base);
  const answer = useApi<FunctionView>(url, about);
  const view = useMemo(
    () => (p.file ? p.file.view(fn) : answer.data && scaleFunction(answer.data, p.baseScale)),
    [answer.data, p.baseScale, p.file, fn.name, fn.file],
  );
  return (
    <section class="lines-panel" aria-label="Source lines" data-testid="lines">
      <Title p={p} view={answer.error ? null : view} />
      <div
        class="lines-scroll"
        tabIndex={0}
        role="region"
        aria-label="Lines"
        aria-busy={answer.loading}
      >
        {answer.error ? (
          <p class="note bad-text" role="alert">
            {answer.error}
          </p>
        ) : view ? (
          <Lines p={p} view={view} />
        ) : (
          <p class="note">Loading the lines…</p>
        )}
      </div>
    </section>
  );
}
