"use strict";

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
// the same for races: does not keep the process alive on its own
const deadline = (ms) => new Promise((resolve) => setTimeout(resolve, ms).unref());

// For what never happens. What takes a second on an idle machine takes a minute on one with
// fifty busy processes per core.
const LIMIT_MS = 300000;

// Polls until check() throws nothing, and returns what it returns; at the end of the time it throws
// what that threw last.
async function retried(check, timeoutMs = LIMIT_MS) {
  const end = Date.now() + timeoutMs;
  for (;;) {
    try {
      return await check();
    } catch (e) {
      if (Date.now() > end) throw e;
    }
    await sleep(50);
  }
}

// Polls until check() returns something true.
async function eventually(what, check, timeoutMs = LIMIT_MS) {
  const isTrue = async () => {
    const value = await check();
    if (!value) throw new Error(`got ${JSON.stringify(value)}`);
    return value;
  };
  try {
    return await retried(isTrue, timeoutMs);
  } catch (e) {
    throw new Error(`${what}: not within ${timeoutMs} ms; last: ${e.message}`);
  }
}

// Repeats step() with pauses of `ms`; the returned function ends that, once the last one is done.
// So does the end of the test.
function repeated(t, ms, step) {
  let go = true;
  t.after(() => (go = false));
  const done = (async () => {
    while (go) {
      await step();
      await sleep(ms);
    }
  })();
  return () => {
    go = false;
    return done;
  };
}

module.exports = { LIMIT_MS, sleep, deadline, retried, eventually, repeated };
