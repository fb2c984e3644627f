// The flame graph of one recording as a file of its own (coroot-node-agent record -o x.html). The
// data is in the file; nothing is loaded, and nothing is stored. Other profiles can be dropped on
// it, two to compare them.

import { render } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Flame } from "../flame/flame";
import { Legend } from "../flame/legend";
import { palettes } from "../model/colors";
import { changePercentText, changeOf, diffPalettes } from "../model/diff";
import { assignHues } from "../model/hues";
import { label, clip } from "../model/names";
import { compileQuery, exactQuery, matchTree } from "../model/search";
import { invert } from "../model/transform";
import { buildTree, nodeName, type Pointed, type Tree } from "../model/tree";
import { percent, value } from "../model/units";
import type { Direction, SortBy } from "../model/url_state";
import { fileGraph, sameType, type Side } from "../open/file_graph";
import { sumOf } from "../open/stacks";
import { FileDrop } from "../page/opened/file_drop";
import { Status } from "../page/profile/status";
import { Table } from "../page/table/table";
import type { FlameGraph } from "../state/api";
import { Cell } from "../state/cell";
import { useCell } from "../state/hooks";
import { closeFiles, opened, type Opened } from "../state/opened";
import "../page/style.css";
import "../page/opened/opened.css";
import "../page/narrow.css";
import "./recording.css";

interface Recording extends FlameGraph {
  subtitle: string;
}

/** The zoom history; its last entry is on show. */
function useZoom(tree: Tree): [number, (node: number) => void, () => boolean, () => void] {
  const [trail, setTrail] = useState<number[]>([]);
  useEffect(() => setTrail([]), [tree]);
  const back = (): boolean => {
    setTrail((t) => t.slice(0, -1));
    return trail.length > 0;
  };
  const zoom = trail.length > 0 && trail[trail.length - 1] < tree.n ? trail[trail.length - 1] : 0;
  return [
    zoom,
    (node) => setTrail((t) => (node === 0 ? [] : [...t, node])),
    back,
    () => setTrail([]),
  ];
}

function useDark(): boolean {
  const query = useMemo(() => matchMedia("(prefers-color-scheme: dark)"), []);
  const [dark, setDark] = useState(query.matches);
  useEffect(() => {
    const onChange = (): void => setDark(query.matches);
    query.addEventListener("change", onChange);
    return () => query.removeEventListener("change", onChange);
  }, []);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  return dark;
}

/** What is shown of the recording, and how. */
function useView(graph: Recording, whole: Tree) {
  const theme = useDark() ? "dark" : "light";
  const palette = palettes[theme];
  const diff = graph.base ? diffPalettes[theme]["red-green"] : null;
  const [search, setSearch] = useState("");
  const [leafFirst, setLeafFirst] = useState(false);
  const [direction, setDirection] = useState<Direction>("icicle");
  const tree = useMemo(() => (leafFirst ? invert(whole) : whole), [whole, leafFirst]);
  const [zoom, zoomTo, back, reset] = useZoom(tree);
  const coloring = useMemo(() => assignHues(whole, "package"), [whole]);
  const query = useMemo(() => compileQuery(search), [search]);
  const matches = useMemo(
    () => (query && !query.error ? matchTree(tree, query) : null),
    [query, tree],
  );
  const stepBack = (): void => {
    if (!back()) setSearch("");
  };
  return {
    ...{ graph, whole, palette, diff, search, setSearch, leafFirst, setLeafFirst },
    ...{ direction, setDirection, tree, zoom, zoomTo, stepBack, reset, coloring, query, matches },
  };
}
type ViewProps = ReturnType<typeof useView>;

