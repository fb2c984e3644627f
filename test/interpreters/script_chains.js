// What the agent shows of a script whose chains of calls are known: each function, file and line,
// and that native frames stand between them where C code calls back.
"use strict";

const assert = require("node:assert");
const { spawn, spawnSync } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");

const SAMPLES = 300;
const SAMPLE_NS = 1e9 / 99;
// of stacks with frames of the language. What is missing are calls that C code makes: a tick may
// come before the frame of the function is there.
const RIGHT = 0.99;

function record(agent, pid, seconds, to) {
  const what = ["-p", String(pid), "-d", `${seconds}s`, "--format", "speedscope", "-o", to];
  const r = spawnSync(agent, ["record", ...what], { encoding: "utf8" });
  assert.strictEqual(r.status, 0, r.stderr);
  return JSON.parse(fs.readFileSync(to, "utf8"));
}

const withLine = (f) => `${f.name}:${f.line ?? 0}`;

// The language's own frames of a stack, from the first to the last; native frames between are one
// "[native]".
function chainOf(frames, isOwn, textOf = withLine) {
  const known = frames.map((f) => ({ text: textOf(f), isOwn: isOwn(f) }));
  const first = known.findIndex((f) => f.isOwn), last = known.findLastIndex((f) => f.isOwn);
  if (first < 0) return null;
  const words = known.slice(first, last + 1).map((f) => (f.isOwn ? f.text : "[native]"));
  return words.filter((w, i) => w !== "[native]" || words[i - 1] !== w).join(" ");
}

// { n, right, truncated, wrong: Map of chains }
function judge(profile, language) {
  const whole = language.chains.map((chain) => new RegExp(`^${chain}$`));
  // native frames below compiled code are not known
  const truncated = language.chains.map(
    (chain) => new RegExp(`^${chain.replaceAll(" \\[native\\] ", "( \\[native\\])? ")}$`),
  );
  const { frames } = profile.shared;
  const wrong = new Map();
  let n = 0, right = 0, cut = 0;
  for (const { samples, weights } of profile.profiles) {
    samples.forEach((stack, i) => {
      const chain = chainOf(stack.map((f) => frames[f]), language.isOwn);
      const isCut = stack.some((f) => frames[f].name === "[truncated]");
      const chains = isCut ? truncated : whole;
      if (chain === null) return;
      const count = Math.max(1, Math.round(weights[i] / SAMPLE_NS));
      if (isCut) cut += count;
      n += count;
      if (chains.some((c) => c.test(chain))) right += count;
      else wrong.set(chain, (wrong.get(chain) ?? 0) + count);
    });
  }
  return { n, right, truncated: cut, wrong };
}

// Starts the script in a root folder ("/": none), and checks what is recorded of it. language:
// { script: its path, chains: as regular expressions, isOwn: of a frame }.
function checkScript(agent, root, command, language) {
  const name = path.basename(language.script);
  const dir = fs.mkdtempSync(path.join(root, "tmp/chains-"));
  const script = path.join("/tmp", path.basename(dir), name);
  const to = path.join(dir, "speedscope.json");
  fs.copyFileSync(language.script, path.join(root, script));
  const child = spawn("chroot", [root, ...command, script]);
  let said = "";
  child.stdout.on("data", (d) => (said += d));
  child.stderr.on("data", (d) => (said += d));
  try {
    const all = { n: 0, right: 0, truncated: 0, wrong: new Map() };
    // a machine that others use gives it little time
    for (let seconds = 5; all.n < SAMPLES && seconds < 1000; seconds *= 2) {
      const one = judge(record(agent, child.pid, seconds, to), language);
      all.n += one.n;
      all.right += one.right;
      all.truncated += one.truncated;
      for (const [chain, n] of one.wrong) all.wrong.set(chain, (all.wrong.get(chain) ?? 0) + n);
    }
    assert.ok(all.n >= SAMPLES, `${all.n} stacks with frames of ${name}; it said ${said}`);
    const wrong = [...all.wrong].map(([chain, n]) => `${n} × ${chain}`).join("\n");
    assert.ok(all.right >= all.n * RIGHT, `${all.right} of ${all.n} are right; wrong: ${wrong}`);
    return all;
  } finally {
    child.kill("SIGKILL");
    fs.rmSync(dir, { recursive: true, force: true });
  }
}

// The command line: AGENT ROOT PROGRAM [OPTION]...
function main(check) {
  const [agent, root, program, ...options] = process.argv.slice(2);
  const { n, right, wrong } = check(agent, root, program, options);
  console.log(`${right} of ${n} stacks are right`);
  for (const [chain, count] of wrong) console.log(`  wrong: ${count} × ${chain}`);
}

module.exports = { RIGHT, chainOf, checkScript, main, record };
