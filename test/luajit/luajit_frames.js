// What the agent shows of LuaJIT that runs the program with known chains of calls of test/lua, with
// its compiler and without. "luajit_frames.js AGENT ROOT LUAJIT" checks that of a folder with a
// Debian.
//
// Generated code (a trace) has what it has inlined in no frames: a chain ends with the function
// that the trace has begun in, and "(trace FILE:LINE)". Its line may be any of the function.
"use strict";

const path = require("node:path");
const { checkScript } = require("../interpreters/script_chains");

const SCRIPT = "known_chains.lua";

// A word: a function, the line where it calls the next one, and all lines that it may be at.
const word = (name, calls, lines = calls) => ({ name, calls, lines });
const main = (calls) => word(SCRIPT, calls);
const at = (line, calls, lines) => word(`function <${SCRIPT}:${line}>`, calls, lines);
const c = (name) => word(name, 0);
const burn = word("burn", 4, "1|2|3|4|5|6");
const direct = at(1, 4, burn.lines); // burn() where nobody calls it by a name
const native = { text: "\\[native\\]" };
const times = (n, { name, calls, lines }) => ({
  name,
  lines,
  text: `${name}:${calls}( ${name}:${calls}){0,${n - 1}}`,
});

// From the script on. Each chain may end with any of its words.
const CHAINS = [
  [main("\\d+")],
  [main(63), word("Shop.total", 9, "9|10"), word("Shop.pay", 11, "11|12"), burn],
  [main(64), times(51, word("deep", 15, "13|14|15|16|18|19|20")), word("deep", 18), burn],
  [main(65), word("__index", 22, "22|23"), burn],
  [main(66), word("__add", 24, "24|25"), burn],
  [main(67), word("meta", 26, "26|27"), burn],
  // a tail call: as in tracebacks of LuaJIT, by the name of the function that was called first
  [main(68), word("tail", 4, `29|${burn.lines}`)],
  [main(69), word("for iterator", 31, "30|31|32"), burn],
  [main(70), c("pcall"), direct],
  [main(71), c("pcall"), at(71, 71, "71|72"), burn],
  [main(73), c("table.sort"), native, at(73, 73, "73|74"), burn],
  [main(75), c("string.gsub"), native, at(75, 75, "75|76"), burn],
  [main(77), c("coroutine.wrap")],
  [main(79), c("co"), at(77, 77, "77|78"), burn],
  [main(80), c("coroutine.create")],
  [main(81), c("coroutine.resume"), at(36, 37, "36|37|38|39|40"), burn],
  [main(81), c("coroutine.resume"), at(36, 38), c("coroutine.yield")],
  [main(82), c("coroutine.resume"), at(36, 39), burn],
  [main(83), word("variadic", 34, "33|34|35"), burn],
  [main(84), c("string.rep")],
  [main(85), word("fill", 43, "41|42|43|44|45|46")],
  [main(86), times(17, word("fib", "(48|49)", "47|48|49|50"))],
  [main("(87|89)"), word("shuffled", 56, "52|53|54|55|56|57|58")],
  [main(87), word("shuffled", 56), word("of", 87)],
  [main(88), c("table.sort"), native, at(88, 88)],
  [main(89), word("shuffled", 56), word("of", 89), c("setmetatable")],
  [main(90), c("table.sort"), native, at(51, 51)],
  [main(91), c("coroutine.wrap")],
  [main(91), c("for iterator"), at(59, 60, "59|60"), c("coroutine.yield")],
  [main(92), c("gsub"), native, at(92, 92)],
  [main(92), c("string.rep")],
];

const TRACE = ` \\(trace ${SCRIPT}:\\d+\\):\\d+`;
const before = (w) => w.text ?? `${w.name}:${w.calls}`;
const last = (w) => `${w.name}:(${w.lines})`;
const traced = (w) => `${w.name}:\\d+${TRACE}`;

const ended = (chain, end) =>
  chain.flatMap((w, i) => {
    const words = chain.slice(0, i).map(before);
    if (w === native) return [];
    // any number of calls of the same function
    if (w.text) return [[...words, end(w)], [...words, w.text, end(w)]].map((l) => l.join(" "));
    return [[...words, end(w)].join(" ")];
  });

const interpreted = CHAINS.flatMap((chain) => ended(chain, last));
const compiled = [...interpreted, ...CHAINS.flatMap((chain) => ended(chain, traced))];

// C functions have no file.
const isOwn = (f) => Boolean(f.file?.includes(SCRIPT)) ||
  (!f.file &&
    /^(pcall|co|gsub|setmetatable|for iterator|(table|string|coroutine)\.\w+)$/.test(f.name));

const script = path.join(__dirname, "../lua", SCRIPT);
const languageOf = (chains) => ({ script, chains, isOwn });
const language = languageOf(interpreted), compiler = languageOf(compiled);

function checkLuaJit(agent, root, luajit) {
  const one = (option, of) => checkScript(agent, root, [luajit, option], of);
  const found = [one("-joff", language), one("-jon", compiler)];
  return {
    n: found[0].n + found[1].n,
    right: found[0].right + found[1].right,
    wrong: new Map([...found[0].wrong, ...found[1].wrong]),
  };
}

module.exports = { checkLuaJit, compiler, language };
if (require.main === module) require("../interpreters/script_chains").main(checkLuaJit);
