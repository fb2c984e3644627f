// The programs that bench-ui compares: how each is opened, and how a user zooms, points and
// searches in it. What is a function here runs inside the page and sees only window.bench
// (in_page.js).

const WIDTH = 1440;
const HEIGHT = 900;
export const viewport = { width: WIDTH, height: HEIGHT };

// where the mouse goes: over the upper rows of a graph, which are full of frames
const hoverOver = ({ left, top, right, bottom, n }) =>
  window.bench.frames(n, (i) => {
    const x = left + ((i * 97) % 400) * ((right - left) / 400);
    window.bench.moveTo(x, top + ((i * 31) % 100) * ((bottom - top) / 100));
  });

const ours = {
  name: "our page",
  path: "?service=/docker/4f1d2c9ab310",
  data: "/api/flamegraph",
  isDrawn: () => window.__flame !== undefined,
  // a click zooms at once, Escape leads out again
  zoom: {
    args: { n: 80 },
    run: ({ n }) => {
      const wide = window.__flame.frames().filter((f) => f.w > 60 && f.depth > 1 && f.depth < 14);
      const canvas = document.querySelector('[data-testid="flame"]');
      return window.bench.frames(n, (i) => {
        const f = wide[(i * 7) % wide.length];
        if (i % 2 === 0) return window.bench.clickAt(f.x + f.w / 2, f.y + f.h / 2);
        const escape = { key: "Escape", bubbles: true, cancelable: true };
        return canvas.dispatchEvent(new KeyboardEvent("keydown", escape));
      });
    },
  },
  hover: { args: { left: 450, top: 195, right: 1420, bottom: 600, n: 300 }, run: hoverOver },
  search: async (text) => {
    const matched = () => document.querySelector('[data-testid="matched"]')?.textContent ?? "";
    const input = document.querySelector('[data-testid="search"]');
    await window.bench.typed(input, "", () => matched() === "");
    return window.bench.typed(input, text, () => matched() !== "");
  },
};

const speedscope = {
  name: "speedscope",
  path: "speedscope/#profileURL=../data/speedscope.json&view=left-heavy",
  data: "/data/speedscope.json",
  isDrawn: () => document.title !== "speedscope" && window.bench.draws() > 0,
  // the wheel zooms, around the mouse
  zoom: {
    args: { n: 80 },
    run: ({ n }) =>
      window.bench.frames(n, (i) => window.bench.wheelAt(900, 300, i % 20 < 10 ? -4 : 4)),
  },
  hover: { args: { left: 10, top: 145, right: 1430, bottom: 600, n: 300 }, run: hoverOver },
  search: async (text) => {
    const open = { key: "f", ctrlKey: true, bubbles: true, cancelable: true };
    if (!document.querySelector("input")) {
      window.dispatchEvent(new KeyboardEvent("keydown", open));
      while (!document.querySelector("input")) await window.bench.frame();
    }
    const input = document.querySelector("input");
    const found = () => /[\d?]\/\d/.test(input.parentElement.parentElement.textContent);
    await window.bench.typed(input, "", () => true);
    return window.bench.typed(input, text, found);
  },
};

const d3 = (name, min, zooms, hovers) => ({
  name,
  path: `d3/?min=${min}`,
  data: "/data/d3.json",
  isDrawn: () => document.querySelector("g.frame") !== null,
  // a click starts a movement of 750 ms; a click on the total leads out again
  zoom: {
    args: { zooms, each: 45 },
    run: ({ zooms, each }) => {
      const wide = [...document.querySelectorAll("g.frame")].filter((g) => {
        const box = g.getBoundingClientRect();
        return box.width > 60 && box.width < 900;
      });
      const total = document.querySelector("g.frame");
      return window.bench.frames(zooms * each, (i) => {
        if (i % each !== 0) return;
        const g = (i / each) % 2 === 0 ? wide[((i / each) * 7) % wide.length] : total;
        g.dispatchEvent(new MouseEvent("click", { bubbles: true }));
      });
    },
  },
  hover: { args: { left: 10, top: 10, right: 1400, bottom: 400, n: hovers }, run: hoverOver },
  search: async (text) => {
    window.chart.clear();
    await window.bench.frame();
    const begin = performance.now();
    performance.mark("bench-begin");
    window.chart.search(text.replaceAll("/", ""));
    await window.bench.frame();
    await window.bench.behind();
    performance.mark("bench-end");
    return performance.now() - begin;
  },
});

export const subjects = [
  ours,
  speedscope,
  d3("d3-flame-graph, frames of 1 px", 1, 6, 300),
  d3("d3-flame-graph, all frames", 0, 1, 20),
];
