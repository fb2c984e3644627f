// An application in the shared cluster that our agents profile, and how its profiles reach a user:
// the same whoever installed the agents.
"use strict";

const assert = require("node:assert");
const { openBrowser, drawnFrames } = require("../../e2e/lib/browser");
const { api, flame } = require("../../e2e/lib/query");
const { eventually } = require("../../e2e/lib/wait");
const { rolledOut } = require("./helm");
const { goVersions, workloadPod } = require("./workload_pods");

const namespace = "market"; // names.node.test.js has "shop"
const service = `/k8s/${namespace}/catalog`;
// a program without a memory profiler, until somebody forces it on
const forcedService = `/k8s/${namespace}/silent`;

const SAMPLED = "ebpf:cpu:nanoseconds";
const READ = "go_runtime:heap_inuse_space:bytes";
const SCRAPED = "go:profile_cpu:nanoseconds";
// every type that the page must offer, with a function that must be in it
const TYPES = {
  [SAMPLED]: "main.burnCPU",
  [SCRAPED]: "main.burnCPU",
  [READ]: "main.makeObject",
  "go:heap_inuse_space:bytes": "main.makeObject",
  "go:goroutine_goroutine:count": "main.parkForever",
};

// Environment of the agents: intervals of tests, and the node-agent leaves everything else on this
// machine alone, which its namespace of processes shows.
const nodeAgentEnv = {
  PROFILE_INTERVAL: "3s",
  GO_HEAP_INTERVAL: "3s",
  CONTAINER_ALLOWLIST: `^/k8s/${namespace}/`,
};
const clusterAgentEnv = {
  PROFILES_SCRAPE_INTERVAL: "3s",
  PROFILES_SCRAPE_TIMEOUT: "60s",
  PROFILES_SCRAPE_CPU_DURATION: "1s",
};
const envList = (variables) => Object.entries(variables).map(([name, value]) => ({ name, value }));

function deployment(name, spec) {
  const labels = { app: name };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace },
    spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
  };
}

// Two Deployments that know nothing of profiling, whose users are not root.
async function startShop(cluster) {
  await cluster.post("/api/v1/namespaces", { metadata: { name: namespace } });
  const load = ["-exact", "-cpu=60", "-heap-objects=100", "-goroutines=5"];
  const { spec } = workloadPod({ name: "catalog", goVersion: goVersions.at(-1), args: load });
  const securityContext = { runAsUser: 1000 };
  const silent = { name: "silent", image: "localhost/goforce:1", imagePullPolicy: "Never" };
  await cluster.apply(
    deployment("catalog", { ...spec, securityContext }),
    deployment("silent", { securityContext, containers: [{ ...silent, args: ["5s"] }] }),
  );
  await rolledOut(cluster, namespace, "deployments", "catalog");
  await rolledOut(cluster, namespace, "deployments", "silent");
}

// The only thing that a developer does.
async function annotateCatalog(cluster) {
  const annotations = ["coroot.com/profile-scrape=true", "coroot.com/profile-port=8080"];
  const { items } = await cluster.get(`/api/v1/namespaces/${namespace}/pods`);
  const pod = items.find((p) => p.metadata.labels.app === "catalog").metadata.name;
  await cluster.kubectl("-n", namespace, "annotate", "--overwrite", "pod", pod, ...annotations);
}

async function stopShop(cluster) {
  await cluster.kubectl("delete", "namespace", namespace, "--ignore-not-found", "--wait=false");
  await eventually(`no namespace ${namespace}`, async () => {
    const { items } = await cluster.get("/api/v1/namespaces");
    return !items.some((n) => n.metadata.name === namespace);
  });
}

const until = (ms) => ({ from: ms - 3600e3, to: ms });
const ofShop = async (server) => {
  const { applications } = await api(server, "applications", until(Date.now() + 60e3));
  return applications.filter((a) => a.service.includes(namespace));
};

// Whether a type's flame graph has a function, in profiles from fromMs on.
async function shows(server, type, name, fromMs = 0, application = service) {
  const range = { from: fromMs || Date.now() - 3600e3, to: Date.now() + 60e3 };
  const graph = await flame(server, { service: application, type, ...range });
  return graph.total > 0 && graph.find(name).length > 0;
}

// Waits until profiles of all types are there, and asserts that they have one name.
async function assertChain(server, { types = Object.keys(TYPES), fromMs = 0 } = {}) {
  await eventually("all profiles of the catalog", async () => {
    const found = (await ofShop(server)).find((a) => a.service === service);
    const known = new Set(found?.types.map((t) => t.type));
    if (!types.every((t) => known.has(t))) throw new Error(JSON.stringify(found));
    return true;
  });
  for (const type of types)
    await eventually(`${TYPES[type]} in ${type}`, () => shows(server, type, TYPES[type], fromMs));
  const names = (await ofShop(server)).map((a) => a.service);
  assert.deepStrictEqual(
    names.filter((n) => n !== forcedService),
    [service],
  );
}

// What a user sees: the catalog in the list, and each of its types drawn.
async function assertPage(server, types = Object.keys(TYPES)) {
  const { browser, page } = await openBrowser();
  try {
    await page.goto(server.url);
    const row = page.locator(`[data-testid="application"][data-service="${service}"]`);
    await row.waitFor();
    await row.locator("a").first().click();
    for (const type of types) {
      await page.locator('[data-testid="all-types"]').click();
      await page.locator(`[data-testid="type-item-${type}"]`).click();
      await eventually(`${type} is drawn`, async () => {
        const shown = new URL(page.url()).searchParams.get("type") === type;
        const frames = await drawnFrames(page);
        return shown && frames.some((f) => f.name === TYPES[type]);
      });
    }
    await page.picture("catalog");
    assert.deepStrictEqual(page.errors, []);
  } finally {
    await browser.close();
  }
}

module.exports = {
  READ,
  SAMPLED,
  SCRAPED,
  annotateCatalog,
  assertChain,
  assertPage,
  clusterAgentEnv,
  envList,
  forcedService,
  nodeAgentEnv,
  service,
  shows,
  startShop,
  stopShop,
  until,
};
