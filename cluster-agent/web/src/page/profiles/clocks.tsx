// Hosts whose clock is wrong: what the page shows of them is not where their own clock says.

import { ago, duration } from "../../model/time_range";
import { Strip } from "../parts/strip";
import { useApi } from "../../state/api";

interface Clocks {
  hosts: {
    host: string;
    skewSeconds: number; // ahead of the server, behind if negative
    corrected: boolean; // the sender puts its profiles where they belong
    lastSeen: number;
  }[];
}

const MAX_NAMED = 3;

/** Empty while all clocks are right. */
export function WrongClocks({ now }: { now: number }) {
  const { data } = useApi<Clocks>("api/clocks", "", now, true);
  const hosts = data?.hosts ?? [];
  if (hosts.length === 0) return null;
  const skew = (s: number): string =>
    `${duration(Math.abs(s) * 1000)} ${s < 0 ? "behind" : "ahead"}`;
  const named = hosts.slice(0, MAX_NAMED).map((h) => `${h.host} is ${skew(h.skewSeconds)}`);
  const more = hosts.length - named.length;
  const title = hosts.map(
    (h) =>
      `${h.host}: ${skew(h.skewSeconds)}, ` +
      `${h.corrected ? "corrected by its agent" : "stored at the time of arrival"}, ` +
      `seen ${ago(h.lastSeen, now)}`,
  );
  return (
    <Strip look="warn" testId="clocks" title={title.join("\n")}>
      {hosts.length === 1 ? "The clock of a host is wrong: " : "Clocks of hosts are wrong: "}
      {named.join(", ")}
      {more > 0 && ` and ${more} more`}.{" "}
      {hosts.every((h) => h.corrected)
        ? "The times of their profiles are corrected."
        : "Profiles whose time cannot be right are shown at the time when they arrived."}
    </Strip>
  );
}
