// The table of the scraped pods: a line for each, which opens to those of its endpoints.

import { useEffect, useState } from "preact/hooks";
import { splitService } from "../../model/names";
import {
  canOpen,
  countdown,
  since,
  stateMeanings,
  stateNames,
  type Endpoint,
  type Line,
  type PodState,
  type Targets,
} from "../../model/targets";
import { bytes, nanoseconds } from "../../model/units";
import { printState, type UrlState } from "../../model/url_state";
import { useHidden, type Navigate } from "../../state/hooks";
import { follow } from "../parts/links";
import { LongTable, toNextRow } from "../parts/long_table";

const ROW = 31; // px, as in start.css

export interface Props {
  state: UrlState;
  navigate: Navigate;
  targets: Targets;
  skew: number; // the server's clock less ours
}

/** The server's time, every second. */
function useServerTime(skew: number): number {
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
        follow(e, () => props.navigate(there));
      }}
    >
      {name}
    </a>
  );
}

interface CellProps {
  line: Line;
  open: boolean;
  now: number;
  props: Props;
}

const State = ({ state, twisty }: { state: PodState; twisty: string }) => (
  <>
    <span class="twisty" aria-hidden="true">
      {twisty}
    </span>
    <span class={dots[state]} aria-hidden="true" />
    {stateNames[state]}
  </>
);

function PodCells({ line: { pod }, open, now, props }: CellProps) {
  const { target: t } = pod;
  return (
    <>
      <td title={stateMeanings[pod.state]}>
        <State state={pod.state} twisty={canOpen(pod) ? (open ? "▾" : "▸") : ""} />
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

function EndpointCells({ endpoint: e, now }: { endpoint: Endpoint; now: number }) {
  const scraped = e.lastScrape !== null;
  return (
    <>
      <td>
        <State state={e.state} twisty="" />
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

function Cells(p: CellProps) {
  const { line } = p;
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
  if (line.endpoint) return <EndpointCells endpoint={line.endpoint} now={p.now} />;
  return <PodCells {...p} />;
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

interface RowProps extends CellProps {
  at: number; // of all lines
  entry: boolean; // Tab leads to it
  toggle: () => void;
}

function Row({ at, entry, toggle, ...p }: RowProps) {
  const { pod, endpoint, note } = p.line;
  const isPod = !endpoint && !note;
  const onKey = (e: KeyboardEvent): void => {
    if (e.key === "Enter" || e.key === " ") toggle();
    else if (e.key === (p.open ? "ArrowLeft" : "ArrowRight")) toggle();
    else if (!toNextRow(e)) return;
    e.preventDefault();
  };
  return (
    <tr
      class={isPod ? (p.open ? "target open" : "target") : "target part"}
      tabIndex={entry ? 0 : -1}
      aria-level={isPod ? 1 : 2}
      aria-expanded={isPod && canOpen(pod) ? p.open : undefined}
      aria-rowindex={at + 2}
      data-testid={isPod ? "target" : note ? "note" : "endpoint"}
      data-state={endpoint ? endpoint.state : pod.state}
      onClick={() => isPod && toggle()}
      onKeyDown={onKey}
    >
      <Cells {...p} />
    </tr>
  );
}

interface TableProps {
  lines: Line[];
  open: ReadonlySet<string>;
  toggle: (id: string) => void;
  props: Props;
}

export function TargetTable({ lines, open, toggle, props }: TableProps) {
  const now = useServerTime(props.skew);
  const row = (line: Line, at: number, entry: boolean) => (
    <Row
      key={`${line.pod.id} ${line.endpoint?.url ?? ""} ${line.note}`}
      {...{ line, at, entry, now, props }}
      open={open.has(line.pod.id)}
      toggle={() => toggle(line.pod.id)}
    />
  );
  return (
    <LongTable
      rows={lines}
      row={row}
      height={ROW}
      label="Targets"
      testId="targets"
      head={
        <tr>
          {heads.map(([label, style]) => (
            <th key={label} scope="col" class={style}>
              {label}
            </th>
          ))}
        </tr>
      }
      none={lines.length === 0 ? "No pod matches" : ""}
      table={{ class: "targets", role: "treegrid" }}
    />
  );
}
