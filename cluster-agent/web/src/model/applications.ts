// The list of applications: order, grouping, and which applications have stopped sending profiles.

import type { Span } from "./time_range";

export interface ApplicationType {
  type: string;
  lastSeen: number;
}

export interface Application {
  service: string;
  namespace: string; // "" = not of Kubernetes
  types: ApplicationType[];
  firstSeen: number; // start of the first known profile
  lastSeen: number;
  cores: number | null;
  spark?: (number | null)[]; // cores
}

/** Names of the types of an application. */
export const typeNames = (a: Application): string[] => a.types.map((t) => t.type);

export type OrderBy = "name" | "cores" | "change" | "seen";

export interface Order {
  by: OrderBy;
  ascending: boolean;
}

const orders: readonly OrderBy[] = ["name", "cores", "change", "seen"];

/** "name", "-cores"; anything else is the default, most cores first. */
export function parseOrder(text: string): Order {
  const by = orders.find((o) => o === text.replace(/^-/, ""));
  return by ? { by, ascending: !text.startsWith("-") } : { by: "cores", ascending: false };
}

export const printOrder = (o: Order): string =>
  o.by === "cores" && !o.ascending ? "" : `${o.ascending ? "" : "-"}${o.by}`;

/** A row of the list: an application, or commands that are alike. */
export interface Row {
  key: string;
  app: Application | null; // null: a group
  inside: boolean; // a member of the open group above
  title: string; // of a group
  members: number;
  open: boolean;
  cores: number | null;
  change: number | null; // of cores since the day before; null: not known
  isNew: boolean; // it had no profile then
  lastSeen: number;
  spark: (number | null)[] | undefined;
}

/** Of the applications that a filter leaves. */
export const filterWords = (text: string): string[] =>
  text.toLowerCase().split(/\s+/).filter(Boolean);

export const OUTSIDE = "-"; // the namespace of what is not of Kubernetes

export function choose(all: Application[], words: string[], namespace: string): Application[] {
  if (words.length === 0 && namespace === "") return all;
  return all.filter(
    (a) =>
      (namespace === "" || (a.namespace || OUTSIDE) === namespace) &&
      words.every((w) => a.service.toLowerCase().includes(w)),
  );
}

export interface Namespace {
  name: string; // OUTSIDE for the rest
  n: number;
  cores: number;
}

/** The one with the most cores first. */
export function namespacesOf(all: Application[]): Namespace[] {
  const found = new Map<string, Namespace>();
  for (const a of all) {
    const name = a.namespace || OUTSIDE;
    const old = found.get(name) ?? { name, n: 0, cores: 0 };
    found.set(name, { name, n: old.n + 1, cores: old.cores + (a.cores ?? 0) });
  }
  return [...found.values()].sort((x, y) => y.cores - x.cores || (x.name < y.name ? -1 : 1));
}

const SHORT_MS = 3_600_000;
const COMMAND = "/process/";

/** Share of the steps from `from` to `to` (indexes) that have a value. */
function filled(spark: (number | null)[], from: number, to: number): number {
  let n = 0;
  for (let i = from; i <= to; i++) if (spark[i] !== null) n++;
  return to >= from ? n / (to - from + 1) : 0;
}

/** The first step of the sparklines' range that has any profile: the agents may be new here. */
export function firstStep(all: Application[], span: Span): number {
  const n = all.find((a) => a.spark)?.spark?.length ?? 1;
  const first = all.reduce((m, a) => Math.min(m, a.firstSeen), span.to);
  const step = Math.floor(((first - span.from) / (span.to - span.from)) * n);
  return Math.max(0, Math.min(n - 1, step));
}

/**
 * A command that ran for a while: a bare process that is neither known for long nor there for most
 * of the range, as far as there are profiles in it (`first`: their first step).
 */
export function isOneOff(a: Application, first = 0): boolean {
  if (!a.service.startsWith(COMMAND) || a.lastSeen - a.firstSeen >= SHORT_MS) return false;
  return !a.spark || filled(a.spark, first, a.spark.length - 1) < 0.7;
}

const SILENT_MS = 180_000; // three upload intervals
const LONG_MS = 600_000;

/**
 * Whether the application is missing: it had profiles for long and without a break, and then none,
 * while others still had some. `newest` is the last profile of anything.
 */
export function isMissed(
  a: Application,
  span: Span,
  newest: number | null,
  sparks = span, // range of the sparkline
): boolean {
  const end = Math.min(span.to, newest ?? span.to);
  if (end - a.lastSeen <= SILENT_MS || a.lastSeen - a.firstSeen < LONG_MS || isOneOff(a))
    return false;
  if (!a.spark) return true;
  const step = (sparks.to - sparks.from) / a.spark.length;
  const at = (ms: number): number =>
    Math.min(a.spark!.length - 1, Math.max(0, Math.floor((ms - sparks.from) / step)));
  return filled(a.spark, at(a.firstSeen), at(a.lastSeen - 1)) >= 0.8;
}

const sum = (values: (number | null)[]): number | null =>
  values.reduce((s, v) => (v === null ? s : (s ?? 0) + v), null);

function sumSparks(apps: Application[]): (number | null)[] | undefined {
  const n = apps.find((a) => a.spark)?.spark?.length;
  if (!n) return undefined;
  return Array.from({ length: n }, (_, i) => sum(apps.map((a) => a.spark?.[i] ?? null)));
}

/** The leading letters of a command's name: `cc1plus` → `cc`, `job-7.sh` → `job`. */
const stemOf = (service: string): string =>
  /^[a-z_]*/i.exec(service.slice(COMMAND.length))?.[0].toLowerCase() ?? "";

