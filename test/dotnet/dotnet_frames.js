// What the agent shows of a program in C# whose chains of calls are known (KnownChains.cs), on a
// .NET of test/dotnet/runtimes.sh: compiled while it runs, in two tiers, and, with
// DOTNET_TieredCompilation=0, the framework as it was compiled before, if it was.
// "dotnet_frames.js AGENT RUNTIMES" checks both on all runtimes of the folder.
"use strict";

const assert = require("node:assert");
const { execFileSync, spawn, spawnSync } = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { chainOf, record } = require("../interpreters/script_chains");
const { makeProgram } = require("./single_file");

const SAMPLES = 300;
const SAMPLE_NS = 1e9 / 99;
// While methods are replaced, walks and names may come too early for new code.
const RIGHT = 0.95;

// From the program's first method to its last one; others are of the framework, and the runtime's
// own. There are no lines.
const OTHERS = " \\[native\\]";
const BURN = "( Known.Chains.Burn)?";
const AREA = `( Known.Square.Area${BURN})?`;
const ROUNDS = [
  AREA,
  `( Known.Shape.Twice${AREA})?`,
  ` Known.Square.Corner.Known.IShape.Area${BURN}`,
  ` Known.Box<T>.(Open|Both<U>)${BURN}`,
  "( Known.Chains.Deep){1,51}",
  `( Known.Chains.Deep){51}${BURN}`,
  ` Known.Chains.(Many|Made.MoveNext)${BURN}`,
  // a handler may be called by the runtime, above the frame of its method
  ` Known.Chains.Throws((${OTHERS})? Known.Chains.Throws)?( Known.Chains.(Caught|Finally))?${BURN}`,
  ` Known.Chains.Later(${OTHERS})?( Known.Chains.Later.MoveNext)?`,
  ` Known.Chains.Lambdas( Known.Chains.Lambdas.lambda__0${BURN})?`,
  ` Known.Chains.Sorting(${OTHERS} Known.ByWork.Compare${BURN})?`,
  " Known.Chains.Matching",
  ` Known.Chains.Building(${OTHERS} Known.Chains.Building.lambda__1)?`,
  " Known.Chains.Writing( Known.Chains.FindJson.lambda__0)?",
];
const CHAINS = [
  "Known.Chains.Main( Known.Chains.FindJson)?",
  ...["", ...ROUNDS.map((round) => ` Known.Chains.Round${round}`)].map(
    (tail) => `(Known.Chains.Main )?Known.Chains.Work${tail}`,
  ),
  `Known.Chains.Later.MoveNext${BURN}`, // by a thread of the pool
];
const language = {
  chains: CHAINS,
  isOwn: (f) => f.name.startsWith("Known."),
  textOf: (f) => f.name,
};
const EXPRESSIONS = CHAINS.map((chain) => new RegExp(`^${chain}$`));

// Whether a frame is of code that was compiled before the program ran, and whether it has a name.
const isMapped = (f) => /\.dll\]?$/.test(f.file ?? "") || f.name.includes(".dll+0x");
const isUnnamed = (f) => f.name.includes(".dll+0x");

function none() {
  const counts = { n: 0, right: 0, truncated: 0, mapped: 0, unnamed: 0 };
  return { ...counts, wrong: new Map() };
}

function judge(profile) {
  const { frames } = profile.shared;
  const all = none();
  for (const { samples, weights } of profile.profiles) {
    samples.forEach((stack, i) => {
      const these = stack.map((f) => frames[f]);
      const chain = chainOf(these, language.isOwn, language.textOf);
      if (chain === null) return;
      const count = Math.max(1, Math.round(weights[i] / SAMPLE_NS));
      all.n += count;
      all.mapped += count * these.filter(isMapped).length;
      all.unnamed += count * these.filter(isUnnamed).length;
      if (these.some((f) => f.name === "[truncated]")) all.truncated += count;
      else if (EXPRESSIONS.some((c) => c.test(chain))) all.right += count;
      else all.wrong.set(chain, (all.wrong.get(chain) ?? 0) + count);
    });
  }
  return all;
}

function add(all, one) {
  for (const key of ["n", "right", "truncated", "mapped", "unnamed"]) all[key] += one[key];
  for (const [chain, n] of one.wrong) all.wrong.set(chain, (all.wrong.get(chain) ?? 0) + n);
}

