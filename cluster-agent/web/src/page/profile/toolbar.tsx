// Second line: search, view, colours, zoom, quality of the data, export.

import { useRef } from "preact/hooks";
import type { BaseInfo, BaseSide, FlameGraph, Selection } from "../../state/api";
import { useTypedText, type Navigate } from "../../state/hooks";
import { Export } from "./exports";
import { clip, label } from "../../model/names";
import { MenuItem, Popover, Segments } from "../parts/popover";
import { nodeName, type Tree } from "../../model/tree";
import { explain } from "../../model/profile_types";
import { isOfAll, isSampled, observed, qualityLevel } from "../../model/quality";
import { walkEnds, walkSentence, type WalkEnds } from "../../model/unwinding";
import { isCut, type SearchResult } from "./view_tree";
import type { Span } from "../../model/time_range";
import { EVERY } from "../../model/transform";
import { grouped, percent, percentComplete, value } from "../../model/units";
import type { UrlState } from "../../model/url_state";

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

const BINARIES_SHOWN = 8;

const OF_ALL = " of the whole application";

const reasonText = (r: string): string => r.replace(/_/g, " ");

function BaseQuality({ base, sampled }: { base: BaseInfo; sampled: boolean }) {
  const q = base.quality;
  return (
    <dl data-testid="base-quality">
      <dt>
        <b>Baseline{isOfAll(q) && OF_ALL}</b>
      </dt>
      <dd />
      {sampled && (
        <>
          <dt>Samples</dt>
          <dd>{grouped(q.samples)}</dd>
          <dt>Truncated stacks</dt>
          <dd>{grouped(q.truncated)}</dd>
          <dt>Lost samples</dt>
          <dd>{grouped(q.lost)}</dd>
        </>
      )}
      <dt>Distinct stacks</dt>
      <dd>{grouped(base.stacks)}</dd>
    </dl>
  );
}

