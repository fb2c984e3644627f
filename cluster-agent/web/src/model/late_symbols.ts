// Builds without symbols, and what debuginfod servers have said about them. A build is the same in
// all profiles, so the latest answer counts, whichever profile it came with.

/** As an answer of the API says it. */
export interface BuildSymbols {
  build: string;
  coming: boolean; // names may be there the next time
  why: string; // why there are none, or none yet; "" if there is nothing to say
}

const latest = new Map<string, BuildSymbols>();
const MOST = 10000;

export function noteSymbols(list: BuildSymbols[] | undefined): void {
  if (latest.size > MOST) latest.clear();
  for (const s of list ?? []) latest.set(s.build, s);
}

const UPLOAD = "“coroot-node-agent symbols upload” gives names to build";

/** Why a frame of this binary has no name, and what gives it one. */
export function whyUnnamed(binary: string, build: string): string {
  if (!build) return `${binary} has no symbols here: install its debug symbols`;
  const s = latest.get(build);
  if (!s) return `${binary} has no symbols here: ${UPLOAD} ${build}`;
  if (!s.coming) return `${binary} has no symbols here: ${s.why}. ${UPLOAD} ${build}`;
  const late = s.why ? ` (${s.why})` : "";
  return (
    `${binary} has no symbols yet: they are asked for at debuginfod servers${late}; ` +
    "refresh to see names"
  );
}

/** A line about an answer some of whose names are on the way; "" if none are. */
export function comingText(list: BuildSymbols[] | undefined): string {
  const coming = (list ?? []).filter((s) => s.coming);
  if (coming.length === 0) return "";
  const n =
    coming.length === 1 ? "one program or library" : `${coming.length} programs and libraries`;
  const why = coming.find((s) => s.why)?.why;
  return why
    ? `Names of ${n} are late: ${why}.`
    : `Names of ${n} are on the way from debuginfod servers: refresh to see them.`;
}
