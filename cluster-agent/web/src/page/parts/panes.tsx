// On narrow screens such as phones, tabs choose the one part of the page that is shown.

import { useEffect, useState } from "preact/hooks";
import { useNarrow } from "../../state/hooks";
import type { Panel, UrlState, View } from "../../model/url_state";

export type Pane = "all" | "flame" | "table" | "timeline" | "panel";

const panelTitles: Record<Panel, string> = { "": "", sandwich: "Sandwich", lines: "Lines" };

/** The pane to show, "all" where there is room; and how to choose another one. */
export function usePane(state: UrlState): [Pane, (p: Pane) => void] {
  const narrow = useNarrow();
  const [pane, setPane] = useState<Pane>(state.view === "table" ? "table" : "flame");
  // opening a panel also selects its pane
  useEffect(() => {
    if (state.panel) setPane("panel");
    else setPane((old) => (old === "panel" ? "flame" : old));
  }, [state.panel, state.fn?.name, state.fn?.file]);
  return [narrow ? pane : "all", setPane];
}

/** The view to draw in a pane. */
export const viewOf = (pane: Pane, view: View): View =>
  pane === "all" ? view : pane === "table" ? "table" : "flame";

interface Props {
  pane: Pane;
  panel: Panel;
  onPane: (p: Pane) => void;
  noTimeline?: boolean;
}

export function PaneTabs({ pane, panel, onPane, noTimeline }: Props) {
  if (pane === "all") return null;
  const tabs: { pane: Pane; title: string }[] = [
    { pane: "flame", title: "Flame" },
    { pane: "table", title: "Table" },
  ];
  if (!noTimeline) tabs.push({ pane: "timeline", title: "Timeline" });
  if (panel) tabs.push({ pane: "panel", title: panelTitles[panel] });
  return (
    <nav class="panes" aria-label="Parts of the page">
      {tabs.map((t) => (
        <button
          type="button"
          key={t.pane}
          aria-pressed={t.pane === pane}
          data-testid={`pane-${t.pane}`}
          onClick={() => onPane(t.pane)}
        >
          {t.title}
        </button>
      ))}
    </nav>
  );
}
