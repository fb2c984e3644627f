import assert from "node:assert/strict";
import { test } from "node:test";
import * as u from "../../../cluster-agent/web/src/model/units";

test("times are read in the unit that a person would choose", () => {
  const cases: [number, string][] = [
    [0, "0 s"],
    [999, "999 ns"],
    [1500, "1.5 µs"],
    [2_500_000, "2.5 ms"],
    [16e9, "16.0 s"],
    [71e9, "71.0 s"],
    [84e9, "1.4 min"],
    [5400e9, "1.5 h"],
    [3 * 86400e9, "3.0 d"],
    [123 * 86400e9, "123 d"],
  ];
  for (const [ns, text] of cases) assert.equal(u.nanoseconds(ns), text);
});

test("bytes are binary and never show four digits before the point", () => {
  assert.equal(u.bytes(0), "0 B");
  assert.equal(u.bytes(1023), "1,023 B");
  assert.equal(u.bytes(1024), "1.0 KiB");
  assert.equal(u.bytes(1024 * 1024 - 1), "1.0 MiB");
  assert.equal(u.bytes(3.2 * 1024 ** 3), "3.2 GiB");
  assert.equal(u.bytes(5000 * 1024 ** 5), "5,000 PiB");
});

test("counts stay whole while they are short", () => {
  assert.equal(u.count(12), "12");
  assert.equal(u.count(99_999), "99,999");
  assert.equal(u.count(511_200), "511 k");
  assert.equal(u.count(1_234_567), "1.2 M");
  assert.equal(u.count(2.5), "2.50");
  assert.equal(u.grouped(511_200), "511,200");
});

test("a share has three digits, and rounds neither to nothing nor to everything", () => {
  assert.equal(u.percent(69.84, 100), "69.8 %");
  assert.equal(u.percent(6.757, 100), "6.76 %");
  assert.equal(u.percent(0.001, 100), "<0.01 %");
  assert.equal(u.percent(0, 100), "0 %");
  assert.equal(u.percent(5, 0), "0 %");
  assert.equal(u.percent(9_999_999, 10_000_000), "99.9 %");
  assert.equal(u.percent(10, 10), "100 %");
  assert.equal(u.percentFixed(1, 8), "12.50 %");
});

test("one bad stack in a million is not 100 % complete", () => {
  assert.equal(u.percentComplete(999_999, 1_000_000), "99.99 %");
  assert.equal(u.percentComplete(1_000_000, 1_000_000), "100 %");
  assert.equal(u.percentComplete(0, 0), "0 %");
});

test("rates name their unit", () => {
  assert.equal(u.rate(12.1, "cores", true), "12.1 cores");
  assert.equal(u.rate(1, "cores", true), "1.00 core");
  assert.equal(u.rate(0.0421, "cores", true), "0.042 cores");
  assert.equal(u.rate(0.4, "cores", true), "0.40 cores");
  assert.equal(u.rate(0.00001, "cores", true), "<0.0001 cores");
  assert.equal(u.rate(2048, "bytes", true), "2.0 KiB/s");
  assert.equal(u.rate(2048, "bytes", false), "2.0 KiB");
  assert.equal(u.rate(30, "count", false), "30");
});

test("an axis drops zeros behind the point, and only those", () => {
  assert.equal(u.tick(2, "cores", true), "2 cores");
  assert.equal(u.tick(0.5, "cores", true), "0.5 cores");
  assert.equal(u.tick(100, "cores", true), "100 cores");
  assert.equal(u.tick(2 * 1024 ** 3, "bytes", true), "2 GiB/s");
  assert.equal(u.tick(10, "cores", true), "10 cores");
});

test("what is counted has a name, once", () => {
  assert.equal(u.unitOf("go:heap_inuse_objects:count", "count"), "objects");
  assert.equal(u.unitOf("go:goroutine_goroutine:count", "count"), "goroutines");
  assert.equal(u.unitOf("go:mutex_contentions:count", "count"), "contentions");
  assert.equal(u.unitOf("a:b:count", "count"), "count");
  assert.equal(u.unitOf("go:heap_inuse_space:bytes", "bytes"), "bytes");
  assert.equal(u.value(1, "goroutines"), "1 goroutine");
  assert.equal(u.value(1_500_000, "objects"), "1.5 M objects");
  assert.equal(u.value(12, "count"), "12");
  assert.equal(u.rate(12, "contentions", true), "12 contentions/s");
  assert.equal(u.rate(12, "goroutines", false), "12 goroutines");
  assert.equal(u.tick(200, "objects", true), "200/s");
});

test("waiting is shown in seconds per second, not in cores", () => {
  assert.equal(u.rate(2.5, "seconds per second", true), "2.50 s waiting/s");
  assert.equal(u.tick(2.5, "seconds per second", true), "2.5 s/s");
});

test("totals per second are in the unit of the timeline, averages as they are", () => {
  assert.equal(u.sideRate(1.5e9, "nanoseconds", "cores", true), "1.50 cores");
  assert.equal(u.sideRate(2e9, "nanoseconds", "seconds per second", true), "2.00 s waiting/s");
  assert.equal(u.sideRate(2048, "bytes", "bytes", true), "2.0 KiB/s");
  assert.equal(u.sideRate(2048, "bytes", "bytes", false), "2.0 KiB");
  assert.equal(u.sideRate(1e6, "nanoseconds", "nanoseconds", false), "1.0 ms");
});
