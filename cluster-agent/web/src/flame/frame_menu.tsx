// What can be done with a frame or a function: the menu of a right click, a long press or a key.

import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { whyNeverLinesShort } from "../model/lines";
import { clip, label, visible } from "../model/names";
import { EVERY, libraryOf } from "../model/transform";
import type { ColorBy, FunctionId, Panel, Transform } from "../model/url_state";
import { copyText } from "../state/clipboard";
import { hasModifier } from "../state/hooks";

/** What the menu is about and where it opens. */
export interface MenuTarget extends FunctionId {
  node: number; // of the shown graph; -1 for a function of the table
  root: boolean;
  x: number;
  y: number;
  back: HTMLElement; // has the focus again when the menu closes
}

interface Props {
  target: MenuTarget;
  colorBy: ColorBy;
  onClose: () => void;
  onZoom: (node: number) => void;
  onEdit: (t: Transform) => void;
  onFunction: (f: FunctionId, panel: Panel) => void;
  onDetails: (f: FunctionId) => void;
  onSearch: (name: string) => void;
}

/** Whether a key asks for the menu. */
export const isMenuKey = (e: KeyboardEvent): boolean =>
  e.key === "ContextMenu" ||
  (e.key === "F10" && e.shiftKey) ||
  (!e.shiftKey && !hasModifier(e) && (e.key === "." || e.key === "m"));

interface Item {
  id: string;
  text: string;
  hint?: string;
  off?: boolean; // it can be read, and not be chosen
  run: () => void;
}

function itemsOf(p: Props): Item[] {
  const { target: t } = p;
  const f = { name: t.name, file: t.file };
  const copy: Item = { id: "copy", text: "Copy name", run: () => void copyText(t.name) };
  const zoom: Item = { id: "zoom", text: "Zoom in", hint: "Enter", run: () => p.onZoom(t.node) };
  const edit = (id: string, text: string, e: Transform, hint?: string): Item => ({
    id,
    text,
    hint,
    run: () => p.onEdit(e),
  });
  if (t.root)
    return [
      zoom,
      edit("recursion-all", "Collapse all recursion", { kind: "recursion", name: EVERY, file: "" }),
    ];
  const library = libraryOf(t.name, t.file, p.colorBy);
  const path = library.replace(/^\[(.*)\]$/, "$1");
  const ofLibrary = clip(visible(path.slice(path.lastIndexOf("/") + 1) || path), 40);
  return [
    copy,
    ...(t.node >= 0 ? [zoom] : []),
    edit("focus", "Focus", { kind: "focus", ...f }, "only stacks through it"),
    edit("hide", "Hide", { kind: "hide", ...f }, "its callees move up"),
    ...(library === ""
      ? []
      : [
          edit("hide-library", `Hide ${ofLibrary}`, { kind: "hide", name: "", file: library }),
          edit("library", `Collapse ${ofLibrary}`, { kind: "library", name: "", file: library }),
        ]),
    edit("recursion", "Collapse recursion", { kind: "recursion", ...f }),
    { id: "details", text: "Details", hint: "D", run: () => p.onDetails(f) },
    {
      id: "sandwich",
      text: "Callers and callees",
      run: () => p.onFunction(f, "sandwich"),
    },
    {
      id: "lines",
      text: "Lines",
      hint: whyNeverLinesShort(f) || "of the source",
      off: whyNeverLinesShort(f) !== "",
      run: () => p.onFunction(f, "lines"),
    },
    { id: "search", text: "Search for it", run: () => p.onSearch(t.name) },
  ];
}

type Box = { current: HTMLDivElement | null };

/** Puts the menu where the click was, inside the window, and the focus on its first item. */
function usePlace(box: Box, target: MenuTarget): void {
  useLayoutEffect(() => {
    const el = box.current;
    if (!el) return;
    el.style.left = `${Math.max(4, Math.min(target.x, innerWidth - el.offsetWidth - 4))}px`;
    const up = target.y + el.offsetHeight > innerHeight - 4;
    const top = up ? Math.max(4, target.y - el.offsetHeight) : target.y;
    el.style.top = `${Math.min(top, Math.max(4, innerHeight - el.offsetHeight - 4))}px`;
    el.querySelector<HTMLElement>("[role=menuitem]")?.focus();
  }, [target]);
}

/** Closes the menu when anything beside it is used. */
function useAway(box: Box, onClose: () => void): void {
  useEffect(() => {
    const away = (e: Event): void => {
      if (!box.current?.contains(e.target as Node)) onClose();
    };
    document.addEventListener("pointerdown", away, true);
    document.addEventListener("wheel", away, { capture: true, passive: true });
    addEventListener("resize", onClose);
    return () => {
      document.removeEventListener("pointerdown", away, true);
      document.removeEventListener("wheel", away, true);
      removeEventListener("resize", onClose);
    };
  });
}

export function FrameMenu(p: Props) {
  const { target } = p;
  const box = useRef<HTMLDivElement>(null);
  // the finger whose long press has opened the menu may be lifted over one of its items
  const touched = useRef(false);
  const close = (): void => {
    p.onClose();
    target.back.focus({ preventScroll: true });
  };
  usePlace(box, target);
  useAway(box, p.onClose);

  const key = (e: KeyboardEvent): void => {
    const items = [...(box.current?.querySelectorAll<HTMLElement>("[role=menuitem]") ?? [])];
    const at = items.indexOf(document.activeElement as HTMLElement);
    const to: Record<string, number> = {
      ArrowDown: (at + 1) % items.length,
      ArrowUp: (at - 1 + items.length) % items.length,
      Home: 0,
      End: items.length - 1,
    };
    if (e.key in to) items[to[e.key]]?.focus();
    else if (e.key === "Escape" || e.key === "Tab") close();
    else return;
    e.preventDefault();
    e.stopPropagation();
  };

  return (
    <div
      class="frame-menu"
      ref={box}
      role="menu"
      aria-label={target.root ? "Whole profile" : label(target.name)}
      data-testid="frame-menu"
      onKeyDown={key}
      onPointerDown={() => (touched.current = true)}
      onContextMenu={(e) => e.preventDefault()}
    >
      {!target.root && (
        <div class="frame-menu-title mono" aria-hidden="true">
          {clip(label(target.name), 60)}
        </div>
      )}
      {itemsOf(p).map((i) => (
        <button
          type="button"
          key={i.id}
          class="item"
          role="menuitem"
          aria-disabled={i.off || undefined}
          data-testid={`menu-${i.id}`}
          onClick={(e) => {
            const byKey = e.detail === 0;
            if (i.off || !(byKey || touched.current)) return;
            close();
            i.run();
          }}
        >
          <span>{i.text}</span>
          {i.hint && <span class="dim">{i.hint}</span>}
        </button>
      ))}
    </div>
  );
}
