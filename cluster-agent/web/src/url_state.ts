// What the page shows, as the query of its address. Everything but the theme is in it.

import type { StateFilter } from "./targets";
import { defaultRange, parseRange, printRange, type Span, type TimeRange } from "./time_range";

export type Page = "profiles" | "targets";
export type View = "table" | "both" | "flame";
export type ColorBy = "package" | "module";
export type SortBy = "name" | "self" | "total";

export interface UrlState {
  page: Page; // the last part of the path
  service: string; // "" = start page
  type: string; // "" = the application's first
  instance: string; // "" = all
  range: TimeRange;
  selection: Span | null; // part of the range, picked on the timeline
  search: string;
  zoom: string; // path key of a frame, "" = root
  view: View;
  color: ColorBy;
  sort: SortBy;
  ascending: boolean;
  pods: StateFilter; // on the page of targets
}

export const emptyState: UrlState = {
  page: "profiles",
  service: "",
  type: "",
  instance: "",
  range: defaultRange,
  selection: null,
  search: "",
  zoom: "",
  view: "both",
  color: "package",
  sort: "self",
  ascending: false,
  pods: "all",
};

const TARGETS = "targets";

/** The folder of the page, whatever it shows: "/", or "/x/" behind a proxy. */
const folderOf = (path: string): string => path.slice(0, path.lastIndexOf("/") + 1);

/** What to show as the address; `path` is that of the present one. */
export const printAddress = (s: UrlState, path: string): string =>
  folderOf(path) + (s.page === "targets" ? TARGETS : "") + printState(s);

function oneOf<T extends string>(text: string | null, known: readonly T[], otherwise: T): T {
  return known.includes(text as T) ? (text as T) : otherwise;
}

export function parseState(query: string, path = "/"): UrlState {
  const p = new URLSearchParams(query);
  const text = (name: string): string => p.get(name) ?? "";
  const selection = parseRange(text("select"));
  const sort = text("sort");
  return {
    page: path.slice(folderOf(path).length) === TARGETS ? "targets" : "profiles",
    service: text("service"),
    type: text("type"),
    instance: text("instance"),
    range: parseRange(text("range")) ?? defaultRange,
    selection: selection && "from" in selection ? selection : null,
    search: text("search"),
    zoom: /^[0-9a-f]{16}$/.test(text("zoom")) ? text("zoom") : "",
    view: oneOf(p.get("view"), ["table", "both", "flame"], "both"),
    color: oneOf(p.get("color"), ["package", "module"], "package"),
    sort: oneOf(sort.replace(/^-/, ""), ["name", "self", "total"], "self"),
    ascending: sort !== "" && !sort.startsWith("-"),
    pods: oneOf(p.get("pods"), ["all", "up", "down", "pending", "invalid", "elsewhere"], "all"),
  };
}

/** Only what differs from the default, in a fixed order: "?service=…&range=3h", or "". */
export function printState(s: UrlState): string {
  const p = new URLSearchParams();
  const put = (name: string, value: string, otherwise: string): void => {
    if (value !== otherwise) p.set(name, value);
  };
  put("service", s.service, "");
  put("type", s.type, "");
  put("instance", s.instance, "");
  put("range", printRange(s.range), printRange(defaultRange));
  if (s.selection) p.set("select", printRange(s.selection));
  put("search", s.search, "");
  put("zoom", s.zoom, "");
  put("view", s.view, "both");
  put("color", s.color, "package");
  put("pods", s.pods, "all");
  put("sort", `${s.ascending ? "" : "-"}${s.sort}`, "-self");
  // readable addresses: these are legal in a query
  const text = p.toString().replace(/%2F/g, "/").replace(/%3A/g, ":");
  return text === "" ? "" : `?${text}`;
}
