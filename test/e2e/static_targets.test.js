// A host without Kubernetes: the cluster agent scrapes the addresses of a file. A Go program serves
// net/http/pprof, and what Node.js's @datadog/pprof has recorded is served as that does.
"use strict";

const assert = require("node:assert");
const fs = require("node:fs");
const http = require("node:http");
const path = require("node:path");
const { test, before, after } = require("node:test");
const { startCluster, scratch, failToStart, clusterAgent, freePort } = require("./lib/daemon");
const { AskedWorkload } = require("./lib/workload");
const { sql, api } = require("./lib/query");
const { tempDir } = require("./lib/temp_dir");
const { eventually } = require("./lib/wait");

const data = (name) => fs.readFileSync(path.join(__dirname, "../data", name));
const TOKEN = "s3cret";

let cluster;
let go;
let goPort;
let node;
let config;
const from = Date.now();

const write = (text) => {
  // as an editor does it: the file is never half written
  fs.writeFileSync(`${config}.new`, text);
  fs.renameSync(`${config}.new`, config);
};
const jobs = () => `
scrape_configs:
- job_name: go-shop
  scrape_interval: 2s
  types: [cpu, heap, goroutine]
  static_configs:
  - targets: ["127.0.0.1:${goPort}"]
    labels: {env: test}
- job_name: node
  scrape_interval: 2s
  bearer_token_file: ${config}.token
  path_prefix: /inner
  static_configs:
  - targets: ["localhost:${node.address().port}"]
    labels: {service_name: node-shop}
`;

before(async () => {
  go = new AskedWorkload("goserved");
  goPort = Number((await go.line()).split(" ")[1]);
  node = http.createServer((request, response) => {
    const { pathname } = new URL(request.url, "http://x");
    const file = {
      "/inner/debug/pprof/profile": "node_cpu",
      "/inner/debug/pprof/heap": "node_heap",
    }[pathname];
    if (request.headers.authorization !== `Bearer ${TOKEN}`) response.statusCode = 401;
    else if (!file) response.statusCode = 404;
    else response.write(data(`${file}.pb.gz`));
    response.end();
  });
  await new Promise((done) => node.listen(0, "127.0.0.1", done));
  config = path.join(tempDir("scrape"), "targets.yaml");
  fs.writeFileSync(`${config}.token`, `${TOKEN}\n`);
  write(jobs());
  cluster = await startCluster({
    args: [`--scrape-config=${config}`, "--profiles-scrape-cpu-duration=1s"],
  });
});
after(async () => {
  go?.stop();
  node?.close();
  await cluster?.stop();
});

const types = async (service) => {
  const { applications } = await api(cluster, "applications", { from, to: Date.now() + 60e3 });
  const found = applications.find((a) => a.service === service);
  return found?.types.map((t) => t.type).sort() ?? [];
};
const targets = async () => {
  const answer = await fetch(`${cluster.url}/targets`, { headers: { accept: "application/json" } });
  return answer.json();
};

test("a Go program is scraped, and what it does is found", async () => {
  const wanted = [
    "go:goroutine_goroutine:count",
    "go:heap_alloc_objects:count",
    "go:heap_alloc_space:bytes",
    "go:heap_inuse_objects:count",
    "go:heap_inuse_space:bytes",
    "go:profile_cpu:nanoseconds",
  ];
  await eventually("CPU and heap", async () => {
    const found = await types("go-shop");
    return wanted.filter((t) => !t.includes("alloc")).every((t) => found.includes(t));
  });
  const heap = await api(cluster, "flamegraph", {
    service: "go-shop",
    type: "go:heap_inuse_space:bytes",
    from,
    to: Date.now() + 1000,
  });
  assert.ok(JSON.stringify(heap).includes("keepServed"));
  const [labels] = await sql(
    cluster,
    `SELECT any(Labels['job']) AS job, any(Labels['env']) AS env,
            any(Labels['container.id']) AS id
     FROM profiling_samples WHERE ServiceName = 'go-shop'`,
  );
  assert.deepStrictEqual(labels, { job: "go-shop", env: "test", id: `127.0.0.1:${goPort}` });
});

test("Node.js has types of its own, and what it does not offer is not down", async () => {
  await eventually("CPU and heap", async () => (await types("node-shop")).length >= 3);
  assert.deepStrictEqual(await types("node-shop"), [
    "nodejs:heap_inuse_objects:count",
    "nodejs:heap_inuse_space:bytes",
    "nodejs:wall:nanoseconds",
  ]);
  const target = await eventually("all types asked for", async () => {
    const t = (await targets()).targets.find((x) => x.service === "node-shop");
    return t.endpoints.every((e) => e.lastScrape !== null) && t;
  });
  assert.strictEqual(target.state, "up");
  const states = Object.fromEntries(target.endpoints.map((e) => [e.type, e.state]));
  assert.deepStrictEqual(states, {
    cpu: "up",
    heap: "up",
    goroutine: "not_offered",
    mutex: "not_offered",
    block: "not_offered",
  });
});

test("a change of the file takes effect, a mistake in it does not", async () => {
  write(jobs().replace("types:", "tpyes:"));
  const { discovery, targets: kept } = await eventually("the sentence", async () => {
    const t = await targets();
    return t.discovery.problem && t;
  });
  assert.match(discovery.problem, /targets\.yaml:5: scrape_configs has no key "tpyes"/);
  assert.strictEqual(kept.length, 2);
  write(jobs().split("- job_name: node")[0]);
  const one = await eventually("the other target gone", async () => {
    const t = await targets();
    return t.targets.length === 1 && t;
  });
  assert.strictEqual(one.discovery.problem, "");
  assert.strictEqual(one.targets[0].service, "go-shop");
});

test("an agent with a mistake in the file does not start", async () => {
  const file = path.join(path.dirname(config), "bad.yaml");
  fs.writeFileSync(file, "scrape_configs:\n- job_name: x\n");
  const r = await failToStart(clusterAgent, [
    `--listen=127.0.0.1:${await freePort()}`,
    "--storage=embedded",
    `--data-dir=${scratch("data")}`,
    `--scrape-config=${file}`,
  ]);
  assert.strictEqual(r.code, 1);
  assert.match(r.lines[r.lines.length - 1], /bad\.yaml:2: static_configs are missing/);
});
