// CPU time of a page's main thread between two marks of in_page.js, from the browser's own trace.
// Other programs of a busy machine do not count, except by what they take of the caches.

const categories = ["-*", "blink.user_timing", "devtools.timeline"];

/** { result of run(), events }: what the browser traced meanwhile, in the order of time. */
export async function traced(browser, page, run) {
  await browser.startTracing(page, { categories });
  let result;
  let text;
  try {
    result = await run();
  } finally {
    text = await browser.stopTracing();
  }
  const events = JSON.parse(text).traceEvents.filter((e) => e.tts !== undefined);
  return { result, events: events.sort((a, b) => a.ts - b.ts) };
}

const ms = (from, to) => (to.tts - from.tts) / 1000;

/** Milliseconds of each span from "bench-begin" to "bench-end". */
export function spans(events) {
  const out = [];
  let begin = null;
  for (const e of events) {
    if (e.name === "bench-begin") begin = e;
    if (e.name !== "bench-end" || !begin) continue;
    out.push(ms(begin, e));
    begin = null;
  }
  return out;
}

/** Milliseconds from the end of the answer of this path to "bench-end". */
export function sinceAnswer(events, path) {
  const asked = events.find(
    (e) => e.name === "ResourceSendRequest" && new URL(e.args.data.url).pathname === path,
  );
  const id = asked.args.data.requestId;
  const arrived = events.find(
    (e) => e.name === "ResourceFinish" && e.args.data.requestId === id,
  );
  return ms(arrived, events.findLast((e) => e.name === "bench-end"));
}
