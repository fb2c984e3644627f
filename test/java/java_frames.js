// What the agent shows of a Java program that was not prepared, whose chains of calls are known
// (KnownChains.java): each method and line, interpreted, compiled and inlined.
// "java_frames.js AGENT JDKS [RELEASE,…]"; JDKS is the folder of jdks.sh. Debian's own is 17.
"use strict";

const { spawnSync } = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { checkScript } = require("../interpreters/script_chains");

const SOURCE = "KnownChains.java";
const JDK_8 = "/usr/lib/jvm/java-8-openjdk-amd64/jre/bin/java"; // in its root (jdks.sh)
const TRUNCATED = 0.005; // of all stacks with Java, at most
// How code is compiled. `burn` is not inlined, so that it is known when it runs; what calls it is.
const KEEP = ["-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,KnownChains::burn"];
const MODES = {
  tiered: KEEP,
  interpreted: ["-Xint"],
  c1: ["-XX:TieredStopAtLevel=1", ...KEEP],
  c2: ["-XX:-TieredCompilation", ...KEEP],
  "nothing inlined": ["-XX:-Inline"],
  "one heap": [
    "-XX:+IgnoreUnrecognizedVMOptions", // JDK 8 has no other
    "-XX:-SegmentedCodeCache",
    "-XX:+UseSerialGC",
    ...KEEP,
  ],
};

function linesOf(source) {
  const lines = source.split("\n");
  return (text) => {
    const i = lines.findIndex((l) => l.includes(text));
    if (i < 0) throw new Error(`no line of ${SOURCE} has ${text}`);
    return i + 1;
  };
}

// Chains as regular expressions. Frames below the innermost one are at the line of a call.
function chainsOf(source) {
  const line = linesOf(source);
  const at = (method, text) => `KnownChains.${method}:${line(text)}`;
  const any = (method) => `KnownChains.${method}:\\d+`;
  const inBurn = ["long burn(", "long x = n;", "i < 3000", "x * 6364", "return x;"].map(line);
  const burn = `( KnownChains.burn:(${inBurn.join("|")}))?`;
  const native = "( \\[native\\])?";
  const lambda = (method) => `KnownChains\\$\\$Lambda.${method}:\\d+`;
  const area = "KnownChains\\$(Square|Circle|Point).area:\\d+";

  const outer = ["outer(n);", at("outer", "return middle")];
  const middle = [...outer, at("middle", "return inner")];
  const deeper = at("deep", "deep(depth - 1");
  const deepest = `KnownChains.deep:${line("if (depth == 0)") + 1}`;
  const applied = ["lambda(n);", at("lambda", "f.applyAsLong"), lambda("applyAsLong")];
  const compared = ["sorted(n);", at("sorted", "Arrays.sort"), "\\[native\\]", lambda("compare")];
  const ways = [
    ["outer(n);", any("outer")],
    [...outer, any("middle")],
    [...middle, any("inner")],
    [...middle, at("inner", "return burn(n) + 7") + burn],
    [`deep(20, n);`, `(${deeper} ){0,20}${any("deep")}`],
    [`deep(20, n);`, `(${deeper} ){20}${deepest}${burn}`],
    ["shapes(n);", any("shapes")],
    ["shapes(n);", `${at("shapes", "sum += s.area")}${native} ${area}${burn}`],
    ["lambda(n);", any("lambda")],
    [...applied, ""],
    [...applied, at("lambda\\$lambda\\$0", "burn(k) + n") + burn],
    ["sorted(n);", any("sorted")],
    [...compared, ""],
    [...compared, at("lambda\\$sorted\\$1", "burn(x) & 0") + burn],
    // where their objects are made, until JDK 11
    ["lambda(n);", `${at("lambda", "f = k ->")}${native} ${lambda("(get\\$Lambda|<init>)")}`],
    ["sorted(n);", `${at("sorted", "Arrays.sort")}${native} ${lambda("(get\\$Lambda|<init>)")}`],
    ["caught(n);", `${any("caught")}( ${any("thrower")})?`],
    ["caught(n);", at("caught", "return thrower(n)"), any("thrower") + burn],
    ["caught(n);", `KnownChains.caught:${line("catch (IllegalState") + 1}${burn}`],
    ["given(n);", any("given") + burn],
    ["given(n);", at("given", "x += late(n)"), any("late") + burn],
    ["called(n);", any("called")],
    ["called(n);", `${at("called", "getDeclaredMethod")} \\[native\\]${burn}`],
  ];
  const below = `(${any("main")} )?(${lambda("run")} )?`;
  const round = `${below}KnownChains.rounds:${line("round(n);")}`;
  return [
    any("main"),
    `${below}${any("rounds")}`,
    `${round} ${any("round")}`,
    ...ways.map(([call, ...frames]) =>
      `${round} ${[at("round", call), ...frames].filter((f) => f !== "").join(" ")}`),
  ];
}

