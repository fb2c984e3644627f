// Decides of each stack of a script whose chains of calls are known (test/php and others) whether
// it is whole and true, by what test/interpreters/script_chains.js has of it.
"use strict";

const { chainOf } = require("../interpreters/script_chains");
const { STARTS, bareName } = require("./judge");

const MARK = /^\[(?!kernel|vdso|unknown|virtual thread|.*(stub|helper|precode)\])[a-z].*\]$/;
const ENDING = /^(exit_mmap|exit_mm|begin_new_exec|exec_mmap|do_exit|load_elf_binary)$/;
// A stripped C library has no name for what starts a thread; a virtual one has a mark there.
const THREAD = /^(start_thread|(libc|libpthread)[^+]*\+0x[0-9a-f]+)$/;
const isKernel = (frame) => frame.file === "[kernel]";
const isStart = ({ name }) =>
  STARTS.test(bareName(name)) || THREAD.test(bareName(name)) || name === "[virtual thread]";
// Nor has a stripped program for its first instructions, which call this function only.
const isStrippedStart = ([first, second]) =>
  /^[^+]+\+0x[0-9a-f]+$/.test(first.name) && bareName(second?.name ?? "") === "__libc_start_main";
// what the agent says of the state of a thread is no function
const isState = (frame) => /^\((garbage collection|waiting for .*)\)$/.test(frame.name);

// The same with any line: those of a pattern are ":5", ":(5|6)" or ":\d+".
const LINES = /:(\d+|\\d\+|\(\\d\+\)|\((?:\d+\|)*\d+\))(?![\w:])/g;
const withoutLines = (pattern) => pattern.replace(LINES, ":\\d+");
const expression = (pattern) => new RegExp(`^(?:${pattern})$`);
const expressions = (chains) => ({
  lines: chains.map(expression),
  names: chains.map(withoutLines).map(expression),
});

class ScriptRules {
  // language: { chains, isOwn, textOf, fiber, mayBeNative(names of native frames) }. fiber: chains
  // that are on a stack of their own, which begins in the interpreter. A stack without frames of
  // the script counts unless it is whole and may be native: what is cut off may have been its.
  constructor({ chains, isOwn, textOf, fiber = /^\0/, mayBeNative = () => false }) {
    Object.assign(this, { isOwn, textOf, fiber, mayBeNative });
    this.known = expressions(chains);
  }
  // Returns null for a stack of a process that ends, or that is native; else { fault, whole,
  // names, lines, chain }.
  verdict(frames) {
    if (frames.some((f) => isKernel(f) && ENDING.test(f.name))) return null;
    const user = frames.filter((f) => !isKernel(f) && !isState(f));
    const mark = user.find((f) => MARK.test(f.name));
    const chain = chainOf(user, this.isOwn, this.textOf);
    const isFiber = chain !== null && this.fiber.test(chain) && !this.isOwn(user[0]);
    const begins = (stack) => isStart(stack[0]) || isStrippedStart(stack) || isFiber;
    const isWhole = !mark && user.length > 0 && begins(user);
    const found = { whole: isWhole, names: false, lines: false, chain };
    const names = user.map((f) => bareName(f.name));
    if (isWhole && chain === null && this.mayBeNative(names)) return null;
    if (chain !== null) {
      found.lines = this.known.lines.some((c) => c.test(chain));
      found.names = found.lines || this.known.names.some((c) => c.test(chain));
    }
    return { ...found, fault: faultOf(found, mark) };
  }
}

function faultOf({ whole: isWhole, names, lines, chain }, mark) {
  if (!isWhole) return mark?.name ?? "no start";
  if (chain === null) return "no frames of the script";
  if (lines) return "";
  return names ? `another line: ${chain}` : `another chain: ${chain}`;
}

module.exports = { ScriptRules, withoutLines };
