// The list of applications. Only the rows in view exist.

import { isMissed, type Order, type OrderBy, type Row } from "../../model/applications";
import { describe, groupTitle, type ProfileType } from "../../model/profile_types";
import { typeNames, type Application } from "../../model/applications";
import { useNarrow } from "../../state/hooks";
import { ago, type Span } from "../../model/time_range";
import { grouped } from "../../model/units";
import { otherService, printState, type UrlState } from "../../model/url_state";
import { follow } from "../parts/links";
import { LongTable, orderOf, SortHead } from "../parts/long_table";
import { changeColumn, coresColumn, ServiceName } from "../parts/service_name";
import { Sparkline } from "./sparkline";

const ROW = 31; // px, as in start.css
const NARROW_ROW = 42;

interface Props {
  rows: Row[];
  total: number; // applications, also those in groups
  order: Order;
  onOrder: (o: Order) => void;
  onToggle: (title: string) => void;
  pick: (service: string) => void;
  state: UrlState;
  registry: ProfileType[];
  now: number;
  span: Span;
  sparks: Span; // range of the sparklines
  newest: number | null;
  note: string; // in place of rows
}

const heads: { by: OrderBy | ""; label: string; className: string; title?: string }[] = [
  { by: "name", label: "Application", className: "a-name" },
  {
    by: "cores",
    label: "CPU cores",
    className: "num a-cores",
    title: "CPU time in the range, divided by the time in which there are any profiles",
  },
  { by: "", label: "Trend", className: "a-spark" },
  {
    by: "change",
    label: "Change",
    className: "num a-change",
    title: "CPU cores, against the time of equal length before",
  },
  { by: "", label: "Profiles", className: "a-types" },
  { by: "seen", label: "Last profile", className: "num a-seen" },
];

const Head = ({ order, onOrder }: Props) => (
  <tr aria-rowindex={1}>
    {heads.map(({ by, label, className, title }) =>
      by === "" ? (
        <th scope="col" class={className} key={className}>
          {label}
        </th>
      ) : (
        <SortHead
          key={className}
          className={className}
          title={title}
          testId={`order-${by}`}
          order={orderOf(by === order.by, order.ascending)}
          onClick={() =>
            onOrder({ by, ascending: by === order.by ? !order.ascending : by === "name" })
          }
        >
          {label}
        </SortHead>
      ),
    )}
  </tr>
);

function Name({
  row,
  state,
  pick,
  onToggle,
}: Pick<Props, "state" | "pick" | "onToggle"> & { row: Row }) {
  if (!row.app)
    return (
      <button
        type="button"
        class="group-name"
        aria-expanded={row.open}
        title="Commands that ran for a short time"
        onClick={() => onToggle(row.title)}
      >
        <span class="twisty" aria-hidden="true">
          {row.open ? "▾" : "▸"}
        </span>
        {row.title} <span class="dim">{grouped(row.members)} commands, process</span>
      </button>
    );
  const { service } = row.app;
  return (
    <a
      href={printState({ ...state, ...otherService(service), filter: "" })}
      title={service}
      onClick={(e) => follow(e, () => pick(service))}
    >
      <ServiceName service={service} />
    </a>
  );
}

function changeText(row: Row): string {
  if (row.isNew) return "new";
  return row.change === null ? "–" : changeColumn(row.change);
}

const NOTABLE = 0.1; // of the cores before, and at least a hundredth of a core

/** Large changes stand out, others do not. */
function changeLook({ cores, change }: Row): string {
  if (cores === null || change === null || Math.abs(change) < 0.01) return "dim";
  return Math.abs(change) >= NOTABLE * Math.max(cores - change, 0.01) ? "" : "dim";
}

const typesOf = (a: Application, registry: ProfileType[]): string =>
  [...new Set(typeNames(a).map((t) => groupTitle(describe(t, registry))))].join(", ");

/** Up and down to the rows beside the focused one. */
function onArrow(e: KeyboardEvent): void {
  if (e.key !== "ArrowDown" && e.key !== "ArrowUp") return;
  const row = (e.target as HTMLElement).closest("tr");
  const next = e.key === "ArrowDown" ? row?.nextElementSibling : row?.previousElementSibling;
  const target = next?.querySelector<HTMLElement>("a, button");
  if (!target) return;
  e.preventDefault();
  target.focus();
}

function ApplicationRow({ p, row: r, at }: { p: Props; row: Row; at: number }) {
  const late = r.app && isMissed(r.app, p.span, p.newest, p.sparks);
  return (
    <tr
      class={r.app ? (r.inside ? "inside" : "") : "app-group"}
      aria-rowindex={at + 2}
      data-testid={r.app ? "application" : "application-group"}
      data-service={r.app?.service ?? r.title}
    >
      <td class="a-name">
        <Name row={r} {...p} />
      </td>
      <td class="num a-cores">{r.cores === null ? "–" : coresColumn(r.cores)}</td>
      <td class="a-spark" aria-hidden="true">
        <Sparkline values={r.spark} wide />
      </td>
      <td class={`num a-change ${changeLook(r)}`}>{changeText(r)}</td>
      <td class="dim a-types">{r.app ? typesOf(r.app, p.registry) : ""}</td>
      <td
        class={late ? "num a-seen late" : "num a-seen dim"}
        title={late ? "Silent, while others are up to date" : undefined}
      >
        {ago(r.lastSeen, p.now)}
      </td>
    </tr>
  );
}

export function ApplicationTable(p: Props) {
  const { rows } = p;
  const narrow = useNarrow();
  return (
    <LongTable
      rows={rows}
      row={(r, at) => <ApplicationRow key={r.key} p={p} row={r} at={at} />}
      height={narrow ? NARROW_ROW : ROW}
      label="Applications"
      testId="applications"
      head={<Head {...p} />}
      none={p.note}
      table={{ class: "applications", onKeyDown: onArrow }}
    />
  );
}
