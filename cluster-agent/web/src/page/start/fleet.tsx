// One function in all applications: which spend how much in it, since when, and by version. The
// figures are sums of days, of which the server keeps more than of profiles.

import { fleetUrl, useApi, type Fleet, type FleetApplication } from "../../state/api";
import { fullName, label } from "../../model/names";
import { describe, tabsOf, type ProfileType } from "../../model/profile_types";
import { releaseName } from "../../model/releases";
import { exactQuery } from "../../model/search";
import { clock, day, type Span } from "../../model/time_range";
import { grouped, percent, value } from "../../model/units";
import { otherService, printState, type UrlState } from "../../model/url_state";
import { useNarrow, type Navigate } from "../../state/hooks";
import { follow } from "../parts/links";
import { LongTable } from "../parts/long_table";
import { MenuItem, Popover } from "../parts/popover";
import { ServiceName } from "../parts/service_name";
import {
  curveSpan,
  daysSpan,
  daysText,
  dayInUtc,
  versionsText,
  wholeDays,
} from "../../model/fleet";
import { Sparkline } from "./sparkline";

const ROW = 31; // px, as in start.css
const NARROW_ROW = 42;
const LIMIT = 1000;

interface Props {
  state: UrlState;
  navigate: Navigate;
  registry: ProfileType[];
  span: Span;
  attempt: number;
}

/** The flame graph of the application over the same days, with the function marked in it. */
const graphOf = (f: Fleet, a: FleetApplication, now: number): Partial<UrlState> => ({
  ...otherService(a.service),
  filter: "",
  type: a.type,
  range: { from: f.from, to: Math.min(f.to, now) },
  search: exactQuery(f.function),
});

function Types({ state, navigate, registry }: Pick<Props, "state" | "navigate" | "registry">) {
  const shown = state.type ? describe(state.type, registry).title : "CPU";
  const tabs = tabsOf(
    registry.map((t) => t.type),
    registry,
  );
  return (
    <Popover label={<span class="one-line">{shown}</span>} title="Profile type" testId="fleet-type">
      {() => (
        <div class="scroll">
          <MenuItem checked={state.type === ""} onClick={() => navigate({ type: "" })}>
            CPU
          </MenuItem>
          {tabs.flatMap((tab) =>
            tab.types.map((t) => (
              <MenuItem
                key={t}
                checked={t === state.type}
                testId={`fleet-type-${t}`}
                onClick={() => navigate({ type: t })}
              >
                {describe(t, registry).title}
              </MenuItem>
            )),
          )}
        </div>
      )}
    </Popover>
  );
}

const Head = () => (
  <tr aria-rowindex={1}>
    <th scope="col" class="a-name">
      Application
    </th>
    <th scope="col" class="num f-total" title="With all that it calls">
      Total
    </th>
    <th scope="col" class="num f-share" title="Total, of all that the application uses">
      Share
    </th>
    <th scope="col" class="num f-self">
      Self
    </th>
    <th scope="col" class="a-spark">
      By day
    </th>
    <th scope="col" class="num f-since">
      Since
    </th>
    <th scope="col" class="f-versions">
      Versions
    </th>
  </tr>
);

interface RowProps {
  fleet: Fleet;
  a: FleetApplication;
  curve?: FleetApplication; // the same over days enough for a curve
  at: number;
  state: UrlState;
  navigate: Navigate;
  typed: string; // the type, where it is not the same for all
}

function FleetRow({ fleet, a, curve, at, state, navigate, typed }: RowProps) {
  const to = graphOf(fleet, a, Date.now());
  const versions = versionsText(a, releaseName);
  return (
    <tr aria-rowindex={at + 2} data-testid="fleet-application" data-service={a.service}>
      <td class="a-name">
        <a
          href={printState({ ...state, ...to })}
          title={a.service}
          onClick={(e) => follow(e, () => navigate(to))}
        >
          <ServiceName service={a.service} />
          {typed && <span class="dim"> · {typed}</span>}
        </a>
      </td>
      <td class="num f-total">{value(a.total, fleet.unit)}</td>
      <td class="num f-share">{percent(a.total, a.whole)}</td>
      <td class="num f-self dim">{value(a.self, fleet.unit)}</td>
      <td class="a-spark" aria-hidden="true">
        <Sparkline values={curve?.days} />
      </td>
      <td class="num f-since dim">{curve?.since ? dayInUtc(curve.since) : "–"}</td>
      <td class="f-versions dim" title={versions.full}>
        {versions.short}
      </td>
    </tr>
  );
}

/** What the figures are of, and what they cannot tell. */
function note(f: Fleet): string {
  const days = daysText(f);
  if (f.upTo === null) return `No day of ${days} is summed yet: that takes minutes after a start.`;
  const until = f.upTo < f.to ? `, up to ${day(f.upTo)} ${clock(f.upTo)}` : "";
  return (
    `${days}${until}. Applications in which it is not among the ${grouped(f.kept)} largest ` +
    `functions of a day are missing.`
  );
}

function Summary({ f }: { f: Fleet }) {
  const total = f.total === null ? "" : ` · ${value(f.total, f.unit)}`;
  return (
    <span class="num" role="status" data-testid="fleet-count">
      {grouped(f.n)} {f.n === 1 ? "application" : "applications"}
      {total}
      {f.n > f.applications.length ? `, the largest ${grouped(f.applications.length)}` : ""}
    </span>
  );
}

function curveOf(curves: Fleet | null, a: FleetApplication): FleetApplication | undefined {
  const c = curves?.applications.find((x) => x.service === a.service && x.type === a.type);
  return c && curves ? { ...c, days: wholeDays(c.days, curves) } : undefined;
}

export function FleetList({ state, navigate, registry, span, attempt }: Props) {
  const days = daysSpan(span);
  const ask = { function: state.function, type: state.type, limit: LIMIT };
  const about = `${state.function}\n${state.type}`;
  const { data, error, loading } = useApi<Fleet>(fleetUrl(days, ask), about, attempt, true);
  const curves = useApi<Fleet>(fleetUrl(curveSpan(days), ask), about, attempt, true).data;
  const narrow = useNarrow();
  const rows = data?.applications ?? [];
  const mixed = new Set(rows.map((a) => a.type)).size > 1;
  const none = error
    ? `Not known: ${error}.`
    : !data
      ? "Looking…"
      : rows.length === 0
        ? "No application has it among its largest functions of these days."
        : "";
  return (
    <section class="fleet" aria-label="A function in all applications" aria-busy={loading}>
      <div class="fleet-bar">
        <h2 class="mono one-line" title={fullName(state.function)}>
          <bdi>{label(state.function)}</bdi>
        </h2>
        <Types state={state} navigate={navigate} registry={registry} />
        {data && <Summary f={data} />}
        <button
          type="button"
          class="button fleet-close"
          data-testid="fleet-close"
          onClick={() => navigate({ function: "", type: "" })}
        >
          All applications
        </button>
        {data && (
          <p class="dim" data-testid="fleet-note">
            {note(data)}
          </p>
        )}
      </div>
      <LongTable
        rows={rows}
        row={(a, at) => (
          <FleetRow
            key={`${a.service}\n${a.type}`}
            fleet={data!}
            a={a}
            curve={curveOf(curves, a)}
            at={at}
            state={state}
            navigate={navigate}
            typed={mixed ? describe(a.type, registry).title : ""}
          />
        )}
        height={narrow ? NARROW_ROW : ROW}
        label="Applications with this function"
        testId="fleet"
        head={<Head />}
        none={none}
        table={{ class: "applications" }}
      />
    </section>
  );
}
