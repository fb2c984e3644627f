// An agent that cannot work does not start: one line names the reason, and the exit status is 1.
"use strict";

const assert = require("node:assert");
const fs = require("node:fs");
const net = require("node:net");
const path = require("node:path");
const { test } = require("node:test");
const {
  Daemon,
  nodeAgent,
  clusterAgent,
  freePort,
  scratch,
  startCluster,
  failToStart,
} = require("./lib/daemon");
const { tempDir } = require("./lib/temp_dir");

// Whatever else was logged before, the last line is the reason.
function refused(result, pattern) {
  assert.strictEqual(result.code, 1, result.lines.join("\n"));
  assert.match(result.lines[result.lines.length - 1], pattern);
}
const nodeArgs = async (...more) => [
  `--listen=127.0.0.1:${await freePort()}`,
  "--collector-endpoint=http://127.0.0.1:1",
  `--wal-dir=${scratch("spool")}`,
  ...more,
];
const clusterArgs = async (...more) => [
  `--listen=127.0.0.1:${await freePort()}`,
  "--storage=embedded",
  `--data-dir=${scratch("data")}`,
  ...more,
];

for (const agent of [nodeAgent, clusterAgent]) {
  const name = path.basename(agent);
  test(`${name}: an unknown flag`, async () => {
    const r = await failToStart(agent, ["--no-such-flag=1"]);
    refused(r, /no-such-flag/);
    assert.strictEqual(r.lines.length, 1, r.lines.join("\n"));
  });
}

test("node-agent: invalid values", async () => {
  refused(
    await failToStart(nodeAgent, await nodeArgs("--profile-frequency=0")),
    /profile-frequency/,
  );
  refused(
    await failToStart(nodeAgent, await nodeArgs("--profile-interval=soon")),
    /profile-interval/,
  );
  refused(await failToStart(nodeAgent, ["--collector-endpoint=localhost"]), /collector-endpoint/);
  refused(await failToStart(nodeAgent, []), /collector-endpoint/);
  refused(await failToStart(nodeAgent, await nodeArgs("--max-spool-size=much")), /max-spool-size/);
});

test("cluster-agent: invalid values", async () => {
  refused(
    await failToStart(clusterAgent, await clusterArgs("--profiles-ttl=never")),
    /profiles-ttl/,
  );
  refused(await failToStart(clusterAgent, await clusterArgs("--storage=paper")), /storage/);
  refused(
    await failToStart(clusterAgent, await clusterArgs("--clickhouse-listen=0.0.0.0:0")),
    /clickhouse-listen|api-key/,
  );
});

test("both: the port is in use", async (t) => {
  const taken = net.createServer().listen(0, "127.0.0.1");
  t.after(() => taken.close());
  await new Promise((resolve) => taken.once("listening", resolve));
  const { port } = taken.address();
  const listen = `--listen=127.0.0.1:${port}`;
  const without = (args) => args.filter((a) => !a.startsWith("--listen="));
  refused(
    await failToStart(nodeAgent, [...without(await nodeArgs()), listen]),
    new RegExp(`${port}`),
  );
  refused(
    await failToStart(clusterAgent, [...without(await clusterArgs()), listen]),
    new RegExp(`${port}`),
  );
});

test("cluster-agent: another process uses the data directory", async (t) => {
  const first = await startCluster();
  t.after(() => first.stop());
  const r = await failToStart(
    clusterAgent,
    await clusterArgs(`--data-dir=${first.dataDir}`).then((a) => a.filter((x, i) => i !== 2)),
  );
  refused(r, new RegExp(path.basename(first.dataDir)));
  assert.ok(first.running);
});

test("node-agent: not root", async (t) => {
  // where another user may read it
  const dir = tempDir("e2e", { mode: 0o755 });
  const copy = path.join(dir, "coroot-node-agent");
  fs.copyFileSync(nodeAgent, copy);
  fs.chmodSync(copy, 0o755);
  refused(
    await failToStart("setpriv", [
      "--reuid=65534",
      "--regid=65534",
      "--clear-groups",
      copy,
      ...(await nodeArgs()),
    ]),
    /root|CAP_/,
  );
});

for (const [dropped, named] of [
  ["-bpf,-sys_admin", /CAP_BPF/],
  ["-perfmon,-sys_admin", /CAP_PERFMON/],
]) {
  test(`node-agent: root without capabilities (${dropped})`, async () => {
    refused(
      await failToStart("setpriv", [`--bounding-set=${dropped}`, nodeAgent, ...(await nodeArgs())]),
      named,
    );
  });
}

test("node-agent: does not need CAP_SYS_RESOURCE", async (t) => {
  const args = await nodeArgs();
  const url = args[0].replace("--listen=", "http://");
  const d = new Daemon("setpriv", ["--bounding-set=-sys_resource", nodeAgent, ...args], {
    url,
    name: "no-resource",
  });
  t.after(() => d.stop());
  await d.ready("/healthz");
});

test("node-agent: a kernel without type information", async () => {
  const empty = scratch("empty");
  fs.mkdirSync(empty);
  const hide = `mount --bind ${empty} /sys/kernel/btf && exec "$0" "$@"`;
  refused(
    await failToStart("unshare", [
      "--mount",
      "--propagation=private",
      "sh",
      "-c",
      hide,
      nodeAgent,
      ...(await nodeArgs()),
    ]),
    /btf/i,
  );
});

test("both: --help and --version print to stdout and exit with 0", async () => {
  for (const agent of [nodeAgent, clusterAgent]) {
    const help = await failToStart(agent, ["--help"]);
    assert.strictEqual(help.code, 0);
    assert.match(help.lines.join("\n"), /--listen/);
    assert.strictEqual((await failToStart(agent, ["--version"])).code, 0);
  }
});
