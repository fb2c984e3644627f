// Below the graph: the selected function, who calls it, what it calls, its lines, and how it was
// over the range and in each version. On a phone it is a sheet.

import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { useFilling, type Filling } from "../../flame/sandwich";
import { originOf } from "../../flame/tooltip";
import { daysSpan, versionsText } from "../../model/fleet";
import { fullName, label } from "../../model/names";
import { releaseName } from "../../model/releases";
import { exactQuery } from "../../model/search";
import { childrenOf, nodeFile, nodeName, type Tree } from "../../model/tree";
import { clock } from "../../model/time_range";
import { percent, rate, value } from "../../model/units";
import type { FunctionId } from "../../model/url_state";
import { fleetUrl, functionUrl, useApi, type Fleet, type FunctionView } from "../../state/api";
import { openDetails } from "../../state/details";
import { useAfterPaint } from "../../state/hooks";
import type { Shown } from "../profile/shown";
import { Sparkline } from "../start/sparkline";
import { whyNoLines } from "../table/lines_panel";
import { partsOf, useTrend } from "./trend";

const MOST = 12; // rows of a list

interface Props {
  p: Shown;
  tree: Tree; // root first, after all edits
  fn: FunctionId;
}

interface BarRow {
  key: string;
  text: string;
  title: string;
  value: number;
  onPick?: () => void;
}

/** Names or lines with their values, the largest first. */
function Bars({ rows, whole }: { rows: BarRow[]; whole: number }) {
  const most = rows[0]?.value ?? 0;
  return (
    <ul class="bars">
      {rows.map((r) => {
        const inside = (
          <>
            <bdi class="mono one-line">{r.text}</bdi>
            <span class="num dim">{percent(r.value, whole)}</span>
            <span class="bar" style={{ width: `${most > 0 ? (r.value / most) * 100 : 0}%` }} />
          </>
        );
        return (
          <li key={r.key} title={r.title}>
            {r.onPick ? (
              <button type="button" onClick={r.onPick}>
                {inside}
              </button>
            ) : (
              <span>{inside}</span>
            )}
          </li>
        );
      })}
    </ul>
  );
}

const Part = ({ title, children }: { title: string; children: ComponentChildren }) => (
  <section class="details-part" aria-label={title}>
    <h3>{title}</h3>
    {children}
  </section>
);

/** The functions right above or below it. */
function Neighbours({ p, half, none }: { p: Shown; half: Tree; none: string }) {
  const rows = childrenOf(half, 0)
    .sort((a, b) => half.total[b] - half.total[a])
    .slice(0, MOST)
    .map((node): BarRow => {
      const fn = { name: nodeName(half, node), file: nodeFile(half, node) };
      return {
        key: `${fn.name}\n${fn.file}`,
        text: label(fn.name),
        title: `${fullName(fn.name)}\n${value(half.total[node], p.graph?.unit ?? "")}`,
        value: half.total[node],
        onPick: () => p.navigate({ fn, search: exactQuery(fn.name) }),
      };
    });
  if (rows.length === 0) return <p class="dim">{none}</p>;
  return <Bars rows={rows} whole={half.whole.value} />;
}

/** `of`: what the graph has of the function; lines are asked for a moment later. */
function Lines({ p, fn, of }: { p: Shown; fn: FunctionId; of: Filling }) {
  const s = p.subject;
  const about = [s.service, s.type, s.instance, s.where, fn.name, fn.file].join("\n");
  const url = p.file ? null : functionUrl(s, p.graph ?? p.span, fn);
  const answer = useApi<FunctionView>(url, about, 0, true);
  const view = useMemo(() => p.file?.view(fn) ?? answer.data, [p.file, answer.data, fn]);
  if (!view) return <p class="dim">{answer.error || "…"}</p>;
  const why = whyNoLines(fn, view.lines);
  if (why) return <p class="dim">{why}</p>;
  // profiles may have come since the graph: each line has its part of what that says
  const scale = view.total > 0 ? of.total / view.total : 1;
  const open = (): void => p.actions.choose(fn, "lines");
  const rows = [...view.lines]
    .sort((a, b) => b.total - a.total)
    .slice(0, MOST)
    .map((l): BarRow => ({
      key: `${l.line} ${l.inlined}`,
      text: l.line > 0 ? `line ${l.line}` : "unknown",
      title: `self ${value(l.self * scale, p.graph?.unit ?? "")}`,
      value: l.total * scale,
      onPick: open,
    }));
  return <Bars rows={rows} whole={p.graph?.total ?? 0} />;
}

