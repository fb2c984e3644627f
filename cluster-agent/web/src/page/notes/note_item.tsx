// One note: its words, and where it leads.

import { useState } from "preact/hooks";
import { stateOf, type Note } from "../../model/notes";
import { clock, day } from "../../model/time_range";
import { zoned } from "../../model/time_zone";
import { emptyState, printState } from "../../model/url_state";
import { noteUrlOf } from "../../state/api";
import type { Navigate } from "../../state/hooks";
import { NEEDS_KEY, sendNote } from "../../state/note_store";
import { follow } from "../parts/links";
import { ServiceName } from "../parts/service_name";
import { NotesKey } from "./notes_key";

interface Props {
  note: Note;
  navigate: Navigate;
  named?: boolean; // with the application that it is about
}

/** Two clicks delete it. */
function Delete({ id }: { id: string }) {
  const [armed, arm] = useState(false);
  const [sent, setSent] = useState({ status: 0, error: "" });
  const act = async (): Promise<void> => {
    if (!armed) return arm(true);
    setSent(await sendNote("DELETE", noteUrlOf(id)));
  };
  return (
    <>
      {sent.status === NEEDS_KEY && <NotesKey />}
      {sent.error && <span class="bad-text">{sent.error}</span>}
      <button
        type="button"
        class="button plain small"
        data-testid="note-delete"
        onClick={() => void act()}
        onBlur={() => sent.error === "" && arm(false)}
      >
        {armed ? "Delete for everybody?" : "Delete"}
      </button>
    </>
  );
}

export function NoteItem({ note, navigate, named }: Props) {
  const { name, text, at } = note;
  const view = stateOf(note);
  const snapshot = { ...emptyState, snapshot: note.id };
  return (
    <div class="note" data-testid="note">
      <b>{name}</b>
      <span class="dim num">{zoned(`${day(at)} ${clock(at)}`, at)}</span>
      {named && note.service && <ServiceName service={note.service} />}
      {text && <p>{text}</p>}
      {note.bytes > 0 && (
        <span class="dim" data-testid="note-expires">
          Snapshot, kept until {zoned(`${day(note.expires)} ${clock(note.expires)}`, note.expires)}
        </span>
      )}
      <span class="note-acts">
        {view && (
          <a
            class="button small"
            href={printState(view)}
            data-testid="note-view"
            onClick={(e) => follow(e, () => navigate(view))}
          >
            View
          </a>
        )}
        {note.bytes > 0 && (
          <a
            class="button small"
            href={printState(snapshot)}
            data-testid="note-snapshot"
            onClick={(e) => follow(e, () => navigate(snapshot))}
          >
            Snapshot
          </a>
        )}
        <Delete id={note.id} />
      </span>
    </div>
  );
}
