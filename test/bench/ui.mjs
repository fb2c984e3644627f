// "make bench-ui": the page with a large profile, beside speedscope and d3-flame-graph with the
// same one, in one headless Chromium, one after the other, as a Markdown table.
//   ui.mjs DIST DEPS    DIST: the built page; DEPS: the folder with npm's packages (test/bench/ui)
// NODES and ROUNDS change how large the profile is and how often each page is opened; SUBJECTS=2
// measures only the first two.

import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { fileURLToPath } from "node:url";
import { openBrowser } from "../page/page_browser.mjs";
import { subjects, viewport } from "./ui/subjects.mjs";
import { serveSubjects } from "./ui/ui_server.mjs";
import { sinceAnswer, spans, traced } from "./ui/ui_trace.mjs";

const [dist, deps] = process.argv.slice(2);
const size = Number(process.env.NODES ?? 100_000);
const rounds = Number(process.env.ROUNDS ?? 5);
const compared = subjects.slice(0, Number(process.env.SUBJECTS ?? subjects.length));
const here = path.dirname(fileURLToPath(import.meta.url));
const inPage = fs.readFileSync(path.join(here, "ui/in_page.js"), "utf8");
const searches = ["cache", "verify", "/join|queue/", "LeaseGrant", "example.com/shop/store"];

const rank = (values, share) => {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
};
const median = (values) => rank(values, 0.5);

async function openSubject(browser, url, subject) {
  const page = await browser.newPage({ viewport });
  page.setDefaultTimeout(600_000);
  page.on("pageerror", (e) => console.error(`${subject.name}: ${e.message}`));
  await page.addInitScript(inPage);
  const isDrawn = `(${subject.isDrawn})`;
  const answer = JSON.stringify(subject.data);
  const { result: ms, events } = await traced(browser, page, async () => {
    await page.goto(url + subject.path, { waitUntil: "commit" });
    return page.evaluate(`window.bench.firstDraw(${answer}, ${isDrawn})`);
  });
  return { page, ms, cpu: sinceAnswer(events, subject.data) };
}

async function heapBytes(page) {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("HeapProfiler.collectGarbage");
  const { usedSize, backingStorageSize } = await cdp.send("Runtime.getHeapUsage");
  return usedSize + backingStorageSize; // the latter: typed arrays
}

async function measure(browser, url, subject) {
  const draws = [];
  const drawsCpu = [];
  const slow = () => draws.length > 0 && draws[draws.length - 1] > 5000;
  let page;
  for (let i = 0; i < rounds && !slow(); i++) {
    await page?.close();
    const opened = await openSubject(browser, url, subject);
    page = opened.page;
    draws.push(opened.ms);
    drawsCpu.push(opened.cpu);
  }
  const bytes = await page.evaluate((path) => window.bench.transferred(path), subject.data);
  const heap = await heapBytes(page);
  const inFrames = async ({ run, args }) => {
    const { result, events } = await traced(browser, page, () => page.evaluate(run, args));
    return { ...result, cpu: spans(events) };
  };
  const hover = await inFrames(subject.hover);
  const zoom = await inFrames(subject.zoom);
  const search = [];
  const searchCpu = [];
  for (const text of searches.slice(0, slow() ? 2 : undefined)) {
    const { result, events } = await traced(browser, page, () =>
      page.evaluate(subject.search, text),
    );
    search.push(result);
    searchCpu.push(spans(events).at(-1)); // before it the field is emptied
  }
  await page.close();
  return { draws, drawsCpu, bytes, heap, hover, zoom, search, searchCpu };
}

const ms = (v) => (v < 10 ? v.toFixed(1) : v.toFixed(0));
const kb = (v) => `${(v / 1024).toFixed(0)} KB`;
const mb = (v) => `${(v / 1048576).toFixed(0)} MB`;
const over = ({ work }) => `${work.filter((v) => v > 1000 / 60).length} of ${work.length}`;
const missed = (f) => `${f.missed} of ${f.work.length}`;

// [what, target, the figure, how it is written]; those with a figure get ratios
const rows = [
  ["first draw after the data arrived, ms", "< 100", (m) => median(m.draws), ms],
  ["first draw: the shortest, ms", "", (m) => Math.min(...m.draws), ms],
  ["first draw: CPU time, ms", "< 100", (m) => median(m.drawsCpu), ms],
  ["zoom: work per frame, p50, ms", "", (m) => median(m.zoom.work), ms],
  ["zoom: work per frame, p95, ms", "< 16.7", (m) => rank(m.zoom.work, 0.95), ms],
  ["zoom: CPU time per frame, p95, ms", "< 16.7", (m) => rank(m.zoom.cpu, 0.95), ms],
  ["zoom: longest frame, ms", "", (m) => Math.max(...m.zoom.work), ms],
  ["zoom: frames over 16.7 ms", "0", null, (m) => over(m.zoom)],
  ["zoom: frames missed", "", null, (m) => missed(m.zoom)],
  ["hover: work per frame, p50, ms", "", (m) => median(m.hover.work), ms],
  ["hover: work per frame, p95, ms", "< 16.7", (m) => rank(m.hover.work, 0.95), ms],
  ["hover: CPU time per frame, p95, ms", "< 16.7", (m) => rank(m.hover.cpu, 0.95), ms],
  ["hover: frames over 16.7 ms", "0", null, (m) => over(m.hover)],
  ["hover: frames missed", "", null, (m) => missed(m.hover)],
  ["search until it is drawn, ms", "< 50", (m) => median(m.search), ms],
  ["search: CPU time, ms", "< 50", (m) => median(m.searchCpu), ms],
  ["JavaScript heap", "", (m) => m.heap, mb],
  ["page, compressed", "< 150 KB", (m) => m.bytes.page, kb],
  ["profile, compressed", "", (m) => m.bytes.profile, kb],
];

function print(measured, { nodes, stacks }) {
  const [cpu] = os.cpus();
  const load = os.loadavg()[0].toFixed(0);
  console.log(
    `${nodes.toLocaleString("en")} nodes, ${stacks.toLocaleString("en")} stacks; ` +
      `${os.cpus().length} × ${cpu.model}, load ${load}\n`,
  );
  console.log(`| | target | ${compared.map((s) => s.name).join(" | ")} |`);
  console.log(`|${"---|".repeat(compared.length + 2)}`);
  for (const [what, target, figure, text] of rows) {
    const cells = measured.map((m, i) => {
      if (!figure) return text(m);
      const ratio = figure(m) / figure(measured[0]);
      const times = ratio < 10 ? ratio.toFixed(1) : ratio.toFixed(0);
      return i === 0 ? text(figure(m)) : `${text(figure(m))} (${times} ×)`;
    });
    console.log(`| ${what} | ${target} | ${cells.join(" | ")} |`);
  }
}

const server = await serveSubjects(dist, deps, size);
// WebGL in software, as there is no other on a server
const browser = await openBrowser(["--enable-unsafe-swiftshader"]);
try {
  const measured = [];
  for (const s of compared) measured.push(await measure(browser, server.url, s));
  print(measured, server);
} finally {
  await browser.close();
  await server.close();
}
