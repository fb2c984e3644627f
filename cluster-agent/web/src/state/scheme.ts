// The colours of a comparison: a choice of this browser, like the theme.

import { useState } from "preact/hooks";
import type { DiffScheme } from "../model/diff";
import { store, stored } from "./stored";

const KEY = "diff-colors";

export function useScheme(): [DiffScheme, (s: DiffScheme) => void] {
  const [scheme, set] = useState<DiffScheme>(() =>
    stored("localStorage", KEY) === "blue-orange" ? "blue-orange" : "red-green",
  );
  return [
    scheme,
    (s) => {
      store("localStorage", KEY, s);
      set(s);
    },
  ];
}
