// Notes on the timeline. A click shows the whole note.

import { useMemo } from "preact/hooks";
import { notesWithin, type Note } from "../../model/notes";
import type { Span } from "../../model/time_range";
import type { Navigate } from "../../state/hooks";
import { Popover } from "../parts/popover";
import { markLook, percentOf } from "../timeline/timeline_boxes";
import { NoteItem } from "./note_item";

interface Props {
  notes: Note[];
  chart: Span;
  navigate: Navigate;
}

export function NoteMarks({ notes, chart, navigate }: Props) {
  const seen = useMemo(() => notesWithin(notes, chart), [notes, chart.from, chart.to]);
  const lefts = seen.map((n) => percentOf(n.at, chart));
  return (
    <>
      {seen.map((note, i) => (
        <div
          class="release note-mark"
          key={note.id}
          style={{ left: `${lefts[i]}%` }}
          data-testid="note-mark"
        >
          <Popover
            label={note.name}
            title={note.text ? `${note.name}\n${note.text}` : note.name}
            kind="dialog"
            className={`note-tag ${markLook(lefts, i)}`}
            chevron={false}
          >
            {() => <NoteItem {...{ note, navigate }} />}
          </Popover>
        </div>
      ))}
    </>
  );
}
