// Processes of real containers are stored under the names that their users know.
"use strict";

const assert = require("node:assert");
const { execFile, spawn } = require("node:child_process");
const { randomUUID } = require("node:crypto");
const path = require("node:path");
const { after, before, test } = require("node:test");
const { promisify } = require("node:util");
const { root, startCluster, startNode } = require("../e2e/lib/daemon");
const { CPU, sql } = require("../e2e/lib/query");
const { eventually, sleep } = require("../e2e/lib/wait");
const { ContainerNode, newId } = require("./lib/container_node");
const { CriClient } = require("./lib/cri_client");

const HZ = 499; // so that short-lived containers have many samples
const IMAGE = "localhost/burn:1";
const EMPTY = "localhost/empty:1"; // has no files to copy for each container
const STEADY = ["steady", "180"]; // 10 % of a CPU, until it is killed
const POD_UID = "8f3c1d2e-5a6b-4c7d-9e8f-0a1b2c3d4e5f";
const program = (name) => path.join(root, "build/containers", name);
const short = (id) => id.slice(0, 12);

let node, cluster, agent, docker, podman, containerd, cri;

before(async () => {
  node = await ContainerNode.start();
  await node.importImages();
  docker = await node.serve("/run/docker.sock");
  podman = await node.serve("/run/podman/podman.sock");
  containerd = await node.startContainerd();
  await node.importImagesToContainerd();
  cri = new CriClient(node.containerd);
  await cri.ready();
  cluster = await startCluster();
  agent = await startNode({
    cluster,
    interval: "3s",
    args: [
      `--host-root=${node.root}`,
      `--profile-frequency=${HZ}`,
      "--go-heap-profiler=disabled",
      "--profile-unmanaged=off", // the store gets nothing that no test asks for
    ],
  });
  for (const runtime of ["docker", "podman", "containerd"])
    await eventually(runtime, () => agent.log().includes(`runtime=${runtime} `));
});

// The runtimes end first, whatever state they are in; the agents have a limit.
after(async () => {
  cri?.close();
  node?.stop();
  await agent?.stop();
  await cluster?.stop();
});

// What is stored of services that a condition selects, without the pause containers of pods:
// { service, seconds, labels }.
const stored = async (where) => {
  await sleep(200); // a query costs the agents CPU time
  return sql(
    cluster,
    `SELECT ServiceName AS service, sum(Value) / 1e9 AS seconds, any(Labels) AS labels
     FROM profiling_samples
     WHERE Type = '${CPU}' AND NOT endsWith(Labels['container.id'], '/sandbox') AND (${where})
     GROUP BY service`,
  );
};

// Waits until a service has used that much CPU time, and returns what is stored of it.
const used = (service, seconds, where = `ServiceName = '${service}'`) =>
  eventually(service, async () => {
    const [row] = await stored(where);
    return row?.seconds >= seconds && row;
  });
const isContainer = (name) => `Labels['container.id'] = '${name}'`;

// No sample of the container is under its id: its name was known before its first process ran.
async function alwaysNamed(...ids) {
  const has = (id) => `Labels['container.id'] LIKE '%${short(id)}%'`;
  const raw = await stored(ids.map(has).join(" OR "));
  assert.deepStrictEqual(raw, []);
}

const slice = `kubepods.slice/kubepods-pod${POD_UID.replaceAll("-", "_")}.slice`;
const drivers = {
  "docker/ID": "docker",
  "system.slice/docker-ID.scope": "docker",
  "machine.slice/libpod-ID.scope": "podman",
  [`kubepods/besteffort/pod${POD_UID}/ID`]: "kubepods",
  [`${slice}/cri-containerd-ID.scope`]: "containerd",
  [`${slice}/crio-ID.scope`]: "crio",
};
test("runc: a container that no runtime knows has its id, or its pod's uid", async () => {
  const check = async ([cgroup, kind]) => {
    const id = await node.runc(cgroup, STEADY);
    const name = `/${kind}/${short(id)}`;
    const row = await used(name, 0.1, isContainer(name));
    assert.strictEqual(row.service, cgroup.includes("kubepods") ? `/kubepods/pod${POD_UID}` : name);
    await node.runcKill(id);
  };
  await Promise.all(Object.entries(drivers).map(check));
});

test("podman: a container has its name and its image", async () => {
  const id = await node.podmanRun("web", "--detach", IMAGE, ...STEADY);
  const row = await used("/podman/web", 0.1);
  assert.strictEqual(row.labels["container.id"], "/podman/web");
  assert.strictEqual(row.labels["container.image.name"], IMAGE);
  await node.podman("kill", id);
  await alwaysNamed(id);
});