/** Escape goes back, a slash goes to the search. */
function useKeys(stepBack: () => void, input: { current: HTMLInputElement | null }): void {
  useEffect(() => {
    const onKey = (e: KeyboardEvent): void => {
      if (e.defaultPrevented) return;
      if (e.key === "Escape") stepBack();
      else if (e.key === "/" && document.activeElement !== input.current) {
        e.preventDefault();
        input.current?.focus();
      }
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  });
}

function Search({ graph, query, search, setSearch, matches, stepBack }: ViewProps) {
  const input = useRef<HTMLInputElement>(null);
  useKeys(stepBack, input);
  return (
    <div class={query?.error ? "search bad" : "search"}>
      <input
        ref={input}
        type="search"
        placeholder="Search: text, /expression/ or a name in quotes"
        aria-label="Search functions"
        data-testid="search"
        value={search}
        onInput={(e) => setSearch(e.currentTarget.value)}
      />
      {matches && (
        <span class="matched num" data-testid="matched">
          {percent(matches.total, graph.total)}
        </span>
      )}
    </div>
  );
}

function Head(p: ViewProps & { onClose?: () => void }) {
  const { graph, tree, zoom, direction, leafFirst } = p;
  return (
    <header class="toolbar">
      <h1 class="file-title one-line" title={graph.subtitle}>
        {graph.service} <span class="dim">{graph.subtitle}</span>
      </h1>
      <Search {...p} />
      {zoom > 0 && (
        <button type="button" class="button zoom-chip" data-testid="zoom" onClick={p.reset}>
          <span class="mono">{clip(label(nodeName(tree, zoom)), 60)}</span> ✕
        </button>
      )}
      <div class="toolbar-right">
        {p.onClose && (
          <button type="button" class="button" data-testid="close-file" onClick={p.onClose}>
            Back to the recording
          </button>
        )}
        <button
          type="button"
          class="button"
          aria-pressed={direction === "flame"}
          onClick={() => p.setDirection(direction === "flame" ? "icicle" : "flame")}
        >
          {direction === "flame" ? "Root at the bottom" : "Root at the top"}
        </button>
        <button
          type="button"
          class="button"
          aria-pressed={leafFirst}
          data-testid="invert"
          onClick={() => p.setLeafFirst(!leafFirst)}
        >
          {leafFirst ? "Leaf first" : "Root first"}
        </button>
      </div>
    </header>
  );
}

/** The table of functions beside the graph. */
function Body(p: ViewProps & { cursor: Cell<number> }) {
  const { graph, tree, whole, coloring, palette, setSearch } = p;
  const [lit, setLit] = useState("");
  const [sort, setSort] = useState<{ by: SortBy; ascending: boolean }>({
    by: "self",
    ascending: false,
  });
  return (
    <main class={graph.base ? "profile flame" : "profile both"}>
      {!graph.base && (
        <Table
          graph={graph}
          search={p.search}
          atLeast={false}
          coloring={coloring}
          palette={palette}
          sort={sort.by}
          ascending={sort.ascending}
          onSort={(by, ascending) => setSort({ by, ascending })}
          onPick={setSearch}
          onMenu={(f) => setSearch(exactQuery(f.name))}
        />
      )}
      <div class="graph">
        <Flame
          id="flame"
          tree={tree}
          unit={graph.unit}
          zoom={p.zoom}
          matches={p.matches}
          coloring={coloring}
          lit={lit}
          palette={palette}
          diff={p.diff}
          direction={p.direction}
          atLeast={false}
          leafFirst={p.leafFirst}
          cursor={p.cursor}
          onPick={p.zoomTo}
          onBack={p.stepBack}
          onMenu={(node) => setSearch(exactQuery(nodeName(tree, node)))}
        />
        {!p.diff && (
          <Legend coloring={coloring} tree={whole} palette={palette} picked={lit} onPick={setLit} />
        )}
      </div>
    </main>
  );
}

interface AppProps {
  graph: Recording;
  whole: Tree;
  onClose?: () => void; // of a file that is on show in place of the recording
}

function App({ graph, whole, onClose }: AppProps) {
  const view = useView(graph, whole);
  const cursor = useMemo(() => new Cell(-1), []);
  const pointed = useMemo(() => new Cell<Pointed | null>(null), []);
  return (
    <>
      <Head {...view} onClose={onClose} />
      {graph.total === 0 ? (
        <main class="empty">
          <h1>No samples</h1>
          <p>{graph.subtitle}</p>
        </main>
      ) : (
        <Body {...view} cursor={cursor} />
      )}
      <Status
        tree={graph.total > 0 ? view.tree : null}
        unit={graph.unit}
        cursor={cursor}
        pointed={pointed}
        zoom={view.zoom}
        onZoom={view.zoomTo}
        diff={view.diff}
        atLeast={false}
        leafFirst={view.leafFirst}
        isFile
      />
    </>
  );
}

/** The files as a recording: the newer one, by the type that it shows first. */
function openedView({ a, b }: Opened): AppProps {
  const side: Side = { file: a, type: a.types[a.main] };
  const base = b && sameType(b, side);
  const { graph } = fileGraph(side, base);
  const [now, before] = [graph.total, base ? sumOf(base.type) : 0];
  const change = changeOf(now, before, { value: now, base: before }, "absolute");
  const subtitle = base
    ? `compared with ${base.file.name}: ${side.type.title}, ${changePercentText(change)}`
    : `${side.type.title}, ${value(now, graph.unit)}`;
  return { graph: { ...graph, subtitle }, whole: buildTree(graph), onClose: closeFiles };
}

function Root(own: AppProps) {
  const files = useCell(opened);
  const shown = useMemo(() => (files ? openedView(files) : own), [files]);
  return (
    <>
      <App key={files ? files.a.name : ""} {...shown} />
      <FileDrop />
    </>
  );
}

const root = document.getElementById("app");
const data = document.getElementById("data")?.textContent;
if (root && data) {
  const graph = JSON.parse(data) as Recording;
  document.title = `${graph.service}: ${value(graph.total, graph.unit)}`;
  render(<Root graph={graph} whole={buildTree(graph)} />, root);
}
