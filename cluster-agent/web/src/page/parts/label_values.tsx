// Labels and their values with the share of each, as the server knows them for a selection.

import { useState } from "preact/hooks";
import { labelsUrl, useApi, type Label, type Labels, type Selection } from "../../state/api";
import { withoutLabel } from "../../model/matchers";
import type { Span } from "../../model/time_range";
import { percent } from "../../model/units";
import { FilterField } from "./filter_field";

/** Labels of the selection, or one label; null loads nothing. */
export function useLabels(subject: Selection, span: Span | null, label = "") {
  const url = span && subject.service && subject.type ? labelsUrl(subject, span, label) : null;
  return useApi<Labels>(
    url,
    `${subject.service} ${subject.type} ${subject.instance} ${subject.where} ${label}`,
  );
}

export const shareText = (share: number): string => percent(share, 1);

interface Props {
  label: Label;
  subject: Selection;
  span: Span;
  pick: (value: string, exclude: boolean) => void;
}

/** Values of one label, largest first; a field narrows long lists. */
export function LabelValues({ label, subject, span, pick }: Props) {
  const [filter, setFilter] = useState("");
  // the first answer has the largest values only, and those that the label's own filter leaves
  const where = withoutLabel(subject.where, label.name);
  const more = label.n > label.values.length || where !== subject.where;
  const all = useLabels({ ...subject, where }, more ? span : null, label.name);
  const full = (more && all.data?.labels[0]) || label;
  const { values } = full;
  const words = filter.toLowerCase();
  const shown = values.filter((v) => v.value.toLowerCase().includes(words));
  return (
    <>
      {full.n > 8 && (
        <FilterField
          what={`Filter ${full.n} values`}
          label={`Filter values of ${label.name}`}
          testId="value-filter"
          autofocus
          value={filter}
          set={setFilter}
        />
      )}
      <div class="scroll label-values">
        {shown.map((v) => (
          <div class="value-row" key={v.value}>
            <button
              type="button"
              class="item"
              data-testid="label-value"
              title={v.value}
              onClick={() => pick(v.value, false)}
            >
              <span class="mono one-line">{v.value || "(no value)"}</span>
              <span class="dim num">{shareText(v.share)}</span>
            </button>
            <button
              type="button"
              class="item not"
              aria-label={`Without ${v.value || "those that have no value"}`}
              title="All but this one"
              onClick={() => pick(v.value, true)}
            >
              ≠
            </button>
          </div>
        ))}
        {shown.length === 0 && <div class="note">No value matches</div>}
        {values.length < full.n && (
          <div class="note">
            The {values.length} largest of {full.n} values. Type a condition for others.
          </div>
        )}
      </div>
    </>
  );
}
