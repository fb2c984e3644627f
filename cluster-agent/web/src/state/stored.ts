// What this browser keeps for the page: choices for good, notes as long as the tab is open. Storage
// may be forbidden, or hold other text; then a choice lasts until the page is left.

type Place = "localStorage" | "sessionStorage";

/** "" if there is nothing. */
export function stored(place: Place, key: string): string {
  try {
    return window[place].getItem(key) ?? "";
  } catch {
    return "";
  }
}

export function store(place: Place, key: string, text: string): void {
  try {
    window[place].setItem(key, text);
  } catch {
    // it lasts until the page is left
  }
}

/** Something that store() got as JSON and as long as the tab is open; `none` if it is no JSON. */
export function storedOfTab(key: string, none: unknown): unknown {
  try {
    return JSON.parse(stored("sessionStorage", key)) ?? none;
  } catch {
    return none;
  }
}
