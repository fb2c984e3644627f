// State that outlives one component: address, theme, the clock of the live mode.

import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Cell } from "./cell";
import { outage, pending, refusals } from "./connection";
import { hasFixedTimes, parseState, printAddress, type UrlState } from "../model/url_state";
import { store, stored } from "./stored";
import { zoneToShow } from "./zone";

export { Cell };

export type Navigate = (patch: Partial<UrlState>, how?: "push" | "replace") => void;

export function useUrlState(): [UrlState, Navigate] {
  const [state, setState] = useState<UrlState>(() =>
    parseState(location.search, location.pathname, Date.now()),
  );
  useEffect(() => {
    const onPop = (): void => setState(parseState(location.search, location.pathname, Date.now()));
    addEventListener("popstate", onPop);
    return () => removeEventListener("popstate", onPop);
  }, []);
  const navigate = useCallback<Navigate>((patch, how = "push") => {
    setState((old) => {
      const next = { ...old, ...patch };
      if (hasFixedTimes(next)) next.zone = zoneToShow(next.zone);
      const address = printAddress(next, location.pathname);
      if (address !== location.pathname + location.search) {
        if (how === "push") history.pushState(null, "", address);
        else history.replaceState(null, "", address);
      }
      return next;
    });
  }, []);
  return [state, navigate];
}

export type Theme = "auto" | "light" | "dark";
const THEME_KEY = "theme";

function storedTheme(): Theme {
  const t = stored("localStorage", THEME_KEY);
  return t === "light" || t === "dark" ? t : "auto";
}

export function useTheme(): { theme: Theme; dark: boolean; setTheme: (t: Theme) => void } {
  const [theme, set] = useState<Theme>(storedTheme);
  const systemDark = useMedia("(prefers-color-scheme: dark)");
  const dark = theme === "dark" || (theme === "auto" && systemDark);
  const { dataset } = document.documentElement;
  const shown = dark ? "dark" : "light";
  if (dataset.theme !== shown) dataset.theme = shown; // even the same one would restyle the page
  const setTheme = (t: Theme): void => {
    store("localStorage", THEME_KEY, t);
    set(t);
  };
  return { theme, dark, setTheme };
}

export const REFRESH_MS = 10_000;

/**
 * Time of the newest refresh; advances every 10 s while `running`, and at once when it runs again
 * after a pause. A refresh is skipped while requests are under way: it would abort them, so if each
 * took longer than 10 s, neither data nor an error would ever be shown. It is also skipped while
 * an answer is a refusal. While nothing answers, useRetry() decides when to ask.
 */
export function useNow(running: boolean): [number, () => void] {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (!running) return;
    const tick = (least: number): void => {
      if (pending.value === 0 && outage.value === null && refusals.value === 0)
        setNow((old) => (Date.now() - old >= least ? Date.now() : old));
    };
    tick(REFRESH_MS);
    const timer = setInterval(() => tick(0), REFRESH_MS);
    return () => clearInterval(timer);
  }, [running]);
  return [now, () => setNow((old) => (pending.value === 0 ? Date.now() : old))];
}

export function useHidden(): boolean {
  const [hidden, setHidden] = useState(document.hidden);
  useEffect(() => {
    const onChange = (): void => setHidden(document.hidden);
    document.addEventListener("visibilitychange", onChange);
    return () => document.removeEventListener("visibilitychange", onChange);
  }, []);
  return hidden;
}

/** Calls `onKey` for keys anywhere on the page. */
export function usePageKeys(onKey: (e: KeyboardEvent) => void): void {
  useEffect(() => {
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  });
}

/** Whether a key goes into a field. */
export const isTyped = (e: KeyboardEvent): boolean =>
  /^(INPUT|TEXTAREA|SELECT)$/.test((e.target as HTMLElement).tagName);

export const hasModifier = (e: KeyboardEvent): boolean => e.ctrlKey || e.metaKey || e.altKey;

/** A set of names, and how one is put in or taken out. */
export function useToggled(): [ReadonlySet<string>, (name: string) => void] {
  const [names, set] = useState<ReadonlySet<string>>(new Set());
  return [names, (name) => set((old) => toggled(old, name))];
}

export function toggled(names: ReadonlySet<string>, name: string): ReadonlySet<string> {
  const next = new Set(names);
  if (!next.delete(name)) next.add(name);
  return next;
}

/** Whether a media query holds. */
export function useMedia(query: string): boolean {
  const [holds, set] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const media = matchMedia(query);
    const onChange = (): void => set(media.matches);
    onChange();
    media.addEventListener("change", onChange);
    return () => media.removeEventListener("change", onChange);
  }, [query]);
  return holds;
}

/** Whether there is room for one pane only; style.css has the same limit. */
export const useNarrow = (): boolean => useMedia("(max-width: 719px)");

/** Size of an element, measured again whenever it changes. */
export function useSize(ref: { current: HTMLElement | null }): { width: number; height: number } {
  const [size, setSize] = useState({ width: 0, height: 0 });
  // before the browser paints: what is drawn by its size is in the first frame, too
  useLayoutEffect(() => {
    const el = ref.current;
    if (!el) return;
    const measure = (): void => {
      const width = el.clientWidth;
      const height = el.clientHeight;
      setSize((old) => (old.width === width && old.height === height ? old : { width, height }));
    };
    const observer = new ResizeObserver(measure);
    observer.observe(el);
    measure();
    return () => observer.disconnect();
  }, []);
  return size;
}

const PAINTED_MS = 200; // at the latest, as a page that is hidden does not paint

/**
 * The value, but one frame after it changed: what can wait until the rest of the page is painted.
 * Null at first.
 */
export function useAfterPaint<T>(value: T): T | null {
  const [late, set] = useState<{ value: T } | null>(null);
  useEffect(() => {
    const done = (): void => {
      stop();
      set({ value });
    };
    let task = 0;
    const frame = requestAnimationFrame(() => (task = window.setTimeout(done)));
    const limit = window.setTimeout(done, PAINTED_MS);
    const stop = (): void => {
      cancelAnimationFrame(frame);
      clearTimeout(task);
      clearTimeout(limit);
    };
    return stop;
  }, [value]);
  return late && late.value;
}

/**
 * The text of a field that is a part of the address, which changes a moment later; also elsewhere,
 * by the back button say, and then the field follows.
 */
export function useTypedText(address: string): [string, (s: string) => void] {
  const [text, setText] = useState(address);
  const typed = useRef<string[]>([]); // typed here, not yet back from the address
  const last = useRef(address);
  useEffect(() => {
    // of a field that has just appeared, this may run after its first letter was typed
    if (address === last.current) return;
    last.current = address;
    const known = typed.current.indexOf(address);
    typed.current.splice(0, known + 1);
    if (known < 0) setText(address);
  }, [address]);
  const set = (s: string): void => {
    setText(s);
    if (s === address) typed.current = [];
    else typed.current.push(s);
  };
  return [text, set];
}

export function useCell<T>(cell: Cell<T>): T {
  const [v, set] = useState(cell.value);
  useEffect(() => {
    set(cell.value);
    return cell.watch(set);
  }, [cell]);
  return v;
}
