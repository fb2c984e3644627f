import assert from "node:assert/strict";
import { test } from "node:test";
import {
  comparing,
  emptyState,
  hasFixedTimes,
  noBase,
  parseState,
  printAddress,
  printState,
  type UrlState,
} from "../../../cluster-agent/web/src/model/url_state";

test("the default page has no query", () => {
  assert.equal(printState(emptyState), "");
  assert.deepEqual(parseState(""), emptyState);
});

test("every part of the state survives the address", () => {
  const full: UrlState = {
    page: "profiles",
    service: "/process/a b&c=d",
    type: "ebpf:cpu:nanoseconds",
    instance: "4f1d · node-a",
    range: { last: 900 },
    selection: { from: 1700000000000, to: 1700000060000 },
    search: "/json\\.(a|b)+?/",
    zoom: "0123456789abcdef",
    view: "flame",
    color: "module",
    sort: "name",
    ascending: true,
    where: 'pod="a",host.name!="b",version=~"1\\..*"',
    base: { shift: 86400 },
    baseService: "/process/other",
    baseInstance: "",
    baseWhere: 'version="1.4.1"',
    diff: "absolute",
    changed: "new",
    measure: "total",
    group: "package",
    within: "encoding/json",
    by: "host.name",
    chart: "heat",
    direction: "flame",
    invert: true,
    edit: [
      { kind: "hide", name: "memcpy@GLIBC_2.14", file: "/lib/libc.so" },
      { kind: "library", name: "", file: "C:\\x@y" },
      { kind: "focus", name: "std::map<int, a>::operator[]", file: "" },
      { kind: "recursion", name: "walk&go+on", file: "/a b.go" },
    ],
    fn: { name: "main.(*T).work", file: "/app/main.go" },
    panel: "sandwich",
    filter: "check out",
    function: "encoding/json.Marshal",
    order: "-cores",
    namespace: "prod",
    pods: "down",
    snapshot: "0123456789abcdef",
  };
  assert.deepEqual(parseState(printState(full)), full);
  for (const key of Object.keys(full) as (keyof UrlState)[]) {
    const one = { ...emptyState, [key]: full[key] };
    assert.deepEqual(parseState(printState(one)), one, key);
  }
});

test("addresses stay readable", () => {
  assert.equal(
    printState({
      ...emptyState,
      service: "/process/burn",
      type: "ebpf:cpu:nanoseconds",
      range: { last: 3600 },
    }),
    "?service=/process/burn&type=ebpf:cpu:nanoseconds&range=1h",
  );
});

test("functions stay readable in the address", () => {
  const one = { ...emptyState, fn: { name: "main.work", file: "/app/main.go" } };
  assert.equal(printState(one), "?fn=main.work@/app/main.go");
  const edited = { ...emptyState, edit: [{ kind: "hide" as const, name: "a::b", file: "" }] };
  assert.equal(printState(edited), "?edit=hide:a::b@");
});

test("an empty part of the baseline is all, a missing one is as in the selection", () => {
  assert.equal(printState({ ...emptyState, baseInstance: "" }), "?baseInstance=");
  assert.equal(parseState("?baseInstance=").baseInstance, "");
  assert.equal(parseState("").baseInstance, null);
  assert.ok(comparing(parseState("?baseWhere=")));
  assert.ok(comparing(parseState("?base=same")));
  assert.ok(!comparing(emptyState));
  assert.ok(!comparing({ ...parseState("?base=previous&baseInstance=a"), ...noBase }));
});

test("no edit, function or baseline is made of nonsense", () => {
  const s = parseState(
    "?edit=hide&edit=paint:a@b&edit=focus:@&fn=a@b@c&panel=x&base=-x&base=5m&diff=1&by=&order=A-",
  );
  assert.deepEqual(s, emptyState);
  const many = "?" + Array.from({ length: 200 }, (_, i) => `edit=hide:f${i}@`).join("&");
  assert.equal(parseState(many).edit.length, 50);
});

test("nonsense in the address falls back to the default", () => {
  const s = parseState("?range=soon&view=upside&color=pink&zoom=zz&select=5m&sort=-color");
  assert.deepEqual(s, emptyState);
});

test("the page of targets is a path beside the profiles", () => {
  const targets: UrlState = { ...emptyState, page: "targets", pods: "down" };
  assert.equal(printAddress(targets, "/"), "/targets?pods=down");
  assert.equal(printAddress(targets, "/targets"), "/targets?pods=down");
  assert.equal(printAddress(emptyState, "/behind/a/proxy/targets"), "/behind/a/proxy/");
  assert.deepEqual(parseState("?pods=down", "/behind/a/proxy/targets"), targets);
  assert.equal(parseState("", "/targets/more").page, "profiles");
  assert.equal(parseState("?pods=gone", "/targets").pods, "all");
});

test("the zone of the times is in the address, if it is one", () => {
  const of = (query: string): string | undefined => parseState(query).zone;
  assert.equal(of("?zone=utc"), "utc");
  assert.equal(of("?zone=Europe/Berlin"), "Europe/Berlin");
  assert.equal(of("?zone=nowhere"), undefined);
  assert.equal(of(""), undefined);
  assert.equal(printState({ ...emptyState, zone: "Asia/Tokyo" }), "?zone=Asia/Tokyo");
  assert.equal(printState(emptyState), "");
  assert.equal(hasFixedTimes(emptyState), false);
  assert.equal(hasFixedTimes({ ...emptyState, range: { from: 1, to: 2 } }), true);
  assert.equal(hasFixedTimes({ ...emptyState, selection: { from: 1, to: 2 } }), true);
  assert.equal(hasFixedTimes({ ...emptyState, base: { from: 1, to: 2 } }), true);
  assert.equal(hasFixedTimes({ ...emptyState, base: "previous" }), false);
});

test("a link to a selection of long ago shows the time around it", () => {
  const now = 1_700_000_000_000;
  const old = `${now - 90_000_000}-${now - 89_900_000}`;
  const state = parseState(`?service=a&select=${old}`, "/", now);
  assert.deepEqual(state.range, { from: now - 90_400_000, to: now - 89_500_000 });
  assert.deepEqual(state.selection, { from: now - 90_000_000, to: now - 89_900_000 });
  assert.deepEqual(parseState("?service=a", "/", now).range, { last: 900 });
});
