// Links within the page.

/** Goes there without loading the page; clicks that ask for a tab or a window do that. */
export function follow(e: MouseEvent, go: () => void): void {
  if (e.metaKey || e.ctrlKey || e.shiftKey || e.button !== 0) return;
  e.preventDefault();
  go();
}
