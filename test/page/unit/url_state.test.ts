import assert from "node:assert/strict";
import { test } from "node:test";
import {
  emptyState,
  parseState,
  printAddress,
  printState,
  type UrlState,
} from "../../../cluster-agent/web/src/url_state";

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
    pods: "down",
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
