// Begins a comparison or changes it: a range before, two values of a label, or any two sides.

import { useMemo, useState } from "preact/hooks";
import type { Application } from "../../model/applications";
import type { Label, Selection } from "../../state/api";
import type { Navigate } from "../../state/hooks";
import { comparisonOf, type Side } from "../../model/comparison";
import { parseMatchers, withMatcher } from "../../model/matchers";
import { releaseName, whenSeen } from "../../model/releases";
import { duration, fromLocalInput, toLocalInput, type Span } from "../../model/time_range";
import { zoneName } from "../../model/time_zone";
import type { UrlState } from "../../model/url_state";
import { shareText, useLabels } from "../parts/label_values";
import { Popover } from "../parts/popover";
import { useReleases, weekOf, type Releases } from "../timeline/release_data";

interface Props {
  state: UrlState;
  navigate: Navigate;
  subject: Selection;
  shown: Span;
  applications: Application[];
  instances: string[];
  releases: Releases | null;
}

export function CompareMenu(p: Props) {
  return (
    <Popover
      label="Compare"
      title="Compare with another time, version, node or pod"
      testId="compare"
      align="right"
      kind="dialog"
    >
      {(close) => <ComparePanel {...p} close={close} />}
    </Popover>
  );
}

type PanelProps = Props & { close: () => void };

/** The baseline differs in this only. */
const fresh = { baseService: null, baseInstance: null, baseWhere: null } as const;

function ComparePanel(p: PanelProps) {
  const length = duration(p.shown.to - p.shown.from);
  const times: { text: string; id: string; base: UrlState["base"] }[] = [
    { text: `The ${length} before`, id: "previous", base: "previous" },
    { text: "A day before", id: "day", base: { shift: 86_400 } },
    { text: "A week before", id: "week", base: { shift: 7 * 86_400 } },
  ];
  return (
    <div class="compare-panel">
      <fieldset>
        <legend>With an earlier time</legend>
        <div class="row-of-buttons">
          {times.map((t) => (
            <button
              type="button"
              class="button small"
              key={t.id}
              data-testid={`compare-${t.id}`}
              onClick={() => {
                p.close();
                p.navigate({ base: t.base, ...fresh });
              }}
            >
              {t.text}
            </button>
          ))}
        </div>
      </fieldset>
      <NewestRelease {...p} />
      <ByLabel {...p} />
      <AnySides {...p} />
    </div>
  );
}

/** The sides are two values of a label: A is looked at, B is the baseline. */
function valuesCompared(where: string, name: string, a: string, b: string): Partial<UrlState> {
  const only = (value: string) => withMatcher(where, { name, op: "=", value });
  return { where: only(a), base: "same", ...fresh, baseWhere: only(b), zoom: "" };
}

/** The newest release with the one before it; where the range has only one, those of the week. */
function NewestRelease({ releases, subject, shown, state, navigate, close }: PanelProps) {
  const chart = useMemo(() => weekOf(shown), []); // not anew with each refresh
  const week = useReleases({ ...subject, ...(releases && { service: "" }) }, chart, false);
  const known = releases ?? week;
  if (!known) return null;
  const { label, newest } = known;
  const [a, b] = newest;
  if (!releases && !known.lastSeen(b)) return null; // not loaded yet
  const [spanA, spanB] = [a, b].map((v) =>
    releases ? null : whenSeen(known.lastSeen(v), shown, v === b),
  );
  return (
    <fieldset>
      <legend>Releases, by {label}</legend>
      <div class="row-of-buttons">
        <button
          type="button"
          class="button small"
          data-testid="compare-releases"
          title={`A, to look at: ${a}\nB, baseline: ${b}`}
          onClick={() => {
            close();
            navigate({
              ...valuesCompared(state.where, label, a, b),
              ...(spanA && { range: spanA, selection: null }),
              ...(spanB ? { base: spanB } : spanA && { base: shown }),
            });
          }}
        >
          The newest against the previous
        </button>
        <span class="dim">
          {releaseName(a)} with {releaseName(b)}
        </span>
      </div>
    </fieldset>
  );
}

interface ValueProps {
  label: Label;
  test: string;
  what: string;
  value: string;
  set: (v: string) => void;
}

const ValueOf = ({ label, test, what, value, set }: ValueProps) => (
  <select
    aria-label={what}
    data-testid={test}
    value={value}
    onChange={(e) => set(e.currentTarget.value)}
  >
    {label.values.map((x) => (
      <option key={x.value} value={x.value}>
        {x.value || "(no value)"} · {shareText(x.share)}
      </option>
    ))}
  </select>
);

