// A machine of its own for container runtimes, as far as they can tell: see ../node.sh.
"use strict";

const { execFile, execFileSync, spawn } = require("node:child_process");
const crypto = require("node:crypto");
const fs = require("node:fs");
const http = require("node:http");
const path = require("node:path");
const { promisify } = require("node:util");
const { root, scratch, runDir } = require("../../e2e/lib/daemon");
const { LIMIT_MS, eventually } = require("../../e2e/lib/wait");

const run = promisify(execFile);
const cgroups = path.join(root, "test/containers/cgroups.sh");
const burn = path.join(root, "build/containers/burn");
const images = ["burn", "pause"].map((i) => path.join(root, `build/containers/${i}.tar`));
const newId = () => crypto.randomBytes(32).toString("hex");

class ContainerNode {
  #entered = []; // every nsenter that has a daemon

  // Clears away what a killed run has left: its cgroups; everything else has ended with it.
  static async start() {
    const node = new ContainerNode();
    node.dir = path.resolve(scratch("node"));
    node.cgroup = `ct-${crypto.createHash("sha256").update(runDir).digest("hex").slice(0, 8)}`;
    fs.mkdirSync(node.dir, { recursive: true });
    execFileSync(cgroups, ["remove", node.cgroup]);
    execFileSync(cgroups, ["make", node.cgroup]);
    // each of them ends with its parent, and the last with all its namespace
    node.holder = spawn(
      "setpriv",
      [
        ...["--pdeathsig", "KILL", "--", "unshare"],
        ...["--mount", "--pid", "--fork", "--kill-child", "--mount-proc"],
        ...["--propagation", "private"],
        ...[path.join(root, "test/containers/node.sh"), node.dir, node.cgroup],
      ],
      { stdio: ["ignore", "inherit", "inherit"] },
    );
    process.on("exit", () => node.holder.kill("SIGKILL"));
    await eventually("a node", () => fs.existsSync(path.join(node.dir, "ready")));
    const { pid } = node.holder;
    node.init = Number(fs.readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8"));
    node.env = {
      ...process.env,
      CONTAINERS_CONF: path.join(node.dir, "containers.conf"),
      CONTAINERS_STORAGE_CONF: path.join(node.dir, "storage.conf"),
      TMPDIR: path.join(node.dir, "tmp"),
    };
    return node;
  }

  // where the agent sees its files
  get root() {
    return `/proc/${this.init}/root`;
  }

  #inside(command) {
    return ["nsenter", [`--target=${this.init}`, "--mount", "--pid", "--", ...command]];
  }

  async run(...command) {
    const [file, args] = this.#inside(command);
    const options = { env: this.env, timeout: LIMIT_MS, maxBuffer: 16 << 20 };
    return (await run(file, args, options)).stdout.trim();
  }

  // A daemon of this machine, which ends with it.
  spawn(name, ...command) {
    const [file, args] = this.#inside(command);
    const log = fs.openSync(path.join(runDir, `${name}.log`), "a");
    const child = spawn(file, args, { env: this.env, stdio: ["ignore", log, log] });
    fs.closeSync(log);
    this.#entered.push(child);
    // nsenter is its parent; the daemon is in its list of children
    const { pid } = child;
    return {
      signal(name) {
        const children = fs.readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8");
        for (const p of children.split(" ").filter(Boolean)) process.kill(Number(p), name);
      },
    };
  }

  get containerd() {
    return `${this.root}/run/containerd/containerd.sock`;
  }

  podman(...args) {
    return this.run("podman", ...args);
  }

  // A container on the node's network, below our cgroup.
  podmanRun(name, ...args) {
    const options = ["--network=host", `--cgroup-parent=/${this.cgroup}`, `--name=${name}`];
    return this.podman("run", ...options, ...args);
  }

  // Podman's service, which is Docker's API too, at a socket of this machine.
  async serve(socket) {
    const file = this.root + socket;
    fs.rmSync(file, { force: true });
    fs.mkdirSync(path.dirname(file), { recursive: true });
    const d = this.spawn("podman", "podman", "system", "service", "--time=0", `unix://${socket}`);
    await eventually(socket, () => fs.existsSync(file));
    return d;
  }

  async startContainerd() {
    const config = path.join(this.dir, "containerd.toml");
    const d = this.spawn("containerd", "containerd", "--config", config);
    await eventually("containerd", () => this.run("ctr", "version"));
    return d;
  }

