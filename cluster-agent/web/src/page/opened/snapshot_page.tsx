// A snapshot: a flame graph that was kept as it was, and is shown as a file is.

import { useEffect, useState } from "preact/hooks";
import { shownOf, stateOf, type Note } from "../../model/notes";
import { emptyState } from "../../model/url_state";
import { openFile } from "../../open/open_file";
import { NO_ANSWER, notesUrl, snapshotUrl, useApi, type Loaded, type Notes } from "../../state/api";
import type { Opened } from "../../state/opened";
import { Waiting } from "../parts/waiting";
import type { PageProps } from "../profiles/page_props";
import { OpenedPage } from "./opened_page";

async function side(note: Note, base: boolean): Promise<File> {
  const res = await fetch(snapshotUrl(note.id, base));
  if (!res.ok) throw new Error(`HTTP ${res.status}`);
  return new File([await res.blob()], base ? "Baseline" : note.name, { lastModified: note.at });
}

/** Reads what the server kept; null until it is there. */
function useSides(note: Note | undefined, attempt: number) {
  const [state, set] = useState({ files: null as Opened | null, error: "" });
  useEffect(() => {
    if (!note) return;
    let left = false;
    const load = async (): Promise<Opened> => ({
      a: await openFile(await side(note, false)),
      b: note.compared ? await openFile(await side(note, true)) : null,
    });
    load().then(
      (files) => left || set({ files, error: "" }),
      (e: Error) => left || set({ files: null, error: e.message }),
    );
    return () => {
      left = true;
    };
  }, [note?.id, attempt]);
  return { ...state, show: (files: Opened) => set({ files, error: "" }) };
}

const gone = "it was deleted, or its time was up";

export function SnapshotPage(p: PageProps) {
  const { snapshot } = p.state;
  const [attempt, setAttempt] = useState(0);
  const list = useApi<Notes>(notesUrl({ id: snapshot }), snapshot, attempt);
  const note = list.data?.notes[0];
  const { files, error, show } = useSides(note, attempt);
  if (note && files)
    return (
      <OpenedPage
        {...p}
        files={files}
        snapshot={{
          note,
          shown: shownOf(note.url),
          onFiles: show,
          onClose: () => p.navigate(stateOf(note) ?? emptyState),
        }}
      />
    );
  const lacks = list.data && !note ? gone : error;
  const loaded: Loaded<unknown> = lacks
    ? { data: null, error: lacks, status: note ? NO_ANSWER : 400, loading: false }
    : list;
  return <Waiting what="the snapshot" loaded={loaded} onRetry={() => setAttempt(attempt + 1)} />;
}
