// "make bench-recordings": what reading recordings of JVMs costs the node agent (jfr_cost.c), as a
// Markdown table; recordings.js BUILD. They are of the JDK's own compiler, which two threads run
// for SECONDS (recordings/Recompile.java), and repeat each chunk until they have MIB. Beside it
// stand readers that are not ours, on the same file.
"use strict";

const { execFileSync } = require("node:child_process");
const crypto = require("node:crypto");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { tempDir } = require("../e2e/lib/temp_dir");

const root = path.resolve(__dirname, "../..");
const build = path.resolve(process.argv[2] || path.join(root, "build/release"));
const SECONDS = process.env.SECONDS || "10";
const MIB = Number(process.env.MIB || 128);
const CONVERTER = {
  url: "https://repo1.maven.org/maven2/tools/profiler/jfr-converter/4.5/jfr-converter-4.5.jar",
  sha256: "d8a5452b26adb11a2a0abf0c53799a6fd60dbccb0647efa5a734e3c46ced3df4",
};
const CONVERTER_DOES = "jfr-converter, CPU samples to a pprof";
const PROFILER = `-agentpath:${build}/libasyncProfiler.so=start,jfr,jfropts=31,event=ctimer`;
// [file, what it is, options of the JVM]
const RECORDINGS = [
  [
    "dense.jfr",
    "async-profiler, 1 ms, 2 KiB, 1 µs",
    `${PROFILER},interval=1ms,alloc=2k,lock=1us,file=`,
  ],
  [
    "usual.jfr",
    "async-profiler, 10 ms, 512 KiB, 10 µs",
    `${PROFILER},interval=10ms,alloc=512k,lock=10us,file=`,
  ],
  [
    "jdk.jfr",
    "the JDK's own, settings=profile",
    "-XX:StartFlightRecording=settings=profile,filename=",
  ],
];

const dir = tempDir("bench-recordings");

const quiet = { cwd: dir, stdio: ["ignore", "ignore", "pipe"], maxBuffer: 1 << 28 };
const mbPerSecond = (bytes, ns) => `${((bytes / ns) * 1000).toFixed(0)} MB/s`;
const mib = (bytes) => `${(bytes / (1 << 20)).toFixed(1)} MiB`;

function javaSources() {
  const from = path.join(root, "test/java/workload");
  return fs.readdirSync(from).map((name) => path.join(from, name));
}

function record(file, options) {
  const one = path.join(dir, `one-${file}`);
  execFileSync(
    "java",
    [options + one, "-cp", dir, "Recompile", SECONDS, path.join(dir, "classes"), ...javaSources()],
    quiet,
  );
  const chunk = fs.readFileSync(one);
  const out = fs.openSync(path.join(dir, file), "w");
  let bytes = 0;
  for (; bytes < MIB << 20; bytes += chunk.length) fs.writeSync(out, chunk);
  fs.closeSync(out);
  return { once: chunk.length, bytes };
}

function converter() {
  const deps =
    process.env.DEPS ||
    path.join(process.env.XDG_CACHE_HOME || path.join(os.homedir(), ".cache"), "coroot-agents");
  const jar = path.join(deps, `jfr-converter-${CONVERTER.sha256.slice(0, 12)}.jar`);
  if (!fs.existsSync(jar)) {
    const fresh = `${jar}.${process.pid}`;
    execFileSync("curl", ["-sSfL", "--retry", "5", "-o", fresh, CONVERTER.url], quiet);
    const sum = crypto.createHash("sha256").update(fs.readFileSync(fresh)).digest("hex");
    if (sum !== CONVERTER.sha256) throw new Error(`${CONVERTER.url} has SHA-256 ${sum}`);
    fs.renameSync(fresh, jar);
  }
  return jar;
}

// CPU time and peak memory of a program, by GNU time
function cost(...command) {
  const out = path.join(dir, "time");
  execFileSync("/usr/bin/time", ["-o", out, "-f", "%U %S %M", ...command], quiet);
  const [user, system, kib] = fs.readFileSync(out, "utf8").trim().split(" ").map(Number);
  return { ns: (user + system) * 1e9, bytes: kib * 1024 };
}

function main() {
  const rows = [
    ["what", "measured", "target"],
    ["---", "---", "---"],
  ];
  execFileSync(
    "javac",
    ["-d", dir, path.join(root, "test/bench/recordings/Recompile.java")],
    quiet,
  );
  fs.mkdirSync(path.join(dir, "classes"));
  for (const [file, what, options] of RECORDINGS) {
    const size = record(file, options);
    const full = path.join(dir, file);
    const ours = JSON.parse(
      execFileSync(path.join(build, "test/bench/jfr_cost"), [full], { encoding: "utf8" }),
    );
    rows.push([
      `${what}: ${mib(size.bytes)} in ${ours.chunks} chunks of ${mib(size.once)}, ` +
        `${ours.events} events, ` +
        `${ours.stacks} stacks of ${(ours.frames / ours.stacks).toFixed(0)} frames`,
      mbPerSecond(ours.bytes, ours.ns),
      "≥ 100 MB/s",
    ]);
    rows.push([
      "— memory for it; growth of the process",
      `${mib(ours.memoryBytes)}; ${mib(ours.rssKib * 1024)}`,
      "≤ 16 MiB",
    ]);
    if (ours.lost !== 0)
      rows.push(["— events and frames shown as [other]", String(ours.lost), "0"]);
    for (const [name, ...command] of [
      ["`jfr summary` of the JDK, which counts events", "jfr", "summary", full],
      [
        CONVERTER_DOES,
        "java",
        "-jar",
        converter(),
        "--cpu",
        "-o",
        "pprof",
        full,
        path.join(dir, "x.pprof"),
      ],
    ]) {
      const peer = cost(...command);
      rows.push([
        `— ${name}`,
        `${mbPerSecond(size.bytes, peer.ns)}, ${mib(peer.bytes)} resident`,
        "",
      ]);
    }
    fs.unlinkSync(full);
  }
  for (const row of rows) console.log(`| ${row.join(" | ")} |`);
}

main();
