// The JSON API of cluster-agent as the page uses it.

import type { Application } from "../model/applications";
import type { FleetVersion } from "../model/fleet";
import { COLUMNS_TYPE, readColumns } from "../model/columns";
import { useEffect, useRef, useState } from "preact/hooks";
import type { BuildSymbols } from "../model/late_symbols";
import type { Note } from "../model/notes";
import type { ProfileType } from "../model/profile_types";
import type { Runtimes } from "../model/runtimes";
import type { Unwinding } from "../model/unwinding";
import { isRefusal, noteAnswer, pending, refusals } from "./connection";
import { access } from "./session";
import type { TreeColumns } from "../model/tree";
import type { Span } from "../model/time_range";

export interface Applications {
  applications: Application[];
  n: number; // how many there are before the limit
  lastSeen: number | null;
}

export interface Series {
  name: string;
  values: (number | null)[];
  other?: boolean; // the sum of what has no series of its own
}

export interface Timeline {
  startMs: number;
  stepMs: number;
  values: (number | null)[];
  unit: string;
  completeTo?: number; // ms: up to here, all agents have sent their profiles
  instances: { id: string; value: number }[];
  series?: Series[]; // largest first; with `by`
}

/** A timeline whose series are rows, in steps that profiles can fill. */
export interface Heatmap extends Omit<Timeline, "instances"> {
  series: Series[];
  profileMs?: number; // how long a profile is; absent where steps are much longer
}

export interface Label {
  name: string;
  n: number; // values that there are
  values: { value: string; share: number }[]; // largest first
}

export interface Labels {
  labels: Label[];
}

export interface Quality {
  scope?: "selection" | "application";
  samples: number;
  truncated: number;
  lost: number;
  lostReasons: Record<string, number>;
  runtimes?: Runtimes; // whatever the type is
  unwinding?: Unwinding;
}

export interface Functions {
  name: number[];
  file: number[];
  self: number[];
  total: number[];
  baseSelf?: number[];
  baseTotal?: number[];
}

/** What an answer says about the side that it compares with. */
export interface BaseInfo {
  service: string;
  from: number;
  to: number;
  total: number;
  quality: Quality;
  stacks: number;
  rate: number; // of the total: per second, or the mean of a level
  covered: number; // ms that profiles stand for
}

export interface FlameGraph extends TreeColumns {
  service: string;
  type: string;
  unit: string;
  from: number;
  to: number;
  total: number;
  quality: Quality;
  symbols?: BuildSymbols[]; // of builds whose names are missing, if servers are asked for them
  other: { nodes: number; value: number };
  functions: Functions;
  functionsCut?: number;
  stacks: number;
  stacksCut: number;
  valueCut: number;
  rate?: number; // these two as in base, and only with one
  covered?: number;
  base?: BaseInfo;
}

/** A value on both sides; `base…` only with a baseline. */
export interface Figures {
  self: number;
  total: number;
  baseSelf?: number;
  baseTotal?: number;
}

export interface FunctionRow extends Figures {
  name: string;
  file: string;
}

export interface FunctionList {
  total: number;
  baseTotal?: number;
  unit: string;
  n: number;
  functions: FunctionRow[];
}

export interface FunctionView extends FunctionRow {
  lines: (Figures & { line: number; inlined: boolean })[];
  callers: TreeColumns; // the root is the function, its children are its callers
  callees: TreeColumns;
}

/** A source file of a selection. */
export interface Source {
  file: string;
  folders: boolean; // the server has folders of source
  text?: string;
  why?: string; // there is no text
  url?: string; // at a forge, with "{line}"
}

export interface MatchTotals {
  total: number;
  baseTotal?: number;
  functions: number;
  stacks: number;
  rate?: number | null; // this and the next one only of a part
  covered?: number;
}

export interface Stacks {
  unit: string;
  total: number;
  stacks: {
    value: number;
    base?: number;
    frames: { name: string; file: string; line: number; inlined: boolean }[]; // leaf first
  }[];
  stacksCut: number;
  valueCut: number;
}

export interface Mover {
  service: string;
  type: string;
  name: string;
  file: string;
  self: number;
  baseSelf: number;
  cores: number;
  baseCores: number;
  baseFrom?: number; // of what it is compared with, if that is not the base of all
  baseTo?: number;
}

