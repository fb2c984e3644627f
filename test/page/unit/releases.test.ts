import assert from "node:assert/strict";
import { test } from "node:test";
import {
  lastSeen,
  newestFirst,
  onlyReleases,
  releaseLabel,
  releaseMarks,
  releaseName,
  whenSeen,
  withoutReleases,
} from "../../../cluster-agent/web/src/model/releases";

const label = (name: string, ...values: string[]) => ({
  name,
  values: values.map((value) => ({ value, share: 1 / values.length })),
});
const line = (startMs: number, stepMs: number, series: Record<string, (number | null)[]>) => {
  const all = Object.values(series);
  return {
    startMs,
    stepMs,
    values: all[0].map((_, i) => all.reduce((n, v) => n + (v[i] ?? 0), 0) || null),
    series: Object.entries(series).map(([name, values]) => ({ name, values })),
  };
};

test("releases are values of a version, or images of one repository", () => {
  assert.equal(releaseLabel([label("pod", "a", "b"), label("version", "1")]), null);
  assert.deepEqual(releaseLabel([label("version", "1", "", "2"), label("image", "x:1", "x:2")]), {
    name: "version",
    values: ["1", "2"],
  });
  const images = label(
    "container.image.name",
    "envoy:1.30",
    "registry:5000/shop:1.4",
    "registry:5000/shop@sha256:00aa",
  );
  assert.deepEqual(releaseLabel([label("version", "1"), images])?.values, [
    "registry:5000/shop:1.4",
    "registry:5000/shop@sha256:00aa",
  ]);
  // of containers of one pod, none is the release of another
  assert.equal(releaseLabel([label("image", "envoy:1.30", "shop:1.4")]), null);
});

test("the newest release is the one that was first seen last, whatever its share", () => {
  const long = line(0, 10, { "2.0.1": [1, 1, 1], b7: [null, 0, 5], "2.0.0": [1, 1, 9] });
  assert.deepEqual(newestFirst(["2.0.0", "2.0.1", "b7"], long), ["b7", "2.0.1", "2.0.0"]);
  assert.deepEqual(newestFirst(["1.9", "1.10"], null), ["1.10", "1.9"]);
});

test("a mark is where a release begins, unless it was there before", () => {
  const span = { from: 1000, to: 1050 };
  const shown = line(1000, 10, {
    a: [1, 1, 1, 1, 1],
    b: [null, null, 3, 3, 3],
    c: [null, null, null, 3, 3],
  });
  const long = line(0, 100, {
    a: [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1],
    b: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
    c: [0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1], // a job that runs now and then
  });
  const order = newestFirst(["a", "b", "c"], long);
  assert.deepEqual(order, ["b", "c", "a"]);
  assert.deepEqual(releaseMarks(order, shown, long, span), [
    { at: 1020, value: "b", previous: "c" },
  ]);
  assert.deepEqual(releaseMarks(order, shown, null, span), []);
  // what begins with the first data is the first release, no new one
  const begins = line(1000, 10, { a: [null, 1, 1], b: [null, 1, 1] });
  assert.deepEqual(releaseMarks(["b", "a"], begins, begins, span), []);
});

test("the timelines are of the releases only, and of all of them", () => {
  assert.equal(withoutReleases('version="1",pod="a",image=~"x.*"'), 'pod="a"');
  const one = { name: "version", values: ["1.4", "a+b"] };
  assert.equal(onlyReleases('pod="a"', one), 'pod="a",version=~"1\\\\.4|a\\\\+b"');
});

test("a release was seen last in a step of the timeline", () => {
  const week = line(0, 100, { a: [1, 1, 0, null], b: [0, 0, 1, 1] });
  assert.deepEqual(lastSeen("a", week), { from: 100, to: 200 });
  assert.deepEqual(lastSeen("b", week), { from: 300, to: 400 });
  assert.equal(lastSeen("c", week), null);
  assert.equal(lastSeen("a", null), null);
});

test("a release that is gone is looked for before the range on show", () => {
  const shown = { from: 900, to: 1000 };
  assert.equal(whenSeen(null, shown, true), null);
  assert.deepEqual(whenSeen({ from: 300, to: 400 }, shown, true), { from: 300, to: 400 });
  // a step of a week's timeline is longer than the range, and overlaps it
  assert.deepEqual(whenSeen({ from: 600, to: 1000 }, shown, true), { from: 500, to: 900 });
  assert.equal(whenSeen({ from: 600, to: 1000 }, shown, false), null);
  assert.equal(whenSeen({ from: 950, to: 1000 }, shown, true), null);
});

test("an image is called by its tag", () => {
  const names = ["1.4.2", "shop/api:1.4", "r:5000/shop:2", "shop@sha256:00", "feature/x"];
  assert.deepEqual(names.map(releaseName), ["1.4.2", "1.4", "2", "sha256:00", "feature/x"]);
});
