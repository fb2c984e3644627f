// Conditions on labels, as chips of the header; and the label that splits the timeline.

import { useState } from "preact/hooks";
import type { Label, Selection } from "../../state/api";
import type { Navigate } from "../../state/hooks";
import {
  parseMatchers,
  printMatcher,
  withMatcher,
  withoutMatcher,
  type Matcher,
} from "../../model/matchers";
import type { Span } from "../../model/time_range";
import type { UrlState } from "../../model/url_state";
import { LabelValues, useLabels } from "../parts/label_values";
import { MenuItem, Popover } from "../parts/popover";
import { ChartSwitch } from "./heatmap";

interface Props {
  state: UrlState;
  navigate: Navigate;
  subject: Selection;
  span: Span;
}

export function Filters(p: Props) {
  const { matchers, error } = parseMatchers(p.state.where);
  const set = (where: string): void => p.navigate({ where, zoom: "" });
  return (
    <section class="filters" aria-label="Filter" data-testid="filters">
      {(matchers.length > 0 || error) && (
        <span class="chips">
          {matchers.map((m) => (
            <Chip key={printMatcher(m)} m={m} drop={() => set(withoutMatcher(p.state.where, m))} />
          ))}
          {error && <BadFilter error={error} where={p.state.where} drop={() => set("")} />}
        </span>
      )}
      <Popover
        label="+ Filter"
        title="Filter by label"
        testId="add-filter"
        kind="dialog"
        chevron={false}
        className="plain"
      >
        {(close) => (
          <FilterPanel
            {...p}
            add={(m) => {
              set(withMatcher(p.state.where, m));
              close();
            }}
            replace={(where) => {
              set(where);
              close();
            }}
          />
        )}
      </Popover>
      <ChartSwitch state={p.state} navigate={p.navigate} />
    </section>
  );
}

const BadFilter = (p: { error: string; where: string; drop: () => void }) => (
  <span class="chip bad" role="alert" data-testid="filter-error" title={p.where}>
    <span class="one-line">
      Filter: {p.error}. <span class="mono">{p.where}</span>
    </span>
    <button type="button" class="clear" aria-label="Drop the filter" onClick={p.drop}>
      ✕
    </button>
  </span>
);

interface RefusedProps {
  reason: string;
  navigate: Navigate;
}

/** The server cannot use the conditions: only it can check regular expressions. */
export function FilterRefused({ reason, navigate }: RefusedProps) {
  return (
    <main class="empty" data-testid="filter-refused">
      <h2>This filter is wrong</h2>
      <p role="alert">{reason}.</p>
      <button
        type="button"
        class="button primary"
        onClick={() => navigate({ where: "", baseWhere: null })}
      >
        Drop the filter
      </button>
    </main>
  );
}

const ops: Record<string, string> = { "=": "=", "!=": "≠", "=~": "=~", "!~": "!~" };

const Chip = ({ m, drop }: { m: Matcher; drop: () => void }) => (
  <span class="chip" data-testid="chip" title={printMatcher(m)}>
    <span class="mono one-line">
      <span class="dim">
        {m.name} {ops[m.op]}{" "}
      </span>
      {m.value || '""'}
    </span>
    <button
      type="button"
      class="clear"
      aria-label={`Drop the condition ${printMatcher(m)}`}
      onClick={drop}
    >
      ✕
    </button>
  </span>
);

interface PanelProps extends Props {
  add: (m: Matcher) => void;
  replace: (where: string) => void;
}

function FilterPanel({ state, subject, span, add, replace }: PanelProps) {
  const labels = useLabels(subject, span);
  const [picked, setPicked] = useState<Label | null>(null);
  if (picked)
    return (
      <div class="filter-panel">
        <button type="button" class="item" data-testid="label-back" onClick={() => setPicked(null)}>
          <span>‹ {picked.name}</span>
        </button>
        <LabelValues
          label={picked}
          subject={subject}
          span={span}
          pick={(value, exclude) => add({ name: picked.name, op: exclude ? "!=" : "=", value })}
        />
      </div>
    );
  return (
    <div class="filter-panel">
      <WhereForm where={state.where} apply={replace} />
      <LabelList labels={labels} pick={setPicked} />
    </div>
  );
}

/** All conditions as text. */
function WhereForm({ where, apply }: { where: string; apply: (where: string) => void }) {
  const [text, setText] = useState(where);
  const [tried, setTried] = useState(false);
  const { error } = parseMatchers(text);
  return (
    <form
      class="where-form"
      onSubmit={(e) => {
        e.preventDefault();
        setTried(true);
        if (!error) apply(text.trim());
      }}
    >
      <input
        type="text"
        class="filter mono"
        placeholder={'pod="a", version=~"1\\..*"'}
        aria-label="Conditions on labels"
        aria-invalid={tried && error !== ""}
        spellcheck={false}
        autocomplete="off"
        autofocus
        value={text}
        data-testid="where"
        onInput={(e) => setText(e.currentTarget.value)}
      />
      <button type="submit" class="button small" data-testid="where-apply">
        Apply
      </button>
      {tried && error && (
        <div class="problem" role="alert" data-testid="where-problem">
          {error}
        </div>
      )}
    </form>
  );
}

function LabelList({
  labels,
  pick,
}: {
  labels: ReturnType<typeof useLabels>;
  pick: (l: Label) => void;
}) {
  if (labels.error) return <div class="note">Labels: {labels.error}</div>;
  if (!labels.data) return <div class="note">Loading labels…</div>;
  if (labels.data.labels.length === 0)
    return <div class="note">The profiles of this range have no labels.</div>;
  return (
    <div class="scroll">
      {labels.data.labels.map((l) => (
        <button
          type="button"
          class="item"
          key={l.name}
          data-testid={`label-${l.name}`}
          onClick={() => pick(l)}
        >
          <span>{l.name}</span>
          <span class="dim num">
            {l.n === 1 ? (l.values[0]?.value ?? "1 value") : `${l.n} values`}
          </span>
        </button>
      ))}
    </div>
  );
}

export function GroupBy(p: Props) {
  const { by } = p.state;
  return (
    <Popover
      label={<span class="one-line">{by ? `By ${by}` : "Group by"}</span>}
      title={by ? `The timeline is split by ${by}` : "Split the timeline by a label"}
      testId="group-by"
      className="plain group-by"
    >
      {() => <GroupByMenu {...p} pick={(by) => p.navigate({ by }, "replace")} />}
    </Popover>
  );
}

function GroupByMenu({ state, subject, span, pick }: Props & { pick: (label: string) => void }) {
  const labels = useLabels(subject, span);
  const names = [
    "instance",
    ...(labels.data?.labels ?? []).map((l) => l.name).filter((n) => n !== "instance"),
  ];
  if (state.by && !names.includes(state.by)) names.push(state.by);
  const count = (name: string): string => {
    const n = labels.data?.labels.find((l) => l.name === name)?.n;
    return n === undefined ? "" : String(n);
  };
  return (
    <div class="scroll">
      <MenuItem checked={!state.by} testId="by-none" onClick={() => pick("")}>
        Nothing
      </MenuItem>
      {names.map((name) => (
        <MenuItem
          key={name}
          checked={name === state.by}
          testId={`by-${name}`}
          hint={count(name)}
          hintClass="dim num"
          onClick={() => pick(name)}
        >
          {name}
        </MenuItem>
      ))}
      {labels.error && <div class="note">Labels: {labels.error}</div>}
    </div>
  );
}
