// Which samples have names of the program itself. A stack may be whole and say nothing: of a
// stripped program, of code that is made while it runs, or of an interpreter whose loop is all that
// is seen.
//
// A stack lacks names if it has a frame without a name, or the loop of an interpreter, and no
// function of the program. What runs between them does not count as one: the runtime of the
// language, shared libraries, the kernel. A thread of the runtime, such as a garbage collector,
// lacks nothing.
//
// A stack with such a function may still end in code without names, of a large library say. Where
// many do, that is said, too.

import type { NumberColumn } from "./columns";
import { splitModule } from "./names";
import type { TreeColumns } from "./tree";
import { percent } from "./units";

/** What has no names: a language, code that is made by an unknown one, or native code. */
export type Unnamed =
  | "python"
  | "nodejs"
  | "java"
  | "ruby"
  | "php"
  | "perl"
  | "lua"
  | "dotnet"
  | "erlang"
  | "jit"
  | "native";

export interface Lacking {
  what: Unnamed;
  value: number;
  binaries: string[]; // of native code, the largest first
}

export interface Naming {
  known: number; // value of the stacks of which it is known; a cut answer lacks some
  named: number;
  lacking: Lacking[]; // the largest first
  endings: Lacking; // stacks whose innermost native code, the kernel's aside, has no name
}

/** Less than this share of names, and the profile needs attention. */
export const FEW_NAMES = 0.9;

export const hasFewNames = (n: Naming): boolean => n.named < FEW_NAMES * n.known;

/** More than this share of stacks that end in code without a name, and it does, too. */
export const MANY_ENDINGS = 0.25;

export const endsNameless = (n: Naming): boolean => n.endings.value > MANY_ENDINGS * n.known;

// executables and libraries of the runtimes, with the usual suffixes of versions and builds
const version = "[-\\d.]*(?:dbg|dev|[dmut]{1,3})?(?:\\.so[\\d.]*)?$";
const runtimes: [Unnamed, RegExp][] = (
  [
    ["python", "(?:lib)?(?:python|pypy)"],
    ["nodejs", "(?:lib)?(?:node|nodejs|deno|bun|v8)"],
    ["java", "(?:java|jvm|libjvm|libjava|libjli)"],
    ["ruby", "(?:lib)?j?ruby"],
    ["php", "(?:lib)?php(?:-fpm|-cgi)?"],
    ["perl", "(?:lib)?perl"],
    ["lua", "(?:lib)?lua(?:jit)?"],
    ["dotnet", "(?:dotnet|libcoreclr|libclrjit|libhostpolicy|libhostfxr)"],
    ["erlang", "beam(?:\\.smp)?"],
  ] as const
).map(([what, name]) => [what, new RegExp(`^${name}${version}`)]);

/** The language that a binary or a process runs, "" if it is none that is known. */
const runtimeOf = (binary: string): Unnamed | "" =>
  runtimes.find(([, name]) => name.test(binary))?.[0] ?? "";

// these make code of the program; what has no name in their own binaries is not the program's
const compilers: readonly string[] = ["java", "dotnet", "erlang"];

// functions that execute code of the program, whatever binary they are built into
const loops: [Unnamed, RegExp][] = [
  ["python", /^_?PyEval_(?:Eval(?:Frame|Code)\w*|Vector)$/],
  ["nodejs", /^(?:Builtins_\w+|(?:Builtin|BytecodeHandler|Stub|Handler):.*)$/],
  ["java", /^JavaCalls::call/],
  ["perl", /^Perl_(?:runops|pp)_\w+$/],
  ["lua", /^(?:luaV_execute|lj_(?:BC|vm)_\w+)$/],
];
// others have such names, too: only in the runtime itself
const ownLoops: Partial<Record<Unnamed, RegExp>> = {
  ruby: /^(?:rb_)?vm_exec(?:_core)?$/,
  php: /^(?:execute_ex|zend_execute\w*)$/,
  erlang: /^process_main$/,
};

const SYSTEM =
  /^(?:lib(?:c|m|pthread|dl|rt|stdc\+\+|c\+\+|gcc_s|resolv|util|nsl|crypt|anl)[-.]|ld[-.]|vdso)/;
const SHARED = /\.so(?:\.|$)/;
const NAMELESS = /^(?:\[unknown\]|0x[0-9a-f]+|\?\?|.+\+0x[0-9a-f]+)$/i;
const OF_FILE = /^(.+)\+0x/;
const COMPILED = /\.(?:c|cc|cpp|cxx|h|hh|hpp|hxx|m|mm|s|S|asm|rs|go|zig|d|f|f90|pas|swift)$/;
const JIT = "[jit]";
const INTERPRETER = "[interpreter]";