export interface Movers {
  from: number;
  to: number;
  baseFrom: number;
  baseTo: number;
  baseCovered: number; // ms from the first to the last profile in it
  movers: Mover[]; // by the amount of the change of cores
  cores: number | null; // of all applications; null: there is no profile in this range
  baseCores: number | null;
  servicesWithoutBase: number; // with profiles in the range only
}

export interface Growth {
  service: string;
  type: string;
  value: number;
  base: number;
  baseFrom?: number; // as of a mover
}

export interface Levels {
  levels: Growth[]; // memory first, the largest growth first
}

export interface FleetApplication {
  service: string;
  namespace: string;
  type: string;
  self: number;
  total: number;
  whole: number; // of all functions
  since: number | null; // the day on which the function appeared; null: it was always there
  days: (number | null)[]; // totals
  versions: FleetVersion[];
}

/** A function in all applications. */
export interface Fleet {
  function: string;
  unit: string;
  from: number;
  to: number;
  upTo: number | null; // what was stored later is not in the sums yet; null: there are none
  kept: number; // largest functions of an application that have sums
  n: number;
  total: number | null; // of all applications; null for levels
  applications: FleetApplication[]; // largest total first
}

export interface Names {
  functions: string[];
}

export interface Notes {
  notes: Note[]; // the latest moment first
  n: number; // how many there are before the limit
}

export interface TypesAnswer {
  types: ProfileType[];
}

/** Which samples: of one service and type, in one range. */
export interface Selection {
  service: string;
  type: string;
  instance: string;
  where: string;
}

/** The baseline. What is null is as in the selection; "" means all. */
export interface BaseSide extends Span {
  service: string | null;
  instance: string | null;
  where: string | null;
}

type Params = Record<string, string | number | null | undefined>;

function query(path: string, params: Params, asGiven: Params = {}): string {
  const p = new URLSearchParams();
  for (const [name, v] of Object.entries(params)) if (v || v === 0) p.set(name, String(v));
  for (const [name, v] of Object.entries(asGiven))
    if (v !== null && v !== undefined) p.set(name, String(v));
  return `${path}?${p}`;
}

const ms = (s: Span): { from: number; to: number } => ({
  from: Math.round(s.from),
  to: Math.round(s.to),
});

// "" is sent: it means all, where nothing would mean "as in the selection"
const baseParams = (b: BaseSide | null): Params =>
  b
    ? {
        baseFrom: Math.round(b.from),
        baseTo: Math.round(b.to),
        baseService: b.service,
        baseInstance: b.instance,
        baseWhere: b.where,
      }
    : {};

const selectionQuery = (
  path: string,
  w: Selection,
  s: Span,
  base: BaseSide | null,
  more: Params = {},
): string => query(path, { ...w, ...ms(s), ...more }, baseParams(base));

export const applicationsUrl = (
  s: Span,
  more: { service?: string; search?: string; points?: number; limit?: number } = {},
): string => query("api/applications", { ...ms(s), ...more });
export const moversUrl = (
  s: Span,
  base: Span | null,
  more: { service?: string; limit?: number } = {},
): string =>
  query("api/movers", {
    ...ms(s),
    ...(base && { baseFrom: Math.round(base.from), baseTo: Math.round(base.to) }),
    ...more,
  });
export const levelsUrl = (s: Span, limit: number): string =>
  query("api/levels", { ...ms(s), limit });
export const fleetUrl = (
  s: Span,
  more: { function: string; type?: string; limit?: number },
): string => query("api/fleet", { ...ms(s), ...more });
export const namesUrl = (s: Span, more: { search: string; limit?: number }): string =>
  query("api/names", { ...ms(s), ...more });
export const labelsUrl = (w: Selection, s: Span, label = ""): string =>
  selectionQuery("api/labels", w, s, null, { label });
export const timelineUrl = (w: Selection, s: Span, points: number, by = ""): string =>
  selectionQuery("api/timeline", w, s, null, { points, by });
