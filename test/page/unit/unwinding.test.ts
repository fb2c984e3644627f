import assert from "node:assert/strict";
import { test } from "node:test";
import { endText, walkEnds, walkSentence } from "../../../cluster-agent/web/src/model/unwinding";

test("ends of walks are told apart from binaries, and the most frequent come first", () => {
  const w = walkEnds({
    complete: 890,
    guessed: 10,
    no_table: 60,
    not_ascending: 20,
    implausible: 20,
    "no_table:libfoo:1.so": 60,
    "seen:libfoo:1.so": 300,
    "implausible:app": 10,
    "not_ascending:app": 5,
    "seen:libc.so.6": 500,
  });
  assert.deepEqual(w, {
    total: 1000,
    complete: 890,
    guessed: 10,
    ends: [
      { end: "unwind information not loaded", n: 60 },
      { end: "code without frame pointers", n: 40 },
    ],
    binaries: [
      {
        binary: "libfoo:1.so",
        ended: 60,
        seen: 300,
        ends: [{ end: "unwind information not loaded", n: 60 }],
      },
      { binary: "app", ended: 15, seen: 15, ends: [{ end: "code without frame pointers", n: 15 }] },
    ],
  });
  assert.equal(
    walkSentence(w!),
    "100 of 1,000 stacks end too early, mostly because: unwind information not loaded. " +
      "60.0 % of them end in libfoo:1.so.",
  );
});

test("nothing is said where nothing is known or missing", () => {
  assert.equal(walkEnds(undefined), null);
  assert.equal(walkEnds({}), null);
  assert.equal(walkEnds({ "seen:a": 5 }), null);
  assert.equal(walkSentence(walkEnds({ complete: 7 })!), "");
});

test("a binary that ends few of them is not blamed; an unknown end has its name", () => {
  const w = walkEnds({ complete: 1, quite_new: 10, "quite_new:a": 5 })!;
  assert.equal(walkSentence(w), "10 of 11 stacks end too early, mostly because: quite new.");
  assert.equal(endText("constructor"), "constructor");
});
