// The files that are open in place of the page. Nothing of them is stored: a reload forgets them.

import { openFile, type OpenedFile, type Source } from "../open/open_file";
import { FileError } from "../open/stacks";
import { Cell } from "./cell";

export interface Opened {
  a: OpenedFile;
  b: OpenedFile | null; // the baseline
}

export const opened = new Cell<Opened | null>(null);
export const opening = new Cell(""); // name of the file that is being read
export const openProblem = new Cell(""); // one sentence

const MAX_NAME = 80;
const shortened = (name: string): string =>
  name.length > MAX_NAME ? `${name.slice(0, MAX_NAME)}…` : name;

let latest: Opened | null = null;

const isOfFiles = (state: unknown): boolean =>
  (state as { files?: boolean } | null)?.files === true;

/** The back button of the browser closes the files, and forward opens them again. */
export function show(next: Opened): void {
  if (!opened.value) history.pushState({ files: true }, "");
  openProblem.set("");
  opened.set((latest = next));
}

addEventListener("popstate", (e) => opened.set(isOfFiles(e.state) ? latest : null));

export function closeFiles(): void {
  openProblem.set("");
  if (isOfFiles(history.state)) history.back();
  else opened.set(null);
}

/** When a profile was made, as far as that is known. */
const timeOf = (f: OpenedFile): number => f.to || f.source.lastModified;

const haveCommonType = (a: OpenedFile, b: OpenedFile): boolean =>
  a.types.some((t) => b.types.some((u) => u.unit === t.unit));

/** The older one of two is the baseline. */
function placed(files: OpenedFile[], asBase: boolean): Opened {
  const [first, second] = files;
  const old = opened.value;
  if (second) {
    const newer = timeOf(second) >= timeOf(first);
    return newer ? { a: second, b: first } : { a: first, b: second };
  }
  return asBase && old ? { a: old.a, b: first } : { a: first, b: null };
}

/** Opens one file or two; what was on show stays if that fails. */
export async function openFiles(sources: Source[], asBase = false): Promise<void> {
  if (sources.length === 0 || opening.value) return;
  openProblem.set("");
  if (sources.length > 2) {
    openProblem.set(`${sources.length} files: the page opens one, or two to compare them.`);
    return;
  }
  let name = "";
  try {
    const files: OpenedFile[] = [];
    for (const s of sources) {
      name = shortened(s.name);
      opening.set(name);
      await new Promise((painted) => setTimeout(painted, 30));
      files.push(await openFile(s));
    }
    const next = placed(files, asBase);
    if (next.b && !haveCommonType(next.a, next.b))
      openProblem.set(`${next.a.name} and ${next.b.name} have no unit in common.`);
    else show(next);
  } catch (e) {
    const why = e instanceof FileError ? e.message : "The browser cannot read it.";
    openProblem.set(`${name}: ${why}`);
  } finally {
    opening.set("");
  }
}
