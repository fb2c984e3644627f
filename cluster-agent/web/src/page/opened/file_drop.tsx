// Files that are dropped anywhere on the page, or chosen: they are opened in the browser.

import { useEffect, useRef, useState } from "preact/hooks";
import { useCell } from "../../state/hooks";
import { opened, openFiles, opening, openProblem } from "../../state/opened";

const hasFiles = (e: DragEvent): boolean => e.dataTransfer?.types.includes("Files") ?? false;

/** Whether files are dragged over the window, and where they would go. */
function useDragged(): { over: boolean; asBase: boolean } {
  const [state, set] = useState({ over: false, asBase: false });
  useEffect(() => {
    // on the right half, a file is compared with the one that is open
    const asBase = (e: DragEvent): boolean =>
      opened.value !== null && e.clientX > document.documentElement.clientWidth / 2;
    const onOver = (e: DragEvent): void => {
      if (!hasFiles(e)) return;
      e.preventDefault(); // else the browser would go to the file
      const next = { over: true, asBase: asBase(e) };
      set((old) => (old.over && old.asBase === next.asBase ? old : next));
    };
    const onLeave = (e: DragEvent): void => {
      if (e.relatedTarget === null) set({ over: false, asBase: false });
    };
    const onDrop = (e: DragEvent): void => {
      if (!hasFiles(e)) return;
      e.preventDefault();
      set({ over: false, asBase: false });
      void openFiles([...(e.dataTransfer?.files ?? [])], asBase(e));
    };
    addEventListener("dragover", onOver);
    addEventListener("dragleave", onLeave);
    addEventListener("drop", onDrop);
    return () => {
      removeEventListener("dragover", onOver);
      removeEventListener("dragleave", onLeave);
      removeEventListener("drop", onDrop);
    };
  }, []);
  return state;
}

function Target({ text, lit }: { text: string; lit: boolean }) {
  return (
    <div class={lit ? "drop-target lit" : "drop-target"}>
      <b>{text}</b>
    </div>
  );
}

export function FileDrop() {
  const { over, asBase } = useDragged();
  const busy = useCell(opening);
  const problem = useCell(openProblem);
  const open = useCell(opened);
  return (
    <>
      {over && (
        <div class="drop" data-testid="drop">
          <Target text={open ? "Open instead" : "Open in this browser"} lit={!asBase} />
          {open && <Target text={`Compare with ${open.a.name}`} lit={asBase} />}
        </div>
      )}
      {(busy || problem) && (
        <div
          class={problem ? "toast error-strip" : "toast"}
          role={problem ? "alert" : "status"}
          data-testid="file-problem"
        >
          <span>{problem || `Reading ${busy}…`}</span>
          {problem && (
            <button type="button" class="button small" onClick={() => openProblem.set("")}>
              Close
            </button>
          )}
        </div>
      )}
    </>
  );
}

interface ChooseProps {
  text: string;
  title: string;
  testId: string;
  asBase?: boolean;
  className?: string;
}

/** A button that asks for files. */
export function ChooseFile({ text, title, testId, asBase, className }: ChooseProps) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <button
        type="button"
        class={`button ${className ?? ""}`}
        title={title}
        data-testid={testId}
        onClick={() => input.current?.click()}
      >
        {text}
      </button>
      <input
        ref={input}
        type="file"
        hidden
        multiple={!asBase}
        aria-label={title}
        data-testid={`${testId}-input`}
        onChange={(e) => {
          void openFiles([...(e.currentTarget.files ?? [])], asBase);
          e.currentTarget.value = ""; // the same file may be chosen again
        }}
      />
    </>
  );
}
