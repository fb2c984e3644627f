// Four services that always run, beside many other programs that take turns: what is cut of stacks
// because unwinding tables that they need have made room for others. Of PROGRAMS=80 programs,
// those that are installed run SLOTS=3 at a time, TURN=2 seconds each, WARM=60 and then WINDOW=60
// seconds long, with BUDGET=64MiB of tables. CONTAINERS=1: each in one of its own. With BEFORE=…
// another node-agent runs at the same time, so that both see the same load. Needs root.
"use strict";

process.env.RUN_DIR ??= "build/bench/run";

const crypto = require("node:crypto");
const { spawn, execFileSync } = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { root, runDir, startNode } = require("../e2e/lib/daemon");
const { sleep } = require("../e2e/lib/wait");
const { ProfileReceiver } = require("../accuracy/profile_receiver");

const PROGRAMS = Number(process.env.PROGRAMS || 80);
const SLOTS = Number(process.env.SLOTS || 3);
const TURN = Number(process.env.TURN || 2);
const WARM = Number(process.env.WARM || 60);
const WINDOW = Number(process.env.WINDOW || 60);
const BUDGET = process.env.BUDGET || "64MiB";
const MIB = 1 << 20;

// ---- what runs ----

function scratch(name, lines) {
  const file = path.join(runDir, name);
  fs.writeFileSync(file, `${lines.join("\n")}\n`);
  return file;
}
const times = (n, line) => Array.from({ length: n }, (_, i) => line(i));

const FREE_C = scratch(
  "free.c",
  times(300, (i) => `int f${i}(int x) { return x * ${i}; }`),
);
const C = scratch("a.c", ["#include <stdio.h>", '#include "free.c"']);
const CXX = scratch("a.cc", [
  "#include <map>\n#include <regex>\n#include <string>",
  "std::map<std::string, std::regex> m;",
  'void f() { m.emplace("a", std::regex("a+b*")); }',
]);
const RUST = scratch(
  "a.rs",
  times(60, (i) => `#[derive(Clone, Debug, Hash)] pub struct S${i} { a: u32, b: String }`),
);
const GO = scratch("a.go", [
  "package a",
  ...times(300, (i) => `func F${i}(n int) int { return n * ${i} }`),
]);
const JAVA = scratch("Work.java", [
  "import java.util.*;",
  "public class Work { public static void main(String[] a) throws Exception { while (true) {",
  '  List<String> l = new ArrayList<>(); for (int i = 0; i < 20000; i++) l.add("s" + i * 7919);',
  "  Collections.sort(l); Thread.sleep(50); } } }",
]);
const DATA = scratch(
  "data",
  times(200000, (i) => `${(i * 7919) % 200003} x`),
);
const PYTHON = `import json, re, time
def f(n):
    if n: return f(n - 1)
    for i in range(200): re.sub("a+b", "c", "aaab" * 50); json.dumps(list(range(100)))
while True: f(10); time.sleep(0.05)`;
const PERL =
  'while (1) { my %h; $h{$_ % 997} .= "a" for 1..20000; join(",", sort keys %h); ' +
  "select undef, undef, undef, 0.05 }";
const NODE = `setInterval(() => { for (let i = 0; i < 200; i++)
  JSON.parse(JSON.stringify(Array.from({ length: 200 }, (_, j) => ({ j })))); }, 50)`;
const SQL =
  "with recursive c(x) as (select 1 union all select x + 1 from c limit 500000) " +
  "select sum(x * x) from c";

const in_home = (rest) => path.join(os.homedir(), rest);
const JDKS = `/usr/lib/jvm/*/bin/java ${process.env.DEPS || "build"}/java/jdks*/*/bin/java`;
const PYTHONS = `/usr/bin/python3 ${in_home(".pyenv/versions/*/bin/python")}`;
const bin = (...names) => names.map((n) => `/usr/bin/${n}`).join(" ");

