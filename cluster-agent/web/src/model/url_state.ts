// What the page shows, as the query of its address. Everything but the theme is in it.

import type { StateFilter } from "./targets";
import { parseBase, printBase, type BaseRange } from "./base_range";
import {
  defaultRange,
  isRelative,
  parseRange,
  printRange,
  rangeAround,
  type Span,
  type TimeRange,
} from "./time_range";
import { parseZone } from "./time_zone";

export type Page = "profiles" | "targets";
export type View = "table" | "both" | "flame";
export type ColorBy = "package" | "module";
export type SortBy = "name" | "self" | "total" | "base" | "now" | "change" | "other";
export type DiffBy = "share" | "absolute";
export type Changed = "" | "new" | "gone";
export type GroupBy = "" | "package" | "file";
export type Direction = "icicle" | "flame";
export type Chart = "" | "heat";
export type Panel = "" | "sandwich" | "lines";

/** A function as the answers name it. */
export interface FunctionId {
  name: string;
  file: string;
}

export type TransformKind = "focus" | "hide" | "library" | "recursion";

/** One edit of the tree; edits apply in order. A library has no name. */
export interface Transform extends FunctionId {
  kind: TransformKind;
}

export interface UrlState {
  page: Page; // the last part of the path
  service: string; // "" = start page
  type: string; // "" = the application's first
  instance: string; // "" = all
  where: string; // label matchers, "" = all
  range: TimeRange;
  zone?: string; // of the times on show (time_zone.ts); absent = as this browser prefers
  selection: Span | null; // part of the range, picked on the timeline
  search: string;
  zoom: string; // path key of a frame, "" = root
  view: View;
  color: ColorBy;
  sort: SortBy;
  ascending: boolean;
  base: BaseRange; // range of the baseline
  baseService: string | null; // null = as in the selection
  baseInstance: string | null; // null = as in the selection, "" = all
  baseWhere: string | null; // null = as in the selection, "" = all
  diff: DiffBy | ""; // "" = what suits the data
  changed: Changed; // rows of the table while comparing
  measure: "self" | "total"; // figures of the table while comparing
  group: GroupBy; // what rows of the table are, "" = functions
  within: string | null; // the group whose functions are listed, null = all groups
  by: string; // label that splits the timeline, "" = none
  chart: Chart; // of the timeline, "" = lines
  direction: Direction;
  invert: boolean;
  edit: Transform[];
  fn: FunctionId | null; // the selected function
  panel: Panel; // what is shown of it
  filter: string; // start page: words in the name
  function: string; // start page: one that is looked for in all applications, "" = none
  order: string; // start page: sorted column, "-" in front for descending; "" = default
  namespace: string; // start page: "" = all
  pods: StateFilter; // on the page of targets
  snapshot: string; // id of one that is shown in place of everything else, "" = none
}

export const emptyState: UrlState = {
  page: "profiles",
  service: "",
  type: "",
  instance: "",
  where: "",
  range: defaultRange,
  selection: null,
  search: "",
  zoom: "",
  view: "both",
  color: "package",
  sort: "self",
  ascending: false,
  base: "",
  baseService: null,
  baseInstance: null,
  baseWhere: null,
  diff: "",
  changed: "",
  measure: "self",
  group: "",
  within: null,
  by: "",
  chart: "",
  direction: "icicle",
  invert: false,
  edit: [],
  fn: null,
  panel: "",
  filter: "",
  function: "",
  order: "",
  namespace: "",
  pods: "all",
  snapshot: "",
};

/** The same once it is known how values are compared. */
export type ComparedState = UrlState & { diff: DiffBy };

export const DAY_S = 86_400;

/** Whether there is a baseline: any of its parts makes one. */
export const comparing = (s: UrlState): boolean =>
  s.base !== "" || s.baseService !== null || s.baseInstance !== null || s.baseWhere !== null;

/** Whether it has times that others should see as they are here. */
export const hasFixedTimes = (s: UrlState): boolean =>
  !isRelative(s.range) || s.selection !== null || typeof s.base === "object";

/** The changes that end a comparison. */
export const noBase = {
  base: "",
  baseService: null,
  baseInstance: null,
  baseWhere: null,
  changed: "",
} as const satisfies Partial<UrlState>;

/** The state for another application, without what was selected within the old one. */
export const otherService = (service: string): Partial<UrlState> => ({
  service,
  type: "",
  instance: "",
  where: "",
  by: "",
  within: null,
  search: "",
  zoom: "",
  edit: [],
  fn: null,
  function: "",
  panel: "",
  ...noBase,
});

const TARGETS = "targets";

/** The folder of the page, whatever it shows: "/", or "/x/" behind a proxy. */
export const folderOf = (path: string): string => path.slice(0, path.lastIndexOf("/") + 1);

/** What to show as the address; `path` is that of the present one. */
export const printAddress = (s: UrlState, path: string): string =>
  folderOf(path) + (s.page === "targets" ? TARGETS : "") + printState(s);

function oneOf<T extends string>(text: string | null, known: readonly T[], otherwise: T): T {
  return known.includes(text as T) ? (text as T) : otherwise;
}

