// State that outlives one component: address, theme, the clock of the live mode.

import { useCallback, useEffect, useState } from "preact/hooks";
import { parseState, printAddress, type UrlState } from "./url_state";

export type Navigate = (patch: Partial<UrlState>, how?: "push" | "replace") => void;

export function useUrlState(): [UrlState, Navigate] {
  const [state, setState] = useState<UrlState>(() =>
    parseState(location.search, location.pathname),
  );
  useEffect(() => {
    const onPop = (): void => setState(parseState(location.search, location.pathname));
    addEventListener("popstate", onPop);
    return () => removeEventListener("popstate", onPop);
  }, []);
  const navigate = useCallback<Navigate>((patch, how = "push") => {
    setState((old) => {
      const next = { ...old, ...patch };
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
  try {
    const t = localStorage.getItem(THEME_KEY);
    return t === "light" || t === "dark" ? t : "auto";
  } catch {
    return "auto"; // storage may be forbidden
  }
}

export function useTheme(): { theme: Theme; dark: boolean; setTheme: (t: Theme) => void } {
  const [theme, set] = useState<Theme>(storedTheme);
  const [systemDark, setSystemDark] = useState(
    () => matchMedia("(prefers-color-scheme: dark)").matches,
  );
  useEffect(() => {
    const media = matchMedia("(prefers-color-scheme: dark)");
    const onChange = (): void => setSystemDark(media.matches);
    media.addEventListener("change", onChange);
    return () => media.removeEventListener("change", onChange);
  }, []);
  const dark = theme === "dark" || (theme === "auto" && systemDark);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  const setTheme = (t: Theme): void => {
    try {
      localStorage.setItem(THEME_KEY, t);
    } catch {
      // the choice lasts until the page is left
    }
    set(t);
  };
  return { theme, dark, setTheme };
}

export const REFRESH_MS = 10_000;

/**
 * Time of the newest refresh; advances every 10 s while `running`, and at once when it runs again
 * after a pause. It stands still while `busy`: a refresh would abort the requests that are under
 * way, so if each took longer than 10 s, neither data nor an error would ever be shown.
 */
export function useNow(running: boolean, busy?: { current: boolean }): [number, () => void] {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (!running) return;
    setNow((old) => (Date.now() - old >= REFRESH_MS ? Date.now() : old));
    const timer = setInterval(() => {
      if (!busy?.current) setNow(Date.now());
    }, REFRESH_MS);
    return () => clearInterval(timer);
  }, [running]);
  return [now, () => setNow(Date.now())];
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

/** Size of an element, measured again whenever it changes. */
export function useSize(ref: { current: HTMLElement | null }): { width: number; height: number } {
  const [size, setSize] = useState({ width: 0, height: 0 });
  useEffect(() => {
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

/** A value that many may watch without drawing the whole page again: the frame under the cursor. */
export class Cell<T> {
  private watchers = new Set<(v: T) => void>();
  constructor(public value: T) {}
  set(v: T): void {
    if (v === this.value) return;
    this.value = v;
    for (const w of this.watchers) w(v);
  }
  watch(w: (v: T) => void): () => void {
    this.watchers.add(w);
    return () => this.watchers.delete(w);
  }
}

export function useCell<T>(cell: Cell<T>): T {
  const [v, set] = useState(cell.value);
  useEffect(() => {
    set(cell.value);
    return cell.watch(set);
  }, [cell]);
  return v;
}
