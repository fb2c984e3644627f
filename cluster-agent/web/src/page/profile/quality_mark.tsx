// How complete a profile is: in a few words, and what was lost in the panel below them.

import { hasFewNames, namingOf, type Naming } from "../../model/naming";
import { explain } from "../../model/profile_types";
import { isSampled } from "../../model/chance";
import { isOfAll, observed, qualityLevel } from "../../model/quality";
import { walkEnds, walkSentence, type WalkEnds } from "../../model/unwinding";
import { grouped, percent, percentComplete, value } from "../../model/units";
import type { BaseInfo, FlameGraph } from "../../state/api";
import { Popover } from "../parts/popover";
import { isCut } from "./view_tree";

const BINARIES_SHOWN = 8;

const DOT = <span class="dim"> · </span>;

const OF_ALL = " of the whole application";

const reasonText = (r: string): string => r.replace(/_/g, " ");

const figure = (name: string, n: number) => (
  <>
    <dt>{name}</dt>
    <dd>{grouped(n)}</dd>
  </>
);

/** How much has names of the program. */
const namedText = (n: Naming): string => percentComplete(n.named, n.known);

const NamedFigure = ({ naming }: { naming: Naming | null | undefined }) =>
  naming && naming.known > 0 ? (
    <>
      <dt>With names of the program</dt>
      <dd>{namedText(naming)}</dd>
    </>
  ) : null;

interface BaseProps {
  base: BaseInfo;
  sampled: boolean;
  naming: Naming | null | undefined;
}

function BaseQuality({ base, sampled, naming }: BaseProps) {
  const q = base.quality;
  return (
    <dl data-testid="base-quality">
      <dt>
        <b>Baseline{isOfAll(q) && OF_ALL}</b>
      </dt>
      <dd />
      {sampled && (
        <>
          {figure("Samples", q.samples)}
          {figure("Truncated stacks", q.truncated)}
          {figure("Lost samples", q.lost)}
        </>
      )}
      <NamedFigure naming={naming} />
      {figure("Distinct stacks", base.stacks)}
    </dl>
  );
}

