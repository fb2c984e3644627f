// What the agent shows of a program in C# whose chains of calls are known (KnownChains.cs), on a
// .NET of test/dotnet/runtimes.sh: compiled while it runs, in two tiers, and, with
// DOTNET_TieredCompilation=0, the framework as it was compiled before, if it was.
// "dotnet_frames.js AGENT RUNTIMES" checks both on all runtimes of the folder.
"use strict";

const assert = require("node:assert");
const { execFileSync, spawn, spawnSync } = require("node:child_process");
const { createHash } = require("node:crypto");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { chainOf, record } = require("../interpreters/script_chains");
const { makeProgram } = require("./single_file");

const SAMPLES = 300;
const SAMPLE_NS = 1e9 / 99;
// While methods are replaced, walks and names may come too early for new code.
const RIGHT = 0.95;

// Lines of the program, by what is written there.
const FOLDER = path.join(__dirname, "../data/dotnet");
const SOURCE = path.join(__dirname, "KnownChains.cs");
const source = fs.readFileSync(SOURCE, "utf8").split("\n");

function lineOf(text) {
  const found = source.flatMap((line, i) => (line.includes(text) ? [i + 1] : []));
  assert.strictEqual(found.length, 1, text);
  return found[0];
}

// "METHOD:LINE", at what is written there.
const at = (method, text) => `${method}:${lineOf(text)}`;

// The same with all lines of the method whose head is this.
function within(method, head) {
  const first = lineOf(head);
  const indent = source[first - 1].match(/^\t*/)[0];
  const last = source[first - 1].endsWith("}") ? first : source.indexOf(`${indent}}`, first) + 1;
  const lines = Array.from({ length: last - first + 1 }, (_, i) => first + i);
  return `${method}:(${lines.join("|")})`;
}

