// What the agent shows of a Perl program whose chains of calls are known (known_chains.pl): each
// sub, file and line, and that native frames stand between them where C code calls back.
// "perl_frames.js AGENT ROOT PERL" checks that of a folder with a Debian.
"use strict";

const path = require("node:path");
const { checkScript, main } = require("../interpreters/script_chains");

const SCRIPT = "known_chains.pl";

// From the script on, "function:line"; frames below the innermost one are at the line of a call. A
// sub that has just been entered is where its caller is.
const BURN = "main::burn:\\d+";
const CHAINS = [
  `${SCRIPT}:\\d+`,
  `${SCRIPT}:34 ${BURN}`,
  `${SCRIPT}:35 Shop::pay:(35|23)`,
  `${SCRIPT}:35 Shop::pay:23 ${BURN}`,
  `${SCRIPT}:36 Shop::AUTOLOAD:(36|24)`,
  `${SCRIPT}:36 Shop::AUTOLOAD:24 ${BURN}`,
  `${SCRIPT}:37 main::make:(37|15)`,
  `${SCRIPT}:37 main::__ANON__:(37|15)`,
  `${SCRIPT}:37 main::__ANON__:15 ${BURN}`,
  `${SCRIPT}:38( main::deep:11){0,50}( main::deep:(38|10|11|12))?`,
  `${SCRIPT}:38( main::deep:11){50} main::deep:12 ${BURN}`,
  `${SCRIPT}:39 \\[native\\] \\(sort\\):39( ${BURN})?`,
  `${SCRIPT}:40 \\[native\\] main::by_burn:(40|14)`,
  `${SCRIPT}:40 \\[native\\] main::by_burn:14 ${BURN}`,
  `${SCRIPT}:41 \\[native\\] main::__ANON__:41( ${BURN})?`,
  `${SCRIPT}:42 ${BURN}`,
  `${SCRIPT}:43 \\(eval\\):43( ${BURN})?`,
  // what eval has compiled is freed at once, often before its lines are read
  `${SCRIPT}:44 \\(eval\\):(0|1|44)`,
  `${SCRIPT}:44 \\(eval\\):(0|1) ${BURN}`,
  `${SCRIPT}:45 \\[native\\] Shop::__ANON__:(45|19)`,
  `${SCRIPT}:45 \\[native\\] Shop::__ANON__:19 Shop::sum:(19|22)`,
  `${SCRIPT}:45 \\[native\\] Shop::__ANON__:19 Shop::sum:22 ${BURN}`,
  `${SCRIPT}:46 \\[native\\] Shop::__ANON__:(46|20)`,
  `${SCRIPT}:46 \\[native\\] Shop::__ANON__:20 main::caught:(20|16)`,
  `${SCRIPT}:46 \\[native\\] Shop::__ANON__:20 main::caught:16 \\(eval\\):16( ${BURN})?`,
  `${SCRIPT}:47 Shop::new:(21|47)`,
  `${SCRIPT}:\\d+ \\[native\\] Shop::DESTROY:(\\d+)`,
  `${SCRIPT}:\\d+ \\[native\\] Shop::DESTROY:25 ${BURN}`,
  `${SCRIPT}:48 \\[native\\] Drawer::FETCH:(48|28)`,
  `${SCRIPT}:48 \\[native\\] Drawer::FETCH:28 ${BURN}`,
  `${SCRIPT}:49 \\(eval\\):49`,
  `${SCRIPT}:49 \\(eval\\):49 \\[native\\] Shop::__ANON__:(49|19)( Shop::sum:(19|22)( ${BURN})?)?`,
  `${SCRIPT}:50 \\(eval\\):(0|1|2|50)( main::__ANON__:(0|2)( ${BURN})?)?`,
  `${SCRIPT}:52 \\[native\\] \\(sort\\):52`,
  `${SCRIPT}:52 \\[native\\] \\(sort\\):52 main::by_burn:(52|14)( ${BURN})?`,
  `${SCRIPT}:53 main::matched:(53|56)`,
  `${SCRIPT}:53 main::matched:56 \\[native\\] ${BURN}`,
  `${SCRIPT}:54 \\(eval\\):54( ${BURN})?`,
];

const isOwn = (f) =>
  /^((main|Shop|Drawer)::.*|\(eval\)|\(sort\)|known_chains\.pl)$/.test(f.name);

const language = { script: path.join(__dirname, SCRIPT), chains: CHAINS, isOwn };

// Of the program in a root folder ("/": none).
function checkPerl(agent, root, perl, options = []) {
  return checkScript(agent, root, [perl, ...options], language);
}

module.exports = { checkPerl, language };
if (require.main === module) main(checkPerl);
