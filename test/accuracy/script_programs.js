// The interpreters whose scripts are judged (scripts.js): those of test/interpreters/releases.txt,
// unpacked below $DEPS/interpreters once, and servers that run PHP.
"use strict";

const { execFileSync, spawn } = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { freePort, root } = require("../e2e/lib/daemon");
const dotnet = require("../dotnet/dotnet_frames");
const erlang = require("../erlang/erlang_frames");
const java = require("../java/java_frames");
const lua = require("../lua/lua_frames").language;
const luajit = require("../luajit/luajit_frames");
const perl = require("../perl/perl_frames").language;
const php = require("../php/php_frames").language;
const { apache, fpm, serve } = require("../php/php_servers");
const ruby = require("../ruby/ruby_frames");
const v8 = require("../v8/v8_frames");

const interpreters = path.join(root, "test/interpreters");

// A server waits for requests, and a thread of Ruby for its turn.
const serves = { mayBeNative: (names) => !names.includes("execute_ex") };
const threads = { fiber: /^block in Object#fiber/, mayBeNative: (names) => names[0] !== "_start" };

// of each: chains, options, and a script that prints the release
const languages = {
  php: { language: "PHP", chains: php, options: ["-n"] },
  ruby: { language: "Ruby", chains: { ...ruby.language, ...threads }, options: [] },
  perl: { language: "Perl", chains: perl, options: [] },
  lua: { language: "Lua", chains: lua, options: [] },
  luajit: { language: "LuaJIT", chains: luajit.language, options: ["-joff"] },
  erlang: {
    language: "Erlang",
    chains: { ...erlang.language, mayBeNative: isErlangsOwn },
    commOf: (i) => `acc-erl-${i}.smp`,
    start: startErlang,
  },
};
// with a compiler, whose code is told apart
const compiled = {
  luajit: { language: "LuaJIT, compiled", chains: luajit.compiler, options: ["-jon"] },
  ruby: {
    language: "Ruby, compiled",
    chains: { ...ruby.compiler, ...threads },
    options: ["--yjit"],
    suites: ["bookworm", "source"], // others are built without it
  },
};
const UBUNTU_SUITES = ["jammy", "noble", "plucky", "questing", "resolute", "stonking"];
const distributionOf = (suite) => (UBUNTU_SUITES.includes(suite) ? "Ubuntu" : "Debian");
// of those that are no distribution's
const TITLES = {
  npm: () => "of npm",
  source: (key) => ({ php: "ZTS, built", perl: "one thread, built" }[key] ?? "built"),
};
const ASKS = {
  php: ["-n", "-d", "display_startup_errors=0", "-r", "echo PHP_VERSION;"],
  ruby: ["--disable-gems", "-e", "print RUBY_VERSION"],
  perl: ["-e", "printf '%vd', $^V"],
  lua: ["-e", "io.write((_VERSION:gsub('Lua ', '')))"],
  luajit: ["-e", "io.write(jit.version:match('%d+%.%d+'))"],
};

function tree(name, suite, packages) {
  const dir = path.join(process.env.DEPS, "interpreters", name);
  execFileSync(path.join(interpreters, "tree.sh"), [dir, suite, ...packages], {
    stdio: ["ignore", "inherit", "inherit"],
  });
  return dir;
}

const env = { ...process.env, LC_ALL: "C" };
const releaseOf = (dir, program, key) =>
  String(execFileSync("chroot", [dir, program, ...ASKS[key]], { env }));

// Runs the script of the language, as a process of this name.
function startScript({ comm, dir, program, options, chains }) {
  const file = path.join(dir, "tmp", comm);
  const script = `/tmp/${path.basename(chains.script)}`;
  fs.rmSync(file, { force: true });
  fs.symlinkSync(program, file);
  fs.copyFileSync(chains.script, path.join(dir, script));
  const child = spawn("chroot", [dir, `/tmp/${comm}`, ...options, script], {
    stdio: ["ignore", "ignore", "inherit"],
    env,
  });
  const stop = () => {
    child.kill("SIGKILL");
    fs.rmSync(file, { force: true });
  };
  return { pid: child.pid, stop };
}

// Schedulers look for work, processes begin and end, and what Erlang brings along has functions of
// its own. But functions in C that Erlang's call, and the collector of garbage, are below some.
function isErlangsOwn(names) {
  return (
    names.some((name) => /\/\d+$/.test(name)) ||
    !names.some((name) => /^erts_g(c|arbage_collect)_|_nif$|_\d$/.test(name))
  );
}

// Its emulator is a file of this name.
function startErlang({ comm, dir }) {
  const erlexec = erlang.findErlexec(dir);
  const file = path.join(dir, path.dirname(erlexec), comm);
  const compiled = erlang.compile(dir, erlexec);
  fs.rmSync(file, { force: true });
  fs.symlinkSync("beam.smp", file);
  const emulator = { EMU: path.basename(comm, ".smp") };
  const child = spawn("chroot", [dir, erlexec, ...erlang.options(compiled)], {
    stdio: ["ignore", "ignore", "inherit"],
    env: { ...env, ...erlang.environment(erlexec), ...emulator },
  });
  const stop = () => {
    child.kill("SIGKILL");
    fs.rmSync(file, { force: true });
  };
  return { pid: child.pid, stop };
}

function debianReleases() {
  const lines = fs.readFileSync(path.join(interpreters, "releases.txt"), "utf8").split("\n");
  return lines
    .filter((line) => line && !line.startsWith("#"))
    .map((line) => line.split(" "))
    .flatMap((of) => [[languages, ...of], [compiled, ...of]])
    .filter(([kinds, key, suite]) => kinds[key]?.suites?.includes(suite) ?? kinds[key])
    .map(([kinds, key, suite, name, ...packages]) => ({
      ...kinds[key],
      name: `${suite}-${name}${kinds === compiled ? "-compiled" : ""}`,
      title: TITLES[suite]?.(key) ?? `${distributionOf(suite)} ${suite}`,
      prepare: () => {
        const dir = tree(`${suite}-${name}`, suite, packages);
        const program = `/usr/bin/${name}`;
        const release = key === "erlang" ? erlang.releaseOf(dir) : releaseOf(dir, program, key);
        return { dir, program, release };
      },
      start: languages[key].start ?? startScript,
    }));
}

const SERVED = ["php8.2-fpm", "php8.2-cli", "php8.2-opcache", "apache2", "libapache2-mod-php8.2"];
const module_ = (dir) => {
  const [api] = fs.readdirSync(path.join(dir, "usr/lib/php")).filter((name) => /^\d+$/.test(name));
  return `/usr/lib/php/${api}/opcache.so`;
};
const opcache = (dir) => [`zend_extension=${module_(dir)}`, "opcache.file_update_protection=0"];

// PHP in other ways than from the command line.
function others() {
  const prepare = () => {
    const dir = tree("bookworm-php8.2-served", "bookworm", SERVED);
    return { dir, program: "/usr/bin/php8.2", release: releaseOf(dir, "/usr/bin/php8.2", "php") };
  };
  const server = (name, title, of, settings) => ({
    ...languages.php,
    name,
    title,
    chains: { ...php, ...serves },
    prepare,
    start: async ({ comm, dir, chains }) =>
      serve(of, {
        ...{ root: dir, comm, script: chains.script, port: await freePort() },
        settings: settings(dir),
      }),
  });
  const jit = (how) => [`opcache.jit=${how}`, "opcache.jit_buffer_size=64M"];
  const compiledServer = {
    ...server("php8.2-fpm-jit", "php-fpm, `opcache.jit`", fpm, (dir) => [
      ...opcache(dir),
      ...jit("tracing"),
    ]),
    language: "PHP, compiled",
  };
  const ofTrixie = () => {
    const dir = tree("trixie-php8.4-opcache", "trixie", ["php8.4-cli", "php8.4-opcache"]);
    return { dir, program: "/usr/bin/php8.4", release: releaseOf(dir, "/usr/bin/php8.4", "php") };
  };
  const command = (name, how, from) => ({
    ...languages.php,
    language: "PHP, compiled",
    name,
    title: `\`opcache.jit=${how}\``,
    prepare: from,
    start: (script) => {
      const settings = [...opcache(script.dir), "opcache.enable_cli=1", ...jit(how)];
      const options = ["-n", ...settings.flatMap((s) => ["-d", s])];
      return startScript({ ...script, options });
    },
  });
  return [
    server("php8.2-fpm", "php-fpm", fpm, () => []),
    server("php8.2-fpm-opcache", "php-fpm, opcache", fpm, opcache),
    server("php8.2-apache", "Apache's module, opcache", apache, opcache),
    command("php8.2-jit", "tracing", prepare),
    command("php8.2-jit-functions", "function", prepare),
    command("php8.4-jit", "tracing", ofTrixie),
    compiledServer,
  ];
}

// ---- Java ----

const DEBIANS = ["26", "27", "28"]; // which are in Debian's unstable suite

// Threads of the virtual machine have no methods of the program.
const isVirtualMachines = (names) => !names.includes("jni_CallStaticVoidMethod");

function startJava({ comm, release, jdks, own, dir, args }) {
  const { command, folder } = java.namedJava(jdks, release, dir, comm, own);
  const options = ["-Xmx128m", ...java.KEEP, "-jar", path.join(folder, "chains.jar"), ...args];
  const [file, ...rest] = [...command, ...options];
  const child = spawn(file, rest, { stdio: ["ignore", "ignore", "inherit"] });
  return { pid: child.pid, stop: () => child.kill("SIGKILL") };
}

function javaReleases() {
  const of = (release, args) => ({
    language: args.length > 0 ? "Java, virtual threads" : "Java",
    name: `java-${release}${args.length > 0 ? "-virtual" : ""}`,
    title: args.length > 0 ? "a virtual thread" : "HotSpot",
    prepare: () => {
      const dir = fs.mkdtempSync(path.join(os.tmpdir(), "java-"));
      process.on("exit", () => fs.rmSync(dir, { recursive: true, force: true }));
      const jdks = String(execFileSync(path.join(root, "test/java/jdks.sh"))).trim();
      const chains = { ...java.languageIn(dir), mayBeNative: isVirtualMachines };
      const own = DEBIANS.includes(release)
        ? tree(`sid-java${release}`, "sid", [`openjdk-${release}-jre-headless`])
        : undefined;
      return { release, dir, jdks, own, args, chains };
    },
    start: startJava,
  });
  const releases = ["8", "11", "17", "21", "25", ...DEBIANS].map((release) => of(release, []));
  const virtual = ["21", "25", DEBIANS.at(-1)].map((release) => of(release, ["virtual"]));
  return [...releases, ...virtual];
}

// ---- Node.js ----

const NODES = ["14.21.3", "16.20.2", "18.20.8", "20.20.2", "22.23.5", "24.22.3", "26.12.1"];

// Threads that compile and collect garbage have no functions of the script, nor has the event loop.
const isNodesOwn = (names) => !names.some((name) => /Builtins_JS(Run)?.*Entry/.test(name));

function nodeReleases() {
  const of = (release, major = parseInt(release, 10)) => ({
    language: "Node.js",
    name: `node-${release}`,
    title: "of npm",
    chains: { ...v8.language, mayBeNative: isNodesOwn },
    prepare: () => {
      const releases = path.join(root, "test/v8/node-releases.sh");
      const file = String(execFileSync(releases, ["--fetch", release])).trim();
      return { release: String(major), file };
    },
    start: ({ comm, file, chains }) => {
      // from 24 on it names its main thread, after it has taken --title
      const late = ["--import", `data:text/javascript,process.title="${comm}"`];
      const title = major < 24 ? [`--title=${comm}`] : late;
      const options = { stdio: ["ignore", "ignore", "inherit"], env };
      const child = spawn(file, [...title, chains.script], options);
      return { pid: child.pid, stop: () => child.kill("SIGKILL") };
    },
  });
  return NODES.map((release) => of(release));
}

// ---- .NET ----

const UBUNTUS = ["8.0"]; // which Ubuntu has
const INVARIANT = { DOTNET_SYSTEM_GLOBALIZATION_INVARIANT: "1" }; // without the library of ICU

// Threads of the runtime have no methods.
const isRuntimesOwn = (names) => !names.includes("main");

function dotnetReleases() {
  const runtimes = (...release) =>
    String(execFileSync(path.join(root, "test/dotnet/runtimes.sh"), release)).trim();
  const prepare = (release) => {
    if (!UBUNTUS.includes(release)) return { release, runtime: path.join(runtimes(), release) };
    const runtime = runtimes(release);
    return { release: path.basename(runtime), runtime };
  };
  const of = (release, title, settings) => ({
    language: ".NET",
    name: `dotnet-${release}${title ? "-once" : ""}`,
    title: title || "compiled in tiers",
    chains: { ...dotnet.language, mayBeNative: isRuntimesOwn },
    prepare: () => prepare(release),
    start: ({ comm, runtime }) => {
      const dir = fs.mkdtempSync(path.join(os.tmpdir(), "dotnet-"));
      const [file, ...args] = dotnet.build(runtime, dir, comm);
      const options = {
        stdio: ["ignore", "ignore", "inherit"],
        env: { ...env, ...INVARIANT, ...settings },
      };
      const child = spawn(file, args, options);
      const stop = () => {
        child.kill("SIGKILL");
        fs.rmSync(dir, { recursive: true, force: true });
      };
      return { pid: child.pid, stop };
    },
  });
  return [...UBUNTUS, "9.0.1", "9.0.7", "10.0.9"].flatMap((release) => [
    of(release, "", {}),
    of(release, "compiled once", { DOTNET_TieredCompilation: "0" }),
  ]);
}

// Those whose names contain one of these, all if none is given: [{ language, name, title, release,
// chains, comm, start() }]; each has a process name of its own, by which its stacks are known.
function scripts(only) {
  const matches = ({ language, name }) =>
    only.length === 0 || only.some((part) => `${language} ${name}`.includes(part));
  const all = [debianReleases, others, javaReleases, nodeReleases, dotnetReleases];
  return all.flatMap((some) => some()).filter(matches).map((script, i) => {
    const comm = script.commOf?.(i) ?? `acc-script-${i}`;
    const prepared = { ...script, ...script.prepare(), comm };
    return { ...prepared, start: () => script.start(prepared) };
  });
}

module.exports = { scripts };
