// The programs whose stacks are judged, how each is built, and what is known about its chains.
"use strict";

const { execFileSync } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const chains = require("./chains");

const root = path.resolve(__dirname, "../..");
const sources = path.join(__dirname, "workloads");
const out = path.join(root, "build/accuracy");
const source = (name) => path.join(sources, name);
// of the make command, which fetches one if need be
const GO = process.env.GO || "go";
const built = (name) => path.join(out, name);

// -fno-ipa-icf: functions of equal code keep their own names
const C = ["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-fomit-frame-pointer"];
const GCC = [...C, "-fno-ipa-icf"];

// A C program in a folder of its own with the library that it calls, which is linked into it if the
// program is static.
function chain(name, compiler, flags, { library = true, inputs = [], strip, ...rest } = {}) {
  const file = built(`${name}/${name}`);
  const shared = built(`${name}/libchain.so`);
  const common = [...(compiler === "clang" ? C : GCC), ...flags];
  const link = library
    ? ["-L", path.dirname(shared), "-lchain", "-Wl,-rpath,$ORIGIN"]
    : [source("chain_library.c")];
  return {
    name,
    file,
    build: [
      ...(library
        ? [[compiler, ...common, "-fPIC", "-shared", "-o", shared, source("chain_library.c")]]
        : []),
      [compiler, ...common, "-o", file, source("chain.c"), ...inputs, ...link, "-pthread"],
      ...(strip ? [strip.concat(file)] : []),
    ],
    command: [file],
    chains: chains.chain,
    perfBytes: 32768,
    ...rest,
  };
}
// The same for a program whose calls are bound when they are made.
function lazy(name) {
  const file = built(`${name}/${name}`);
  const shared = built(`${name}/liblazy.so`);
  return {
    name,
    file,
    build: [
      ["gcc", ...GCC, "-O2", "-fPIC", "-shared", "-o", shared, source("lazy_library.c")],
      ["gcc", ...GCC, "-O2", "-Wl,-z,lazy", "-o", file, source("lazy.c")].concat([
        ...["-L", path.dirname(shared), "-llazy", "-Wl,-rpath,$ORIGIN"],
      ]),
    ],
    command: [file],
    chains: chains.lazy,
  };
}
const separate = (name) => [
  "sh",
  "-c",
  `objcopy --only-keep-debug "$0" "$0.debug" && \
   objcopy --strip-all --add-gnu-debuglink="$0.debug" "$0"`,
];

// In musl's library, which has no symbols of its own functions: __clone(), which calls a thread's
// function: xor %ebp, %ebp; pop %rdi; call *%r9. It begins with: xor %eax, %eax; mov $56, %al.
function muslThread() {
  const library = fs.readFileSync("/lib/ld-musl-x86_64.so.1");
  const at = library.indexOf(Buffer.from([0x31, 0xed, 0x5f, 0x41, 0xff, 0xd1]));
  const start = library.lastIndexOf(Buffer.from([0x31, 0xc0, 0xb0, 0x38]), at);
  return start < 0 ? [] : [`libc.so+0x${start.toString(16)}`];
}

const program = (name, build, rest) => ({
  name,
  file: built(name),
  build: [build],
  command: [built(name)],
  ...rest,
});
const cxx = (name, compiler, flags, rest) =>
  program(
    name,
    [compiler, "-std=c++17", "-Wall", "-Wextra", "-Werror", "-fomit-frame-pointer"]
      .concat(compiler === "g++" ? ["-fno-ipa-icf"] : [])
      .concat(flags, ["-o", built(name), source("throwing.cc"), "-pthread"]),
    { chains: chains.throwing, ...rest },
  );
const rust = (name, flags, rest) =>
  program(name, ["rustc", "--edition=2021", ...flags, "-o", built(name), source("rusty.rs")], {
    chains: chains.rusty,
    ...rest,
  });
const go = (name, flags, { env = {}, ...rest } = {}) =>
  program(name, ["env", "-C", source("go"), GO, "build", ...flags, "-o", built(name), "."], {
    chains: chains.going,
    env: { CGO_ENABLED: "0", GOFLAGS: "-buildvcs=false", ...env },
    ...rest,
  });

// Programs of the machine, under a name of our own.
const interpreted = (name, exe, args, rest) => ({
  name,
  file: built(name),
  build: [["ln", "-sf", exe, built(name)]],
  command: [built(name), ...args],
  ...rest,
});

// Of a command that prints it somewhere.
const versionOf = (command, args, pattern) =>
  pattern.exec(String(execFileSync(command, args)))?.[1] ?? "";
const gcc = () => `gcc ${versionOf("gcc", ["-dumpfullversion"], /(\d+\.\d+)/)}`;
const clang = () => `clang ${versionOf("clang", ["-dumpversion"], /(\d+\.\d+)/)}`;
const goRelease = ({ file }) => versionOf(GO, ["version", file], / go(\d+\.\d+(\.\d+)?)/);

