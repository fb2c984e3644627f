"use strict";

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
// the same for races: nobody waits for it when it is the only thing left
const deadline = (ms) => new Promise((resolve) => setTimeout(resolve, ms).unref());

// Asks again until check() returns something true; the last exception says why it never did. The limit is for what
// never comes: a machine may stand still for seconds.
async function eventually(what, check, timeoutMs = 60000) {
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

module.exports = { sleep, deadline, eventually };
