// The objects of the Helm charts: what Pod Security and RBAC will say of them, and how values
// become arguments, variables and files.
"use strict";

const test = require("node:test");
const assert = require("node:assert");
const { execFile, execFileSync } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const { promisify } = require("node:util");
const { clusterAgent, nodeAgent } = require("../e2e/lib/daemon.js");
const YAML = require("../e2e/lib/yaml.js");
const charts = require("./rendered_charts.js");
const { tempDir } = require("../e2e/lib/temp_dir.js");

const { NAMES, valuesFiles } = charts;
const { ROOT, REGISTRY, chart, run, parse, objects, one, container, each } = charts;

// ---- what Pod Security and RBAC will say ----

function assertRestricted(pod, what, user) {
  const c = pod.containers[0].securityContext;
  const { securityContext: p } = pod;
  assert.ok(!pod.hostPID && !pod.hostNetwork && !pod.hostIPC, what);
  assert.deepStrictEqual([p.runAsNonRoot, p.runAsUser, p.runAsGroup], [true, user, user], what);
  assert.deepStrictEqual(p.seccompProfile, { type: "RuntimeDefault" }, what);
  assert.deepStrictEqual(c.capabilities, { drop: ["ALL"] }, what);
  assert.strictEqual(c.allowPrivilegeEscalation, false, what);
  assert.strictEqual(c.readOnlyRootFilesystem, true, what);
  for (const volume of pod.volumes || [])
    assert.ok(volume.emptyDir || volume.secret, `${what}: volume ${volume.name}`);
}

test("all pods but the node agent's are restricted", async () => {
  const operator = await objects("coroot-operator", REGISTRY);
  assertRestricted(one(operator, "Deployment").spec.template.spec, "operator", 65534);
  const profiling = await objects("profiling", REGISTRY);
  assertRestricted(one(profiling, "StatefulSet").spec.template.spec, "store", 65534);
  assertRestricted(one(profiling, "Pod").spec, "test of profiling");
  const ce = await objects("coroot-ce", "--set=chart.image.registry=registry.example.com");
  assertRestricted(one(ce, "Pod").spec, "test of coroot-ce");
});

test("of a container that ends with an error, the end of its log is kept", async () => {
  const podsOf = (list) =>
    list.flatMap((o) => (o.kind === "Pod" ? o.spec : (o.spec?.template?.spec ?? [])));
  const lists = await Promise.all([
    objects("coroot-operator", REGISTRY),
    objects("profiling", REGISTRY),
    objects("coroot-ce", "--set=chart.image.registry=registry.example.com"),
  ]);
  const made = ofOperator({}, { clickhouse: {} });
  const containers = [...lists, made].flatMap(podsOf).flatMap((pod) => pod.containers);
  assert.strictEqual(containers.length, 10);
  for (const c of containers)
    assert.strictEqual(c.terminationMessagePolicy, "FallbackToLogsOnError", c.name);
});