// A group has the language of those that follow it, and how to ask for the release of a built one.
const table = [
  { group: "C, gcc", language: "C", release: gcc },
  chain("c-o2", "gcc", ["-O2"]),
  chain("c-o2-debug", "gcc", ["-O2", "-g"]),
  chain("c-o0", "gcc", ["-O0"]),
  chain("c-os", "gcc", ["-Os"]),
  chain("c-o3-lto", "gcc", ["-O3", "-flto"], { library: false }),
  chain("c-native", "gcc", ["-O3", "-march=native"]),
  chain("c-pie-now", "gcc", ["-O2", "-fno-plt", "-Wl,-z,now", "-fcf-protection=full"]),
  chain("c-no-pie", "gcc", ["-O2", "-no-pie", "-fno-pie", "-Wl,-z,lazy"]),
  chain("c-static", "gcc", ["-O2", "-static"], { library: false }),
  chain("c-static-pie", "gcc", ["-O2", "-static-pie"], { library: false }),
  // musl's own functions have no unwinding tables
  chain("c-musl", "musl-gcc", ["-O2", "-DNO_CONTEXT"], { starts: muslThread }),
  chain("c-musl-static", "musl-gcc", ["-O2", "-DNO_CONTEXT", "-static"], { library: false }),
  chain("c-with-fp", "gcc", ["-O2", "-fno-omit-frame-pointer"]),
  chain("c-debug-frame", "gcc", [
    ...["-O2", "-g", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables"],
  ]),
  chain("c-fp-no-cfi", "gcc", [
    ...["-O2", "-fno-omit-frame-pointer", "-fno-asynchronous-unwind-tables"],
  ]),
  chain("c-no-cfi", "gcc", ["-O2", "-fno-asynchronous-unwind-tables"]),
  chain("c-debuglink", "gcc", ["-O2", "-g"], { strip: separate() }),
  lazy("c-lazy"),
  { group: "C, clang", language: "C", release: clang },
  chain("c-clang", "clang", ["-O2"]),
  chain("c-clang-o3", "clang", ["-O3", "-march=native"]),
  { group: "C++", language: "C++", release: ({ name }) => (/clang/.test(name) ? clang() : gcc()) },
  cxx("cxx-o2", "g++", ["-O2"]),
  cxx("cxx-o3-lto", "g++", ["-O3", "-flto"]),
  cxx("cxx-static", "g++", ["-O2", "-static"]),
  cxx("cxx-clang", "clang++", ["-O2"]),
  {
    group: "Rust",
    language: "Rust",
    release: () => versionOf("rustc", ["--version"], /(rustc \d+\.\d+)/),
  },
  rust("rust-o", ["-O"]),
  rust("rust-o-debug", ["-O", "-g"]),
  rust("rust-lto", ["-O", "-Clto=fat", "-Ccodegen-units=1"]),
  rust("rust-debug", []),
  { group: "Go", language: "Go", release: goRelease },
  go("go-plain", []),
  go("go-stripped", ["-ldflags=-s -w"]),
  go("go-pie", ["-buildmode=pie"]),
  go("go-1.16", [], { env: { GOTOOLCHAIN: "go1.16.15", GOFLAGS: "-v=false" } }),
  go("go-1.18", [], { env: { GOTOOLCHAIN: "go1.18.10", GOFLAGS: "-v=false" } }),
  go("go-1.21", [], { env: { GOTOOLCHAIN: "go1.21.13" } }),
  go("go-1.27", [], { env: { GOTOOLCHAIN: "go1.27.4" } }),
  go("go-cgo", [], { env: { CGO_ENABLED: "1", CGO_CFLAGS: "-O2 -fno-ipa-icf" } }),
  // its calls of the clock switch stacks in a way that nothing describes
  { group: "Go, old", language: "Go until 1.15", release: goRelease },
  go("go-1.13", [], { env: { GOTOOLCHAIN: "go1.13.15", GOFLAGS: "-v=false" } }),
  { group: "Assembly", language: "C", release: gcc },
  program(
    "c-openssl",
    ["gcc", ...GCC, "-O2", "-Wno-deprecated-declarations", "-o", built("c-openssl")].concat([
      source("hashing.c"),
      "-lcrypto",
    ]),
    { chains: chains.hashing },
  ),
  program("c-borrowed", ["gcc", ...GCC, "-O2", "-o", built("c-borrowed"), source("borrowed.c")], {
    chains: chains.borrowed,
  }),
  {
    group: "Interpreters and compilers, their native frames",
    language: "Interpreters",
    release: ({ file }) => path.basename(fs.realpathSync(file)),
  },
  interpreted("python-script", "/usr/bin/python3", [source("interpreted.py")]),
  interpreted("perl-script", "/usr/bin/perl", [source("interpreted.pl")]),
  {
    group: "Node.js with a perf map",
    language: "Perf maps",
    release: () => versionOf(process.execPath, ["--version"], /v(\d+)/),
  },
  interpreted("node-js", process.execPath, ["--perf-basic-prof", source("compiled.js")], {
    jit: true,
  }),
  {
    group: "Java with a perf map",
    language: "Perf maps",
    release: () => versionOf("javac", ["-version"], /javac (\d+)/),
  },
  {
    ...interpreted("java-jit", "/usr/bin/java", [
      ...["-XX:+PreserveFramePointer", "-XX:+UnlockDiagnosticVMOptions", "-XX:+DumpPerfMapAtExit"],
      ...["-cp", out, "Compiled"],
    ]),
    build: [
      ["javac", "-d", out, source("Compiled.java")],
      ["ln", "-sf", "/usr/bin/java", built("java-jit")],
    ],
    jit: true,
  },
];

let group;
for (const w of table) {
  if (w.group) group = w;
  else Object.assign(w, { language: group.language, release: group.release });
}
const workloads = table.filter((w) => !w.group);

const newest = (dir) =>
  Math.max(
    ...fs
      .readdirSync(dir, { recursive: true })
      .map((name) => fs.statSync(path.join(dir, name)).mtimeMs),
  );

// Builds what is older than the sources and the table of workloads.
function build({ file, build: commands, env = {} }) {
  const since = Math.max(newest(sources), fs.statSync(__filename).mtimeMs);
  if (fs.existsSync(file) && fs.lstatSync(file).mtimeMs > since) return;
  fs.mkdirSync(path.dirname(file), { recursive: true });
  for (const [command, ...args] of commands)
    execFileSync(command, args, {
      stdio: ["ignore", "inherit", "inherit"],
      env: { ...process.env, ...env },
    });
}

module.exports = { build, workloads };
