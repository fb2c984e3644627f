// The panel of notes: a form for one about the present view, and the list of all.

import { useEffect, useState } from "preact/hooks";
import { cutName, momentOf, viewOf, type Note } from "../../model/notes";
import { clock, day, isRelative, type Span } from "../../model/time_range";
import { zoned } from "../../model/time_zone";
import { grouped } from "../../model/units";
import type { UrlState } from "../../model/url_state";
import { noteUrl, snapshotsUrl, type BaseSide, type Selection } from "../../state/api";
import type { Navigate } from "../../state/hooks";
import { NEEDS_KEY, notesKey, readAgain, sendNote, type KnownNotes } from "../../state/note_store";
import { zoneToShow } from "../../state/zone";
import { Popover } from "../parts/popover";
import { NoteItem } from "./note_item";
import { NotesKey } from "./notes_key";

interface Props {
  known: KnownNotes;
  state: UrlState;
  navigate: Navigate;
  now: number;
  shown: Span;
  subject: Selection;
  baseline: BaseSide | null;
}

const Check = (p: { text: string; on: boolean; set: (on: boolean) => void; testId: string }) => (
  <label class="check">
    <input
      type="checkbox"
      checked={p.on}
      data-testid={p.testId}
      onChange={(e) => p.set(e.currentTarget.checked)}
    />
    {p.text}
  </label>
);

const KeepFor = ({ ttl, set }: { ttl: string; set: (ttl: string) => void }) => (
  <label>
    Keep it
    <select value={ttl} data-testid="note-ttl" onChange={(e) => set(e.currentTarget.value)}>
      <option value="">as long as notes</option>
      {[7, 30, 90].map((days) => (
        <option value={`${days}d`}>{days} days</option>
      ))}
    </select>
  </label>
);

/** Where it is marked, and for whom; or what came of it. */
function said(error: string | undefined, at: number, service: string): string {
  if (error !== undefined) return error || "Saved.";
  const place = `Marked at ${zoned(`${day(at)} ${clock(at)}`, at)}, for everybody`;
  return service ? place : `${place} and all applications`;
}

function Form({ state, now, shown, subject, baseline }: Props) {
  const [name, setName] = useState("");
  const [text, setText] = useState("");
  const [ttl, setTtl] = useState<string | null>(null); // of the snapshot; null = there is none
  const [live, setLive] = useState(false);
  const [sent, setSent] = useState<{ status: number; error: string } | "busy" | null>(null);
  const at = momentOf(state, shown);
  const submit = async (e: Event): Promise<void> => {
    e.preventDefault();
    setSent("busy");
    const more = { name: name.trim(), at, url: viewOf(state, now, zoneToShow(state.zone), live) };
    const url =
      ttl === null
        ? noteUrl({ service: subject.service, type: subject.service && subject.type, ...more })
        : snapshotsUrl(subject, shown, baseline, { ...more, ttl });
    const done = await sendNote("POST", url, text.trim());
    setSent(done);
    if (done.error) return;
    setName("");
    setText("");
  };
  const answer = sent === "busy" ? null : sent;
  return (
    <form class="store-form" onSubmit={(e) => void submit(e)} data-testid="note-form">
      <label>
        Note or name of this view
        <input
          required
          value={name}
          data-testid="note-name"
          onInput={(e) => setName((e.currentTarget.value = cutName(e.currentTarget.value)))}
        />
      </label>
      <label>
        Text, if there is more to say
        <textarea
          rows={2}
          maxLength={1000}
          value={text}
          data-testid="note-text"
          onInput={(e) => setText(e.currentTarget.value)}
        />
      </label>
      {isRelative(state.range) && !state.selection && (
        <Check text="Stay live: without these times" on={live} set={setLive} testId="note-live" />
      )}
      {subject.service && subject.type && (
        <Check
          text="Keep the flame graph, too (snapshot)"
          on={ttl !== null}
          set={(on) => setTtl(on ? "" : null)}
          testId="note-keep"
        />
      )}
      {ttl !== null && <KeepFor ttl={ttl} set={setTtl} />}
      {(answer?.status === NEEDS_KEY || notesKey.value) && <NotesKey />}
      <p class={answer?.error ? "bad-text" : "dim"} role="status" data-testid="note-said">
        {said(answer?.error, at, subject.service)}
      </p>
      <button
        type="submit"
        class="button primary"
        disabled={sent === "busy"}
        data-testid="note-save"
      >
        {sent === "busy" ? "Saving…" : "Save"}
      </button>
    </form>
  );
}

function List({ known, navigate, named }: Pick<Props, "known" | "navigate"> & { named: boolean }) {
  const { notes, n, error } = known;
  useEffect(readAgain, []); // others write and delete, too
  if (error) return <p class="dim notes-empty">{error}</p>;
  if (notes.length === 0) return <p class="dim notes-empty">There are no notes yet.</p>;
  return (
    <div class="scroll notes-list">
      {notes.map((note: Note) => (
        <NoteItem key={note.id} {...{ note, navigate, named }} />
      ))}
      {n > notes.length && (
        <p class="dim">
          The latest {grouped(notes.length)} of {grouped(n)}.
        </p>
      )}
    </div>
  );
}

export function NotesPanel(p: Props) {
  const { notes } = p.known;
  return (
    <Popover
      label={notes.length > 0 ? `Notes ${grouped(p.known.n)}` : "Notes"}
      title="Notes, saved views and snapshots"
      testId="notes"
      align="right"
      kind="dialog"
      className="plain notes"
      chevron={false}
    >
      {() => (
        <>
          <Form {...p} />
          <List {...p} named={p.state.service === ""} />
        </>
      )}
    </Popover>
  );
}
