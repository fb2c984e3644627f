// "coroot-node-agent record" on real processes, without a server: what it takes, the files that it
// writes, its exit status, and what it says.
"use strict";

const assert = require("node:assert");
const { execFileSync, spawn, spawnSync } = require("node:child_process");
const crypto = require("node:crypto");
const fs = require("node:fs");
const path = require("node:path");
const readline = require("node:readline");
const { test, before, after } = require("node:test");
const Ajv = require("ajv");
const { freePort, nodeAgent, root, scratch, startNode } = require("./lib/daemon");
const { openBrowser, drawnFrames, inked } = require("./lib/browser");
const { contents } = require("./lib/pprof");
const { tempDir } = require("./lib/temp_dir");
const { eventually } = require("./lib/wait");

const dir = scratch("record");
const file = (name) => path.join(dir, name);
const workload = (name) => path.join(root, "build/e2e", name);
// a name that nobody else's processes have, of at most 15 characters
const named = (name) => {
  const to = file(`${name}${process.pid % 10000}`);
  if (!fs.existsSync(to)) fs.copyFileSync(workload(name), to);
  return to;
};
const children = new Set();
function start(command, args, options = {}) {
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "ignore"], ...options });
  children.add(child);
  child.once("exit", () => children.delete(child));
  return child;
}

before(() => fs.mkdirSync(dir, { recursive: true }));
after(() => {
  for (const c of children) c.kill("SIGKILL");
});

function record(...args) {
  const r = spawnSync(nodeAgent, ["record", ...args], { encoding: "utf8", maxBuffer: 1 << 28 });
  return { ...r, lines: r.stderr.trimEnd().split("\n") };
}

// A recording of a process that has samples, which is longer where others use the CPUs.
function recordSome(...args) {
  for (let ms = 300; ; ms *= 2) {
    const r = record(...args, "-d", `${ms}ms`);
    if (ms > 60000 || !/no samples: /.test(r.stderr)) return r;
  }
}

// "a;b;c 12" as { stack: ["a", "b", "c"], n: 12 }
const folded = (text) =>
  text
    .trimEnd()
    .split("\n")
    .map((line) => {
      const at = line.lastIndexOf(" ");
      return { stack: line.slice(0, at).split(";"), n: Number(line.slice(at + 1)) };
    });
const sum = (stacks, keep = () => true) => stacks.filter(keep).reduce((n, s) => n + s.n, 0);
const CHAIN = ["main", "chain_outer", "chain_middle", "chain_leaf"];
const hasChain = ({ stack }) => {
  const at = stack.indexOf("chain_outer");
  return at > 0 && CHAIN.slice(1).every((name, i) => stack[at + i] === name);
};

// A process that lives as long as these tests, and runs while something records it.
let app;
async function appRunning(fn) {
  app.kill("SIGCONT");
  try {
    return await fn();
  } finally {
    app.kill("SIGSTOP");
  }
}
const recordApp = (...args) => appRunning(() => recordSome("-p", String(app.pid), ...args));

before(() => {
  app = start(named("nofp"), ["600"]);
  app.kill("SIGSTOP");
});

test("a process has whole stacks from the first sample on, without frame pointers", async () => {
  const r = await recordApp("-F", "199", "-o", "-", "--format=folded");
  assert.strictEqual(r.status, 0, r.stderr);
  const stacks = folded(r.stdout);
  const user = stacks.filter((s) => s.stack.includes("chain_leaf"));
  assert.ok(sum(user) > 0, r.stdout);
  for (const s of user) {
    assert.strictEqual(s.stack[0], path.basename(app.spawnfile));
    assert.ok(hasChain(s) && s.stack.includes("main"), s.stack.join(";"));
    assert.ok(!s.stack.includes("[truncated]"), s.stack.join(";"));
  }
  assert.doesNotMatch(r.stderr, /before the unwinding tables/);
  // the table is on standard error, as standard output has the file
  assert.match(r.stderr, /self +total +function\n/);
  assert.match(r.stderr, /chain_leaf/);
});

const formats = {};

