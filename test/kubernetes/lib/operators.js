// Operators as processes beside the test, with the rights that docs/operator.md lists, and what
// they made of Coroot resources.
"use strict";

const { execFileSync } = require("node:child_process");
const fs = require("node:fs");
const https = require("node:https");
const path = require("node:path");
const { Daemon, clusterAgent, freePort, root, scratch } = require("../../e2e/lib/daemon");
const { eventually } = require("../../e2e/lib/wait");

const OPERATOR = "coroot_cluster_agent_operator_";

// The table of rights as rules of RBAC, those of a "ClusterRole" or of a "Role".
function documentedRules(where) {
  const text = fs.readFileSync(path.join(root, "docs/operator.md"), "utf8");
  const row = new RegExp(`^\\| ${where}\\b[^|]*\\|([^|]*)\\|([^|]*)\\|([^|]*)\\|`, "gm");
  const words = (cell) => cell.replaceAll("`", "").trim().split(/,\s*/);
  return [...text.matchAll(row)].map(([, group, resources, verbs]) => ({
    apiGroups: [group.trim() === "core" ? "" : words(group)[0]],
    resources: words(resources),
    verbs: words(verbs),
  }));
}

// What is granted in the operator's own namespace only, granted in another one: as the chart does
// for each of rbac.secretNamespaces.
const grantOwnRights = (cluster, namespace, account = "operator") =>
  cluster.role(namespace, `default-${account}`, documentedRules("Role"), {
    namespace: "default",
    name: account,
  });

// A kubeconfig of an account that has the documented rights, where it is said to have them, and no
// others.
async function operatorKubeconfig(cluster, account = "operator") {
  await cluster.serviceAccount("default", account, documentedRules("ClusterRole"));
  await grantOwnRights(cluster, "default", account);
  return cluster.writeKubeconfig(
    { token: await cluster.token("default", account) },
    { namespace: "default" },
  );
}

async function startOperator({ kubeconfig, args = [], path: until = "/readyz" }) {
  const port = await freePort();
  const d = new Daemon(
    clusterAgent,
    [
      "operator",
      `--listen=127.0.0.1:${port}`,
      `--kubeconfig=${kubeconfig}`,
      "--node-agent-image=example.com/node-agent:1",
      "--cluster-agent-image=example.com/cluster-agent:1",
      "--store-image=example.com/store:1",
      "--log-level=debug",
      ...args,
    ],
    { url: `http://127.0.0.1:${port}`, name: "operator" },
  );
  return d.ready(until);
}

const coroots = (namespace = "default") => `/apis/coroot.com/v1/namespaces/${namespace}/coroots`;
const apps = (kind, name) => `/apis/apps/v1/namespaces/default/${kind}/${name}`;
const core = (kind, name) => `/api/v1/namespaces/default/${kind}/${name}`;
const rbac = (kind, name) => `/apis/rbac.authorization.k8s.io/v1/${kind}/${name}`;

const create = (cluster, name, spec = {}) => {
  const metadata = { name };
  return cluster.post(coroots(), { apiVersion: "coroot.com/v1", kind: "Coroot", metadata, spec });
};

const condition = (resource, type) => resource.status?.conditions?.find((c) => c.type === type);

const CRD = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/coroots.coroot.com";

// Until its resources are served. A new definition has `conditions: null`, at which kubectl wait
// ends with an error.
async function installCrd(cluster) {
  const file = `${scratch("crd")}.yaml`;
  fs.writeFileSync(file, execFileSync(clusterAgent, ["operator", "crd"]));
  await cluster.kubectl("apply", "--server-side", "-f", file);
  await eventually(
    "the definition",
    async () => condition(await cluster.get(CRD), "Established")?.status === "True",
  );
  await eventually("coroots to be served", () => cluster.get(coroots()));
}

// Waits until the status is about the present generation and fulfils check; returns the resource.
function settles(cluster, name, check = (r) => r.status.status === "OK") {
  return eventually(`the status of ${name}`, async () => {
    const r = await cluster.get(`${coroots()}/${name}`);
    if (r.status?.observedGeneration !== r.metadata.generation || !check(r))
      throw new Error(JSON.stringify(r.status));
    return r;
  });
}

const exists = (cluster, path) =>
  cluster.get(path).then(
    (object) => object,
    (e) => {
      if (e.status === 404) return null;
      throw e;
    },
  );
const appears = (cluster, path) => eventually(path, () => exists(cluster, path));
const vanishes = (cluster, path) =>
  eventually(`${path} is gone`, async () => !(await exists(cluster, path)));

// An API server that answers some requests itself: fault(method, path) is a status, or 0.
async function startFaultyServer(t, cluster) {
  const { certFile, keyFile } = await cluster.certificate("faulty", { names: "IP:127.0.0.1" });
  const target = new URL(cluster.url);
  const agent = new https.Agent({ keepAlive: true, ca: fs.readFileSync(cluster.caFile) });
  const faulty = { fault: () => 0, requests: [] };
  const server = https.createServer(
    { cert: fs.readFileSync(certFile), key: fs.readFileSync(keyFile) },
    (request, answer) => {
      faulty.requests.push(`${request.method} ${request.url}`);
      const status = faulty.fault(request.method, request.url);
      if (status) {
        request.resume();
        answer.writeHead(status, { "Content-Type": "application/json" });
        answer.end(JSON.stringify({ kind: "Status", code: status, message: "made up" }));
        return;
      }
      const options = { agent, method: request.method, headers: request.headers };
      options.headers.host = target.host;
      const outer = https.request(target.origin + request.url, options, (inner) => {
        answer.writeHead(inner.statusCode, inner.headers);
        inner.pipe(answer);
        inner.on("error", () => answer.destroy());
      });
      outer.on("error", () => answer.destroy());
      answer.on("close", () => outer.destroy());
      request.pipe(outer);
    },
  );
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  faulty.url = `https://127.0.0.1:${server.address().port}`;
  t.after(() => {
    server.closeAllConnections();
    server.close();
    agent.destroy();
  });
  return faulty;
}

module.exports = {
  OPERATOR,
  appears,
  apps,
  condition,
  core,
  coroots,
  create,
  exists,
  grantOwnRights,
  installCrd,
  operatorKubeconfig,
  rbac,
  settles,
  startFaultyServer,
  startOperator,
  vanishes,
};
