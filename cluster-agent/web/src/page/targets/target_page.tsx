// The scraped pods: their state, their profiles, and what is wrong. Only the rows in view exist.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Waiting } from "../parts/waiting";
import type { Loaded } from "../../state/api";
import { AnnotateCommands } from "../parts/empty";
import { useHidden, type Navigate } from "../../state/hooks";
import { useVirtual } from "../../state/virtual";
import { splitService } from "../../model/names";
import {
  canOpen,
  countdown,
  countStates,
  filterPods,
  linesOf,
  podsOf,
  since,
  stateMeanings,
  stateNames,
  stateOrder,
  type Line,
  type Pod,
  type StateFilter,
  type Targets,
} from "../../model/targets";
import { duration } from "../../model/time_range";
import { bytes, grouped, nanoseconds } from "../../model/units";
import { printState, type UrlState } from "../../model/url_state";

const ROW = 31;

interface Props {
  state: UrlState;
  navigate: Navigate;
  targets: Targets;
  skew: number; // the server's clock less ours
}

/** The server's time, every second. */
function useClock(skew: number): number {
  const [now, setNow] = useState(() => Date.now());
  const hidden = useHidden();
  useEffect(() => {
    if (hidden) return;
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, [hidden]);
  return Math.max(now, Date.now() - 1000) + skew;
}

const dots: Record<string, string> = {
  up: "dot good",
  down: "dot bad",
  refused: "dot bad",
  not_offered: "dot bad",
  invalid: "dot fair",
  pending: "dot",
  elsewhere: "dot",
};
const took = (ms: number | null): string => (ms === null ? "–" : nanoseconds(ms * 1e6));
const size = (n: number | null): string => (n ? bytes(n) : "–");

/** Where the profiles of a pod are; its name alone if there are none here. */
function ToProfiles({ service, props }: { service: string; props: Props }) {
  const { name } = splitService(service);
  if (props.targets.forwarding || !service) return <>{name}</>;
  const there = {
    page: "profiles",
    service,
    type: "",
    instance: "",
    search: "",
    pods: "all",
  } as const;
  return (
    <a
      href={`./${printState({ ...props.state, ...there })}`}
      tabIndex={-1}
      onClick={(e) => {
        e.stopPropagation();
        if (e.metaKey || e.ctrlKey || e.shiftKey || e.button !== 0) return;
        e.preventDefault();
        props.navigate(there);
      }}
    >
      {name}
    </a>
  );
}

function PodCells({
  pod,
  open,
  now,
  props,
}: {
  pod: Pod;
  open: boolean;
  now: number;
  props: Props;
}) {
  const { target: t } = pod;
  return (
    <>
      <td title={stateMeanings[pod.state]}>
        <span class="twisty" aria-hidden="true">
          {canOpen(pod) ? (open ? "▾" : "▸") : ""}
        </span>
        <span class={dots[pod.state]} aria-hidden="true" />
        {stateNames[pod.state]}
      </td>
      <td title={pod.id}>
        <span class="dim">{t.namespace} / </span>
        {t.pod}
      </td>
      <td title={t.service}>
        <ToProfiles service={t.service} props={props} />
      </td>
      <td class="dim t-node" title={`${t.node} ${t.ip}`}>
        {t.node}
      </td>
      <td>
        {pod.types.map((x) => (
          <span
            key={x.type}
            class={`kind ${x.state}`}
            title={`${x.type}: ${stateNames[x.state].toLowerCase()}`}
          >
            {x.type}
          </span>
        ))}
      </td>
      <td class="num">{t.endpoints.length > 0 ? since(pod.lastScrape, now) : "–"}</td>
      <td class="num dim t-more">{took(pod.durationMs)}</td>
      <td class="num dim t-more">{size(pod.bytes)}</td>
      <td class="num dim">{countdown(pod.nextScrape, now)}</td>
      <td class={pod.state === "invalid" ? "warn" : "bad-text"} title={pod.error}>
        {pod.error}
      </td>
    </>
  );
}

function EndpointCells({ line, now }: { line: Line; now: number }) {
  const e = line.endpoint;
  if (!e) return null;
  const scraped = e.lastScrape !== null;
  return (
    <>
      <td>
        <span class="twisty" />
        <span class={dots[e.state]} aria-hidden="true" />
        {stateNames[e.state]}
      </td>
      <td colSpan={2} title={e.url}>
        <span class="mono">{e.url}</span>
      </td>
      <td class="dim t-node" title={e.container && `container ${e.container}`}>
        {e.container}
      </td>
      <td>
        <span class={`kind ${e.state}`}>{e.type}</span>
      </td>
      <td class="num">{since(e.lastScrape, now)}</td>
      <td class="num dim t-more">{took(scraped ? e.lastDurationMs : null)}</td>
      <td class="num dim t-more">{size(scraped ? e.lastBytes : null)}</td>
      <td class="num dim">{countdown(e.nextScrape, now)}</td>
      <td />
    </>
  );
}

function Cells({
  line,
  open,
  now,
  props,
}: {
  line: Line;
  open: boolean;
  now: number;
  props: Props;
}) {
  if (line.note)
    // spans the columns that a narrow window also has: one more would widen the table
    return (
      <>
        <td
          class={line.endpoint ? "note-cell bad-text" : "note-cell warn"}
          colSpan={heads.length - 3}
          title={line.note}
        >
          {line.note}
        </td>
        <td class="t-node" />
        <td class="t-more" />
        <td class="t-more" />
      </>
    );
  if (line.endpoint) return <EndpointCells line={line} now={now} />;
  return <PodCells pod={line.pod} open={open} now={now} props={props} />;
}

const heads: [string, string][] = [
  ["State", "t-state"],
  ["Pod", "t-pod"],
  ["Application", "t-service"],
  ["Node", "t-node"],
  ["Profiles", "t-kinds"],
  ["Last scrape", "num t-time"],
  ["Took", "num t-time t-more"],
  ["Size", "num t-time t-more"],
  ["Next", "num t-next"],
  ["Last error", ""],
];

interface RowProps {
  line: Line;
  at: number; // of all lines
  entry: boolean; // Tab leads to it
  open: boolean;
  toggle: () => void;
  now: number;
  props: Props;
}

function Row({ line, at, entry, open, toggle, now, props }: RowProps) {
  const { pod, endpoint, note } = line;
  const isPod = !endpoint && !note;
  const onKey = (e: KeyboardEvent): void => {
    const row = e.currentTarget as HTMLElement;
    if (e.key === "ArrowDown") (row.nextElementSibling as HTMLElement | null)?.focus();
    else if (e.key === "ArrowUp") (row.previousElementSibling as HTMLElement | null)?.focus();
    else if (e.key === "Enter" || e.key === " ") toggle();
    else if (e.key === (open ? "ArrowLeft" : "ArrowRight")) toggle();
    else return;
    e.preventDefault();
  };
  return (
    <tr
      class={isPod ? (open ? "target open" : "target") : "target part"}
      tabIndex={entry ? 0 : -1}
      aria-level={isPod ? 1 : 2}
      aria-expanded={isPod && canOpen(pod) ? open : undefined}
      aria-rowindex={at + 2}
      data-testid={isPod ? "target" : note ? "note" : "endpoint"}
      data-state={endpoint ? endpoint.state : pod.state}
      onClick={() => isPod && toggle()}
      onKeyDown={onKey}
    >
      <Cells line={line} open={open} now={now} props={props} />
    </tr>
  );
}

interface TableProps {
  lines: Line[];
  open: Set<string>;
  toggle: (id: string) => void;
  props: Props;
}

function PodTable({ lines, open, toggle, props }: TableProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const now = useClock(props.skew);
  const rows = useVirtual(scroller, lines.length, ROW);
  return (
    <div class="start-scroll" ref={scroller} onScroll={rows.onScroll}>
      <table
        class="targets"
        role="treegrid"
        aria-label="Targets"
        aria-rowcount={lines.length + 1}
        data-testid="targets"
      >
        <thead>
          <tr>
            {heads.map(([label, style]) => (
              <th key={label} scope="col" class={style}>
                {label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.above > 0 && <tr aria-hidden="true" style={{ height: `${rows.above}px` }} />}
          {lines.slice(rows.from, rows.to).map((line, k) => (
            <Row
              key={`${line.pod.id} ${line.endpoint?.url ?? ""} ${line.note}`}
              line={line}
              at={rows.from + k}
              entry={rows.from + k === rows.entry}
              open={open.has(line.pod.id)}
              toggle={() => toggle(line.pod.id)}
              now={now}
              props={props}
            />
          ))}
          {rows.below > 0 && (
            <tr aria-hidden="true" style={{ height: `${rows.below}px` }} />
          )}
        </tbody>
      </table>
      {lines.length === 0 && <div class="note">No pod matches</div>}
    </div>
  );
}

function States({
  pods,
  state,
  navigate,
}: {
  pods: Pod[];
  state: StateFilter;
  navigate: Navigate;
}) {
  const counts = countStates(pods);
  // states that occur, the selected one, and those that are always offered
  const shown = stateOrder.filter(
    (s) => counts[s] > 0 || s === state || s === "down" || s === "invalid",
  );
  return (
    <div class="segments" role="group" aria-label="State">
      {(["all", ...shown] as StateFilter[]).map((s) => (
        <button
          type="button"
          key={s}
          aria-pressed={s === state}
          title={s === "all" ? "All pods" : stateMeanings[s]}
          data-testid={`state-${s}`}
          onClick={() => navigate({ pods: s }, "replace")}
        >
          {s === "all" ? "All" : stateNames[s]} <span class="num count">{grouped(counts[s])}</span>
        </button>
      ))}
    </div>
  );
}

function TargetList(props: Props) {
  const { state, navigate, targets } = props;
  const [open, setOpen] = useState<Set<string>>(() => new Set());
  const pods = useMemo(() => podsOf(targets.targets), [targets]);
  const shown = useMemo(
    () => filterPods(pods, state.pods, state.search),
    [pods, state.pods, state.search],
  );
  const lines = useMemo(() => linesOf(shown, open), [shown, open]);
  const toggle = (id: string): void => {
    if (!pods.some((p) => p.id === id && canOpen(p))) return;
    const next = new Set(open);
    if (!next.delete(id)) next.add(id);
    setOpen(next);
  };
  return (
    <main class="start">
      <div class="start-bar">
        <input
          type="search"
          class="filter"
          placeholder="Filter by pod, application, node, error"
          aria-label="Filter targets"
          data-testid="target-filter"
          data-slash
          value={state.search}
          onInput={(e) => navigate({ search: e.currentTarget.value }, "replace")}
        />
        <States pods={pods} state={state.pods} navigate={navigate} />
        <span class="dim num wide-only">
          {shown.length === pods.length ? "" : `${grouped(shown.length)} of `}
          {grouped(pods.length)} {pods.length === 1 ? "pod" : "pods"} · every{" "}
          {duration(targets.intervalMs)}
        </span>
      </div>
      <PodTable lines={lines} open={open} toggle={toggle} props={props} />
    </main>
  );
}

function NoTargets({ targets }: { targets: Targets }) {
  const { synced } = targets.discovery;
  return (
    <main class="empty" data-testid="no-targets">
      <h2>{synced ? "No pod asks to be scraped" : "Reading the pods of the cluster"}</h2>
      {synced ? (
        <>
          <p>
            Pods that serve profiles over HTTP, as Go does under /debug/pprof, are found by their
            annotations:
          </p>
          <AnnotateCommands />
        </>
      ) : (
        <p>The API server has not answered with all pods yet.</p>
      )}
    </main>
  );
}

/** Shown when scraping is off: why, and how to switch it on. */
function ScrapingOff({ why }: { why: string }) {
  return (
    <main class="empty" data-testid="scraping-off">
      <h2>Pods are not scraped</h2>
      <p>{why}</p>
      <p>
        In a cluster the cluster-agent finds annotated pods by itself; its service account has to be
        allowed to get, list and watch pods. Outside, tell it how to reach the API server:
      </p>
      <pre>
        <code>coroot-cluster-agent --kubeconfig=$HOME/.kube/config</code>
      </pre>
      <p>Or, without Kubernetes, which addresses or which containers of Docker to scrape:</p>
      <pre>
        <code>{`coroot-cluster-agent --scrape-config=/etc/coroot/targets.yaml
coroot-cluster-agent --scrape-docker-socket=/var/run/docker.sock`}</code>
      </pre>
    </main>
  );
}

function Notes({ targets, error }: { targets: Targets | null; error: string }) {
  const problem = targets?.discovery.problem;
  return (
    <>
      {error && (
        <div class="strip error-strip" role="alert" data-testid="error">
          <span class="one-line">Targets: {error}</span>
        </div>
      )}
      {problem && (
        <div class="strip warn-strip" role="status" data-testid="discovery-problem">
          <span class="one-line" title={problem}>
            Targets may be out of date: {problem}
          </span>
        </div>
      )}
      {targets?.forwarding && (
        <div class="strip" role="status" data-testid="forwarding">
          Profiles are sent to {targets.forwarding} and are shown there; nothing is stored here.
        </div>
      )}
    </>
  );
}

interface PageProps {
  state: UrlState;
  navigate: Navigate;
  loaded: Loaded<Targets>;
  onRetry: () => void;
}

export function TargetsPage({ state, navigate, loaded, onRetry }: PageProps) {
  const targets = loaded.data;
  const skew = useMemo(() => (targets ? targets.now - Date.now() : 0), [targets]);
  useEffect(() => {
    document.title = "Targets · profiles";
  }, []);
  return (
    <>
      <Notes targets={targets} error={loaded.status === 404 || !targets ? "" : loaded.error} />
      {loaded.status === 404 ? (
        <ScrapingOff why={loaded.error} />
      ) : !targets ? (
        <Waiting
          what="targets"
          loading={loaded.loading}
          error={loaded.error}
          status={loaded.status}
          onRetry={onRetry}
        />
      ) : targets.targets.length === 0 ? (
        <NoTargets targets={targets} />
      ) : (
        <TargetList state={state} navigate={navigate} targets={targets} skew={skew} />
      )}
    </>
  );
}
