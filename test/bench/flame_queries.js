// "make bench-query": what flame graphs of one service cost, beside the SQL that they need and over
// HTTP, as Markdown tables. query_cost.c makes the data and says what is compared. ROUNDS=5.
"use strict";

const { execFileSync } = require("node:child_process");
const fs = require("node:fs");
const http = require("node:http");
const os = require("node:os");
const path = require("node:path");
const zlib = require("node:zlib");
const { Daemon, clusterAgent, freePort, root, scratch } = require("../e2e/lib/daemon");

const ROUNDS = Number(process.env.ROUNDS || 5);
const cost = path.join(root, "build/release/test/bench/query_cost");
const END = 1768089600000; // of the data: 2026-01-11 00:00 UTC
const HOUR = 3600000;

const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];
const say = (...cells) => console.log(`| ${cells.join(" | ")} |`);
const mb = (bytes) => (bytes / 1e6).toFixed(1);

function printCosts(dir) {
  const lines = execFileSync(cost, [dir, "ask", String(ROUNDS)], { encoding: "utf8" });
  const all = lines.trim().split("\n").map((l) => JSON.parse(l));
  console.log(
    "\n| range | what | CPU, ms (of the bare SQL) | time, ms (of the bare SQL) " +
      "| memory, MiB at most | answer, MB |\n|---|---|---|---|---|---|",
  );
  for (const r of all) {
    const bare = all.find((b) => b.range === r.range && b.what === "bare");
    const of = (key) => `${r[key]} (${(r[key] / bare[key]).toFixed(2)})`;
    say(`${r.range / 3600} h`, r.what, of("cpuMs"), of("ms"), r.peakMiB, mb(r.bytes));
  }
}

// The whole body, inflated only after the clock has stopped.
const get = (url) =>
  new Promise((resolve, reject) => {
    const start = process.hrtime.bigint();
    http
      .get(url, { headers: { "accept-encoding": "gzip" } }, (res) => {
        const parts = [];
        res.on("data", (d) => parts.push(d));
        res.on("end", () => {
          const body = Buffer.concat(parts);
          const ms = Number(process.hrtime.bigint() - start) / 1e6;
          const text = res.headers["content-encoding"] === "gzip" ? zlib.gunzipSync(body) : body;
          if (res.statusCode !== 200) reject(new Error(`${res.statusCode}: ${text}`));
          else resolve({ ms, bytes: body.length, json: JSON.parse(text), size: text.length });
        });
      })
      .on("error", reject);
  });

async function printAnswers(dir) {
  const port = await freePort();
  const args = [`--listen=127.0.0.1:${port}`, `--data-dir=${dir}`, "--profiles-ttl=3650d"];
  const agent = new Daemon(clusterAgent, args, {
    name: "cluster-agent",
    url: `http://127.0.0.1:${port}`,
  });
  await agent.ready("/readyz");
  console.log(
    "\n| over HTTP, gzip | nodes | first, ms | later, ms (least) | sent, MB | inflated, MB |" +
      "\n|---|---|---|---|---|---|",
  );
  const base = END - 2 * HOUR;
  const rows = [
    ["1 h", HOUR, "&maxNodes=100000"],
    ["1 h against the hour before", HOUR, `&maxNodes=100000&baseFrom=${base}&baseTo=${END - HOUR}`],
    ["24 h", 24 * HOUR, "&maxNodes=100000"],
    ["24 h, all nodes", 24 * HOUR, "&maxNodes=200000"],
  ];
  for (const [name, range, more] of rows) {
    const answers = [];
    // an answer that was made before is not repeated: each range begins a millisecond later
    for (let i = 0; i <= ROUNDS; i++)
      answers.push(
        await get(
          `${agent.url}/api/flamegraph?service=%2Fk8s%2Fshop%2Fcart&type=ebpf:cpu:nanoseconds` +
            `&from=${END - range + i}&to=${END}${more}`,
        ),
      );
    const later = answers.slice(1).map((a) => a.ms);
    say(
      name,
      answers[0].json.nodes.name.length,
      answers[0].ms.toFixed(0),
      `${median(later).toFixed(0)} (${Math.min(...later).toFixed(0)})`,
      mb(answers[0].bytes),
      mb(answers[0].size),
    );
  }
  const status = fs.readFileSync(`/proc/${agent.pid}/status`, "utf8");
  const peak = Number(/VmHWM:\s+(\d+)/.exec(status)[1]) / 1024;
  console.log(`\nPeak of the agent's memory: ${peak.toFixed(0)} MiB`);
  await agent.stop();
}

async function main() {
  const dir = scratch("data");
  console.log(
    `${os.cpus()[0].model}, ${os.cpus().length} cores, kernel ${os.release()}, ` +
      `load ${os.loadavg()[0].toFixed(0)}`,
  );
  try {
    execFileSync(cost, [dir, "fill"]);
    printCosts(dir);
    await printAnswers(dir);
  } finally {
    fs.rmSync(dir, { recursive: true, force: true });
  }
}

main().catch((e) => {
  console.error(e.message);
  process.exit(1);
});
