import assert from "node:assert/strict";
import { test } from "node:test";
import {
  describe,
  tabsOf,
  type ProfileType,
} from "../../../cluster-agent/web/src/model/profile_types";

const type = (type: string, category: string, featured = false): ProfileType => ({
  type,
  title: type,
  category,
  aggregation: "sum",
  unit: type.slice(type.lastIndexOf(":") + 1),
  featured,
  nodeAgent: false,
});
const registry = [
  type("ebpf:cpu:nanoseconds", "cpu"),
  type("go:profile_cpu:nanoseconds", "cpu", true),
  type("go:heap_inuse_objects:count", "memory"),
  type("go:heap_inuse_space:bytes", "memory", true),
  type("go:heap_alloc_objects:count", "memory"),
  type("go:heap_alloc_space:bytes", "memory"),
  type("go:mutex_delay:nanoseconds", ""),
  type("go:goroutine_goroutine:count", ""),
];

test("tabs come in one order, and only those with data", () => {
  const titles = (types: string[]): string[] => tabsOf(types, registry).map((t) => t.title);
  assert.deepEqual(titles(registry.map((t) => t.type).reverse()), [
    "CPU",
    "Memory",
    "Allocations",
    "Locks",
    "Goroutines",
  ]);
  assert.deepEqual(titles(["ebpf:cpu:nanoseconds"]), ["CPU"]);
  assert.deepEqual(titles([]), []);
});

test("a tab opens its featured type, else one with a unit", () => {
  const first = (types: string[]): string => tabsOf(types, registry)[0].type;
  assert.equal(
    first(["ebpf:cpu:nanoseconds", "go:profile_cpu:nanoseconds"]),
    "go:profile_cpu:nanoseconds",
  );
  assert.equal(first(["ebpf:cpu:nanoseconds"]), "ebpf:cpu:nanoseconds");
  assert.equal(
    first(["go:heap_alloc_objects:count", "go:heap_alloc_space:bytes"]),
    "go:heap_alloc_space:bytes",
  );
});

test("memory of two languages has a tab for each, the featured type first", () => {
  const two = [
    { ...type("go:heap_alloc_objects:count", "memory"), language: "go" },
    { ...type("go:heap_alloc_space:bytes", "memory"), language: "go" },
    { ...type("java:heap_alloc_objects:count", "memory"), language: "java" },
    { ...type("java:heap_alloc_space:bytes", "memory", true), language: "java" },
  ];
  const names = two.map((t) => t.type);
  assert.deepEqual(tabsOf(names, two), [
    { title: "Allocations · Go", type: names[1], types: [names[1], names[0]] },
    { title: "Allocations · Java", type: names[3], types: [names[3], names[2]] },
  ]);
  assert.deepEqual(
    tabsOf(names.slice(0, 2), two).map((t) => t.title),
    ["Allocations"],
  );
});

test("an unknown type is still shown", () => {
  const t = describe("my:thing:bytes", registry);
  assert.equal(t.title, "my:thing:bytes");
  assert.equal(t.unit, "bytes");
  assert.deepEqual(tabsOf(["my:thing:bytes"], registry), [
    { title: "Other", type: "my:thing:bytes", types: ["my:thing:bytes"] },
  ]);
});
