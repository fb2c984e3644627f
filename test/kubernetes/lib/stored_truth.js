// Compares the counts of workload/truth.go with those in the store.
"use strict";

const assert = require("node:assert");
const { stored } = require("./scraping_agents");
const { ask } = require("./workload_pods");
const { sql } = require("../../e2e/lib/query");
const { repeated } = require("../../e2e/lib/wait");

const counted = [
  "allocatedObjects",
  "allocatedBytes",
  "mutexContentions",
  "mutexDelayNs",
  "blockWaits",
  "blockDelayNs",
];

// What the store has of the named functions, with the names of /truth.
async function storedTruth(agent, service) {
  // since Go 1.22 locks of the runtime itself are reported too, below the function that met them
  const sum = async (type, name) => {
    const r = await stored(agent, { service, type, name, without: "runtime.unlock" });
    assert.ok(r.profiles === 0 || r.least >= 0, `${service} ${type}: ${r.least}`);
    return r.sum;
  };
  return {
    allocatedObjects: await sum("go:heap_alloc_objects:count", "main.makeObject"),
    allocatedBytes: await sum("go:heap_alloc_space:bytes", "main.makeObject"),
    mutexContentions: await sum("go:mutex_contentions:count", "main.releaseLock"),
    mutexDelayNs: await sum("go:mutex_delay:nanoseconds", "main.releaseLock"),
    blockWaits: await sum("go:block_contentions:count", "main.waitForChannel"),
    blockDelayNs: await sum("go:block_delay:nanoseconds", "main.waitForChannel"),
  };
}

const add = (a, b, sign = 1) => Object.fromEntries(counted.map((k) => [k, a[k] + sign * b[k]]));

// Counts are exact. Time is measured by the runtime in its own way, around what /truth measures.
function assertSums(got, want, what) {
  for (const key of counted) {
    if (key.endsWith("Ns")) {
      const off = Math.abs(got[key] - want[key]) / want[key];
      assert.ok(off < 0.1, `${what}: ${key} ${got[key]} of ${want[key]}`);
    } else {
      assert.strictEqual(got[key], want[key], `${what}: ${key}`);
    }
  }
}

// The values of the last profile stored of a type, of stacks with the function in them.
async function lastValue(agent, service, type, name) {
  const [row] = await sql(
    agent,
    `SELECT max(toUnixTimestamp64Milli(End)) AS end FROM profiling_samples
      WHERE ServiceName = '${service}' AND Type = '${type}'`,
  );
  const last = await sql(
    agent,
    `SELECT sum(Value) AS sum FROM profiling_samples
      WHERE ServiceName = '${service}' AND Type = '${type}'
      AND toUnixTimestamp64Milli(End) = ${row.end} AND StackHash IN
        (SELECT Hash FROM profiling_stacks WHERE ServiceName = '${service}'
          AND arrayExists(f -> startsWith(f, '${name} '), Stack))`,
  );
  return last[0].sum;
}

// Records what a pod has spent, from when the promise resolves until stop() is called; at(ms) is
// then what it had spent at a time between the two.
async function followTruth(t, pod) {
  const seen = [await ask(pod)];
  const end = repeated(t, 100, async () => seen.push(await ask(pod)));
  const at = (ms, key) => {
    const i = seen.findIndex((s) => s.nowMs >= ms);
    assert.ok(i > 0, `${ms} was not followed`);
    const [a, b] = [seen[i - 1], seen[i]];
    return a[key] + ((b[key] - a[key]) * (ms - a.nowMs)) / (b.nowMs - a.nowMs);
  };
  const stop = async () => {
    await end(); // the running request may have been sent before the call
    seen.push(await ask(pod));
  };
  return { stop, at };
}

// CPU time of the profiles between two times, in ns: as the profiles report it, in all and in
// burnCPU, and as the kernel does for the seconds that they cover. Go takes samples for as long
// as it was asked to (seconds), and the duration in the profile includes the time to write it.
async function storedCpu(agent, service, follow, { fromMs, toMs, seconds }) {
  const type = "go:profile_cpu:nanoseconds";
  const sum = async (name) => (await stored(agent, { service, type, fromMs, toMs, name })).sum;
  const windows = await sql(
    agent,
    `SELECT DISTINCT toUnixTimestamp64Milli(Start) AS start, toUnixTimestamp64Milli(End) AS end
      FROM profiling_samples
      WHERE ServiceName = '${service}' AND Type = '${type}'
      AND start >= ${fromMs} AND end <= ${toMs}`,
  );
  assert.ok(windows.length >= 3, `${service}: ${windows.length} CPU profiles`);
  const spent = (key) => {
    const parts = windows.map(
      (w) => (follow.at(w.end, key) - follow.at(w.start, key)) / (w.end - w.start),
    );
    return parts.reduce((all, rate) => all + rate * seconds * 1000, 0);
  };
  return {
    all: await sum(),
    burn: await sum("main.burnCPU"),
    spent: spent("processCpuNs"),
    burnt: spent("cpuNs"),
  };
}

module.exports = { add, assertSums, followTruth, lastValue, storedCpu, storedTruth };
