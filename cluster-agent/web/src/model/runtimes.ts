// Why Java profiles are there or not: states of JVMs that came with the CPU profile, as a sentence.

import { grouped } from "./units";

/** Programs by "<runtime>:<state>", as in the quality of a flame graph. */
export type Runtimes = Record<string, number>;

// What each state says of some JVMs, behind their number; docs/java.md has the same names.
const reasons: Record<string, string> = {
  off: "Java profiles are off; start the node agent with --enable-java-async-profiler",
  waiting: "just started; profiled after --java-async-profiler-delay",
  attach_disabled: "attaching is disabled (-XX:+DisableAttachMechanism)",
  loading_disabled:
    "dynamic loading of agents is disabled (-XX:-EnableDynamicAgentLoading)",
  signals_reduced: "attaching would end the JVM, which was started with -Xrs",
  openj9: "OpenJ9 is not supported by async-profiler",
  unsupported: "the node agent does not understand this release of the JVM",
  foreign_profiler: "another profiler is already loaded",
  other_agent: "another node agent profiles it; run one per node",
  no_library: "the node agent's libasyncProfiler.so is missing; see --java-async-profiler-lib",
  no_place:
    "no directory is writable and executable for the JVM; mount an emptyDir at /tmp",
  no_permission: "the node agent may not attach; its log names the missing capability",
  unresponsive: "the JVM does not answer; the node agent tries again later",
  load_failed: "the library cannot be loaded; see the log of the node agent",
  start_failed: "async-profiler cannot start; see the log of the node agent",
  failed: "profiling failed repeatedly; see the log of the node agent",
};

/** A state of a newer agent is shown by its name. */
const reasonOf = (state: string): string =>
  Object.hasOwn(reasons, state) ? reasons[state] : state.replaceAll("_", " ");

const jvms = (n: number): string => `${grouped(n)} ${n === 1 ? "JVM" : "JVMs"}`;

export interface JvmNote {
  text: string;
  expected: boolean; // no action is needed
}

/** Null if there are no JVMs, or all have Java profiles. */
export function jvmNote(runtimes: Runtimes | undefined): JvmNote | null {
  const states = Object.entries(runtimes ?? {})
    .filter(([key, n]) => /^java:[a-z0-9_]+$/.test(key) && n > 0)
    .map(([key, n]) => ({ state: key.slice("java:".length), n }))
    .sort((a, b) => b.n - a.n || (a.state < b.state ? -1 : 1));
  const missing = states.filter((s) => s.state !== "profiled");
  if (missing.length === 0) return null;
  const all = states.reduce((sum, s) => sum + s.n, 0);
  const without = missing.reduce((sum, s) => sum + s.n, 0);
  const why =
    missing.length === 1
      ? reasonOf(missing[0].state)
      : missing.map((s) => `${grouped(s.n)}: ${reasonOf(s.state)}`).join(" · ");
  const text =
    without < all
      ? `${grouped(all - without)} of ${jvms(all)} ${all - without === 1 ? "has" : "have"} ` +
        `Java profiles. ${grouped(without)} ${without === 1 ? "does" : "do"} not: ${why}`
      : missing.length > 1
        ? `${jvms(all)} without Java profiles. ${why}`
        : missing[0].state === "off"
          ? `${jvms(all)}: ${why}`
          : `${jvms(all)} without Java profiles: ${why}`;
  return { text, expected: missing.every((s) => s.state === "off" || s.state === "waiting") };
}
