// Our agents started as Coroot's are: with every flag and variable of theirs, and with the very
// command lines of Coroot's operator.
"use strict";

const assert = require("node:assert");
const { execFileSync } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const { test } = require("node:test");
const {
  Daemon,
  clusterAgent,
  freePort,
  nodeAgent,
  scratch,
  startCluster,
} = require("./lib/daemon");
const { tempDir } = require("./lib/temp_dir");
const { eventually } = require("./lib/wait");

// The flags of coroot-node-agent and coroot-cluster-agent, with values as people give them. "true"
// and "false" are switches. The name of the variable is that of the flag.
const nodeFlags = {
  "api-key": "key",
  "availability-zone": "eu-1a",
  "ca-file": "",
  "cgroupfs-root": "/host/sys/fs/cgroup",
  "container-allowlist": ".*",
  "container-denylist": "^/k8s/secret/",
  "disable-gpu-monitoring": "true",
  "disable-json-log-parsing": "true",
  "disable-l7-tracing": "true",
  "disable-log-parsing": "true",
  "disable-pinger": "true",
  "enable-java-async-profiler": "false", // other JVMs of this machine are not the test's
  "enable-java-tls": "false",
  "ephemeral-port-range": "32768-60999",
  "exclude-http-requests-by-path": "/health",
  "go-heap-profiler": "enabled",
  "insecure-skip-verify": "true",
  "instance-life-cycle": "spot",
  "instance-type": "m5.large",
  "instrumentation-delay": "30s",
  "java-async-profiler-delay": "30s",
  "log-burst": "100",
  "log-patterns-per-container": "256",
  "log-per-second": "10.0",
  "logs-endpoint": "http://127.0.0.1:1/v1/logs",
  "max-fqdns-per-container": "50",
  "max-label-length": "4096",
  "max-spool-size": "500MB",
  "metrics-endpoint": "http://127.0.0.1:1/v1/metrics",
  "min-container-age": "30s",
  "profiles-prune-fraction": "0.0025",
  provider: "aws",
  region: "eu-1",
  "scrape-interval": "15s",
  "skip-systemd-system-services": "true",
  "traces-endpoint": "http://127.0.0.1:1/v1/traces",
  "traces-sampling": "1.0",
  "track-public-network": "0.0.0.0/0",
};
const clusterFlags = {
  "api-key": "key",
  "ca-file": "",
  "collect-kubernetes-events": "true",
  "config-update-interval": "60s",
  "config-update-timeout": "10s",
  "exclude-databases": "postgres",
  "insecure-skip-verify": "true",
  "kube-state-metrics-address": "127.0.0.1:10302",
  "kube-state-metrics-listen-address": "127.0.0.1:10303",
  "kube-state-metrics-min-age": "30s",
  "max-tables-per-database": "1000",
  "metrics-scrape-interval": "15s",
  "metrics-scrape-timeout": "10s",
  "metrics-wal-dir": "/tmp",
  "profiles-scrape-interval": "60s",
  "profiles-scrape-timeout": "10s",
  "track-database-bloat": "true",
  "track-database-changes": "true",
  "track-database-sizes": "true",
};
// those that mean something to us, too
const common = new Set([
  "api-key",
  "ca-file",
  "container-allowlist",
  "container-denylist",
  "enable-java-async-profiler",
  "go-heap-profiler",
  "insecure-skip-verify",
  "java-async-profiler-delay",
  "max-spool-size",
  "profiles-scrape-interval",
  "profiles-scrape-timeout",
]);

const isSwitch = (value) => value === "true" || value === "false";
// the ways in which a command line may have them
const forms = {
  "--name=value": (name, value) => [`--${name}=${value}`],
  "--name value": (name, value) =>
    isSwitch(value) ? [value === "true" ? `--${name}` : `--no-${name}`] : [`--${name}`, value],
};
// our own switches have no "--no-" and are given with '='
const argumentsOf = (flags, form) =>
  Object.entries(flags).flatMap(([name, value]) =>
    common.has(name) ? [`--${name}=${value}`] : forms[form](name, value),
  );
const variables = (flags) =>
  Object.fromEntries(
    Object.entries(flags).map(([name, value]) => [name.toUpperCase().replaceAll("-", "_"), value]),
  );

// One warning names all flags that were ignored; variables are not even mentioned.
function expectOneWarning(daemon, flags) {
  const lines = daemon.log().match(/^.*flags of Coroot's agent that mean nothing.*$/gm) ?? [];
  assert.strictEqual(lines.length, flags ? 1 : 0, daemon.log());
  if (!flags) return;
  const named = /flags="([^"]*)"/.exec(lines[0])[1].split(" ");
  const plain = named.map((flag) => flag.replace(/^--(no-)?/, "")).sort();
  assert.deepStrictEqual(
    plain,
    Object.keys(flags)
      .filter((name) => !common.has(name))
      .sort(),
  );
}

// Of an API server that does not answer, which keeps no agent from starting.
const kubeconfig = path.join(scratch("kubeconfig"));
fs.writeFileSync(
  kubeconfig,
  JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    "current-context": "c",
    contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
    clusters: [{ name: "c", cluster: { server: "http://127.0.0.1:1" } }],
    users: [{ name: "u", user: { token: "t" } }],
  }),
  { mode: 0o644 },
);

