// Before the first answer: that it is loading, or what failed and what to do next.

import { useEffect, useState } from "preact/hooks";
import { NO_ANSWER, type Loaded } from "../../state/api";
import { isAway, isRefusal, useLasting } from "../../state/connection";
import { Strip } from "./strip";

const SAY_MS = 1000; // shorter waits show no text
const COUNT_MS = 5000;

/** Seconds since it was first drawn. */
function useSeconds(): number {
  const [start] = useState(() => Date.now());
  const [now, setNow] = useState(start);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  return Math.round((now - start) / 1000);
}

function Loading({ what }: { what: string }) {
  const seconds = useSeconds();
  return (
    <>
      <p role="status">Loading {what}…</p>
      {seconds * 1000 >= COUNT_MS && (
        <p class="dim num">
          Since {seconds} s. Long ranges take longer; a query ends by itself after half a minute.
        </p>
      )}
    </>
  );
}

/** Above what was shown before, while something else is under way. */
export function StillLoading({ onCancel }: { onCancel: () => void }) {
  const seconds = useSeconds();
  if (seconds * 1000 < SAY_MS) return null;
  return (
    <Strip testId="still-loading" act="Cancel" onAct={onCancel}>
      <span>
        Loading<span aria-hidden="true"> since {seconds} s</span>
      </span>
    </Strip>
  );
}

const unreachable = [
  "The cluster-agent runs, and its log has no error.",
  "The address of this page is right, and the port-forward, proxy or VPN on the way is up.",
];
const refused = [
  "The reason above: the same question will be refused again.",
  "The address of this page: its range, type, application or filter. Each can be changed above.",
];
const failed = [
  "The reason above: a busy or unreachable store recovers by itself.",
  "The log of the cluster-agent, which has the details.",
];

const notOurs = [
  "The login of the proxy or gateway in front of the cluster-agent: it may have expired.",
  "The address of this page: it may be that of another server by now.",
];

const sentence = (s: string): string =>
  s.charAt(0).toUpperCase() + s.slice(1) + (s.endsWith(".") ? "" : ".");

interface Props {
  what: string; // "applications"
  loaded: Loaded<unknown>;
  onRetry: () => void;
}

export function Waiting({ what, loaded: { loading, error, status }, onRetry }: Props) {
  const slow = useLasting(loading && !error, SAY_MS);
  if (!error)
    return (
      <main class="empty" aria-busy={loading} data-testid="waiting">
        {slow && <Loading what={what} />}
      </main>
    );
  const away = isAway(status);
  const checks =
    status === NO_ANSWER ? notOurs : away ? unreachable : isRefusal(status) ? refused : failed;
  return (
    <main class="empty" aria-busy={loading} data-testid="failed">
      <div role="alert">
        <h2>Could not load {what}</h2>
        <p>{sentence(error)}</p>
      </div>
      <p>What to check:</p>
      <ul>
        {checks.map((c) => (
          <li key={c}>{c}</li>
        ))}
      </ul>
      <button type="button" class="button primary" data-testid="retry" onClick={onRetry}>
        {loading ? "Trying again…" : "Try again"}
      </button>
      {away && <p class="dim">The page also tries again by itself.</p>}
    </main>
  );
}