// From the program's first method to its last one; others are of the framework, and the runtime's
// own. What a compiler makes of "async" has no line but for what was written.
const K = "Known.Chains";
const OTHERS = " \\[native\\]";
const BURN = `( ${within(`${K}.Burn`, "static int Burn(")})?`;
const AREA = `( ${at("Known.Square.Area", "override int Area(")}${BURN})?`;
const DEEP = at(`${K}.Deep`, "static int Deep(");
const LATER = `${within(`${K}.Later.MoveNext`, "Task<int> Later(")}${BURN}`;
const THROWS = within(`${K}.Throws`, "static int Throws(");
const throws = (text) => at(`${K}.Throws`, text);
const CAUGHT = at(`${K}.Caught`, "static int Caught(");
const FINALLY = at(`${K}.Finally`, "static int Finally(");
const LAMBDA = at(`${K}.Lambdas.lambda__\\d+_0`, "k => Burn(k)");
const COMPARE = at("Known.ByWork.Compare", "public int Compare(");
const BUILDING = at(`${K}.Building`, "return b.ToString()");
const LENGTH = at(`${K}.Building.lambda__\\d+_0`, "return b.ToString()");
const TO_JSON = at(`${K}.FindJson.lambda__0`, "return o => method == null");
// what is called by which line of Round()
const ROUNDS = [
  ["\tsquare.Area(n)", AREA],
  ["(Shape)square", `( ${at("Known.Shape.Twice", "virtual int Twice(")}${AREA})?`],
  ["corner.Area(n)", ` ${at("Known.Square.Corner.Known.IShape.Area", "int IShape.Area(")}${BURN}`],
  ["new Box<int>", ` ${at("Known.Box<T>.Open", "public int Open(")}${BURN}`],
  ["new Box<string>", ` ${at("Known.Box<T>.Open", "public int Open(")}${BURN}`],
  ["Box<string>.Both", ` ${at("Known.Box<T>.Both<U>", "static int Both<U>(")}${BURN}`],
  ["\tDeep(50, n)", `( ${DEEP}){1,51}`],
  ["\tDeep(50, n)", `( ${DEEP}){51}${BURN}`],
  ["\tMany(1, 2", ` ${at(`${K}.Many`, "return Burn(n) + a")}${BURN}`],
  ["foreach (int i in", `( ${within(`${K}.Made.MoveNext`, "IEnumerable<int> Made(")})?${BURN}`],
  ["\tThrows(n)", ` ${THROWS}`],
  ["\tThrows(n)", ` ${throws("if (Burn(n) >= 0)")}${BURN}`],
  // a handler may be called by the runtime, above the frame of its method
  ["\tThrows(n)", ` ${THROWS}${OTHERS} ${THROWS}`],
  ["\tThrows(n)", `( ${THROWS}(${OTHERS})?)? ${throws("return Caught(n)")} ${CAUGHT}${BURN}`],
  ["\tThrows(n)", `( ${THROWS}(${OTHERS})?)? ${throws("\tFinally(n)")} ${FINALLY}${BURN}`],
  ["\tLater(n)", ` ${K}.Later:0(${OTHERS})?( ${LATER})?`],
  ["\tLambdas(n)", ` ${within(`${K}.Lambdas`, "static int Lambdas(")}`],
  ["\tLambdas(n)", ` ${at(`${K}.Lambdas`, "return f(n) + 1")}( ${LAMBDA})?${BURN}`],
  ["\tSorting()", ` ${within(`${K}.Sorting`, "static int Sorting(")}`],
  ["\tSorting()", ` ${at(`${K}.Sorting`, "names.Sort(")}${OTHERS} ${COMPARE}${BURN}`],
  ["\tMatching()", ` ${within(`${K}.Matching`, "static int Matching(")}`],
  ["\tBuilding()", ` ${within(`${K}.Building`, "static int Building(")}`],
  ["\tBuilding()", ` ${BUILDING}(${OTHERS})? ${LENGTH}`],
  ["\tWriting()", ` ${within(`${K}.Writing`, "static int Writing(")}`],
  ["\tWriting()", ` ${at(`${K}.Writing`, "n += toJson(")} ${TO_JSON}`],
];
const ROUND = within(`${K}.Round`, "static void Round(");
const MAIN = `(${at(`${K}.Main`, "\t\t\tWork();")} )?`;
const WORK = at(`${K}.Work`, "Round(300000)");
const CHAINS = [
  within(`${K}.Main`, "static void Main("),
  `${at(`${K}.Main`, "toJson = FindJson()")} ${within(`${K}.FindJson`, "string> FindJson()")}`,
  MAIN + within(`${K}.Work`, "static void Work()"),
  `${MAIN}${WORK} ${ROUND}`,
  ...ROUNDS.map(([text, tail]) => `${MAIN}${WORK} ${at(`${K}.Round`, text)}${tail}`),
  LATER, // by a thread of the pool
];
const language = { chains: CHAINS, isOwn: (f) => f.name.startsWith("Known.") };
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
      const chain = chainOf(these, language.isOwn);
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

// The program that compile.sh has made is of this source: a PDB has the hash of it.
function checkSource() {
  const hash = createHash("sha256").update(fs.readFileSync(SOURCE)).digest();
  const pdb = fs.readFileSync(path.join(FOLDER, "KnownChains.pdb"));
  assert.ok(pdb.includes(hash), "test/dotnet/compile.sh has not been run since KnownChains.cs");
}

// Puts the program into a folder. Returns the command that runs it, with a file of this name.
function build(runtime, dir, name = "host") {
  const single = path.join(runtime, "program");
  const host = path.join(dir, name);
  checkSource();
  if (fs.existsSync(single)) {
    makeProgram(single, host, { "azmcp.dll": path.join(FOLDER, "azmcp.dll") });
    return [host];
  }
  for (const file of ["KnownChains.dll", "KnownChains.pdb"])
    fs.copyFileSync(path.join(FOLDER, file), path.join(dir, file));
  execFileSync("gcc", ["-o", host, path.join(__dirname, "dotnet_host.c"), "-ldl"]);
  return [host, runtime, path.join(dir, "KnownChains.dll")];
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
