// A function over the range: what it uses in a dozen parts of it, each asked for by itself, one
// after the other, once the function has been on show for a moment. A profile counts in each part
// by what of it lies there, as on the timeline: counted whole, it would be in two parts or three.

import { useEffect, useMemo, useState } from "preact/hooks";
import { exactQuery } from "../../model/search";
import type { Span } from "../../model/time_range";
import { fetchAnswer, partUrl, type MatchTotals, type Selection } from "../../state/api";

const PARTS = 12;
const SETTLED_MS = 400;

const LEAST_MOVE_MS = 60_000;

/** The parts of a range that has just moved are those of before, up to a tenth of the last one. */
export function partsOf({ from, to }: Span, until = to): Span[] {
  const step = Math.max(1000, Math.ceil((to - from) / PARTS));
  const move = Math.min(step, Math.max(LEAST_MOVE_MS, Math.ceil(step / 10)));
  const end = Math.floor(Math.min(to, until) / move) * move;
  return Array.from({ length: PARTS }, (_, i) => {
    const from = end - (PARTS - i) * step;
    return { from, to: from + step };
  });
}

const known = new Map<string, number | null>(); // rates, by address
const MOST_KNOWN = 600;

async function learn(url: string, signal: AbortSignal): Promise<void> {
  const { rate = null } = await fetchAnswer<MatchTotals>(url, signal);
  if (known.size >= MOST_KNOWN) known.clear();
  known.set(url, rate);
}

/**
 * What it uses in each part, per second of the time that profiles cover, or the mean of a level;
 * null where nothing is covered or it is not known yet. The parts end where agents have yet to send
 * what is newer.
 */
export function useTrend(
  subject: Selection,
  span: Span,
  name: string,
  until?: number,
): (number | null)[] {
  const parts = partsOf(span, until);
  const { service, type, instance, where } = subject;
  const key = JSON.stringify([service, type, instance, where, name, parts[0]]);
  const urls = useMemo(
    () => parts.map((s) => partUrl(subject, s, exactQuery(name))),
    [key],
  );
  const empty = () => urls.map((url) => known.get(url) ?? null);
  const [state, set] = useState({ key, values: empty() });
  useEffect(() => {
    const abort = new AbortController();
    const load = async (): Promise<void> => {
      for (const url of urls) {
        if (known.has(url)) continue;
        await learn(url, abort.signal);
        if (abort.signal.aborted) return;
        set({ key, values: empty() });
      }
    };
    set({ key, values: empty() });
    const timer = setTimeout(() => void load().catch(() => undefined), SETTLED_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [key]);
  return state.key === key ? state.values : empty();
}