// By patterns of programs, what they do.
const COMMANDS = [
  ["/usr/lib/gcc/*/*/cc1", () => `gcc -O2 -c ${C} -o /dev/null`],
  ["/usr/lib/gcc-cross/*/*/cc1", (p) => `${p} -quiet -O2 ${FREE_C} -o /dev/null`],
  ["/usr/lib/gcc/*/*/cc1plus", () => `g++ -O2 -c ${CXX} -o /dev/null`],
  ["/usr/lib/gcc/*/*/lto1", () => `gcc -O2 -flto -shared -fPIC ${C} -o /dev/null`],
  [bin("clang"), (p) => `${p} -O2 -c ${C} -o /dev/null`],
  [bin("clang++"), (p) => `${p} -O2 -c ${CXX} -o /dev/null`],
  [bin("clang-tidy", "clang-format", "clang-check"), (p) => `${p} ${C}`],
  [bin("ctags"), (p) => `${p} -f /dev/null ${C}`],
  [
    `${bin("rustc")} ${in_home(".rustup/toolchains/*/bin/rustc")}`,
    (p) => `${p} -O --crate-type=lib --emit=obj ${RUST} -o /dev/null`,
  ],
  ["/usr/local/go/bin/go", (p) => `${p} tool compile -o /dev/null ${GO}`],
  [bin("cppcheck"), (p) => `${p} ${C}`],
  [PYTHONS, (p) => `${p} -c '${PYTHON}'`],
  [JDKS, (p) => `${p} -cp ${runDir} Work`],
  ["/usr/lib/jvm/*/bin/javac", (p) => `${p} -d ${path.join(runDir, "classes")} ${JAVA}`],
  [bin("perl"), (p) => `${p} -e '${PERL}'`],
  [bin("node"), (p) => `${p} -e '${NODE}'`],
  [bin("xz", "zstd", "bzip2", "gzip"), (p) => `${p} -c ${DATA}`],
  [bin("sort", "shuf", "wc", "md5sum", "sha256sum", "b2sum", "cksum"), (p) => `${p} ${DATA}`],
  [bin("mawk", "gawk"), (p) => `${p} '{ a[$1] = $2 } END { print length(a) }' ${DATA}`],
  [bin("sed"), (p) => `${p} -E 's/([0-9]+) x/x \\1/' ${DATA}`],
  [bin("jq"), (p) => `${p} -n '[range(100000)] | add'`],
  [bin("bc"), (p) => `echo '2^20000' | ${p}`],
  [bin("sqlite3"), (p) => `${p} :memory: '${SQL}'`],
  [bin("tclsh"), (p) => `echo 'for {set i 0} {$i < 300000} {incr i} {append a $i}' | ${p}`],
  [bin("openssl"), (p) => `${p} speed -seconds 1 sha256`],
  [bin("git"), (p) => `${p} -C ${root} log --stat -n 200`],
  [bin("gdb"), (p) => `${p} -batch -ex 'info functions' ${p}`],
  [bin("objdump"), (p) => `${p} -d ${process.execPath}`],
  [bin("readelf", "llvm-readelf"), (p) => `${p} -a ${process.execPath}`],
  [bin("nm", "strings", "llvm-nm", "llvm-objdump"), (p) => `${p} ${process.execPath}`],
  [bin("ssh", "curl", "vim", "cmake", "ninja", "psql", "tar", "find"), (p) => `${p} --help`],
  [bin("kubectl*", "podman", "docker", "perf", "terraform"), (p) => `${p} --help`],
];

const found = (pattern) =>
  execFileSync("/bin/sh", ["-c", `ls -d ${pattern} 2>/dev/null; true`])
    .toString()
    .split("\n")
    .filter(Boolean);

// Not one kind after the other.
function programs() {
  const all = COMMANDS.flatMap(([pattern, command]) => found(pattern).map(command));
  const shuffled = all.map((c, i) => [(i * 7919) % 1009, c]).sort((a, b) => a[0] - b[0]);
  return shuffled.map(([, command]) => command).slice(0, PROGRAMS);
}

// ---- how it runs ----

// What moves the shell that runs it into the container with this name.
const cgroups = ["/sys/fs/cgroup/memory", "/sys/fs/cgroup"].find((r) => fs.existsSync(r));
const containers = new Set();
function enter(name) {
  if (!process.env.CONTAINERS) return "";
  const dir = path.join(cgroups, "docker", crypto.createHash("sha256").update(name).digest("hex"));
  fs.mkdirSync(dir, { recursive: true });
  containers.add(dir);
  return `echo $$ >${dir}/cgroup.procs; `;
}

const children = new Set();
function start(command, args, container = command) {
  const child = spawn("/bin/sh", ["-c", `${enter(container)}exec "$0" "$@"`, command, ...args], {
    stdio: "ignore",
    detached: true,
  });
  children.add(child);
  return child;
}
function stop(child) {
  children.delete(child);
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {
    // it has ended
  }
}
process.on("exit", () => children.forEach(stop));

let ended = false;
async function takeTurns(list, next) {
  while (!ended) {
    const command = list[next.i++ % list.length];
    const child = start("/bin/sh", ["-c", `while :; do ${command}; done`], command);
    await sleep(TURN * 1000);
    stop(child);
  }
}

const SERVICES = ["svc-node", "svc-python", "svc-perl", "svc-java"];

function startServices() {
  const link = (name, to) => {
    fs.symlinkSync(to, path.join(runDir, name));
    return path.join(runDir, name);
  };
  const [python, java] = [found(PYTHONS).at(-1), found(JDKS)[0]];
  start(link(SERVICES[0], process.execPath), ["-e", NODE]);
  start(link(SERVICES[1], python), ["-c", PYTHON]);
  start(link(SERVICES[2], "/usr/bin/perl"), ["-e", PERL]);
  if (java) start(link(SERVICES[3], java), ["-cp", runDir, "Work"]);
}

