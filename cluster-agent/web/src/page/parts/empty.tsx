// Pages without data say what to do.

import { ago, clock, day, duration, isSilent, type Span } from "../../model/time_range";
import { zoned } from "../../model/time_zone";
import { folderOf } from "../../model/url_state";
import { Strip } from "./strip";

const command = (): string => {
  const folder = folderOf(location.pathname).replace(/\/$/, "");
  return `coroot-node-agent --collector-endpoint=${location.origin}${folder}`;
};

const annotate =
  "kubectl annotate pod <pod> coroot.com/profile-scrape=true coroot.com/profile-port=8080";
const patch =
  `kubectl patch deployment <name> -p '{"spec":{"template":{"metadata":{"annotations":` +
  `{"coroot.com/profile-scrape":"true","coroot.com/profile-port":"8080"}}}}}'`;

/** How pods ask to be scraped: one that runs, and all that a deployment will make. */
export function AnnotateCommands() {
  return (
    <>
      <pre>
        <code>{annotate}</code>
      </pre>
      <p class="dim">A running pod follows within seconds. To keep it for the pods to come:</p>
      <pre>
        <code>{patch}</code>
      </pre>
    </>
  );
}

export function NoDataYet() {
  return (
    <main class="empty" data-testid="empty">
      <h2>No profiles yet</h2>
      <p>Start the node agent as root on every machine that you want to see:</p>
      <pre>
        <code>{command()}</code>
      </pre>
      <p class="dim">
        Every process of the machine appears here by itself after one upload interval, which
        <code>--profile-interval</code> sets (60 s by default). If nothing comes, the agent’s{" "}
        <code>/metrics</code> and its log say why. With an API key, give both agents the same{" "}
        <code>--api-key</code>.
      </p>
      <p>
        In Kubernetes, applications that serve profiles over HTTP, as Go does under /debug/pprof,
        are scraped when their pods ask for it:
      </p>
      <pre>
        <code>{annotate}</code>
      </pre>
      <p class="dim">
        What came of it is on the page of <a href="targets">targets</a>.
      </p>
    </main>
  );
}

interface NothingProps {
  what: string;
  of: string; // what is missing: "CPU profile"
  filtered: boolean; // by instance or labels
  span: Span; // what was asked for
  lastSeen: number | null; // of that type, without the filter
  now: number;
  onJump: (lastSeen: number) => void;
  onUnfilter?: () => void;
  onOther?: () => void; // to the application's first type; not given if there is none
}

export function NothingInRange(p: NothingProps) {
  const { what, of, lastSeen, now, span } = p;
  const inside = lastSeen !== null && lastSeen > span.from && lastSeen <= span.to;
  return (
    <main class="empty" data-testid="empty">
      <h2>Nothing in this range</h2>
      {lastSeen === null ? (
        <p>
          There is no {of} of {what} in these {duration(span.to - span.from)}, and none was found in
          the last 30 days.
        </p>
      ) : inside ? (
        <p>
          {p.filtered
            ? `There are profiles of ${what} here, but none of the chosen instance and labels.`
            : `The profiles of ${what} in this range are empty: nothing was measured.`}
        </p>
      ) : (
        <p>
          The last {of} of {what} ended {ago(lastSeen, now)}, on {day(lastSeen)} at{" "}
          {zoned(clock(lastSeen, true), lastSeen)}.
        </p>
      )}
      <div class="empty-actions">
        {lastSeen !== null && !inside && (
          <button
            type="button"
            class="button primary"
            data-testid="jump"
            onClick={() => p.onJump(lastSeen)}
          >
            Show the last data
          </button>
        )}
        {p.filtered && p.onUnfilter && (
          <button type="button" class="button" data-testid="unfilter" onClick={p.onUnfilter}>
            All instances and labels
          </button>
        )}
        {p.onOther && (
          <button type="button" class="button" data-testid="other-type" onClick={p.onOther}>
            Other profiles of {what}
          </button>
        )}
      </div>
    </main>
  );
}

interface SilenceProps {
  what: string; // the application, "" on the start page
  own: number | null; // newest profile of it
  any: number | null; // newest profile of anything
  now: number;
}

/** Reports an agent or an application whose profiles stopped; empty while profiles keep coming. */
export function Silence({ what, own, any, now }: SilenceProps) {
  if (any !== null && !isSilent(any, now)) {
    if (!what || own === null || !isSilent(own, now)) return null;
    return (
      <Strip testId="silence">
        No profiles of {what} since {zoned(clock(own, true), own)} ({ago(own, now)}): it is idle or
        has ended. Other applications are up to date.
      </Strip>
    );
  }
  if (any === null) return null;
  return (
    <Strip look="warn" testId="silence">
      No new profiles since {zoned(clock(any, true), any)} ({ago(any, now)}). Is the node agent
      running?{!what && " Figures are of the time before."}
    </Strip>
  );
}

interface ProblemProps {
  problems: { what: string; error: string }[];
  onRetry: () => void;
}

export function Problems({ problems, onRetry }: ProblemProps) {
  if (problems.length === 0) return null;
  return (
    <Strip
      look="error"
      testId="error"
      text={problems.map((p) => `${p.what}: ${p.error}`).join(" · ")}
      act="Retry"
      onAct={onRetry}
    />
  );
}