const CAPABILITIES = [
  ...["BPF", "PERFMON", "SYS_PTRACE", "DAC_READ_SEARCH", "SYSLOG", "CHECKPOINT_RESTORE"],
];
const ADDED = [
  ["", []],
  ["nodeAgent.options.go-heap-profiler=enabled", []],
  ["nodeAgent.options.go-heap-profiler=force", ["DAC_OVERRIDE"]],
  ["nodeAgent.options.go-mutex-profiler=on", ["DAC_OVERRIDE"]],
  ["nodeAgent.options.go-block-profiler=burst", ["DAC_OVERRIDE"]],
  [
    "nodeAgent.extraEnv[0].name=GO_HEAP_PROFILER,nodeAgent.extraEnv[0].value=force",
    ["DAC_OVERRIDE"],
  ],
  ["nodeAgent.extraArgs[0]=--go-heap-profiler=force", ["DAC_OVERRIDE"]],
  ["nodeAgent.capabilities.dacOverride=true", ["DAC_OVERRIDE"]],
  ["nodeAgent.options.go-heap-profiler=force,nodeAgent.capabilities.dacOverride=false", []],
  ...[
    "nodeAgent.options.enable-java-async-profiler=true",
    "nodeAgent.extraEnv[0].name=ENABLE_JAVA_ASYNC_PROFILER,nodeAgent.extraEnv[0].value=Yes",
    "nodeAgent.extraArgs[0]=--enable-java-async-profiler",
    "nodeAgent.extraArgs[0]=--enable-java-async-profiler=true,nodeAgent.extraArgs[1]=--java-wall",
    "nodeAgent.capabilities.java=true",
  ].map((set) => [set, ["SETUID", "SETGID"]]),
  ...[
    "nodeAgent.options.java-async-profiler-delay=1m",
    "nodeAgent.options.enable-java-async-profiler=false",
    "nodeAgent.extraArgs[0]=--enable-java-async-profiler=false",
    "nodeAgent.extraEnv[0].name=ENABLE_JAVA_ASYNC_PROFILER,nodeAgent.extraEnv[0].value=0",
    "nodeAgent.options.enable-java-async-profiler=true,nodeAgent.capabilities.java=false",
  ].map((set) => [set, []]),
  [
    "nodeAgent.options.enable-java-async-profiler=true,nodeAgent.options.go-mutex-profiler=on",
    ["DAC_OVERRIDE", "SETUID", "SETGID"],
  ],
  ["nodeAgent.capabilities.sysResource=true", ["SYS_RESOURCE"]],
];
test("the node agent has the capabilities that it needs, and is not privileged", async () => {
  await each(ADDED, async ([set, added]) => {
    const list = await objects("profiling", REGISTRY, `--set=${set}`);
    const pod = one(list, "DaemonSet").spec.template.spec;
    const { capabilities, ...rest } = pod.containers[0].securityContext;
    assert.deepStrictEqual(capabilities, { drop: ["ALL"], add: [...CAPABILITIES, ...added] }, set);
    assert.deepStrictEqual(rest, {
      privileged: false,
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
    });
    assert.deepStrictEqual(pod.securityContext, {
      runAsUser: 0,
      runAsGroup: 0,
      seccompProfile: { type: "RuntimeDefault" },
    });
    assert.ok(pod.hostPID && !pod.hostNetwork && !pod.hostIPC);
    assert.deepStrictEqual(
      pod.volumes.filter((v) => v.hostPath).map((v) => v.hostPath.path),
      ["/var/lib/coroot-node-agent"],
    );
  });
});

test("the node agent's switches", async () => {
  const set =
    "nodeAgent.privileged=true,nodeAgent.appArmorUnconfined=true,nodeAgent.seLinuxSpcT=true";
  const now = await objects("profiling", REGISTRY, `--set=${set}`, "--kube-version=1.34.0");
  assert.deepStrictEqual(container(one(now, "DaemonSet")).securityContext, {
    appArmorProfile: { type: "Unconfined" },
    seLinuxOptions: { type: "spc_t" },
    readOnlyRootFilesystem: true,
    privileged: true,
  });
  const old = await objects("profiling", REGISTRY, `--set=${set}`, "--kube-version=1.28.0");
  const { template } = one(old, "DaemonSet").spec;
  assert.strictEqual(template.spec.containers[0].securityContext.appArmorProfile, undefined);
  assert.strictEqual(
    template.metadata.annotations["container.apparmor.security.beta.kubernetes.io/node-agent"],
    "unconfined",
  );
});

// What the operator makes of a resource whose node agent has these variables.
function ofOperator(env = {}, spec = {}) {
  const resource = {
    apiVersion: "coroot.com/v1",
    kind: "Coroot",
    metadata: { name: "x" },
    spec: {
      nodeAgent: { env: Object.entries(env).map(([name, value]) => ({ name, value })) },
      ...spec,
    },
  };
  const args = ["operator", "render", "-"];
  return JSON.parse(execFileSync(clusterAgent, args, { input: JSON.stringify(resource) })).items;
}