// Does something until its outcome is stored: an agent that gets no CPU for an interval of its own
// drops one.
const repeatedly = (service, seconds, act) =>
  eventually(service, async () => {
    await act();
    for (let i = 0; i < 50; i++) {
      const [row] = await stored(`ServiceName = '${service}'`);
      if (row?.seconds >= seconds) return row;
    }
    return false;
  });

test("podman: a container that lives 200 ms and is removed at once has its name", async () => {
  const row = await repeatedly("/podman/brief", 0.1, () =>
    node.podmanRun("brief", "--rm", IMAGE, "0.2"),
  );
  assert.strictEqual(row.labels["container.image.name"], IMAGE);
});

for (const [what, name, config, service] of [
  ["a container", "plain", {}, "/docker/plain"],
  [
    "a Swarm task",
    "shop_cart.2.x1",
    {
      Labels: {
        "com.docker.swarm.task.name": "shop_cart.2.x1",
        "com.docker.swarm.service.name": "shop_cart",
        "com.docker.stack.namespace": "shop",
      },
    },
    "/swarm/shop/cart/2",
  ],
  [
    "a Nomad task",
    `redis-${POD_UID}`,
    {
      Env: [
        "NOMAD_NAMESPACE=default",
        "NOMAD_JOB_NAME=cache",
        "NOMAD_GROUP_NAME=group",
        `NOMAD_ALLOC_ID=${POD_UID}`,
        "NOMAD_TASK_NAME=redis",
      ],
    },
    `/nomad/default/cache/group/${POD_UID}/redis`,
  ],
])
  test(`Docker's API: ${what} has its name`, async () => {
    const [id] = await node.dockerCreate([{ name, config: { Image: IMAGE, ...config } }]);
    await node.runc("docker/ID", STEADY, id);
    const row = await used(service, 0.1);
    assert.strictEqual(row.labels["container.id"], service);
    await node.runcKill(id);
    await alwaysNamed(id);
  });

test("Docker's API: a pod of cri-dockerd has its name", async () => {
  const Labels = {
    "io.kubernetes.pod.name": "front-7d9c5b8f6d-x2k4q",
    "io.kubernetes.pod.namespace": "shop",
    "io.kubernetes.pod.uid": POD_UID,
    "io.kubernetes.container.name": "nginx",
  };
  const config = { Image: IMAGE, Labels };
  const [id] = await node.dockerCreate([{ name: "k8s_nginx_front", config }]);
  await node.runc(`kubepods/besteffort/pod${POD_UID}/ID`, STEADY, id);
  const { labels } = await used("/k8s/shop/front", 0.1);
  await node.runcKill(id);
  assert.strictEqual(labels["container.id"], "/k8s/shop/front-7d9c5b8f6d-x2k4q/nginx");
  assert.strictEqual(labels["k8s.namespace.name"], "shop");
  assert.strictEqual(labels["k8s.pod.name"], "front-7d9c5b8f6d-x2k4q");
  assert.strictEqual(labels["k8s.container.name"], "nginx");
  await alwaysNamed(id);
});

test("a pid that is reused within a second belongs to the second container", async () => {
  const names = ["reuse-first", "reuse-second"];
  const containers = names.map((name) => ({ name, config: { Image: IMAGE } }));
  const [first, second] = await node.dockerCreate(containers);
  const files = (id) => node.cgroupFiles(`docker/${id}`);
  const args = [...files(first), "--", ...files(second)];
  let rounds = 0;
  const reuse = async () => {
    for (let pause = Infinity; pause >= 1000; ) {
      const { stdout } = await promisify(execFile)(program("reuse_pid"), args);
      const { attempts, pauseMs } = JSON.parse(stdout);
      rounds += attempts;
      pause = pauseMs;
    }
  };
  // a sample of a process that has not yet moved itself to its cgroup excludes it
  await repeatedly("/docker/reuse-second", 0.3, reuse);
  await repeatedly("/docker/reuse-first", 0.3, reuse);
  const rows = await stored("ServiceName LIKE '/docker/reuse-%'");
  // neither has anything of the other's half second
  for (const row of rows) assert.ok(row.seconds < 0.75 * rounds, JSON.stringify({ row, rounds }));
  await alwaysNamed(first, second);
});

// A container that a runtime knows but has not started, so that what runs it needs no runtime.
const podmanCreate = (name) =>
  node.podman("create", "--name", name, "--network=host", IMAGE, "1");

test("Docker hangs: containers have their ids until it answers, then names", async () => {
  // both are podman, and have the same containers
  for (const d of [docker, podman]) d.signal("SIGSTOP");
  const id = await podmanCreate("late");
  await node.runc("docker/ID", STEADY, id);
  await used(`/docker/${short(id)}`, 0.1);
  for (const d of [docker, podman]) d.signal("SIGCONT");
  await used("/docker/late", 0.1);
  await node.runcKill(id);
});