function WalkBinaries({ walks }: { walks: WalkEnds }) {
  return (
    <table class="walk-ends" data-testid="walk-ends">
      <caption>{walkSentence(walks)}</caption>
      <thead>
        <tr>
          <th scope="col">They end in</th>
          <th scope="col">Ended</th>
          <th scope="col">Of its stacks</th>
        </tr>
      </thead>
      <tbody>
        {walks.binaries.slice(0, BINARIES_SHOWN).map((b) => (
          <tr key={b.binary} title={b.ends.map((e) => `${grouped(e.n)}: ${e.end}`).join("\n")}>
            <th scope="row">{b.binary}</th>
            <td>{grouped(b.ended)}</td>
            <td>{percent(b.ended, b.seen)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Good, or why not, in a word. */
function levelOf(graph: FlameGraph, cut: boolean): string {
  const levels = [qualityLevel(graph.quality)];
  if (graph.base) levels.push(qualityLevel(graph.base.quality));
  if (levels.includes("bad")) return "bad";
  return cut || levels.includes("fair") ? "fair" : "good";
}

function QualityLabel({ graph }: { graph: FlameGraph }) {
  const q = graph.quality;
  const seen = observed(q, graph);
  const cut = isCut(graph);
  return (
    <span class="quality-label num" data-testid="quality">
      <span class={`dot ${levelOf(graph, cut)}`} aria-hidden="true" />
      {seen && (
        <>
          {seen}
          <span class="dim"> · </span>
        </>
      )}
      {percentComplete(q.samples - q.truncated, q.samples)} complete
      <span class="wider"> stacks</span>
      {isOfAll(q) && (
        <span class="dim" data-testid="quality-scope">
          {OF_ALL}
        </span>
      )}
      {q.lost > 0 && (
        <>
          <span class="dim"> · </span>
          <span class="warn">{grouped(q.lost)} lost</span>
        </>
      )}
      {cut && (
        <>
          <span class="dim"> · </span>
          <span class="warn" data-testid="cut">
            {percent(graph.other.value, graph.total)} in other
          </span>
        </>
      )}
    </span>
  );
}

interface FiguresProps {
  graph: FlameGraph;
  sampled: boolean;
  walks: WalkEnds | null;
}

function QualityFigures({ graph, sampled, walks }: FiguresProps) {
  const q = graph.quality;
  const good = q.samples - q.truncated;
  const reasons = Object.entries(q.lostReasons).sort((a, b) => b[1] - a[1]);
  const figure = (name: string, n: number) => (
    <>
      <dt>{name}</dt>
      <dd>{grouped(n)}</dd>
    </>
  );
  const part = (name: string, n: number) => (
    <>
      <dt class="dim indent">{name}</dt>
      <dd class="dim">{grouped(n)}</dd>
    </>
  );
  return (
    <dl>
      {sampled && figure("Samples", q.samples)}
      <dt>Complete stacks</dt>
      <dd>{sampled ? grouped(good) : percentComplete(good, q.samples)}</dd>
      {sampled && figure("Truncated stacks", q.truncated)}
      {walks?.ends.map((e) => part(e.end, e.n))}
      {walks && walks.guessed > 0 && figure("Stacks with a guessed step", walks.guessed)}
      {(sampled || q.lost > 0) && figure("Lost samples", q.lost)}
      {reasons.map(([why, n]) => part(reasonText(why), n))}
      {figure("Distinct stacks", graph.stacks)}
    </dl>
  );
}

function QualityPanel({ graph }: { graph: FlameGraph }) {
  const q = graph.quality;
  const sampled = isSampled(graph.type);
  const walks = walkEnds(q.unwinding);
  return (
    <div class="quality-panel">
      <QualityFigures graph={graph} sampled={sampled} walks={walks} />
      {walks && walks.binaries.length > 0 && <WalkBinaries walks={walks} />}
      {graph.base && <BaseQuality base={graph.base} sampled={sampled} />}
      {explain(graph.type) && <p class="dim">{explain(graph.type)}</p>}
      {isOfAll(q) && (
        <p class="dim">
          These numbers are those of the whole application, not of the filter: profiles in this
          range were stored before their labels were kept with them.
        </p>
      )}
      <p class="dim">
        A truncated stack has its innermost frames but not all callers.
        {sampled &&
          " Lost samples are those of the whole node in this time; they are in no stack."}
      </p>
      {graph.other.value > 0 && (
        <p class="dim">
          {grouped(graph.other.nodes)} small frames ({percent(graph.other.value, graph.total)}) are
          drawn as “other”, hatched. Zooming in asks for more of them. Totals, search and exports
          are of the whole.
        </p>
      )}
      {graph.stacksCut > 0 && (
        <p class="dim">
          {grouped(graph.stacksCut)} rare stacks ({value(graph.valueCut, graph.unit)}) were too many
          to read one by one: they are in “other” below the total.
        </p>
      )}
    </div>
  );
}

function QualityMark({ graph }: { graph: FlameGraph }) {
  return (
    <Popover
      label={<QualityLabel graph={graph} />}
      title="How complete this profile is"
      chevron={false}
      className="plain quality"
      align="right"
      kind="dialog"
    >
      {() => <QualityPanel graph={graph} />}
    </Popover>
  );
}

function GraphMenu({ state, navigate }: Pick<Props, "state" | "navigate">) {
  const all = state.edit.some((t) => t.kind === "recursion" && t.name === EVERY);
  return (
    <Popover
      label={state.invert ? "Inverted" : "Graph"}
      title="Direction and order of the graph"
      testId="graph-menu"
    >
      {(close) => {
        const set = (patch: Partial<UrlState>): void => {
          navigate(patch);
          close();
        };
        return (
          <>
            <MenuItem
              testId="direction-icicle"
              checked={state.direction === "icicle"}
              onClick={() => set({ direction: "icicle" })}
            >
              <span>Icicle</span>
              <span class="dim">root at the top</span>
            </MenuItem>
            <MenuItem
              testId="direction-flame"
              checked={state.direction === "flame"}
              onClick={() => set({ direction: "flame" })}
            >
              <span>Flame</span>
              <span class="dim">root at the bottom</span>
            </MenuItem>
            <div class="menu-title">Stacks</div>
            <MenuItem
              testId="invert"
              checked={state.invert}
              onClick={() => set({ invert: !state.invert, zoom: "" })}
            >
              <span>Invert</span>
              <span class="dim">leaf first</span>
            </MenuItem>
            <MenuItem
              testId="recursion-all"
              checked={all}
              onClick={() =>
                set({
                  zoom: "",
                  edit: all
                    ? state.edit.filter((t) => t.kind !== "recursion" || t.name !== EVERY)
                    : [...state.edit, { kind: "recursion", name: EVERY, file: "" }],
                })
              }
            >
              <span>Collapse recursion</span>
              <span class="dim">of every function</span>
            </MenuItem>
          </>
        );
      }}
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
      {!graph?.base && (
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
      )}
      <GraphMenu state={state} navigate={navigate} />
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
        {graph && <QualityMark graph={graph} />}
        {graph && <Export {...p} unit={graph.unit} />}
      </div>
    </section>
  );
}
