// Second line: search, view, colours, zoom, quality of the data, export.

import { useRef } from "preact/hooks";
import type { BaseSide, FlameGraph, Selection } from "../../state/api";
import { useTypedText, type Navigate } from "../../state/hooks";
import { Export } from "./exports";
import { clip, label } from "../../model/names";
import { MenuItem, Popover, Segments } from "../parts/popover";
import { nodeName, type Tree } from "../../model/tree";
import { QualityMark } from "./quality_mark";
import type { FileProfile } from "./shown";
import type { SearchResult } from "./view_tree";
import type { Span } from "../../model/time_range";
import { EVERY } from "../../model/transform";
import { grouped, percent } from "../../model/units";
import { comparing, type ColorBy, type Direction, type UrlState } from "../../model/url_state";

interface Props {
  state: UrlState;
  navigate: Navigate;
  graph: FlameGraph | null;
  tree: Tree | null;
  zoom: number;
  found: SearchResult;
  subject: Selection;
  range: Span;
  span: Span;
  base: BaseSide | null;
  file?: FileProfile;
  onResetZoom: () => void;
}

function Search({ state, navigate, found, tree }: Props) {
  const [text, setText] = useTypedText(state.search);
  // the back button undoes a search as a whole, not character by character
  const begun = useRef(false);
  const set = (s: string): void => {
    setText(s);
    navigate({ search: s }, begun.current ? "replace" : "push");
    begun.current = s !== "";
  };
  const { query, matches } = found;
  const share =
    matches && tree ? `${found.exact ? "" : "≥ "}${percent(found.total, tree.whole.value)}` : "";
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
        aria-invalid={query?.error ? "true" : undefined}
        aria-describedby={query?.error ? "search-error" : undefined}
        value={text}
        onBlur={() => (begun.current = false)}
        onInput={(e) => set(e.currentTarget.value)}
        onKeyDown={(e) => {
          if (e.key === "Enter") begun.current = false;
          if (e.key !== "Escape") return;
          e.stopPropagation();
          if (text) set("");
          else e.currentTarget.blur();
        }}
      />
      {query && !query.error && (
        <span
          class="matched num"
          data-testid="matched"
          role="status"
          title={
            matches
              ? `${grouped(found.functions)} functions; every stack counted once` +
                (found.exact ? "" : "; small frames of a cut answer are not counted")
              : ""
          }
        >
          {share && `matched ${share}`}
        </span>
      )}
      {query?.error && (
        <span class="search-error" id="search-error" data-testid="matched" role="alert">
          not a regular expression: {query.error}
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

interface MenuProps extends Pick<Props, "state" | "navigate"> {
  compared: boolean; // colours are those of changes
}

function GraphMenu({ state, navigate, compared }: MenuProps) {
  const all = state.edit.some((t) => t.kind === "recursion" && t.name === EVERY);
  const item = (id: string, text: string, hint: string, on: boolean, patch: Partial<UrlState>) => (
    <MenuItem testId={id} checked={on} hint={hint} onClick={() => navigate(patch)}>
      {text}
    </MenuItem>
  );
  const direction = (value: Direction, text: string, hint: string) =>
    item(`direction-${value}`, text, hint, state.direction === value, { direction: value });
  const color = (by: ColorBy, text: string, hint: string) => (
    <MenuItem
      testId={`color-${by}`}
      checked={state.color === by}
      hint={hint}
      onClick={() => navigate({ color: by }, "replace")}
    >
      {text}
    </MenuItem>
  );
  return (
    <Popover
      label={state.invert ? "Inverted" : "Graph"}
      title="Direction, order and colours of the graph"
      testId="graph-menu"
    >
      {() => (
        <>
          {direction("icicle", "Icicle", "root at the top")}
          {direction("flame", "Flame", "root at the bottom")}
          <div class="menu-title">Stacks</div>
          {item("invert", "Invert", "leaf first", state.invert, {
            invert: !state.invert,
            zoom: "",
          })}
          {item("recursion-all", "Collapse recursion", "of every function", all, {
            zoom: "",
            edit: all
              ? state.edit.filter((t) => t.kind !== "recursion" || t.name !== EVERY)
              : [...state.edit, { kind: "recursion", name: EVERY, file: "" }],
          })}
          {!compared && (
            <>
              <div class="menu-title">Colours</div>
              {color("package", "By package", "or namespace")}
              {color("module", "By module", "executable or library")}
            </>
          )}
        </>
      )}
    </Popover>
  );
}

export function Toolbar(p: Props) {
  const { state, navigate, graph, tree, zoom } = p;
  return (
    <section class="toolbar" aria-label="Flame graph">
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
      <GraphMenu state={state} navigate={navigate} compared={graph?.base !== undefined} />
      {!p.file && !comparing(state) && (
        <button
          type="button"
          class="button plain yesterday"
          title="Compare with the same time a day before"
          data-testid="since-yesterday"
          onClick={() => navigate({ base: { shift: 86_400 } })}
        >
          Since yesterday
        </button>
      )}
      {tree && zoom > 0 && (
        <button
          type="button"
          class="button zoom-chip"
          data-testid="reset-zoom"
          title="Back to the whole (Esc)"
          onClick={p.onResetZoom}
        >
          <span class="mono">{clip(label(nodeName(tree, zoom)), 60)}</span>
          <span class="num dim">{percent(tree.total[zoom], tree.whole.value)}</span>
          <span aria-hidden="true">✕</span>
          <span class="sr">Reset zoom</span>
        </button>
      )}
      <div class="toolbar-right">
        {graph && !p.file && <QualityMark graph={graph} />}
        {graph && <Export {...p} unit={graph.unit} />}
      </div>
    </section>
  );
}
