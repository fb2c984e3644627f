// A file, or two that are compared, in place of the page. Its address stays as it was: what is
// shown of the file is not in it, as the file itself cannot be.

import { useEffect, useMemo, useState } from "preact/hooks";
import { palettes } from "../../model/colors";
import { littleText, scaleBase, scaleFunction, usualDiff } from "../../model/comparison";
import { diffPalettes } from "../../model/diff";
import type { Note } from "../../model/notes";
import { day, duration, spanLabel } from "../../model/time_range";
import { zoned } from "../../model/time_zone";
import { grouped, percent, value } from "../../model/units";
import { emptyState, type FunctionId, type UrlState } from "../../model/url_state";
import { fileFunction, fileGraph, LEFT_OUT, sameType, type Side } from "../../open/file_graph";
import type { OpenedFile } from "../../open/open_file";
import { isLevel, sumOf } from "../../open/stacks";
import { Cell, type Navigate, type Theme } from "../../state/hooks";
import { closeFiles, show, type Opened } from "../../state/opened";
import { useScheme } from "../../state/scheme";
import { ThemeButton } from "../header/header";
import { PaneTabs, usePane } from "../parts/panes";
import { MenuItem, Popover } from "../parts/popover";
import { Strip } from "../parts/strip";
import { Profile } from "../profile/profile";
import { ChooseFile } from "./file_drop";
import { FileCompareBar } from "./file_compare";
import { StoreFile } from "./store_file";

/** A file that the server kept. */
interface Snapshot {
  note: Note;
  shown: Partial<UrlState>;
  onFiles: (files: Opened) => void; // in place of those on show
  onClose: () => void;
}

interface Props {
  files: Opened;
  snapshot?: Snapshot;
  theme: Theme;
  dark: boolean;
  setTheme: (t: Theme) => void;
}

/** What would be in the address of another page. */
function useFileState(files: Opened, first?: Partial<UrlState>): [UrlState, Navigate] {
  const [state, setState] = useState<UrlState>({ ...emptyState, ...first });
  const navigate: Navigate = (patch) => setState((old) => ({ ...old, ...patch }));
  useEffect(() => setState((old) => ({ ...old, zoom: "", changed: "", sort: "self" })), [files]);
  return [state, navigate];
}

/** The types of A that can be shown. */
const typesOf = ({ a, b }: Opened): number[] =>
  a.types.map((_, i) => i).filter((i) => !b || sameType(b, { file: a, type: a.types[i] }));

function useSides(files: Opened) {
  const [picked, pick] = useState({ file: files.a, type: files.a.main });
  const possible = typesOf(files);
  const wanted = picked.file === files.a ? picked.type : files.a.main;
  const at = possible.includes(wanted) ? wanted : possible[0];
  const type = files.a.types[at];
  const sides = useMemo(() => {
    const a: Side = { file: files.a, type };
    const b = files.b && sameType(files.b, a);
    const made = fileGraph(a, b);
    return { a, b, ...made, little: littleText(made.graph.base, made.factor) };
  }, [files, type]);
  return { ...sides, possible, at, pick: (i: number) => pick({ file: files.a, type: i }) };
}

const typeText = (title: string, unit: string): string =>
  unit === "count" || title.includes(unit) ? title : `${title} (${unit})`;

/** When a profile was made: "29 Nov, 14:05 – 14:06 CET · 30 s". */
function whenText(f: OpenedFile): string {
  if (!f.from) return "";
  const length = f.to > f.from ? ` · ${duration(f.to - f.from)}` : "";
  const text =
    f.to > f.from ? spanLabel(f, f.to) : spanLabel({ from: f.from, to: f.from + 1 }, f.from);
  return zoned(`${day(f.from)}, ${text}`, f.from) + length;
}

interface HeadProps extends Props {
  sides: ReturnType<typeof useSides>;
}

