"use strict";

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
// the same for races: nobody waits for it when it is the only thing left
const deadline = (ms) => new Promise((resolve) => setTimeout(resolve, ms).unref());

// For what never comes. What takes a second on an idle machine takes a minute on one with fifty busy processes per core.
const LIMIT_MS = 300000;

// Asks again until check() returns something true; the last exception says why it never did.
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
