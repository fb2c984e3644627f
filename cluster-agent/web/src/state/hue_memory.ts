// Hues that packages of an application had before, for as long as the browser's tab is open: a
// package keeps its colour from one range, profile type or comparison to the next.

import { useEffect, useMemo } from "preact/hooks";
import { HUES } from "../model/colors";
import { assignHues, type Coloring } from "../model/hues";
import type { Tree } from "../model/tree";
import type { ColorBy } from "../model/url_state";
import { store, storedOfTab } from "./stored";

const MOST = 400; // packages per application
const known = new Map<string, Map<string, number>>();

const storageKey = (service: string, by: ColorBy): string => `hues ${by} ${service}`;

function recall(key: string): Map<string, number> {
  const old = known.get(key);
  if (old) return old;
  const found = new Map<string, number>();
  for (const [name, hue] of Object.entries(storedOfTab(key, {}) as object))
    if (Number.isInteger(hue) && hue >= 0) found.set(name, hue as number);
  known.set(key, found);
  return found;
}

function remember(key: string, c: Coloring): void {
  const memory = recall(key);
  for (const { key: name, hue } of c.legend.slice(0, MOST)) {
    if (hue >= HUES) continue;
    memory.delete(name); // the newest are last
    memory.set(name, hue);
  }
  for (const name of memory.keys()) {
    if (memory.size <= MOST) break;
    memory.delete(name);
  }
  writeSoon(key);
}

let due = 0;

/** Writes the hues to the storage, but not before the frame that they are for is painted. */
function writeSoon(key: string): void {
  clearTimeout(due);
  due = window.setTimeout(
    () => store("sessionStorage", key, JSON.stringify(Object.fromEntries(recall(key)))),
    100,
  );
}

/**
 * Reads the hues of an application while its profile is still on its way: the first access to the
 * storage waits for another process of the browser.
 */
export function useHueMemory(service: string, by: ColorBy): void {
  useEffect(() => {
    if (service !== "") recall(storageKey(service, by));
  }, [service, by]);
}

/** Colours for the whole, unedited tree of a service. */
export function useColoring(tree: Tree | null, service: string, by: ColorBy): Coloring {
  return useMemo(() => {
    if (!tree) return { by, hues: new Map(), legend: [] };
    const key = storageKey(service, by);
    const c = assignHues(tree, by, recall(key));
    remember(key, c);
    return c;
  }, [tree, service, by]);
}