// Compiles the program into a folder. Returns the command that runs it, with a file of this name.
function build(runtime, dir, name = "host") {
  const single = path.join(runtime, "program");
  const isSingle = fs.existsSync(single);
  const program = path.join(dir, isSingle ? "azmcp.dll" : "KnownChains.dll");
  const host = path.join(dir, name);
  const options = ["-langversion:7.2", "-optimize+", "-r:System.Core", "-r:System"];
  execFileSync("mcs", [...options, `-out:${program}`, path.join(__dirname, "KnownChains.cs")]);
  if (isSingle) {
    // what Mono's compiler refers to, of another runtime: names only
    const folder = path.join(path.dirname(runtime), "9.0.1");
    const others = ["mscorlib.dll", "System.dll", "System.Core.dll"];
    const named = others.map((name) => [name, path.join(folder, name)]);
    makeProgram(single, host, { "azmcp.dll": program, ...Object.fromEntries(named) });
    return [host];
  }
  execFileSync("gcc", ["-o", host, path.join(__dirname, "dotnet_host.c"), "-ldl"]);
  return [host, runtime, program];
}

async function started(child) {
  let said = "";
  child.stderr.on("data", (d) => (said += d));
  for await (const d of child.stdout) {
    said += d;
    if (said.includes("ready")) return;
  }
  throw new Error(`the program has ended: ${said}`);
}

// Calls what is given with the process of the program when that has begun, and its folder.
async function withProgram(runtime, env, what) {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), "dotnet-"));
  const [command, ...args] = build(runtime, dir);
  const child = spawn(command, args, { env: { ...process.env, ...env } });
  try {
    await started(child);
    return await what(child, dir);
  } finally {
    child.kill("SIGKILL");
    fs.rmSync(dir, { recursive: true, force: true });
  }
}

async function checkDotnet(agent, runtime, env) {
  const all = none();
  await withProgram(runtime, env, (child, dir) => {
    const file = path.join(dir, "speedscope.json");
    // nobody has seen this file before: its table takes up to a second, in which stacks are cut
    record(agent, child.pid, 5, file);
    // a machine that others use gives it little time
    for (let seconds = 5; all.n < SAMPLES && seconds < 1000; seconds *= 2)
      add(all, judge(record(agent, child.pid, seconds, file)));
  });
  assert.ok(all.n >= SAMPLES, `${all.n} stacks with methods of the program`);
  const wrong = [...all.wrong].map(([chain, n]) => `${n} × ${chain}`).join("\n");
  const { n, right, truncated, mapped, unnamed } = all;
  const said = `${right} of ${n} are right, ${truncated} truncated; wrong: ${wrong}`;
  assert.ok(right >= n * RIGHT, said);
  assert.ok(unnamed <= mapped / 100, `${unnamed} of ${mapped} have no name`);
  return all;
}

// What the agent calls methods must be what the runtime calls them itself, in the map that it
// writes for perf. check is check_dotnet_frames.
async function checkNames(check, runtime) {
  const env = { DOTNET_PerfMapEnabled: "1" };
  return withProgram(runtime, env, (child, dir) => {
    const map = `/tmp/perf-${child.pid}.map`, kept = path.join(dir, "perf.map");
    try {
      // lines that were written by then
      const text = fs.readFileSync(map, "utf8");
      fs.writeFileSync(kept, text.slice(0, text.lastIndexOf("\n") + 1));
      const r = spawnSync(check, [String(child.pid), kept], { encoding: "utf8" });
      assert.strictEqual(r.status, 0, r.stdout + r.stderr);
      return r.stdout;
    } finally {
      for (const file of [map, `/tmp/perfinfo-${child.pid}.map`]) fs.rmSync(file, { force: true });
    }
  });
}

async function main() {
  const [agent, runtimes] = process.argv.slice(2);
  const cases = fs.readdirSync(runtimes).flatMap((r) => ["1", "0"].map((tiers) => [r, tiers]));
  for (const [release, tiers] of cases) {
    const runtime = path.join(runtimes, release);
    const all = await checkDotnet(agent, runtime, { DOTNET_TieredCompilation: tiers });
    const { n, right, truncated, mapped, unnamed, wrong } = all;
    console.log(
      `.NET ${release}, tiers ${tiers}: ${right} of ${n} stacks are right, ` +
        `${truncated} truncated; ${mapped - unnamed} of ${mapped} frames of assemblies have names`,
    );
    for (const [chain, count] of wrong) console.log(`  wrong: ${count} × ${chain}`);
  }
}

module.exports = { build, checkDotnet, checkNames, language };
if (require.main === module) main();
