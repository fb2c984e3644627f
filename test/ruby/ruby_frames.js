// What the agent shows of a Ruby program whose chains of calls are known (known_chains.rb).
// "ruby_frames.js AGENT ROOT RUBY" checks that of a folder with a Debian.
"use strict";

const assert = require("node:assert");
const { spawnSync } = require("node:child_process");
const path = require("node:path");
const { RIGHT, checkScript, main } = require("../interpreters/script_chains");

const SCRIPT = "known_chains.rb";

// From the script on, "function:line"; frames below the innermost one are at the line of a call.
const BURN = "Object#burn:(1|2|3|4|5|6|7|8)";
const NATIVE = "( \\[native\\])?";
const CHAINS = [
  "<internal:(gem_)?prelude>.*", // it starts
  "<main>:\\d+",
  `<main>:43 Shop\\.total:(12|13|14)( Class#new:0${NATIVE}( BasicObject#initialize:0)?)?`,
  `<main>:43 Shop\\.total:14 Shop#pay:11( ${BURN})?`,
  `<main>:44 Array#each:0( \\[native\\] block in <main>:44( ${BURN})?)?`,
  "<main>:45( Object#deep:29){0,400} Object#deep:(27|28|29|30|31)",
  `<main>:45( Object#deep:29){400} Object#deep:30 ${BURN}`,
  `<main>:46${NATIVE} block in Shop#sell:16( ${BURN})?`,
  `<main>:47 Shop#method_missing:17( ${BURN})?`,
  `<main>:48 Shop\\.own:19( ${BURN})?`,
  `<main>:49 Tools\\.tool:23( ${BURN})?`,
  `<main>:50 Tools#helped:24( ${BURN})?`,
  // as in backtraces of Ruby, the function is at its first line by now
  `<main>:51 Object#rescued:(32|33) rescue in Object#rescued:(34|35)( ${BURN})?`,
  `<main>:51 Object#rescued:(32|33)( Kernel#raise:0.*)?`,
  `<main>:52 Object#each_of:37( block in <main>:52( ${BURN})?)?`,
  // what eval() compiles is freed soon, sometimes before its name is read
  `<main>:53 Kernel#eval:0( \\[native\\] <(main|compiled)>:1)?${NATIVE}( ${BURN})?`,
  // C functions that call each other
  `<main>:54 Enumerable#sort_by:0( Array#each:0( \\[native\\] block in <main>:54( ${BURN})?)?)?`,
  `<main>:55 Integer#times:\\d+(${NATIVE} block in <main>:55( ${BURN})?)?`,
  `<main>:56 Object#fiber:38( (Fiber#resume|Class#new|Fiber#initialize):0)*`,
  `block in Object#fiber:38( ${BURN})?`,
  `block in <main>:39( ${BURN})?`,
  "<main>:57 (String#(\\*|reverse)|Integer#<<):0",
];

// C functions have no file. Some functions of Ruby are written in it.
function isOwn(f) {
  return f.file ? f.file.includes(SCRIPT) || /^(<internal:|\(eval)/.test(f.file)
                : /^[A-Z][A-Za-z:]*[#.]/.test(f.name);
}

const language = { script: path.join(__dirname, SCRIPT), chains: CHAINS, isOwn };

// Code of YJIT calls what the interpreter computes by itself. Its innermost function has the line
// of its last call; until it has called anything, that of an earlier one, which may be its end.
const COMPILED = BURN.replace("|8)", "|8|9)");
const calls = (chain) => chain.replaceAll(BURN, `${COMPILED}( Integer#[*%+<]:0)?`);
const compiler = { ...language, chains: CHAINS.map(calls) };

const hasCompiler = (root, ruby) =>
  String(spawnSync("chroot", [root, ruby, "--yjit", "-v"]).stdout).includes("+YJIT");

function checkRuby(agent, root, ruby, options = []) {
  const plain = checkScript(agent, root, [ruby, ...options], language);
  if (options.length > 0 || !hasCompiler(root, ruby)) return plain;
  const compiled = checkScript(agent, root, [ruby, "--yjit"], compiler);
  assert.ok(
    compiled.truncated <= compiled.n * (1 - RIGHT),
    `${compiled.truncated} of ${compiled.n} stacks through compiled code are not whole`,
  );
  return {
    n: plain.n + compiled.n,
    right: plain.right + compiled.right,
    wrong: new Map([...plain.wrong, ...compiled.wrong]),
  };
}

module.exports = { checkRuby, compiler, language };
if (require.main === module) main(checkRuby);
