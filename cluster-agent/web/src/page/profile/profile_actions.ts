// What a person does to the profile on show: zooms and ways back, edits, functions, keys.

import { useRef } from "preact/hooks";
import { hasModifier, isTyped, usePageKeys, type Cell, type Navigate } from "../../state/hooks";
import { detailsOpen, openDetails } from "../../state/details";
import { touchesPath } from "../../model/transform";
import { findByKey, nodeFile, nodeName, pathKey, type Pointed, type Tree } from "../../model/tree";
import {
  comparing,
  noBase,
  type FunctionId,
  type Panel,
  type Transform,
  type UrlState,
} from "../../model/url_state";

interface Where {
  state: UrlState;
  navigate: Navigate;
  tree: Tree | null; // on show
  zoom: number;
}

export interface Actions {
  zoomTo: (node: number) => void;
  reset: () => void; // of the zoom
  back: () => void; // one step of anything
  edit: (t: Transform) => void;
  describe: (fn: FunctionId) => void; // in the pane of details
  choose: (fn: FunctionId, panel: Panel) => void;
}

export function useActions({ state, navigate, tree, zoom }: Where): Actions {
  const trail = useRef<string[]>([]); // zooms to go back to
  // the newest earlier zoom that the current one lies in; the browser's back button may have
  // changed the zoom since it was recorded
  const outward = (): string => {
    for (let key = trail.current.pop(); key !== undefined; key = trail.current.pop()) {
      const node = tree ? findByKey(tree, key) : -1;
      if (tree && node >= 0 && node < zoom && zoom < tree.end[node]) return key;
    }
    return "";
  };
  return {
    zoomTo: (node) => {
      if (!tree) return;
      trail.current.push(state.zoom);
      const fn = node > 0 ? { name: nodeName(tree, node), file: nodeFile(tree, node) } : null;
      navigate({ zoom: pathKey(tree, node), fn });
    },
    reset: () => {
      trail.current = [];
      navigate({ zoom: "", fn: null });
    },
    back: () => {
      if (state.panel) navigate({ panel: "" });
      else if (state.zoom) navigate({ zoom: outward(), fn: null });
      else if (state.search) navigate({ search: "", fn: null }, "replace");
      else if (state.fn && detailsOpen()) navigate({ fn: null });
      else if (state.edit.length > 0) navigate({ edit: state.edit.slice(0, -1) });
      else if (comparing(state)) navigate(noBase);
      else if (state.selection) navigate({ selection: null });
    },
    edit: (t) => {
      const keep = !state.invert && tree !== null && zoom > 0 && !touchesPath(tree, zoom, t);
      navigate({ edit: [...state.edit, t], zoom: keep ? state.zoom : "" });
    },
    describe: (fn) => {
      openDetails(true);
      navigate({ fn, panel: "" });
    },
    choose: (fn, panel) =>
      navigate({ fn, panel, ...(state.view === "table" ? { view: "both" as const } : {}) }),
  };
}

/** The function of the row with the focus, otherwise of the frame under the cursor. */
function functionAt(row: DOMStringMap, at: Pointed | null): FunctionId | null {
  const { name, file } = row;
  if (name !== undefined && file !== undefined) return { name, file };
  if (!at || at.node <= 0 || at.node >= at.tree.n) return null;
  return { name: nodeName(at.tree, at.node), file: nodeFile(at.tree, at.node) };
}

const paneOfDetails = (): HTMLElement | null =>
  document.querySelector<HTMLElement>("[data-testid=details]");

/** Opens the details of a function, or goes to them or from them; closes them without one. */
function toggleDetails(actions: Actions, fn: FunctionId | null, selected: FunctionId | null): void {
  const pane = paneOfDetails();
  if (pane?.contains(document.activeElement) || (pane && !fn)) return openDetails(false);
  const of = fn ?? selected;
  if (!of) return;
  actions.describe(of);
  setTimeout(() => paneOfDetails()?.focus(), 60); // once it is there
}

/** Escape goes back; L opens the lines of a function, D its details. */
export function useProfileKeys(
  actions: Actions,
  selected: FunctionId | null,
  tree: Tree | null,
  cursor: Cell<number>,
  pointed: Cell<Pointed | null>,
): void {
  usePageKeys((e) => {
    if (isTyped(e)) return;
    if ((e.key === "l" || e.key === "d") && !hasModifier(e)) {
      const at = pointed.value ?? (tree && { tree, node: cursor.value });
      const fn = functionAt((e.target as HTMLElement).dataset, at);
      if (e.key === "d") toggleDetails(actions, fn, selected);
      else if (fn) actions.choose(fn, "lines");
    } else if (e.key === "Escape" && !e.defaultPrevented) actions.back();
  });
}