test("each format has the samples of the recording", async () => {
  for (const ending of ["pb.gz", "folded", "speedscope.json", "svg", "html"]) {
    const to = file(`chain.${ending}`);
    const r = await recordApp("-o", to);
    assert.strictEqual(r.status, 0, r.stderr);
    assert.match(r.stdout, /: [\d.]+ m?s of CPU time: \d+ samples in \d+\.\d\d s/);
    const n = Number(/: (\d+) samples/.exec(r.stdout)[1]);
    assert.ok(n > 0);
    formats[ending] = { n, body: fs.readFileSync(to) };
  }
});

test("the pprof has counts, CPU time, lines, and mappings with the build id", () => {
  const { n, body } = formats["pb.gz"];
  const p = contents(body);
  const leaf = p.stacks.find((s) => s.frames.at(-1).name === "chain_leaf").frames.at(-1);
  assert.match(leaf.file, /workloads\/nofp\.c$/);
  assert.ok(leaf.line > 0 && leaf.address > 0);
  assert.strictEqual(leaf.object, app.spawnfile);
  const go = execFileSync("test/setup/go.sh", { cwd: root, encoding: "utf8" }).trim();
  const raw = execFileSync(go, ["tool", "pprof", "-raw", file("chain.pb.gz")], {
    encoding: "utf8",
  });
  assert.match(raw, /^samples\/count cpu\/nanoseconds/m);
  const counts = [...raw.matchAll(/^ +(\d+) +\d+: /gm)].map((m) => Number(m[1]));
  assert.strictEqual(
    counts.reduce((a, b) => a + b, 0),
    n,
  );
});

test("folded stacks add up to the samples", () => {
  const { n, body } = formats.folded;
  assert.strictEqual(sum(folded(String(body))), n);
  assert.ok(sum(folded(String(body)), hasChain) > 0);
});

test("the speedscope file matches speedscope's schema", () => {
  const schema = JSON.parse(
    fs.readFileSync(require.resolve("speedscope/dist/release/file-format-schema.json")),
  );
  delete schema.$schema;
  const validate = new Ajv({ strict: false }).compile(schema);
  const { n, body } = formats["speedscope.json"];
  const s = JSON.parse(body);
  assert.ok(validate(s), JSON.stringify(validate.errors));
  assert.strictEqual(s.exporter, "coroot-node-agent");
  assert.strictEqual(s.profiles[0].unit, "nanoseconds");
  const period = Math.floor(1e9 / 99);
  assert.strictEqual(s.profiles[0].endValue, n * period);
});

test("the picture is well-formed, and its frames have titles", async () => {
  const { body } = formats.svg;
  const { browser, page } = await openBrowser();
  try {
    await page.setContent("<html></html>");
    const found = await page.evaluate((text) => {
      const d = new DOMParser().parseFromString(text, "image/svg+xml");
      return {
        error: d.querySelector("parsererror")?.textContent ?? "",
        titles: [...d.querySelectorAll("g > title")].map((t) => t.textContent),
        scripts: d.querySelectorAll("script").length,
      };
    }, String(body));
    assert.deepStrictEqual([found.error, found.scripts], ["", 0]);
    assert.ok(found.titles.some((t) => /^chain_leaf \(.*\): \d+ ms, \d+\.\d\d%$/.test(t)));
  } finally {
    await browser.close();
  }
});

/** In the page: drops files of such names and texts. */
function droppedOn(files) {
  const dataTransfer = new DataTransfer();
  for (const [name, text] of files) dataTransfer.items.add(new File([text], name));
  dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true }));
}

