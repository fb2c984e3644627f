// What the agents may do while they run: capabilities, system calls, users and file systems.
"use strict";

const assert = require("node:assert/strict");
const fs = require("node:fs");
const http = require("node:http");
const path = require("node:path");
const { test } = require("node:test");
const { clusterAgent, scratch, startCluster, startNode } = require("./lib/daemon");
const { sql } = require("./lib/query");
const { eventually } = require("./lib/wait");

// The lines of /proc/<pid>/task/*/status with that name; each different one once.
function ofAllThreads(pid, name) {
  const values = new Set();
  for (const tid of fs.readdirSync(`/proc/${pid}/task`)) {
    const text = statusOf(`/proc/${pid}/task/${tid}/status`);
    if (text) values.add(new RegExp(`^${name}:\\s+(.*)$`, "m").exec(text)[1]);
  }
  return [...values];
}

// Empty if the thread has ended.
function statusOf(file) {
  try {
    return fs.readFileSync(file, "utf8");
  } catch (e) {
    if (e.code !== "ENOENT" && e.code !== "ESRCH") throw e;
    return "";
  }
}

const bits = (...numbers) =>
  numbers
    .reduce((set, n) => set | (1n << BigInt(n)), 0n)
    .toString(16)
    .padStart(16, "0");

function expectConfined(pid, capabilities) {
  for (const set of ["CapEff", "CapPrm", "CapBnd"])
    assert.deepEqual(ofAllThreads(pid, set), [capabilities], set);
  for (const set of ["CapInh", "CapAmb"]) assert.deepEqual(ofAllThreads(pid, set), [bits()], set);
  assert.deepEqual(ofAllThreads(pid, "NoNewPrivs"), ["1"]);
  assert.deepEqual(ofAllThreads(pid, "Seccomp"), ["2"]);
  const limits = fs.readFileSync(`/proc/${pid}/limits`, "utf8");
  assert.match(limits, /Max core file size +0 +0 /);
}

test("both agents keep what they need, in all threads, and profile each other", async (t) => {
  const cluster = await startCluster();
  t.after(() => cluster.stop());
  const node = await startNode({ cluster, interval: "2s" });
  t.after(() => node.stop());

  const stored = () => cluster.metric("cluster_agent_store_uploads_total", 'result="stored"');
  await eventually("profiles are stored", async () => (await stored()) > 5);
  await eventually("both agents have profiles", async () => {
    const rows = await sql(cluster, "SELECT DISTINCT ServiceName AS name FROM profiling_profiles");
    const names = rows.map((row) => row.name).join(" ");
    return names.includes("coroot-cluster-agent") && names.includes("coroot-node-agent");
  });

  expectConfined(cluster.pid, bits());
  // as listed in docs/security.md
  expectConfined(node.pid, bits(1, 2, 19, 34, 38, 39, 40));
  for (const agent of [cluster, node]) {
    const prefix = agent === cluster ? "cluster_agent" : "node_agent";
    assert.equal(await agent.metric(`${prefix}_syscalls_refused_total`), 0);
  }
});

// As a hardened container or systemd unit does it: no root, no capabilities, a user that is in no
// file, nothing to write to but the data directory. /mnt has what the user could not reach, and a
// working directory that is closed to it, such as root's.
const CONFINE = `
mount --make-rprivate / && mount -t tmpfs -o mode=755 tmpfs /mnt && mkdir /mnt/data &&
mkdir -p -m 700 /mnt/root && mkdir /mnt/root/here && cd /mnt/root/here &&
touch /mnt/agent /mnt/libchdb.so &&
mount --bind "$1" /mnt/data && mount --bind "$2" /mnt/libchdb.so && mount --bind "$3" /mnt/agent &&
mount -o remount,ro /mnt && mount -o remount,bind,ro / || exit 99
shift 3
exec setpriv --reuid 54321 --regid 54321 --clear-groups --inh-caps=-all --bounding-set=-all \
  env -u HOME -u USER -u LOGNAME /mnt/agent --chdb-library=/mnt/libchdb.so "$@"`;

test("the cluster-agent runs as any user on a root that is read-only", async (t) => {
  const dataDir = scratch("data");
  fs.mkdirSync(dataDir);
  fs.chownSync(dataDir, 54321, 54321);
  const library = fs.realpathSync(path.join(path.dirname(clusterAgent), "libchdb.so"));
  const within = ["unshare", "--mount", "sh", "-c", CONFINE, "sh", dataDir, library];
  const cluster = await startCluster({ dataDir: "/mnt/data", within });
  t.after(() => cluster.stop());
  const node = await startNode({ cluster, interval: "1s" });
  t.after(() => node.stop());

  const stored = () => cluster.metric("cluster_agent_store_uploads_total", 'result="stored"');
  await eventually("profiles are stored", async () => (await stored()) > 5);
  const [{ n }] = await sql(cluster, "SELECT count() AS n FROM profiling_stacks");
  assert.ok(n > 0);
  expectConfined(cluster.pid, bits());
  assert.deepEqual(ofAllThreads(cluster.pid, "Uid"), [Array(4).fill("54321").join("\t")]);
  assert.equal((await cluster.stop()).code, 0);
  const log = cluster.log().replace(/.*cannot reach the working directory.*/, "");
  assert.doesNotMatch(log, /level=(warn|error)/);
  // what it wrote is its own, and nobody else's to read
  for (const name of fs.readdirSync(dataDir)) {
    const st = fs.statSync(path.join(dataDir, name));
    assert.equal(st.uid, 54321, name);
    assert.equal(st.mode & 0o077, 0, name);
  }
});

test("a credential plugin of a kubeconfig may start, under a wider list", async (t) => {
  const asked = [];
  const server = http.createServer((request, response) => {
    asked.push(request.headers.authorization);
    response.writeHead(500).end();
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());

  const dir = scratch("plugin");
  fs.mkdirSync(dir);
  const plugin = path.join(dir, "plugin.sh");
  // programs that a shell starts, files, and a call that only a program outside our list makes
  fs.writeFileSync(
    plugin,
    `#!/bin/sh
setarch --show >/dev/null 2>&1
echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential",' \\
  '"status":{"token":"'"$(printf token | tr a-z A-Z)"'"}}'
`,
    { mode: 0o755 },
  );
  const kubeconfig = path.join(dir, "kubeconfig");
  fs.writeFileSync(
    kubeconfig,
    JSON.stringify({
      apiVersion: "v1",
      kind: "Config",
      "current-context": "c",
      contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
      clusters: [{ name: "c", cluster: { server: `http://127.0.0.1:${server.address().port}` } }],
      users: [
        {
          name: "u",
          user: {
            exec: {
              apiVersion: "client.authentication.k8s.io/v1",
              command: plugin,
              interactiveMode: "Never",
            },
          },
        },
      ],
    }),
  );
  const cluster = await startCluster({ args: [`--kubeconfig=${kubeconfig}`] });
  t.after(() => cluster.stop());
  await eventually("the plugin's token is used", () => asked.includes("Bearer TOKEN"));
  assert.match(cluster.log(), /filtering system calls.* programs_may_start=yes/);
  expectConfined(cluster.pid, bits());
});

test("--seccomp=log and --seccomp=off let everything pass", async (t) => {
  for (const [mode, seccomp] of [
    ["log", "2"],
    ["off", "0"],
  ]) {
    const cluster = await startCluster({ args: [`--seccomp=${mode}`] });
    t.after(() => cluster.stop());
    assert.deepEqual(ofAllThreads(cluster.pid, "Seccomp"), [seccomp]);
    assert.equal((await cluster.stop()).code, 0);
  }
});
