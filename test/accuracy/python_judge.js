// Decides of each stack of a Python program (workloads/known_paths.py) whether it is whole and
// true. Its frames of Python must be, with files and the lines of all calls, one of the paths that
// the program's own tracing has written: { functions: [{ name, file, start, lines }], nodes:
// [[caller's node, its line, function]], through_c }. The caller of an outermost function is -1,
// with the line 0 in the main thread and 1 in others.
"use strict";

const path = require("node:path");
const { STARTS, bareName } = require("./judge");

const MARK = /^\[(?!kernel|vdso|unknown)[a-z].*\]$/;
const ENDING = /^(exit_mmap|exit_mm|begin_new_exec|exec_mmap|do_exit|load_elf_binary)$/;
// A stripped C library has no name for what starts a thread.
const THREAD = /^(_*clone3?|start_thread|(libc|libpthread|ld-musl)[^+]*\+0x[0-9a-f]+)$/;
const isStart = (frame) => STARTS.test(bareName(frame.name)) || THREAD.test(bareName(frame.name));
const OWN = /known_paths/;
const isKernel = (frame) => frame.file === "[kernel]";
// what the agent says of the state of a thread is no function
const isState = (frame) => /^\(.*\)$/.test(frame.name);
const isPython = (frame) =>
  !frame.object && frame.line > 0 && !/^\[.*\]$/.test(frame.file) && !isState(frame);

const last = (name) => name.replace(/^.*\./, "");

// How two frames of Python are compared. Peers leave out classes and folders.
const exact = {
  isSame: (f, frame) => f.name === frame.name && f.file === frame.file,
  isStart: (f, frame) => f.start === frame.startLine,
};
const loose = {
  isSame: (f, frame) =>
    last(f.name) === last(frame.name) && path.basename(f.file) === path.basename(frame.file),
  isStart: () => true,
};

class Truth {
  constructor({ functions, nodes, through_c: throughC }) {
    this.functions = functions;
    this.children = new Map([[-1, []]]);
    this.throughC = new Set(throughC);
    nodes.forEach(([parent, line, fn], node) => {
      this.children.set(node, []);
      this.children.get(parent).push({ node, line, fn: functions[fn], isOwn: this.isOwn(fn) });
    });
  }
  // What asks for the time does not do the same when it is traced.
  isOwn(number) {
    const { file, name } = this.functions[number];
    return (OWN.test(file) || file === "<generated>") && name !== "acc_goes_on";
  }
  // The nodes that a chain of frames leads to; undefined from where it left what was traced on.
  // Tracing begins a few calls after a thread has: functions of libraries that only they call are
  // not known, and may be in a stack.
  follow(frames, { isSame, isStart }, withLines) {
    const known = [];
    let at = [{ node: -1 }];
    for (const [i, frame] of frames.entries()) {
      const next = at.flatMap((from) =>
        this.children
          .get(from.node)
          .filter(
            (to) =>
              isSame(to.fn, frame) &&
              (!withLines ||
                (isStart(to.fn, frame) &&
                  (i === 0 || to.line === frames[i - 1].line || to.line === null))),
          ),
      );
      if (next.length === 0) {
        const isLibrary = (f) => !OWN.test(f.file) && f.file !== "<generated>";
        const unseen = i > 0 && at.some((n) => !n.isOwn) && frames.slice(i).every(isLibrary);
        return unseen ? known : null;
      }
      known.push((at = next));
    }
    const leaf = frames[frames.length - 1];
    const has = ({ fn, isOwn }) => !isOwn || fn.lines.includes(leaf.line);
    if (withLines && !at.some(has)) return null;
    return known;
  }
}

// What is wrong with the frames of Python of a stack: { fault, names, lines }.
function judgePython(frames, truth, comparison) {
  const wrong = (fault, names = false) => ({ fault, names, lines: false });
  if (!truth.follow(frames, comparison, false)) return wrong("another path");
  const known = truth.follow(frames, comparison, true);
  return known ? { fault: "", names: true, lines: true, known } : wrong("another line", true);
}

// What is wrong with where the frames of Python are among native ones, or "".
function placeFault(user, known, truth) {
  const at = user.map((f, i) => (isPython(f) ? i : -1)).filter((i) => i >= 0);
  for (const [i, nodes] of known.entries()) {
    const fromC = i > 0 && nodes.every(({ node }) => truth.throughC.has(node));
    if (fromC && at[i] === at[i - 1] + 1) return "nothing between a call through C";
  }
  const inThread = THREAD.test(bareName(user[0].name));
  if (known[0]?.every(({ line }) => line !== Number(inThread))) return "a path of another thread";
  return "";
}