test("this chart and the operator give the agents the same rights and resources", async () => {
  const chartOf = (...args) => objects("profiling", REGISTRY, ...args);
  const [ours, theirs] = [await chartOf(), ofOperator()];
  const podOf = (list, kind) => one(list, kind).spec.template.spec;
  assert.deepStrictEqual(
    podOf(ours, "StatefulSet").securityContext,
    podOf(theirs, "StatefulSet").securityContext,
  );
  for (const [kind, field] of [
    ["StatefulSet", "securityContext"],
    ["StatefulSet", "resources"],
    ["DaemonSet", "resources"],
  ])
    assert.deepStrictEqual(container(one(ours, kind))[field], container(one(theirs, kind))[field]);
  const rules = (list) => list.filter((o) => o.kind === "ClusterRole").map((o) => o.rules);
  assert.deepStrictEqual(rules(ours), rules(theirs));

  const variables = [
    ...[{}, { GO_HEAP_PROFILER: "force" }, { GO_MUTEX_PROFILER: "on" }],
    ...[{ GO_BLOCK_PROFILER: "burst" }, { ENABLE_JAVA_ASYNC_PROFILER: "true" }],
    { ENABLE_JAVA_ASYNC_PROFILER: "1", GO_HEAP_PROFILER: "force" },
    { ENABLE_JAVA_ASYNC_PROFILER: "0", GO_HEAP_PROFILER: "enabled" },
  ];
  await each(variables, async (env) => {
    const file = path.join(charts.scratch, `${Object.values(env).join("-")}.json`);
    const extraEnv = Object.entries(env).map(([name, value]) => ({ name, value }));
    fs.writeFileSync(file, JSON.stringify({ nodeAgent: { extraEnv } }));
    const [a, b] = [await chartOf("-f", file), ofOperator(env)].map((list) => {
      return container(one(list, "DaemonSet")).securityContext.capabilities;
    });
    assert.deepStrictEqual(a, b, JSON.stringify(env));
  });
});

test("agents may read namespaces and nodes if their labels are asked for", async () => {
  const file = path.join(charts.scratch, "labels.json");
  const extraEnv = [{ name: "NAMESPACE_LABELS", value: "team" }];
  fs.writeFileSync(file, JSON.stringify({ nodeAgent: { extraEnv } }));
  const rolesOf = async (...args) =>
    (await objects("profiling", REGISTRY, ...args))
      .filter((o) => o.kind === "ClusterRole")
      .map((o) => o.rules.map((r) => r.resources.join()).join());
  assert.deepStrictEqual(await rolesOf("-f", file), ["pods,namespaces", "pods"]);
  const option = "--set=clusterAgent.options.node-labels=topology\\.kubernetes\\.io/zone";
  assert.deepStrictEqual(await rolesOf(option), ["pods", "pods,nodes"]);
  const both = "--set=nodeAgent.extraArgs={--namespace-labels=a,--node-labels,b}";
  assert.deepStrictEqual(await rolesOf(both), ["pods,namespaces,nodes", "pods"]);

  // the operator does the same, with the same verbs
  const rules = (list) => list.filter((o) => o.kind === "ClusterRole").map((o) => o.rules);
  assert.deepStrictEqual(
    rules(await objects("profiling", REGISTRY, "-f", file)),
    rules(ofOperator({ NAMESPACE_LABELS: "team" })),
  );
});

test("agents may read pods, and nothing else", async () => {
  const list = await objects("profiling", REGISTRY);
  assert.deepStrictEqual(
    list.filter((o) => /Role$/.test(o.kind)).map((o) => [o.kind, o.metadata.name, o.rules]),
    [
      [
        "ClusterRole",
        "space-release-profiling-node-agent",
        [{ apiGroups: [""], resources: ["pods"], verbs: ["list", "watch"] }],
      ],
      [
        "ClusterRole",
        "space-release-profiling-cluster-agent",
        [{ apiGroups: [""], resources: ["pods"], verbs: ["get", "list", "watch"] }],
      ],
    ],
  );
  const set = "--set=clickhouse.address=ch,clusterAgent.replicas=2";
  const shared = await objects("profiling", REGISTRY, set);
  assert.deepStrictEqual(one(shared, "Role").rules, [
    {
      apiGroups: ["coordination.k8s.io"],
      resources: ["leases"],
      verbs: ["get", "list", "create", "update", "delete"],
    },
  ]);
  assert.ok(
    container(one(shared, "StatefulSet")).args.includes(
      "--replica-group=release-profiling-cluster-agent",
    ),
  );
});

// "group resource" -> verbs
function rights(rules) {
  const out = {};
  for (const { apiGroups, resources, verbs } of rules)
    for (const group of apiGroups)
      for (const resource of resources) out[`${group} ${resource}`] = [...verbs].sort();
  return out;
}

