import assert from "node:assert/strict";
import { test } from "node:test";
import * as m from "../../../cluster-agent/web/src/model/matchers";

const one = (text: string) => m.parseMatchers(text).matchers;

test("matchers are read as the server reads them", () => {
  assert.deepEqual(one(`pod="a", host.name!='b' ,version=~"1\\..*",zone!~\`eu-\\d"\`,`), [
    { name: "pod", op: "=", value: "a" },
    { name: "host.name", op: "!=", value: "b" },
    { name: "version", op: "=~", value: "1\\..*" },
    { name: "zone", op: "!~", value: 'eu-\\d"' },
  ]);
  assert.deepEqual(one('{pod="a"}'), one('pod="a"'));
  assert.deepEqual(one(""), []);
  assert.deepEqual(one(" {} "), []);
  assert.deepEqual(one('"with space" = "a\\"b\\\\c\\nd"'), [
    { name: "with space", op: "=", value: 'a"b\\c\nd' },
  ]);
});

test("what is printed is read again", () => {
  for (const value of ['a"b', "back\\slash", "\\.", "line\nbreak\t", "ü 日本", "", "`'"]) {
    const list: m.Matcher[] = [
      { name: "pod", op: "=~", value },
      { name: "a label", op: "!=", value },
    ];
    assert.deepEqual(one(m.printMatchers(list)), list, value);
  }
});

test("a wrong matcher says what is wrong", () => {
  const why: [string, RegExp][] = [
    ["pod", /expected =, !=, =~ or !~ after pod/],
    ["pod=a", /value of pod needs quotes/],
    ['pod="a', /closing quote/],
    ['pod="a" b="c"', /comma after pod/],
    ['="a"', /expected a label/],
    ["{pod", /expected a label/],
    [`x="${"y".repeat(4096)}"`, /too long/],
    [Array.from({ length: 17 }, (_, i) => `l${i}="x"`).join(), /more than 16/],
  ];
  for (const [text, error] of why) assert.match(m.parseMatchers(text).error, error, text);
});

test("a condition is added once, and one value of a label replaces another", () => {
  const pod = (value: string, op: m.MatchOp = "="): m.Matcher => ({ name: "pod", op, value });
  let where = m.withMatcher('zone="x",pod="a"', pod("b"));
  assert.equal(where, 'zone="x",pod="b"');
  where = m.withMatcher(where, pod("c", "!="));
  assert.equal(m.withMatcher(where, pod("c", "!=")), 'zone="x",pod="b",pod!="c"');
  assert.equal(m.withoutMatcher(where, pod("b")), 'zone="x",pod!="c"');
  assert.equal(m.withoutLabel(where, "pod"), 'zone="x"');
  assert.deepEqual(m.onlyIn('a="1",pod="b"', 'pod="c",a="1"'), [pod("b")]);
});