/** The label with its releases in front, the newest first. */
function newestOnTop(label: Label, newest: string[]): Label {
  const place = (v: { value: string }): number =>
    newest.includes(v.value) ? newest.indexOf(v.value) : newest.length;
  return { ...label, values: [...label.values].sort((v, w) => place(v) - place(w)) };
}

/** Two values of a label, as two versions. */
function ByLabel(p: PanelProps) {
  // with a filter on the label itself there would be one value only
  const labels = useLabels({ ...p.subject, where: "" }, p.shown);
  const list = (labels.data?.labels ?? [])
    .filter((l) => l.n > 1)
    .map((l) => (l.name === p.releases?.label ? newestOnTop(l, p.releases.newest) : l))
    .sort((l, m) => Number(m.name === p.releases?.label) - Number(l.name === p.releases?.label));
  if (!labels.error && list.length > 0) return <TwoValues {...p} list={list} />;
  const none = labels.data ? "No label has more than one value in this range." : "Loading labels…";
  return (
    <fieldset>
      <legend>Two values of a label</legend>
      <div class="dim">{labels.error || none}</div>
    </fieldset>
  );
}

function TwoValues({ list, state, navigate, close }: PanelProps & { list: Label[] }) {
  const [name, setName] = useState("");
  const label = list.find((l) => l.name === name) ?? list[0];
  const [a, setA] = useState<string | null>(null);
  const [b, setB] = useState<string | null>(null);
  const valueA = a ?? label.values[0].value;
  const valueB = b ?? label.values.find((v) => v.value !== valueA)?.value ?? "";
  const choose = (test: string, what: string, value: string, set: (v: string) => void) => (
    <ValueOf {...{ label, test, what, value, set }} />
  );
  return (
    <form
      onSubmit={(e) => {
        e.preventDefault();
        close();
        navigate(valuesCompared(state.where, label.name, valueA, valueB));
      }}
    >
      <fieldset>
        <legend>Two values of a label</legend>
        <div class="row-of-fields">
          <select
            aria-label="Label"
            data-testid="compare-label"
            value={label.name}
            onChange={(e) => {
              setName(e.currentTarget.value);
              setA(null);
              setB(null);
            }}
          >
            {list.map((l) => (
              <option key={l.name}>{l.name}</option>
            ))}
          </select>
          {choose("compare-value-a", "Value to look at", valueA, setA)}
          <span class="dim">with</span>
          {choose("compare-value-b", "Value of the baseline", valueB, setB)}
          <button
            type="submit"
            class="button small"
            disabled={valueA === valueB}
            data-testid="compare-values"
          >
            Compare
          </button>
        </div>
      </fieldset>
    </form>
  );
}

interface Draft {
  from: string;
  to: string;
  service: string;
  instance: string;
  where: string;
}

const draftOf = (s: Side): Draft => ({
  from: toLocalInput(s.span.from),
  to: toLocalInput(s.span.to),
  service: s.service,
  instance: s.instance,
  where: s.where,
});

/** The range of a draft, or what is wrong with it. */
function spanOf(d: Draft): Span | string {
  const from = fromLocalInput(d.from);
  const to = fromLocalInput(d.to);
  if (from === null || to === null) return "not a date and time";
  return from < to ? { from, to } : "“from” must be before “to”";
}

function problemOf(name: string, d: Draft): string {
  const span = spanOf(d);
  const why = typeof span === "string" ? span : parseMatchers(d.where).error;
  return why && `${name}: ${why}`;
}

/** What the address becomes when both sides are as typed; parts that are the same follow A. */
function patchOf(state: UrlState, shown: Span, a: Draft, b: Draft): Partial<UrlState> {
  const [spanA, spanB] = [spanOf(a) as Span, spanOf(b) as Span];
  // the fields have whole seconds
  const kept = toLocalInput(shown.from) === a.from && toLocalInput(shown.to) === a.to;
  const same = a.from === b.from && a.to === b.to;
  return {
    instance: a.instance,
    where: a.where.trim(),
    ...(kept ? {} : { range: spanA, selection: null }),
    base: same ? "same" : spanB,
    baseService: b.service.trim() === state.service ? null : b.service.trim(),
    baseInstance: b.instance === a.instance ? null : b.instance,
    baseWhere: b.where.trim() === a.where.trim() ? null : b.where.trim(),
    zoom: "",
  };
}

const MOST_OFFERED = 50; // applications; there may be thousands

interface DraftProps {
  d: Draft;
  set: (d: Draft) => void;
}

interface InstanceProps extends DraftProps {
  of: string;
  instances: string[];
}

