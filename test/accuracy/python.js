// The second part of "make accuracy": every CPython that can be had (test/setup/pythons.sh) takes
// turns of known calls below the node-agent and below py-spy, if that is there; the stacks of both
// are judged by what the program's own tracing has said (python_judge.js). Prints a Markdown table,
// keeps it (proven.tsv), and fails if fewer than 99.9 % of the samples of any are whole and true,
// or have other names or lines. Needs root.
//
//   SECONDS=10              CPU time of each
//   HZ=499                  samples per second of each CPU
//   AT_ONCE=2               programs that run at the same time
//   PYTHONS="3.9 sid"       only those whose names contain one of these
//   PY_SPY=py-spy           the command; it samples at 100 Hz, without native frames, and then with
//   PEER_SECONDS=4          for so long each
//   KEEP=1                  keeps what the tracing has said, and the stacks of py-spy
"use strict";

process.env.RUN_DIR ??= "build/accuracy/run";

const { execFileSync, spawn, spawnSync } = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { root, runDir, startNode } = require("../e2e/lib/daemon");
const { eventually, sleep } = require("../e2e/lib/wait");
const { faultLines } = require("./judge");
const { ProfileReceiver } = require("./profile_receiver");
const proven = require("./proven");
const { Truth, folded, peerVerdict, tally, verdict } = require("./python_judge");

const SECONDS = Number(process.env.SECONDS || 10);
const HZ = Number(process.env.HZ || 499);
const ONLY = (process.env.PYTHONS || "").split(" ").filter(Boolean);
const AT_ONCE = Number(process.env.AT_ONCE || 2);
const PEER_SECONDS = Number(process.env.PEER_SECONDS || SECONDS / 2 - 1);
const PY_SPY = process.env.PY_SPY || "py-spy";
const TARGET = 0.999;
const LATE_MS = 0;
// turns that are judged by themselves: 900 calls, and code that is gone after a moment
const APART = ["acc_deep", "acc_eval"];
const VERBOSE = Boolean(process.env.VERBOSE);
const REPEATED = /(acc_recurse:\d+;)\1+/g;
const program = "known_paths.py";
const source = path.join(__dirname, "workloads", program);
const hasPySpy = spawnSync(PY_SPY, ["--version"]).status === 0;

const running = new Set();
process.on("exit", () => running.forEach((child) => child.kill("SIGKILL")));

const percent = (part, whole) => (whole > 0 ? `${((100 * part) / whole).toFixed(2)} %` : "–");

// Those that can write down for perf what they call also run so.
function withPerf([name, dir, python]) {
  const minor = Number(/3\.(\d+)(?:\.\d+)?$/.exec(name)?.[1] ?? 0);
  const options = ["perf", "perf_jit"].slice(0, Math.max(0, minor - 11));
  const able = python.startsWith("/") ? options : [];
  return [[name, dir, python], ...able.map((x) => [`${name}-${x}`, dir, python, "-X", x])];
}

// [{ name, comm, file, command, dir }]: each has a process name of its own, by which its stacks are
// known.
function interpreters() {
  const env = { ...process.env, PYTHONS: "" }; // chosen below, with their options
  return String(execFileSync(path.join(root, "test/setup/pythons.sh"), { env }))
    .trim()
    .split("\n")
    .flatMap((line) => withPerf(line.split(" ")))
    .filter(([name]) => ONLY.length === 0 || ONLY.some((part) => name.includes(part)))
    .map(([name, dir, python, ...options], i) => {
      const comm = `acc-py-${i}`;
      const file = path.join(dir, "tmp", comm);
      fs.rmSync(file, { force: true });
      fs.copyFileSync(source, path.join(dir, "tmp", program));
      if (python.startsWith("/")) fs.symlinkSync(python, file);
      else execFileSync("cc", ["-o", file, path.join(root, "test/python/embedded.c")]);
      const first = python.startsWith("/") ? options : [python];
      const command = [dir, `/tmp/${comm}`, ...first];
      const plain = command.filter((x) => !options.includes(x));
      return { name, comm, file, command: [...command, `/tmp/${program}`], plain, dir };
    });
}

// Without the trampolines of perf, each of which 3.12 counts as a call of the recursion.
function truthOf({ name, dir, plain }) {
  const file = `/tmp/truth-${process.pid}`;
  const args = [...plain, `/tmp/${program}`, "truth", file];
  execFileSync("chroot", args, { stdio: ["ignore", "ignore", "inherit"] });
  const text = fs.readFileSync(path.join(dir, file), "utf8");
  fs.rmSync(path.join(dir, file));
  if (process.env.KEEP) fs.writeFileSync(path.join(runDir, `${name}.truth.json`), text);
  return new Truth(JSON.parse(text));
}

// Resolves with what py-spy has seen of the process in some seconds.
async function pySpy({ name }, pid, seconds, args) {
  const file = path.join(runDir, `${name}${args.join("")}.folded`);
  const sampling = ["-r", "100", "-d", String(seconds), "-f", "raw", "--full-filenames"];
  const child = spawn(PY_SPY, ["record", "-p", String(pid), ...sampling, "-o", file, ...args], {
    stdio: "ignore",
  });
  await new Promise((resolve) => child.once("exit", resolve));
  if (!fs.existsSync(file)) return [];
  const text = fs.readFileSync(file, "utf8");
  if (!process.env.KEEP) fs.rmSync(file);
  return folded(text);
}

// Waits until the agent has tables of what runs; where new programs start all the time that never
// ends.
async function tablesAreBuilt(node) {
  for (let i = 0, quiet = 0; i < 24 && quiet < 3; i++, await sleep(500))
    quiet = (await node.metric("coroot_node_agent_unwind_tables_waiting")) === 0 ? quiet + 1 : 0;
}

