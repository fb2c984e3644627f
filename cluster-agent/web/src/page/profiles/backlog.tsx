// Uploads that wait for the store: what is missing on the page may be among them.

import { grouped } from "../../model/units";
import { duration } from "../../model/time_range";
import { useApi } from "../../state/api";
import { Strip } from "../parts/strip";

export interface Backlog {
  uploads: number;
  bytes: number;
  oldestSeconds: number;
  failingSeconds: number; // 0: the last insert has succeeded
}

/** A little is always under way. */
const BEHIND_S = 60;

/** null while the store keeps up, or where that is not known. */
export function useBacklog(now: number): Backlog | null {
  const { data } = useApi<Backlog>("api/backlog", "", now, true);
  return data && data.oldestSeconds >= BEHIND_S ? data : null;
}

export function StoreBehind({ oldestSeconds, failingSeconds, uploads }: Backlog) {
  return (
    <Strip look="warn" testId="behind">
      The store is {duration(oldestSeconds * 1000)} behind: {grouped(uploads)}{" "}
      {uploads === 1 ? "upload waits" : "uploads wait"} in the cluster agent’s log
      {failingSeconds > 0 && `, which it has not taken for ${duration(failingSeconds * 1000)}`}.
      What is missing here may be among them.
    </Strip>
  );
}