test("the HTML file is the page's flame graph, and asks nobody for anything", async () => {
  const { browser, page } = await openBrowser();
  const requests = [];
  page.on("request", (r) => requests.push(r.url()));
  try {
    const url = `file://${file("chain.html")}`;
    await page.goto(url);
    await page.waitForFunction(() => window.__flame?.frames().length > 5);
    const frames = await drawnFrames(page);
    const names = frames.map((f) => f.name);
    for (const name of CHAIN) assert.ok(names.includes(name), names.join());
    assert.ok((await inked(page, "canvas")) > 10000);
    await page.picture("recording");
    await page.fill("[data-testid=search]", "chain_leaf");
    await page.waitForSelector("[data-testid=matched]");
    const leaf = frames.find((f) => f.name === "chain_middle");
    await page.mouse.click(leaf.x + leaf.w / 2, leaf.y + leaf.h / 2);
    await page.waitForFunction(() => window.__flame.zoom() === "chain_middle");
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => window.__flame.zoom() === "total");
    // other files can be dropped on it, two to compare them; nothing is asked for then, either
    await page.evaluate(droppedOn, [["other.folded", "main;work 30\nmain;rest 10\n"]]);
    const shows = (name) => window.__flame?.frames().some((f) => f.name === name);
    await page.waitForFunction(shows, "work");
    await page.click("[data-testid=close-file]");
    await page.waitForFunction(shows, "chain_leaf");
    const two = ["main;work 30\n", "main;work 60\n"].map((text, i) => [`${i}.folded`, text]);
    await page.evaluate(droppedOn, two);
    await page.waitForFunction(() => window.__flame?.frames()[0]?.base > 0);
    await page.picture("recording-compared");
    await page.goBack();
    await page.waitForFunction(shows, "chain_leaf");
    // a script that somebody puts into the file does not run
    const injected = await page.evaluate(() => {
      const s = document.createElement("script");
      s.textContent = "window.injected = true";
      document.body.append(s);
      return window.injected ?? false;
    });
    assert.strictEqual(injected, false);
    assert.deepStrictEqual(requests, [url]);
    page.errors = page.errors.filter((e) => !/Content Security Policy/.test(e));
    assert.deepStrictEqual(page.errors, []);
    assert.ok(fs.statSync(file("chain.html")).size < 200000);
  } finally {
    await browser.close();
  }
});

test("a command's children and threads are included, and its output is its own", () => {
  const to = file("children.folded");
  const r = record("-F", "199", "-o", to, "--", "sh", "-c", `${named("nofp")} 0.4 more; echo end`);
  assert.strictEqual(r.status, 0, r.stderr);
  assert.match(r.stdout, /^\S+\nend\n$/);
  assert.match(r.stderr, /self +total +function\n/);
  const stacks = folded(fs.readFileSync(to, "utf8"));
  for (const name of ["main", "in_thread", "in_child"])
    assert.ok(sum(stacks, (s) => s.stack.includes(name) && hasChain(s)) > 0, name);
  assert.ok(sum(stacks, hasChain) > 0.8 * sum(stacks, (s) => s.stack.includes("chain_leaf")));
  // nobody else's
  const own = new Set(["sh", path.basename(named("nofp"))]);
  for (const s of stacks) assert.ok(own.has(s.stack[0]), s.stack.join(";"));
});

// Called so often that V8 compiles them; both calls of one loop, so their shares are known.
const JIT = `
function spendSeventy(x) { for (let i = 0; i < 70000; i++) x = (x * 48271) % 2147483647; return x; }
function spendThirty(x) { for (let i = 0; i < 30000; i++) x = (x * 48271) % 2147483647; return x; }
for (let x = 1; process.cpuUsage().user < 2e6; ) x = spendSeventy(x) + spendThirty(x);
`;
// V8 leaves its map, by the number of a process that nobody has seen
function removeMaps(script) {
  for (const name of fs.readdirSync("/tmp").filter((x) => /^perf-\d+\.map$/.test(x))) {
    const map = path.join("/tmp", name);
    try {
      if (fs.readFileSync(map, "utf8").includes(script)) fs.rmSync(map);
    } catch {
      // another test's, which has removed it
    }
  }
}
const ownTmp = ["--mount", "--propagation", "private", "--pid", "--fork"];

for (const [where, command] of [
  ["in our /tmp", []],
  [
    "in a /tmp that ended with it",
    ["unshare", ...ownTmp, "sh", "-c", 'mount -t tmpfs -o mode=1777 none /tmp && exec "$@"', "sh"],
  ],
])
  test(`generated code of a command that has ended has names by its map ${where}`, () => {
    const script = file("jit.js");
    const to = file("jit.folded");
    fs.writeFileSync(script, JIT);
    const node = [process.execPath, "--perf-basic-prof", "--no-turbo-inlining", script];
    const r = record("-F", "199", "-o", to, "--", ...command, ...node);
    removeMaps(script);
    assert.strictEqual(r.status, 0, r.stderr);
    const stacks = folded(fs.readFileSync(to, "utf8"));
    const share = (name) => sum(stacks, (s) => s.stack.at(-1) === name) / sum(stacks);
    assert.ok(share("spendSeventy") > 0.4, r.stderr);
    assert.ok(share("spendThirty") > 0.15, r.stderr);
    assert.ok(share("[unknown]") < 0.05, r.stderr);
  });

