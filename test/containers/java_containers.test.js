// JVMs in containers as runc makes them: namespaces of their own, a root that is read-only, an
// unprivileged user without capabilities.
"use strict";

const assert = require("node:assert");
const fs = require("node:fs");
const path = require("node:path");
const { after, before, test } = require("node:test");
const { root, startCluster } = require("../e2e/lib/daemon");
const { startJavaNode, stateOf } = require("../e2e/lib/jvm");
const { application, flame } = require("../e2e/lib/query");
const { eventually } = require("../e2e/lib/wait");
const { ContainerNode, newId } = require("./lib/container_node");

const USER = 1000;
const JAVA = "/usr/lib/jvm/java-17-openjdk-amd64/bin/java";

let node, cluster, agent;
// name: its id, and the pid of its JVM on this machine
const jvms = { tmp: { id: newId() }, bare: { id: newId() } };
const range = { from: Date.now() };

// The machine's JDK on a read-only root; the workload's input never ends.
const asJvm = (mounts) => (config, rootfs) => {
  const bind = (source, destination) => {
    fs.mkdirSync(path.join(rootfs, destination), { recursive: true });
    config.mounts.push({ destination, source, type: "bind", options: ["rbind", "ro"] });
  };
  bind("/usr", "/usr");
  bind("/etc", "/etc");
  bind(path.join(root, "build/java"), "/program");
  for (const dir of ["bin", "lib", "lib64"]) fs.symlinkSync(`usr/${dir}`, path.join(rootfs, dir));
  const tmp = path.join(rootfs, "tmp");
  fs.mkdirSync(tmp);
  fs.chmodSync(tmp, 0o1777); // runc gives a tmpfs the mode of what it covers
  config.mounts.push(...mounts);
  config.root.readonly = true;
  config.process.user = { uid: USER, gid: USER };
  const java = `${JAVA} -XX:+UseSerialGC -Xmx64m -cp /program workload.Workload cpu locks`;
  config.process.args = ["/bin/sh", "-c", `sleep infinity | ${java}`];
};
const TMP = { destination: "/tmp", type: "tmpfs", source: "tmpfs", options: ["mode=1777"] };

const pidOf = (id) =>
  fs
    .readFileSync(node.cgroupFiles(`docker/${id}`)[0], "utf8")
    .trim()
    .split("\n")
    .find((pid) => fs.readlinkSync(`/proc/${pid}/exe`).endsWith("/java"));
before(async () => {
  node = await ContainerNode.start();
  await node.runc("docker/ID", [], jvms.tmp.id, asJvm([TMP]));
  await node.runc("docker/ID", [], jvms.bare.id, asJvm([]));
  for (const jvm of Object.values(jvms))
    await eventually("a JVM", () => (jvm.pid = Number(pidOf(jvm.id))));
  cluster = await startCluster();
  agent = await startJavaNode({ cluster, jvms: Object.values(jvms) });
});
after(async () => {
  await agent?.stop();
  node?.stop();
  await cluster?.stop();
});

test("a JVM with a writable /tmp is profiled under its container's name", async () => {
  const name = jvms.tmp.id.slice(0, 12);
  for (const [type, method] of [
    ["java:cpu:nanoseconds", "workload.Cpu.heavy"],
    ["java:lock_delay:nanoseconds", "workload.Locks.enterMonitor"],
  ])
    await eventually(type, async () => {
      const { service } = await application(cluster, name);
      const f = await flame(cluster, { service, type, ...range, to: Date.now() + 1000 });
      return f.share(method) > 0;
    });
  // 1 in its namespace is the shell, and no path of this machine is in the container
  assert.match(fs.readFileSync(`/proc/${jvms.tmp.pid}/status`, "utf8"), /^NSpid:\t\d+\t\d+/m);
});

test("a JVM without a place for the library is left alone", async () => {
  const { id, pid } = jvms.bare;
  await eventually("no place", async () => (await stateOf(agent, id.slice(0, 12))) === "no_place");
  assert.ok(!/asyncProfiler/i.test(fs.readFileSync(`/proc/${pid}/maps`, "utf8")));
});

test("at its end, the agent has removed its files", async () => {
  await agent.stop();
  const left = fs.readdirSync(`/proc/${jvms.tmp.pid}/root/tmp`);
  assert.deepStrictEqual(
    left.filter((f) => /coroot|attach/.test(f)),
    [],
  );
  assert.strictEqual(fs.readFileSync(`/proc/${jvms.tmp.pid}/timers`, "utf8"), "");
  for (const jvm of Object.values(jvms)) process.kill(jvm.pid, 0);
});