async function startAgent(name, binary) {
  const receiver = await new ProfileReceiver(SERVICES).start();
  const node = await startNode({
    collector: receiver.url,
    interval: "10s",
    within: binary ? ["/bin/sh", "-c", `exec ${binary} "$@"`] : [],
    args: [`--cache-dir=${path.join(runDir, name)}`, `--unwind-table-budget=${BUDGET}`],
  });
  return { name, receiver, node };
}

// ---- what comes of it ----

const METRICS = {
  all: ["samples_profiled_total"],
  noTable: ["samples_unwound_total", 'end="no_table"'],
  noRow: ["samples_unwound_total", 'end="no_unwind_info"'],
  whole: ["samples_unwound_total", 'end="complete"'],
  built: ["unwind_tables_built_total"],
  parts: ["unwind_parts_built_total"],
  evicted: ["unwind_tables_evicted_total"],
  buildSeconds: ["unwind_build_seconds_total"],
  tables: ["unwind_tables"],
  rows: ["unwind_rows"],
  bytes: ["unwind_bytes", 'use="tables"'],
};

async function read(node) {
  const values = { cpu: 0 };
  for (const [key, [name, labels]] of Object.entries(METRICS))
    values[key] = await node.metric(`coroot_node_agent_${name}`, labels);
  for (const t of fs.readdirSync(`/proc/${node.pid}/task`))
    values.cpu += Number(
      fs.readFileSync(`/proc/${node.pid}/task/${t}/schedstat`, "utf8").split(" ")[0],
    );
  return values;
}

// Samples of a service from a profile on: those that are cut, of all.
function serviceSamples(agent, service, from) {
  const stacks = agent.receiver.stacksOf(service, agent.receiver.profiles.slice(from));
  const sum = (list) => list.reduce((n, { count }) => n + count, 0);
  const isCut = ({ frames }) => frames.some((f) => f.name.startsWith("[truncated"));
  return `${sum(stacks.filter(isCut))}/${sum(stacks)}`;
}

async function row(agent, before, from) {
  const after = await read(agent.node);
  const d = Object.fromEntries(Object.keys(after).map((k) => [k, after[k] - before[k]]));
  const percent = (part, all) => `${((100 * part) / Math.max(all, 1)).toFixed(2)} %`;
  return [
    agent.name,
    `${percent(d.noTable + d.noRow, d.all)} of ${d.all} (${d.noTable} + ${d.noRow})`,
    percent(d.whole, d.all),
    SERVICES.map((s) => serviceSamples(agent, s, from)).join(", "),
    `${d.built} and ${d.parts} parts`,
    d.evicted,
    `${d.buildSeconds.toFixed(2)} s of ${(d.cpu / 1e9).toFixed(2)} s`,
    after.tables,
    `${(after.bytes / MIB).toFixed(1)} MiB`,
    `${(after.bytes / after.rows).toFixed(2)}`,
  ];
}

async function main() {
  const list = programs();
  const agents = [];
  execFileSync("javac", ["--release", "8", "-d", runDir, JAVA], { stdio: "ignore" });
  if (process.env.BEFORE) agents.push(await startAgent("before", process.env.BEFORE));
  agents.push(await startAgent("now"));
  const next = { i: 0 };
  for (let i = 0; i < SLOTS; i++) void takeTurns(list, next);
  await sleep((WARM / 2) * 1000);
  startServices(); // they are not the first to have tables
  await sleep((WARM / 2) * 1000);
  const before = await Promise.all(agents.map(({ node }) => read(node)));
  const from = agents.map(({ receiver }) => receiver.profiles.length);
  await sleep(WINDOW * 1000);
  const rows = await Promise.all(agents.map((a, i) => row(a, before[i], from[i])));
  ended = true;
  console.log(
    `\n${list.length} programs in turns, budget ${BUDGET}; ${os.cpus()[0].model}, ` +
      `${os.cpus().length} cores, load ${os.loadavg()[0].toFixed(0)}, ${WINDOW} s\n`,
  );
  console.log(
    "| agent | samples that ended without a table + row | whole | of the services cut | built " +
      "| evicted | CPU time for that, of the agent's | tables | memory | bytes a row |",
  );
  console.log("|---|---|---|---|---|---|---|---|---|---|");
  for (const r of rows) console.log(`| ${r.join(" | ")} |`);
  children.forEach(stop);
  await sleep(2000);
  for (const dir of containers) fs.rmdirSync(dir);
  process.exit(0);
}

main().catch((e) => {
  console.error(e);
  process.exit(1);
});