function WalkBinaries({ walks }: { walks: WalkEnds }) {
  return (
    <table class="walk-ends" data-testid="walk-ends">
      <caption>{walkSentence(walks)}</caption>
      <thead>
        <tr>
          <th scope="col">They end in</th>
          <th scope="col">Ended</th>
          <th scope="col">Of its stacks</th>
        </tr>
      </thead>
      <tbody>
        {walks.binaries.slice(0, BINARIES_SHOWN).map((b) => (
          <tr key={b.binary} title={b.ends.map((e) => `${grouped(e.n)}: ${e.end}`).join("\n")}>
            <th scope="row">{b.binary}</th>
            <td>{grouped(b.ended)}</td>
            <td>{percent(b.ended, b.seen)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Good, or why not, in a word. */
function levelOf(graph: FlameGraph, cut: boolean): string {
  const names = namingOf(graph);
  const levels = [qualityLevel(graph.quality, names?.own)];
  if (graph.base) levels.push(qualityLevel(graph.base.quality, names?.base));
  if (levels.includes("bad")) return "bad";
  return cut || levels.includes("fair") ? "fair" : "good";
}

function QualityLabel({ graph }: { graph: FlameGraph }) {
  const q = graph.quality;
  const seen = observed(q, graph);
  const cut = isCut(graph);
  const naming = namingOf(graph)?.own;
  const walks = walkEnds(q.unwinding);
  return (
    <span class="quality-label num" data-testid="quality">
      <span class={`dot ${levelOf(graph, cut)}`} aria-hidden="true" />
      {seen && (
        <span class="quality-seen">
          {seen}
          {DOT}
        </span>
      )}
      {percentComplete(q.samples - q.truncated, q.samples)} complete
      <span class="wider"> stacks</span>
      {isOfAll(q) && (
        <span class="dim" data-testid="quality-scope">
          {OF_ALL}
        </span>
      )}
      {naming && naming.known > 0 && (
        <>
          {DOT}
          <span class={hasFewNames(naming) ? "warn" : ""} data-testid="named">
            {namedText(naming)} named
          </span>
        </>
      )}
      {walks && (
        <span class="wide-only" data-testid="guessed">
          {DOT}
          {percent(walks.guessed, walks.total)} guessed
        </span>
      )}
      {q.lost > 0 && (
        <>
          {DOT}
          <span class="warn">{grouped(q.lost)} lost</span>
        </>
      )}
      {cut && (
        <>
          {DOT}
          <span class="warn" data-testid="cut">
            {percent(graph.other.value, graph.total)} in other
          </span>
        </>
      )}
    </span>
  );
}

interface FiguresProps {
  graph: FlameGraph;
  sampled: boolean;
  walks: WalkEnds | null;
}

function QualityFigures({ graph, sampled, walks }: FiguresProps) {
  const q = graph.quality;
  const good = q.samples - q.truncated;
  const reasons = Object.entries(q.lostReasons).sort((a, b) => b[1] - a[1]);
  const part = (name: string, n: number) => (
    <>
      <dt class="dim indent">{name}</dt>
      <dd class="dim">{grouped(n)}</dd>
    </>
  );
  return (
    <dl>
      {sampled && figure("Samples", q.samples)}
      <dt>Complete stacks</dt>
      <dd>{sampled ? grouped(good) : percentComplete(good, q.samples)}</dd>
      {sampled && figure("Truncated stacks", q.truncated)}
      {walks?.ends.map((e) => part(e.end, e.n))}
      <NamedFigure naming={namingOf(graph)?.own} />
      {walks && figure("Stacks with a guessed step", walks.guessed)}
      {(sampled || q.lost > 0) && figure("Lost samples", q.lost)}
      {reasons.map(([why, n]) => part(reasonText(why), n))}
      {figure("Distinct stacks", graph.stacks)}
    </dl>
  );
}

function QualityPanel({ graph }: { graph: FlameGraph }) {
  const q = graph.quality;
  const sampled = isSampled(graph.type);
  const walks = walkEnds(q.unwinding);
  return (
    <div class="quality-panel">
      <QualityFigures graph={graph} sampled={sampled} walks={walks} />
      {walks && walks.binaries.length > 0 && <WalkBinaries walks={walks} />}
      {graph.base && (
        <BaseQuality base={graph.base} sampled={sampled} naming={namingOf(graph)?.base} />
      )}
      {explain(graph.type) && <p class="dim">{explain(graph.type)}</p>}
      {isOfAll(q) && (
        <p class="dim">
          These numbers are those of the whole application, not of the filter: profiles in this
          range were stored before their labels were kept with them.
        </p>
      )}
      <p class="dim">
        A truncated stack has its innermost frames but not all callers. A stack is named if a
        function of the program is in it, or if nothing in it lacks a name: what an interpreter, a
        library or the kernel does beside the program needs none.
        {sampled &&
          " Lost samples are those of the whole node in this time; they are in no stack."}
      </p>
      {graph.other.value > 0 && (
        <p class="dim">
          {grouped(graph.other.nodes)} small frames ({percent(graph.other.value, graph.total)}) are
          drawn as “other”, hatched. Zooming in asks for more of them. Totals, search and exports
          are of the whole.
        </p>
      )}
      {graph.stacksCut > 0 && (
        <p class="dim">
          {grouped(graph.stacksCut)} rare stacks ({value(graph.valueCut, graph.unit)}) were too many
          to read one by one: they are in “other” below the total.
        </p>
      )}
    </div>
  );
}

export function QualityMark({ graph }: { graph: FlameGraph }) {
  return (
    <Popover
      label={<QualityLabel graph={graph} />}
      title="How complete this profile is"
      chevron={false}
      className="plain quality"
      align="right"
      kind="dialog"
    >
      {() => <QualityPanel graph={graph} />}
    </Popover>
  );
}
