// A button with a panel below it: menus, the picker of applications, the range of time.

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

interface Props {
  label: ComponentChildren;
  title: string; // for screen readers and as hint
  testId?: string;
  className?: string;
  align?: "left" | "right";
  chevron?: boolean;
  kind?: "menu" | "dialog"; // a menu holds items only
  children: (close: () => void) => ComponentChildren;
}

const focusable = "[role=menuitem],[role=menuitemradio],[role=option],a[href],button,input";

type Ref = { current: HTMLDivElement | null };

/** Closes on a click beside it. */
function useClickBeside(root: Ref, open: boolean, close: () => void): void {
  useEffect(() => {
    if (!open) return;
    const onDown = (e: PointerEvent): void => {
      if (!root.current?.contains(e.target as Node)) close();
    };
    document.addEventListener("pointerdown", onDown, true);
    return () => document.removeEventListener("pointerdown", onDown, true);
  }, [open]);
}

/** First field of the panel, and never beyond the window's edge. */
function usePlaced(panel: Ref, open: boolean): void {
  useLayoutEffect(() => {
    if (!open || !panel.current) return;
    (
      panel.current.querySelector<HTMLElement>("input[autofocus]") ??
      panel.current.querySelector<HTMLElement>("[aria-checked=true]") ??
      panel.current.querySelector<HTMLElement>(focusable)
    )?.focus();
    if (getComputedStyle(panel.current).position === "fixed") return; // a sheet of a phone
    const box = panel.current.getBoundingClientRect();
    if (box.right > innerWidth - 8)
      panel.current.style.translate = `${innerWidth - 8 - box.right}px 0`;
    if (box.left < 8) panel.current.style.translate = `${8 - box.left}px 0`;
  }, [open]);
}

export function Popover(p: Props) {
  const kind = p.kind ?? "menu";
  const [open, setOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  const panel = useRef<HTMLDivElement>(null);
  const close = (): void => {
    setOpen(false);
    root.current?.querySelector<HTMLElement>("button")?.focus();
  };

  useClickBeside(root, open, () => setOpen(false));
  usePlaced(panel, open);

  const onKey = (e: KeyboardEvent): void => {
    if (!open) return;
    if (e.key === "Escape") {
      e.stopPropagation();
      close();
    }
    if (e.key !== "ArrowDown" && e.key !== "ArrowUp") return;
    const items = [...(panel.current?.querySelectorAll<HTMLElement>(focusable) ?? [])];
    const at = items.indexOf(document.activeElement as HTMLElement);
    const next = items[at + (e.key === "ArrowDown" ? 1 : -1)];
    e.preventDefault();
    e.stopPropagation();
    next?.focus();
  };

  return (
    <div class={`popover ${p.className ?? ""}`} ref={root} onKeyDown={onKey}>
      <button
        type="button"
        class={open ? "button open" : "button"}
        aria-haspopup={kind}
        aria-expanded={open}
        title={p.title}
        data-testid={p.testId}
        onClick={() => setOpen(!open)}
      >
        {p.label}
        {p.chevron !== false && <Chevron />}
      </button>
      {open && (
        <div
          class={`panel ${p.align ?? "left"}`}
          ref={panel}
          role={kind}
          aria-label={p.title}
          onClick={(e) => (e.target as Element).closest("[role=menuitemradio]") && close()}
        >
          {p.children(close)}
        </div>
      )}
    </div>
  );
}

export const Chevron = () => (
  <svg class="chevron" width="9" height="6" viewBox="0 0 9 6" aria-hidden="true">
    <path d="M1 1l3.5 3.5L8 1" fill="none" stroke="currentColor" stroke-width="1.4" />
  </svg>
);

interface ItemProps {
  checked?: boolean;
  onClick: () => void;
  children: ComponentChildren;
  className?: string; // of the text
  hint?: ComponentChildren; // at the end of the line
  hintClass?: string;
  hintTitle?: string;
  testId?: string;
}

/** Closes the panel that it is in. */
export const MenuItem = (p: ItemProps) => (
  <button
    type="button"
    class={p.checked ? "item checked" : "item"}
    role="menuitemradio"
    aria-checked={p.checked ?? false}
    data-testid={p.testId}
    onClick={p.onClick}
  >
    <span class={p.className}>{p.children}</span>
    {p.hint !== undefined && (
      <span class={p.hintClass ?? "dim"} title={p.hintTitle}>
        {p.hint}
      </span>
    )}
  </button>
);

interface SegmentProps<T extends string> {
  label: string;
  value: T;
  options: { value: T; label: ComponentChildren; title?: string }[];
  onChange: (v: T) => void;
  testId: string;
}

export function Segments<T extends string>(p: SegmentProps<T>) {
  return (
    <div class="segments" role="group" aria-label={p.label}>
      {p.options.map((o) => (
        <button
          type="button"
          key={o.value}
          aria-pressed={o.value === p.value}
          title={o.title}
          data-testid={`${p.testId}-${o.value}`}
          onClick={() => p.onChange(o.value)}
        >
          {o.label}
        </button>
      ))}
    </div>
  );
}
