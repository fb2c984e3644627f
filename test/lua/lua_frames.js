// What the agent shows of a Lua program whose chains of calls are known (known_chains.lua): each
// function by what its caller calls it, file and line, and native frames where C code calls back.
// "lua_frames.js AGENT ROOT LUA" checks that of a folder with a Debian.
"use strict";

const path = require("node:path");
const { checkScript, main } = require("../interpreters/script_chains");

const SCRIPT = "known_chains.lua";

// From the script on, "function:line"; frames below the innermost one are at the line of a call.
const BURN = "burn:(1|2|3|4|5|6)";
// With link-time optimization the loop may call itself.
const NATIVE = "( \\[native\\])?";
const at = (line) => `function <${SCRIPT}:${line}>:`;
const CHAINS = [
  `${SCRIPT}:\\d+`,
  `${SCRIPT}:63 Shop.total:(9|10)`,
  `${SCRIPT}:63 Shop.total:9 pay:(11|12)( ${BURN})?`,
  `${SCRIPT}:64( deep:15){0,50} deep:(13|14|15|16|18|19|20)`,
  `${SCRIPT}:64( deep:15){50} deep:18 ${BURN}`,
  `${SCRIPT}:65 \\[native\\] __index:(22|23)( ${BURN})?`,
  `${SCRIPT}:66 \\[native\\] __add:(24|25)( ${BURN})?`,
  `${SCRIPT}:67 meta:(26|27)( ${BURN})?`,
  `${SCRIPT}:68 tail:29`,
  `${SCRIPT}:68 ${at(1)}(1|2|3|4|5|6)`, // its caller has been replaced
  `${SCRIPT}:69${NATIVE} for iterator:(30|31|32)( ${BURN})?`,
  `${SCRIPT}:70 pcall:0( \\[native\\] ${at(1)}(1|2|3|4|5|6))?`,
  `${SCRIPT}:71 pcall:0( \\[native\\] ${at(71)}(71|72)( ${BURN})?)?`,
  `${SCRIPT}:73 table.sort:0( \\[native\\] ${at(73)}(73|74)( ${BURN})?)?`,
  `${SCRIPT}:75 string.gsub:0( \\[native\\] ${at(75)}(75|76)( ${BURN})?)?`,
  `${SCRIPT}:77 coroutine.wrap:0`,
  `${SCRIPT}:79 co:0( \\[native\\] ${at(77)}(77|78)( ${BURN})?)?`,
  `${SCRIPT}:80 coroutine.create:0`,
  `${SCRIPT}:(81|82) coroutine.resume:0( \\[native\\] ${at(36)}(36|37|38|39|40))?`,
  `${SCRIPT}:81 coroutine.resume:0 \\[native\\] ${at(36)}37 ${BURN}`,
  `${SCRIPT}:81 coroutine.resume:0 \\[native\\] ${at(36)}38 coroutine.yield:0`,
  `${SCRIPT}:82 coroutine.resume:0 \\[native\\] ${at(36)}39 ${BURN}`,
  `${SCRIPT}:83 variadic:(33|34|35)( ${BURN})?`,
  `${SCRIPT}:84 string.rep:0`,
  `${SCRIPT}:85 fill:(41|42|43|44|45|46)`,
  `${SCRIPT}:86( fib:(48|49)){0,16} fib:(47|48|49|50)`,
  `${SCRIPT}:(87|89) shuffled:(52|53|54|55|56|57|58)`,
  `${SCRIPT}:87 shuffled:56 of:87`,
  `${SCRIPT}:88 table.sort:0( \\[native\\] ${at(88)}88)?`,
  `${SCRIPT}:89 shuffled:56 of:89( setmetatable:0)?`,
  `${SCRIPT}:90 table.sort:0( \\[native\\] ${at(51)}51)?`,
  `${SCRIPT}:91 coroutine.wrap:0`,
  `${SCRIPT}:91 \\[native\\]( ${at(59)}(59|60)( coroutine.yield:0)?)?`,
  `${SCRIPT}:92 (string.rep|gsub):0( \\[native\\] ${at(92)}92)?`,
];

// C functions have no file.
const isOwn = (f) => Boolean(f.file?.includes(SCRIPT)) ||
  (!f.file && /^(pcall|co|gsub|setmetatable|(table|string|coroutine)\.\w+)$/.test(f.name));

const language = { script: path.join(__dirname, SCRIPT), chains: CHAINS, isOwn };

function checkLua(agent, root, lua, options = []) {
  return checkScript(agent, root, [lua, ...options], language);
}

module.exports = { checkLua, language };
if (require.main === module) main(checkLua);
