// The edits of the graph in their order, each with a button that takes it back, and how much of the
// profile is left.

import { clip, label, visible } from "../../model/names";
import { EVERY } from "../../model/transform";
import { shownShare, type Tree } from "../../model/tree";
import { percent } from "../../model/units";
import type { Transform } from "../../model/url_state";

const verbs: Record<Transform["kind"], string> = {
  focus: "Focus",
  hide: "Hide",
  library: "Collapse",
  recursion: "No recursion of",
};

function objectOf(t: Transform): string {
  if (t.name === EVERY && t.kind === "recursion") return "any function";
  return t.name === "" ? visible(t.file.replace(/^\[(.*)\]$/, "$1")) : label(t.name);
}

interface Props {
  edits: Transform[];
  tree: Tree | null; // after the edits
  onChange: (edits: Transform[]) => void;
}

export function Edits({ edits, tree, onChange }: Props) {
  if (edits.length === 0) return null;
  const share = tree ? shownShare(tree) : 1;
  return (
    <div class="strip edits" data-testid="edits">
      <span class="edit-chips">
        {edits.map((t, i) => (
          <button
            type="button"
            key={`${i} ${t.kind} ${t.name} ${t.file}`}
            class="button small"
            title={`Take back: ${verbs[t.kind]} ${objectOf(t)}`}
            data-testid="edit-chip"
            onClick={() => onChange(edits.filter((_, k) => k !== i))}
          >
            {verbs[t.kind]} <span class="mono">{clip(objectOf(t), 48)}</span>
            <span aria-hidden="true">✕</span>
          </button>
        ))}
      </span>
      <span class="edits-end">
        {tree && (
          <span role="status" data-testid="shown-share">
            {share > 0 ? `${percent(share, 1)} of the total shown` : "Nothing is left of the total"}
          </span>
        )}
        {edits.length > 1 && (
          <button type="button" class="button small" onClick={() => onChange([])}>
            Clear all
          </button>
        )}
      </span>
    </div>
  );
}