test("generated code has lines by its jitdump, which no longer is where it was", () => {
  const script = file("dump.js");
  const to = file("dump.pb.gz");
  fs.writeFileSync(script, JIT);
  const node = [process.execPath, "--perf-prof", "--no-turbo-inlining", script];
  // it writes into its working directory
  const command = 'cd $(mktemp -d) && "$@"; rm -f jit-*.dump isolate*.log; rmdir "$PWD"';
  const r = record("-F", "199", "-o", to, "--", "sh", "-c", command, "sh", ...node);
  assert.strictEqual(r.status, 0, r.stderr);
  const { stacks } = contents(fs.readFileSync(to));
  const leaves = stacks.map((s) => s.frames.at(-1)).filter((f) => f.name.startsWith("spend"));
  assert.deepStrictEqual([...new Set(leaves.map((f) => f.file))], [script]);
  const line = { spendSeventy: 2, spendThirty: 3 };
  for (const f of leaves) assert.strictEqual(f.line, line[f.name], f.name);
  assert.deepStrictEqual([...new Set(leaves.map((f) => f.name))].sort(), Object.keys(line));
});

test("the exit status is the command's", () => {
  const status = (...command) => record("--", ...command).status;
  assert.strictEqual(status("sh", "-c", "exit 7"), 7);
  assert.strictEqual(status("true"), 0); // ends before it could be sampled
  assert.strictEqual(status("sh", "-c", "kill -TERM $$"), 128 + 15);
  const missing = record("--", file("missing"));
  assert.strictEqual(missing.status, 127);
  assert.match(missing.stderr, /missing: command not found/);
  assert.strictEqual(status(dir), 126);
});

test("a command that ends at once has an empty file that tools can read", () => {
  const r = record("-F", "1", "-o", file("empty.pb.gz"), "--", "true");
  assert.match(r.stderr, /no samples: what was recorded used no CPU in this time/);
  assert.deepStrictEqual(contents(fs.readFileSync(file("empty.pb.gz"))).stacks, []);
});

test("--comm finds processes that begin later, and says if there were none", async () => {
  const none = record("--comm", "no-such-name", "-d", "100ms");
  assert.strictEqual(none.status, 1);
  assert.match(none.stderr, /no process named no-such-name was running/);

  const later = file(`late${process.pid % 10000}`);
  fs.copyFileSync(workload("nofp"), later);
  let stacks = [];
  // on a busy machine a short one may be over without a sample, or before the recording begins
  for (let s = 0.5; s < 60 && sum(stacks, hasChain) === 0; s *= 2)
    stacks = await recordByName(later, s);
  assert.ok(sum(stacks, hasChain) > 0);
  for (const s of stacks) assert.strictEqual(s.stack[0], path.basename(later));
});

// The stacks of a program that begins when its name is being recorded, and runs for some seconds.
async function recordByName(program, seconds) {
  const to = file("late.folded");
  const r = start(nodeAgent, ["record", "--comm", path.basename(program), "-d", "10m", "-o", to]);
  // it is recording when the other, which runs, is seen
  await eventually("the sampler runs", () =>
    fs.readdirSync(`/proc/${r.pid}/fd`).some((fd) => {
      try {
        return fs.readlinkSync(`/proc/${r.pid}/fd/${fd}`) === "anon_inode:bpf_link";
      } catch {
        return false;
      }
    }),
  );
  spawnSync(program, [String(seconds)]);
  r.kill("SIGINT"); // keeps what was taken
  if ((await ended(r)).code !== 0) return [];
  return folded(fs.readFileSync(to, "utf8")).filter(({ stack }) => stack[0]);
}

const ended = (child) =>
  new Promise((resolve) => child.once("exit", (code, signal) => resolve({ code, signal })));

test("Ctrl-C in a terminal keeps what was taken; a line shows progress until then", async () => {
  const to = file("tty.folded");
  const command = `exec ${nodeAgent} record -p ${app.pid} -d 10m -o ${to}`;
  const terminal = start("script", ["-qec", command, "/dev/null"]);
  let screen = "";
  terminal.stdout.on("data", (d) => (screen += d));
  await appRunning(() =>
    eventually("samples are shown", () => /recording: .* [1-9]\d* samples/.test(screen)),
  );
  terminal.stdin.write("\x03");
  assert.strictEqual((await ended(terminal)).code, 0, screen);
  assert.ok(sum(folded(fs.readFileSync(to, "utf8")), hasChain) > 0);
  assert.match(screen, /chain_leaf/);
});

