// What changed since yesterday: the functions whose own CPU time changed most. Where yesterday has
// no profiles, those with which an application begins are what its functions are compared with.

import { useMemo } from "preact/hooks";
import { moversUrl, useApi, type Mover, type Movers } from "../../state/api";
import { littleCovered } from "../../model/comparison";
import { fullName, label } from "../../model/names";
import { exactQuery } from "../../model/search";
import { duration, spanLabel, type Span } from "../../model/time_range";
import { digits, grouped } from "../../model/units";
import type { ProfileType } from "../../model/profile_types";
import { DAY_S, otherService, printState, type UrlState } from "../../model/url_state";
import { follow } from "../parts/links";
import { ServiceName } from "../parts/service_name";
import { GrowthList } from "./growth";

const ROUND_MS = 300_000; // the query is too expensive for every refresh
const LIMIT = 20;
const LEAST = 0.0005; // cores; smaller changes are not listed

/** The range, rounded so that it stays the same for minutes, and at most a day long. */
function steadySpan(span: Span): Span {
  const to = Math.max(span.from + 1, Math.floor(span.to / ROUND_MS) * ROUND_MS);
  return { from: to - Math.min(span.to - span.from, DAY_S * 1000), to };
}

interface Props {
  state: UrlState;
  navigate: (patch: Partial<UrlState>) => void;
  registry: ProfileType[];
  span: Span;
  attempt: number;
}

interface Base extends Span {
  name: string; // in words
  inUrl: UrlState["base"];
}

/** What a range is compared with, as the address has it: the words say so in the list. */
function baseOf(range: Span, base: Span): Base {
  if (base.from === range.from - DAY_S * 1000)
    return { ...base, name: "since yesterday", inUrl: { shift: DAY_S } };
  if (base.to === range.from)
    return {
      ...base,
      name: `against the ${duration(range.to - range.from)} before`,
      inUrl: "previous",
    };
  const name = `against its first profiles, ${spanLabel(base, range.to)}`;
  return { ...base, name, inUrl: base };
}

/** The comparison of the function: the whole profile against then, and its callers. */
const comparison = (m: Mover, base: UrlState["base"]): Partial<UrlState> => ({
  ...otherService(m.service),
  type: m.type,
  filter: "",
  base,
  search: exactQuery(m.name),
  fn: { name: m.name, file: m.file },
});

interface RowProps extends Pick<Props, "state" | "navigate"> {
  mover: Mover;
  all: Movers;
}

function Row({ mover: m, all, state, navigate }: RowProps) {
  const change = m.cores - m.baseCores;
  const own =
    m.baseFrom && m.baseTo ? baseOf(all, { from: m.baseFrom, to: m.baseTo }) : null;
  const to = comparison(m, (own ?? baseOf(all, { from: all.baseFrom, to: all.baseTo })).inUrl);
  return (
    <li>
      <a
        class="mover"
        href={printState({ ...state, ...to })}
        title={`${fullName(m.name)}\n${m.service}`}
        data-testid="mover"
        data-name={m.name}
        onClick={(e) => follow(e, () => navigate(to))}
      >
        <span class="mono one-line">
          <bdi>{label(m.name)}</bdi>
        </span>
        <span class={`num mover-change ${change > 0 ? "grew" : "shrank"}`}>
          {change > 0 ? "+" : "−"}
          {digits(Math.abs(change))}
        </span>
        <span class="dim">
          <ServiceName service={m.service} />
          {own && ` ${own.name}`}
        </span>
        <span class="num dim">
          {m.baseSelf ? digits(m.baseCores) : "new"} → {m.self ? digits(m.cores) : "gone"}
        </span>
      </a>
    </li>
  );
}

export function MoversPanel({ state, navigate, registry, span, attempt }: Props) {
  const { from, to } = steadySpan(span);
  const url = useMemo(() => moversUrl({ from, to }, null, { limit: LIMIT }), [from, to]);
  const { data, error, loading } = useApi<Movers>(url, "movers", attempt, true);
  const movers = (data?.movers ?? []).filter((m) => Math.abs(m.cores - m.baseCores) >= LEAST);
  const base = data && baseOf(data, { from: data.baseFrom, to: data.baseTo });
  const since = base?.name ?? "since yesterday";
  const little =
    base && data.baseCores !== null
      ? littleCovered({ ...base, total: 1, covered: data.baseCovered })
      : "";
  const without = data?.servicesWithoutBase ?? 0;
  return (
    <aside class="movers" aria-label={`Top movers ${since}`} aria-busy={loading}>
      <GrowthList {...{ state, navigate, registry, attempt }} span={{ from, to }} />
      <h2>
        Top movers <span class="dim">{since}, own CPU cores</span>
      </h2>
      {little && (
        <p class="dim" data-testid="movers-little">
          Only {little} of the baseline have profiles: what is not in these seems new.
        </p>
      )}
      {movers.length > 0 ? (
        <ul>
          {movers.map((m) => (
            <Row
              key={`${m.service}\n${m.name}\n${m.file}`}
              mover={m}
              all={data!}
              {...{ state, navigate }}
            />
          ))}
        </ul>
      ) : (
        <p class={data || error ? "dim" : "dim skeleton"} role="status">
          {error
            ? `Not known: ${error}.`
            : !data
              ? "Comparing…"
              : data.baseCores === null
                ? "There are no earlier profiles to compare with."
                : "No function changed by a thousandth of a core."}
        </p>
      )}
      {without > 0 && (
        <p class="dim" data-testid="movers-without">
          Without earlier profiles to compare with: {grouped(without)}{" "}
          {without === 1 ? "application" : "applications"}
        </p>
      )}
    </aside>
  );
}