// Runs it; resolves with when it has begun and ended to take its turns, and what py-spy has seen.
async function run(python, node) {
  const go = `/tmp/${python.comm}.go`;
  fs.rmSync(path.join(python.dir, go), { force: true });
  const child = spawn("chroot", [...python.command, String(SECONDS), go], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  running.add(child);
  await sleep(3000);
  await tablesAreBuilt(node);
  fs.writeFileSync(path.join(python.dir, go), "");
  const said = {};
  child.stdout.on("data", (data) => {
    for (const [, key, value] of String(data).matchAll(/^(\w+) (.*)$/gm)) said[key] = value;
  });
  const exited = new Promise((resolve) => child.once("close", resolve)); // and all that it has said
  await eventually(`${python.name} takes turns`, () => said.begin || child.exitCode !== null);
  const peers = [[], []];
  if (hasPySpy && PEER_SECONDS > 0) {
    peers[0] = await pySpy(python, child.pid, PEER_SECONDS, []);
    peers[1] = await pySpy(python, child.pid, PEER_SECONDS, ["--native"]);
  }
  const status = await exited;
  running.delete(child);
  fs.rmSync(path.join(python.dir, go), { force: true });
  if (status !== 0) throw new Error(`${python.name} ended with ${status}`);
  return { begin: Number(said.begin), end: Number(said.end), version: said.version, peers };
}

// The times in which profiles are of nothing but turns. On a busy machine, samples come late.
function isSteady(times, { begin, end }) {
  const starts = [...new Set(times)].sort((a, b) => a - b);
  const steady = new Set(starts.filter((t, i) => t >= begin + LATE_MS && starts[i + 1] <= end));
  return (startMs) => steady.has(startMs);
}

function compare(python, ran, receiver) {
  const { truth, name, comm } = python;
  const steady = isSteady(
    receiver.profiles.map((p) => p.startMs),
    ran,
  );
  const ours = receiver.stacksOf(comm);
  const decide = (takesTurns, isWanted) => (frames) => {
    const v = verdict(frames, truth, takesTurns);
    return v && isWanted(v.turn) ? v : null;
  };
  const inTurns = ours.filter((s) => steady(s.startMs));
  const all = tally(
    ours,
    decide(false, () => true),
  );
  const most = tally(
    inTurns,
    decide(true, (turn) => !APART.includes(turn)),
  );
  const [deep, short] = APART.map((apart) =>
    tally(
      inTurns,
      decide(true, (turn) => turn === apart),
    ),
  );
  const [plain, native] = ran.peers.map((stacks, i) =>
    tally(stacks, (frames) => peerVerdict(frames, truth, i === 1)),
  );
  const good = most.samples > 0 && most.good >= TARGET * most.samples;
  const row = [
    `${name} (${ran.version})`,
    String(most.samples),
    percent(most.good, most.samples),
    percent(most.whole, most.samples),
    percent(most.names, most.samples),
    percent(most.lines, most.samples),
    percent(deep.good, deep.samples),
    percent(deep.rooted, deep.samples),
    percent(short.good, short.samples),
    percent(all.good, all.samples),
    `${percent(plain.names, plain.samples)}, ${percent(plain.lines, plain.samples)}`,
    `${percent(native.whole, native.samples)}, ${percent(native.names, native.samples)}`,
  ];
  console.error(`${good ? "ok" : "FAIL"} ${row.join("  ")}`);
  const shown = { most, deep, short, all, ...(VERBOSE ? { plain, native } : {}) };
  for (const [what, sum] of Object.entries(shown))
    for (const line of faultLines(sum, VERBOSE ? 4 : 1))
      console.error(`  ${what} ${line.replaceAll(REPEATED, "$1…;").slice(0, 2000)}`);
  const proof = proven.row({ language: "Python", program: name, release: ran.version }, most);
  return { row, proof, failed: !good };
}

async function main() {
  const pythons = interpreters();
  process.on("exit", () => pythons.forEach(({ file }) => fs.rmSync(file, { force: true })));
  for (const python of pythons) python.truth = truthOf(python);
  const receiver = await new ProfileReceiver(pythons.map(({ comm }) => comm)).start();
  const node = await startNode({
    collector: receiver.url,
    interval: "2s",
    args: [`--profile-frequency=${HZ}`],
  });
  await sleep(2000);
  const runs = new Map();
  const waiting = [...pythons];
  const worker = async () => {
    for (let python; (python = waiting.shift());) {
      runs.set(python, await run(python, node));
      console.error(`${python.name} has run`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  const ended = Date.now();
  await eventually("profiles of the next interval", () =>
    receiver.profiles.some(({ startMs }) => startMs > ended),
  );
  await node.stop();
  receiver.stop();
  const results = pythons.map((python) => compare(python, runs.get(python), receiver));
  proven.record(results.map(({ proof }) => proof));
  console.log(
    `${os.cpus()[0].model}, ${os.cpus().length} cores, load ${os.loadavg()[0].toFixed(0)}, ` +
      `kernel ${os.release()}, ${HZ} Hz, ${SECONDS} s each\n`,
  );
  console.log(
    "| CPython | samples | whole and true | whole | names | lines | 900 calls: whole and true | " +
      "true, from the root | code of a moment | from its start | py-spy: names, lines | " +
      "py-spy --native: whole, names |",
  );
  console.log(`|${"---|".repeat(12)}`);
  for (const { row } of results) console.log(`| ${row.join(" | ")} |`);
  const failed = results.filter((r) => r.failed).length;
  console.log(`\naccuracy of Python: ${results.length - failed} passed, ${failed} failed`);
  process.exit(failed || results.length === 0 ? 1 : 0);
}

main().catch((e) => {
  console.error(e);
  process.exit(1);
});
