// "?" lists the keys.

import { useEffect, useRef, useState } from "preact/hooks";
import { isTyped, usePageKeys } from "../../state/hooks";
import { docsUrl } from "../parts/links";

const keys: { where: string; list: [string, string][] }[] = [
  {
    where: "Anywhere",
    list: [
      ["/", "Search functions, or filter the list"],
      ["Esc", "One step back: menu, zoom, search, selection"],
      ["Tab", "Next control; Shift+Tab the previous one"],
      ["?", "This list"],
    ],
  },
  {
    where: "Flame graph",
    list: [
      ["← ↑ ↓ →", "Move through the frames"],
      ["Enter", "Zoom in on the frame"],
      ["Backspace", "Zoom out"],
      ["D", "Details of the function; again: close them"],
      ["L", "Source lines of the function"],
      ["M", "Menu of the function"],
    ],
  },
  {
    where: "Table",
    list: [
      ["↑ ↓", "Move through the functions"],
      ["Enter", "Mark the function in the flame graph"],
      ["D", "Details of the function"],
      ["L", "Source lines of the function"],
      ["M", "Menu of the function"],
    ],
  },
  {
    where: "Menus",
    list: [
      ["↑ ↓", "Move through the items"],
      ["Enter", "Choose"],
      ["Esc", "Close"],
    ],
  },
];

export function KeysHelp() {
  const [open, setOpen] = useState(false);
  const box = useRef<HTMLDialogElement>(null);
  usePageKeys((e) => {
    if (e.key !== "?" || isTyped(e)) return;
    e.preventDefault();
    setOpen(true);
  });
  useEffect(() => {
    if (open) box.current?.showModal();
  }, [open]);
  if (!open) return null;
  return (
    <dialog
      class="keys-help"
      ref={box}
      aria-labelledby="keys-title"
      data-testid="keys"
      onClose={() => setOpen(false)}
      onClick={(e) => e.target === box.current && box.current?.close()}
      onKeyDown={(e) => e.key === "Escape" && e.stopPropagation()}
    >
      <div class="keys-head">
        <h2 id="keys-title">Keys</h2>
        <a href={docsUrl("page.md")} target="_blank" rel="noreferrer">
          Documentation
        </a>
        <button type="button" class="button small" onClick={() => box.current?.close()}>
          Close
        </button>
      </div>
      <div class="keys-lists">
        {keys.map((k) => (
          <section key={k.where}>
            <h3>{k.where}</h3>
            <dl>
              {k.list.map(([key, what]) => (
                <div key={key}>
                  <dt>
                    <kbd>{key}</kbd>
                  </dt>
                  <dd>{what}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </dialog>
  );
}
