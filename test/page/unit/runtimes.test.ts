import assert from "node:assert/strict";
import * as fs from "node:fs";
import { test } from "node:test";
import { jvmNote } from "../../../cluster-agent/web/src/model/runtimes";

test("a note says how many JVMs lack Java profiles, and why", () => {
  const cases: [Record<string, number>, string][] = [
    [
      { "java:profiled": 3, "java:loading_disabled": 2 },
      "3 of 5 JVMs have Java profiles. 2 do not: dynamic loading of agents is disabled " +
        "(-XX:-EnableDynamicAgentLoading)",
    ],
    [
      { "java:off": 1 },
      "1 JVM: Java profiles are off; start the node agent with --enable-java-async-profiler",
    ],
    [
      { "java:attach_disabled": 1 },
      "1 JVM without Java profiles: attaching is disabled (-XX:+DisableAttachMechanism)",
    ],
    [
      { "java:openj9": 1, "java:profiled": 1, "java:waiting": 1200 },
      "1 of 1,202 JVMs has Java profiles. 1,201 do not: 1,200: just started; profiled after " +
        "--java-async-profiler-delay · 1: OpenJ9 is not supported by async-profiler",
    ],
    [
      { "java:a_new_state": 1, "java:off": 1 },
      "2 JVMs without Java profiles. 1: a new state · 1: Java profiles are off; start the node " +
        "agent with --enable-java-async-profiler",
    ],
  ];
  for (const [runtimes, want] of cases) assert.equal(jvmNote(runtimes)?.text, want);
});

test("there is no note if nothing is missing", () => {
  assert.equal(jvmNote(undefined), null);
  assert.equal(jvmNote({}), null);
  assert.equal(jvmNote({ "java:profiled": 2 }), null);
  assert.equal(jvmNote({ "other:off": 2, "java:<b>": 1, "java:off": 0 }), null);
});

test("only what somebody can mend is a warning", () => {
  assert.equal(jvmNote({ "java:off": 2, "java:waiting": 1 })?.expected, true);
  assert.equal(jvmNote({ "java:off": 2, "java:no_place": 1 })?.expected, false);
  const unknown = jvmNote({ "java:constructor": 2 });
  assert.equal(unknown?.text, "2 JVMs without Java profiles: constructor");
});

test("agent, documentation and page have the same states", () => {
  const all = (file: string, pattern: RegExp): string[] =>
    [...fs.readFileSync(file, "utf8").matchAll(pattern)].map((m) => m[1]).sort();
  const states = all("node-agent/java/java_state.c", /\[JAVA_STATE_\w+\] =\s*\{"(\w+)"/g);
  assert.ok(states.length > 10, states.join(" "));
  assert.deepEqual(all("docs/java.md", /^\| `(?!container_)(\w+)` \|/gm), states);
  for (const state of states.filter((name) => name !== "profiled")) {
    const text = jvmNote({ [`java:${state}`]: 1 })?.text ?? "";
    const name = state.replaceAll("_", " "); // what a state without a sentence is shown as
    assert.notEqual(text, `1 JVM without Java profiles: ${name}`);
  }
});
