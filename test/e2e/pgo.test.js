// What "go build -pgo" does with our profiles, of a recording and of the store, and that they have
// the hot call sites that runtime/pprof's own profile of the same program has.
"use strict";

const assert = require("node:assert");
const { execFileSync, spawnSync } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const { test, before, after } = require("node:test");
const { root, scratch, nodeAgent, startCluster, startNode } = require("./lib/daemon");
const { CPU, application } = require("./lib/query");
const { eventually } = require("./lib/wait");

const SOURCE = path.join(root, "test/e2e/workloads/pgo");
const go = execFileSync("test/setup/go.sh", { cwd: root, encoding: "utf8" }).trim();
const dir = scratch("pgo");
// the kernel shows the first 15 characters
const program = path.join(dir, `pgo${process.pid % 10000}`);
const files = Object.fromEntries(
  ["theirs", "recorded", "stored"].map((name) => [name, path.join(dir, `${name}.pgo`)]),
);
let cluster;

const run = (command, args, options = {}) =>
  execFileSync(command, args, { cwd: SOURCE, encoding: "utf8", stdio: "pipe", ...options });

async function download(from) {
  const app = await eventually("the profile is stored", () =>
    application(cluster, path.basename(program)),
  );
  const query = new URLSearchParams({ service: app.service, type: CPU, from, for: "go-pgo" });
  const answer = await fetch(`${cluster.url}/api/pprof?${query}`);
  assert.strictEqual(answer.status, 200, await answer.clone().text());
  fs.writeFileSync(files.stored, Buffer.from(await answer.arrayBuffer()));
}

before(async () => {
  fs.mkdirSync(dir, { recursive: true });
  run(go, ["build", "-pgo=off", "-o", program, "."]);
  run(go, ["build", "-pgo=off", "-tags=own", "-o", `${program}-own`, "."]);
  cluster = await startCluster();
  const node = await startNode({ cluster, interval: "1s" });
  // the daemon builds the unwinding table while this runs; profiles of a second end within another
  run(program, ["500ms"]);
  await eventually("unwinding tables are built", async () => {
    const n = await node.metric("node_agent_unwind_tables_waiting");
    return n === 0 && (await node.metric("node_agent_unwind_tables")) > 0;
  });
  const from = Date.now() + 1500;
  const args = ["record", "--for=go-pgo", "-F", "499", "-o", files.recorded, "--", program, "2s"];
  run(nodeAgent, args, { stdio: "ignore" }); // beside the daemon
  run(`${program}-own`, ["1s", files.theirs]);
  await node.stop();
  await download(from);
});
after(() => cluster?.stop());

const isOurs = (frame) => frame.name.startsWith("main.") && frame.name !== "main.main";

// Call sites of the program with a tenth of all samples or more, "main.work+4 main.mix": the
// caller, the line of the call relative to the caller's first one, and the callee.
function sitesOf(file) {
  const raw = run(go, ["tool", "pprof", "-raw", file]);
  const frames = new Map();
  let id = 0;
  for (const line of raw.slice(raw.indexOf("\nLocations\n")).split("\n")) {
    const first = /^\s+(\d+): 0x/.exec(line);
    if (first) frames.set((id = Number(first[1])), []);
    const f = /(\S+) \S+:(\d+):\d+ s=(\d+)/.exec(line);
    if (f) frames.get(id).push({ name: f[1], line: Number(f[2]), start: Number(f[3]) });
  }
  const sites = new Map();
  let total = 0;
  for (const line of raw.slice(0, raw.indexOf("\nLocations\n")).split("\n")) {
    const s = /^\s+(\d+)\s+\d+: ([\d ]+)$/.exec(line);
    if (!s) continue;
    const n = Number(s[1]);
    total += n;
    const stack = s[2].trim().split(" ").flatMap((l) => frames.get(Number(l)));
    for (let i = 0; i + 1 < stack.length; i++) {
      const { name, line, start } = stack[i + 1];
      if (!isOurs(stack[i]) || !isOurs(stack[i + 1])) continue;
      const site = `${name}+${line - start} ${stack[i].name}`;
      sites.set(site, (sites.get(site) ?? 0) + n);
    }
  }
  return [...sites].filter(([, n]) => n > total / 10).map(([site]) => site).sort();
}