test("Ctrl-C ends a command too, and its status is that of the signal", async () => {
  const to = file("tty-command.folded");
  const command = `exec ${nodeAgent} record -o ${to} -- ${named("nofp")} 600`;
  const terminal = start("script", ["-qec", command, "/dev/null"]);
  let screen = "";
  terminal.stdout.on("data", (d) => (screen += d));
  await eventually("samples are shown", () => /recording: .* [1-9]\d* samples/.test(screen));
  terminal.stdin.write("\x03");
  assert.strictEqual((await ended(terminal)).code, 128 + 2, screen);
  assert.ok(sum(folded(fs.readFileSync(to, "utf8")), hasChain) > 0);
});

test("SIGTERM ends a command too, and keeps what was taken", async () => {
  const to = file("terminated.folded");
  const r = start(nodeAgent, ["record", "-o", to, "--", named("nofp"), "600"]);
  await eventually("the command runs", () => {
    const children = fs.readFileSync(`/proc/${r.pid}/task/${r.pid}/children`, "utf8").trim();
    const ticks = (pid) => Number(fs.readFileSync(`/proc/${pid}/stat`, "utf8").split(" ")[13]);
    return children.split(" ").some((pid) => pid && ticks(pid) > 20);
  });
  r.kill("SIGTERM");
  assert.deepStrictEqual(await ended(r), { code: 128 + 15, signal: null });
  assert.ok(sum(folded(fs.readFileSync(to, "utf8")), hasChain) > 0);
});

test("a container is found by its id, or the first digits of it", async () => {
  const id = crypto.createHash("sha256").update(String(process.pid)).digest("hex");
  const roots = ["/sys/fs/cgroup/memory", "/sys/fs/cgroup"];
  const cgroup = path.join(roots.find((r) => fs.existsSync(r)), "docker", id);
  fs.mkdirSync(cgroup, { recursive: true });
  const inside = start(workload("nofp"), ["600"]);
  fs.writeFileSync(path.join(cgroup, "cgroup.procs"), String(inside.pid));
  try {
    for (const name of [id.slice(0, 12), `/docker/${id.slice(0, 12)}`]) {
      const r = recordSome("--container", name, "-F", "499", "-o", "-", "--format=folded");
      assert.strictEqual(r.status, 0, r.stderr);
      const stacks = folded(r.stdout);
      assert.ok(sum(stacks, hasChain) > 0, r.stderr);
      for (const s of stacks) assert.strictEqual(s.stack[0], "nofp");
    }
    const other = record("--container", "0123456789ab", "-d", "50ms");
    assert.strictEqual(other.status, 1);
    assert.match(other.stderr, /no process of container 0123456789ab was running/);
  } finally {
    inside.kill("SIGKILL");
    await eventually("the container is gone", () => {
      fs.rmdirSync(cgroup);
      return true;
    });
  }
});

test("what excludes itself is recorded when it is named, or asked for", async () => {
  const env = { ...process.env, COROOT_EBPF_PROFILING: "disabled" };
  const secret = file(`secret${process.pid % 10000}`);
  fs.copyFileSync(workload("nofp"), secret);
  const child = start(secret, ["600"], { env });
  const comm = path.basename(secret);
  const n = (...args) => {
    const r = record(...args, "-o", "-", "--format", "folded");
    assert.strictEqual(r.status, 0, r.stderr);
    return sum(folded(r.stdout), (s) => s.stack[0] === comm);
  };
  assert.strictEqual(n("-d", "300ms"), 0);
  // the whole machine has samples of others in any case
  let found = 0;
  for (let ms = 300; found === 0 && ms < 60000; ms *= 2)
    found = n("--include-excluded", "-d", `${ms}ms`);
  assert.ok(found > 0);
  assert.match(recordSome("-p", String(child.pid)).stdout, /chain_leaf/);
  child.kill("SIGKILL");
});