// what a function says of the stacks that it is in
const PROGRAM = 1; // a function of the program
const SCRIPT = 2; // the same, by source code or by the compiler that made it
const NAMELESS_CODE = 4;
const LOOP = 8;
const MADE = 16; // nameless code without a file: made while the program runs
const KERNEL = 32;

interface Role {
  is: number;
  what: Unnamed | "";
}

const none: Role = { is: 0, what: "" };

function loopOf(name: string, runtime: Unnamed | ""): Unnamed | "" {
  const plain = name.replace(/\.(?:cold|constprop|isra|part|lto_priv)\b.*$/, "");
  if (runtime && ownLoops[runtime]?.test(plain)) return runtime;
  return loops.find(([, loop]) => loop.test(plain))?.[0] ?? "";
}

/** Of a function in a binary; the symbolizer puts its name in brackets. */
function nativeRole(name: string, file: string): Role {
  const { module } = splitModule(file);
  if (file.startsWith("[kernel")) return { is: KERNEL, what: "" };
  if (SYSTEM.test(module)) return none;
  const runtime = runtimeOf(module);
  if (NAMELESS.test(name)) {
    if (file === INTERPRETER) return { is: NAMELESS_CODE | MADE, what: "" };
    return compilers.includes(runtime)
      ? { is: 0, what: runtime }
      : { is: NAMELESS_CODE, what: runtime };
  }
  if (file === JIT && name === "Interpreter") return { is: LOOP, what: "java" };
  const loop = loopOf(name, runtime);
  if (loop) return { is: LOOP, what: loop };
  return runtime || SHARED.test(module) ? { is: 0, what: runtime } : { is: PROGRAM, what: "" };
}