// The table of docs/operator.md.
function documentedRights() {
  const page = fs.readFileSync(path.join(ROOT, "docs/operator.md"), "utf8");
  const row = /^\| (Cluster)?Role[^|]*\| ([^|]+) \| ([^|]+) \| ([^|]+) \|/gm;
  const rules = { cluster: [], own: [] };
  for (const [, cluster, group, resources, verbs] of page.matchAll(row))
    rules[cluster ? "cluster" : "own"].push({
      apiGroups: [group === "core" ? "" : group.replace(/`/g, "")],
      resources: resources.split(", ").map((r) => r.replace(/`/g, "")),
      verbs: verbs.split(", "),
    });
  return { cluster: rights(rules.cluster), own: rights(rules.own) };
}

test("the operator has the documented rights, in whatever roles", async () => {
  const documented = documentedRights();
  assert.ok(Object.keys(documented.cluster).length > 10);
  const everywhere = await objects("coroot-operator", REGISTRY);
  assert.deepStrictEqual(rights(one(everywhere, "ClusterRole").rules), documented.cluster);
  assert.deepStrictEqual(rights(one(everywhere, "Role").rules), documented.own);

  const watching = await objects("coroot-operator", REGISTRY, "--set=watchNamespace=shop");
  const wide = rights(one(watching, "ClusterRole").rules);
  const narrow = one(watching, "Role", "release-coroot-operator");
  const secrets = { " secrets": documented.own[" secrets"] };
  assert.deepStrictEqual(
    { ...wide, ...rights(narrow.rules) },
    { ...documented.cluster, ...secrets },
  );
  assert.deepStrictEqual(Object.keys(wide).sort(), [
    " namespaces",
    " nodes",
    " pods",
    "rbac.authorization.k8s.io clusterrolebindings",
    "rbac.authorization.k8s.io clusterroles",
  ]);
  assert.strictEqual(narrow.metadata.namespace, "shop");

  const more = "--set=rbac.secretNamespaces={shop,profiles}";
  const named = await objects("coroot-operator", REGISTRY, more);
  const roles = named.filter((o) => o.kind === "Role" && o.metadata.namespace);
  assert.deepStrictEqual(
    roles.map((r) => [r.metadata.namespace, rights(r.rules)]),
    ["shop", "profiles"].map((namespace) => [namespace, secrets]),
  );
  const bold = await objects("coroot-operator", REGISTRY, "--set=rbac.denyGlobalSecrets=false");
  const both = rights(one(bold, "ClusterRole").rules);
  assert.deepStrictEqual(both, { ...documented.cluster, ...secrets });
});

// ---- what the charts make of their values ----

test("coroot-ce: all values but the chart's own are the spec", async () => {
  const file = path.join(chart("coroot-ce"), "ci/clickhouse-values.yaml");
  const given = YAML.parse(fs.readFileSync(file, "utf8"));
  const { metadata, spec } = one(await objects("coroot-ce", "-f", file), "Coroot");
  assert.strictEqual(metadata.name, "release");
  assert.strictEqual(metadata.namespace, undefined);
  assert.deepStrictEqual(spec, {
    ...given,
    metricsRefreshInterval: "15s",
    storage: { size: "10Gi" },
  });
});

for (const name of ["every-field", "other-fields"])
  test(`coroot-ce: the spec of ${name}.json can be given as values`, async (t) => {
    const { spec } = JSON.parse(fs.readFileSync(`${ROOT}/test/data/operator/${name}.json`, "utf8"));
    const folder = tempDir("values");
    fs.writeFileSync(`${folder}/values.json`, JSON.stringify(spec));
    const made = await objects("coroot-ce", "-f", `${folder}/values.json`);
    assert.deepStrictEqual(one(made, "Coroot").spec, { metricsRefreshInterval: "15s", ...spec });
  });

test("the operator's images are those of the registry, or the given ones", async () => {
  const env = async (...args) => {
    const deployment = one(await objects("coroot-operator", ...args), "Deployment");
    const { image, env: list } = container(deployment);
    return [image, Object.fromEntries(list.map((e) => [e.name, e.value]))];
  };
  assert.deepStrictEqual(
    await env("--set=registry.url=https://r.example.com:5000/coroot/,image.tag=v7"),
    [
      "r.example.com:5000/coroot/coroot-cluster-agent:v7",
      {
        NODE_AGENT_IMAGE: "r.example.com:5000/coroot/coroot-node-agent:v7",
        CLUSTER_AGENT_IMAGE: "r.example.com:5000/coroot/coroot-cluster-agent:v7",
        STORE_IMAGE: "r.example.com:5000/coroot/coroot-cluster-agent-store:v7",
      },
    ],
  );
  const file = path.join(chart("coroot-operator"), "ci/nothing-made-values.yaml");
  assert.deepStrictEqual(await env("-f", file), [
    `registry.example.com/operator@sha256:${"b".repeat(64)}`,
    { NODE_AGENT_IMAGE: "r/a:1", CLUSTER_AGENT_IMAGE: "r/b:1", STORE_IMAGE: "r/c:1" },
  ]);
});

