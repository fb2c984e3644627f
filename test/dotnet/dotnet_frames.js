// What the agent shows of a program in C# whose chains of calls are known (KnownChains.cs), on a
// .NET of test/dotnet/runtimes.sh: compiled while it runs, in two tiers, and, with
// DOTNET_TieredCompilation=0, the framework as it was compiled before. "dotnet_frames.js AGENT
// RUNTIMES" checks both on all runtimes of the folder.
"use strict";

const assert = require("node:assert");
const { spawn, execFileSync } = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { record } = require("../interpreters/script_chains");

const SAMPLES = 500;
const SAMPLE_NS = 1e9 / 99;
// While methods are replaced, walks and names may come too early for new code.
const RIGHT = 0.95;

// From the program's first method to its last one. "~" stands for others: of the framework, and the
// runtime's own.
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
  ` Known.Chains.Throws(( ~)? Known.Chains.Throws)?( Known.Chains.(Caught|Finally))?${BURN}`,
  ` Known.Chains.Later( ~)?( Known.Chains.Later.MoveNext)?`,
  ` Known.Chains.Lambdas( Known.Chains.Lambdas.lambda__0${BURN})?`,
  ` Known.Chains.Sorting( ~ Known.ByWork.Compare${BURN})?`,
  " Known.Chains.Matching",
  " Known.Chains.Building( ~ Known.Chains.Building.lambda__1)?",
  " Known.Chains.Writing( Known.Chains.FindJson.lambda__0)?",
];
const CHAINS = [
  "Known.Chains.Main( Known.Chains.FindJson)?",
  ...["", ...ROUNDS.map((round) => ` Known.Chains.Round${round}`)].map(
    (tail) => `(Known.Chains.Main )?Known.Chains.Work${tail}`,
  ),
  `Known.Chains.Later.MoveNext${BURN}`, // by a thread of the pool
].map((chain) => new RegExp(`^${chain}$`));

// Small methods of optimised code keep no frame pointer, and nothing says how they leave the stack:
// the method that has called one is missing.
const WITHOUT_CALLERS = CHAINS.map((chain) => {
  const callers = / Known\.Chains\.(Round|Throws|Lambdas|Sorting|Building)/g;
  return new RegExp(chain.source.replace(callers, "($&)?"));
});

function wordOf(frame) {
  return frame.name.startsWith("Known.") ? frame.name : "~";
}

// Of a method that is replaced while it runs, the frame of its first version stays below.
function isReplaced(word, before) {
  return word === before && word !== "Known.Chains.Deep";
}

function chainOf(frames) {
  const words = frames.map(wordOf);
  const first = words.findIndex((w) => w !== "~");
  if (first < 0) return null;
  const own = words.slice(first, words.findLastIndex((w) => w !== "~") + 1);
  const once = own.filter((w, i) => w !== "~" || own[i - 1] !== "~");
  return once.filter((w, i) => !isReplaced(w, once[i - 1])).join(" ");
}

// Whether a frame is of code that was compiled before the program ran, and whether it has a name.
const isMapped = (f) => /\.dll\]?$/.test(f.file ?? "") || f.name.includes(".dll+0x");
const isUnnamed = (f) => f.name.includes(".dll+0x");

function none() {
  const counts = { n: 0, right: 0, callerless: 0, truncated: 0, mapped: 0, unnamed: 0 };
  return { ...counts, wrong: new Map() };
}

function judge(profile) {
  const { frames } = profile.shared;
  const all = none();
  for (const { samples, weights } of profile.profiles) {
    samples.forEach((stack, i) => {
      const these = stack.map((f) => frames[f]);
      const chain = chainOf(these);
      if (chain === null) return;
      const count = Math.max(1, Math.round(weights[i] / SAMPLE_NS));
      all.n += count;
      all.mapped += count * these.filter(isMapped).length;
      all.unnamed += count * these.filter(isUnnamed).length;
      if (these.some((f) => f.name === "[truncated]")) all.truncated += count;
      else if (CHAINS.some((c) => c.test(chain))) all.right += count;
      else if (WITHOUT_CALLERS.some((c) => c.test(chain))) all.callerless += count;
      else all.wrong.set(chain, (all.wrong.get(chain) ?? 0) + count);
    });
  }
  return all;
}

function add(all, one) {
  for (const key of ["n", "right", "callerless", "truncated", "mapped", "unnamed"])
    all[key] += one[key];
  for (const [chain, n] of one.wrong) all.wrong.set(chain, (all.wrong.get(chain) ?? 0) + n);
}

// Compiles the program and what starts it into a folder.
function build(dir) {
  const program = path.join(dir, "KnownChains.dll"), host = path.join(dir, "host");
  const options = ["-langversion:7.2", "-optimize+", "-r:System.Core", "-r:System"];
  execFileSync("mcs", [...options, `-out:${program}`, path.join(__dirname, "KnownChains.cs")]);
  execFileSync("gcc", ["-o", host, path.join(__dirname, "dotnet_host.c"), "-ldl"]);
  return { program, host };
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

async function checkDotnet(agent, runtime, env) {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), "dotnet-"));
  const { program, host } = build(dir);
  const child = spawn(host, [runtime, program], { env: { ...process.env, ...env } });
  const all = none();
  try {
    await started(child);
    // a machine that others use gives it little time
    for (let seconds = 5; all.n < SAMPLES && seconds < 1000; seconds *= 2)
      add(all, judge(record(agent, child.pid, seconds, path.join(dir, "speedscope.json"))));
    assert.ok(all.n >= SAMPLES, `${all.n} stacks with methods of the program`);
    const wrong = [...all.wrong].map(([chain, n]) => `${n} × ${chain}`).join("\n");
    const right = all.right + all.callerless;
    assert.ok(right >= all.n * RIGHT, `${right} of ${all.n} are right; wrong: ${wrong}`);
    assert.ok(all.unnamed <= all.mapped / 100, `${all.unnamed} of ${all.mapped} have no name`);
    return all;
  } finally {
    child.kill("SIGKILL");
    fs.rmSync(dir, { recursive: true, force: true });
  }
}

async function main() {
  const [agent, runtimes] = process.argv.slice(2);
  const cases = fs.readdirSync(runtimes).flatMap((r) => ["1", "0"].map((tiers) => [r, tiers]));
  for (const [release, tiers] of cases) {
    const runtime = path.join(runtimes, release);
    const all = await checkDotnet(agent, runtime, { DOTNET_TieredCompilation: tiers });
    const { n, right, callerless, truncated, mapped, unnamed, wrong } = all;
    console.log(
      `.NET ${release}, tiers ${tiers}: ${right} of ${n} stacks are right, ${callerless} ` +
        `without the caller of a small method, ${truncated} truncated; ` +
        `${mapped - unnamed} of ${mapped} frames of compiled assemblies have names`,
    );
    for (const [chain, count] of wrong) console.log(`  wrong: ${count} × ${chain}`);
  }
}

module.exports = { checkDotnet };
if (require.main === module) main();
