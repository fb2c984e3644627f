// The charts on OpenShift: what admits each pod, by the fields of SecurityContextConstraints.
"use strict";

const test = require("node:test");
const assert = require("node:assert");
const { execFileSync } = require("node:child_process");
const charts = require("./rendered_charts.js");
const { BUILT_IN, problems } = require("./scc.js");
const { clusterAgent } = require("../e2e/lib/daemon.js");

const { REGISTRY, objects, one, each } = charts;
const OPENSHIFT = "--api-versions=security.openshift.io/v1";

// Constraints that the accounts of a list of objects may use, by name: `account`, or all.
function usable(list, account) {
  const mine = (b) => !account || b.subjects.some((s) => s.name === account);
  return list
    .filter((o) => /RoleBinding$/.test(o.kind) && mine(o))
    .map((b) => one(list, b.roleRef.kind, b.roleRef.name))
    .flatMap((role) => role.rules)
    .filter((rule) => rule.resources.includes("securitycontextconstraints"))
    .flatMap((rule) => {
      assert.deepStrictEqual(rule.apiGroups, ["security.openshift.io"]);
      assert.deepStrictEqual(rule.verbs, ["use"]);
      return rule.resourceNames;
    });
}

const podOf = (workload) => workload.spec.template.spec;
const isAdmitted = (scc, pod) => assert.deepStrictEqual(problems(scc, pod), []);
const isRefused = (scc, pod) => assert.notStrictEqual(problems(scc, pod).length, 0);

function rendered(spec, scc) {
  const resource = { apiVersion: "coroot.com/v1", kind: "Coroot", metadata: { name: "x" }, spec };
  const env = { ...process.env };
  delete env.NODE_AGENT_SCC;
  if (scc) env.NODE_AGENT_SCC = scc;
  const args = ["operator", "render", "-"];
  return JSON.parse(execFileSync(clusterAgent, args, { input: JSON.stringify(resource), env }))
    .items;
}

const ASKING = ["GO_HEAP_PROFILER=force", "ENABLE_JAVA_ASYNC_PROFILER=true"].map((variable) => {
  const [name, value] = variable.split("=");
  return { name, value };
});

test("elsewhere nothing of it is there", async () => {
  const lists = [
    await objects("coroot-operator", REGISTRY),
    await objects("coroot-operator", REGISTRY, OPENSHIFT, "--set=openshift.enabled=false"),
    await objects("profiling", REGISTRY),
    rendered({ clickhouse: {} }),
  ];
  for (const list of lists)
    assert.doesNotMatch(JSON.stringify(list), /securitycontextconstraints|NODE_AGENT_SCC|spc_t/i);
});

test("the operator may use, and so pass on, what admits its pod and those it makes", async () => {
  for (const how of [OPENSHIFT, "--set=openshift.enabled=true"]) {
    const list = await objects("coroot-operator", REGISTRY, how);
    const deployment = one(list, "Deployment");
    const scc = one(list, "SecurityContextConstraints");
    assert.deepStrictEqual(usable(list).sort(), ["nonroot-v2", scc.metadata.name].sort());
    isRefused(BUILT_IN["restricted-v2"], podOf(deployment));
    isAdmitted(BUILT_IN["nonroot-v2"], podOf(deployment));
    const { env } = podOf(deployment).containers[0];
    assert.deepStrictEqual(
      env.filter((e) => e.name === "NODE_AGENT_SCC"),
      [{ name: "NODE_AGENT_SCC", value: scc.metadata.name }],
    );

    const made = rendered({ clickhouse: {}, nodeAgent: { env: ASKING } }, scc.metadata.name);
    const workloads = made.filter((o) => o.spec?.template?.spec);
    assert.strictEqual(workloads.length, 5);
    for (const w of workloads) {
      const pod = podOf(w);
      const isNodeAgent = w.kind === "DaemonSet";
      isRefused(BUILT_IN["restricted-v2"], pod);
      (isNodeAgent ? isRefused : isAdmitted)(BUILT_IN["nonroot-v2"], pod);
      if (isNodeAgent) isAdmitted(scc, pod);
      assert.deepStrictEqual(usable(made, pod.serviceAccountName), [
        isNodeAgent ? scc.metadata.name : "nonroot-v2",
      ]);
    }
  }
});

test("constraints that are there already can be named", async () => {
  const set = "--set=openshift.nodeAgentScc=privileged";
  for (const name of ["coroot-operator", "profiling"]) {
    const list = await objects(name, REGISTRY, OPENSHIFT, set);
    assert.ok(!list.some((o) => o.kind === "SecurityContextConstraints"));
    assert.ok(usable(list).includes("privileged"));
  }
});

const SWITCHES = [
  "",
  "nodeAgent.options.go-heap-profiler=force,nodeAgent.options.enable-java-async-profiler=true",
  "nodeAgent.capabilities.sysResource=true",
  "nodeAgent.privileged=true",
  "nodeAgent.spool.type=emptyDir",
];

test("profiling: each account may use what admits its pods, whatever they are given", async () => {
  await each(SWITCHES, async (set) => {
    const list = await objects("profiling", REGISTRY, OPENSHIFT, `--set=${set}`);
    const scc = one(list, "SecurityContextConstraints");
    const [agent, server] = [one(list, "DaemonSet"), one(list, "StatefulSet")].map(podOf);
    isAdmitted(scc, agent);
    isRefused(BUILT_IN["nonroot-v2"], agent);
    isAdmitted(BUILT_IN["nonroot-v2"], server);
    assert.deepStrictEqual(usable(list, agent.serviceAccountName), [scc.metadata.name]);
    assert.deepStrictEqual(usable(list, server.serviceAccountName), ["nonroot-v2"]);
    assert.deepStrictEqual(agent.containers[0].securityContext.seLinuxOptions, { type: "spc_t" });
  });
});

test("pods of `helm test`, whose account has no rights, are admitted as they are", async () => {
  const lists = [
    await objects("profiling", REGISTRY, OPENSHIFT),
    await objects("coroot-ce", "--set=chart.image.registry=r.example.com", OPENSHIFT),
  ];
  for (const list of lists) isAdmitted(BUILT_IN["restricted-v2"], one(list, "Pod").spec);
});
