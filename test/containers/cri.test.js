// What the node agent's CRI source learns from a real containerd, by cri_names.
"use strict";

const assert = require("node:assert");
const { execFileSync, spawn } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const { after, before, test } = require("node:test");
const { root, runDir, scratch } = require("../e2e/lib/daemon");
const { eventually } = require("../e2e/lib/wait");
const { CriClient } = require("./lib/cri_client");

const bin = process.env.BIN || path.join(root, "build/release");
const dir = path.resolve(scratch("containerd"));
const socket = path.join(dir, "c.sock");
// one folder of cgroups for all pods, gone with them
const cgroup = `/cri-test-${process.pid}`;
const IMAGE = "localhost/sleep:1";

let daemon, cri;
const pods = [];

// In namespaces of its own, so that shims and mounts end with it.
function startContainerd() {
  fs.mkdirSync(dir, { recursive: true });
  fs.writeFileSync(
    path.join(dir, "config.toml"),
    `version = 2
root = "${dir}/root"
state = "${dir}/run"
disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.aufs"]
[grpc]
  address = "${socket}"
[plugins."io.containerd.internal.v1.opt"]
  path = "${dir}/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${IMAGE}"
  restrict_oom_score_adj = true
  disable_apparmor = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "native"
`,
  );
  const log = fs.openSync(path.join(runDir, "containerd.log"), "a");
  daemon = spawn(
    "setpriv",
    [
      ...["--pdeathsig", "KILL", "--", "unshare", "--mount", "--pid", "--fork", "--kill-child"],
      ...["--mount-proc", "containerd", "--config", path.join(dir, "config.toml")],
    ],
    { stdio: ["ignore", log, log] },
  );
  process.on("exit", () => daemon.kill("SIGKILL"));
}

// The last that was found of each id, and how the question ended.
function names(ids, node = "node-1") {
  const out = execFileSync(path.join(bin, "test/containers/cri_names"), [socket, node], {
    input: ids.join("\n"),
    encoding: "utf8",
  });
  const lines = out.trim().split("\n").map(JSON.parse);
  const end = lines.pop();
  return { end, of: new Map(lines.map((facts) => [facts.id, facts])) };
}

async function runPod(options) {
  const pod = await cri.runPod({ cgroupParent: cgroup, ...options });
  pods.push(pod);
  return pod;
}

before(async () => {
  startContainerd();
  const tar = path.join(dir, "sleep.tar");
  execFileSync(path.join(root, "test/kubernetes/make-image.sh"), [tar, IMAGE, "sleep", "100000"]);
  await eventually("containerd", () => {
    execFileSync("ctr", ["--address", socket, "-n", "k8s.io", "images", "import", tar]);
    return true;
  });
  cri = new CriClient(socket);
  await cri.ready();
});

after(async () => {
  for (const pod of pods) await cri.removePod(pod).catch(() => {});
  cri?.close();
  daemon?.kill("SIGKILL");
  const base = "/sys/fs/cgroup";
  for (const tree of [".", ...fs.readdirSync(base)]) {
    try {
      fs.rmdirSync(path.join(base, tree, cgroup));
    } catch {
      // a file, or a hierarchy in which nothing was made
    }
  }
  fs.rmSync(dir, { recursive: true, force: true });
});

test("containers, their pods, images and pause containers have names", async () => {
  const { runtime } = await cri.version();
  assert.equal(runtime, "containerd");
  const [{ id: imageId }] = await cri.listImages();
  const pod = await runPod({ name: "web-7d4b9c6f5-abcde", namespace: "shop" });
  const id = await cri.runContainer(pod, { name: "app", image: imageId });
  const expected = {
    namespace: "shop",
    pod: "web-7d4b9c6f5-abcde",
    uid: pod.uid,
    owner: "",
    disabled: "",
  };
  const unknown = "0".repeat(64);
  // alone, among few and among many
  for (const others of [[], [unknown], Array.from({ length: 20 }, (_, i) => unknown + i)]) {
    const { end, of } = names([id, ...others, pod.id]);
    assert.equal(end.error, "");
    assert.deepEqual(of.get(id), { id, name: "app", image: IMAGE, sandbox: "", ...expected });
    const pause = { id: pod.id, name: "", image: "", sandbox: "yes", ...expected };
    assert.deepEqual(of.get(pod.id), pause);
    assert.equal(of.has(unknown), false);
  }
});

test("annotations exclude a pod, and say that one is static", async () => {
  const disabled = await runPod({
    name: "secret-0",
    annotations: { "coroot.com/ebpf-profiling": "disabled" },
  });
  const fixed = await runPod({
    name: "etcd-node-1",
    namespace: "kube-system",
    annotations: { "kubernetes.io/config.source": "file" },
  });
  const secret = await cri.runContainer(disabled, { name: "app", image: IMAGE });
  const etcd = await cri.runContainer(fixed, { name: "etcd", image: IMAGE });
  const { of } = names([secret, etcd]);
  assert.equal(of.get(secret).disabled, "yes");
  assert.equal(of.get(secret).image, IMAGE);
  assert.equal(of.get(etcd).disabled, "");
  assert.equal(of.get(etcd).owner, "etcd");
});

test("labels that controllers set on a pod say whose it is", async () => {
  const hash = "7d4b9c6f5";
  const cases = [
    [`web-${hash}-x2x4z`, { "pod-template-hash": hash }, {}, "web"],
    ["shop-db-x2x4z", { "controller-revision-hash": hash }, {}, "shop-db"],
    ["report-1-x2x4z", { "job-name": "report-1" }, {}, "report-1"],
    ["alone-2", { app: "alone" }, {}, ""],
    ["front-0", {}, { "coroot.com/custom-application-name": "till" }, "till"],
  ];
  for (const [name, labels, annotations, owner] of cases) {
    const pod = await runPod({ name, labels, annotations });
    assert.equal(names([pod.id]).of.get(pod.id).owner, owner, name);
  }
});

test("of two tags of one image, none is taken for what was asked for", async () => {
  const ctr = (...args) => execFileSync("ctr", ["--address", socket, "-n", "k8s.io", ...args]);
  ctr("images", "tag", IMAGE, "localhost/sleep:rc1");
  const both = await eventually("two tags", async () => {
    const [image] = await cri.listImages();
    return image.names.length === 2 && image;
  });
  const pod = await runPod({ name: "tagged" });
  const id = await cri.runContainer(pod, { name: "app", image: both.id });
  assert.equal(names([id]).of.get(id).image, "localhost/sleep");
  ctr("images", "rm", "localhost/sleep:rc1");
});

test("a container that has ended is still known; one that was removed is not", async () => {
  const pod = await runPod({ name: "job-xyz12" });
  const id = await cri.runContainer(pod, { name: "app", image: IMAGE });
  await cri.stopContainer(id);
  assert.equal(names([id]).of.get(id).pod, "job-xyz12");
  await cri.removeContainer(id);
  const { end, of } = names([id]);
  assert.equal(end.error, "");
  assert.equal(of.has(id), false);
});