export const heatmapUrl = (
  w: Selection,
  s: Span,
  more: { points: number; by: string; limit: number },
): string => selectionQuery("api/heatmap", w, s, null, more);
export const flamegraphUrl = (
  w: Selection,
  s: Span,
  base: BaseSide | null = null,
  more: { zoom?: string; maxNodes?: number } = {},
): string => selectionQuery("api/flamegraph", w, s, base, { ...more, format: "columns" });
export const functionsUrl = (
  w: Selection,
  s: Span,
  base: BaseSide | null = null,
  more: { sort?: "self" | "total" | "diff"; search?: string; limit?: number } = {},
): string => selectionQuery("api/functions", w, s, base, more);
export const functionUrl = (
  w: Selection,
  s: Span,
  f: { name: string; file: string },
  base: BaseSide | null = null,
): string =>
  query("api/function", { ...w, ...ms(s) }, { name: f.name, file: f.file, ...baseParams(base) });
export const sourceUrl = (w: Selection, s: Span, file: string): string =>
  query("api/source", { ...w, ...ms(s), file });
export const matchesUrl = (
  w: Selection,
  s: Span,
  search: string,
  base: BaseSide | null = null,
): string => selectionQuery("api/matches", w, s, base, { search });
/** What a search finds of one part of several: rates add up to that of all of them. */
export const partUrl = (w: Selection, s: Span, search: string): string =>
  selectionQuery("api/matches", w, s, null, { search, byShare: 1 });
export const stacksUrl = (
  w: Selection,
  s: Span,
  base: BaseSide | null = null,
  limit?: number,
): string => selectionQuery("api/stacks", w, s, base, { limit });

export const notesUrl = (p: { service?: string; id?: string }): string => query("api/notes", p);
export const noteUrl = (p: {
  service: string;
  type: string;
  name: string;
  at: number;
  url: string;
}): string => query("api/notes", p);
export const noteUrlOf = (id: string): string => query("api/notes", { id });
export const snapshotUrl = (id: string, base: boolean): string =>
  query("api/snapshot", { id, base: base ? 1 : null });
/** The same as a note with the flame graph itself. */
export const snapshotsUrl = (
  w: Selection,
  s: Span,
  base: BaseSide | null,
  more: { name: string; at: number; url: string; ttl: string },
): string => selectionQuery("api/snapshots", w, s, base, more);

export type ExportFormat = "pprof" | "folded" | "speedscope";
/** The whole selection as a file. */
export const exportUrl = (
  format: ExportFormat,
  w: Selection,
  s: Span,
  base: BaseSide | null = null,
): string => selectionQuery(`api/${format}`, w, s, base);
export const pprofUrl = (w: Selection, s: Span, base: BaseSide | null = null): string =>
  exportUrl("pprof", w, s, base);

/** Why there is no answer, in one line. */
export class ApiError extends Error {
  constructor(
    message: string,
    readonly status: number, // of HTTP; 0 if there was no answer, NO_ANSWER if it was another's
  ) {
    super(message);
  }
}

type Check = (body: unknown) => string;

/** What an answer lacks to be a flame graph, "" if nothing. buildTree() checks its nodes. */
export function lacksOfFlameGraph(body: unknown): string {
  const g = body as Partial<Record<keyof FlameGraph, unknown>> | null;
  if (typeof g?.total !== "number") return "there is no total";
  const f = g.functions as Partial<Functions> | undefined;
  const columns = [f?.name, f?.file, f?.self, f?.total];
  if (!columns.every((c) => Array.isArray(c) && c.length === f?.name?.length))
    return "its functions are missing";
  for (const part of ["nodes", "other", "quality"] as const)
    if (typeof g[part] !== "object" || g[part] === null) return `“${part}” is missing`;
  return "";
}

/** The body of an answer in either form; null if it has another one, whose text is `text`. */
async function readBody(res: Response): Promise<{ body: unknown; text: string }> {
  if (res.headers.get("Content-Type") === COLUMNS_TYPE) {
    const bytes = await res.arrayBuffer();
    try {
      return { body: readColumns(bytes), text: "" };
    } catch {
      return { body: null, text: "" };
    }
  }
  const text = await res.text();
  try {
    return { body: JSON.parse(text), text };
  } catch {
    return { body: null, text };
  }
}

