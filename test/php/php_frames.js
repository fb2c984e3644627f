// What the agent shows of a PHP program whose chains of calls are known (known_chains.php).
// "php_frames.js AGENT ROOT PHP" checks that of a folder with a Debian.
"use strict";

const path = require("node:path");
const { checkScript, main } = require("../interpreters/script_chains");

const SCRIPT = "known_chains.php";

// From the script on, "function:line"; frames below the innermost one are at the line of a call.
const BURN = "burn:(2|3|4|5)";
const MATCH = "preg_replace_callback:0";
const CLOSURE = "{closure(:[^ ]*)?}";
const CALLED_BACK = `${MATCH} \\[native\\] ${CLOSURE}:32`;
const CHAINS = [
  `${SCRIPT}:\\d+`,
  `${SCRIPT}:23 Shop::total:(8|9|10|11)`,
  `${SCRIPT}:23 Shop::total:10 Shop::pay:7( ${BURN})?`,
  `${SCRIPT}:24 array_map:0( \\[native\\] ${CLOSURE}:20( ${BURN})?)?`,
  `${SCRIPT}:25( \\[native\\])? steps:14( ${BURN})?`,
  `${SCRIPT}:26( deep:17){0,50} deep:(15|16|17|18|19)`,
  `${SCRIPT}:26( deep:17){50} deep:18 ${BURN}`,
  `${SCRIPT}:27( call_user_func:0( \\[native\\])?)? ${BURN}`,
  `${SCRIPT}:27 call_user_func:0`,
  `${SCRIPT}:28 Shop::__call:12( ${BURN})?`,
  `${SCRIPT}:29 class@anonymous::go:21( ${BURN})?`,
  // what eval() compiles is freed at once, often before its name is read
  `${SCRIPT}:30 (eval:1|\\[native\\])( ${BURN})?`,
  `${SCRIPT}:31 (hash|str_repeat):0`,
  // two regular expressions, which PCRE compiles
  `${SCRIPT}:32( ${MATCH})?`,
  `${SCRIPT}:32 ${CALLED_BACK}( ${MATCH})?`,
  `${SCRIPT}:32 ${CALLED_BACK} ${CALLED_BACK}( ${BURN})?`,
];

// PHP's own functions have no file, as native ones; but those have a mapping in brackets.
const INTERNAL = /^(array_map|call_user_func|hash|str_repeat|preg_replace_callback)$/;
const isOwn = (f) => f.file?.includes(SCRIPT) || INTERNAL.test(f.name);

const language = { script: path.join(__dirname, SCRIPT), chains: CHAINS, isOwn };

function checkPhp(agent, root, php, options = []) {
  return checkScript(agent, root, [php, "-n", ...options], language);
}

module.exports = { checkPhp, language };
if (require.main === module) main(checkPhp);
