// One application: toolbar, table, flame graph and status line below the timeline.

import { useMemo, useState } from "preact/hooks";
import { FrameMenu, type MenuTarget } from "../../flame/frame_menu";
import { exactQuery } from "../../model/search";
import type { Pointed } from "../../model/tree";
import { Cell } from "../../state/hooks";
import { useColoring } from "../../state/hue_memory";
import { viewOf } from "../parts/panes";
import { Splitter } from "../parts/splitter";
import { Edits } from "./edits";
import { LeftHalf } from "./left_half";
import { Notices } from "./notices";
import { useActions, useProfileKeys } from "./profile_actions";
import { RightHalf } from "./right_half";
import { RuntimeNotes } from "./runtime_notes";
import type { ProfileProps, Shown } from "./shown";
import { Status } from "./status";
import { Toolbar } from "./toolbar";
import { useSearch, useViewTree } from "./view_tree";

export function Profile(p: ProfileProps) {
  const { state, navigate, graph, pane, cursor } = p;
  const v = useViewTree(p, state);
  const found = useSearch(p, state, v);
  const { shown: tree, zoom } = v;
  const coloring = useColoring(v.whole, state.service, state.color);
  const [menu, setMenu] = useState<MenuTarget | null>(null);
  const pointed = useMemo(() => new Cell<Pointed | null>(null), []);
  const actions = useActions({ state, navigate, tree, zoom });
  useProfileKeys(actions, state.fn, tree, cursor, pointed);
  const some = graph !== null && tree !== null && graph.total > 0;
  const view = viewOf(pane, state.view);
  const shown: Shown = { ...p, v, found, coloring, actions, view, pointed, some, setMenu };
  return (
    <>
      {pane !== "timeline" && (
        <Toolbar {...p} tree={tree} zoom={zoom} found={found} onResetZoom={actions.reset} />
      )}
      <Notices v={v} reset={actions.reset} />
      {pane !== "timeline" && graph && !p.file && (
        <RuntimeNotes service={state.service} graph={graph} />
      )}
      <Edits
        edits={state.edit}
        tree={v.upright}
        onChange={(next) => navigate({ edit: next, zoom: "" })}
      />
      <main
        class={`profile ${view} pane-${pane}`}
        aria-busy={p.loading}
        inert={p.stale}
      >
        <LeftHalf {...shown} />
        {some && pane === "all" && (view === "both" || state.panel === "lines") && (
          <Splitter label="Width of the table" />
        )}
        <RightHalf {...shown} />
      </main>
      {menu && (
        <FrameMenu
          target={menu}
          colorBy={state.color}
          onClose={() => setMenu(null)}
          onZoom={actions.zoomTo}
          onEdit={actions.edit}
          onFunction={actions.choose}
          onDetails={actions.describe}
          onSearch={(name) => navigate({ search: exactQuery(name) })}
        />
      )}
      <Status
        tree={some ? tree : null}
        unit={graph?.unit ?? ""}
        cursor={cursor}
        pointed={pointed}
        zoom={zoom}
        onZoom={actions.zoomTo}
        onDetails={actions.describe}
        diff={tree?.baseTotal ? p.changes : null}
        atLeast={v.atLeast}
        leafFirst={state.invert}
        level={p.level}
      />
    </>
  );
}
