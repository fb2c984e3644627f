// The scraped pods: their state, their profiles, and what is wrong.

import { useEffect, useMemo } from "preact/hooks";
import {
  canOpen,
  countStates,
  filterPods,
  linesOf,
  podsOf,
  stateMeanings,
  stateNames,
  stateOrder,
  type Pod,
  type StateFilter,
  type Targets,
} from "../../model/targets";
import { duration } from "../../model/time_range";
import { grouped } from "../../model/units";
import type { UrlState } from "../../model/url_state";
import type { Loaded } from "../../state/api";
import { useToggled, type Navigate } from "../../state/hooks";
import { AnnotateCommands } from "../parts/empty";
import { FilterField } from "../parts/filter_field";
import { Segments } from "../parts/popover";
import { Strip } from "../parts/strip";
import { Waiting } from "../parts/waiting";
import { TargetTable, type Props } from "./target_table";

function States({ pods, state, navigate }: { pods: Pod[]; state: UrlState; navigate: Navigate }) {
  const counts = countStates(pods);
  // states that occur, the selected one, and those that are always offered
  const shown = stateOrder.filter(
    (s) => counts[s] > 0 || s === state.pods || s === "down" || s === "invalid",
  );
  return (
    <Segments
      label="State"
      testId="state"
      value={state.pods}
      options={(["all", ...shown] as StateFilter[]).map((s) => ({
        value: s,
        label: (
          <>
            {s === "all" ? "All" : stateNames[s]}{" "}
            <span class="num count">{grouped(counts[s])}</span>
          </>
        ),
        title: s === "all" ? "All pods" : stateMeanings[s],
      }))}
      onChange={(s) => navigate({ pods: s }, "replace")}
    />
  );
}

function TargetList(props: Props) {
  const { state, navigate, targets } = props;
  const [open, toggle] = useToggled();
  const pods = useMemo(() => podsOf(targets.targets), [targets]);
  const shown = useMemo(
    () => filterPods(pods, state.pods, state.search),
    [pods, state.pods, state.search],
  );
  const lines = useMemo(() => linesOf(shown, open), [shown, open]);
  return (
    <main class="start">
      <div class="start-bar">
        <FilterField
          what="Filter by pod, application, node, error"
          label="Filter targets"
          testId="target-filter"
          slash
          value={state.search}
          set={(search) => navigate({ search }, "replace")}
        />
        <States pods={pods} state={state} navigate={navigate} />
        <span class="dim num wide-only">
          {shown.length === pods.length ? "" : `${grouped(shown.length)} of `}
          {grouped(pods.length)} {pods.length === 1 ? "pod" : "pods"} · every{" "}
          {duration(targets.intervalMs)}
        </span>
      </div>
      <TargetTable
        lines={lines}
        open={open}
        toggle={(id) => pods.some((p) => p.id === id && canOpen(p)) && toggle(id)}
        props={props}
      />
    </main>
  );
}

function NoTargets({ targets }: { targets: Targets }) {
  const { synced } = targets.discovery;
  return (
    <main class="empty" data-testid="no-targets">
      <h2>{synced ? "No pod asks to be scraped" : "Reading the pods of the cluster"}</h2>
      {synced ? (
        <>
          <p>
            Pods that serve profiles over HTTP, as Go does under /debug/pprof, are found by their
            annotations:
          </p>
          <AnnotateCommands />
        </>
      ) : (
        <p>The API server has not answered with all pods yet.</p>
      )}
    </main>
  );
}

/** Shown when scraping is off: why, and how to switch it on. */
function ScrapingOff({ why }: { why: string }) {
  return (
    <main class="empty" data-testid="scraping-off">
      <h2>Pods are not scraped</h2>
      <p>{why}</p>
      <p>
        In a cluster the cluster-agent finds annotated pods by itself; its service account has to be
        allowed to get, list and watch pods. Outside, tell it how to reach the API server:
      </p>
      <pre>
        <code>coroot-cluster-agent --kubeconfig=$HOME/.kube/config</code>
      </pre>
      <p>Or, without Kubernetes, which addresses or which containers of Docker to scrape:</p>
      <pre>
        <code>{`coroot-cluster-agent --scrape-config=/etc/coroot/targets.yaml
coroot-cluster-agent --scrape-docker-socket=/var/run/docker.sock`}</code>
      </pre>
    </main>
  );
}

function Notes({ targets, error }: { targets: Targets | null; error: string }) {
  const problem = targets?.discovery.problem;
  return (
    <>
      {error && <Strip look="error" testId="error" text={`Targets: ${error}`} />}
      {problem && (
        <Strip
          look="warn"
          testId="discovery-problem"
          title={problem}
          text={`Targets may be out of date: ${problem}`}
        />
      )}
      {targets?.forwarding && (
        <Strip testId="forwarding">
          Profiles are sent to {targets.forwarding} and are shown there; nothing is stored here.
        </Strip>
      )}
    </>
  );
}

interface PageProps {
  state: UrlState;
  navigate: Navigate;
  loaded: Loaded<Targets>;
  onRetry: () => void;
}

export function TargetsPage({ state, navigate, loaded, onRetry }: PageProps) {
  const targets = loaded.data;
  const skew = useMemo(() => (targets ? targets.now - Date.now() : 0), [targets]);
  useEffect(() => {
    document.title = "Targets · profiles";
  }, []);
  return (
    <>
      <Notes targets={targets} error={loaded.status === 404 || !targets ? "" : loaded.error} />
      {loaded.status === 404 ? (
        <ScrapingOff why={loaded.error} />
      ) : !targets ? (
        <Waiting
          what="targets"
          loaded={loaded}
          onRetry={onRetry}
        />
      ) : targets.targets.length === 0 ? (
        <NoTargets targets={targets} />
      ) : (
        <TargetList state={state} navigate={navigate} targets={targets} skew={skew} />
      )}
    </>
  );
}
