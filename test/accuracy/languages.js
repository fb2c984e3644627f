// The README's table of languages: prints it, or why a row claims more than "make accuracy" has
// proven (proven.tsv). Releases and shares are those of the proof.
"use strict";

const proven = require("./proven");

const LEAST = 99.5; // percent of the stacks of each program
const page = (language) => `docs/troubleshooting.md#frames-of-${language.toLowerCase()}`;
const among = (language) =>
  `functions of ${language} among native ones, [nothing to set](${page(language)})`;
const all = ["whole", "names", "lines"];

// proof: languages in proven.tsv; claims: what each of their programs must have. Those that are
// ranged have the first and the last of these releases beside their name.
const languages = [
  {
    language: "Go",
    ranged: true,
    proof: ["Go"],
    claims: ["whole", "names"],
    names: "all, stripped too",
    lines: "yes, with inlined calls",
    further: "heap; goroutines, locks, GC; anything of `/debug/pprof`",
    needs: "[options](docs/go.md) for goroutines and locks",
  },
  {
    language: "Go 1.13",
    proof: ["Go until 1.15"],
    claims: [],
    stacks: "whole but for calls of the clock",
    names: "all, stripped too",
    lines: "yes, with inlined calls",
    further: "as above",
  },
  {
    language: "C, C++, Rust",
    proof: ["C", "C++", "Rust"],
    claims: ["whole", "names"],
    names: "functions in symbol tables and separate debug files; `file+0x…` in stripped code",
    lines: "with DWARF",
    further: "pprof over HTTP",
  },
  { language: "Zig, D, others that are compiled", stacks: "as C", names: "as C", lines: "as C" },
  {
    language: "Java",
    ranged: true,
    proof: ["Java", "Java, virtual threads"],
    claims: all,
    names: "methods among native functions, [nothing to set](docs/java.md#without-async-profiler)",
    lines: "yes, with inlined calls",
    further: "CPU, allocations, locks (Java 8 and newer)",
    needs: "`--enable-java-async-profiler` for further profiles",
  },
  {
    language: "Node.js",
    ranged: true,
    proof: ["Node.js"],
    claims: all,
    names: among("JavaScript"),
    lines: "yes, with inlined functions",
    further: "scraped or [pushed](docs/push.md) pprof",
  },
  {
    language: "Python (CPython)",
    ranged: true,
    proof: ["Python"],
    claims: all,
    names: among("Python"),
    lines: "yes",
    further: "scraped or pushed (py-spy, memray, …)",
  },
  {
    language: "PHP",
    ranged: true,
    proof: ["PHP"],
    claims: all,
    names: among("PHP"),
    lines: "yes",
    further: "pushed pprof",
  },
  {
    language: "PHP with `opcache.jit` on x86-64",
    proof: ["PHP, compiled"],
    claims: all,
    names: "likewise",
    lines: "yes",
  },
  {
    language: "Ruby",
    ranged: true,
    proof: ["Ruby"],
    claims: all,
    names: among("Ruby"),
    lines: "yes",
    further: "scraped or pushed (rbspy, …)",
  },
  {
    language: "Ruby with YJIT on x86-64",
    proof: ["Ruby, compiled"],
    claims: all,
    names: "likewise",
    lines: "yes; of the innermost function, that of its last call or an earlier one",
  },
  {
    language: "Perl",
    ranged: true,
    proof: ["Perl"],
    claims: all,
    names: among("Perl").replace("functions", "subs"),
    lines: "yes",
    further: "pushed pprof",
  },
  {
    language: "Lua on x86-64,",
    ranged: true,
    proof: ["Lua"],
    claims: all,
    names: among("Lua"),
    lines: "yes",
    further: "pushed pprof",
  },
  {
    language: "LuaJIT 2.1 on x86-64 (GC64)",
    proof: ["LuaJIT"],
    claims: all,
    names: among("Lua"),
    lines: "yes",
    further: "pushed pprof",
  },
  {
    language: "LuaJIT, compiled (traces)",
    proof: ["LuaJIT, compiled"],
    claims: all,
    names: "likewise; what a trace has inlined is counted to the function that it began in",
    lines: "yes, that of a trace where it was made from",
  },
  {
    language: "Erlang/OTP 25 and 27 on x86-64",
    proof: ["Erlang"],
    claims: all,
    names: among("Erlang"),
    lines: "yes",
    further: "pushed pprof",
  },
  {
    language: "R, Julia",
    stacks: "of native code",
    names: "of the interpreter; of generated code with a perf map or a jitdump",
    further: "pushed pprof",
  },
  {
    language: ".NET 8 to 10 on x86-64",
    proof: [".NET"],
    claims: all,
    names:
      "methods among native functions, [nothing to set](docs/troubleshooting.md#frames-of-net)",
    lines: "yes, if the assembly has its PDB",
    further: "pushed pprof",
  },
  {
    language: ".NET 6 and 7",
    stacks: "with frame pointers",
    names: "methods that were compiled ahead of time; others with a perf map",
    further: "pushed pprof",
    needs: "`DOTNET_PerfMapEnabled=1`",
  },
  {
    language: "others with a JIT",
    stacks: "with frame pointers",
    names: "with a perf map or a jitdump",
    further: "pushed pprof",
  },
];

