// The colours of a comparison: a choice of this browser, like the theme.

import { useState } from "preact/hooks";
import type { DiffScheme } from "../model/diff";

const KEY = "diff-colors";

function stored(): DiffScheme {
  try {
    return localStorage.getItem(KEY) === "blue-orange" ? "blue-orange" : "red-green";
  } catch {
    return "red-green"; // storage may be forbidden
  }
}

export function useScheme(): [DiffScheme, (s: DiffScheme) => void] {
  const [scheme, set] = useState<DiffScheme>(stored);
  return [
    scheme,
    (s) => {
      try {
        localStorage.setItem(KEY, s);
      } catch {
        // the choice lasts until the page is left
      }
      set(s);
    },
  ];
}
