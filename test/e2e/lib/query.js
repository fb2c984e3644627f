// Queries to a cluster-agent: SQL, and the JSON API with its flame graph. An upload is answered
// before it can be queried, so each query first waits for what the agent has answered until then.
// An agent that asks for a key gets it in cluster.headers.
"use strict";

const { eventually } = require("./wait");

const CPU = "ebpf:cpu:nanoseconds";

// Of the agent's write-ahead log: uploads that came in, those of them that are in the store, and
// the bytes of the others. NULL if the agent has no log, or does not answer.
async function logCounts(cluster) {
  const text = await fetch(`${cluster.url}/metrics`, { headers: cluster.headers })
    .then((r) => r.text())
    .catch(() => "");
  const sum = (name) =>
    [...text.matchAll(new RegExp(`^coroot_cluster_agent_${name}(?:{.*})? (\\S+)$`, "gm"))]
      .map((m) => Number(m[1]))
      .reduce((a, b) => a + b, 0);
  if (!/^coroot_cluster_agent_wal_bytes /m.test(text)) return null;
  return {
    came: sum("wal_appends_total") + sum("wal_recovered_total"),
    stored: sum("store_uploads_total"),
    bytes: sum("wal_bytes"),
  };
}

// Waits until the uploads that were answered before this call are in the store.
async function settled(cluster) {
  const first = await logCounts(cluster);
  if (!first) return;
  await eventually("answered uploads are in the store", async () => {
    const counts = await logCounts(cluster);
    return !counts || counts.bytes === 0 || counts.stored >= first.came;
  });
}

// Rows as objects; numbers of 64 bits come as numbers.
async function sql(cluster, query) {
  await settled(cluster);
  const params = new URLSearchParams({ output_format_json_quote_64bit_integers: 0 });
  if (cluster.database) params.set("database", cluster.database);
  // a test server has no address of an agent
  const scheme = cluster.url?.startsWith("https:") ? "https" : "http";
  const r = await fetch(`${scheme}://127.0.0.1:${cluster.sqlPort}/?${params}`, {
    method: "POST",
    headers: cluster.headers,
    body: `${query} FORMAT JSON`,
  });
  const text = await r.text();
  if (!r.ok) throw new Error(`${query}: ${r.status} ${text}`);
  return JSON.parse(text).data;
}

// The CPU profiles of a service as [{ stack, ns }], the most expensive first; stacks from the leaf.
const cpuStacks = (cluster, service) =>
  sql(
    cluster,
    `SELECT s.Stack AS stack, sum(Value) AS ns FROM profiling_samples
     INNER JOIN (SELECT Hash, any(Stack) AS Stack FROM profiling_stacks
                 WHERE ServiceName = '${service}' GROUP BY Hash) AS s ON StackHash = s.Hash
     WHERE ServiceName = '${service}' AND Type = '${CPU}' GROUP BY stack ORDER BY ns DESC`,
  );

// CPU time of a service's profiles
async function sampledNs(cluster, service) {
  const [row] = await sql(
    cluster,
    `SELECT sum(Value) AS ns FROM profiling_samples
     WHERE ServiceName = '${service}' AND Type = '${CPU}'`,
  );
  return row.ns;
}

async function api(cluster, path, params) {
  await settled(cluster);
  const r = await fetch(`${cluster.url}/api/${path}?${new URLSearchParams(params)}`, {
    headers: cluster.headers,
  });
  const text = await r.text();
  if (!r.ok) throw new Error(`/api/${path}: ${r.status} ${text}`);
  return JSON.parse(text);
}

// The answer of /api/flamegraph, which comes as columns, as a tree.
class Flame {
  constructor(answer) {
    Object.assign(this, answer);
    const n = answer.nodes;
    const path = [];
    this.list = n.name.map((name, i) => {
      const node = {
        name: answer.names[name],
        file: answer.files[n.file[i]],
        total: n.total[i],
        self: n.self[i],
        depth: n.depth[i],
        children: [],
        parent: null,
      };
      path.length = node.depth;
      if (path.length) {
        node.parent = path[path.length - 1];
        node.parent.children.push(node);
      }
      path.push(node);
      return node;
    });
    this.root = this.list[0];
  }
  find(name) {
    return this.list.filter((n) => n.name === name);
  }
  // the function's share of everything, callees included, recursion counted once
  share(name) {
    const within = (n) => n !== null && (n.name === name || within(n.parent));
    const sum = this.find(name).reduce((s, n) => s + (within(n.parent) ? 0 : n.total), 0);
    return sum / this.total;
  }
}

async function flame(cluster, params) {
  return new Flame(await api(cluster, "flamegraph", { type: CPU, ...params }));
}

// The only application whose name ends so ("/process/share", or a unit that the tests run in).
async function application(
  cluster,
  name,
  range = { from: Date.now() - 3600e3, to: Date.now() + 60e3 },
) {
  const { applications } = await api(cluster, "applications", range);
  return applications.find((a) => a.service.endsWith(`/${name}`));
}

module.exports = { CPU, cpuStacks, settled, sampledNs, sql, api, flame, application };
