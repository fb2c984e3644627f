// A real application: Debian's Tomcat with its examples, as an unprivileged user.
"use strict";

const assert = require("node:assert");
const { execFileSync, spawn } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const { test, before, after } = require("node:test");
const { freePort, runDir, startCluster } = require("./lib/daemon");
const { startJavaNode, stateOf } = require("./lib/jvm");
const { application, flame } = require("./lib/query");
const { tempDir } = require("./lib/temp_dir");
const { eventually } = require("./lib/wait");

const USER = 1000;
const MAIN = "org.apache.catalina.startup.Bootstrap";
const NAME = "java"; // of its profiles: BY_EXECUTABLE
const CLIENTS = 4;
const REQUESTS = 2000;
const HZ = 100; // of /proc/PID/stat
const PAGES = [
  "jsp/jsp2/el/basic-arithmetic.jsp",
  "jsp/jsp2/tagfiles/products.jsp",
  "servlets/servlet/RequestInfoExample",
  "jsp/sessions/carts.jsp",
];
const JSP = "org.apache.jsp.jsp.jsp2.el.basic_002darithmetic_jsp._jspService";

// CPU time of the process, also of threads that have ended
const cpuSeconds = (pid) => {
  const fields = fs.readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
  return (Number(fields[11]) + Number(fields[12])) / HZ;
};

let cluster, node, tomcat, port, base, used;
const range = { from: Date.now() };

before(async () => {
  port = await freePort();
  base = tempDir("tomcat", { base: "/var/tmp" });
  const dir = path.join(base, "instance");
  const control = await freePort();
  execFileSync("tomcat10-instance-create", ["-p", port, "-c", control, dir].map(String));
  const contexts = path.join(dir, "conf/Catalina/localhost");
  fs.mkdirSync(contexts, { recursive: true });
  fs.copyFileSync("/etc/tomcat10/Catalina/localhost/examples.xml", `${contexts}/examples.xml`);
  execFileSync("chown", ["-R", `${USER}:${USER}`, base]);
  const log = fs.openSync(path.join(runDir, "tomcat.log"), "a");
  tomcat = spawn(
    "unshare",
    [
      ...["--mount", "--propagation=private", "sh", "-c"],
      'mount -t tmpfs -o mode=1777 none /tmp && exec "$0" "$@"',
      ...["setpriv", `--reuid=${USER}`, `--regid=${USER}`, "--clear-groups"],
      ...["/usr/share/tomcat10/bin/catalina.sh", "run"],
    ],
    {
      cwd: dir,
      env: { ...process.env, CATALINA_BASE: dir, JAVA_OPTS: "-Xmx128m", HOME: dir },
      stdio: ["ignore", log, log],
    },
  );
  process.on("exit", () => tomcat.kill("SIGKILL"));
  const page = `http://127.0.0.1:${port}/examples/${PAGES[0]}`;
  await eventually("Tomcat", async () => (await fetch(page)).ok);

  cluster = await startCluster();
  node = await startJavaNode({ cluster, jvms: [tomcat] });
  await eventually("a profiled JVM", async () => (await stateOf(node, MAIN)) === "profiled");
  const before = cpuSeconds(tomcat.pid);
  await request(REQUESTS);
  used = cpuSeconds(tomcat.pid) - before;
  const rounds = () => node.metric("node_agent_java_recordings_read_total");
  const done = await rounds();
  await eventually("two more rounds", async () => (await rounds()) >= done + 2);
  range.to = Date.now() + 1000;
});
after(async () => {
  await node?.stop();
  tomcat?.kill("SIGKILL");
  await cluster?.stop();
});

async function request(n) {
  const client = async () => {
    for (let i = 0; i < n / CLIENTS; i++) {
      const r = await fetch(`http://127.0.0.1:${port}/examples/${PAGES[i % PAGES.length]}`);
      assert.ok(r.ok, `${PAGES[i % PAGES.length]}: ${r.status}`);
      await r.arrayBuffer();
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
}
const graph = async (type) => {
  const { service } = await eventually("it", () => application(cluster, NAME));
  return flame(cluster, { service, type, ...range });
};

test("requests are under the server's functions, down to the page's own code", async () => {
  const f = await graph("java:cpu:nanoseconds");
  const valve = f.share("org.apache.catalina.core.StandardWrapperValve.invoke");
  assert.ok(valve > 0.1, `requests are ${valve} of it`);
  assert.ok(f.share(JSP) > 0, f.list.map((n) => n.name).join(" "));
  // one thread's stacks begin with Thread.run or the thread's entry in libjvm, not in the middle
  const [thread] = f.find("java.lang.Thread.run");
  assert.ok(thread, "Thread.run is there");
});

test("the page's allocations are there", async () => {
  const f = await graph("java:heap_alloc_space:bytes");
  assert.ok(f.share(JSP) > 0, f.list.map((n) => n.name).join(" "));
});

test("its CPU profile has the time that the kernel counts", async () => {
  const { total } = await graph("java:cpu:nanoseconds");
  const ratio = total / 1e9 / used;
  assert.ok(ratio > 0.7 && ratio < 1.3, `${total / 1e9} s of ${used} s`);
});

test("its log has no word of it, and it still serves", async () => {
  await node.stop();
  await request(CLIENTS * PAGES.length);
  const log = fs.readFileSync(path.join(runDir, "tomcat.log"), "utf8");
  assert.doesNotMatch(log, /profil|Full thread dump/i);
  assert.match(log, /Server startup in/);
});
