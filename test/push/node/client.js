// A Node.js program that burns CPU in "leaf" until its input ends, and pushes what
// @pyroscope/nodejs samples of it: client.js MODULES
"use strict";

const path = require("node:path");
const { setTimeout: sleep } = require("node:timers/promises");

const pyroscope = require(path.join(process.argv[2], "node_modules/@pyroscope/nodejs"));
const kept = [];

function leaf() {
  const until = Date.now() + 50;
  while (Date.now() < until) kept.push({ number: kept.length });
}

async function main() {
  pyroscope.init({
    serverAddress: process.env.PUSH_URL,
    appName: "push.node",
    tags: { region: "eu" },
    authToken: process.env.PUSH_KEY,
    flushIntervalMs: 1000,
    wall: { samplingDurationMs: 1000, collectCpuTime: true },
    heap: { samplingIntervalBytes: 4096 },
  });
  pyroscope.start();
  let ended = false;
  process.stdin.on("end", () => (ended = true)).resume();
  while (!ended) {
    leaf();
    await sleep(200);
    if (kept.length > 1e6) kept.length = 0;
  }
  // its stop() throws if one of its timers is due
  process.exit(0);
}

main();