// Releases without a third number, each once, ascending.
function minorsOf(rows) {
  const minors = [...new Set(rows.map(({ release: r }) => r.replace(/(\d+\.\d+)\.\d+.*$/, "$1")))];
  return minors.sort((a, b) => a.localeCompare(b, undefined, { numeric: true }));
}

// "3.6 to 3.8, 3.10"; there may be words before the numbers.
function ranges(minors) {
  const follows = (a, b) => {
    const [x, y] = [a, b].map((text) => /^(.*?)(\d+)$/.exec(text));
    return x && y && x[1] === y[1] && Number(y[2]) === Number(x[2]) + 1;
  };
  const runs = [];
  for (const minor of minors) {
    const last = runs.at(-1);
    if (last && follows(last.at(-1), minor)) last.push(minor);
    else runs.push([minor]);
  }
  const text = (run) => (run.length > 2 ? `${run[0]} to ${run.at(-1)}` : run.join(", "));
  return runs.map(text).join(", ");
}

const rowsOf = ({ proof = [] }, rows) => rows.filter((row) => proof.includes(row.language));
const least = (rows, key) => Math.min(...rows.map((row) => row[key] ?? 0));

// What a row says without having proven it.
function overclaims(row, rows) {
  const { claims = [], language, proof = [] } = row;
  const missing = proof.filter((p) => !rows.some((r) => r.language === p));
  return [
    ...missing.map((p) => `${language}: nothing is proven of ${p}`),
    ...(claims.length > 0 && proof.length === 0 ? [`${language}: nothing is proven`] : []),
    ...rowsOf(row, rows).flatMap((r) =>
      claims
        .filter((key) => (r[key] ?? 0) < LEAST)
        .map((key) => `${language}: ${key} of ${r.program} (${r.release}): ${r[key] ?? 0} %`),
    ),
  ];
}

// What is proven: the releases, and the least of what is claimed of each.
function proofOf(row, rows) {
  const own = rowsOf(row, rows);
  if (own.length === 0) return "–";
  const { claims } = row;
  const of = claims.length === 0 || claims.includes("whole") ? ["good"] : claims;
  const share = Math.min(...of.map((key) => least(own, key)));
  return `${ranges(minorsOf(own))}: ${share.toFixed(2)} %`;
}

function cells(row, rows) {
  const { ranged, stacks = "whole", names, lines = "", further = "", needs = "" } = row;
  const minors = minorsOf(rowsOf(row, rows));
  const language = row.language + (ranged ? ` ${minors[0]} to ${minors.at(-1)}` : "");
  return [language, proofOf(row, rows), stacks, names, lines, further, needs];
}

function table(rows, of = languages) {
  const header = ["language", "proven", "stacks", "names", "lines", "further profiles", "needs"];
  const lines = [header, header.map(() => "---"), ...of.map((row) => cells(row, rows))];
  const plain = (text) => text.replaceAll(" --- ", "---").replaceAll("|  |", "| |");
  return lines.map((line) => plain(plain(`| ${line.join(" | ")} |`))).join("\n");
}

module.exports = { minorsOf, overclaims, ranges, table };
if (require.main === module) {
  const rows = proven.read();
  const faults = languages.flatMap((row) => overclaims(row, rows));
  for (const fault of faults) console.error(`README.md: ${fault}`);
  if (faults.length > 0) process.exit(1);
  console.log(table(rows));
}
