// Clusters of cluster.sh: starting and stopping them, and requests to their API server.
"use strict";

const { execFile, spawnSync } = require("node:child_process");
const fs = require("node:fs");
const https = require("node:https");
const path = require("node:path");
const { freePort, root, scratch } = require("../../e2e/lib/daemon");
const { LIMIT_MS, eventually } = require("../../e2e/lib/wait");

const script = path.join(root, "test/kubernetes/cluster.sh");
const pki = path.join(root, "test/kubernetes/pki.sh");

const started = new Set();
process.on("exit", () => {
  for (const c of started) spawnSync(script, ["down"], { env: c.env, stdio: "inherit" });
});

// The program's output; if it fails, its standard error is in the exception.
function run(command, args, { env = process.env, input = "" } = {}) {
  return new Promise((resolve, reject) => {
    const child = execFile(command, args, { env, maxBuffer: 1 << 28 }, (error, stdout, stderr) => {
      if (error)
        reject(
          new Error(`${path.basename(command)} ${args.join(" ")}: ${stderr || error.message}`),
        );
      else resolve(stdout);
    });
    child.stdin.on("error", () => {}); // it may exit without having read it
    child.stdin.end(input);
  });
}

class KubeCluster {
  constructor(dir) {
    this.dir = dir;
    this.env = { ...process.env, KN_DIR: dir };
  }

  // etcd and an API server of the test's own, which ends with it. controllers: with
  // kube-controller-manager and kube-scheduler. apiserverFlags: see cluster.sh.
  static async start({ name = "api", controllers = false, apiserverFlags = "" } = {}) {
    const test = path.basename(require.main.filename, ".test.js");
    const c = new KubeCluster(path.join(root, "build/kubernetes/clusters", `${test}-${name}`));
    Object.assign(c.env, {
      KN_PORT: await freePort(),
      KN_ETCD_PORT: await freePort(),
      KN_CONTROLLERS: controllers ? "1" : "",
      KN_APISERVER_FLAGS: apiserverFlags,
    });
    started.add(c);
    await c.script("up");
    return c.connect();
  }

  // The cluster with a node that run-kubernetes.sh started; in its network namespace we are.
  static shared() {
    if (!process.env.KN_DIR)
      throw new Error("this test runs on a node: use make check-kubernetes KUBERNETES=…");
    return new KubeCluster(process.env.KN_DIR).connect();
  }

