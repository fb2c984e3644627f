// Grafana's data source for Pyroscope and its Profiles Drilldown, as far as they ask us: the client
// that the data source is made with (test/grafana/client), and the requests of the browser as
// Drilldown sends them. Answers are held against our own API and against what was uploaded.
"use strict";

const assert = require("node:assert");
const { execFile, execFileSync } = require("node:child_process");
const { once } = require("node:events");
const fs = require("node:fs");
const http = require("node:http");
const path = require("node:path");
const { after, before, test } = require("node:test");
const zlib = require("node:zlib");
const { root, startCluster } = require("./lib/daemon");
const { encode, upload } = require("./lib/pprof");
const { api, settled } = require("./lib/query");

const KEY = "key of the test";
const EBPF = "ebpf:cpu:nanoseconds";
const SCRAPED = "go:profile_cpu:nanoseconds";
const HEAP = "go:heap_inuse_space:bytes";
const CPU = "process_cpu:cpu:nanoseconds:cpu:nanoseconds";
const INUSE = "memory:inuse_space:bytes:space:bytes";
const CART = "/k8s/shop/cart";
const BOTH = "/k8s/shop/both"; // has CPU profiles of two profilers
const JOBS = "/k8s/batch/jobs"; // is only scraped
const MINUTE = 60e3;
const START = Math.floor((Date.now() - 3 * 3600e3) / MINUTE) * MINUTE;
const range = { start: START, end: START + 10 * MINUTE };
const first = { start: START, end: START + 5 * MINUTE };
const second = { start: START + 5 * MINUTE, end: START + 10 * MINUTE };
const ours = (r) => ({ from: r.start, to: r.end });

let cluster, client;

async function put(service, type, minute, values, labels) {
  const stacks = Object.entries(values).map(([path, value]) => {
    return { frames: path.split(" ").reverse(), value };
  });
  const endMs = START + (minute + 1) * MINUTE;
  const body = encode({ type, unit: type.split(":")[2], stacks, endMs, durationMs: MINUTE });
  const r = await upload(cluster, service, zlib.gzipSync(body), cluster.headers, labels);
  assert.strictEqual(r.status, 200, r.text);
}

before(async () => {
  client = path.join(
    execFileSync(path.join(root, "test/grafana/client/fetch-pyroscope-client.sh"), {
      encoding: "utf8",
    }).trim(),
    "pyroscope_client",
  );
  cluster = await startCluster({ args: [`--api-key=${KEY}`], wait: false });
  cluster.headers = { "X-Api-Key": KEY };
  await cluster.ready("/readyz");
  for (let minute = 0; minute < 10; minute++) {
    const more = minute < 5 ? 1 : 3;
    for (const pod of ["a", "b"])
      await put(
        CART,
        EBPF,
        minute,
        { "start main work": 2e9 * more, "start main": 1e9, "start main wait": 5e8 },
        {
          "container.id": `/k8s/shop/cart-${pod}/app`,
          "host.name": `node-${pod}`,
          "app.version": `1.${more}`,
        },
      );
    await put(BOTH, EBPF, minute, { "start a": 3e9 }, { "container.id": "/k8s/shop/both-x/app" });
    await put(BOTH, SCRAPED, minute, { "start a": 7e9 }, { namespace: "shop", pod: "both-x" });
    await put(JOBS, SCRAPED, minute, { "start b": 1e9 }, { namespace: "batch", pod: "jobs-1" });
    await put(JOBS, HEAP, minute, { "start b": 1e6 * (minute + 1) }, { pod: "jobs-1" });
  }
  await settled(cluster);
});
after(() => cluster?.stop());

