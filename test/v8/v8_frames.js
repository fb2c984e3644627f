// What the agent shows of a program for Node.js whose chains of calls are known
// (known_chains.mjs). "v8_frames.js AGENT ROOT NODE" checks that of a Node.js in a folder.
"use strict";

const path = require("node:path");
const { checkScript, main } = require("../interpreters/script_chains");

const SCRIPT = "known_chains.mjs";

// From the script on, "function:line"; frames below the innermost one are at the line of a call.
// Builtins that optimised code has instead of a call, as that of map(), have no frame.
const BURN = "burn:(5|6|7|8|9)";
const CHAINS = [
  "\\(anonymous\\):\\d+( \\(anonymous\\):\\d+)*", // the module begins
  "main:\\d+( \\[native\\])?",
  `main:56( total:(15|16)( \\[native\\])?( \\(anonymous\\):16( pay:(12|13)( ${BURN})?)?)?)?`,
  `main:57 (Shop\\.)?own:(18|19)( ${BURN})?`,
  `main:58 tool:22( ${BURN})?`,
  "main:59( deep:26){0,50}( deep:(23|24|25|26|27))?",
  `main:59( deep:26){50} deep:(24|25) ${BURN}`,
  `main:60 inlines:(31|32|33|34|35)( small:(28|29)( ${BURN})?)?`,
  `main:61 later:(37|38)`,
  `later:(37|38|39)( ${BURN})?`,
  `main:62 \\[native\\] generated:(41|42)( ${BURN})?`,
  `main:62 generated:(41|42)( ${BURN})?`,
  `main:63 \\(anonymous\\):(46|47|48)( ${BURN})?`,
  `main:64( \\[native\\] \\(anonymous\\):64( ${BURN})?)?`,
];

const isOwn = (f) => f.file?.includes(SCRIPT) ?? false;
const language = { script: path.join(__dirname, SCRIPT), chains: CHAINS, isOwn };

function checkNode(agent, root, node, options = []) {
  return checkScript(agent, root, [node, ...options], language);
}

module.exports = { checkNode, language };
if (require.main === module) main(checkNode);