function commonStart(names: string[]): string {
  let start = names[0];
  for (const name of names) while (!name.startsWith(start)) start = start.slice(0, -1);
  return start;
}

const NOTABLE = 0.05; // share of all cores
const FEWEST = 3; // fewer are no group

/** Groups one-off commands by the leading letters of their names; the rest are one group. */
function groupsOf(commands: Application[]): { title: string; apps: Application[] }[] {
  const byStem = new Map<string, Application[]>();
  for (const a of commands) {
    const stem = stemOf(a.service);
    const same = byStem.get(stem);
    if (same) same.push(a);
    else byStem.set(stem, [a]);
  }
  const groups: { title: string; apps: Application[] }[] = [];
  const rest: Application[] = [];
  for (const apps of byStem.values()) {
    const start = commonStart(apps.map((a) => a.service.slice(COMMAND.length)));
    if (apps.length >= FEWEST && start !== "") groups.push({ title: `${start}…`, apps });
    else rest.push(...apps);
  }
  if (rest.length >= FEWEST) groups.push({ title: "other commands", apps: rest });
  else groups.push(...rest.map((a) => ({ title: "", apps: [a] })));
  return groups;
}

export interface Folding {
  order: Order;
  open: ReadonlySet<string>; // titles of groups
  fold: boolean;
  first: number; // step in which the profiles begin
  before: ReadonlyMap<string, number | null> | null; // cores by service, the day before
}

const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

function compare(a: Row, b: Row, { by, ascending }: Order): number {
  const name = (r: Row): string => r.app?.service ?? COMMAND + r.title;
  const number = (r: Row): number =>
    by === "cores"
      ? (r.cores ?? -1)
      : by === "seen"
        ? r.lastSeen
        : (r.change ?? Number.NEGATIVE_INFINITY);
  const c = by === "name" ? compareText(name(a), name(b)) : number(a) - number(b);
  return (Number.isNaN(c) ? 0 : ascending ? c : -c) || compareText(name(a), name(b));
}

const FOLD_AFTER_MS = 300_000;

/** Whether profiles go back far enough to tell one-off commands from permanent ones. */
const isEstablished = (apps: Application[]): boolean =>
  Math.max(...apps.map((a) => a.lastSeen)) - Math.min(...apps.map((a) => a.firstSeen)) >=
  FOLD_AFTER_MS;

export const FOLD_FROM = 20; // shorter lists are not grouped

/** What the list shows, from top to bottom. */
export function rowsOf(apps: Application[], f: Folding): Row[] {
  const rowOf = (a: Application, inside: boolean): Row => {
    const isNew = f.before !== null && !f.before.has(a.service);
    const then = f.before?.get(a.service) ?? 0;
    return {
      key: a.service,
      app: a,
      inside,
      title: "",
      members: 1,
      open: false,
      cores: a.cores,
      change: f.before === null || a.cores === null ? null : a.cores - then,
      isNew,
      lastSeen: a.lastSeen,
      spark: a.spark?.slice(f.first), // a young store has nothing before
    };
  };
  const sorted = (rows: Row[]): Row[] => rows.sort((x, y) => compare(x, y, f.order));
  const top: Row[] = [];
  const inside = new Map<string, Application[]>();
  const commands: Application[] = [];
  const fold = f.fold && isEstablished(apps);
  // a command with a large share of CPU is listed by itself, even if it ran briefly
  const much = NOTABLE * apps.reduce((s, a) => s + (a.cores ?? 0), 0);
  for (const a of apps)
    if (fold && (a.cores ?? 0) <= much && isOneOff(a, f.first)) commands.push(a);
    else top.push(rowOf(a, false));
  for (const g of groupsOf(commands)) {
    if (g.title === "") {
      top.push(rowOf(g.apps[0], false));
      continue;
    }
    inside.set(g.title, g.apps);
    top.push({
      key: `group ${g.title}`,
      app: null,
      inside: false,
      title: g.title,
      members: g.apps.length,
      open: f.open.has(g.title),
      cores: sum(g.apps.map((a) => a.cores)),
      change: null, // other commands ran then
      isNew: false,
      lastSeen: Math.max(...g.apps.map((a) => a.lastSeen)),
      spark: sumSparks(g.apps)?.slice(f.first),
    });
  }
  return sorted(top).flatMap((row) =>
    row.open ? [row, ...sorted((inside.get(row.title) ?? []).map((a) => rowOf(a, true)))] : [row],
  );
}

/** SVG paths of a sparkline: its line, where a lone value is a dash, and the area below it. */
export function sparkPaths(
  values: (number | null)[],
  width: number,
  height: number,
): { line: string; area: string } {
  const most = Math.max(...values.map((v) => v ?? 0), 1e-9);
  const x = (i: number): string => ((i + 0.5) * (width / values.length)).toFixed(1);
  const y = (v: number): string => (height - 1 - (v / most) * (height - 2)).toFixed(1);
  let line = "";
  let area = "";
  values.forEach((v, i) => {
    if (v === null) return;
    const joined = i > 0 && values[i - 1] !== null;
    const last = (values[i + 1] ?? null) === null;
    line += `${joined ? "L" : "M"}${x(i)} ${y(v)}${last && !joined ? "m-1 0h2" : ""}`;
    area += `${joined ? "" : `M${x(i)} ${height}`}L${x(i)} ${y(v)}${last ? `V${height}Z` : ""}`;
  });
  return { line, area };
}