// "name@file"; a backslash protects what belongs to the name
const printFunction = (f: FunctionId): string =>
  [f.name, f.file].map((s) => s.replace(/[\\@]/g, "\\$&")).join("@");

function parseFunction(text: string): FunctionId | null {
  const m = /^((?:[^\\@]|\\[\\@])*)@((?:[^\\@]|\\[\\@])*)$/.exec(text);
  if (!m) return null;
  const [name, file] = m.slice(1).map((s) => s.replace(/\\(.)/g, "$1"));
  return name === "" && file === "" ? null : { name, file };
}

const transformKinds: readonly TransformKind[] = ["focus", "hide", "library", "recursion"];
const MAX_TRANSFORMS = 50;

function parseTransforms(texts: string[]): Transform[] {
  return texts.slice(0, MAX_TRANSFORMS).flatMap((text) => {
    const colon = text.indexOf(":");
    const kind = transformKinds.find((k) => k === text.slice(0, colon));
    const f = parseFunction(text.slice(colon + 1));
    return kind && f ? [{ kind, ...f }] : [];
  });
}

const sorts: readonly SortBy[] = ["name", "self", "total", "base", "now", "change", "other"];

/** `nowMs`: the range has the selection, whatever it was when the address was made. */
export function parseState(query: string, path = "/", nowMs?: number): UrlState {
  const p = new URLSearchParams(query);
  const text = (name: string): string => p.get(name) ?? "";
  const select = parseRange(text("select"));
  const selection = select && "from" in select ? select : null;
  const range = parseRange(text("range")) ?? defaultRange;
  const sort = text("sort");
  const zone = parseZone(text("zone"));
  return {
    page: path.slice(folderOf(path).length) === TARGETS ? "targets" : "profiles",
    service: text("service"),
    type: text("type"),
    instance: text("instance"),
    where: text("where"),
    range: selection && nowMs !== undefined ? rangeAround(range, selection, nowMs) : range,
    ...(zone && { zone }),
    selection,
    search: text("search"),
    zoom: /^[0-9a-f]{16}$/.test(text("zoom")) ? text("zoom") : "",
    view: oneOf(p.get("view"), ["table", "both", "flame"], "both"),
    color: oneOf(p.get("color"), ["package", "module"], "package"),
    sort: oneOf(sort.replace(/^-/, ""), sorts, "self"),
    ascending: sort !== "" && !sort.startsWith("-"),
    base: parseBase(text("base")),
    baseService: p.get("baseService"),
    baseInstance: p.get("baseInstance"),
    baseWhere: p.get("baseWhere"),
    diff: oneOf(p.get("diff"), ["share", "absolute"], ""),
    changed: oneOf(p.get("changed"), ["new", "gone"], ""),
    measure: oneOf(p.get("measure"), ["self", "total"], "self"),
    group: oneOf(p.get("group"), ["package", "file"], ""),
    within: p.get("in"),
    by: text("by"),
    chart: oneOf(p.get("chart"), ["heat"], ""),
    direction: oneOf(p.get("direction"), ["icicle", "flame"], "icicle"),
    invert: text("invert") === "1",
    edit: parseTransforms(p.getAll("edit")),
    fn: parseFunction(text("fn")),
    panel: oneOf(p.get("panel"), ["sandwich", "lines"], ""),
    filter: text("filter"),
    function: text("function"),
    order: /^-?[a-z]{1,20}$/.test(text("order")) ? text("order") : "",
    namespace: text("namespace"),
    snapshot: /^[0-9a-f]{16}$/.test(text("snapshot")) ? text("snapshot") : "",
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
  put("where", s.where, "");
  put("range", printRange(s.range), printRange(defaultRange));
  put("zone", s.zone ?? "", "");
  if (s.selection) p.set("select", printRange(s.selection));
  put("base", printBase(s.base), "");
  for (const name of ["baseService", "baseInstance", "baseWhere"] as const) {
    const v = s[name];
    if (v !== null) p.set(name, v);
  }
  put("diff", s.diff, "");
  put("changed", s.changed, "");
  put("measure", s.measure, "self");
  put("group", s.group, "");
  if (s.within !== null) p.set("in", s.within);
  put("by", s.by, "");
  put("chart", s.chart, "");
  put("search", s.search, "");
  for (const t of s.edit) p.append("edit", `${t.kind}:${printFunction(t)}`);
  put("invert", s.invert ? "1" : "", "");
  put("direction", s.direction, "icicle");
  put("zoom", s.zoom, "");
  if (s.fn) p.set("fn", printFunction(s.fn));
  put("panel", s.panel, "");
  put("filter", s.filter, "");
  put("function", s.function, "");
  put("order", s.order, "");
  put("namespace", s.namespace, "");
  put("view", s.view, "both");
  put("color", s.color, "package");
  put("pods", s.pods, "all");
  put("snapshot", s.snapshot, "");
  put("sort", `${s.ascending ? "" : "-"}${s.sort}`, "-self");
  // readable addresses: these are legal in a query
  const text = p.toString().replace(/%2F/g, "/").replace(/%3A/g, ":").replace(/%40/g, "@");
  return text === "" ? "" : `?${text}`;
}
