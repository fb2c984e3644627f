// What the page and its parts are given.

import type { DiffScheme } from "../../model/diff";
import type { UrlState } from "../../model/url_state";
import type { Navigate, Theme } from "../../state/hooks";
import type { KnownNotes } from "../../state/note_store";
import type { Pane } from "../parts/panes";
import type { ProfilesData } from "./profiles_data";

export interface PageProps {
  state: UrlState;
  navigate: Navigate;
  theme: Theme;
  dark: boolean;
  setTheme: (t: Theme) => void;
}

/** What the parts of the page share. */
export interface PartProps extends PageProps {
  data: ProfilesData;
  notes: KnownNotes;
  now: number;
  attempt: number;
  retry: () => void;
  pane: Pane;
  setPane: (pane: Pane) => void;
  scheme: DiffScheme;
  setScheme: (s: DiffScheme) => void;
}

/** Moves the range to where it ends with the last profile. */
export function jumpTo({ navigate, data }: PartProps, last: number): void {
  const length = data.span.to - data.span.from;
  navigate({ range: { from: last - length, to: last + 1000 }, selection: null, zoom: "" });
}