// A Deployment's selector cannot be changed, and this is the one of Coroot's chart.
test("a release of Coroot's operator can be upgraded", async () => {
  const file = path.join(chart("coroot-operator"), "ci/upstream-values.yaml");
  const name = "coroot-operator";
  const list = parse((await run("helm", ["template", name, chart(name), "-f", file])).stdout);
  const { metadata, spec } = one(list, "Deployment");
  assert.strictEqual(metadata.name, "coroot-operator");
  assert.deepStrictEqual(spec.selector.matchLabels, { "app.kubernetes.io/name": name });
  assert.strictEqual(one(list, "ServiceAccount").metadata.name, "coroot-operator");
  const kept = one(list, "CustomResourceDefinition").metadata.annotations;
  assert.strictEqual(kept["helm.sh/resource-policy"], "keep");
});

// The programs parse all of their options before they answer --print-config.
const PROGRAMS = { operator: clusterAgent, "cluster-agent": clusterAgent, "node-agent": nodeAgent };
test("the programs know the options and variables that they are given", async () => {
  const files = NAMES.flatMap(valuesFiles);
  let n = 0;
  await each(files, async (file) => {
    const list = await objects(path.basename(path.dirname(path.dirname(file))), "-f", file);
    for (const workload of list.filter((o) => o.spec?.template)) {
      const { name, args, env = [] } = container(workload);
      const variables = env.filter((e) => e.value).map((e) => [e.name, e.value]);
      const options = { env: Object.fromEntries(variables) };
      await promisify(execFile)(PROGRAMS[name], [...args, "--print-config"], options).catch((e) => {
        throw new Error(`${file}: ${name}: ${e.stderr}`);
      });
      n++;
    }
  });
  assert.ok(n > files.length / 2);
});

test("profiling: who may send reaches OTLP over gRPC, who may read does not", async () => {
  const peer = (name) => ({ podSelector: { matchLabels: { name } } });
  const file = path.join(charts.scratch, "senders.json");
  const networkPolicy = { enabled: true, senders: [peer("s")], readers: [peer("r")] };
  fs.writeFileSync(file, JSON.stringify({ networkPolicy }));
  const set = "--set=clusterAgent.otlpGrpc.enabled=true";
  const all = await objects("profiling", REGISTRY, `--values=${file}`, set);
  const policies = all.filter((o) => o.kind === "NetworkPolicy");
  const rules = policies
    .flatMap((o) => o.spec.ingress)
    .filter((r) => r.ports.some((p) => p.port === "otlp-grpc"));
  assert.deepStrictEqual(rules, [{ ports: [{ port: "otlp-grpc" }], from: [peer("s")] }]);
});

// As kubelets of clusters with IPv6 alone probe.
test("all listeners take both families of addresses", async () => {
  const set = "--set=clusterAgent.sql.enabled=true,clusterAgent.otlpGrpc.enabled=true";
  const workloads = [
    one(await objects("coroot-operator", REGISTRY), "Deployment"),
    one(await objects("profiling", REGISTRY, set), "StatefulSet"),
    one(await objects("profiling", REGISTRY, set), "DaemonSet"),
  ];
  const listeners = workloads.flatMap((w) => container(w).args.filter((a) => /listen=/.test(a)));
  assert.deepStrictEqual(listeners, [
    ...["--listen=:8081", "--listen=:8080", "--clickhouse-listen=:8123"],
    ...["--otlp-grpc-listen=:4317", "--listen=:10300"],
  ]);
});

// Words that YAML takes for something else than text.
const WORDS = ["true", "null"];