const InstanceOf = ({ of, d, set, instances }: InstanceProps) => (
  <span class="side-field">
    <SideLetter of={of} />
    <select
      aria-label={`Instance of ${of}`}
      value={d.instance}
      onChange={(e) => set({ ...d, instance: e.currentTarget.value })}
    >
      <option value="">All</option>
      {[...new Set([...instances, d.instance].filter(Boolean))].map((i) => (
        <option key={i}>{i}</option>
      ))}
    </select>
  </span>
);

interface ServiceProps extends DraftProps {
  own: string; // application on show
  applications: Application[];
}

function BaseService({ d, set, own, applications }: ServiceProps) {
  const typed = d.service.toLowerCase();
  const services = applications
    .map((x) => x.service)
    .filter((name) => d.service === own || name.toLowerCase().includes(typed))
    .slice(0, MOST_OFFERED);
  return (
    <>
      <input
        type="text"
        list="services"
        aria-label="Application of the baseline"
        spellcheck={false}
        autocomplete="off"
        data-testid="base-service"
        value={d.service}
        onInput={(e) => set({ ...d, service: e.currentTarget.value })}
      />
      <datalist id="services">
        {services.map((s) => (
          <option key={s} value={s} />
        ))}
      </datalist>
    </>
  );
}

/** Everything of both sides. */
function AnySides({ state, shown, applications, instances, navigate, close }: PanelProps) {
  const now = comparisonOf({ ...state, base: state.base || "previous" }, shown)!;
  const [a, setA] = useState(() => draftOf(now.a));
  const [b, setB] = useState(() => draftOf(now.b));
  const [tried, setTried] = useState(false);
  const problem =
    problemOf("A", a) ||
    problemOf("Baseline", b) ||
    (b.service.trim() === "" ? "Baseline: which application?" : "");
  return (
    <form
      onSubmit={(e) => {
        e.preventDefault();
        setTried(true);
        if (problem) return;
        close();
        navigate(patchOf(state, shown, a, b));
      }}
    >
      <fieldset>
        <legend>Any two sides, times in {zoneName(shown.to)}</legend>
        <div class="sides">
          <span />
          <b>A, to look at</b>
          <b>B, baseline</b>
          <Fields name="From" type="datetime-local" field="from" {...{ a, b, setA, setB }} />
          <Fields name="To" type="datetime-local" field="to" {...{ a, b, setA, setB }} />
          <Fields name="Labels" type="text" field="where" {...{ a, b, setA, setB }} />
          <span class="dim">Instance</span>
          <InstanceOf of="A" d={a} set={setA} instances={instances} />
          <InstanceOf of="the baseline" d={b} set={setB} instances={instances} />
          <span class="dim">Application</span>
          <span class="side-field">
            <SideLetter of="A" />
            <span class="one-line" title={state.service}>
              {state.service}
            </span>
          </span>
          <span class="side-field">
            <SideLetter of="B" />
            <BaseService d={b} set={setB} own={state.service} applications={applications} />
          </span>
        </div>
        {tried && problem && (
          <div class="problem" role="alert" data-testid="compare-problem">
            {problem}
          </div>
        )}
        <button type="submit" class="button primary" data-testid="compare-apply">
          Compare
        </button>
      </fieldset>
    </form>
  );
}

/** Where the fields stand below one another instead of in columns. */
const SideLetter = ({ of }: { of: string }) => (
  <span class="side-letter" aria-hidden="true">
    {of === "A" ? "A" : "B"}
  </span>
);

interface FieldsProps {
  name: string;
  type: string;
  field: "from" | "to" | "where";
  a: Draft;
  b: Draft;
  setA: (d: Draft) => void;
  setB: (d: Draft) => void;
}

/** One field of both sides. */
function Fields({ name, type, field, a, b, setA, setB }: FieldsProps) {
  return (
    <>
      <span class="dim">{name}</span>
      {[
        { d: a, set: setA, id: "a", of: "A" },
        { d: b, set: setB, id: "b", of: "the baseline" },
      ].map(({ d, set, id, of }) => (
        <span class="side-field" key={id}>
          <SideLetter of={of} />
          <input
            type={type}
            step={type === "text" ? undefined : "1"}
            aria-label={`${name} of ${of}`}
            placeholder={type === "text" ? 'version="1.4.2"' : undefined}
            spellcheck={false}
            value={d[field]}
            data-testid={`${field}-${id}`}
            onInput={(e) => set({ ...d, [field]: e.currentTarget.value })}
          />
        </span>
      ))}
    </>
  );
}
