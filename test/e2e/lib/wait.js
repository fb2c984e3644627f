"use strict";

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
// the same for races: does not keep the process alive on its own
const deadline = (ms) => new Promise((resolve) => setTimeout(resolve, ms).unref());

// For what never happens. What takes a second on an idle machine takes a minute on one with
// fifty busy processes per core.
const LIMIT_MS = 300000;

// Polls until check() returns something true; on time-out throws its last exception.
async function eventually(what, check, timeoutMs = LIMIT_MS) {
  const end = Date.now() + timeoutMs;
  let last;
  for (;;) {
    try {
      const value = await check();
      if (value) return value;
      last = `got ${JSON.stringify(value)}`;
    } catch (e) {
      last = e.message;
    }
    if (Date.now() > end) throw new Error(`${what}: not within ${timeoutMs} ms; last: ${last}`);
    await sleep(50);
  }
}

module.exports = { LIMIT_MS, sleep, deadline, eventually };
