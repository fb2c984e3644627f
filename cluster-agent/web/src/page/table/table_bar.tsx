// Above the table: what its rows are, and a copy of it.

import { useState } from "preact/hooks";
import { visible } from "../../model/names";
import type { GroupBy } from "../../model/url_state";
import { copyText } from "../../state/clipboard";
import { Segments } from "../parts/popover";

export interface Grouping {
  by: GroupBy;
  within: string | null; // the group whose functions are listed
  onBy: (by: GroupBy) => void;
  onWithin: (group: string | null) => void;
}

const titles: Record<GroupBy, string> = { "": "Function", package: "Package", file: "File" };

/** What a row of the table is. */
export const rowTitle = (g: Grouping | undefined): string =>
  titles[g && g.within === null ? g.by : ""];

/** A group in words; functions without a package or a file are one. */
export const groupTitle = (by: GroupBy, group: string): string =>
  group === "" ? `no ${by}` : visible(group.replace(/^\[(.*)\]$/, "$1"));

const SAID_MS = 3000;

function CopyTable({ text }: { text: () => string }) {
  const [said, setSaid] = useState("");
  const copy = async (): Promise<void> => {
    setSaid((await copyText(text())) ? "Copied" : "Not allowed");
    setTimeout(() => setSaid(""), SAID_MS);
  };
  return (
    <button
      type="button"
      class="button plain small table-copy"
      title="Copy all rows, with tabs between their cells, for a spreadsheet"
      data-testid="copy-table"
      onClick={() => void copy()}
    >
      <span role="status">{said || "Copy"}</span>
    </button>
  );
}

export function GroupBar({ grouping: g, text }: { grouping: Grouping; text: () => string }) {
  return (
    <>
      {g.within !== null ? (
        <button
          type="button"
          class="button small group-chip"
          title="Back to all groups"
          data-testid="leave-group"
          onClick={() => g.onWithin(null)}
        >
          <span class="mono one-line">{groupTitle(g.by, g.within)}</span>
          <span aria-hidden="true">✕</span>
        </button>
      ) : (
        <Segments<GroupBy | "function">
          label="Rows are"
          testId="group"
          value={g.by || "function"}
          options={[
            { value: "function", label: "Functions" },
            { value: "package", label: "Packages", title: "A click lists the functions of one" },
            { value: "file", label: "Files", title: "A click lists the functions of one" },
          ]}
          onChange={(by) => g.onBy(by === "function" ? "" : by)}
        />
      )}
      <CopyTable text={text} />
    </>
  );
}