test("a daemon beside it loses nothing, and goes on", async () => {
  const node = await startNode({ collector: `http://127.0.0.1:${await freePort()}` });
  try {
    const profiled = () => node.metric("node_agent_samples_total");
    const r = await recordApp();
    assert.strictEqual(r.status, 0, r.stderr);
    assert.match(r.stdout, /chain_leaf/);
    const then = await profiled();
    await eventually("the daemon takes more samples", async () => (await profiled()) > then);
    assert.strictEqual(await node.metric("node_agent_samples_lost_total"), 0);
  } finally {
    assert.strictEqual((await node.stop()).code, 0);
  }
});

test("it ends with the command when its parent ignores SIGCHLD", () => {
  const args = ["--ignore-signal=CHLD", nodeAgent, "record", "--", "sh", "-c", "exit 7"];
  const r = spawnSync("env", args, { encoding: "utf8", timeout: 300000 });
  assert.strictEqual(r.status, 7, r.stderr);
});

test("a Go process's heap and goroutines are read at once", async () => {
  const heap = start(workload("goheap"), []);
  await new Promise((resolve) => readline.createInterface(heap.stdout).once("line", resolve));
  const h = record("--heap", "-p", String(heap.pid), "-o", file("heap.folded"));
  assert.strictEqual(h.status, 0, h.stderr);
  assert.match(h.stdout, /MiB memory in use/);
  const kept = sum(folded(fs.readFileSync(file("heap.folded"), "utf8")), (s) =>
    s.stack.includes("main.keepForever"),
  );
  assert.ok(kept >= 60 << 20, `${kept}`);
  heap.kill("SIGKILL");

  const waits = start(workload("gowaits"), []);
  await new Promise((resolve) => readline.createInterface(waits.stdout).once("line", resolve));
  const g = record("--goroutine", "-p", String(waits.pid), "-o", file("waits.pb.gz"));
  assert.strictEqual(g.status, 0, g.stderr);
  const { stacks } = contents(fs.readFileSync(file("waits.pb.gz")));
  assert.ok(stacks.some((s) => s.frames.some((f) => f.name === "main.waitForWork")));
  assert.match(g.stdout, /main\.waitForWork/);
  waits.kill("SIGKILL");
  const other = record("--heap", "-p", String(app.pid));
  assert.strictEqual(other.status, 1);
  assert.match(other.stderr, /not a Go program/);
});

test("without rights it says in one sentence what is missing", () => {
  const agent = path.join(tempDir("record", { mode: 0o755 }), "coroot-node-agent");
  fs.copyFileSync(nodeAgent, agent);
  const as = ["--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all"];
  const r = spawnSync("setpriv", [...as, agent, "record", "-d", "1s"], { encoding: "utf8" });
  assert.strictEqual(r.status, 1);
  assert.strictEqual(r.stderr.trimEnd().split("\n").length, 1);
  assert.match(r.stderr, /needs more rights \(.*\): cannot load BPF programs: .*without CAP_BPF$/m);
});

test("wrong arguments are one clear line", () => {
  const cases = [
    [["-p", "x"], /-p: "x" is not a process id/],
    [["-p", "99999999"], /there is no process 99999999/],
    [["-p", "1", "--comm", "a"], /one of them/],
    [["-d", "0"], /-d: "0" is not a time/],
    [["-F", "0"], /-F: "0" is not a number from 1 to 10000/],
    [["-o", "x.png"], /"x\.png" does not end in/],
    [["--format=bmp", "-o", "x"], /--format: "bmp" is not/],
    [["--heap"], /--heap: of one process, with -p PID/],
    [["--for=go-pgo"], /-o FILE is missing/],
    [["--frobnicate"], /unknown option "--frobnicate"/],
    [["--"], /a command is missing/],
    // before anything is recorded
    [["-o", "/nonexistent/x.svg", "-d", "9h"], /open \/nonexistent\/x\.svg: No such file/],
    [["-o", dir, "--format=svg", "-d", "9h"], /open .*: Is a directory/],
    [["-o", "/dev/full", "--format=svg", "--", "true"], /write \/dev\/full: No space left/],
  ];
  for (const [args, said] of cases) {
    const r = record(...args);
    assert.strictEqual(r.status, 1, args.join(" "));
    assert.match(r.stderr, said);
    assert.match(r.lines.at(-1), /^coroot-node-agent: /);
  }
});
