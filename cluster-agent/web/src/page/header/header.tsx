// First line of the page: application, profile types, filters, instances, comparison, range.

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { typeNames, type Application } from "../../model/applications";
import type { Timeline } from "../../state/api";
import { outage, pending, useLasting } from "../../state/connection";
import { useCell, useSize, type Navigate, type Theme } from "../../state/hooks";
import { LogOut } from "../dialogs/login";
import { ChooseFile } from "../opened/file_drop";
import { splitService } from "../../model/names";
import { CopyLink } from "../parts/copy_link";
import { follow } from "../parts/links";
import { Popover, MenuItem } from "../parts/popover";
import { describe, tabsOf, type ProfileType } from "../../model/profile_types";
import { RangePicker } from "./range_picker";
import { ApplicationPicker } from "./picker";
import { clock } from "../../model/time_range";
import { zoned } from "../../model/time_zone";
import { percent, rate } from "../../model/units";
import { emptyState, otherService, type Page, type UrlState } from "../../model/url_state";

interface Props {
  state: UrlState;
  type: string;
  navigate: Navigate;
  applications: Application[];
  registry: ProfileType[];
  timeline: Timeline | null;
  perSecond: boolean;
  now: number;
  live: string; // "": absolute range; "live"; otherwise why it is paused
  loading: boolean;
  failing?: string; // what the server answers in place of data
  onRefresh: () => void;
  theme: Theme;
  setTheme: (t: Theme) => void;
  filters?: ComponentChildren; // of an application, as is what begins a comparison
  compare?: ComponentChildren;
  notes?: ComponentChildren;
}

/** In the header, because accessibility rules want all content in a landmark. */
function Progress({ loading }: Pick<Props, "loading">) {
  return loading ? <div class="progress" role="progressbar" aria-label="Loading" /> : null;
}

function ServiceLabel({ service }: { service: string }) {
  if (!service) return <b>All applications</b>;
  const { group, name } = splitService(service);
  return (
    <span class="service-name">
      <b>{name}</b>
      {group && <span class="dim service-group"> {group}</span>}
    </span>
  );
}

const MENU = 108; // px of the menu beside the tabs

/** How many tabs of types have room; the menu has all of them. */
function useRoom(titles: string[]) {
  const nav = useRef<HTMLElement>(null);
  const { width } = useSize(nav);
  const all = titles.join();
  const [measured, set] = useState({ all: "", ends: [] as number[] });
  // all tabs are there while they are measured
  useLayoutEffect(() => {
    const tabs = nav.current?.querySelectorAll<HTMLElement>(".tab") ?? [];
    set({ all, ends: [...tabs].map((t) => t.offsetLeft + t.offsetWidth) });
  }, [all]);
  const { ends } = measured;
  const fit = ends.filter((end) => end + MENU <= width).length;
  return { nav, shown: measured.all === all ? fit : titles.length };
}

function Types({ state, type, navigate, applications, registry }: Props) {
  const app = applications.find((a) => a.service === state.service);
  const known = app ? typeNames(app) : [];
  const types = known.includes(type) || !type ? known : [...known, type];
  const tabs = tabsOf(types, registry);
  const pick = (t: string): void => navigate({ type: t, zoom: "" });
  const { nav, shown } = useRoom(tabs.map((t) => t.title));
  const current = tabs.findIndex((t) => t.types.includes(type));
  return (
    <nav class="types" aria-label="Profile type" ref={nav} hidden={types.length === 0}>
      {tabs.map((t, i) => (
        <button
          type="button"
          key={t.title}
          class="tab"
          hidden={i >= shown}
          aria-pressed={i === current}
          title={describe(t.type, registry).title}
          data-testid={`type-${t.title.toLowerCase()}`}
          onClick={() => pick(t.type)}
        >
          {t.title}
        </button>
      ))}
      <Popover
        label={current < shown ? "All types" : <b class="one-line">{tabs[current].title}</b>}
        title="All profile types of this application"
        testId="all-types"
        className="plain"
      >
        {() =>
          tabs.map((tab) => (
            <div role="group" aria-label={tab.title} key={tab.title}>
              <div class="menu-title">{tab.title}</div>
              {tab.types.map((t) => (
                <MenuItem
                  key={t}
                  checked={t === type}
                  testId={`type-item-${t}`}
                  hint={t}
                  hintClass="mono dim"
                  onClick={() => pick(t)}
                >
                  {describe(t, registry).title}
                </MenuItem>
              ))}
            </div>
          ))
        }
      </Popover>
    </nav>
  );
}

const shortId = (id: string): string =>
  id.length > 30 ? `${id.slice(0, 12)}…${id.slice(-14)}` : id;

function Instances({ state, navigate, timeline, perSecond }: Props) {
  const list = timeline?.instances ?? [];
  if (list.length === 0 && !state.instance) return null;
  const sum = list.reduce((s, i) => s + i.value, 0);
  const label = state.instance
    ? shortId(state.instance)
    : list.length === 1
      ? "1 instance"
      : `${list.length} instances`;
  return (
    <Popover
      label={<span class="one-line">{label}</span>}
      title="Instances"
      testId="instances"
      className="plain instances"
    >
      {() => (
        <div class="scroll">
          <MenuItem checked={!state.instance} onClick={() => navigate({ instance: "" })}>
            All instances
          </MenuItem>
          {list.map((i) => (
            <MenuItem
              key={i.id}
              checked={i.id === state.instance}
              testId="instance"
              className="mono"
              hint={percent(i.value, sum)}
              hintClass="dim num"
              hintTitle={timeline ? rate(i.value, timeline.unit, perSecond) : ""}
              onClick={() => navigate({ instance: i.id })}
            >
              {i.id}
            </MenuItem>
          ))}
        </div>
      )}
    </Popover>
  );
}

