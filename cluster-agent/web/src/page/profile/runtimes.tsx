// One line about JVMs that have no Java profiles. Once dismissed, the same line stays hidden as
// long as the browser's tab is open.

import { useState } from "preact/hooks";
import { Strip } from "../parts/strip";
import { jvmNote, type Runtimes } from "../../model/runtimes";
import { store, storedOfTab } from "../../state/stored";

const KEY = "hidden jvm notes";

function hidden(): string[] {
  const notes = storedOfTab(KEY, []);
  return Array.isArray(notes) ? notes.map(String) : [];
}

const hide = (note: string): void =>
  store("sessionStorage", KEY, JSON.stringify([...hidden().slice(-50), note]));

export function JvmStrip({
  service,
  runtimes,
}: {
  service: string;
  runtimes: Runtimes | undefined;
}) {
  const [gone, setGone] = useState("");
  const note = jvmNote(runtimes);
  const key = `${service} ${note?.text}`;
  if (!note || gone === key || hidden().includes(key)) return null;
  return (
    <Strip
      look={note.expected ? "" : "warn"}
      testId="jvm-note"
      text={note.text}
      title={note.text}
      act="Hide"
      onAct={() => {
        hide(key);
        setGone(key);
      }}
    />
  );
}
