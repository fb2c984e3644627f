// Cluster-agents that scrape pods, as processes beside the test or as pods, and what they stored.
"use strict";

const { Daemon, clusterAgent, freePort, scratch, startCluster } = require("../../e2e/lib/daemon");
const { sql } = require("../../e2e/lib/query");
const { eventually } = require("../../e2e/lib/wait");

// Scrapes often, for tests: every two seconds, with CPU profiles of one second. The timeout is
// long, because an answer may take its time on a busy machine. kubeconfig: a file.
function scrapeArgs({
  kubeconfig,
  interval = "2s",
  timeout = "60s",
  cpuDuration = "1s",
  args = [],
}) {
  return [
    ...(kubeconfig ? [`--kubeconfig=${kubeconfig}`] : []),
    `--profiles-scrape-interval=${interval}`,
    `--profiles-scrape-timeout=${timeout}`,
    `--profiles-scrape-cpu-duration=${cpuDuration}`,
    ...args,
  ];
}

// One that scrapes and stores; as startCluster(), so sql() and api() can ask it.
const startScraper = (options) => startCluster({ ...options, args: scrapeArgs(options) });

// One that scrapes and forwards its profiles to another agent.
async function startForwarder(options) {
  const port = await freePort();
  const d = new Daemon(
    clusterAgent,
    [
      `--listen=127.0.0.1:${port}`,
      `--coroot-url=${options.to.url}`,
      `--data-dir=${options.dataDir || scratch("spool")}`,
      ...scrapeArgs(options),
    ],
    { url: `http://127.0.0.1:${port}`, env: options.env },
  );
  d.port = port;
  return d.ready("/healthz");
}

// The same as a pod with a service account; in the node's network, so that 127.0.0.1 is that of
// the test.
function forwarderPod({ name, namespace = "default", to, port, serviceAccount, ...options }) {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace },
    spec: {
      serviceAccountName: serviceAccount,
      hostNetwork: true,
      terminationGracePeriodSeconds: 5,
      containers: [
        {
          name: "cluster-agent",
          image: "localhost/cluster-agent:1",
          imagePullPolicy: "Never",
          args: [`--listen=127.0.0.1:${port}`, `--coroot-url=${to.url}`, ...scrapeArgs(options)],
          readinessProbe: {
            httpGet: { host: "127.0.0.1", port, path: "/readyz" },
            periodSeconds: 1,
          },
        },
      ],
    },
  };
}

const targets = async (agent) => (await fetch(`${agent.url}/targets`)).json();

// The target of a pod as /targets shows it; undefined if it is not a target.
async function target(agent, name) {
  return (await targets(agent)).targets.find((t) => t.pod === name);
}

// Waits until every profile of the pod was requested after that time and has arrived without an
// error: one that came too late on a busy machine does not become the baseline of the next. Returns
// the target as it is then.
function scrapedSince(agent, name, ms) {
  return eventually(`${name} scraped`, () => mustBeScraped(agent, name, ms));
}

async function mustBeScraped(agent, name, ms) {
  const t = await target(agent, name);
  const isNew = (e) => e.state === "up" && e.lastScrape - e.lastDurationMs > ms;
  if (!(t?.endpoints.length > 0 && t.endpoints.every(isNew))) throw new Error(JSON.stringify(t));
  return t;
}

// The number of scraped profiles that the receiver has not accepted, in memory and on disk.
async function unsent(agent) {
  const metric = (name) => Daemon.prototype.metric.call(agent, `cluster_agent_upload_${name}`);
  // twice: a profile may move between both while they are read
  const before = await metric("spool_profiles");
  const inMemory = await metric("queue_profiles");
  return inMemory + Math.max(before, await metric("spool_profiles"));
}

// Waits until all scraped profiles were forwarded.
function nothingIsUnsent(agent) {
  return eventually("all is sent", async () => (await unsent(agent)) === 0);
}

// Waits until all scraped profiles are in the store.
function nothingWaits(agent) {
  return eventually(
    "all is stored",
    async () => (await agent.metric("cluster_agent_scraped_profiles_waiting")) === 0,
  );
}

const quoted = (text) => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;

// Returns the sum of all stored values of a type, e.g. "go:heap_alloc_space:bytes", the least of
// them, the number of profiles that they are from, and how many seconds those cover. name: only
// stacks with that function; without: no stacks with a function whose name begins so; pod, port:
// only profiles with these labels; fromMs, toMs: only profiles that lie within.
async function stored(agent, { service, type, name, without, pod, port, fromMs, toMs }) {
  const where = [`ServiceName = ${quoted(service)}`, `Type = ${quoted(type)}`];
  if (port) where.push(`Labels['port'] = ${quoted(`${port}`)}`);
  if (fromMs) where.push(`toUnixTimestamp64Milli(Start) >= ${fromMs}`);
  if (toMs) where.push(`toUnixTimestamp64Milli(End) <= ${toMs}`);
  if (pod) where.push(`Labels['pod'] = ${quoted(pod)}`);
  const has = (start) => `arrayExists(f -> startsWith(f, ${quoted(start)}), Stack)`;
  if (name) {
    where.push(`StackHash IN (SELECT Hash FROM profiling_stacks
      WHERE ServiceName = ${quoted(service)}
      AND ${has(`${name} `)}${without ? ` AND NOT ${has(without)}` : ""})`);
  }
  const query = `SELECT sum(v) AS sum, min(least) AS least, count() AS profiles,
      sum(toUnixTimestamp64Nano(End) - toUnixTimestamp64Nano(Start)) / 1e9 AS seconds FROM
    (SELECT sum(Value) AS v, min(Value) AS least, Labels, Start, End FROM profiling_samples
      WHERE ${where.join(" AND ")} GROUP BY Labels, Start, End)`;
  return (await sql(agent, query))[0];
}

module.exports = {
  startScraper,
  startForwarder,
  forwarderPod,
  targets,
  target,
  scrapedSince,
  mustBeScraped,
  unsent,
  nothingIsUnsent,
  nothingWaits,
  stored,
};
