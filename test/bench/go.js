// "make bench-go": what reading Go processes costs, with the node-agent's own code (go_cost.c),
// as a Markdown table. go.js BUILD [NAME…] runs all benches below, or only those with these
// names; each returns rows of what was measured, the figure, and its target. Needs root.
"use strict";

const { execFileSync, spawn } = require("node:child_process");
const { once } = require("node:events");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const readline = require("node:readline");

const { costOfLocks } = require("./locks");
const { tempDir } = require("../e2e/lib/temp_dir");
const { sleep } = require("../e2e/lib/wait");

const root = path.resolve(__dirname, "../..");
const build = path.resolve(process.argv[2] || path.join(root, "build/release"));
const cost = path.join(build, "test/bench/go_cost");
const goService = path.join(root, "build/bench/go_service");
const RATE = 512 * 1024;

const median = (v) => [...v].sort((a, b) => a - b)[Math.floor(v.length / 2)];
const mib = (kib) => `${(kib / 1024).toFixed(1)} MiB`;
const ms = (v) => `${v.toFixed(v < 10 ? 2 : 0)} ms`;
const numbers = (text) =>
  text
    .trim()
    .split("\n")
    .map((line) => line.split(" ").map(Number));
const run = (...args) =>
  numbers(
    execFileSync(cost, args.map(String), {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "inherit"],
    }),
  );

const children = new Set();
process.on("exit", () => {
  for (const c of children) c.kill("SIGKILL");
});

// A process of test/bench/go_service, and the lines that it prints.
class Service {
  constructor(records, percent, rate = RATE, program = goService) {
    this.child = spawn(program, [records, percent, rate].map(String), {
      stdio: ["pipe", "pipe", "inherit"],
    });
    children.add(this.child);
    this.lines = readline.createInterface(this.child.stdout)[Symbol.asyncIterator]();
  }
  async ready() {
    const [, address, records] = (await this.says()).split(" ");
    return Object.assign(this, { address, records: Number(records), pid: this.child.pid });
  }
  async says() {
    return (await this.lines.next()).value;
  }
  send(line) {
    this.child.stdin.write(`${line}\n`);
  }
  cpuMs() {
    let ns = 0;
    for (const t of fs.readdirSync(`/proc/${this.pid}/task`))
      ns += Number(fs.readFileSync(`/proc/${this.pid}/task/${t}/schedstat`, "utf8").split(" ")[0]);
    return ns / 1e6;
  }
  async end() {
    const exited = once(this.child, "exit");
    this.child.stdin.end();
    await exited;
    children.delete(this.child);
  }
}

// The cost of the heap profile that the program makes of itself.
async function ownProfile(service) {
  const before = service.cpuMs();
  const answer = await fetch(`http://${service.address}/debug/pprof/heap?gc=0`);
  const { byteLength } = await answer.arrayBuffer();
  const took = ms(service.cpuMs() - before);
  return `${took} of the program's own time and ${Math.round(byteLength / 1024)} KiB`;
}

async function heap(records, percent, rounds) {
  const service = await new Service(records, percent).ready();
  const [[floorMs, floorKib]] = run("floor", service.pid);
  const all = run("rounds", service.pid, rounds);
  const own = await ownProfile(service);
  await service.end();
  const steady = all.slice(1);
  return {
    first: all[0][0],
    steady: median(steady.map((r) => r[0])),
    peak: Math.max(...all.map((r) => r[1])),
    stays: all.at(-1)[2],
    profile: Math.round(all.at(-1)[4] / 1024),
    floor: `floor: ${ms(floorMs)} for ${mib(floorKib)}`,
    own,
  };
}

const heapRow = (what, h, target) => [
  what,
  `${ms(h.steady)} (first: ${ms(h.first)}; ${h.floor}), ` +
    `${mib(h.peak)} at most (${mib(h.stays)} stay), ${h.profile} KiB; by itself ${h.own}`,
  target,
];

async function largeHeap() {
  return [
    heapRow("131,000 records, every fifth in use", await heap(131000, 20, 8), "< 80 ms, < 20 MiB"),
    heapRow("131,000 records, all in use", await heap(131000, 100, 8), ""),
    heapRow("500,000 records, every tenth in use", await heap(500000, 10, 5), ""),
  ];
}

async function smallHeap() {
  return [
    heapRow("a service: 500 records, every fifth in use", await heap(500, 20, 50), "< 2 ms"),
    heapRow("500 records, all in use", await heap(500, 100, 50), ""),
  ];
}

// Compares the CPU time that the program needs per object with a reader and without one. The two
// alternate, and each ratio is of two neighbouring phases.
async function target() {
  const service = await new Service(20000, 20).ready();
  const ratios = [];
  for (let i = 0; i < 12; i++) {
    const phase = {};
    for (const reading of i % 2 ? [true, false] : [false, true]) {
      const reader =
        reading &&
        spawn(cost, ["every", String(service.pid), "1000"], {
          stdio: ["pipe", "ignore", "inherit"],
        });
      service.send("allocate 2");
      phase[reading] = Number((await service.says()).split(" ")[1]);
      if (!reader) continue;
      const exited = once(reader, "exit");
      reader.stdin.end();
      await exited;
    }
    ratios.push({ ratio: phase[true] / phase[false], ns: phase[false] });
  }
  await service.end();
  const sorted = ratios.map((r) => r.ratio).sort((a, b) => a - b);
  return [
    [
      "CPU time of a program of 20,000 records for an allocation of 64 bytes, read each second",
      `${median(sorted).toFixed(3)} of what it is without (half of the pairs between ` +
        `${sorted[3].toFixed(3)} and ${sorted[8].toFixed(3)}); ` +
        `${median(ratios.map((r) => r.ns)).toFixed(1)} ns`,
      "not measurable",
    ],
  ];
}