test("Docker restarts: containers that it has afterwards have their names", async () => {
  docker.signal("SIGKILL");
  docker = await node.serve("/run/docker.sock");
  const id = await podmanCreate("again");
  await node.runc("docker/ID", STEADY, id);
  await used("/docker/again", 0.1);
  await node.runcKill(id);
});

const kubepods = (uid) => `kubepods/besteffort/pod${uid}`;
const makePod = (name) => {
  const uid = randomUUID();
  const cgroupParent = `/${node.cgroup}/${kubepods(uid)}`;
  return cri.runPod({ name, namespace: "shop", uid, cgroupParent });
};
const container = { name: "main", image: IMAGE, args: STEADY };

test("CRI: a pod has its name, and the same when it is restarted", async () => {
  const pod = await makePod("api-6b4f9c7d5-bcdfg");
  await cri.runContainer(pod, container);
  const { labels, seconds } = await used("/k8s/shop/api", 0.1);
  assert.strictEqual(labels["container.id"], "/k8s/shop/api-6b4f9c7d5-bcdfg/main");
  assert.strictEqual(labels["k8s.namespace.name"], "shop");
  assert.strictEqual(labels["k8s.pod.name"], "api-6b4f9c7d5-bcdfg");
  assert.strictEqual(labels["k8s.container.name"], "main");
  assert.strictEqual(labels["container.image.name"], IMAGE);
  await cri.removePod(pod);
  const again = await makePod("api-6b4f9c7d5-bcdfg");
  await cri.runContainer(again, container);
  await used("/k8s/shop/api", seconds + 0.1);
  await cri.removePod(again);
});

test("CRI: a container that lives 200 ms has its pod's name", async () => {
  const pod = await makePod("blink-6b4f9c7d5-bcdfg");
  let attempt = 0;
  await repeatedly("/k8s/shop/blink", 0.1, () =>
    cri.runContainer(pod, { ...container, args: ["0.2"], attempt: attempt++ }),
  );
  await cri.removePod(pod);
});

// As above: made, but run without containerd.
async function createContainer(pod) {
  const client = Object.create(cri);
  client.call = (method, ...args) =>
    method === "StartContainer" ? undefined : cri.call(method, ...args);
  return client.runContainer(pod, container);
}

test("containerd hangs: pods have their ids until it answers, then names", async () => {
  const pod = await makePod("slow-6b4f9c7d5-bcdfg");
  const id = await createContainer(pod);
  containerd.signal("SIGSTOP");
  await node.runc(`${kubepods(pod.uid)}/ID`, STEADY, id);
  await used(`/kubepods/pod${pod.uid}`, 0.1);
  containerd.signal("SIGCONT");
  await used("/k8s/shop/slow", 0.1);
  await node.runcKill(id);
});

test("containerd restarts: pods that it has afterwards have their names", async () => {
  containerd.signal("SIGKILL");
  cri.close();
  containerd = await node.startContainerd();
  cri = new CriClient(node.containerd);
  await cri.ready();
  const pod = await makePod("back-6b4f9c7d5-bcdfg");
  await cri.runContainer(pod, container);
  await used("/k8s/shop/back", 0.1);
  await cri.removePod(pod);
});

test("ctr: a container has its id", async () => {
  const id = newId();
  const cgroup = `/${node.cgroup}/default/${id}`;
  const options = ["--detach", "--net-host", "--cgroup", cgroup];
  await node.run("ctr", "run", ...options, IMAGE, id, "/bin/burn", ...STEADY);
  await used(`/containerd/${short(id)}`, 0.1);
});

// Each uses CPU time every 30 s, so that all profiles of one round are stored before the next.
test("500 containers that start at once have their names", async () => {
  const names = Array.from({ length: 500 }, (_, i) => `many-${i}`);
  const ids = await node.dockerCreate(names.map((name) => ({ name, config: { Image: EMPTY } })));
  const lines = ids.map((id) => node.cgroupFiles(`docker/${id}`, ["cpu", "unified"]).join(" "));
  const containers = spawn(program("in_cgroups"), [program("burn"), "steady", "30000"], {
    stdio: ["pipe", "inherit", "inherit"],
  });
  containers.stdin.end(`${lines.join("\n")}\n`);
  let found = [];
  try {
    await eventually("500 services", async () => {
      assert.strictEqual(containers.exitCode, null);
      found = await stored("ServiceName LIKE '/docker/many-%'");
      return found.length >= names.length;
    });
  } catch (e) {
    throw new Error(`${found.length} of ${names.length} services: ${e.message}`);
  } finally {
    containers.kill("SIGKILL");
  }
  const services = found.map((row) => row.service);
  assert.deepStrictEqual(services.sort(), names.map((name) => `/docker/${name}`).sort());
  for (const { service, labels } of found) assert.strictEqual(labels["container.id"], service);
});
