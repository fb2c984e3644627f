// The whole page: the login, the targets, or the profiles.

import { useEffect } from "preact/hooks";
import { useApi } from "../state/api";
import { useRetry } from "../state/connection";
import {
  isTyped,
  useCell,
  useHidden,
  useNow,
  usePageKeys,
  useTheme,
  useUrlState,
} from "../state/hooks";
import { access, checkAccess } from "../state/session";
import { opened } from "../state/opened";
import { zoneToShow } from "../state/zone";
import type { Targets } from "../model/targets";
import { showZone } from "../model/time_zone";
import { TargetsHeader } from "./header/header";
import { FileDrop } from "./opened/file_drop";
import { OpenedPage } from "./opened/opened_page";
import { SnapshotPage } from "./opened/snapshot_page";
import { KeysHelp } from "./dialogs/keys_help";
import { pauseReason } from "./parts/live";
import { Login } from "./dialogs/login";
import type { PageProps } from "./profiles/page_props";
import { Profiles } from "./profiles/profiles";
import { TargetsPage } from "./targets/target_page";

function useSlashKey(): void {
  usePageKeys((e) => {
    if (e.key !== "/" || e.ctrlKey || e.metaKey || isTyped(e)) return;
    const input = document.querySelector<HTMLInputElement>("input[data-slash]");
    if (!input) return;
    e.preventDefault();
    input.focus();
    input.select();
  });
}

export function App() {
  const [state, navigate] = useUrlState();
  showZone(zoneToShow(state.zone)); // before anything is drawn
  const look = useTheme();
  useSlashKey();
  useEffect(() => void checkAccess(), []);
  const may = useCell(access);
  const files = useCell(opened);
  if (may === "unknown") return null;
  const shown = state.page === "targets" ? Targeting : state.snapshot ? SnapshotPage : Profiles;
  const Page = may === "locked" ? Login : shown;
  return (
    <>
      {files ? (
        <OpenedPage files={files} {...look} />
      ) : (
        <Page state={state} navigate={navigate} {...look} />
      )}
      {(files || may !== "locked") && <KeysHelp />}
      <FileDrop />
    </>
  );
}

function Targeting(p: PageProps) {
  const hidden = useHidden();
  const [now, refresh] = useNow(!hidden);
  const targets = useApi<Targets>("targets", "", now);
  useRetry(refresh, !hidden);
  return (
    <>
      <TargetsHeader
        {...p}
        forwarding={targets.data?.forwarding !== undefined}
        live={pauseReason(p.state, hidden, false) || "live"}
        loading={targets.loading && !targets.data}
        onRefresh={refresh}
      />
      <TargetsPage
        state={p.state}
        navigate={p.navigate}
        loaded={targets}
        onRetry={refresh}
      />
    </>
  );
}
