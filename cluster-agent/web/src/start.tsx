// All applications: as the start page and as the list in the picker.

import { useMemo, useState } from "preact/hooks";
import type { Application } from "./api";
import { splitService } from "./names";
import { groupTitle, describe, type ProfileType } from "./profile_types";
import { ago } from "./time_range";
import { digits } from "./units";
import { printState, type UrlState } from "./url_state";

function useFilter(applications: Application[]): [Application[], string, (s: string) => void] {
  const [filter, setFilter] = useState("");
  const shown = useMemo(() => {
    const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
    return applications.filter((a) => words.every((w) => a.service.toLowerCase().includes(w)));
  }, [applications, filter]);
  return [shown, filter, setFilter];
}

/** Always three decimals, so that the decimal points line up. */
const coresColumn = (v: number): string => (v > 0 && v < 0.0005 ? "<0.001" : v.toFixed(3));

function Name({ service }: { service: string }) {
  const { group, name } = splitService(service);
  return (
    <span class="service-name">
      {group && <span class="dim">{group} / </span>}
      {name}
    </span>
  );
}

interface PickerProps {
  applications: Application[];
  current: string;
  pick: (service: string) => void;
}

export function ApplicationPicker({ applications, current, pick }: PickerProps) {
  const [shown, filter, setFilter] = useFilter(applications);
  return (
    <div class="picker">
      <input
        type="search"
        class="filter"
        placeholder="Filter applications"
        aria-label="Filter applications"
        autofocus
        value={filter}
        data-testid="picker-filter"
        onInput={(e) => setFilter(e.currentTarget.value)}
        onKeyDown={(e) => {
          if (e.key === "Enter" && shown.length > 0) pick(shown[0].service);
        }}
      />
      <div class="scroll" role="listbox" aria-label="Applications">
        <button
          type="button"
          class="item"
          role="option"
          aria-selected={current === ""}
          onClick={() => pick("")}
        >
          <span>All applications</span>
        </button>
        {shown.map((a) => (
          <button
            type="button"
            key={a.service}
            class={a.service === current ? "item checked" : "item"}
            role="option"
            aria-selected={a.service === current}
            data-testid="picker-item"
            onClick={() => pick(a.service)}
          >
            <Name service={a.service} />
            <span class="num dim">{a.cores === null ? "" : coresColumn(a.cores)}</span>
          </button>
        ))}
        {shown.length === 0 && <div class="note">No application matches</div>}
      </div>
    </div>
  );
}

interface StartProps extends PickerProps {
  state: UrlState;
  registry: ProfileType[];
  now: number;
}

export function Start({ applications, state, registry, now, pick }: StartProps) {
  const [shown, filter, setFilter] = useFilter(applications);
  const most = Math.max(...applications.map((a) => a.cores ?? 0), 0);
  const sum = applications.reduce((s, a) => s + (a.cores ?? 0), 0);
  const open = (e: MouseEvent, service: string): void => {
    if (e.metaKey || e.ctrlKey || e.shiftKey || e.button !== 0) return;
    e.preventDefault();
    pick(service);
  };
  return (
    <main class="start">
      <div class="start-bar">
        <input
          type="search"
          class="filter"
          placeholder="Filter applications"
          aria-label="Filter applications"
          data-testid="application-filter"
          data-slash
          value={filter}
          onInput={(e) => setFilter(e.currentTarget.value)}
          onKeyDown={(e) => {
            if (e.key === "Enter" && shown.length > 0) pick(shown[0].service);
          }}
        />
        <span class="dim num">
          {shown.length === applications.length ? "" : `${shown.length} of `}
          {applications.length} {applications.length === 1 ? "application" : "applications"} ·{" "}
          {digits(sum)} cores
        </span>
      </div>
      <div class="start-scroll">
        <table class="applications">
          <thead>
            <tr>
              <th scope="col">Application</th>
              <th scope="col" class="num">
                CPU cores
              </th>
              <th scope="col" />
              <th scope="col">Profiles</th>
              <th scope="col" class="num">
                Last profile
              </th>
            </tr>
          </thead>
          <tbody>
            {shown.map((a) => (
              <tr key={a.service} data-testid="application" data-service={a.service}>
                <td>
                  <a
                    href={printState({
                      ...state,
                      service: a.service,
                      type: "",
                      instance: "",
                      zoom: "",
                      search: "",
                    })}
                    title={a.service}
                    onClick={(e) => open(e, a.service)}
                  >
                    <Name service={a.service} />
                  </a>
                </td>
                <td class="num">{a.cores === null ? "–" : coresColumn(a.cores)}</td>
                <td class="bar-cell" aria-hidden="true">
                  <div
                    class="cores-bar"
                    style={{ width: `${most > 0 ? ((a.cores ?? 0) / most) * 100 : 0}%` }}
                  />
                </td>
                <td class="dim">
                  {[...new Set(a.types.map((t) => groupTitle(describe(t, registry))))].join(", ")}
                </td>
                <td class={now - a.lastSeen > 180_000 ? "num late" : "num dim"}>
                  {ago(a.lastSeen, now)}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
        {shown.length === 0 && <div class="note">No application matches “{filter}”</div>}
      </div>
    </main>
  );
}