function roleOf(name: string, file: string): Role {
  if (file.startsWith("[")) return nativeRole(name, file);
  // "app+0x1060" is of a file, whatever else is known of it
  const made = file === "" && !OF_FILE.test(name);
  if (NAMELESS.test(name)) return { is: NAMELESS_CODE | (made ? MADE : 0), what: "" };
  if (file === "" && /^[[(]/.test(name)) return none; // "[truncated]", "(garbage collection)"
  const loop = loopOf(name, "");
  if (loop) return { is: LOOP, what: loop };
  return { is: COMPILED.test(file) ? PROGRAM : PROGRAM | SCRIPT, what: "" };
}

/** Whether a stack with these roles has names, as far as the program can have some. */
const isNamed = (is: number): boolean =>
  (is & SCRIPT) > 0 || ((is & LOOP) === 0 && ((is & PROGRAM) > 0 || (is & NAMELESS_CODE) === 0));

interface Sum {
  value: number;
  binaries: Map<string, number>;
}

/** Adds up what lacks names, by what it is. */
class Sums {
  private of = new Map<Unnamed, Sum>();

  add(what: Unnamed, binary: string, value: number): void {
    let sum = this.of.get(what);
    if (!sum) this.of.set(what, (sum = { value: 0, binaries: new Map() }));
    sum.value += value;
    if (binary) sum.binaries.set(binary, (sum.binaries.get(binary) ?? 0) + value);
  }

  /** The sum of what, 0 if there is none. */
  one(what: Unnamed): Lacking {
    return this.list().find((l) => l.what === what) ?? { what, value: 0, binaries: [] };
  }

  list(): Lacking[] {
    const largest = (m: Map<string, number>): string[] =>
      [...m].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).map(([name]) => name);
    return [...this.of]
      .map(([what, s]) => ({ what, value: s.value, binaries: largest(s.binaries) }))
      .sort((a, b) => b.value - a.value || (a.what < b.what ? -1 : 1));
  }
}

const languages = runtimes.map(([what]) => what);

/** The functions of an answer, whichever form its columns have, and what each says. */
interface Functions {
  of: ArrayLike<number>; // by node
  is: Uint8Array;
  language: Int8Array; // index into languages, -1 if it is of none
  text: (fn: number) => [name: string, file: string];
}

function functionsOf(c: TreeColumns): Functions {
  const { function: numbered, name = [], file = [] } = c.nodes;
  let of: ArrayLike<number> = numbered ?? [];
  let pairs: { name: ArrayLike<number>; file: ArrayLike<number> } = c.pairs ?? { name, file };
  if (!numbered) {
    const first = new Map<number, number>();
    const own = { name: [] as number[], file: [] as number[] };
    of = Int32Array.from(name, (a, i) => {
      const key = a * c.files.length + file[i];
      const known = first.get(key);
      if (known !== undefined) return known;
      first.set(key, own.name.length);
      own.file.push(file[i]);
      return own.name.push(a) - 1;
    });
    pairs = own;
  }
  const n = pairs.name.length;
  const is = new Uint8Array(n);
  const language = new Int8Array(n);
  const text = (fn: number): [string, string] => [
    c.names[pairs.name[fn]] ?? "",
    c.files[pairs.file[fn]] ?? "",
  ];
  for (let fn = 0; fn < n; fn++) {
    const role = roleOf(...text(fn));
    is[fn] = role.is;
    language[fn] = role.what ? languages.indexOf(role.what) : -1;
  }
  return { of, is, language, text };
}

interface Paths {
  parent: Int32Array;
  is: Uint8Array; // what the frames from the root to each node say
  language: Int8Array;
  binary: (node: number) => string; // of the innermost nameless native frame
  endsNameless: Uint8Array; // 1: that is the innermost frame which is not the kernel's
}

function pathsOf(c: TreeColumns): Paths {
  const { depth } = c.nodes;
  const f = functionsOf(c);
  const n = depth.length;
  const parent = new Int32Array(n).fill(-1);
  const is = new Uint8Array(n);
  const language = new Int8Array(n).fill(-1);
  const nameless = new Int32Array(n).fill(-1);
  const endsNameless = new Uint8Array(n);
  const path = new Int32Array(n + 1);
  for (let i = 1; i < n; i++) {
    const p = (parent[i] = path[depth[i] - 1]);
    path[depth[i]] = i;
    const fn = f.of[i];
    let own = f.is[fn];
    let speaks = f.language[fn];
    if (depth[i] === 1 && f.text(fn)[1] === "") {
      own = 0; // a process, the first frame of what the agents take
      speaks = languages.indexOf(runtimeOf(f.text(fn)[0]) as Unnamed);
    }
    is[i] = is[p] | own;
    // the loop that runs is what lacks names, whoever has called it
    language[i] = speaks >= 0 && (own & LOOP || !(is[p] & LOOP)) ? speaks : language[p];
    const isNameless = (own & NAMELESS_CODE) > 0 && !(own & MADE);
    // the innermost one says what is to be done
    nameless[i] = isNameless ? fn : own & MADE ? -1 : nameless[p];
    endsNameless[i] = own & KERNEL ? endsNameless[p] : Number(isNameless);
  }
  const binary = (i: number): string => {
    if (nameless[i] < 0) return "";
    const [name, file] = f.text(nameless[i]);
    return splitModule(file).module || (OF_FILE.exec(name)?.[1] ?? "");
  };
  return { parent, is, language, binary, endsNameless };
}

/** Values that a cut answer has left out below each node. */
function leftOut({ parent }: Paths, total: NumberColumn, self: NumberColumn): Float64Array {
  const rest = new Float64Array(total.length);
  for (let i = 0; i < rest.length; i++) {
    rest[i] += total[i] - self[i];
    if (i > 0) rest[parent[i]] -= total[i];
  }
  return rest;
}

const ROUNDING = 1e-9; // sums of shares

function sideOf(p: Paths, total: NumberColumn, self: NumberColumn): Naming {
  const { is, language } = p;
  const rest = leftOut(p, total, self);
  const sums = new Sums();
  const endings = new Sums();
  let named = 0;
  let known = 0;
  for (let i = 0; i < total.length; i++) {
    // below a function of the program, whatever was left out has its name
    const settled = isNamed(is[i] | NAMELESS_CODE) && (is[i] & (PROGRAM | SCRIPT)) > 0;
    const value = self[i] + (settled && rest[i] > ROUNDING * total[i] ? rest[i] : 0);
    if (value === 0) continue;
    known += value;
    if (p.endsNameless[i]) endings.add("native", p.binary(i), self[i]);
    if (isNamed(is[i])) named += value;
    else if (language[i] >= 0) sums.add(languages[language[i]], "", value);
    else {
      const binary = p.binary(i);
      sums.add(is[i] & MADE && !binary ? "jit" : "native", binary, value);
    }
  }
  return { known, named, lacking: sums.list(), endings: endings.one("native") };
}

export interface BothNamings {
  own: Naming;
  base: Naming | null; // of the baseline of a comparison
}

const remembered = new WeakMap<object, BothNamings>(); // by a column, which copies of answers share

/** Null if the columns are not those of a tree: buildTree() says why. */
export function namingOf(c: TreeColumns): BothNamings | null {
  const { depth, total, self, baseTotal, baseSelf } = c.nodes;
  if (!c.names || !c.files || !depth || !total || !self) return null;
  let both = remembered.get(depth);
  if (!both) {
    const paths = pathsOf(c);
    both = {
      own: sideOf(paths, total, self),
      base: baseTotal && baseSelf ? sideOf(paths, baseTotal, baseSelf) : null,
    };
    remembered.set(depth, both);
  }
  return both;
}

interface Advice {
  name: string; // of what lacks names
  todo: string;
  docs: string; // where more is said
}

const TROUBLE = "troubleshooting.md#";

// docs/page.md has the same list
const advice: Record<Unnamed, Advice> = {
  python: {
    name: "Python",
    todo:
      "the node agent reads them from CPython 3.6 to 3.15, unless --unwinding=frame-pointers is " +
      "given; py-spy and the Pyroscope SDK send them as well",
    docs: `${TROUBLE}frames-of-python`,
  },
  nodejs: {
    name: "JavaScript",
    todo:
      "the node agent reads them from Node.js 14 to 26 on x86-64, unless " +
      "--unwinding=frame-pointers is given; others write them with NODE_OPTIONS=--perf-basic-prof",
    docs: `${TROUBLE}frames-of-javascript`,
  },
  java: {
    name: "Java",
    todo:
      "the node agent reads them from HotSpot, JDK 8 to 25, on x86-64, unless " +
      "--unwinding=frame-pointers is given; elsewhere a JVM writes a perf map",
    docs: "java.md#without-async-profiler",
  },
  ruby: {
    name: "Ruby",
    todo:
      "the node agent reads them from Ruby 2.7 to 4.0, unless --unwinding=frame-pointers is " +
      "given; rbspy sends them as well",
    docs: `${TROUBLE}frames-of-ruby`,
  },
  php: {
    name: "PHP",
    todo:
      "the node agent reads them from PHP 7.3 to 8.6 without ZTS, unless " +
      "--unwinding=frame-pointers is given",
    docs: `${TROUBLE}frames-of-php`,
  },
  perl: {
    name: "Perl",
    todo: "the node agent reads them, unless --unwinding=frame-pointers is given",
    docs: `${TROUBLE}frames-of-perl`,
  },
  lua: {
    name: "Lua",
    todo: "the node agent reads them, unless --unwinding=frame-pointers is given",
    docs: `${TROUBLE}frames-of-lua`,
  },
  dotnet: {
    name: ".NET",
    todo:
      "the node agent reads them of .NET 9 and newer on x86-64, unless " +
      "--unwinding=frame-pointers is given; start older ones with DOTNET_PerfMapEnabled=1",
    docs: `${TROUBLE}frames-of-net`,
  },
  erlang: {
    name: "Erlang",
    todo:
      "the node agent reads them from OTP 25 and 27 on x86-64, unless " +
      "--unwinding=frame-pointers is given; others write them with ERL_FLAGS=\"+JPperf true\"",
    docs: `${TROUBLE}frames-of-erlang`,
  },
  jit: {
    name: "code that was made while the program ran",
    todo: "let the program write a perf map or a jitdump",
    docs: `${TROUBLE}names-for-jit-code`,
  },
  native: {
    name: "native code",
    todo: "install its debug symbols, upload them, or set --debuginfod-urls",
    docs: "symbols.md",
  },
};

export const adviceDocs = Object.values(advice).map((a) => a.docs);

const MOST_BINARIES = 3;
const LEAST = 0.01; // of the profile; what is less is not the reason

export interface NamingNote {
  what: Unnamed;
  text: string;
  docs: string;
}

const binariesOf = ({ binaries }: Lacking): string => {
  const more = binaries.length > MOST_BINARIES ? ", …" : "";
  return binaries.slice(0, MOST_BINARIES).join(", ") + more;
};

/** What to do, a line for each language; none while most samples have names. */
export function namingNotes(n: Naming): NamingNote[] {
  if (!hasFewNames(n)) return endsNameless(n) ? [endingNote(n)] : [];
  return n.lacking
    .filter((l) => l.value >= LEAST * n.known)
    .map((l) => {
      const { name, todo, docs } = advice[l.what];
      const of = binariesOf(l);
      const where = of ? ` (${of})` : "";
      return {
        what: l.what,
        text: `${percent(l.value, n.known)} of the samples lack names of ${name}${where}: ${todo}.`,
        docs,
      };
    });
}

function endingNote({ endings, known }: Naming): NamingNote {
  const { todo, docs } = advice.native;
  const share = percent(endings.value, known);
  const where = binariesOf(endings);
  const text = `${share} of the samples end in code without names (${where}): ${todo}.`;
  return { what: "native", text, docs };
}
