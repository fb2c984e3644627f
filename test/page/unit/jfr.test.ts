// Recordings of the JDK and of async-profiler that the page opens; cut off, changed, or made to do
// harm.

import assert from "node:assert/strict";
import * as fs from "node:fs";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import { readJfr } from "../../../cluster-agent/web/src/open/jfr";
import { FileError, sumOf, type FileContent } from "../../../cluster-agent/web/src/open/stacks";

const bytesOf = (name: string): Uint8Array =>
  new Uint8Array(gunzipSync(fs.readFileSync(`test/data/${name}.jfr.gz`)));

/** All stacks of a type, root first. */
const stacksOf = ({ table, types }: FileContent, title: string): string[] =>
  types
    .find((t) => t.title === title)!
    .stacks.map((s) => Array.from(table.framesOf(s), (f) => table.name[f]).join(";"));

test("methods, lines and native frames of async-profiler", () => {
  const file = readJfr(bytesOf("jfr/async"));
  const titles = file.types.map((t) => `${t.title} ${t.unit}`);
  assert.deepEqual(titles, [
    "samples of CPU time count",
    "allocated bytes",
    "waiting for locks nanoseconds",
    "parked nanoseconds",
  ]);
  assert.equal(sumOf(file.types[0]), 45);
  const cpu = stacksOf(file, "samples of CPU time");
  assert.ok(cpu.some((s) => /^Demo\.main;.*;Demo\.burn$/.test(s)), cpu[0]);
  assert.ok(cpu.every((s) => !/Lambda\$?\d/.test(s)));
  const { table } = file;
  assert.ok(table.file.includes("[libjvm.so]"));
  const burn = table.name.indexOf("Demo.burn");
  assert.ok(table.line[burn] > 0 && table.line[burn] < 200);
  assert.ok(table.line.every((l) => l < 100_000));
  assert.equal(new Date(file.from).toISOString().slice(0, 10), "2026-11-23");
});

test("recordings of the JDK, of wall clock, of living objects, and of two chunks", () => {
  const jdk = readJfr(bytesOf("jfr/jdk"));
  assert.ok(stacksOf(jdk, "samples of CPU time").some((s) => s.endsWith("Demo.burn")));
  assert.equal(jdk.table.leftOut.get("events without a stack"), 1);
  const wall = readJfr(bytesOf("jfr/wall"));
  assert.equal(sumOf(wall.types.find((t) => t.title === "samples of wall clock")!), 1143);
  const live = readJfr(bytesOf("jfr/nobatch"));
  assert.equal(live.types.find((t) => t.title === "live")!.unit, "bytes");
  const two = readJfr(bytesOf("java_two_chunks"));
  assert.equal(two.types[0].values.length, 16);
  assert.ok(two.to > two.from);
});

/** Read, or refused by a sentence; nothing else may happen. */
function read(bytes: Uint8Array): void {
  try {
    readJfr(bytes);
  } catch (e) {
    assert.ok(e instanceof FileError, String((e as Error).stack));
    assert.ok(e.message.endsWith("."));
  }
}

test("a recording that ends anywhere, or in which bytes are changed, is refused or read", () => {
  const whole = bytesOf("java_two_chunks");
  for (let n = 0; n < whole.length; n += 997) read(whole.subarray(0, n));
  let x = 12345;
  const next = (below: number): number => (x = (x * 16807) % 2147483647) % below;
  for (let run = 0; run < 300; run++) {
    const changed = whole.slice();
    for (let k = 0; k <= next(8); k++) changed[next(run % 2 ? changed.length : 2000)] = next(256);
    read(changed);
  }
});
