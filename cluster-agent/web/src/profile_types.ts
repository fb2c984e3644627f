// Order and grouping of profile types for tabs and menus.

export interface ProfileType {
  type: string;
  title: string;
  category: string;
  aggregation: string;
  unit: string;
  featured: boolean;
  nodeAgent: boolean;
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

export function tabsOf(types: string[], registry: ProfileType[]): Tab[] {
  const all = types.map((t) => describe(t, registry));
  const tabs: Tab[] = [];
  for (const g of [...groups.map((x) => x.title), "Other"]) {
    const members = all.filter((t) => groupTitle(t) === g);
    if (members.length === 0) continue;
    const first =
      members.find((t) => t.featured) ?? members.find((t) => t.unit !== "count") ?? members[0];
    tabs.push({ title: g, type: first.type, types: members.map((t) => t.type) });
  }
  return tabs;
}
