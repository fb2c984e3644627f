// The sandwich view: a function between its callers and its callees, over all its stacks. A click
// on another function shows that one in the same way; Back returns.

import { useEffect, useMemo } from "preact/hooks";
import { scaleFunction } from "../model/comparison";
import { changeOf, changePercentText, changeTextColor } from "../model/diff";
import { fullName } from "../model/names";
import { findFunction, functionValues, sandwich } from "../model/transform";
import { buildTree, nodeFile, nodeName, type Pointed, type Tree } from "../model/tree";
import { useApi, type FunctionView } from "../state/api";
import { percent, value } from "../model/units";
import type { FunctionId } from "../model/url_state";
import { Cell } from "../state/hooks";
import { Flame } from "./flame";
import type { FlameProps } from "./flame_drawing";

type Shared = Pick<
  FlameProps,
  "unit" | "coloring" | "lit" | "palette" | "diff" | "atLeast" | "onBack"
>;

interface Props extends Shared {
  tree: Tree; // root first, after all edits
  ask: string | null; // where to ask for all stacks, when the tree was cut
  fn: FunctionId;
  baseScale: number; // what values of the baseline in that answer are multiplied by
  cursor: Cell<number>; // of the page: whether something is pointed at
  pointed: Cell<Pointed | null>; // what the status line describes
  onFunction: (f: FunctionId) => void;
  onMenu: (f: FunctionId, x: number, y: number, back: HTMLElement) => void;
  onClose: () => void;
}

const functionOf = (t: Tree, node: number): FunctionId => ({
  name: nodeName(t, node),
  file: nodeFile(t, node),
});

/** A function's figures and both trees. */
export interface Filling {
  callers: Tree;
  callees: Tree;
  self: number;
  total: number;
  baseTotal: number | null;
  exact: boolean;
}

/** From the tree on show. */
function fillingOf(t: Tree, fn: FunctionId, exact: boolean): Filling | null {
  const id = findFunction(t, fn.name, fn.file);
  if (id < 0) return null;
  const v = functionValues(t);
  return {
    ...sandwich(t, id),
    self: v.self[id],
    total: v.total[id],
    baseTotal: v.baseTotal && v.baseTotal[id],
    exact,
  };
}

/** From the server's answer, which was computed on all stacks. */
function fillingFrom(a: FunctionView, t: Tree): Filling | null {
  try {
    return {
      callers: buildTree(a.callers, t.mode, t.whole),
      callees: buildTree(a.callees, t.mode, t.whole),
      self: a.self,
      total: a.total,
      baseTotal: t.baseTotal ? (a.baseTotal ?? 0) : null,
      exact: true,
    };
  } catch {
    return null; // the answer has no tree; the one computed in the browser is shown
  }
}

const isThere = (f: FunctionView): boolean => f.total > 0 || (f.baseTotal ?? 0) > 0;

type Asked = Pick<Props, "tree" | "fn" | "ask" | "atLeast" | "baseScale">;

/** From all stacks, once the server has answered; null if the function is in none. */
export function useFilling({ tree, fn, ask, atLeast, baseScale }: Asked): Filling | null {
  const answer = useApi<FunctionView>(ask, `${fn.name} ${fn.file}`);
  const whole = useMemo(
    () =>
      // after a failure the data is that of an earlier selection
      answer.data && !answer.error && isThere(answer.data)
        ? fillingFrom(scaleFunction(answer.data, baseScale), tree)
        : null,
    [answer.data, answer.error, tree, baseScale],
  );
  const exact = ask === null && !atLeast;
  const own = useMemo(
    () => (whole ? null : fillingOf(tree, fn, exact)),
    [whole, tree, fn.name, fn.file, exact],
  );
  return whole ?? own;
}

function Title({ tree, fn, unit, diff, of }: Props & { of: Filling }) {
  const { whole } = tree;
  const least = of.exact ? "" : "≥ ";
  const change = changeOf(of.total, of.baseTotal ?? 0, whole, tree.mode);
  return (
    <>
      <b class="mono one-line">{fullName(fn.name, 200)}</b>
      <span class="num dim" data-testid="sandwich-figures">
        total {least}
        {value(of.total, unit)} {percent(of.total, whole.value)} · self {least}
        {value(of.self, unit)} {percent(of.self, whole.value)}
        {of.baseTotal !== null && (
          <>
            {` · baseline ${value(of.baseTotal, unit)} ${percent(of.baseTotal, whole.base)} · `}
            <span style={{ color: diff ? changeTextColor(change, diff) : "" }}>
              {changePercentText(change)}
            </span>
          </>
        )}
      </span>
    </>
  );
}

/** The cursors of both halves; what they point at is told to the page. */
function useCursors(p: Props, halves: Filling | null): { up: Cell<number>; down: Cell<number> } {
  const up = useMemo(() => new Cell(-1), []);
  const down = useMemo(() => new Cell(-1), []);
  useEffect(() => {
    if (!halves) return;
    const tell = (): void => {
      const at = up.value >= 0 ? up.value : down.value;
      p.pointed.set(
        at < 0 ? null : { tree: up.value >= 0 ? halves.callers : halves.callees, node: at },
      );
      p.cursor.set(at < 0 ? -1 : 0);
    };
    const stop = [up.watch(tell), down.watch(tell)];
    return () => {
      for (const s of stop) s();
      p.cursor.set(-1);
      p.pointed.set(null);
    };
  }, [halves]);
  return { up, down };
}

export function SandwichView(p: Props) {
  const { fn } = p;
  const halves = useFilling(p);
  const { up, down } = useCursors(p, halves);
  const shared = {
    unit: p.unit,
    coloring: p.coloring,
    lit: p.lit,
    palette: p.palette,
    diff: p.diff,
    atLeast: halves !== null && !halves.exact,
    onBack: p.onBack,
    zoom: 0,
    matches: null,
  };
  const half = (t: Tree) => ({
    tree: t,
    onPick: (node: number) => p.onFunction(functionOf(t, node)),
    onMenu: (node: number, x: number, y: number, back: HTMLElement) =>
      p.onMenu(functionOf(t, node), x, y, back),
  });
  return (
    <section class="sandwich" aria-label="Callers and callees" data-testid="sandwich">
      <div class="sandwich-title">
        {halves ? (
          <Title {...p} of={halves} />
        ) : (
          <b class="mono one-line">{fullName(fn.name, 200)}</b>
        )}
        <button type="button" class="button small" data-testid="sandwich-close" onClick={p.onClose}>
          Close
        </button>
      </div>
      {halves ? (
        <>
          <div class="sandwich-label dim">Callers</div>
          <Flame
            id="callers"
            {...shared}
            {...half(halves.callers)}
            direction="flame"
            leafFirst
            cursor={up}
          />
          <div class="sandwich-label dim">Called functions</div>
          <Flame
            id="callees"
            {...shared}
            {...half(halves.callees)}
            direction="icicle"
            leafFirst={false}
            cursor={down}
          />
        </>
      ) : (
        <div class="note">
          This function is in no stack that is shown. Another range, or fewer edits, may have it.
        </div>
      )}
    </section>
  );
}
