// The scraped pods, as GET /targets reports them, in order. Pure.

export type EndpointState = "up" | "refused" | "down" | "not_offered" | "pending";
export type PodState = EndpointState | "invalid" | "elsewhere";

export interface Endpoint {
  type: string;
  url: string;
  container: string; // "" if it is not known
  state: EndpointState;
  lastScrape: number | null;
  lastDurationMs: number | null;
  lastBytes: number | null;
  lastError: string;
  nextScrape: number | null;
}

export interface Target {
  namespace: string;
  pod: string;
  node: string;
  service: string;
  ip: string;
  state: PodState;
  problem: string;
  endpoints: Endpoint[];
}

export interface Targets {
  now: number; // the server's clock: times are relative to it
  intervalMs: number;
  discovery: { synced: boolean; problem: string };
  forwarding?: string; // where profiles are sent; absent when they are stored here
  targets: Target[];
}

/** A pod as one line of the table. */
export interface Pod {
  target: Target;
  id: string;
  state: PodState; // "down" or "refused" also when it is one endpoint
  failing: number; // endpoints
  error: string;
  lastScrape: number | null;
  durationMs: number | null; // of the slowest
  bytes: number | null; // of all together
  nextScrape: number | null; // of the first
  types: { type: string; state: EndpointState }[]; // each once, the worst of its ports
}

export const stateNames: Record<PodState, string> = {
  down: "Down",
  refused: "Refused",
  not_offered: "Not offered",
  invalid: "Invalid",
  pending: "Pending",
  up: "Up",
  elsewhere: "Elsewhere",
};

export const stateMeanings: Record<PodState, string> = {
  down: "The last scrape of a profile failed",
  refused: "The last scrape succeeded, but the store or the receiver refused the profile",
  not_offered: "The port serves none of the types that are scraped by default",
  invalid: "The annotations say nothing that can be scraped",
  pending: "Not scraped yet",
  up: "All profiles were scraped",
  elsewhere: "Another replica scrapes it",
};

/** Pods that need attention come first. */
export const stateOrder: PodState[] = [
  "down",
  "refused",
  "not_offered",
  "invalid",
  "pending",
  "up",
  "elsewhere",
];

const worst: EndpointState[] = ["down", "refused", "pending", "up", "not_offered"];

const some = (list: (number | null)[]): number[] => list.filter((v): v is number => v !== null);
const reduce = (list: (number | null)[], by: (...v: number[]) => number): number | null => {
  const known = some(list);
  return known.length > 0 ? known.reduce((a, b) => by(a, b)) : null;
};

function typesOf(endpoints: Endpoint[]): Pod["types"] {
  const types: Pod["types"] = [];
  for (const e of endpoints) {
    const seen = types.find((t) => t.type === e.type);
    if (!seen) types.push({ type: e.type, state: e.state });
    else if (worst.indexOf(e.state) < worst.indexOf(seen.state)) seen.state = e.state;
  }
  return types;
}

export function podOf(target: Target): Pod {
  const { endpoints } = target;
  const down = endpoints.filter((e) => e.state === "down");
  const refused = endpoints.filter((e) => e.state === "refused");
  const failing = [...down, ...refused];
  const missing = target.state === "not_offered" ? endpoints[0]?.lastError : "";
  const scraped = endpoints.filter((e) => e.lastScrape !== null);
  return {
    target,
    id: `${target.namespace}/${target.pod}`,
    state:
      (target.state === "up" || target.state === "refused") && failing.length > 0
        ? failing[0].state
        : target.state,
    failing: failing.length,
    error: target.problem || failing.find((e) => e.lastError)?.lastError || missing || "",
    lastScrape: reduce(
      endpoints.map((e) => e.lastScrape),
      Math.max,
    ),
    durationMs: reduce(
      scraped.map((e) => e.lastDurationMs),
      Math.max,
    ),
    bytes: reduce(
      scraped.map((e) => e.lastBytes),
      (a, b) => a + b,
    ),
    nextScrape: reduce(
      endpoints.map((e) => e.nextScrape),
      Math.min,
    ),
    types: typesOf(endpoints),
  };
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

export function podsOf(targets: Target[]): Pod[] {
  const rank = (p: Pod): number => stateOrder.indexOf(p.state);
  return targets.map(podOf).sort((a, b) => rank(a) - rank(b) || compare(a.id, b.id));
}

export type StateFilter = PodState | "all";

export function countStates(pods: Pod[]): Record<StateFilter, number> {
  const n = Object.fromEntries(["all", ...stateOrder].map((s) => [s, 0])) as Record<
    StateFilter,
    number
  >;
  n.all = pods.length;
  for (const p of pods) n[p.state]++;
  return n;
}

/** Every word must occur somewhere in the text of the row. */
export function filterPods(pods: Pod[], state: StateFilter, text: string): Pod[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const matches = ({ id, target: t, error }: Pod): boolean => {
    const all = `${id} ${t.service} ${t.node} ${t.ip} ${error}`.toLowerCase();
    return words.every((w) => all.includes(w));
  };
  return pods.filter((p) => (state === "all" || p.state === state) && matches(p));
}

/** A line of the table: a pod; of one that is open also its endpoints, and every error in full. */
export interface Line {
  pod: Pod;
  endpoint: Endpoint | null;
  note: string;
}

export const canOpen = ({ target: t }: Pod): boolean => t.endpoints.length > 0 || t.problem !== "";

export function linesOf(pods: Pod[], open: ReadonlySet<string>): Line[] {
  const lines: Line[] = [];
  for (const pod of pods) {
    lines.push({ pod, endpoint: null, note: "" });
    if (!open.has(pod.id)) continue;
    if (pod.target.problem) lines.push({ pod, endpoint: null, note: pod.target.problem });
    for (const endpoint of pod.target.endpoints) {
      lines.push({ pod, endpoint, note: "" });
      if (endpoint.lastError) lines.push({ pod, endpoint, note: endpoint.lastError });
    }
  }
  return lines;
}

/** "in 12 s", "now" when it is due. */
export function countdown(at: number | null, now: number): string {
  if (at === null) return "–";
  const s = Math.ceil((at - now) / 1000);
  if (s <= 0) return "now";
  return s < 120 ? `in ${s} s` : `in ${Math.round(s / 60)} min`;
}

/** "4 s ago", to the second while it is recent. */
export function since(at: number | null, now: number): string {
  if (at === null) return "never";
  const s = Math.max(0, Math.floor((now - at) / 1000));
  if (s < 120) return `${s} s ago`;
  return s < 7200
    ? `${Math.round(s / 60)} min ago`
    : s < 172800
      ? `${Math.round(s / 3600)} h ago`
      : `${Math.round(s / 86400)} d ago`;
}
