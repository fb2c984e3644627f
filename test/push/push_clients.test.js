// Unmodified profilers that push to the real agent with the embedded store.
//
// Each profiles a program that burns CPU in "leaf", under the service push.<name> with the label
// region=eu, until what it should push is in the store and its input is closed, or for a second of
// CPU time. They get PUSH_URL and PUSH_KEY. What they need beside Debian's packages is fetched by
// a script that prints the folder in which that is kept (kept.sh), so that only the first run is
// slow. All run at the same time, since they mostly wait.
"use strict";

const assert = require("node:assert");
const { execFile } = require("node:child_process");
const path = require("node:path");
const { after, before, test } = require("node:test");
const { promisify } = require("node:util");
const { startCluster } = require("../e2e/lib/daemon");
const { settled, sql } = require("../e2e/lib/query");
const { eventually, sleep } = require("../e2e/lib/wait");

const KEY = "key-of-the-test";
const LIMIT_MS = 300000;
const run = promisify(execFile);
const here = (...names) => path.join(__dirname, ...names);

// types: all that it pushes, of which the first has "leaf"; endless: it ends with its input
const clients = [
  {
    name: "python",
    fetch: "python/fetch-python-profilers.sh",
    command: (dir) => ["env", `PYTHONPATH=${dir}`, "python3", here("python/client.py"), "push"],
    types: ["python:cpu:nanoseconds"],
  },
  {
    name: "py-spy",
    fetch: "python/fetch-python-profilers.sh",
    command: (dir) => [here("python/py-spy.sh"), dir],
    types: ["python:cpu:nanoseconds"],
  },
  {
    name: "py-spy-speedscope",
    fetch: "python/fetch-python-profilers.sh",
    command: (dir) => [here("python/py-spy-speedscope.sh"), dir],
    types: ["python:cpu:nanoseconds"],
  },
  {
    name: "pyinstrument",
    fetch: "python/fetch-python-profilers.sh",
    command: (dir) => [here("python/pyinstrument.sh"), dir],
    types: ["python:wall:nanoseconds"],
  },
  {
    name: "node",
    endless: true,
    fetch: "node/fetch-node-profiler.sh",
    command: (dir) => ["node", here("node/client.js"), dir],
    types: [
      "nodejs:cpu:nanoseconds",
      "nodejs:wall:nanoseconds",
      "nodejs:heap_inuse_objects:count",
      "nodejs:heap_inuse_space:bytes",
    ],
  },
  {
    name: "go",
    endless: true,
    fetch: "go/fetch-go-profiler.sh",
    command: (dir) => [`${dir}/client`],
    types: [
      "go:profile_cpu:nanoseconds",
      "go:goroutine_goroutine:count",
      "go:heap_alloc_objects:count",
      "go:heap_alloc_space:bytes",
      "go:heap_inuse_objects:count",
      "go:heap_inuse_space:bytes",
      "go:mutex_contentions:count",
      "go:mutex_delay:nanoseconds",
      "go:block_contentions:count",
      "go:block_delay:nanoseconds",
    ],
    stacks: { "go:mutex_delay:nanoseconds": "Unlock", "go:block_delay:nanoseconds": "Lock" },
  },
  {
    name: "java",
    endless: true,
    fetch: "java/fetch-java-agent.sh",
    command: (dir) => [
      ...["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"],
      ...[`-javaagent:${dir}/agent.jar`, "-cp", dir, "Burner"],
    ],
    env: {
      PYROSCOPE_APPLICATION_NAME: "push.java",
      PYROSCOPE_LABELS: "region=eu",
      PYROSCOPE_FORMAT: "jfr",
      PYROSCOPE_UPLOAD_INTERVAL: "1s",
      PYROSCOPE_PROFILER_ALLOC: "64k",
      PYROSCOPE_BASIC_AUTH_USER: "any",
      PYROSCOPE_BASIC_AUTH_PASSWORD: KEY,
    },
    types: ["java:cpu:nanoseconds", "java:heap_alloc_objects:count", "java:heap_alloc_space:bytes"],
  },
];