test("names and labels are text, whatever a release is called", async () => {
  const every = WORDS.flatMap((word) => NAMES.map((name) => [word, name]));
  await each(every, async ([word, name]) => {
    const values = name === "coroot-ce" ? [] : [REGISTRY];
    const args = ["template", word, chart(name), `--namespace=${word}`, ...values];
    for (const { kind, metadata } of parse((await run("helm", args)).stdout)) {
      const what = `${name}: ${kind} of release ${word}`;
      assert.strictEqual(typeof metadata.name, "string", what);
      assert.strictEqual(metadata.labels["app.kubernetes.io/instance"], word, what);
    }
  });
});

test("profiling: text in values is one argument, whatever is in it", async () => {
  const odd = 'a: "b" #c {{ d }}';
  const file = path.join(charts.scratch, "odd.json");
  const clickhouse = { address: odd, user: odd, database: odd, passwordSecret: "1e3" };
  const ingress = { enabled: true, host: odd, path: `/${odd}` };
  fs.writeFileSync(file, JSON.stringify({ clickhouse, ingress }));
  const set = one(await objects("profiling", REGISTRY, `--values=${file}`), "StatefulSet");
  const { args } = container(set);
  for (const option of ["clickhouse-address", "clickhouse-user", "clickhouse-database"])
    assert.ok(args.includes(`--${option}=${odd}`), option);
  assert.ok(args.includes(`--allowed-hosts=${odd}`));
  assert.ok(args.includes(`--url-base-path=/${odd}`));
  const { secret } = set.spec.template.spec.volumes.find((v) => v.name === "clickhouse");
  assert.strictEqual(secret.secretName, "1e3");
});

// The label of a pod's revision has at most 63 characters, 11 of them for the hash.
test("pods of a StatefulSet can be made, whatever the length of a release's name", async () => {
  const template = async (name, length, ...args) =>
    parse((await run("helm", ["template", "r".repeat(length), chart(name), ...args])).stdout);
  const set = one(await template("profiling", 53, REGISTRY), "StatefulSet");
  assert.ok(set.metadata.name.length <= 52, set.metadata.name);
  const cases = [
    [45],
    [33, "--set=clickhouse.shards=10"],
    [32, "--set=clickhouse.shards=11"],
    [45, "--set=clickhouse.shards=1,externalClickhouse.address=ch:8123"],
    [53, "--set=agentsOnly.corootURL=http://server"],
  ];
  for (const [longest, ...args] of cases) {
    await template("coroot-ce", longest, ...args);
    if (longest < 53)
      await assert.rejects(template("coroot-ce", longest + 1, ...args), /choose a shorter one/);
  }
});

test("profiling: keys are files, and a receiver elsewhere gets no random ones", async () => {
  const list = await objects("profiling", REGISTRY);
  const { data } = one(list, "Secret");
  for (const key of ["upload-key", "read-key"])
    assert.match(Buffer.from(data[key], "base64").toString(), /^[A-Za-z0-9]{32}$/);
  const store = container(one(list, "StatefulSet"));
  assert.ok(store.args.includes("--read-api-key-file=/etc/coroot/keys/read-key"));
  // node agents do not get the key that reads
  const node = one(list, "DaemonSet").spec.template.spec;
  const { secret } = node.volumes.find((v) => v.name === "keys");
  assert.deepStrictEqual(secret.items, [{ key: "upload-key", path: "upload-key" }]);

  const open = await objects("profiling", REGISTRY, "--set=keys.anonymousRead=true");
  const flags = container(one(open, "StatefulSet")).args.filter((a) => /key|anonymous/.test(a));
  const upload = "--api-key-file=/etc/coroot/keys/upload-key";
  assert.deepStrictEqual(flags, [upload, "--anonymous-read"]);

  const away = await objects("profiling", REGISTRY, "--set=receiver.url=https://away/");
  assert.ok(!away.some((o) => o.kind === "Secret"));
  assert.ok(container(one(away, "DaemonSet")).args.includes("--collector-endpoint=https://away"));
  assert.ok(container(one(away, "StatefulSet")).args.includes("--coroot-url=https://away"));
});

test("profiling: numbers of options keep their digits, and lists are flags", async () => {
  const file = path.join(chart("profiling"), "ci/everything-values.yaml");
  const list = await objects("profiling", "-f", file);
  assert.ok(
    container(one(list, "StatefulSet")).args.includes("--max-wal-size=2147483648"),
  );
  const { args } = container(one(list, "DaemonSet"));
  assert.deepStrictEqual(
    args.filter((a) => a.startsWith("--container-denylist=")),
    ["--container-denylist=^/k8s/kube-system/", "--container-denylist=^/docker/"],
  );
});

