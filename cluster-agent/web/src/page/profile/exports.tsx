// Exports: images of the graph, files of the whole selection, and links.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { exportUrl, type BaseSide, type ExportFormat, type Selection } from "../../state/api";
import { drawnFlame, imageOf, type ImageKind } from "../../flame/flame_image";
import { copyText, saveFile } from "../../state/clipboard";
import { useCell } from "../../state/hooks";
import { splitService } from "../../model/names";
import { foldedText, pprofParts, speedscopeText } from "../../open/file_exports";
import type { Side } from "../../open/file_graph";
import { shareLink } from "../parts/copy_link";
import { Popover } from "../parts/popover";
import type { FileProfile } from "./shown";
import { day, spanLabel, type Span } from "../../model/time_range";
import { fieldsAt, zoned } from "../../model/time_zone";
import type { UrlState } from "../../model/url_state";

interface Props {
  state: UrlState;
  subject: Selection;
  range: Span; // of the timeline
  span: Span; // what is shown of it
  base: BaseSide | null;
  unit: string;
  file?: FileProfile;
}

const files: { format: ExportFormat; title: string; hint: string }[] = [
  { format: "pprof", title: "pprof", hint: "for go tool pprof and others" },
  { format: "folded", title: "Folded stacks", hint: "text, one stack per line" },
  { format: "speedscope", title: "Speedscope", hint: "its JSON" },
];

const two = (n: number): string => String(n).padStart(2, "0");

/** "catalog-cpu-20260102-0304", without characters that file systems do not allow. */
function fileName({ subject, span, file }: Props): string {
  if (file) return file.side.file.name.slice(0, 80).replace(/[^\w.-]+/g, "_");
  const d = fieldsAt(span.to);
  const date = `${d.year}${two(d.month)}${two(d.day)}`;
  const type = subject.type.split(":")[1] ?? "profile";
  const name = splitService(subject.service).name.slice(0, 80);
  return `${name}-${type}-${date}-${two(d.hour)}${two(d.minute)}`.replace(
    /[^\w.-]+/g,
    "_",
  );
}

function captionOf(p: Props): string {
  const { state, subject, span } = p;
  const search = state.search ? `search: ${state.search}` : "";
  if (p.file) return [p.file.side.file.name, p.file.side.type.title, search].join(" · ");
  const when = (s: Span): string => `${day(s.to, s.to)} ${fieldsAt(s.to).year}`;
  return [
    subject.service,
    subject.type,
    zoned(`${spanLabel(span, span.to)}, ${when(span)}`, span.to),
    subject.instance,
    subject.where,
    p.base ? `compared with ${spanLabel(p.base, span.to)}` : "",
    search,
  ]
    .filter((s) => s !== "")
    .join(" · ");
}

interface CopyProps {
  text: () => string;
  title: string;
  hint: string;
  testId: string;
}

function CopyItem({ text, title, hint, testId }: CopyProps) {
  const [said, setSaid] = useState("");
  const copy = async (): Promise<void> => {
    setSaid((await copyText(text())) ? "copied" : "this browser does not allow it");
    setTimeout(() => setSaid(""), 4000);
  };
  return (
    <button
      type="button"
      class="item"
      role="menuitem"
      data-testid={testId}
      onClick={() => void copy()}
    >
      <span>{title}</span>
      <span class={said ? "" : "dim"}>{said || hint}</span>
    </button>
  );
}

function Images(p: Props & { close: () => void }) {
  const view = useCell(drawnFlame);
  const [error, setError] = useState("");
  const save = async (ending: ImageKind): Promise<void> => {
    if (!view) return;
    try {
      saveFile(`${fileName(p)}.${ending}`, await imageOf(ending, view, captionOf(p), p.unit));
      p.close();
    } catch (e) {
      setError((e as Error).message);
    }
  };
  const hint = error || (view ? "" : "show the flame graph first");
  return (
    <>
      {(["png", "svg"] as const).map((ending) => (
        <button
          type="button"
          key={ending}
          class="item"
          role="menuitem"
          disabled={!view}
          data-testid={`export-${ending}`}
          onClick={() => void save(ending)}
        >
          <span>{ending.toUpperCase()}</span>
          <span class="dim">
            {hint || (ending === "png" ? "image as seen" : "image as seen, with text and titles")}
          </span>
        </button>
      ))}
    </>
  );
}

const Group = ({ title, children }: { title: string; children: ComponentChildren }) => (
  <div role="group" aria-label={title}>
    <div class="menu-title" aria-hidden="true">
      {title}
    </div>
    {children}
  </div>
);

const writers = {
  pprof: (s: Side) => new Blob(pprofParts(s)),
  folded: foldedText,
  speedscope: speedscopeText,
};
const endings = { pprof: "pb", folded: "folded.txt", speedscope: "speedscope.json" };

/** The type of the file that is shown; while comparing, of A. */
const FileFormats = (p: Props & { side: Side; close: () => void }) => (
  <>
    {files.map(({ format, title, hint }) => (
      <button
        type="button"
        key={format}
        class="item"
        role="menuitem"
        data-testid={`export-${format}`}
        onClick={() => {
          saveFile(`${fileName(p)}.${endings[format]}`, writers[format](p.side));
          p.close();
        }}
      >
        <span>{title}</span>
        <span class="dim">{hint}</span>
      </button>
    ))}
  </>
);

/** The server writes these. */
const ServerFormats = ({ url, close }: { url: (f: ExportFormat) => string; close: () => void }) => (
  <>
    {files.map((f) => (
      <a
        key={f.format}
        class="item"
        role="menuitem"
        href={url(f.format)}
        download
        data-testid={`export-${f.format}`}
        onClick={close}
      >
        <span>{f.title}</span>
        <span class="dim">{f.hint}</span>
      </a>
    ))}
  </>
);

const Copies = (p: Props & { url: (f: ExportFormat) => string }) => (
  <Group title="Copy">
    <CopyItem
      testId="copy-link"
      title="Link"
      hint="with these times, also when live"
      text={() => shareLink(p.state, p.range)}
    />
    <CopyItem
      testId="copy-pprof"
      title="Command"
      hint="go tool pprof <url>"
      text={() => `go tool pprof '${new URL(p.url("pprof"), location.href)}'`}
    />
  </Group>
);

export function Export(p: Props) {
  const url = (format: ExportFormat): string => exportUrl(format, p.subject, p.span, p.base);
  return (
    <Popover label="Export" title="Export" testId="export" align="right">
      {(close) => (
        <>
          <Group title="Flame graph">
            <Images {...p} close={close} />
          </Group>
          <Group title={p.file ? "Whole profile" : "Whole selection"}>
            {p.file ? (
              <FileFormats {...p} side={p.file.side} close={close} />
            ) : (
              <ServerFormats url={url} close={close} />
            )}
          </Group>
          {!p.file && <Copies {...p} url={url} />}
        </>
      )}
    </Popover>
  );
}
