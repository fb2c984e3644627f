// Links within the page, and to the documentation.

/** Goes there without loading the page; clicks that ask for a tab or a window do that. */
export function follow(e: MouseEvent, go: () => void): void {
  if (e.metaKey || e.ctrlKey || e.shiftKey || e.button !== 0) return;
  e.preventDefault();
  go();
}

/**
 * A page of the documentation, "symbols.md" or "page.md#comparing": the server has that of its own
 * version.
 */
export const docsUrl = (page: string): string => `docs/${page.replace(/\.md\b/, ".html")}`;
