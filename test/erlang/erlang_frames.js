// What the agent shows of an Erlang program whose chains of calls are known (known_chains.erl):
// each function, file and line, and the functions in C above those that call them.
// "erlang_frames.js AGENT ROOT ERLEXEC" checks that of a folder with a Debian.
"use strict";

const { execFileSync } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const { checkScript, main } = require("../interpreters/script_chains");

const SCRIPT = "known_chains.erl";

// A function of the program, without its module, at one of these lines.
const at = (name, ...lines) =>
  `known_chains:${name}:${lines.length > 1 ? `(${lines.join("|")})` : lines[0]}`;
// of a library: its lines differ between releases
const of = (name) => `${name}:\\d+`;
const any = (chain) => `( ${chain})?`;

// From the first function of the program on, which a process begins with or rounds/2 is; frames
// below the innermost one are at the line of a call. The compiler leaves out lines where nothing
// can fail: there a function is at its first one.
const ROUNDS = (line) => at("rounds/2", line);
const BURN = at("burn/2", 92, 95);
const PLAIN = `${at("plain/1", 30, 31)}${any(BURN)}`;
const FUN = (line, arity) => at(`-rounds/2-fun-\\d-/${arity}`, line);
const SORTING = `( ${of("lists:(sort|fsplit\\w*|fmerge\\w*|rfmerge\\w*)/\\d")})+`;
const STRETCHED = `( ${at("stretched/1", 81)}){0,100}`;
const DUPLICATE = any(of("lists:duplicate/\\d"));
const CHAINS = [
  at("rounds/2", 10, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25),
  `${ROUNDS(13)} ${PLAIN}`,
  `${ROUNDS(14)}( ${at("deep/1", 37)}){0,50}( ${at("deep/1", 34, 35, 36, 37)})?`,
  `${ROUNDS(14)}( ${at("deep/1", 37)}){50} ${at("deep/1", 35)} ${BURN}`,
  `${ROUNDS(15)}( ${of("lists:foldl(_1)?/3")})+${any(`${FUN(15, 2)}${any(BURN)}`)}`,
  `${ROUNDS(16)}( ${of("lists:map(_1)?/2")})+${any(`${FUN(16, 2)}${any(BURN)}`)}`,
  `${at("handle_call/3", 86, 87)}${any(PLAIN)}`,
  `${ROUNDS(18)} ${at("caught/1", 39, 40, 41, 42, 43)}${any(BURN)}`,
  `${ROUNDS(18)} ${at("caught/1", 41)} ${at("thrown/1", 46, 47, 48)}${any(BURN)}`,
  `${ROUNDS(19)} ${at("natives/2", 51, 55)}`,
  `${ROUNDS(20)} ${at("hashed/1", 58, 59)}( ${of("crypto:hash\\w*/\\d")})*`,
  `${ROUNDS(21)} ${at("derived/1", 61, 62)}( ${of("crypto:pbkdf2_hmac\\w*/\\d")})*`,
  `${ROUNDS(22)} ${at("sorted/1", 64, 65, 66)}`,
  `${ROUNDS(22)} ${at("sorted/1", 65)}${SORTING}`,
  `${ROUNDS(22)} ${at("sorted/1", 65)}${SORTING} ${at("-sorted/1-fun-0-/2", 65)}${any(BURN)}`,
  `${ROUNDS(23)} ${at("spawned/1", 69, 71, 72)}`,
  `${at("-spawned/1-fun-0-/2", 71)}${any(PLAIN)}`,
  `${ROUNDS(24)}${STRETCHED}( ${at("stretched/1", 77, 79, 80, 81)}${DUPLICATE})?`,
];

const LISTS = /^lists:(foldl|map|sort|r?f(split|merge)|duplicate)/;
const isOwn = ({ name }) =>
  /^(known_chains:|crypto:(hash|pbkdf2_hmac))/.test(name) || LISTS.test(name);

const language = { script: path.join(__dirname, SCRIPT), chains: CHAINS, isOwn };

// What erlexec is told by the script erl(1), for which there is no shell here.
function environment(erlexec) {
  const dir = path.dirname(erlexec);
  const root = path.dirname(path.dirname(dir));
  return { BINDIR: dir, ROOTDIR: root, EMU: "beam", PROGNAME: "erl", HOME: "/tmp" };
}

// In a root folder: erlexec, and a folder there with the program, compiled.
function compile(root, erlexec) {
  const dir = "/tmp/known_chains";
  fs.rmSync(path.join(root, dir), { recursive: true, force: true });
  fs.mkdirSync(path.join(root, dir));
  fs.copyFileSync(language.script, path.join(root, dir, SCRIPT));
  const text = `{ok, _} = compile:file("${dir}/${SCRIPT}", [{outdir, "${dir}"}]), halt().`;
  execFileSync("chroot", [root, erlexec, "-noshell", "-eval", text], {
    env: { ...process.env, ...environment(erlexec) },
  });
  return dir;
}

const options = (dir) => ["-noshell", "-pa", dir, "-s", "known_chains", "main", "-extra"];

function findErlexec(root) {
  const lib = "/usr/lib/erlang";
  const [erts] = fs.readdirSync(path.join(root, lib)).filter((name) => name.startsWith("erts-"));
  return path.join(lib, erts, "bin/erlexec");
}

function releaseOf(root) {
  const erlexec = findErlexec(root);
  const text = 'io:put_chars(erlang:system_info(otp_release)), halt().';
  const env = { ...process.env, ...environment(erlexec) };
  return String(execFileSync("chroot", [root, erlexec, "-noshell", "-eval", text], { env }));
}

function checkErlang(agent, root) {
  const erlexec = findErlexec(root);
  const dir = compile(root, erlexec);
  Object.assign(process.env, environment(erlexec));
  return checkScript(agent, root, [erlexec, ...options(dir)], language);
}

module.exports = { checkErlang, compile, environment, findErlexec, language, options, releaseOf };
if (require.main === module) main(checkErlang);
