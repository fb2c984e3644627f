import assert from "node:assert/strict";
import { test } from "node:test";
import * as t from "../../../cluster-agent/web/src/model/targets";

const endpoint = (more: Partial<t.Endpoint> = {}): t.Endpoint => ({
  type: "heap",
  url: "http://10.0.0.1:80/debug/pprof/heap",
  container: "app",
  state: "up",
  lastScrape: 1000,
  lastDurationMs: 5,
  lastBytes: 100,
  lastError: "",
  nextScrape: 61_000,
  ...more,
});

const target = (
  pod: string,
  state: t.PodState,
  endpoints: t.Endpoint[] = [endpoint()],
  more: Partial<t.Target> = {},
): t.Target => ({
  namespace: "shop",
  pod,
  node: "node-a",
  service: "/k8s/shop/catalog",
  ip: "10.0.0.1",
  state,
  problem: "",
  endpoints,
  ...more,
});

test("a pod sums its endpoints up", () => {
  const pod = t.podOf(
    target("a", "up", [
      endpoint({ type: "cpu", lastScrape: 5000, lastDurationMs: 10_000, nextScrape: 65_000 }),
      endpoint(),
      endpoint({
        type: "mutex",
        state: "pending",
        lastScrape: null,
        lastDurationMs: 0,
        lastBytes: 0,
        nextScrape: null,
      }),
    ]),
  );
  assert.equal(pod.state, "up");
  assert.equal(pod.lastScrape, 5000);
  assert.equal(pod.durationMs, 10_000);
  assert.equal(pod.bytes, 200);
  assert.equal(pod.nextScrape, 61_000);
  const none = t.podOf(target("b", "invalid", [], { problem: "no port" }));
  assert.deepEqual(
    [none.lastScrape, none.durationMs, none.bytes, none.nextScrape, none.error],
    [null, null, null, null, "no port"],
  );
});

test("a pod with one failing endpoint is down and says why", () => {
  const pod = t.podOf(
    target("a", "up", [
      endpoint({ type: "heap" }),
      endpoint({ type: "cpu" }),
      endpoint({ type: "cpu", state: "down", lastError: "HTTP 500" }),
    ]),
  );
  assert.equal(pod.state, "down");
  assert.equal(pod.error, "HTTP 500");
  assert.equal(pod.failing, 1);
  // two ports serve CPU: the worse of them shows
  assert.deepEqual(pod.types, [
    { type: "heap", state: "up" },
    { type: "cpu", state: "down" },
  ]);
});

test("a pod whose profile was refused says so, unless another cannot even be scraped", () => {
  const refused = endpoint({ type: "heap", state: "refused", lastError: "HTTP 413: too large" });
  const some = t.podOf(target("a", "up", [endpoint({ type: "cpu" }), refused]));
  assert.deepEqual([some.state, some.error, some.failing], ["refused", "HTTP 413: too large", 1]);
  assert.deepEqual(some.types, [
    { type: "cpu", state: "up" },
    { type: "heap", state: "refused" },
  ]);
  const down = endpoint({ type: "mutex", state: "down", lastError: "HTTP 500" });
  const both = t.podOf(target("b", "refused", [refused, down]));
  assert.deepEqual([both.state, both.error, both.failing], ["down", "HTTP 500", 2]);
  assert.deepEqual(
    t.podsOf([target("c", "up"), target("a", "up", [refused])]).map((p) => p.state),
    ["refused", "up"],
  );
});

test("problems come first, then names", () => {
  const states: t.PodState[] = ["elsewhere", "up", "pending", "invalid", "down", "up"];
  const pods = t.podsOf(states.map((s, i) => target(`p${9 - i}`, s)));
  assert.deepEqual(
    pods.map((p) => `${p.state} ${p.target.pod}`),
    ["down p5", "invalid p6", "pending p7", "up p4", "up p8", "elsewhere p9"],
  );
  assert.deepEqual(t.countStates(pods), {
    all: 6,
    up: 2,
    refused: 0,
    down: 1,
    pending: 1,
    invalid: 1,
    not_offered: 0,
    elsewhere: 1,
  });
});

test("a filter takes state and words of any column", () => {
  const pods = t.podsOf([
    target("web-1", "up", undefined, { node: "node-b" }),
    target("web-2", "down", [endpoint({ state: "down", lastError: "connection refused" })]),
    target("db-1", "up"),
  ]);
  const names = (state: t.StateFilter, text: string): string[] =>
    t.filterPods(pods, state, text).map((p) => p.target.pod);
  assert.deepEqual(names("all", ""), ["web-2", "db-1", "web-1"]);
  assert.deepEqual(names("up", "WEB"), ["web-1"]);
  assert.deepEqual(names("all", "web node-b"), ["web-1"]);
  assert.deepEqual(names("all", "refused"), ["web-2"]);
  assert.deepEqual(names("all", "shop/db"), ["db-1"]);
  assert.deepEqual(names("invalid", ""), []);
});

test("the endpoints of open pods are lines below them", () => {
  const pods = t.podsOf([
    target("a", "up", [endpoint(), endpoint({ type: "cpu" })]),
    target("b", "up"),
  ]);
  const kinds = (open: string[]): string[] =>
    t.linesOf(pods, new Set(open)).map((l) => l.endpoint?.type ?? l.pod.id);
  assert.deepEqual(kinds([]), ["shop/a", "shop/b"]);
  assert.deepEqual(kinds(["shop/a", "gone"]), ["shop/a", "heap", "cpu", "shop/b"]);
  const sick = [
    t.podOf(
      target("c", "invalid", [endpoint({ state: "down", lastError: "refused" })], {
        problem: "no port",
      }),
    ),
  ];
  assert.deepEqual(
    t.linesOf(sick, new Set(["shop/c"])).map((l) => l.note),
    ["", "no port", "", "refused"],
  );
  assert.equal(t.canOpen(t.podOf(target("d", "elsewhere", []))), false);
});

test("five thousand pods are put in order in no time worth measuring", () => {
  const many = Array.from({ length: 5000 }, (_, i) =>
    target(
      `p${i}`,
      i % 9 ? "up" : "down",
      Array.from({ length: 5 }, () => endpoint()),
    ),
  );
  const pods = t.podsOf(many);
  assert.equal(
    t.linesOf(t.filterPods(pods, "all", "catalog"), new Set(pods.map((p) => p.id))).length,
    30_000,
  );
});

test("times count down and up", () => {
  assert.equal(t.countdown(null, 0), "–");
  assert.equal(t.countdown(10_000, 10_000), "now");
  assert.equal(t.countdown(9_000, 10_000), "now");
  assert.equal(t.countdown(22_000, 10_500), "in 12 s");
  assert.equal(t.countdown(600_000, 0), "in 10 min");
  assert.equal(t.since(null, 0), "never");
  assert.equal(t.since(10_000, 9_000), "0 s ago");
  assert.equal(t.since(10_000, 14_900), "4 s ago");
  assert.equal(t.since(0, 300_000), "5 min ago");
  assert.equal(t.since(0, 4 * 3600_000), "4 h ago");
  assert.equal(t.since(0, 5 * 86_400_000), "5 d ago");
});