test("the hot call sites are those of runtime/pprof", () => {
  const theirs = sitesOf(files.theirs);
  assert.ok(theirs.length >= 2, theirs.join());
  assert.deepStrictEqual(sitesOf(files.recorded), theirs);
  assert.deepStrictEqual(sitesOf(files.stored), theirs);
});

test("types are those of runtime/pprof, and frames outside Go are left out", () => {
  for (const file of [files.recorded, files.stored]) {
    const raw = run(go, ["tool", "pprof", "-raw", file]);
    assert.match(raw, /^samples\/count cpu\/nanoseconds/m);
    assert.match(raw, /^PeriodType: cpu nanoseconds/m);
    assert.doesNotMatch(raw, /\[kernel\]|\[truncated\]/);
  }
});

// What the compiler says about the two calls.
function decisionsOf(output) {
  return {
    inlines: /inlining call to mix$/m.test(output),
    devirtualizes: /PGO devirtualizing interface call s\.area to \(\*square\)\.area/.test(output),
  };
}

// The commands of "go build -pgo" for this package only: that compiles all others anew, too, for
// each profile.
const object = path.join(dir, "main.o");
const config = path.join(dir, "importcfg");
function tool(name, ...args) {
  const { stdout, stderr, status } = spawnSync(go, ["tool", name, ...args], {
    cwd: SOURCE,
    encoding: "utf8",
  });
  assert.strictEqual(status, 0, stderr);
  return stdout + stderr;
}
function compile(...flags) {
  const format = "{{if .Export}}packagefile {{.ImportPath}}={{.Export}}{{end}}";
  if (!fs.existsSync(config))
    fs.writeFileSync(config, run(go, ["list", "-pgo=off", "-export", "-deps", "-f", format, "."]));
  const args = ["-p", "main", "-m=2", "-importcfg", config, "-o", object, ...flags];
  return decisionsOf(tool("compile", ...args, "hot_calls.go"));
}

const ALL = { inlines: true, devirtualizes: true };

test("the compiler decides by our profiles as by that of runtime/pprof", () => {
  assert.deepStrictEqual(compile(), { inlines: false, devirtualizes: false });
  for (const name of ["theirs", "recorded", "stored"])
    assert.deepStrictEqual(compile(`-pgoprofile=${files[name]}`), ALL, name);
});

test("a program is built with a recording as go build -pgo does it, and runs", () => {
  let profile = files.recorded;
  const [, minor] = /go1\.(\d+)/.exec(run(go, ["version"]));
  if (Number(minor) >= 23) {
    profile = path.join(dir, "preprofile");
    tool("preprofile", "-i", files.recorded, "-o", profile);
    assert.match(fs.readFileSync(profile, "utf8"), /^main\.work\nmain\.mix\n/m);
  }
  assert.deepStrictEqual(compile(`-pgoprofile=${profile}`), ALL);
  const built = path.join(dir, "built");
  tool("link", "-importcfg", config, "-o", built, object);
  assert.strictEqual(spawnSync(built, ["10ms"]).status, 0);
});

const BUSY = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";

test("a profile without Go, and one of memory, are refused with the reason", async () => {
  const c = spawnSync(
    nodeAgent,
    ["record", "--for=go-pgo", "-o", path.join(dir, "no.pgo"), "--", "sh", "-c", BUSY],
    { encoding: "utf8" },
  );
  assert.match(c.stderr, /no stack has a function of a program built by Go 1\.20 or newer/);
  assert.strictEqual(c.status, 1);
  assert.ok(!fs.existsSync(path.join(dir, "no.pgo")));
  const type = "go:heap_inuse_space:bytes";
  const query = new URLSearchParams({ service: "/a", type, for: "go-pgo" });
  const heap = await fetch(`${cluster.url}/api/pprof?${query}`);
  assert.strictEqual(heap.status, 400);
  assert.match(await heap.text(), /must be one of CPU time/);
  query.set("for", "else");
  assert.strictEqual((await fetch(`${cluster.url}/api/pprof?${query}`)).status, 400);
});
