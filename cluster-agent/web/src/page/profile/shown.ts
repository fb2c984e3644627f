// What the parts of the profile share.

import type { MenuTarget } from "../../flame/frame_menu";
import type { Palette } from "../../model/colors";
import type { DiffPalette } from "../../model/diff";
import type { Coloring } from "../../model/hues";
import type { Span } from "../../model/time_range";
import type { Pointed } from "../../model/tree";
import type { ComparedState, FunctionId, View } from "../../model/url_state";
import type { BaseSide, FlameGraph, FunctionView, Selection } from "../../state/api";
import type { Side } from "../../open/file_graph";
import type { Cell, Navigate } from "../../state/hooks";
import type { Pane } from "../parts/panes";
import type { Actions } from "./profile_actions";
import type { Level } from "./status";
import type { SearchResult, ViewTree } from "./view_tree";

/** A profile that the page has itself: the server is not asked about it. */
export interface FileProfile {
  side: Side; // A
  view: (fn: FunctionId) => FunctionView; // without callers and callees
}

export interface ProfileProps {
  state: ComparedState;
  pane: Pane;
  navigate: Navigate;
  graph: FlameGraph | null;
  loading: boolean;
  stale?: boolean; // another one is under way
  level: Level | null;
  palette: Palette;
  changes: DiffPalette; // colours of a comparison
  subject: Selection;
  range: Span; // of the timeline
  span: Span; // what is shown of it
  until?: number; // ms: up to here, all agents have sent their profiles
  base: BaseSide | null;
  baseScale: number; // what values of the baseline in other answers are multiplied by
  cursor: Cell<number>;
  file?: FileProfile;
}

export interface Shown extends ProfileProps {
  v: ViewTree;
  found: SearchResult;
  coloring: Coloring;
  actions: Actions;
  view: View;
  pointed: Cell<Pointed | null>; // in a sandwich
  some: boolean; // there is something to show
  setMenu: (m: MenuTarget) => void;
}

/** Opens the menu of a function of a table or of a half of a sandwich. */
export function functionMenu(p: Shown) {
  return (f: FunctionId, x: number, y: number, from: HTMLElement): void =>
    p.setMenu({ node: -1, root: false, ...f, x, y, back: from });
}