test("the dashboard asks for metrics that the agents have", () => {
  const dashboard = JSON.parse(
    fs.readFileSync(path.join(chart("profiling"), "files/dashboard.json"), "utf8"),
  );
  const page = fs
    .readFileSync(path.join(ROOT, "docs/metrics.md"), "utf8")
    .replace(/`AGENT_/g, "`coroot_node_agent_");
  const asked = new Set();
  for (const { targets } of dashboard.panels)
    for (const { expr } of targets)
      for (const [name] of expr.matchAll(/\b(coroot|process)_\w+/g)) asked.add(name);
  assert.ok(asked.size > 10);
  for (const name of asked) assert.ok(page.includes(`| \`${name}\``), name);
});


// The operator makes the pods, and the chart what guards and watches them.
test("coroot-ce: policies and monitors name pods and ports that the operator makes", async () => {
  const file = path.join(chart("coroot-ce"), "ci/guarded-values.yaml");
  const list = await objects("coroot-ce", "-f", file);
  const { metadata, spec } = one(list, "Coroot");
  const resource = { apiVersion: "coroot.com/v1", kind: "Coroot", metadata, spec };
  const args = ["operator", "render", "-"];
  const made = JSON.parse(
    execFileSync(clusterAgent, args, { input: JSON.stringify(resource) }),
  ).items;
  const pods = made.map((o) => o.spec?.template).filter(Boolean);
  const chosen = ({ matchLabels }) =>
    pods.filter((p) => Object.entries(matchLabels).every(([k, v]) => p.metadata.labels[k] === v));
  const portsOf = (pod) => pod.spec.containers[0].ports.map((p) => p.name);
  const policies = list.filter((o) => o.kind === "NetworkPolicy");
  assert.strictEqual(policies.length, 5);
  for (const { metadata: m, spec: policy } of policies) {
    const mine = chosen(policy.podSelector);
    assert.strictEqual(mine.length, 1, m.name);
    for (const rule of policy.ingress) {
      for (const { port } of rule.ports) assert.ok(portsOf(mine[0]).includes(port), m.name);
      for (const peer of rule.from.map((f) => f.podSelector).filter(Boolean))
        if (!peer.matchLabels["app.kubernetes.io/instance"])
          assert.strictEqual(chosen(peer).length, 1, JSON.stringify(peer));
    }
  }
  const monitors = list.filter((o) => o.kind === "PodMonitor");
  assert.deepStrictEqual(
    monitors.map((m) => chosen(m.spec.selector).length),
    [1, 1, 1],
  );
  for (const m of monitors)
    for (const { port } of m.spec.podMetricsEndpoints)
      assert.ok(portsOf(chosen(m.spec.selector)[0]).includes(port));
  const alone = await objects("coroot-ce", "--set=agentsOnly.corootURL=http://x", "-f", file);
  assert.deepStrictEqual(
    alone.filter((o) => o.kind === "NetworkPolicy").map((o) => o.metadata.name),
    ["release-node-agent", "release-cluster-agent"],
  );
});

test("global.imageRegistry is that of all images", async () => {
  const set = "--set=global.imageRegistry=mirror.example.com/x/";
  for (const name of NAMES) {
    const own = name === "coroot-ce" ? "chart.image.registry" : "image.registry";
    const manifests = await charts.text(name, `--set=${own}=registry.example.com`, set);
    assert.match(manifests, /mirror\.example\.com\/x\/coroot-cluster-agent/);
    assert.doesNotMatch(manifests, /registry\.example\.com/);
  }
});

test("profiling: a claim that is there already is used, and none is made", async () => {
  const set = "--set=clusterAgent.persistence.existingClaim=mine";
  const { spec } = one(await objects("profiling", REGISTRY, set), "StatefulSet");
  assert.strictEqual(spec.volumeClaimTemplates, undefined);
  assert.deepStrictEqual(
    spec.template.spec.volumes.filter((v) => v.name === "data"),
    [{ name: "data", persistentVolumeClaim: { claimName: "mine" } }],
  );
});
