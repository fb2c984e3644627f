// The start page: all applications, and what changed since yesterday; or those with one function.

import { useMemo, useState } from "preact/hooks";
import {
  choose,
  filterWords,
  firstStep,
  FOLD_FROM,
  namespacesOf,
  OUTSIDE,
  parseOrder,
  printOrder,
  rowsOf,
} from "../../model/applications";
import { applicationsUrl, useApi, type Applications } from "../../state/api";
import type { Application } from "../../model/applications";
import { useToggled, useTypedText, type Navigate } from "../../state/hooks";
import type { ProfileType } from "../../model/profile_types";
import type { Span } from "../../model/time_range";
import { digits, grouped } from "../../model/units";
import { otherService, type UrlState } from "../../model/url_state";
import { MoversPanel } from "./movers";
import { FilterField } from "../parts/filter_field";
import { MenuItem, Popover } from "../parts/popover";
import { FleetList } from "./fleet";
import { NameChips, quoted, useNames } from "./names";
import { ApplicationTable } from "./start_table";

const WIDE = "(min-width: 1100px)"; // as in start.css: there is room for the movers

interface Props {
  applications: Application[];
  newest: number | null; // last profile of anything
  state: UrlState;
  navigate: Navigate;
  registry: ProfileType[];
  now: number;
  span: Span;
  sparks: Span; // range of the sparklines
  attempt: number;
}

const STEADY_MS = 60_000; // between two requests for what was before

/** Cores by service in the range of equal length before; null while that is not known. */
function useBefore(span: Span, attempt: number): Map<string, number | null> | null {
  const to = Math.floor(span.from / STEADY_MS) * STEADY_MS;
  const url = applicationsUrl({ from: to - (span.to - span.from), to });
  const { data } = useApi<Applications>(url, "before", attempt, true);
  return useMemo(() => {
    if (!data || data.applications.length === 0) return null;
    return new Map(data.applications.map((a) => [a.service, a.cores]));
  }, [data]);
}

/** Text of the field, which is ahead of the address while it is typed. */
function useFilterText(state: UrlState, navigate: Navigate): [string, (s: string) => void] {
  const [text, setText] = useTypedText(state.filter);
  return [
    text,
    (s) => {
      setText(s);
      navigate({ filter: s }, "replace");
    },
  ];
}

const namespaceTitle = (name: string): string =>
  name === OUTSIDE ? "Outside Kubernetes" : name || "All namespaces";

function Namespaces({ applications, state, navigate }: Props) {
  const all = useMemo(() => namespacesOf(applications), [applications]);
  if (!state.namespace && all.every((n) => n.name === OUTSIDE)) return null;
  return (
    <Popover
      label={<span class="one-line">{namespaceTitle(state.namespace)}</span>}
      title="Namespace"
      testId="namespaces"
      className="namespaces"
    >
      {() => (
        <div class="scroll">
          {[{ name: "", n: applications.length, cores: 0 }, ...all].map((n) => (
            <MenuItem
              key={n.name}
              checked={n.name === state.namespace}
              testId={`namespace-${n.name}`}
              hint={grouped(n.n)}
              hintClass="num dim"
              onClick={() => navigate({ namespace: n.name })}
            >
              {namespaceTitle(n.name)}
            </MenuItem>
          ))}
        </div>
      )}
    </Popover>
  );
}

/** `functions`: whether some were found. */
const noMatch = (text: string, namespace: string, functions: boolean): string =>
  `No application matches${text ? ` “${text}”` : ""}` +
  (namespace ? ` in ${namespaceTitle(namespace)}` : "") +
  (text && !functions ? ". Functions are found some minutes after their first profile" : "");

/** The rows that the filter leaves, in the order of the address. */
function useRows(p: Props, text: string, open: ReadonlySet<string>) {
  const { applications, state } = p;
  const before = useBefore(p.span, p.attempt);
  const order = parseOrder(state.order);
  const words = useMemo(() => filterWords(text), [text]);
  const shown = useMemo(
    () => choose(applications, words, state.namespace),
    [applications, words, state.namespace],
  );
  const rows = useMemo(() => {
    const fold = words.length === 0 && shown.length > FOLD_FROM;
    return rowsOf(shown, { order, open, before, fold, first: firstStep(applications, p.sparks) });
  }, [shown, state.order, open, before, words]);
  return { shown, rows, order };
}

/** "3 of 9 applications · 1.2 cores" */
function Count({ shown, applications }: { shown: Application[]; applications: Application[] }) {
  const cores = useMemo(() => shown.reduce((s, a) => s + (a.cores ?? 0), 0), [shown]);
  return (
    <span class="dim num" role="status" data-testid="application-count">
      {shown.length === applications.length ? "" : `${grouped(shown.length)} of `}
      {grouped(applications.length)} {applications.length === 1 ? "application" : "applications"}
      <span class="count-cores"> · {digits(cores)} cores</span>
    </span>
  );
}

interface BodyProps extends Props {
  found: ReturnType<typeof useRows>;
  text: string;
  named: boolean; // functions are offered
  movers: boolean;
  toggle: (title: string) => void;
  pick: (service: string) => void;
}

/** The list of applications, and the movers beside it. */
function Body(p: BodyProps) {
  const { state, navigate, span, found, text } = p;
  const { shown, rows, order } = found;
  return (
    <div class="start-body">
      <ApplicationTable
        rows={rows}
        total={shown.length}
        order={order}
        onOrder={(o) => navigate({ order: printOrder(o) }, "replace")}
        onToggle={p.toggle}
        pick={p.pick}
        state={state}
        registry={p.registry}
        now={p.now}
        span={span}
        sparks={p.sparks}
        newest={p.newest}
        note={shown.length > 0 ? "" : noMatch(text, state.namespace, p.named)}
      />
      {p.movers && (
        <MoversPanel {...{ state, navigate, span }} registry={p.registry} attempt={p.attempt} />
      )}
    </div>
  );
}

export function Start(p: Props) {
  const { applications, state, navigate, span } = p;
  const [text, setText] = useFilterText(state, navigate);
  const [open, toggle] = useToggled();
  const [movers, setMovers] = useState(() => matchMedia(WIDE).matches);
  const found = useRows(p, text, open);
  const names = useNames(text, span);
  const pick = (service: string): void => navigate({ ...otherService(service), filter: "" });
  const find = (name: string): void => {
    setText("");
    navigate({ function: name, type: "", filter: "" });
  };
  const onEnter = (): void => {
    const first = found.rows.find((r) => r.app)?.app;
    const name = quoted(text) || (first ? "" : names[0]);
    if (name) find(name);
    else if (first) pick(first.service);
  };
  return (
    <main class="start">
      <div class="start-bar">
        <FilterField
          what="Filter applications or find a function"
          label="Filter applications, or find a function in all of them"
          testId="application-filter"
          slash
          value={text}
          set={setText}
          onEnter={onEnter}
        />
        <Namespaces {...p} />
        <Count shown={found.shown} applications={applications} />
        <button
          type="button"
          class={movers ? "button open movers-button" : "button movers-button"}
          aria-expanded={movers}
          data-testid="movers"
          onClick={() => setMovers(!movers)}
        >
          Top movers
        </button>
      </div>
      <NameChips names={names} span={span} pick={find} />
      {state.function ? (
        <FleetList {...p} />
      ) : (
        <Body {...p} {...{ found, text, movers, toggle, pick }} named={names.length > 0} />
      )}
    </main>
  );
}