const words = (process.env.PUSH_CLIENTS || "").split(" ").filter(Boolean);
const chosen = clients.filter((c) => !words.length || words.some((w) => c.name.includes(w)));
let cluster;

const serviceOf = (c) => `push.${c.name}`;

const rowsOf = (c) =>
  sql(
    cluster,
    `SELECT Type AS type, sum(Value) AS total, min(Labels['region']) AS region,
            min(Start <= End) AS ordered, max(End) <= now() + 60 AS past
     FROM profiling_samples WHERE ServiceName = '${serviceOf(c)}' GROUP BY Type ORDER BY Type`,
  );

async function isStored(c) {
  const totals = new Map((await rowsOf(c)).map((r) => [r.type, r.total]));
  return c.types.every((type) => totals.get(type) > 0);
}

async function runClient(c) {
  const dir = (await run(here(c.fetch))).stdout.trim();
  const [program, ...args] = c.command(dir);
  const env = { ...process.env, PUSH_URL: cluster.url, PUSH_KEY: KEY, ...c.env };
  env.PYROSCOPE_SERVER_ADDRESS = cluster.url;
  const running = run(program, args, { env, timeout: LIMIT_MS, killSignal: "SIGKILL" });
  let ended = false;
  running.finally(() => (ended = true)).catch(() => {});
  if (c.endless) {
    const done = async () => ended || (await isStored(c)) || sleep(300);
    await eventually(`${c.name} has pushed all types`, done).finally(() =>
      running.child.stdin.end(),
    );
  }
  return running;
}

// Value of the stacks of a type that have a frame with this text.
async function valueOf(service, type, frame) {
  const params = new URLSearchParams({ service, type });
  const r = await fetch(`${cluster.url}/api/folded?${params}`, { headers: cluster.headers });
  const text = await r.text();
  assert.strictEqual(r.status, 200, text);
  return text
    .split("\n")
    .filter((line) => line.includes(frame))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
}

before(async () => {
  cluster = await startCluster({ args: [`--api-key=${KEY}`] });
  cluster.headers = { "X-Api-Key": KEY };
  for (const c of chosen) {
    c.done = runClient(c);
    c.done.catch(() => {});
  }
});
after(() => cluster.stop());

for (const c of chosen) {
  const service = serviceOf(c);
  test(c.name, async () => {
    const { stdout, stderr } = await c.done;
    const said = `${stdout}${stderr}\n${cluster.log()}`;
    await settled(cluster);
    const have = new Map((await rowsOf(c)).map((r) => [r.type, r]));
    for (const type of c.types) {
      const row = have.get(type);
      assert.ok(row, `${type} is not among ${[...have.keys()]}: ${said}`);
      assert.ok(row.total > 0, `${type} is ${row.total}`);
      assert.deepStrictEqual([row.region, row.ordered, row.past], ["eu", 1, 1], type);
    }
    assert.deepStrictEqual([...have.keys()].sort(), [...c.types].sort(), "and no others");
    assert.ok((await valueOf(service, c.types[0], "leaf")) > 0, `no leaf in ${c.types[0]}`);
    for (const [type, frame] of Object.entries(c.stacks ?? {}))
      assert.ok((await valueOf(service, type, frame)) > 0, `no ${frame} in ${type}`);
  });
}

test("every type is one that the page knows", async () => {
  const known = await fetch(`${cluster.url}/api/types`, { headers: cluster.headers });
  const titles = new Map((await known.json()).types.map((t) => [t.type, t.title]));
  for (const type of chosen.flatMap((c) => c.types)) assert.ok(titles.get(type), type);
});
test("some client was chosen", () => assert.ok(chosen.length > 0, `none of "${words}"`));
