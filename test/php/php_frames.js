// What the agent shows of a PHP program whose chains of calls are known (known_chains.php): each
// function, file and line, and that native frames stand between them where C code calls back.
// "php_frames.js ROOT PHP" checks that of a folder with a Debian.
"use strict";

const assert = require("node:assert");
const { spawn, spawnSync } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");

const SCRIPT = "known_chains.php";
const SAMPLES = 300;
const SAMPLE_NS = 1e9 / 99;
// of stacks with frames of PHP. What is missing are calls that C code makes: a tick may come before
// the frame of the function is there.
const RIGHT = 0.99;

// From the script on, "function:line"; frames below the innermost one are at the line of a call.
const BURN = "burn:(2|3|4|5)";
const CHAINS = [
  `${SCRIPT}:\\d+`,
  `${SCRIPT}:23 Shop::total:(8|9|10|11)`,
  `${SCRIPT}:23 Shop::total:10 Shop::pay:7( ${BURN})?`,
  `${SCRIPT}:24 array_map:0( \\[native\\] {closure(:[^ ]*)?}:20( ${BURN})?)?`,
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
];
const whole = CHAINS.map((chain) => new RegExp(`^${chain}$`));
// native frames below compiled code are not known
const truncated = CHAINS.map(
  (chain) => new RegExp(`^${chain.replace(" \\[native\\] ", "( \\[native\\])? ")}$`),
);

function record(agent, pid, seconds, to) {
  const what = ["-p", String(pid), "-d", `${seconds}s`, "--format", "speedscope", "-o", to];
  const r = spawnSync(agent, ["record", ...what], { encoding: "utf8" });
  assert.strictEqual(r.status, 0, r.stderr);
  return JSON.parse(fs.readFileSync(to, "utf8"));
}

// The PHP of a stack, from the script on; native frames between are one "[native]". PHP's own
// functions have no file, as native ones; but those have a mapping in brackets.
function chainOf(frames) {
  const known = frames.map((f) => ({
    text: `${f.name}:${f.line ?? 0}`,
    isPhp: f.file?.includes(SCRIPT) || /^(array_map|call_user_func|hash|str_repeat)$/.test(f.name),
  }));
  const first = known.findIndex((f) => f.isPhp), last = known.findLastIndex((f) => f.isPhp);
  if (first < 0) return null;
  const words = known.slice(first, last + 1).map((f) => (f.isPhp ? f.text : "[native]"));
  return words.filter((w, i) => w !== "[native]" || words[i - 1] !== w).join(" ");
}

// { n, right, wrong: Map of chains }
function judge(profile) {
  const { frames } = profile.shared;
  const wrong = new Map();
  let n = 0, right = 0;
  for (const { samples, weights } of profile.profiles) {
    samples.forEach((stack, i) => {
      const chain = chainOf(stack.map((f) => frames[f]));
      const chains = stack.some((f) => frames[f].name === "[truncated]") ? truncated : whole;
      if (chain === null) return;
      const count = Math.max(1, Math.round(weights[i] / SAMPLE_NS));
      n += count;
      if (chains.some((c) => c.test(chain))) right += count;
      else wrong.set(chain, (wrong.get(chain) ?? 0) + count);
    });
  }
  return { n, right, wrong };
}

// Starts the program in a root folder ("/": none), and checks what is recorded of it.
function checkPhp(agent, root, php, options = []) {
  const dir = fs.mkdtempSync(path.join(root, "tmp/php-"));
  const script = path.join("/tmp", path.basename(dir), SCRIPT);
  const to = path.join(dir, "speedscope.json");
  fs.copyFileSync(path.join(__dirname, SCRIPT), path.join(root, script));
  const command = [php, "-n", ...options, script];
  const child = spawn("chroot", [root, ...command]);
  let said = "";
  child.stdout.on("data", (d) => (said += d));
  child.stderr.on("data", (d) => (said += d));
  try {
    const all = { n: 0, right: 0, wrong: new Map() };
    // a machine that others use gives it little time
    for (let seconds = 5; all.n < SAMPLES && seconds < 1000; seconds *= 2) {
      const one = judge(record(agent, child.pid, seconds, to));
      all.n += one.n;
      all.right += one.right;
      for (const [chain, n] of one.wrong) all.wrong.set(chain, (all.wrong.get(chain) ?? 0) + n);
    }
    assert.ok(all.n >= SAMPLES, `${all.n} stacks with frames of PHP; the program said ${said}`);
    const wrong = [...all.wrong].map(([chain, n]) => `${n} × ${chain}`).join("\n");
    assert.ok(all.right >= all.n * RIGHT, `${all.right} of ${all.n} are right; wrong: ${wrong}`);
    return all;
  } finally {
    child.kill("SIGKILL");
    fs.rmSync(dir, { recursive: true, force: true });
  }
}

module.exports = { checkPhp };
if (require.main === module) {
  const [agent, root, php, ...options] = process.argv.slice(2);
  const { n, right, wrong } = checkPhp(agent, root, php, options);
  console.log(`${right} of ${n} stacks are right`);
  for (const [chain, count] of wrong) console.log(`  wrong: ${count} × ${chain}`);
}
