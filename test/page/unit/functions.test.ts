import assert from "node:assert/strict";
import { test } from "node:test";
import { sortFunctions } from "../../../cluster-agent/web/src/functions";

const names = ["b", "x/a.c", "B2"];
const f = { name: [0, 1, 2], self: [5, 5, 1], total: [5, 9, 20] };

test("rows sort by each column in both directions", () => {
  const sorted = (by: "name" | "self" | "total", up: boolean): number[] =>
    sortFunctions([0, 1, 2], f, names, by, up);
  assert.deepEqual(sorted("self", false), [1, 0, 2]); // equal self: the larger total first
  assert.deepEqual(sorted("self", true), [2, 1, 0]);
  assert.deepEqual(sorted("total", false), [2, 1, 0]);
  assert.deepEqual(sorted("total", true), [0, 1, 2]);
});

test("names sort as they are shown: without path and case", () => {
  assert.deepEqual(sortFunctions([2, 0, 1], f, names, "name", true), [1, 0, 2]);
  assert.deepEqual(sortFunctions([2, 0, 1], f, names, "name", false), [2, 0, 1]);
});
