// What bench-ui does inside each page: window.bench. Runs before the page's own scripts.
//
// A frame costs what the main thread does for it: the handlers of the event, then everything from
// the first animation callback to the end of painting. That is measured and not the time between
// two frames, because that is 16.7 ms at best and has the scheduler's noise. A frame that came too
// late for any other reason (drawing threads, software WebGL) shows as a missed one.
//
// On a busy machine most of that time may belong to other programs. So begin and end are marks in
// the browser's trace as well, which has the main thread's CPU time of each (ui_trace.mjs).
"use strict";

(() => {
  const MISSED_MS = 25; // one frame and a half
  const behind = () =>
    new Promise((done) => {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = done;
      port2.postMessage(0);
    });
  const frame = () => new Promise(requestAnimationFrame);

  // Calls of WebGL that draw: a page of which only the canvas says that it has drawn.
  let draws = 0;
  for (const name of ["drawArrays", "drawElements"]) {
    const own = WebGLRenderingContext.prototype[name];
    WebGLRenderingContext.prototype[name] = function (...args) {
      draws++;
      return own.apply(this, args);
    };
  }

  const isFrom = (path) => (e) => new URL(e.name).pathname === path;
  const arrivedAt = (path) => {
    const all = performance.getEntriesByType("resource").filter(isFrom(path));
    return all.length > 0 && all[0].responseEnd > 0 ? all[0].responseEnd : 0;
  };

  /** Milliseconds from the end of the answer of this path to the end of the first frame in which
   * `isDrawn`. */
  async function firstDraw(path, isDrawn) {
    for (;;) {
      await frame();
      const arrived = arrivedAt(path);
      if (!arrived || !isDrawn()) continue;
      await behind();
      performance.mark("bench-end");
      return performance.now() - arrived;
    }
  }

  /** One step per frame; { work: ms of each, missed }. */
  async function frames(n, step) {
    const work = [];
    let missed = 0;
    let last = 0;
    await frame();
    for (let i = 0; i < n; i++) {
      const painted = new Promise((done) =>
        requestAnimationFrame(() => {
          const begin = performance.now();
          if (last && begin - last > MISSED_MS) missed++;
          last = begin;
          behind().then(() => done(performance.now() - begin));
        }),
      );
      const begin = performance.now();
      performance.mark("bench-begin");
      step(i);
      for (let k = 0; k < 8; k++) await null; // what the page does in microtasks
      const handlers = performance.now() - begin;
      work.push(handlers + (await painted));
      performance.mark("bench-end");
    }
    return { work, missed };
  }

  const usual = { bubbles: true, cancelable: true };
  const init = (x, y, more) => ({ ...usual, clientX: x, clientY: y, ...more });
  let over = null;
  /** The mouse moves to a point of the window. */
  function moveTo(x, y) {
    const el = document.elementFromPoint(x, y);
    if (!el) return;
    if (el !== over) {
      over?.dispatchEvent(new MouseEvent("mouseout", init(x, y)));
      el.dispatchEvent(new MouseEvent("mouseover", init(x, y)));
      over = el;
    }
    el.dispatchEvent(new PointerEvent("pointermove", init(x, y, { pointerType: "mouse" })));
    el.dispatchEvent(new MouseEvent("mousemove", init(x, y)));
  }
  const clickAt = (x, y) =>
    document.elementFromPoint(x, y)?.dispatchEvent(new MouseEvent("click", init(x, y)));
  const wheelAt = (x, y, deltaY) =>
    document
      .elementFromPoint(x, y)
      ?.dispatchEvent(new WheelEvent("wheel", init(x, y, { deltaY, ctrlKey: true })));

  /** Types a text; milliseconds until the end of the first frame in which `isShown`. */
  async function typed(input, text, isShown) {
    const begin = performance.now();
    performance.mark("bench-begin");
    Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set.call(input, text);
    input.dispatchEvent(new Event("input", { bubbles: true }));
    do await frame();
    while (!isShown());
    await behind();
    performance.mark("bench-end");
    return performance.now() - begin;
  }

  /** Compressed bytes of everything that was loaded, and of it the profile. */
  function transferred(path) {
    const all = [
      ...performance.getEntriesByType("navigation"),
      ...performance.getEntriesByType("resource"),
    ];
    const sum = (list) => list.reduce((bytes, e) => bytes + e.encodedBodySize, 0);
    const profile = all.filter(isFrom(path)).slice(0, 1);
    const data = all.filter((e) => isFrom(path)(e) || e.name.includes("/api/"));
    return { page: sum(all) - sum(data), profile: sum(profile) };
  }

  window.bench = {
    firstDraw,
    frames,
    moveTo,
    clickAt,
    wheelAt,
    typed,
    transferred,
    behind,
    frame,
    draws: () => draws,
  };
})();
