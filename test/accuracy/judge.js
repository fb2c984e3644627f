// Decides of each stack that was taken of a workload whether it is whole and true.
//
// A stack is whole if the walk says so and its outermost frame is where threads start. It is true
// if the functions of the workload in it are a beginning of one of its known chains (chains.js),
// with nothing left out and nothing added. Frames of libraries between and around them have no
// known chains: each call among them must be one that "perf record --call-graph dwarf" has seen in
// one of the runs, by the objects that both functions are in.
"use strict";

const path = require("node:path");

// Where threads start.
const STARTS = new RegExp(
  `^(${[
    "_start|__clone3?|clone3?|__start_context",
    "_rt0_amd64.*|runtime\\.(rt0_go|goexit|clone|mstart|morestack|mcall|systemstack|gogo)",
  ].join("|")})$`,
);
const MARK = /^\[(?!kernel|vdso|unknown)[a-z].*\]$/;
// Functions of the kernel that give up the memory of a process, and those that have done so when
// there is nothing left of its stack.
const ENDING = /^(exit_mmap|exit_mm|begin_new_exec|exec_mmap)$/;
const ENDED = /^(do_exit|load_elf_binary)$/;

// A name without what compilers and libraries add: parameters, templates, suffixes of clones.
function bareName(name) {
  let bare = name.replace(/@@?[A-Z].*$|@plt$/, "");
  for (let before; bare !== before;) {
    before = bare;
    bare = bare.replace(/<[^<>]*>|\([^()]*\)|\[[^[\]]*\]/g, "");
  }
  return bare
    .replace(/\.(cold|part|constprop|isra|lto_priv|llvm)(\.\d+)?/g, "")
    .replace(/\.abi(0|Internal)$/, "")
    .replace(/^(void|unsigned int|bool|int) /, "")
    .replace(/ const$/, "");
}

// The file that a function is in, by its last name; "" for source code, which may be of any.
function objectOf(frame) {
  const inFile = /^\[(.*?)(?:@[0-9a-f]+)?\]$/.exec(frame.file);
  const unnamed = /^(.+)\+0x[0-9a-f]+$/.exec(frame.name);
  return path.basename(frame.object || (inFile ?? unnamed)?.[1] || "").replace(/^\[|\]$/g, "");
}

// The workload's own functions, as chains.js has them, or "".
function ownName(frame) {
  const own = /^(?:.*::|main\.+)?(acc[A-Z_]\w*|main)$/;
  const bare = bareName(frame.name);
  if (/\{|func\d/.test(bare)) return "";
  if (/::~/.test(bare)) return bare;
  if (/^acc_derived::/.test(bare)) return bare;
  const found = own.exec(bare);
  return found ? found[1] : "";
}

const isKernel = (frame) => frame.file === "[kernel]";

// What perf has seen: adds calls by the objects of caller and callee to calls, the program being
// one of them, and returns names of functions by where they begin, for objects whose symbols perf
// has found and the agent has not.
function seenBy(stacks, program, calls) {
  const names = new Map();
  for (const { frames } of stacks) {
    for (const f of frames) if (f.start) names.set(`${objectOf(f)}+${f.start}`, f.name);
    const objects = frames.map((f) => objectOf(f).replace(program, "program"));
    objects.slice(1).forEach((to, i) => calls.add(`${objects[i]} ${to}`));
  }
  return names;
}

// Whether the process ends or executes another program, and has no stack any more.
function hasNoStack(frames) {
  const user = frames.filter((f) => !isKernel(f));
  const within = (functions) => frames.some((f) => isKernel(f) && functions.test(f.name));
  const isCut = user.length === 2 && user.some((f) => MARK.test(f.name));
  return within(ENDING) || (isCut && within(ENDED));
}

// Returns "" for a stack that is whole and true, "none" for one that a process that ends or
// executes another program has not got any more, else what is wrong with it.
function verdict(frames, { beginnings, calls, names, program, starts = STARTS }) {
  const user = frames.filter((f) => !isKernel(f));
  const mark = user.find((f) => MARK.test(f.name));
  if (hasNoStack(frames)) return "none";
  if (mark) return mark.name;
  if (user.length === 0) return "no user stack";
  const outermost = names?.get(user[0].name) ?? user[0].name;
  // The start of a context of makecontext() has no symbol in a stripped C library.
  const isStart = starts.test(bareName(outermost)) || ownName(user[1] ?? user[0]) === "acc_routine";
  if (!isStart) return "no start";
  // main of Rust is called by one of C
  const own = user
    .map(ownName)
    .filter(Boolean)
    .join(" ")
    .replace(/^main main\b/, "main");
  if (beginnings && own && !beginnings.has(own)) return "another chain";
  if (calls) {
    const objects = user.map((f) => objectOf(f).replace(program, "program"));
    const isSeen = (from, to) => !from || !to || to === "vdso" || calls.has(`${from} ${to}`);
    const at = objects.findIndex((to, i) => i > 0 && !isSeen(objects[i - 1], to));
    if (at > 0) return `a call that perf has not seen: ${objects[at - 1]} → ${objects[at]}`;
  }
  return "";
}

// Counts the samples of all stacks by verdict, with the most frequent stack of each.
function judge(stacks, rules) {
  const result = { samples: 0, good: 0, none: 0, faults: new Map() };
  for (const { frames, count } of stacks) {
    const what = verdict(frames, rules);
    if (what === "none") {
      result.none += count;
      continue;
    }
    result.samples += count;
    if (what === "") {
      result.good += count;
      continue;
    }
    const fault = result.faults.get(what) ?? { count: 0, examples: new Map() };
    const text = frames.map((f) => f.name).join(";");
    fault.count += count;
    fault.examples.set(text, (fault.examples.get(text) ?? 0) + count);
    result.faults.set(what, fault);
  }
  return result;
}

// The faults of a result, the most frequent first, with examples.
const faultLines = (result, examples = 3) =>
  [...result.faults]
    .sort((a, b) => b[1].count - a[1].count)
    .flatMap(([what, fault]) => [
      `  ${fault.count} × ${what}`,
      ...[...fault.examples]
        .sort((a, b) => b[1] - a[1])
        .slice(0, examples)
        .map(([text, count]) => `    ${count} × ${text}`),
    ]);

module.exports = {
  STARTS,
  bareName,
  faultLines,
  hasNoStack,
  isKernel,
  judge,
  ownName,
  seenBy,
  verdict,
};
