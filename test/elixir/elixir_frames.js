// What the agent shows of an Elixir program whose chains of calls are known (known_chains.ex).
// "elixir_frames.js AGENT ROOT" checks that of a folder with a Debian.
"use strict";

const path = require("node:path");
const { environment, findErlexec } = require("../erlang/erlang_frames");
const { checkScript, main } = require("../interpreters/script_chains");

const SCRIPT = "known_chains.ex";

// From the first function of the program on. Lines of Elixir's own functions differ between
// releases.
const at = (name, lines) => `Elixir.Shop:${name}:(${lines})`;
const BURN = `( ${at("burn/2", "2|3")})?`;
const PAY = `${at("pay/1", "4|5|6")}${BURN}`;
const LIBRARY = "( (Elixir\\.(Enum|Enumerable|Module|Stream)|elixir_aliases|lists)[^ ]*:\\d+)*";
const CHAINS = [
  "Elixir\\.(Code|Kernel|Module|Protocol).*", // it compiles the program
  at("loop/0", "15|16|17|18|19"),
  `${at("loop/0", 16)} ${at("each/1", "8|9|10")}`,
  `${at("loop/0", 16)} ${at("each/1", 9)}${LIBRARY}( ${at("-each/1-fun-0-/2", 9)}( ${PAY})?)?`,
  `${at("loop/0", 17)}( ${at("deep/2", 13)}){0,50}( ${at("deep/2", "12|13")})?`,
  `${at("loop/0", 17)}( ${at("deep/2", 13)}){50} ${at("deep/2", 12)} ${PAY}`,
  `${at("loop/0", "14|18")}${LIBRARY}( ${at("-piped/1-fun-0-/2", 14)})?( ${PAY})?`,
  `${at("loop/0", 18)} ${at("piped/1", 14)}${LIBRARY}`,
];

const isOwn = ({ name }) => /^(Elixir\.|elixir_aliases:)/.test(name);
const language = { script: path.join(__dirname, SCRIPT), chains: CHAINS, isOwn };

// Compiles the file that is its argument, and runs that.
const RUN = `{ok, _} = application:ensure_all_started(elixir),
  'Elixir.Code':require_file(list_to_binary(hd(init:get_plain_arguments()))),
  'Elixir.Shop':loop().`;

function checkElixir(agent, root) {
  const erlexec = findErlexec(root);
  const elixir = ["-pa", "/usr/lib/elixir/lib/elixir/ebin"];
  const command = [erlexec, "-noshell", "+fnu", ...elixir, "-eval", RUN, "-extra"];
  Object.assign(process.env, environment(erlexec));
  return checkScript(agent, root, command, language);
}

module.exports = { checkElixir, language };
if (require.main === module) main(checkElixir);