// Calls by the real client, one process for all of them.
async function calls(list, { codec = "proto", key = KEY, url = cluster.url } = {}) {
  const p = execFile(client, [url, codec], { env: { PYROSCOPE_KEY: key }, maxBuffer: 1 << 26 });
  p.stdin.end(list.map(([method, request]) => JSON.stringify({ method, request })).join("\n"));
  let out = "";
  p.stdout.on("data", (text) => (out += text));
  const [code] = await once(p, "close");
  assert.strictEqual(code, 0);
  return out.trim().split("\n").map(JSON.parse);
}
async function call(method, request, options) {
  const [{ answer, code, message }] = await calls([[method, request]], options);
  assert.strictEqual(code, undefined, `${method}: ${code} ${message}`);
  return answer;
}

// A request as a browser sends it through Grafana's proxy, which adds the password.
const basic = { authorization: `Basic ${Buffer.from(`grafana:${KEY}`).toString("base64")}` };
const post = (method, body, headers = {}) =>
  fetch(`${cluster.url}${method[0] === "/" ? method : `/querier.v1.QuerierService/${method}`}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...basic, ...headers },
    body: typeof body === "string" || Buffer.isBuffer(body) ? body : JSON.stringify(body),
  });
async function json(method, body, headers) {
  const r = await post(method, body, headers);
  const text = await r.text();
  assert.strictEqual(r.status, 200, `${method}: ${text}`);
  assert.strictEqual(r.headers.get("content-type"), "application/json");
  return JSON.parse(text);
}
const select = (service, of = range, more = {}) => ({
  profileTypeID: CPU,
  labelSelector: `{service_name="${service}"}`,
  ...of,
  ...more,
});

// The bars of levels as paths with values, in the way in which Grafana's plugin reads them: a bar
// belongs to the first parent, from left to right, within which it lies.
function bars({ names, levels }, n = 4, at = 0) {
  const numbers = levels.map((l) => (Array.isArray(l) ? l : l.values).map(Number));
  const found = {};
  let parents = [{ x: 0, end: numbers[0][at + 1], path: "" }];
  assert.strictEqual(names[numbers[0][n - 1]], "total");
  for (const level of numbers) {
    const next = [];
    let end = 0;
    for (let i = 0; i < level.length; i += n) {
      const x = end + level[i + at];
      end = x + level[i + at + 1];
      while (parents.length && (x < parents[0].x || end > parents[0].end)) parents.shift();
      assert.ok(parents.length, "a bar lies outside of all bars of the level above");
      const path = `${parents[0].path} ${names[level[i + n - 1]]}`.trim();
      found[path] = { total: level[i + at + 1], self: level[i + at + 2] };
      next.push({ x, end, path });
    }
    parents = next;
  }
  return found;
}
// The same of our own answer.
async function ownBars(params, side = "") {
  const answer = await api(cluster, "flamegraph", { type: EBPF, ...params });
  const found = {};
  const total = side ? answer.nodes[`${side}Total`] : answer.nodes.total;
  const self = side ? answer.nodes[`${side}Self`] : answer.nodes.self;
  const path = [];
  answer.nodes.name.forEach((name, i) => {
    path.length = answer.nodes.depth[i];
    path.push(answer.names[name]);
    found[path.join(" ")] = { total: total[i], self: self[i] };
  });
  return found;
}

const timeline = (service, type) =>
  api(cluster, "timeline", { service, type, ...ours(range), points: 10 });
const names = (answer) => answer.names ?? [];
const points = (series) => (series.points ?? []).map((p) => [Number(p.timestamp), p.value]);

for (const codec of ["proto", "json"]) {
  test(`the data source lists types and labels (${codec})`, async () => {
    const [types, untimed, labels, all, pods, services, hosts, variable] = await calls(
      [
        ["ProfileTypes", range],
        ["ProfileTypes", {}], // "Save & test" of older releases
        ["LabelNames", { ...range, matchers: [`{service_name="${CART}"}`] }],
        ["LabelNames", { ...range, matchers: ["{}"] }],
        ["LabelValues", { ...range, name: "pod", matchers: [`{__profile_type__="${CPU}"}`] }],
        ["LabelValues", { ...range, name: "service_name" }],
        ["LabelValues", { ...range, name: "host_name", matchers: [`{pod="cart-b"}`] }],
        // as a variable of a dashboard asks
        ["LabelValues", { ...range, name: "service_name", matchers: [`${INUSE}{}`] }],
      ],
      { codec },
    ).then((list) => list.map((a) => a.answer));
    const cpu = { name: "process_cpu", sampleType: "cpu", sampleUnit: "nanoseconds" };
    assert.deepStrictEqual(types.profileTypes, [
      { ID: INUSE, name: "memory", sampleType: "inuse_space", sampleUnit: "bytes" },
      { ID: CPU, ...cpu },
    ].map((t) => ({ ...t, periodType: t.ID.split(":")[3], periodUnit: t.ID.split(":")[4] })));
    assert.deepStrictEqual(untimed, types);
    assert.deepStrictEqual(names(labels), [
      ...["app_version", "container_id", "host_name", "profiler", "service_name"],
    ]);
    for (const name of ["namespace", "pod"]) assert.ok(names(all).includes(name), name);
    assert.deepStrictEqual(names(pods), ["both-x", "cart-a", "cart-b", "jobs-1"]);
    assert.deepStrictEqual(names(services), [JOBS, BOTH, CART]);
    assert.deepStrictEqual(names(hosts), ["node-b"]);
    assert.deepStrictEqual(names(variable), [JOBS]);
  });
}

test("a time series is our own timeline", async () => {
  const { series } = await call("SelectSeries", select(CART, range, { step: 60 }));
  const own = await timeline(CART, EBPF);
  assert.strictEqual(own.stepMs, 60e3);
  assert.strictEqual(series.length, 1);
  // Grafana divides by step and 1e9 for cores; our API rounds to 12 digits
  assert.deepStrictEqual(
    points(series[0]).map(([at, v]) => [at, Number((v / 60 / 1e9).toPrecision(12))]),
    own.values.map((v, i) => [own.startMs + (i + 1) * 60e3, v]),
  );
  assert.strictEqual(points(series[0])[0][1], 7e9);
});

test("a level is not divided by time", async () => {
  const request = { ...select(JOBS, range, { step: 60 }), profileTypeID: INUSE };
  const { series } = await call("SelectSeries", request);
  const own = await timeline(JOBS, HEAP);
  assert.deepStrictEqual(points(series[0]).map((p) => p[1]), own.values);
  assert.strictEqual(own.values[9], 1e7);
});

test("series by labels add up, and a limit keeps the largest", async () => {
  const by = (labels, more) => [
    "SelectSeries",
    { profileTypeID: CPU, labelSelector: "{}", ...range, step: 300, groupBy: labels, ...more },
  ];
  const [services, pods, top, none] = await calls([
    by(["service_name"]),
    by(["namespace", "pod"]),
    by(["pod"], { limit: 1 }),
    by([]),
  ]).then((list) => list.map((a) => a.answer.series));
  const sums = (series) =>
    series.map((s) => [
      (s.labels ?? []).map((l) => l.value).join(" "),
      points(s).map((p) => p[1]),
    ]);
  // two pods of 3.5 s a minute, then 7.5
  const cart = [35e9, 75e9];
  assert.deepStrictEqual(sums(services), [
    [CART, cart],
    [BOTH, [15e9, 15e9]], // only those of the node-agent
    [JOBS, [5e9, 5e9]],
  ]);
  const half = cart.map((v) => v / 2);
  assert.deepStrictEqual(sums(pods), [
    ["shop cart-a", half],
    ["shop cart-b", half],
    ["shop both-x", [15e9, 15e9]],
    ["batch jobs-1", [5e9, 5e9]],
  ]);
  assert.deepStrictEqual(sums(top), [["cart-a", half]]);
  assert.deepStrictEqual(sums(none), [["", [55e9, 95e9]]]);
});

test("a heatmap counts profiles by time and value", async () => {
  const ask = (more, selector = "{}") => [
    "SelectHeatmap",
    { ...range, profileTypeID: CPU, labelSelector: selector, step: 300, ...more },
  ];
  const [all, pods, top, cart, spans, none] = await calls([
    ask({ queryType: "HEATMAP_QUERY_TYPE_INDIVIDUAL" }),
    ask({ groupBy: ["namespace", "pod"] }),
    ask({ groupBy: ["pod"], limit: 1 }),
    ask({ step: 60 }, `{service_name="${CART}"}`),
    ask({ queryType: "HEATMAP_QUERY_TYPE_SPAN" }),
    ask({}, '{service_name="none"}'),
  ]).then((list) => list.map((a) => a.answer.series ?? []));
  // { "name": [[timestamp, { least value of a bucket: count }]] }
  const cells = (series) =>
    Object.fromEntries(
      series.map((s) => [
        (s.labels ?? []).map((l) => l.value).join(" "),
        s.slots.map((slot) => {
          assert.deepStrictEqual([slot.yMin.length, slot.counts.length], [20, 20]);
          const counts = slot.counts.map((n, i) => [Math.round(slot.yMin[i]), Number(n)]);
          return [Number(slot.timestamp), Object.fromEntries(counts.filter(([, n]) => n > 0))];
        }),
      ]),
    );
  const [half, end] = [first.end, range.end];
  // profiles of 1, 3, 3.5 and 7.5 s of CPU time: buckets of 325 ms above the first
  const [one, three, more, most] = [1e9, 2.95e9, 3.275e9, 7.175e9];
  const [less, much] = [[half, { [more]: 5 }], [end, { [most]: 5 }]];
  assert.deepStrictEqual(cells(all), {
    "": [
      [half, { [one]: 5, [three]: 5, [more]: 10 }],
      [end, { [one]: 5, [three]: 5, [most]: 10 }],
    ],
  });
  assert.deepStrictEqual(cells(pods), {
    "shop cart-a": [less, much],
    "shop cart-b": [less, much],
    "shop both-x": [half, end].map((t) => [t, { [three]: 5 }]),
    "batch jobs-1": [half, end].map((t) => [t, { [one]: 5 }]),
  });
  assert.deepStrictEqual(Object.keys(cells(top)), ["cart-a"]);
  assert.deepStrictEqual(
    cells(cart)[""].map(([t]) => t),
    Array.from({ length: 10 }, (_, i) => START + (i + 1) * MINUTE),
  );
  assert.deepStrictEqual([spans, none], [[], []]);
  const asJson = await json("SelectHeatmap", ask({})[1]);
  assert.deepStrictEqual(cells(asJson.series), cells(all));
});

test("a flame graph is our own", async () => {
  const { flamegraph } = await call("SelectMergeStacktraces", select(CART));
  const own = await ownBars({ service: CART, ...ours(range) });
  assert.deepStrictEqual(bars(flamegraph), own);
  assert.strictEqual(Number(flamegraph.total), 110e9);
  assert.strictEqual(Number(flamegraph.maxSelf), own["total start main work"].self);
});

test("conditions on labels choose stacks as in our own API", async () => {
  const cases = [
    ['pod="cart-a"', '"container.id"="/k8s/shop/cart-a/app"'],
    ['pod!="cart-a"', '"container.id"!="/k8s/shop/cart-a/app"'],
    ['app_version=~"1.[1-2]"', 'app.version=~"1.[1-2]"'],
    ['app_version!~"1.1|2"', 'app.version!~"1.1|2"'],
    ['"app.version"="1.3", host_name="node-b"', 'app.version="1.3", host.name="node-b"'],
    ['profiler="ebpf", __name__=~"process.*"', ""],
  ];
  const answers = await calls(
    cases.map(([condition]) => [
      "SelectMergeStacktraces",
      { ...select(CART), labelSelector: `{service_name="${CART}", ${condition}}` },
    ]),
  );
  for (const [i, [condition, where]] of cases.entries()) {
    const own = await ownBars({ service: CART, ...ours(range), where });
    assert.deepStrictEqual(bars(answers[i].answer.flamegraph), own, condition);
  }
});

test("of two profilers of CPU time one answers, the other by its label or type", async () => {
  const total = (a) => Number(a.answer.flamegraph?.total ?? 0);
  const of = (selector, type = CPU) => [
    "SelectMergeStacktraces",
    { ...range, profileTypeID: type, labelSelector: selector },
  ];
  const answers = await calls([
    of(`{service_name="${BOTH}"}`),
    of(`{service_name="${BOTH}", profiler="go"}`),
    of(`{service_name="${BOTH}"}`, SCRAPED),
    of(`{service_name=~"${BOTH}|${JOBS}"}`),
    of("{}"),
    of("", `${CPU}:delta`),
    of('{service_name="none"}'),
    of(`{service_name="${CART}"}`, INUSE),
  ]);
  assert.deepStrictEqual(answers.map(total), [30e9, 70e9, 70e9, 40e9, 150e9, 150e9, 0, 0]);
});

test("the number of nodes is limited, and what is left out is other", async () => {
  const request = select(CART, range, { maxNodes: "3" });
  const { flamegraph } = await call("SelectMergeStacktraces", request);
  const found = bars(flamegraph);
  assert.deepStrictEqual(Object.keys(found).sort(), [
    "total",
    "total start",
    "total start main",
    "total start main other",
  ]);
  assert.strictEqual(found["total start main"].total, 110e9);
});

test("a comparison is our own", async () => {
  const left = select(CART, first);
  const right = select(CART, second);
  const { flamegraph } = await call("Diff", { left, right });
  const params = {
    service: CART,
    ...ours(second),
    baseFrom: first.start,
    baseTo: first.end,
  };
  assert.deepStrictEqual(bars(flamegraph, 7, 0), await ownBars(params, "base"));
  assert.deepStrictEqual(bars(flamegraph, 7, 3), await ownBars(params));
  assert.strictEqual(Number(flamegraph.leftTicks), 35e9);
  assert.strictEqual(Number(flamegraph.rightTicks), 75e9);

  // Drilldown still asks for it in the older way
  const query = (service) => `${CPU}{service_name="${service}"}`;
  const older = new URLSearchParams({
    leftQuery: query(CART),
    leftFrom: first.start,
    leftUntil: first.end,
    rightQuery: query(CART),
    rightFrom: second.start,
    rightUntil: second.end,
    "max-nodes": 16384,
  });
  const r = await fetch(`${cluster.url}/pyroscope/render-diff?${older}`, { headers: basic });
  const answer = await r.json();
  assert.strictEqual(answer.metadata.format, "double");
  assert.strictEqual(answer.leftTicks, 35e9);
  assert.deepStrictEqual(bars(answer.flamebearer, 7, 3), bars(flamegraph, 7, 3));
});

test("the older render endpoint has the same graph, with a timeline", async () => {
  const params = { query: `${CPU}{service_name="${CART}"}`, from: START, until: range.end };
  const r = await fetch(`${cluster.url}/pyroscope/render?${new URLSearchParams(params)}`, {
    headers: basic,
  });
  const answer = await r.json();
  const { flamegraph } = await call("SelectMergeStacktraces", select(CART));
  assert.deepStrictEqual(bars(answer.flamebearer), bars(flamegraph));
  assert.strictEqual(answer.flamebearer.numTicks, 110e9);
  assert.strictEqual(answer.timeline.startTime, START / 1000);
  const sum = answer.timeline.samples.reduce((a, b) => a + b, 0);
  assert.ok(Math.abs(sum - 110e9) < 1000, `${sum}`);
});

test("a pprof has all stacks with their values", async () => {
  const request = select(CART, first);
  const p = await call("SelectMergeProfile", request);
  const text = (i) => p.stringTable[Number(i ?? 0)];
  assert.deepStrictEqual([text(p.sampleType[0].type), text(p.sampleType[0].unit)], [
    ...["cpu", "nanoseconds"],
  ]);
  const functions = new Map(p.function.map((f) => [f.id, text(f.name)]));
  const locations = new Map(p.location.map((l) => [l.id, functions.get(l.line?.[0].functionId)]));
  const stacks = p.sample.map((s) => [
    s.locationId.map((id) => locations.get(id)).reverse().join(" "),
    Number(s.value[0]),
  ]);
  assert.deepStrictEqual(Object.fromEntries(stacks), {
    "start main work": 20e9,
    "start main": 10e9,
    "start main wait": 5e9,
  });
  // as Drilldown asks for the functions of one path
  const some = await json("SelectMergeProfile", {
    profile_typeID: CPU,
    label_selector: request.labelSelector,
    ...first,
    stackTraceSelector: { call_site: [{ name: "start" }, { name: "main" }, { name: "work" }] },
    maxNodes: 500,
  });
  assert.deepStrictEqual(some.sample.map((s) => s.value), [["20000000000"]]);
  const format = "PROFILE_FORMAT_PPROF";
  const nested = await call("SelectMergeStacktraces", { ...request, format });
  assert.deepStrictEqual(nested.pprof.profile, p);
});

test("Drilldown finds services and types, settings and features", async () => {
  const body = { ...range, labelNames: ["service_name", "__profile_type__"], matchers: [] };
  const { labelsSet } = await json("Series", body, {
    accept: "application/json; allow-utf8-labelnames=true",
  });
  const pairs = labelsSet.map(({ labels }) => labels.map((l) => l.value));
  assert.deepStrictEqual(pairs, [
    [JOBS, INUSE],
    [JOBS, CPU],
    [BOTH, CPU],
    [CART, CPU],
  ]);
  assert.deepStrictEqual(await json("/settings.v1.SettingsService/Get", {}), {});
  assert.deepStrictEqual(
    await json("/capabilities.v1.FeatureFlagsService/GetFeatureFlags", ""),
    {},
  );
  const stats = await json("GetProfileStats", {});
  assert.strictEqual(stats.dataIngested, true);
  assert.strictEqual(Number(stats.oldestProfileTime), START);
  assert.strictEqual(Number(stats.newestProfileTime), range.end);
  // formats of newer releases are answered in the older one, which they take for that
  const newer = { ...select(CART), format: "PROFILE_FORMAT_FUNCTIONS", maxNodes: 10 };
  assert.ok((await json("SelectMergeStacktraces", newer)).flamegraph);
});

test("what no profile has selects nothing", async () => {
  const span = { ...select(CART), spanSelector: ["9a517183f26a089d"] };
  const [spans, whole, ids] = await calls([
    ["SelectMergeSpanProfile", span],
    ["SelectMergeSpanProfile", { ...span, spanSelector: [] }],
    ["SelectMergeStacktraces", { ...select(CART), profileIdSelector: ["7c9e6679"] }],
  ]);
  assert.deepStrictEqual([spans.answer, ids.answer], [{}, {}]);
  assert.strictEqual(Number(whole.answer.flamegraph.total), 110e9);
});

test("errors are those of the protocol", async () => {
  const cases = [
    ["SelectMergeStacktraces", { ...select(CART), labelSelector: "{service_name=" }, /quotes/],
    ["SelectMergeStacktraces", { ...select(CART), labelSelector: '{pod=~"("}' }, /regular/],
    ["SelectMergeStacktraces", { ...select(CART), profileTypeID: "cpu" }, /profile type/],
    ["SelectSeries", { ...select(CART), start: range.end, end: START }, /before/],
    ["SelectSeries", { ...select(CART), step: 0.001 }, /steps/],
    ["SelectHeatmap", { ...select(CART), step: 0.001 }, /steps/],
    ["SelectHeatmap", { ...select(CART), step: 0 }, /millisecond/],
    ["LabelValues", { ...range }, /label is missing/],
  ];
  const answers = await calls(cases.map(([method, request]) => [method, request]));
  for (const [i, [, , message]] of cases.entries()) {
    assert.strictEqual(answers[i].code, "invalid_argument", JSON.stringify(answers[i]));
    assert.match(answers[i].message, message);
  }
  const [{ code }] = await calls([["AnalyzeQuery", range]]);
  assert.strictEqual(code, "unimplemented");
  // the whole past, and what is not a range or a query
  const badRenders = [
    ...[`${CPU}{}&from=0`, `${CPU}{}&from=now-10y`, `${CPU}{}&from=now&until=now-1h`],
    ...[`${CPU}{}&from=now-1h&until=0`, `${CPU}{}&from=99999999999999999999`, "nope{}", ""],
    ...["x".repeat(10000), `${CPU}{a="${"x".repeat(10000)}"}`],
  ];
  const render = (q) => fetch(`${cluster.url}/pyroscope/render?query=${q}`, { headers: basic });
  const statuses = [
    [await post("Nothing", {}), 501],
    [await post("ProfileTypes", "{"), 400],
    [await post("ProfileTypes", "\x08", { "content-type": "application/proto" }), 400],
    [await post("ProfileTypes", {}, { "content-type": "text/plain" }), 415],
    [await post("ProfileTypes", {}, { "connect-protocol-version": "2" }), 400],
    [await post("ProfileTypes", {}, { "content-encoding": "br" }), 501],
    [await fetch(`${cluster.url}/pyroscope/render?query=${CPU}&from=x`, { headers: basic }), 400],
    ...(await Promise.all(badRenders.map(async (q) => [await render(q), 400]))),
    [await fetch(`${cluster.url}/pyroscope/nothing`, { headers: basic }), 501],
  ];
  for (const [r, status] of statuses) {
    const error = await r.json();
    assert.strictEqual(r.status, status, `${r.url} ${JSON.stringify(error)}`);
    assert.ok(error.code && error.message);
  }
});

test("requests and answers may be gzipped", async () => {
  const body = zlib.gzipSync(JSON.stringify(select(CART, range, { step: 1 })));
  const r = await post("SelectSeries", body, {
    "content-encoding": "gzip",
    "accept-encoding": "gzip",
  });
  assert.strictEqual(r.headers.get("content-encoding"), "gzip");
  assert.strictEqual((await r.json()).series[0].points.length, 600);
  const plain = await post("SelectSeries", select(CART, range, { step: 1 }), {
    "accept-encoding": "identity",
  });
  assert.strictEqual(plain.headers.get("content-encoding"), null);
});

test("the key of the page's API is needed", async () => {
  for (const key of ["", "another key"]) {
    const [{ code, message }] = await calls([["ProfileTypes", range]], { key });
    assert.strictEqual(code, "unauthenticated", message);
  }
  const r = await fetch(`${cluster.url}/pyroscope/label-values?label=service_name`);
  assert.strictEqual(r.status, 401);
});

// Forwards, to see what a client sends.
async function recorder() {
  const seen = [];
  const server = http.createServer((req, res) => {
    const chunks = [];
    req.on("data", (c) => chunks.push(c));
    req.on("end", async () => {
      seen.push({ ...req.headers, path: req.url, body: Buffer.concat(chunks) });
      res.writeHead(200, { "content-type": "application/proto" }).end();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { seen, server, url: `http://127.0.0.1:${server.address().port}` };
}

test("the client sends what the corpus of the fuzz target has", async () => {
  const { seen, server, url } = await recorder();
  try {
    await calls([["ProfileTypes", { start: 1700000000000, end: 1700000000001 }]], { url });
  } finally {
    server.close();
  }
  assert.strictEqual(seen[0].path, "/querier.v1.QuerierService/ProfileTypes");
  assert.strictEqual(seen[0]["content-type"], "application/proto");
  assert.strictEqual(seen[0]["connect-protocol-version"], "1");
  assert.strictEqual(seen[0]["accept-encoding"], "gzip");
  const file = path.join(root, "test/fuzz/corpus/querier_request/types");
  assert.deepStrictEqual(seen[0].body, fs.readFileSync(file).subarray(2));
});