// Returns null for a stack of a process that ends, else { fault, whole, names, lines, turn,
// rooted }: rooted if it is true and begins at the root, and native frames may be left out in its
// middle. All stacks of a program that takes its turns must be below them; others may be from
// before or after.
function verdict(frames, truth, takesTurns) {
  const user = frames.filter((f) => !isKernel(f));
  const python = user.filter(isPython);
  const mark = user.find((f) => MARK.test(f.name));
  if (frames.some((f) => isKernel(f) && ENDING.test(f.name))) return null;
  const found = { fault: "", whole: true, names: true, lines: true, turn: turnOf(python) };
  found.rooted = user.length > 0 && isStart(user[0]);
  if (mark || user.length === 0) Object.assign(found, { fault: mark?.name ?? "no user stack" });
  else if (!found.rooted) found.fault = "no start";
  found.whole = found.fault === "";
  if (found.turn) {
    const own = judgePython(python, truth, exact);
    const place = own.known && found.whole ? placeFault(user, own.known, truth) : "";
    const rooted = found.rooted && own.lines;
    return { ...found, ...own, rooted, fault: found.fault || own.fault || place };
  }
  // a thread that begins or ends has no frames
  const isThread = user.length > 0 && THREAD.test(bareName(user[0].name));
  const isNone = isThread && (python.length === 0 || /threading/.test(python[0].file));
  if (!takesTurns || isNone) return found;
  return { ...found, names: false, lines: false, fault: found.fault || "no path of the program" };
}

// The function that takes one of the turns, or that of a thread.
function turnOf(python) {
  const at = python.findIndex((f) => /^acc_(turn|thread_\w+)$/.test(last(f.name)));
  if (at >= 0) return (last(python[at].name) === "acc_turn" && python[at + 1]?.name) || "acc_turn";
  return python.some((f) => last(f.name) === "acc_main") ? "acc_main" : "";
}

// Adds up verdicts of [{ frames, count }], with the most frequent stacks of each fault.
function tally(stacks, decide) {
  const sum = { samples: 0, good: 0, whole: 0, names: 0, lines: 0, rooted: 0, faults: new Map() };
  for (const { frames, count } of stacks) {
    const v = decide(frames);
    if (!v) continue;
    sum.samples += count;
    for (const key of ["whole", "names", "lines", "rooted"]) if (v[key]) sum[key] += count;
    if (!v.fault) {
      sum.good += count;
      continue;
    }
    const fault = sum.faults.get(v.fault) ?? { count: 0, examples: new Map() };
    const text = frames.map((f) => (f.line ? `${f.name}:${f.line}` : f.name)).join(";");
    fault.count += count;
    fault.examples.set(text, (fault.examples.get(text) ?? 0) + count);
    sum.faults.set(v.fault, fault);
  }
  return sum;
}

// Stacks that another profiler has folded: "name (file:line);… count" a line.
function folded(text) {
  return text
    .split("\n")
    .filter(Boolean)
    .map((line) => {
      const [, stack, count] = /^(.*) (\d+)$/.exec(line);
      const frames = stack.split(";").map((part) => {
        const m = /^(.*) \((.*?)(?::(\d+))?\)$/.exec(part);
        const frame = { name: m ? m[1] : part, file: m ? m[2] : "", line: Number(m?.[3] ?? 0) };
        frame.object = /\.py$|^<.*>$/.test(frame.file) ? "" : frame.file || "?";
        return frame;
      });
      return { frames, count: Number(count) };
    });
}

// Of another profiler's stack, which may have no native frames.
function peerVerdict(frames, truth, withNative) {
  const python = frames.filter(isPython);
  const own = judgePython(python, truth, loose);
  const start = frames.find((f) => !isPython(f) && !isKernel(f));
  const whole = !withNative || (start && isStart(start));
  if (turnOf(python)) return { ...own, whole: own.names && Boolean(whole) };
  return { fault: "no path of the program", whole: false, names: false, lines: false };
}

module.exports = { Truth, folded, isPython, peerVerdict, tally, turnOf, verdict };
