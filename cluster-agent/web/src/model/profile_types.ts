// Order and grouping of profile types for tabs and menus.

export interface ProfileType {
  type: string;
  title: string;
  category: string;
  aggregation: string;
  unit: string;
  featured: boolean;
  nodeAgent: boolean;
  language?: string; // "go", "java", …, or "" for any
}

export interface Tab {
  title: string;
  type: string; // the one that a click shows
  types: string[]; // all of the tab
}

const groups: { title: string; has: (t: ProfileType) => boolean }[] = [
  { title: "CPU", has: (t) => t.category === "cpu" },
  { title: "Memory", has: (t) => t.category === "memory" && t.type.includes("inuse") },
  { title: "Allocations", has: (t) => t.category === "memory" && !t.type.includes("inuse") },
  { title: "Locks", has: (t) => t.category === "lock" || /:(mutex|block)_/.test(t.type) },
  { title: "Wall clock", has: (t) => /:(wall|off_cpu):/.test(t.type) },
  { title: "Goroutines", has: (t) => t.type.includes("goroutine") },
];

export const groupTitle = (t: ProfileType): string =>
  groups.find((g) => g.has(t))?.title ?? "Other";

/** A type that the registry does not know is shown by its own name. */
export function describe(type: string, registry: ProfileType[]): ProfileType {
  const known = registry.find((t) => t.type === type);
  if (known) return known;
  const unit = type.slice(type.lastIndexOf(":") + 1);
  return {
    type,
    title: type,
    category: "",
    aggregation: "sum",
    unit,
    featured: false,
    nodeAgent: false,
  };
}

// What the values of a type mean where its title does not say so. One without a source is of all.
const explanations: Record<string, string> = {
  "java:cpu:nanoseconds":
    "CPU time of the JVM's threads, sampled by async-profiler inside it: interpreted and inlined " +
    "code has its Java names, too. In methods that were compiled before it was loaded, the " +
    "innermost frames may be a neighbouring call (docs/java.md, Limits). CPU (eBPF) covers the " +
    "same time from outside, with functions of the kernel, and the other processes of the " +
    "container.",
  ":wall:nanoseconds":
    "Where threads spend their time, running or waiting. Threads that wait at once add up.",
  "java:heap_alloc_space:bytes":
    "What was allocated, estimated from samples; most of it may be freed again. A place that " +
    "allocates little may be missing.",
  "java:heap_alloc_objects:count":
    "Objects that were allocated, estimated from samples. A place that allocates little may be " +
    "missing.",
  "java:malloc_space:bytes":
    "Memory that native code got from malloc(), sampled by async-profiler; most of it may be " +
    "freed again.",
  "java:lock_delay:nanoseconds":
    "How long threads waited for locks that others held: synchronized and java.util.concurrent. " +
    "Threads that wait at the same time add up.",
  ":off_cpu:nanoseconds":
    "How long threads waited off the CPU, by where they waited. Threads that wait at once add up.",
  "java:lock_contentions:count": "How often threads had to wait for a lock that another one held.",
};

/** A sentence or two, "" if the title is enough. */
export const explain = (type: string): string =>
  [type, type.slice(type.indexOf(":"))].map((t) => explanations[t]).find(Boolean) ?? "";

const languageNames: Record<string, string> = {
  go: "Go",
  java: "Java",
  nodejs: "Node.js",
  python: "Python",
  ruby: "Ruby",
  rust: "Rust",
  dotnet: ".NET",
  php: "PHP",
};

/** A tab opens its featured type; otherwise one with a unit rather than a number of objects. */
function tabOf(title: string, members: ProfileType[]): Tab {
  const rank = (t: ProfileType): number => (t.featured ? 0 : t.unit !== "count" ? 1 : 2);
  const sorted = [...members].sort((a, b) => rank(a) - rank(b));
  return { title, type: sorted[0].type, types: sorted.map((t) => t.type) };
}

/** A service with programs in Java and in Go has a tab for the memory of each. */
function tabsOfGroup(title: string, members: ProfileType[]): Tab[] {
  const languages = [...new Set(members.map((t) => t.language ?? ""))].sort();
  if (languages.length < 2 || members[0].category !== "memory") return [tabOf(title, members)];
  return languages.map((l) =>
    tabOf(
      l ? `${title} · ${languageNames[l] ?? l}` : title,
      members.filter((t) => (t.language ?? "") === l),
    ),
  );
}

export function tabsOf(types: string[], registry: ProfileType[]): Tab[] {
  const all = types.map((t) => describe(t, registry));
  const tabs: Tab[] = [];
  for (const g of [...groups.map((x) => x.title), "Other"]) {
    const members = all.filter((t) => groupTitle(t) === g);
    if (members.length > 0) tabs.push(...tabsOfGroup(g, members));
  }
  return tabs;
}
