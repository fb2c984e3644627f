// Second line: search, view, colours, zoom, quality of the data, export.

import { useEffect, useRef, useState } from "preact/hooks";
import { pprofUrl, type FlameGraph, type Selection } from "./api";
import type { Navigate } from "./hooks";
import { shortName, splitService } from "./names";
import { Popover, Segments } from "./popover";
import type { Query, Matches } from "./search";
import { foldedText, type Tree } from "./tree";
import type { Span } from "./time_range";
import { grouped, percent, percentComplete, value } from "./units";
import type { UrlState } from "./url_state";

interface Props {
  state: UrlState;
  navigate: Navigate;
  graph: FlameGraph | null;
  tree: Tree | null;
  zoom: number;
  query: Query | null;
  matches: Matches | null;
  subject: Selection;
  span: Span;
  onResetZoom: () => void;
}

function Search({ state, navigate, query, matches, tree }: Props) {
  const [text, setText] = useState(state.search);
  const typed = useRef<string[]>([]); // typed here, not yet back from the address
  useEffect(() => {
    const known = typed.current.indexOf(state.search);
    typed.current.splice(0, known + 1);
    if (known < 0) setText(state.search); // changed elsewhere: a row of the table, the back button
  }, [state.search]);
  const set = (s: string): void => {
    setText(s);
    if (s === state.search) typed.current = [];
    else typed.current.push(s);
    navigate({ search: s }, "replace");
  };
  const share = matches && tree ? percent(matches.total, tree.total[0]) : "";
  return (
    <div class={query?.error ? "search bad" : "search"}>
      <input
        type="text"
        placeholder="Search  name or /regex/"
        aria-label="Search functions"
        spellcheck={false}
        autocomplete="off"
        data-testid="search"
        data-slash
        value={text}
        onInput={(e) => set(e.currentTarget.value)}
        onKeyDown={(e) => {
          if (e.key !== "Escape") return;
          e.stopPropagation();
          if (text) set("");
          else e.currentTarget.blur();
        }}
      />
      {query && (
        <span
          class="matched num"
          data-testid="matched"
          role="status"
          title={
            query.error ||
            (matches ? `${grouped(matches.frames)} frames; every stack counted once` : "")
          }
        >
          {query.error ? "not a regular expression" : share && `matched ${share}`}
        </span>
      )}
      {text && (
        <button
          type="button"
          class="clear"
          aria-label="Clear the search"
          title="Clear (Esc)"
          onClick={() => set("")}
        >
          ✕
        </button>
      )}
    </div>
  );
}

const reasonText = (r: string): string => r.replace(/_/g, " ");

function QualityMark({ graph }: { graph: FlameGraph }) {
  const q = graph.quality;
  const good = q.samples - q.truncated;
  const share = q.samples > 0 ? good / q.samples : 1;
  const lostShare = q.samples > 0 ? q.lost / (q.samples + q.lost) : 0;
  const level =
    share < 0.9 || lostShare > 0.02 ? "bad" : share < 0.99 || lostShare > 0.001 ? "fair" : "good";
  const reasons = Object.entries(q.lostReasons).sort((a, b) => b[1] - a[1]);
  const label = (
    <span class="quality-label num" data-testid="quality">
      <span class={`dot ${level}`} aria-hidden="true" />
      {grouped(q.samples)} samples<span class="dim"> · </span>
      {percentComplete(good, q.samples)} complete<span class="wider"> stacks</span>
      {q.lost > 0 && (
        <>
          <span class="dim"> · </span>
          <span class="warn">{grouped(q.lost)} lost</span>
        </>
      )}
    </span>
  );
  return (
    <Popover
      label={label}
      title="How complete this profile is"
      chevron={false}
      className="plain quality"
      align="right"
      kind="dialog"
    >
      {() => (
        <div class="quality-panel">
          <dl>
            <dt>Samples</dt>
            <dd>{grouped(q.samples)}</dd>
            <dt>Complete stacks</dt>
            <dd>{grouped(good)}</dd>
            <dt>Truncated stacks</dt>
            <dd>{grouped(q.truncated)}</dd>
            <dt>Lost samples</dt>
            <dd>{grouped(q.lost)}</dd>
            {reasons.map(([why, n]) => (
              <>
                <dt class="dim indent">{reasonText(why)}</dt>
                <dd class="dim">{grouped(n)}</dd>
              </>
            ))}
            <dt>Distinct stacks</dt>
            <dd>{grouped(graph.stacks)}</dd>
          </dl>
          <p class="dim">
            A truncated stack has its innermost frames but not all callers. Lost samples are those
            of the whole node in this time; they are in no stack.
          </p>
          {graph.other.value > 0 && (
            <p class="dim">
              {grouped(graph.other.nodes)} small frames ({percent(graph.other.value, graph.total)})
              are drawn as “other”.
            </p>
          )}
          {graph.stacksCut > 0 && (
            <p class="dim">
              {grouped(graph.stacksCut)} rare stacks ({value(graph.valueCut, graph.unit)}) were too
              many to read one by one: they are in “other” below the total.
            </p>
          )}
        </div>
      )}
    </Popover>
  );
}

function saveText(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  const a = document.createElement("a");
  a.href = url;
  a.download = name;
  a.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

function Export({ tree, subject, span }: Props) {
  const { name } = splitService(subject.service);
  return (
    <Popover label="Export" title="Export" testId="export" align="right">
      {(close) => (
        <>
          <a
            class="item"
            role="menuitem"
            href={pprofUrl(subject, span)}
            download
            data-testid="export-pprof"
            onClick={close}
          >
            <span>pprof</span>
            <span class="dim">for go tool pprof and others</span>
          </a>
          <button
            type="button"
            class="item"
            role="menuitem"
            disabled={!tree}
            data-testid="export-folded"
            onClick={() => {
              if (tree) saveText(`${name}.folded.txt`, foldedText(tree));
              close();
            }}
          >
            <span>Folded stacks</span>
            <span class="dim">text, one stack per line</span>
          </button>
        </>
      )}
    </Popover>
  );
}

export function Toolbar(p: Props) {
  const { state, navigate, graph, tree, zoom } = p;
  return (
    <div class="toolbar" role="toolbar" aria-label="Flame graph">
      <Search {...p} />
      <Segments
        label="View"
        testId="view"
        value={state.view}
        options={[
          { value: "table", label: "Table" },
          { value: "both", label: "Both" },
          { value: "flame", label: "Flame" },
        ]}
        onChange={(view) => navigate({ view })}
      />
      <Segments
        label="Colour by"
        testId="color"
        value={state.color}
        options={[
          { value: "package", label: "Package", title: "One colour per package or namespace" },
          { value: "module", label: "Module", title: "One colour per executable or library" },
        ]}
        onChange={(color) => navigate({ color }, "replace")}
      />
      {tree && zoom > 0 && (
        <button
          type="button"
          class="button zoom-chip"
          data-testid="reset-zoom"
          title="Back to the whole (Esc)"
          onClick={p.onResetZoom}
        >
          <span class="mono">{shortName(tree.names[tree.name[zoom]])}</span>
          <span class="num dim">{percent(tree.total[zoom], tree.total[0])}</span>
          <span aria-hidden="true">✕</span>
          <span class="sr">Reset zoom</span>
        </button>
      )}
      <div class="toolbar-right">
        {graph && <QualityMark graph={graph} />}
        {graph && <Export {...p} />}
      </div>
    </div>
  );
}
