// Lines about what lacks names: JVMs that have no Java profiles, and languages whose functions are
// not seen. Once dismissed, the same line stays hidden as long as the browser's tab is open.

import { useState } from "preact/hooks";
import { comingText } from "../../model/late_symbols";
import { namingNotes, namingOf } from "../../model/naming";
import { jvmNote } from "../../model/runtimes";
import type { FlameGraph } from "../../state/api";
import { store, storedOfTab } from "../../state/stored";
import { docsUrl } from "../parts/links";
import { Strip } from "../parts/strip";

const KEY = "hidden jvm notes";

function hidden(): string[] {
  const notes = storedOfTab(KEY, []);
  return Array.isArray(notes) ? notes.map(String) : [];
}

const hide = (note: string): void =>
  store("sessionStorage", KEY, JSON.stringify([...hidden().slice(-50), note]));

interface NoteProps {
  name: string; // of what is hidden
  look: "" | "warn";
  testId: string;
  text: string;
  docs?: string;
}

function Note({ name, look, testId, text, docs }: NoteProps) {
  const [gone, setGone] = useState("");
  if (gone === name || hidden().includes(name)) return null;
  return (
    <Strip
      look={look}
      testId={testId}
      text={text}
      title={text}
      act="Hide"
      onAct={() => {
        hide(name);
        setGone(name);
      }}
    >
      {docs && (
        <a href={docsUrl(docs)} target="_blank" rel="noreferrer">
          How
        </a>
      )}
    </Strip>
  );
}

export function RuntimeNotes({ service, graph }: { service: string; graph: FlameGraph }) {
  const jvms = jvmNote(graph.quality.runtimes);
  const naming = namingOf(graph)?.own;
  const coming = comingText(graph.symbols);
  return (
    <>
      {jvms && (
        <Note
          name={`${service} ${jvms.text}`}
          look={jvms.expected ? "" : "warn"}
          testId="jvm-note"
          text={jvms.text}
        />
      )}
      {coming && (
        <Note name={`${service} names to come`} look="" testId="symbols-note" text={coming} />
      )}
      {naming &&
        namingNotes(naming).map((n) => (
          <Note
            key={n.what}
            name={`${service} names of ${n.what}`} // its share changes with every refresh
            look="warn"
            testId="names-note"
            text={n.text}
            docs={n.docs}
          />
        ))}
    </>
  );
}
