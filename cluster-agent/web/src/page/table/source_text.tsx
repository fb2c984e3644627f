// The text of a source file, with the figures of a function's lines in front of it.

import { useMemo } from "preact/hooks";
import type { Figures } from "../../state/api";
import {
  hottestLine,
  lineUrl,
  linesBeyond,
  sourceLines,
  type SourceLine,
} from "../../model/source";
import { percentFixed, value } from "../../model/units";
import { LongTable } from "../parts/long_table";
import type { ComponentChildren } from "preact";

const ROW = 19; // px

interface Props {
  text: string;
  url?: string; // at a forge, with "{line}"
  lines: (Figures & { line: number })[];
  label: string;
  two: boolean; // there is a baseline
  absolute: boolean; // values in place of shares
  unit: string;
  whole: { value: number; base: number };
  change: (f: Figures) => ComponentChildren; // a cell
}

function LineNumber({ line, url }: { line: number; url?: string }) {
  const at = lineUrl(url, line);
  return (
    <th scope="row" class="num">
      {at ? (
        <a href={at} target="_blank" rel="noopener noreferrer" title={`Open line ${line}: ${at}`}>
          {line}
        </a>
      ) : (
        line
      )}
    </th>
  );
}

function Row({ p, l, most, first }: { p: Props; l: SourceLine; most: number; first: boolean }) {
  const f = l.figures;
  const cell = (v: number | undefined, all: number, name: string) => (
    <td class="num" title={f ? `${name} ${value(v ?? 0, p.unit)}` : undefined}>
      {f && (p.absolute && p.two ? value(v ?? 0, p.unit) : percentFixed(v ?? 0, all))}
    </td>
  );
  const heat = f && most > 0 ? Math.round(8 + 30 * (f.total / most)) : 0;
  return (
    <tr
      key={l.line}
      class={f ? "hot" : ""}
      style={f ? { "--heat": `${heat}%` } : {}}
      data-testid={f ? "source-line" : undefined}
      data-line={l.line}
      aria-current={first || undefined}
    >
      <LineNumber line={l.line} url={p.url} />
      {cell(f?.self, p.whole.value, "self")}
      {cell(f?.total, p.whole.value, "total")}
      {p.two && cell(f?.baseTotal, p.whole.base, "total before")}
      {p.two && (f ? p.change(f) : <td />)}
      <td class="source-code">{l.text}</td>
    </tr>
  );
}

export function SourceText(p: Props) {
  const rows = useMemo(() => sourceLines(p.text, p.lines), [p.text, p.lines]);
  const first = useMemo(() => hottestLine(p.lines), [p.lines]);
  const beyond = linesBeyond(rows.length, p.lines);
  const most = Math.max(...p.lines.map((l) => l.total), 0);
  return (
    <>
      {beyond > 0 && (
        <p class="note source-note" data-testid="source-other">
          The profile has line {beyond}, this file only {rows.length}: it is of another version.
        </p>
      )}
      <LongTable
        rows={rows}
        height={ROW}
        label={p.label}
        testId="source"
        none=""
        scroller="source-scroll"
        start={first > 0 ? first - 1 : undefined}
        table={{ class: "source" }}
        head={
          <tr>
            <th scope="col" class="num">
              Line
            </th>
            <th scope="col" class="num">
              Self
            </th>
            <th scope="col" class="num">
              Total
            </th>
            {p.two && (
              <th scope="col" class="num">
                Before
              </th>
            )}
            {p.two && (
              <th scope="col" class="num">
                Change
              </th>
            )}
            <th scope="col">Source</th>
          </tr>
        }
        row={(l) => <Row key={l.line} p={p} l={l} most={most} first={l.line === first} />}
      />
    </>
  );
}
