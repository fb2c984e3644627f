// One line about JVMs that have no Java profiles. Once dismissed, the same line stays hidden as
// long as the browser's tab is open.

import { useState } from "preact/hooks";
import { jvmNote, type Runtimes } from "../../model/runtimes";

const KEY = "hidden jvm notes";

function hidden(): string[] {
  try {
    const stored: unknown = JSON.parse(sessionStorage.getItem(KEY) ?? "[]");
    return Array.isArray(stored) ? stored.map(String) : [];
  } catch {
    return []; // storage may be forbidden, or hold other text
  }
}

function hide(note: string): void {
  try {
    sessionStorage.setItem(KEY, JSON.stringify([...hidden().slice(-50), note]));
  } catch {
    // it comes back with the next page
  }
}

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
    <div
      class={note.expected ? "strip" : "strip warn-strip"}
      role="status"
      data-testid="jvm-note"
    >
      <span class="one-line" title={note.text}>
        {note.text}
      </span>
      <button
        type="button"
        class="button small"
        onClick={() => {
          hide(key);
          setGone(key);
        }}
      >
        Hide
      </button>
    </div>
  );
}