const HUNG_MS = 20_000; // two refreshes

function Live({ live, failing, onRefresh }: Pick<Props, "live" | "failing" | "onRefresh">) {
  const since = useCell(outage);
  const waiting = useLasting(useCell(pending) > 0, HUNG_MS);
  const on = live === "live";
  const [look, label, title] =
    since !== null
      ? [
          "down",
          `Not answering since ${clock(since)}`,
          `The cluster-agent does not answer since ${zoned(clock(since, true), since)}. The page ` +
            "tries again by itself; click to try now",
        ]
      : failing
        ? ["down", "Failing", `${failing}. Click to try again`]
        : waiting
          ? ["down", "Waiting", "No answer yet: what is shown is older. Click to ask again"]
          : on
            ? ["on", "Live", "Refreshed every 10 s. Click to refresh now"]
            : ["", "Paused", `Paused ${live}. Click to refresh now`];
  if (!live && look !== "down") return null;
  return (
    <button
      type="button"
      class={`live ${look}`}
      data-testid="live"
      title={title}
      onClick={onRefresh}
    >
      <span class="dot" aria-hidden="true" />
      <span class="live-text">{label}</span>
    </button>
  );
}

const themeNames: Record<Theme, string> = { auto: "as the system", light: "light", dark: "dark" };
const nextTheme: Record<Theme, Theme> = { auto: "light", light: "dark", dark: "auto" };

/** A link to the other page, without the selection of this one. */
function PageLink({ to, children, navigate, className }: PageLinkProps) {
  const there = { ...emptyState, page: to };
  return (
    <a
      class={`button plain ${className}`}
      href={to === "targets" ? "targets" : "./"}
      data-testid={`to-${to}`}
      onClick={(e) => follow(e, () => navigate(there))}
    >
      {children}
    </a>
  );
}

interface PageLinkProps {
  to: Page;
  children: ComponentChildren;
  navigate: Navigate;
  className: string;
}

export function ThemeButton({ theme, setTheme }: Pick<Props, "theme" | "setTheme">) {
  return (
    <button
      type="button"
      class="button square"
      aria-label={`Theme: ${themeNames[theme]}`}
      title={`Theme: ${themeNames[theme]}`}
      data-testid="theme"
      onClick={() => setTheme(nextTheme[theme])}
    >
      <ThemeIcon theme={theme} />
    </button>
  );
}

type TargetsProps = Pick<
  Props,
  "navigate" | "live" | "loading" | "failing" | "onRefresh" | "theme" | "setTheme"
> & {
  forwarding: boolean; // there is nothing but targets
};

export function TargetsHeader(p: TargetsProps) {
  return (
    <header class="header">
      <Progress loading={p.loading} />
      <h1 class="title">Targets</h1>
      <span class="types">
        {!p.forwarding && (
          <PageLink to="profiles" navigate={p.navigate} className="quiet-link">
            All applications
          </PageLink>
        )}
      </span>
      <div class="header-right">
        <Live {...p} />
        <LogOut />
        <ThemeButton {...p} />
      </div>
    </header>
  );
}

export function Header(p: Props) {
  const { service } = p.state;
  return (
    <header class="header">
      <Progress loading={p.loading} />
      <h1 class="sr">{service ? `Profiles of ${splitService(service).name}` : "Applications"}</h1>
      <Popover
        label={<ServiceLabel service={p.state.service} />}
        title="Choose an application"
        testId="picker"
        kind="dialog"
        className="plain app"
      >
        {(close) => (
          <ApplicationPicker
            applications={p.applications}
            current={p.state.service}
            onTargets={() => p.navigate({ ...emptyState, page: "targets" })}
            pick={(service) => {
              p.navigate(otherService(service));
              close();
            }}
          />
        )}
      </Popover>
      {p.state.service ? <Types {...p} /> : <span class="types" />}
      {p.filters}
      {p.state.service && <Instances {...p} />}
      <div class="header-right">
        {!p.state.service && (
          <>
            <PageLink to="targets" navigate={p.navigate} className="quiet-link">
              Targets
            </PageLink>
            <ChooseFile
              text="Open file"
              title="Open a profile: pprof, folded stacks, speedscope, JFR. Nothing is sent"
              testId="open-file"
              className="plain quiet-link"
            />
          </>
        )}
        <Live {...p} />
        {p.compare}
        <RangePicker state={p.state} now={p.now} navigate={p.navigate} />
        {p.notes}
        <CopyLink state={p.state} now={p.now} />
        <LogOut />
        <ThemeButton {...p} />
      </div>
    </header>
  );
}

function ThemeIcon({ theme }: { theme: Theme }) {
  return (
    <svg width="14" height="14" viewBox="0 0 14 14" aria-hidden="true">
      <circle
        cx="7"
        cy="7"
        r="5.3"
        fill={theme === "dark" ? "currentColor" : "none"}
        stroke="currentColor"
        stroke-width="1.4"
      />
      {theme === "auto" && <path d="M7 1.7a5.3 5.3 0 010 10.6z" fill="currentColor" />}
    </svg>
  );
}