  connect() {
    const file = fs.readFileSync(this.kubeconfigFile("admin"), "utf8");
    this.url = /server: "([^"]*)"/.exec(file)[1];
    this.caFile = path.join(this.dir, "pki/ca.crt");
    this.agent = new https.Agent({
      keepAlive: true,
      ca: fs.readFileSync(this.caFile),
      cert: fs.readFileSync(path.join(this.dir, "pki/admin.crt")),
      key: fs.readFileSync(path.join(this.dir, "pki/admin.key")),
    });
    return this;
  }

  // Runs a command of cluster.sh; returns its output.
  script(...args) {
    return run(script, args, { env: this.env });
  }
  async down() {
    this.agent?.destroy();
    await this.script("down");
    started.delete(this);
  }
  // Daemons by name: kube-apiserver, etcd, kubelet, … start() waits until it works and takes
  // new flags of kube-apiserver.
  stop(daemon, signal = "TERM") {
    return this.script("stop", daemon, signal);
  }
  start(daemon, { apiserverFlags } = {}) {
    if (apiserverFlags !== undefined) this.env.KN_APISERVER_FLAGS = apiserverFlags;
    return this.script("start", daemon);
  }
  signal(daemon, signal) {
    return this.script("signal", daemon, signal);
  }
  compact() {
    return this.script("compact");
  }

  kubectl(...args) {
    return this.script("kubectl", ...args);
  }
  async kubectlJson(...args) {
    return JSON.parse(await this.kubectl(...args, "-o", "json"));
  }
  apply(...objects) {
    const input = JSON.stringify({ apiVersion: "v1", kind: "List", items: objects });
    return run(script, ["kubectl", "apply", "-f", "-"], { env: this.env, input });
  }

  // A request to the API server as administrator, or as whoever owns the token. What it answers; an
  // exception with .status when that is not 2xx.
  ask(method, path, body, { type = "application/json", token } = {}) {
    const text = body === undefined ? "" : JSON.stringify(body);
    // node would send a DELETE's body without saying that there is one
    const headers = { "Content-Type": type, "Content-Length": Buffer.byteLength(text) };
    if (token) headers.Authorization = `Bearer ${token}`;
    const agent = token ? new https.Agent({ ca: this.agent.options.ca }) : this.agent;
    return new Promise((resolve, reject) => {
      const r = https.request(
        this.url + path,
        { method, agent, headers, timeout: LIMIT_MS },
        (answer) => {
          let got = "";
          answer.setEncoding("utf8");
          answer.on("data", (piece) => (got += piece));
          answer.on("error", reject);
          answer.on("end", () => {
            if (answer.statusCode < 300) return resolve(got);
            const e = new Error(`${method} ${path}: ${answer.statusCode} ${got}`);
            reject(Object.assign(e, { status: answer.statusCode }));
          });
        },
      );
      r.on("timeout", () => r.destroy(new Error(`${method} ${path}: no answer`)));
      r.on("error", reject);
      r.end(text);
    });
  }
  async request(...args) {
    return JSON.parse(await this.ask(...args));
  }
  get(path) {
    return this.request("GET", path);
  }
  post(path, body) {
    return this.request("POST", path, body);
  }
  // a JSON merge patch: null removes
  patch(path, body) {
    return this.request("PATCH", path, body, { type: "application/merge-patch+json" });
  }
  delete(path) {
    return this.request("DELETE", path, { gracePeriodSeconds: 0 });
  }
  // The events of a watch that the server ends, by timeoutSeconds in the path.
  async watch(path) {
    const lines = (await this.ask("GET", path)).split("\n");
    return lines.filter(Boolean).map((line) => JSON.parse(line));
  }

  // ---- accounts and rights ----

  // A service account with the rights of a ClusterRole's rules; without rules it has none.
  async serviceAccount(namespace, name, rules = []) {
    const rbac = "/apis/rbac.authorization.k8s.io/v1";
    const full = `${namespace}-${name}`;
    const metadata = { name: full };
    await this.post(`/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name } });
    await this.post(`${rbac}/clusterroles`, { metadata, rules });
    await this.post(`${rbac}/clusterrolebindings`, {
      metadata,
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: full },
      subjects: [{ kind: "ServiceAccount", namespace, name }],
    });
    if (rules.length > 0)
      await this.isGranted(`system:serviceaccount:${namespace}:${name}`, rules[0]);
  }
  // The rights of a Role's rules, for an account of this or another namespace.
  async role(namespace, name, rules, account) {
    const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`;
    const metadata = { name };
    await this.post(`${rbac}/roles`, { metadata, rules });
    await this.post(`${rbac}/rolebindings`, {
      metadata,
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name },
      subjects: [{ kind: "ServiceAccount", ...account }],
    });
    const user = `system:serviceaccount:${account.namespace}:${account.name}`;
    await this.isGranted(user, rules[0], namespace);
  }
  // What an account may do outlives its namespace.
  async revoke(namespace, name) {
    const rbac = "/apis/rbac.authorization.k8s.io/v1";
    for (const kind of ["clusterrolebindings", "clusterroles"])
      await this.delete(`${rbac}/${kind}/${namespace}-${name}`);
  }
  // The authorizer learns of roles by a watch, some time after they were written.
  isGranted(user, { apiGroups: [group], resources: [resource], verbs: [verb] }, namespace) {
    const spec = { user, resourceAttributes: { namespace, group, resource, verb } };
    const ask = () => this.post("/apis/authorization.k8s.io/v1/subjectaccessreviews", { spec });
    return eventually(`${user} may ${verb} ${resource}`, async () => (await ask()).status.allowed);
  }
  // Its token, bound to nothing else; ten minutes are the least that an API server gives. It is
  // refused from some ten seconds after the account is deleted.
  async token(namespace, name, seconds = 3600) {
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`;
    return (await this.post(path, { spec: { expirationSeconds: seconds } })).status.token;
  }

  // A certificate of the cluster's CA; the names of its files. names as in DNS:a.test,IP:10.0.0.1.
  async certificate(name, { usage = "serverAuth", subject = `/CN=${name}`, names = "" } = {}) {
    await run(pki, ["cert", this.dir, name, subject, usage, names]);
    const file = (end) => path.join(this.dir, "pki", `${name}.${end}`);
    return { certFile: file("crt"), keyFile: file("key"), caFile: this.caFile };
  }

  // What pki.sh made: admin, kubelet, kube-proxy, …
  kubeconfigFile(user) {
    return path.join(this.dir, "kubeconfig", user);
  }
  // A kubeconfig with that user entry, e.g. { token }, { tokenFile }, { exec: {…} },
  // { "client-certificate": …, "client-key": … }; cluster replaces parts of the cluster entry.
  writeKubeconfig(user, { cluster = {}, namespace } = {}) {
    const file = `${scratch("kubeconfig")}.json`;
    const entry = { server: this.url, "certificate-authority": this.caFile, ...cluster };
    const config = {
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "c", cluster: entry }],
      users: [{ name: "u", user }],
      contexts: [{ name: "x", context: { cluster: "c", user: "u", namespace } }],
      "current-context": "x",
    };
    fs.writeFileSync(file, JSON.stringify(config)); // which is YAML too
    return file;
  }
}

module.exports = { KubeCluster, run };