// Reads a /proc of 200 processes of this program and as many that are not Go programs.
async function many(program) {
  const N = 200;
  const SECONDS = 60;
  const SHORTER = 12; // intervals of 5 s instead of 60 s; scans of processes become as frequent
  const services = [];
  for (let i = 0; i < N; i++) services.push(await new Service(50 + i, 20, RATE, program).ready());
  const others = Array.from({ length: N }, () => spawn("sleep", ["600"], { stdio: "ignore" }));
  for (const o of others) children.add(o);
  const proc = tempDir("proc");
  for (const pid of [...services, ...others].map((p) => p.pid))
    fs.symlinkSync(`/proc/${pid}`, path.join(proc, String(pid)));
  const [, [cpuMs, profiles, rssKib]] = run("worker", proc, 60000 / SHORTER, SECONDS);
  for (const o of others) o.kill();
  for (const s of services) await s.end();
  return (
    `${((cpuMs / (SECONDS * 1000) / SHORTER) * 100).toFixed(3)} % ` +
    `(${ms(cpuMs / profiles)} for a profile, ${profiles} of them; ` +
    `measured at an interval of ${60 / SHORTER} s, divided by ${SHORTER}), ${mib(rssKib)} resident`
  );
}

// The same with an executable in an overlayfs, like that of a container.
async function manyLayered() {
  const dir = tempDir("layers");
  const [low, up, work, all] = ["low", "up", "work", "all"].map((name) => path.join(dir, name));
  for (const d of [low, up, work, all]) fs.mkdirSync(d);
  fs.copyFileSync(goService, path.join(low, "go_service"));
  execFileSync("mount", [
    "-t",
    "overlay",
    "overlay",
    "-o",
    `lowerdir=${low},upperdir=${up},workdir=${work}`,
    all,
  ]);
  try {
    return await many(path.join(all, "go_service"));
  } finally {
    execFileSync("umount", ["--lazy", all]);
  }
}

async function manyRows() {
  return [
    [
      "200 Go processes of 50 to 250 records beside 200 others, of one core",
      await many(goService),
      "< 0.2 %",
    ],
    ["— whose executable is in layers (overlayfs)", await manyLayered(), ""],
  ];
}

async function stress() {
  const service = await new Service(500000, 10, 1).ready();
  service.send("grow 60");
  const check = spawn(path.join(build, "test/go-matrix/check_stress"), [String(service.pid)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  children.add(check);
  service.says().then((line) => check.stdin.end(`${line}\n`));
  let text = "";
  check.stdout.on("data", (d) => (text += d));
  const [code] = await once(check, "close");
  await service.end();
  if (code !== 0) process.exitCode = 1;
  return [
    ["a minute of growth and garbage collections", text.trim(), "nothing wrong, at most 2 s"],
  ];
}

const checker = (name) => path.join(build, "test/go-matrix", name);

async function goroutines() {
  const rows = [];
  for (const [number, wakeUps, target] of [
    [100000, 50000, "< 1 s"],
    [1000, 100, ""],
  ]) {
    const child = spawn(
      path.join(root, "build/bench/go_goroutines"),
      [number, wakeUps].map(String),
      {
        stdio: ["pipe", "pipe", "inherit"],
      },
    );
    children.add(child);
    await readline.createInterface({ input: child.stdout })[Symbol.asyncIterator]().next();
    const text = execFileSync(checker("check_goroutines"), ["time", String(child.pid)], {
      encoding: "utf8",
    });
    const rounds = [
      ...text.matchAll(/(\d+) goroutines, (\d+) stacks, (\d+) moved, (\d+) broken, (\d+) us/g),
    ].map((m) => m.slice(1).map(Number));
    const exited = once(child, "exit");
    child.stdin.end();
    await exited;
    children.delete(child);
    const column = (i) => rounds.map((r) => r[i]);
    const sum = (values) => values.reduce((a, b) => a + b, 0);
    rows.push([
      `${number} goroutines, ${wakeUps} of them woken each second`,
      `${ms(median(column(4)) / 1000)} (at most ${ms(Math.max(...column(4)) / 1000)}) ` +
        `for a profile and a count, ${rounds[0][1]} stacks; ` +
        `moved ${sum(column(2))}, broken ${sum(column(3))}`,
      target,
    ]);
  }
  return rows;
}

const locks = () =>
  costOfLocks(checker("check_locks"), path.join(root, "build/bench/go_locks"), 11);

const benches = {
  heap: largeHeap,
  service: smallHeap,
  target,
  many: manyRows,
  goroutines,
  locks,
  stress,
};

async function main() {
  const names = process.argv.slice(3);
  console.log(`${os.cpus()[0].model}, ${os.cpus().length} cores, kernel ${os.release()}\n`);
  console.log("| what | measured | target |\n|---|---|---|");
  for (const name of names.length > 0 ? names : Object.keys(benches)) {
    for (const row of await benches[name]()) console.log(`| ${row.join(" | ")} |`);
    await sleep(500);
  }
}

main().catch((e) => {
  console.error(e);
  process.exit(1);
});
