// Applications whose memory in use, goroutines or threads grew: what leaks, above the movers.

import { levelsUrl, useApi, type Growth, type Levels } from "../../state/api";
import { describe, type ProfileType } from "../../model/profile_types";
import { clock, type Span } from "../../model/time_range";
import { unitOf, value } from "../../model/units";
import { DAY_S, otherService, printState, type UrlState } from "../../model/url_state";
import { follow } from "../parts/links";
import { ServiceName } from "../parts/service_name";

const LIMIT = 3; // of memory, and of counts
const LEAST = { bytes: 16 << 20, count: 100 }; // smaller growth is not listed
const LEAST_SHARE = 0.1; // of what it was: heaps go up and down

interface Props {
  state: UrlState;
  navigate: (patch: Partial<UrlState>) => void;
  registry: ProfileType[];
  span: Span; // as of the movers
  attempt: number;
}

const isNotable = (g: Growth): boolean =>
  g.value - g.base >= (g.type.endsWith(":bytes") ? LEAST.bytes : LEAST.count) &&
  g.value - g.base >= LEAST_SHARE * g.base;

function Row({ growth: g, state, navigate, registry }: Omit<Props, "span"> & { growth: Growth }) {
  const unit = unitOf(g.type, g.type.slice(g.type.lastIndexOf(":") + 1));
  const short = unit === "bytes" ? unit : "count"; // the line above has its name
  const { title } = describe(g.type, registry);
  const to: Partial<UrlState> = {
    ...otherService(g.service),
    type: g.type,
    filter: "",
    base: g.baseFrom === undefined ? { shift: DAY_S } : "previous",
  };
  return (
    <li>
      <a
        class="mover"
        href={printState({ ...state, ...to })}
        title={`${g.service}\n${title}`}
        data-testid="growth"
        onClick={(e) => follow(e, () => navigate(to))}
      >
        <ServiceName service={g.service} />
        <span class="num mover-change grew">+{value(g.value - g.base, unit)}</span>
        <span class="dim one-line">
          {title}
          {g.baseFrom && ` against ${clock(g.baseFrom)} on`}
        </span>
        <span class="num dim">
          {value(g.base, short)} → {value(g.value, short)}
        </span>
      </a>
    </li>
  );
}

/** Nothing if nothing grew, as most of the time. */
export function GrowthList(p: Props) {
  const { data } = useApi<Levels>(levelsUrl(p.span, LIMIT), "levels", p.attempt, true);
  const rows = (data?.levels ?? []).filter(isNotable);
  if (rows.length === 0) return null;
  const young = rows.every((g) => g.baseFrom !== undefined);
  return (
    <section aria-label="Growth of memory and threads">
      <h2>
        Growth{" "}
        <span class="dim">{young ? "against the time before" : "since yesterday"}, in use</span>
      </h2>
      <ul>
        {rows.map((g) => (
          <Row key={`${g.service}\n${g.type}`} {...p} growth={g} />
        ))}
      </ul>
    </section>
  );
}