function Head({ files, sides, snapshot, theme, setTheme }: HeadProps) {
  const { a } = files;
  const { type } = sides.a;
  return (
    <header class="header">
      <h1 class="title file-name one-line" title={a.name} data-testid="file-name">
        {a.name}
      </h1>
      <span class="types">
        {sides.possible.length > 1 ? (
          <Popover label={typeText(type.title, type.unit)} title="Type" testId="file-types">
            {() => (
              <div class="scroll">
                {sides.possible.map((i) => {
                  const t = a.types[i];
                  return (
                    <MenuItem
                      key={i}
                      checked={i === sides.at}
                      testId="file-type"
                      hint={value(sumOf(t), t.unit)}
                      hintClass="dim num"
                      onClick={() => sides.pick(i)}
                    >
                      {typeText(t.title, t.unit)}
                    </MenuItem>
                  );
                })}
              </div>
            )}
          </Popover>
        ) : (
          <span class="dim">{typeText(type.title, type.unit)}</span>
        )}
      </span>
      <div class="header-right">
        <ChooseFile
          asBase
          text="Compare with…"
          title="Compare with another file, as the baseline"
          testId="compare-file"
        />
        {!snapshot && <StoreFile file={a} />}
        <button
          type="button"
          class="button"
          data-testid="close-file"
          title={snapshot ? "To the view that it was taken of" : "Back to the page"}
          onClick={snapshot?.onClose ?? closeFiles}
        >
          Close
        </button>
        <ThemeButton theme={theme} setTheme={setTheme} />
      </div>
    </header>
  );
}

/** What is not on show, and that nothing is stored. */
function FileNotes({ files, sides, snapshot }: Pick<HeadProps, "files" | "sides" | "snapshot">) {
  const { a, b } = files;
  const notes = [a, ...(b ? [b] : [])].flatMap((f) =>
    f.notes.map((n) => (b ? `${f.name}: ${n}` : n)),
  );
  const { graph, stacksLeftOut } = sides;
  if (stacksLeftOut > 0) {
    const at = graph.functions.name.findIndex((n) => graph.names[n] === LEFT_OUT);
    const share = percent(graph.functions.total[at] ?? 0, graph.total);
    const text = `${grouped(stacksLeftOut)} small stacks are one frame, ${LEFT_OUT} (${share})`;
    notes.push(text);
  }
  return (
    <>
      {sides.little && <Strip look="warn" testId="little-base" text={sides.little} />}
      {notes.length > 0 && (
        <Strip look="warn" testId="file-notes" text={notes.join(" · ")} title={notes.join("\n")} />
      )}
      <Strip testId="file-strip">
        <span>
          {snapshot
            ? `Snapshot of ${snapshot.note.service}, kept as it was. ${snapshot.note.text}`
            : "Opened in this browser: nothing of it is sent or stored unless you press Store."}
        </span>
        <span class="dim num">{whenText(a)}</span>
      </Strip>
    </>
  );
}

const cursor = new Cell(-1);
const noSpan = { from: 0, to: 0 };
const noBase = { ...noSpan, service: null, instance: null, where: null };
const noSubject = { service: "", type: "", instance: "", where: "" };

export function OpenedPage(p: Props) {
  const { files, dark } = p;
  const [state, navigate] = useFileState(files, p.snapshot?.shown);
  const [pane, setPane] = usePane(state);
  const [scheme, setScheme] = useScheme();
  const sides = useSides(files);
  const { a, b, factor } = sides;
  const graph = useMemo(() => scaleBase(sides.graph, factor), [sides.graph, factor]);
  const file = useMemo(
    () => ({ side: a, view: (fn: FunctionId) => scaleFunction(fileFunction(fn, a, b), factor) }),
    [a, b, factor],
  );
  useEffect(() => {
    document.title = a.file.name;
  }, [a.file]);
  // a snapshot is compared as the view was that it was taken of
  const usual = p.snapshot
    ? usualDiff(sides.graph, sides.graph.base, !isLevel(a.type.title))
    : ("share" as const);
  const compared = { ...state, diff: state.diff || usual };
  const change = p.snapshot?.onFiles ?? show;
  const changes = diffPalettes[dark ? "dark" : "light"][scheme];
  return (
    <>
      <Head {...p} sides={sides} />
      <FileNotes {...p} sides={sides} />
      <PaneTabs pane={pane} panel={state.panel} onPane={setPane} noTimeline />
      {b && (
        <FileCompareBar
          {...{ a, b, graph, factor, dark, scheme, setScheme }}
          diff={compared.diff}
          onDiff={(diff) => navigate({ diff })}
          onSwap={() => change({ a: b.file, b: a.file })}
          onLeave={() => change({ a: a.file, b: null })}
        />
      )}
      <Profile
        state={compared}
        navigate={navigate}
        pane={pane}
        graph={graph}
        loading={false}
        level={null}
        palette={dark ? palettes.dark : palettes.light}
        changes={changes}
        subject={noSubject}
        range={noSpan}
        span={noSpan}
        base={b && noBase}
        baseScale={1}
        cursor={cursor}
        file={file}
      />
    </>
  );
}
