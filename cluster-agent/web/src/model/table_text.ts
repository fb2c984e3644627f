// The table of functions as text with tabs, for spreadsheets.

import { harmless } from "./plain_text";

interface Listed {
  names: string[];
  files: string[];
  functions: {
    name: number[];
    file: number[];
    self: number[];
    total: number[];
    baseSelf?: number[];
    baseTotal?: number[];
  };
  unit: string;
  total: number;
  base?: { total: number };
}

const share = (v: number, whole: number): string => (whole > 0 ? String((v / whole) * 100) : "0");

/** All rows in their order; values as numbers in the unit of the profile, shares in per cent. */
export function tableText(g: Listed, rows: readonly number[], what: string): string {
  const f = g.functions;
  const columns: [string, (i: number) => string][] = [
    [what, (i) => harmless(g.names[f.name[i]])],
    ["File", (i) => harmless(g.files[f.file[i]])],
    [`Self (${g.unit})`, (i) => String(f.self[i])],
    ["Self %", (i) => share(f.self[i], g.total)],
    [`Total (${g.unit})`, (i) => String(f.total[i])],
    ["Total %", (i) => share(f.total[i], g.total)],
  ];
  const { baseSelf, baseTotal } = f;
  const before = g.base?.total ?? 0;
  if (g.base && baseSelf && baseTotal)
    columns.push(
      [`Baseline self (${g.unit})`, (i) => String(baseSelf[i])],
      ["Baseline self %", (i) => share(baseSelf[i], before)],
      [`Baseline total (${g.unit})`, (i) => String(baseTotal[i])],
      ["Baseline total %", (i) => share(baseTotal[i], before)],
    );
  const lines = rows.map((i) => columns.map(([, cell]) => cell(i)).join("\t"));
  return `${[columns.map(([title]) => title).join("\t"), ...lines].join("\n")}\n`;
}
