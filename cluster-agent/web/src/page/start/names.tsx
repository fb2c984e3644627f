// Functions of all applications that the text of the start page's field may mean.

import { useMemo } from "preact/hooks";
import { namesUrl, useApi, type Names } from "../../state/api";
import { daysSpan, daysText } from "../../model/fleet";
import { fullName, label } from "../../model/names";
import type { Span } from "../../model/time_range";

const LEAST = 2; // letters
const LIMIT = 8;
const NONE: string[] = [];

/** A name in quotes is that function, whether it is suggested or not. */
export const quoted = (text: string): string => /^"(.+)"$/.exec(text.trim())?.[1] ?? "";

/** The largest functions with the text in their names; none while it is short. */
export function useNames(text: string, span: Span): string[] {
  const search = quoted(text) || text.trim();
  const { to } = daysSpan(span);
  const url = useMemo(
    () =>
      search.length < LEAST ? null : namesUrl({ from: to - 1, to }, { search, limit: LIMIT }),
    [search, to],
  );
  const { data } = useApi<Names>(url, "names", 0, true);
  // those of an earlier text are there until the answer to this one is
  const part = search.toLowerCase();
  return data && url ? data.functions.filter((f) => f.toLowerCase().includes(part)) : NONE;
}

interface ChipsProps {
  names: string[];
  span: Span;
  pick: (name: string) => void;
}

export const NameChips = ({ names, span, pick }: ChipsProps) =>
  names.length === 0 ? null : (
    <div class="name-chips" role="group" aria-label="Functions in all applications">
      <span class="dim" data-testid="name-days">
        Functions, whole days: {daysText(daysSpan(span))}
      </span>
      {names.map((name) => (
        <button
          type="button"
          class="button mono"
          key={name}
          title={`${fullName(name)}\nin all applications`}
          data-testid="name-chip"
          data-name={name}
          onClick={() => pick(name)}
        >
          <bdi class="one-line">{label(name)}</bdi>
        </button>
      ))}
    </div>
  );