  // build/containers/*.tar and an image without files, as localhost/<name>:1
  async importImages() {
    for (const tar of images) await this.podman("load", "--quiet", "--input", tar);
    const empty = path.join(this.dir, "empty.tar");
    fs.writeFileSync(empty, Buffer.alloc(1024));
    await this.podman("import", "--quiet", empty, "localhost/empty:1");
  }
  async importImagesToContainerd() {
    for (const tar of images)
      for (const namespace of ["k8s.io", "default"])
        await this.run("ctr", `--namespace=${namespace}`, "images", "import", tar);
  }

  // Makes containers that Docker's API knows but that do not run: { name, config }. The ids.
  async dockerCreate(containers) {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 8 });
    const create = ({ name, config }) =>
      new Promise((resolve, reject) => {
        const request = http.request({
          agent,
          socketPath: `${this.root}/run/docker.sock`,
          path: `/containers/create?name=${name}`,
          method: "POST",
          headers: { "content-type": "application/json" },
        });
        request.on("error", reject);
        request.on("response", async (response) => {
          const body = JSON.parse(Buffer.concat(await response.toArray()));
          if (response.statusCode === 201) resolve(body.Id);
          else reject(new Error(`create ${name}: ${body.message}`));
        });
        const defaults = { HostConfig: { NetworkMode: "host" }, Cmd: ["/burn"] };
        request.end(JSON.stringify({ ...defaults, ...config }));
      });
    const ids = await Promise.all(containers.map(create));
    agent.destroy();
    return ids;
  }

  // The files by which a process joins a cgroup, in all hierarchies or in those named; makes it.
  cgroupFiles(name, controllers) {
    const base = "/sys/fs/cgroup";
    const all = fs.existsSync(`${base}/cgroup.controllers`)
      ? [base]
      : (controllers ?? fs.readdirSync(base)).map((t) => path.join(base, t));
    return [...new Set(all.map((t) => fs.realpathSync(t)))].map((tree) => {
      const group = path.join(tree, this.cgroup, name);
      fs.mkdirSync(group, { recursive: true });
      return path.join(group, "cgroup.procs");
    });
  }

  // Runs a program as runc does for the runtimes: a bundle with this cgroup. change(config, rootfs)
  // may make it another container than one of "burn".
  async runc(cgroup, args, id = newId(), change = () => {}) {
    const bundle = path.join(this.dir, "bundles", id);
    const rootfs = path.join(bundle, "rootfs");
    fs.mkdirSync(rootfs, { recursive: true });
    fs.copyFileSync(burn, path.join(rootfs, "burn"));
    await this.run("sh", "-c", 'cd "$1" && runc spec', "sh", bundle);
    const file = path.join(bundle, "config.json");
    const config = JSON.parse(fs.readFileSync(file, "utf8"));
    config.process.args = ["/burn", ...args];
    config.process.terminal = false;
    delete config.process.rlimits;
    config.linux.cgroupsPath = `/${this.cgroup}/${cgroup.replace("ID", id)}`;
    config.linux.namespaces = config.linux.namespaces.filter(
      (n) => n.type !== "network" && n.type !== "cgroup",
    );
    change(config, rootfs);
    fs.writeFileSync(file, JSON.stringify(config));
    // its output is the container's too
    const command = 'runc run --detach --bundle "$0" "$1" >"$0/log" 2>&1';
    await this.run("sh", "-c", command, bundle, id);
    return id;
  }

  // The root of a container as runtimes make it: the folder of an image, which others share, below
  // one of its own. For runc().
  async overlay(image, id) {
    const own = path.join(this.dir, "overlays", id);
    const [upper, work, merged] = ["upper", "work", "merged"].map((d) => path.join(own, d));
    for (const dir of [upper, work, merged]) fs.mkdirSync(dir, { recursive: true });
    const options = `lowerdir=${image},upperdir=${upper},workdir=${work}`;
    await this.run("mount", "-t", "overlay", "-o", options, "overlay", merged);
    return merged;
  }

  async runcKill(id) {
    await this.run("runc", "kill", id, "KILL");
  }

  // nsenter stops itself when its child is stopped, and then outlives it: Node would wait for it.
  stop() {
    for (const child of [this.holder, ...this.#entered]) child.kill("SIGKILL");
    execFileSync(cgroups, ["remove", this.cgroup]);
  }
}

module.exports = { ContainerNode, newId };