for (const form of [...Object.keys(forms), "variables"]) {
  const args = (flags) => (form === "variables" ? [] : argumentsOf(flags, form));
  const env = (flags) => (form === "variables" ? variables(flags) : {});
  const named = (flags) => (form === "variables" ? null : flags);

  test(`node-agent: every flag of Coroot's, as ${form}`, async (t) => {
    const cluster = await startCluster({ args: ["--api-key=key"] });
    const port = await freePort();
    const node = new Daemon(
      nodeAgent,
      [
        `--listen=127.0.0.1:${port}`,
        `--profiles-endpoint=${cluster.url}/v1/profiles`,
        `--wal-dir=${scratch("wal")}`,
        "--profile-interval=1s",
        ...args(nodeFlags),
      ],
      { url: `http://127.0.0.1:${port}`, env: env(nodeFlags) },
    );
    t.after(async () => {
      await node.stop();
      await cluster.stop();
    });
    await node.ready("/readyz");
    await eventually(
      "profiles arrive",
      async () => (await node.metric("node_agent_profiles_uploaded_total")) > 0,
    );
    expectOneWarning(node, named(nodeFlags));
  });

  test(`cluster-agent: every flag of Coroot's, as ${form}`, async (t) => {
    const port = await freePort();
    const cluster = new Daemon(
      clusterAgent,
      [
        `--listen=127.0.0.1:${port}`,
        "--coroot-url=http://127.0.0.1:1/",
        `--data-dir=${scratch("data")}`,
        `--kubeconfig=${kubeconfig}`,
        ...args(clusterFlags),
      ],
      { url: `http://127.0.0.1:${port}`, env: env(clusterFlags) },
    );
    t.after(() => cluster.stop());
    await cluster.ready("/healthz");
    expectOneWarning(cluster, named(clusterFlags));
  });
}

// spec.nodeAgent.ebpfProfiler.enabled=false leaves PROFILES_ENDPOINT out, and nothing else.
test("node-agent: without an endpoint for profiles it waits and does nothing", async () => {
  const node = new Daemon(nodeAgent, ["--cgroupfs-root=/host/sys/fs/cgroup"], {
    env: { METRICS_ENDPOINT: "http://127.0.0.1:1/v1/metrics" },
  });
  await eventually("it says so", () => /profiling is switched off/.test(node.log()));
  const caps = /CapPrm:\s+(\w+)/.exec(fs.readFileSync(`/proc/${node.pid}/status`, "utf8"))[1];
  assert.match(caps, /^0+$/);
  assert.deepStrictEqual(await node.stop(), { code: 0, signal: null });
});

// As in the pod of Coroot's operator: no data directory that the user may write to.
test("cluster-agent: as user 65534, with the command line of Coroot's operator", async (t) => {
  const dir = tempDir("dropin", { mode: 0o755 });
  const program = path.join(dir, "coroot-cluster-agent");
  fs.copyFileSync(clusterAgent, program);
  fs.copyFileSync(kubeconfig, path.join(dir, "kubeconfig"));
  const within = `mount -t tmpfs -o mode=755 tmpfs /var/lib && ip link set lo up && cd / &&
    exec "$@"`;
  const run = (listen, key = { API_KEY: "key" }) =>
    new Daemon(
      "unshare",
      [
        ...["--mount", "--net", "sh", "-c", within, "sh"],
        ...["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"],
        ...["--inh-caps=-all", "--bounding-set=-all"],
        ...[program, `--listen=${listen}`, "--metrics-wal-dir=/tmp"],
      ],
      {
        env: {
          COROOT_URL: "http://127.0.0.1:1/",
          METRICS_SCRAPE_INTERVAL: "15s",
          KUBE_STATE_METRICS_ADDRESS: "127.0.0.1:10302",
          ...key,
          KUBECONFIG: path.join(dir, "kubeconfig"),
        },
      },
    );
  const get = (agent, url) =>
    execFileSync("nsenter", [`--net=/proc/${agent.pid}/ns/net`, "curl", "-sS", "-m", "60", url], {
      encoding: "utf8",
    });

  const agent = run("127.0.0.1:10301");
  t.after(() => agent.stop());
  await eventually("it listens", () => agent.log().includes('msg="listening"'));
  assert.match(get(agent, "http://127.0.0.1:10301/healthz"), /./);
  // where profiles wait is said once
  assert.strictEqual(agent.log().match(/cannot use the spool; profiles wait in memory/g).length, 1);
  assert.deepStrictEqual((await agent.stop()).code, 0);

  // a port that its user may not have, and one that is free to all
  const refused = run(":80");
  t.after(() => refused.stop("SIGKILL"));
  assert.strictEqual((await refused.exited).code, 1);
  assert.match(refused.log(), /listen on :80: .*CAP_NET_BIND_SERVICE/);
  const all = run(":8080", {});
  t.after(() => all.stop());
  await eventually("it listens", () => all.log().includes('msg="listening"'));
  assert.match(get(all, "http://127.0.0.1:8080/healthz"), /./);
  // it has no profiles that anybody could read
  assert.doesNotMatch(all.log(), /can read all profiles/);
});

for (const [listen, host] of [
  [":80", "127.0.0.1"],
  ["0.0.0.0:80", "127.0.0.1"],
  ["[::]:80", "[::1]"],
]) {
  test(`node-agent: --listen=${listen} as root`, async (t) => {
    const node = new Daemon("unshare", [
      ...["--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"],
      nodeAgent,
      `--listen=${listen}`,
      "--profiles-endpoint=http://127.0.0.1:1/v1/profiles",
      `--wal-dir=${scratch("wal")}`,
    ]);
    t.after(() => node.stop());
    await eventually("it listens", () => node.log().includes('msg="started"'));
    const text = execFileSync("nsenter", [
      `--net=/proc/${node.pid}/ns/net`,
      ...["curl", "-sS", "-m", "60", `http://${host}/metrics`],
    ]);
    assert.match(String(text), /coroot_node_agent_/);
  });
}
