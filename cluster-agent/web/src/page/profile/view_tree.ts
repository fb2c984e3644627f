// From an answer to what the graph shows: the tree, deeper where the answer was cut, then the
// edits, then leaf first if asked for.

import { useEffect, useMemo, useState } from "preact/hooks";
import {
  flamegraphUrl,
  lacksOfFlameGraph,
  matchesUrl,
  useApi,
  type BaseSide,
  type FlameGraph,
  type MatchTotals,
  type Selection,
} from "../../state/api";
import { scaleBase } from "../../model/comparison";
import { sidesOf } from "../../model/functions";
import { compileQuery, matchTree, type Matches, type Query } from "../../model/search";
import { noteSymbols } from "../../model/late_symbols";
import { applyEdits, invert } from "../../model/transform";
import { buildTree, compareBy, findByKey, type Tree } from "../../model/tree";
import type { Span } from "../../model/time_range";
import type { ComparedState, DiffBy, UrlState } from "../../model/url_state";

export interface Source {
  graph: FlameGraph | null;
  subject: Selection;
  span: Span;
  base: BaseSide | null;
  baseScale: number; // what values of the baseline in other answers are multiplied by
}

export interface ViewTree {
  whole: Tree | null; // as it came
  upright: Tree | null; // after the edits, root first
  shown: Tree | null;
  zoom: number; // node of `shown`
  lostZoom: boolean; // the zoomed frame is not there
  cut: boolean; // the answer left something out
  atLeast: boolean; // figures of `shown` may be too small because of that
  broken: string; // why the answer is no tree
  shallow: string; // why the zoomed frame is not shown in full; "" if it is
  retry: () => void; // asks for it again
}

/** Whether an answer left out frames or stacks. */
export const isCut = (g: FlameGraph): boolean => g.other.nodes > 0 || g.stacksCut > 0;

function useTree(graph: FlameGraph | null, diff: DiffBy): [Tree | null, string] {
  const [tree, broken] = useMemo((): [Tree | null, string] => {
    noteSymbols(graph?.symbols);
    try {
      return [graph ? buildTree(graph, "share", sidesOf(graph)) : null, ""];
    } catch (e) {
      return [null, (e as Error).message];
    }
  }, [graph]);
  return [useMemo(() => tree && compareBy(tree, diff), [tree, diff]), broken];
}

/** Whether all that a node has is below it: an answer for one frame has only paths elsewhere. */
function isComplete(t: Tree, node: number): boolean {
  let sum = t.self[node];
  for (let i = node + 1; i < t.end[node]; i = t.end[i]) sum += t.total[i];
  return sum >= t.total[node] * (1 - 1e-9);
}

/**
 * The tree to show a zoomed frame in. While an answer for another frame is under way, the last
 * one may be of a frame beside or below it.
 */
function deepest(below: Tree | null, first: Tree | null, key: string): Tree | null {
  const at = below && key ? findByKey(below, key) : -1;
  if (!below || at <= 0) return first;
  return isComplete(below, at) || !first || findByKey(first, key) < 0 ? below : first;
}

/** Whether two answers are about the same ranges: one may be older than a change of them. */
const sameRanges = (a: FlameGraph, b: FlameGraph): boolean =>
  a.from === b.from &&
  a.to === b.to &&
  a.base?.from === b.base?.from &&
  a.base?.to === b.base?.to &&
  !a.base === !b.base;

/** The answer for the zoomed frame, if it is about what the first one is about. */
function matching(deep: FlameGraph | null, s: Source): FlameGraph | null {
  return deep && s.graph && sameRanges(deep, s.graph) ? scaleBase(deep, s.baseScale) : null;
}

export function useViewTree(s: Source, state: ComparedState): ViewTree {
  const { edit, zoom: key, diff } = state;
  const [first, broken] = useTree(s.graph, diff);
  const cut = s.graph !== null && isCut(s.graph);
  const plain = edit.length === 0 && !state.invert;
  const [attempt, setAttempt] = useState(0);
  const deeper = useApi<FlameGraph>(
    cut && plain && key ? flamegraphUrl(s.subject, s.span, s.base, { zoom: key }) : null,
    JSON.stringify([s.subject, s.base && [s.base.service, s.base.instance, s.base.where]]),
    attempt,
    false,
    lacksOfFlameGraph,
  );
  const deep = useMemo(
    () => (deeper.error ? null : matching(deeper.data, s)),
    [deeper.data, deeper.error, s.graph, s.baseScale],
  );
  const [below, belowBroken] = useTree(deep, diff);
  const whole = useMemo(() => deepest(below, first, key), [below, first, key]);
  const upright = useMemo(() => whole && applyEdits(whole, edit), [whole, JSON.stringify(edit)]);
  const shown = useMemo(
    () => upright && (state.invert ? invert(upright) : upright),
    [upright, state.invert],
  );
  const found = useMemo(() => (shown ? findByKey(shown, key) : 0), [shown, key]);
  return {
    whole: first,
    upright,
    shown,
    zoom: Math.max(0, found),
    lostZoom: found < 0 && !deeper.loading,
    cut,
    atLeast: cut && !plain,
    broken,
    shallow: deeper.error || belowBroken,
    retry: () => setAttempt(attempt + 1),
  };
}

/** The value once it has not changed for a moment; used for what a person types. */
function useSettled<T>(value: T, ms: number): T {
  const [settled, set] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => set(value), ms);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}

export interface SearchResult {
  query: Query | null;
  matches: Matches | null; // of the shown tree
  total: number; // of all stacks with a match, each counted once
  baseTotal: number;
  functions: number;
  exact: boolean; // false: a cut tree was counted, and there may be more
}

const PAUSE_MS = 250;

/** Searches the tree; if that was cut, the server is asked for the totals of the whole. */
export function useSearch(s: Source, state: UrlState, v: ViewTree): SearchResult {
  const query = useMemo(() => compileQuery(state.search), [state.search]);
  const usable = query && !query.error ? query : null;
  const { shown, upright } = v;
  const matches = useMemo(
    () => (shown && usable ? matchTree(shown, usable) : null),
    [shown, usable],
  );
  const counted = useMemo(
    () => (upright === shown || !upright || !usable ? matches : matchTree(upright, usable)),
    [matches, upright, usable],
  );
  const settled = useSettled(state.search.trim(), PAUSE_MS);
  const ask = v.cut && state.edit.length === 0 && usable !== null && settled !== "";
  const answer = useApi<MatchTotals>(
    ask ? matchesUrl(s.subject, s.span, settled, s.base) : null,
    settled,
  );
  const known = settled === state.search.trim() && !answer.error ? answer.data : null;
  return {
    query,
    matches,
    total: known?.total ?? counted?.total ?? 0,
    baseTotal: known ? (known.baseTotal ?? 0) * s.baseScale : (counted?.baseTotal ?? 0),
    functions: known?.functions ?? counted?.functions ?? 0,
    exact: !v.cut || known !== null,
  };
}