/** In place of a status of HTTP: something on the way to the cluster-agent has answered. */
export const NO_ANSWER = -1;

const NOT_OURS =
  "Something between this page and the cluster-agent has answered with a page of its own, as " +
  "proxies do when their login has expired: reload this page to log in again";

/** One answer, or an ApiError. `check` says what is wrong with an answer, "" if nothing. */
export async function fetchAnswer<T>(
  url: string,
  signal?: AbortSignal,
  check?: Check,
): Promise<T> {
  let res: Response;
  try {
    res = await fetch(url, { signal, headers: { Accept: "application/json" } });
  } catch (e) {
    if ((e as Error).name === "AbortError") throw e;
    noteAnswer(0);
    throw new ApiError("The cluster-agent does not answer", 0);
  }
  noteAnswer(res.status);
  const { body, text } = await readBody(res);
  if (res.status === 401) {
    access.set("locked");
    throw new ApiError("A key is needed", 401);
  }
  // also with 200: the page to log in at, if a proxy thinks that a person asks
  const isPage = (res.headers.get("Content-Type") ?? "").startsWith("text/html");
  if (body === null && isPage && (res.ok || res.status === 403))
    throw new ApiError(NOT_OURS, NO_ANSWER);
  if (body === null) {
    // what the server refuses before it looks at the path is one line of text
    const line = /^[^\n<]{1,250}\n?$/.test(text) ? text.trim() : `HTTP ${res.status}`;
    throw new ApiError(res.ok ? "The answer cannot be read" : line, res.status);
  }
  if (!res.ok) {
    const why = (body as { error?: unknown } | null)?.error;
    throw new ApiError(
      typeof why === "string" && why !== "" ? why : `HTTP ${res.status}`,
      res.status,
    );
  }
  const wrong = check?.(body);
  if (wrong) throw new ApiError(`The cluster-agent's answer is incomplete: ${wrong}`, res.status);
  return body as T;
}

export interface Loaded<T> {
  data: T | null; // of the newest answer; kept while the next one is under way
  error: string;
  status: number; // of HTTP, when error
  loading: boolean;
}

interface Held<T> {
  data: T | null;
  error: string;
  status: number;
  subject: string;
  done: string;
}

/**
 * Loads `url` whenever it or `attempt` changes. What was loaded stays visible while the next answer
 * is under way, unless `subject` (what the data is about) changed: then it would be wrong.
 *
 * A request that nobody waits for any more is aborted, so that the server ends its query. A refresh
 * never causes that, as it waits for requests under way (useNow); `background` ones, which do
 * not change with every refresh, do not hold it up. `check` as in fetchAnswer().
 */
export function useApi<T>(
  url: string | null,
  subject: string,
  attempt = 0,
  background = false,
  check?: Check,
): Loaded<T> {
  const [state, setState] = useState<Held<T>>({
    data: null,
    error: "",
    status: 0,
    subject: "",
    done: "",
  });
  const latest = useRef("");
  const want = url === null ? "" : `${attempt} ${url}`;
  useEffect(() => {
    latest.current = want;
    if (url === null) return;
    const abort = new AbortController();
    let under = background ? 0 : 1;
    let refused = 0;
    const end = (): void => {
      pending.set(pending.value - under);
      under = 0;
    };
    pending.set(pending.value + under);
    fetchAnswer<T>(url, abort.signal, check)
      .then(
        (data) =>
          latest.current === want && setState({ data, error: "", status: 0, subject, done: want }),
        (e: Error) => {
          if (abort.signal.aborted || latest.current !== want) return;
          const status = e instanceof ApiError ? e.status : 0;
          refused = under > 0 && isRefusal(status) ? 1 : 0;
          refusals.set(refusals.value + refused);
          setState((old) => ({
            data: old.subject === subject ? old.data : null,
            error: e.message,
            status,
            subject,
            done: want,
          }));
        },
      )
      .finally(end);
    return () => {
      abort.abort();
      end();
      refusals.set(refusals.value - refused);
      refused = 0;
    };
  }, [want]);
  const same = url !== null && state.subject === subject;
  return {
    data: same ? state.data : null,
    error: same ? state.error : "",
    status: same ? state.status : 0,
    loading: url !== null && state.done !== want,
  };
}