function run(command, args) {
  const r = spawnSync(command, args, { encoding: "utf8" });
  if (r.status !== 0) throw new Error(`${command}: ${r.stderr}`);
}

function compile(dir) {
  const jar = path.join(dir, "chains.jar");
  run("javac", ["--release", "8", "-Xlint:-options", "-d", dir, path.join(__dirname, SOURCE)]);
  run("jar", ["cfe", jar, "KnownChains", "-C", dir, "."]);
  return jar;
}

// A command that takes the path of a program as last argument. JDK 8 has a root of its own
// (jdks.sh), where it needs /proc.
const IN_ROOT = `
  program="\${!#}"
  exec "$0" "$1" "$(dirname "$program")" 0 "\${@:2:$#-2}" "/program/$(basename "$program")"`;

const isOwn = (f) => /^KnownChains/.test(f.name);

// The program, compiled into a folder of its own; its chains are those of checkScript().
function languageIn(dir) {
  const chains = chainsOf(fs.readFileSync(path.join(__dirname, SOURCE), "utf8"));
  return { script: compile(dir), chains, isOwn };
}

// A command that runs a program in a folder, as a process of this name. It ends with the options.
// `own`: the root of a Debian with that release of Java, as JDK 8 has one.
function namedJava(jdks, release, dir, name, own = release === "8" && path.join(jdks, "8")) {
  const link = path.join(dir, name);
  const file = release === "8" ? JDK_8 : `/usr/lib/jvm/java-${release}-openjdk-amd64/bin/java`;
  fs.rmSync(link, { force: true });
  fs.symlinkSync(own ? file : fs.realpathSync(javaOf(jdks, release)[0]), link);
  if (!own) return { command: [link], folder: dir };
  for (const folder of ["proc", "dev", "tmp", "program"])
    fs.mkdirSync(path.join(own, folder), { recursive: true });
  const start = path.join(__dirname, "run-in-root.sh");
  return { command: [start, own, dir, "0", `/program/${name}`], folder: "/program" };
}

function javaOf(jdks, release) {
  if (release === "17") return ["/usr/bin/java"];
  if (release !== "8") return [path.join(jdks, release, "bin/java")];
  const start = path.join(__dirname, "run-in-root.sh");
  return ["bash", "-c", IN_ROOT, start, path.join(jdks, "8"), JDK_8];
}

function main() {
  const [agent, jdks, releases = "8,11,17,21,25"] = process.argv.slice(2);
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), "java-"));
  const modes = process.env.MODES ? process.env.MODES.split(",") : Object.keys(MODES);
  let passed = 0, failed = 0;
  try {
    const language = languageIn(dir);
    for (const release of releases.split(",")) {
      const java = javaOf(jdks, release);
      for (const mode of modes) {
        let said;
        try {
          const command = [...java, "-Xmx128m", ...MODES[mode], "-jar"];
          const { n, right, truncated, wrong } = checkScript(agent, "/", command, language);
          if (truncated > n * TRUNCATED) throw new Error(`${truncated} of ${n} are truncated`);
          passed++;
          said = `${right} of ${n} stacks are right, ${truncated} are truncated`;
          for (const [chain, count] of wrong) said += `\n  wrong: ${count} × ${chain}`;
        } catch (e) {
          failed++;
          said = e.message;
        }
        console.log(`JDK ${release}, ${mode}: ${said}`);
      }
    }
  } finally {
    fs.rmSync(dir, { recursive: true, force: true });
  }
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed > 0 ? 1 : 0;
}

module.exports = { KEEP, languageIn, namedJava };
if (require.main === module) main();
