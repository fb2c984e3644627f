// The source lines of the selected function, the most expensive first.

import { useMemo, useState } from "preact/hooks";
import {
  functionUrl,
  sourceUrl,
  useApi,
  type BaseSide,
  type Figures,
  type FunctionView,
  type Selection,
  type Source,
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
import { whyNeverLines } from "../../model/lines";
import { KERNEL, fullName, visible } from "../../model/names";
import { hostOf, hottestLine, lineUrl } from "../../model/source";
import type { Span } from "../../model/time_range";
import { percent, percentFixed, value } from "../../model/units";
import type { FunctionId } from "../../model/url_state";
import type { FileProfile } from "../profile/shown";
import { docsUrl } from "../parts/links";
import { orderOf, SortHead } from "../parts/long_table";
import { SourceText } from "./source_text";

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
  const never = whyNeverLines({ name, file });
  if (never) return never;
  return "No frame of this function has a line: its profile was made without line numbers.";
}

const byOrder = (order: Order) => (a: Line, b: Line) =>
  order === "line"
    ? a.line - b.line || Number(a.inlined) - Number(b.inlined)
    : b[order] + (b[order === "self" ? "baseSelf" : "baseTotal"] ?? 0) -
        (a[order] + (a[order === "self" ? "baseSelf" : "baseTotal"] ?? 0)) || a.line - b.line;

type Shape = "source" | "table"; // of the lines

interface Sourced {
  source: Source | null;
  shape: Shape;
  onShape: (s: Shape) => void;
}

/** Whether the text is on show, and where else it is. */
function SourceBar({ view, s }: { view: FunctionView; s: Sourced }) {
  const { source, shape, onShape } = s;
  if (!source || whyNoLines(view, view.lines)) return null;
  const at = lineUrl(source.url, hottestLine(view.lines));
  const button = (to: Shape, text: string) => (
    <button
      type="button"
      data-testid={`lines-as-${to}`}
      aria-pressed={shape === to}
      onClick={() => onShape(to)}
    >
      {text}
    </button>
  );
  return (
    <div class="source-bar" data-testid="source-bar">
      {source.text !== undefined && (
        <span class="segments" role="group" aria-label="Lines as">
          {button("source", "Source")}
          {button("table", "Table")}
        </span>
      )}
      {at && (
        <a href={at} target="_blank" rel="noopener noreferrer" data-testid="source-link">
          Open at {hostOf(at)}
        </a>
      )}
      {source.why && <span class="dim">{visible(source.why)}</span>}
      {!source.folders && !at && (
        <a class="dim" href={docsUrl("page.md#source")} target="_blank">
          The text can be shown, too
        </a>
      )}
    </div>
  );
}

function Title({ p, view, sourced }: { p: Props; view: FunctionView | null; sourced: Sourced }) {
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
      {view && <SourceBar view={view} s={sourced} />}
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

function LineNumber({ line, url }: { line: number; url?: string }) {
  const at = line > 0 ? lineUrl(url, line) : "";
  if (!at) return <>{line > 0 ? line : "unknown"}</>;
  return (
    <a href={at} target="_blank" rel="noopener noreferrer" title={at}>
      {line}
    </a>
  );
}

function Row({ p, line, most, url }: { p: Props; line: Line; most: number; url?: string }) {
  const share = (v: number | undefined, all: number, name: string) => (
    <td class="num" title={`${name} ${value(v ?? 0, p.unit)}`}>
      {p.mode === "absolute" && p.base ? value(v ?? 0, p.unit) : percentFixed(v ?? 0, all)}
    </td>
  );
  const bar = (v: number): string => `${most > 0 ? (v / most) * 100 : 0}%`;
  return (
    <tr data-testid="line" data-line={line.line}>
      <th scope="row" class="num">
        <LineNumber line={line.line} url={url} />
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

function Lines({ p, view, sourced }: { p: Props; view: FunctionView; sourced: Sourced }) {
  const some = view.total > 0 || (view.baseTotal ?? 0) > 0;
  const why = some ? whyNoLines(p.fn, view.lines) : "This function is not in this selection.";
  if (why)
    return (
      <p class="note" data-testid="no-lines">
        {why}
      </p>
    );
  const { source, shape } = sourced;
  if (source?.text !== undefined && shape === "source")
    return (
      <SourceText
        text={source.text}
        url={source.url}
        lines={view.lines}
        label={`Source of ${fullName(p.fn.name, 120)}`}
        two={p.base !== null}
        absolute={p.mode === "absolute"}
        unit={p.unit}
        whole={p.whole}
        change={(f) => <ChangeCell p={p} f={f} />}
      />
    );
  return <LineTable p={p} view={view} url={source?.url} />;
}

function LineTable({ p, view, url }: { p: Props; view: FunctionView; url?: string }) {
  const [order, setOrder] = useState<Order>("self");
  const lines = useMemo(() => [...view.lines].sort(byOrder(order)), [view, order]);
  const most = Math.max(...view.lines.map((l) => l.total), 0);
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
          <Row
            key={`${l.line} ${l.inlined}`}
            p={p}
            line={l}
            most={most}
            url={url}
          />
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
  // a function that cannot have lines has no text either
  const asked = !p.file && !whyNeverLines(fn);
  const code = useApi<Source>(asked ? sourceUrl(s, p.span, fn.file) : null, about, 0, true);
  const [shape, setShape] = useState<Shape>("source");
  const sourced: Sourced = { source: code.data, shape, onShape: setShape };
  const texted = code.data?.text !== undefined && shape === "source" && view !== null;
  const wide = texted && !whyNoLines(fn, view.lines);
  return (
    <section
      class={`lines-panel${wide ? " sourced" : ""}`}
      aria-label="Source lines"
      data-testid="lines"
    >
      <Title p={p} view={answer.error ? null : view} sourced={sourced} />
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
          <Lines p={p} view={view} sourced={sourced} />
        ) : (
          <p class="note">Loading the lines…</p>
        )}
      </div>
    </section>
  );
}