/** Over the range; by version it is known in days. */
function Trend({ p, fn }: { p: Shown; fn: FunctionId }) {
  const { subject: s, graph } = p;
  const values = useTrend(s, p.span, fn.name, p.until);
  const days = daysSpan(p.span);
  const url = fleetUrl(days, { function: fn.name, type: s.type, limit: 1000 });
  const { data } = useApi<Fleet>(url, `${fn.name}\n${s.type}`, 0, true);
  const own = data?.applications.find((a) => a.service === s.service);
  const perSecond = p.level === null;
  const last = values[values.length - 1];
  const { from, to } = partsOf(p.span, p.until)[values.length - 1];
  const unit = graph?.unit ?? "";
  const asRate = (v: number): string =>
    unit === "nanoseconds" && perSecond ? rate(v / 1e9, "cores", true) : rate(v, unit, perSecond);
  const versions = own ? versionsText(own, releaseName) : null;
  return (
    <>
      <Sparkline values={values} width={180} height={36} />
      <p class="num dim">
        {last === null ? "…" : `${asRate(last)}, ${clock(from)} – ${clock(to)}`}
      </p>
      {versions?.short && (
        <p class="dim" title={versions.full} data-testid="details-versions">
          {versions.short} of its version, by days
        </p>
      )}
    </>
  );
}

function Head({ p, fn, of }: { p: Shown; fn: FunctionId; of: Filling | null }) {
  const { graph } = p;
  const unit = graph?.unit ?? "";
  const figure = (v: number): string => `${value(v, unit)} ${percent(v, graph?.total ?? 0)}`;
  const button = (text: string, id: string, run: () => void) => (
    <button type="button" class="button plain small" data-testid={id} onClick={run}>
      {text}
    </button>
  );
  return (
    <div class="details-head">
      <h2 class="mono one-line" title={fullName(fn.name)}>
        <bdi>{label(fn.name)}</bdi>
      </h2>
      <span class="dim one-line">{originOf(fn.name, fn.file)}</span>
      {of && (
        <span class="num details-figures" data-testid="details-figures">
          total {of.exact ? "" : "≥ "}
          {figure(of.total)} · self {figure(of.self)}
        </span>
      )}
      <span class="details-buttons">
        {button("Callers and callees", "details-sandwich", () => p.actions.choose(fn, "sandwich"))}
        {button("Lines", "details-lines", () => p.actions.choose(fn, "lines"))}
        <button
          type="button"
          class="button plain small"
          aria-label="Close the details"
          title="Close (D opens them again)"
          data-testid="details-close"
          onClick={() => openDetails(false)}
        >
          ✕
        </button>
      </span>
    </div>
  );
}

function Filled({ p, tree, fn }: Props) {
  const whole = p.v.cut && p.state.edit.length === 0;
  const of = useFilling({
    tree,
    fn,
    ask: whole ? functionUrl(p.subject, p.span, fn, p.base) : null,
    atLeast: p.v.atLeast,
    baseScale: p.baseScale,
  });
  return (
    <>
      <Head p={p} fn={fn} of={of} />
      {of ? (
        <div class="details-parts">
          <Part title="Callers">
            <Neighbours p={p} half={of.callers} none="None: stacks begin with it." />
          </Part>
          <Part title="Calls">
            <Neighbours p={p} half={of.callees} none="Nothing: all of it is its own." />
          </Part>
          <Part title="Lines">
            <Lines {...{ p, fn, of }} />
          </Part>
          {!p.file && (
            <Part title="Trend">
              <Trend p={p} fn={fn} />
            </Part>
          )}
        </div>
      ) : (
        <p class="note">This function is in no stack that is shown.</p>
      )}
    </>
  );
}

/** Once the graph is drawn: a click zooms first. */
export function Details({ p, tree, fn, asSheet }: Props & { asSheet: boolean }) {
  const late = useAfterPaint(useMemo(() => ({ tree, fn }), [tree, fn.name, fn.file]));
  return (
    <section
      class={asSheet ? "details sheet" : "details"}
      aria-label="Details of the function"
      tabIndex={-1}
      data-testid="details"
    >
      {late && <Filled p={p} {...late} />}
    </section>
  );
}
