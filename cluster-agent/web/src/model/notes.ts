// Notes: what readers wrote down, at a moment of an application or of all of them.

import { isRelative, resolve, type Span } from "./time_range";
import { parseState, printState, type UrlState } from "./url_state";

export interface Note {
  id: string;
  service: string; // "" = about all
  type: string;
  at: number; // ms: the moment that it is about
  created: number;
  expires: number; // when it is deleted
  name: string;
  text: string;
  url: string; // query of the page's address, "" = none
  bytes: number; // of its flame graph, 0 = it has none
  compared: boolean; // the flame graph has a baseline
}

/** Characters of a name, as the server counts them; maxLength would count an emoji as two. */
export const cutName = (name: string): string => [...name].slice(0, 100).join("");

/** The moment of a new note: the start of the selection, or else the end of the range shown. */
export const momentOf = (s: UrlState, span: Span): number =>
  Math.round(s.selection ? s.selection.from : span.to - 1);

/** The address that a note keeps; a live view opens with these times, or with those of then. */
export function viewOf(s: UrlState, now: number, zone: string, live: boolean): string {
  const kept = live && isRelative(s.range) && !s.selection;
  return printState(kept ? s : { ...s, range: resolve(s.range, now), zone }) || "?";
}

/** Where a note leads, null if nowhere. */
export const stateOf = (n: Note): UrlState | null =>
  n.url ? parseState(n.url, "/", Date.now()) : null;

/** Those of a chart, the earliest first. */
export const notesWithin = (notes: Note[], chart: Span): Note[] =>
  notes.filter((n) => n.at > chart.from && n.at < chart.to).sort((a, b) => a.at - b.at);

/** What of a view can be shown of its snapshot, too. */
export function shownOf(url: string): Partial<UrlState> {
  const { view, color, search, edit, invert, direction, diff } = parseState(url);
  return { view, color, search, edit, invert, direction, diff };
}
