// Images, files and links that are taken along.

import assert from "node:assert/strict";
import * as fs from "node:fs";
import { drawn, eventually, fixture, frame, id, open, page, pageTest } from "./page_harness.mjs";

const APP = "/docker/4f1d2c9ab310";

/** What the menu item saves. */
async function saved(testId) {
  await id("export").click();
  const [file] = await Promise.all([page.waitForEvent("download"), id(testId).click()]);
  return { name: file.suggestedFilename(), data: fs.readFileSync(await file.path()) };
}

/** The SVG as a browser reads it on its own. */
const parsed = (text) =>
  page.evaluate((svg) => {
    const doc = new DOMParser().parseFromString(svg, "image/svg+xml");
    const texts = (selector) => [...doc.querySelectorAll(selector)].map((e) => e.textContent);
    return {
      error: doc.querySelector("parsererror")?.textContent ?? "",
      labels: texts("text"),
      titles: texts("g title"),
      fills: [...doc.querySelectorAll("rect")].map((e) => e.getAttribute("fill")),
      elements: [...new Set([...doc.querySelectorAll("*")].map((e) => e.localName))].sort(),
      height: Number(doc.documentElement.getAttribute("height")),
    };
  }, text);

pageTest("an SVG shows zoom and search as they are seen, and can be read alone", {}, async () => {
  await open(`?service=${APP}&search=malloc`, { width: 1280, height: 480 });
  const compile = await frame("compile");
  await page.mouse.click(compile.cx, compile.cy);
  await eventually(async () =>
    assert.equal(await page.evaluate(() => window.__flame.zoom()), "compile"),
  );
  const frames = await page.evaluate(() => window.__flame.frames());
  const { name, data } = await saved("export-svg");
  assert.match(name, /^4f1d2c9ab310-profile_cpu-\d{8}-\d{4}\.svg$/);
  const svg = await parsed(data.toString("utf8"));
  assert.equal(svg.error, "");
  assert.match(svg.labels[0], /\/docker\/4f1d2c9ab310 · go:profile_cpu.*search: malloc.*compile/);
  assert.ok(svg.labels.includes("runtime.main"), "frames have their names");
  for (const f of frames)
    assert.ok(
      svg.titles.some((t) => t.startsWith(`${f.name}\n`)),
      `title of ${f.name}`,
    );
  const python = svg.titles.filter((t) => t.startsWith("python3\n"));
  assert.equal(python.length, 0, "what the zoom hides is not in the image");
  const rows = Math.max(...frames.map((f) => f.depth)) + 1;
  assert.ok(svg.height >= rows * 19, "rows that are scrolled away are in the image");
  assert.deepEqual(svg.elements, ["defs", "g", "path", "pattern", "rect", "svg", "text", "title"]);
});

pageTest("names cannot break out of an SVG", {}, async () => {
  const flamegraph = fixture.flamegraph;
  const evil = ['</text><script>alert(1)</script>"', "a\u0001b\ud800c & <d>", "]]>&lt;"];
  fixture.flamegraph = (p) => {
    const answer = flamegraph(p);
    evil.forEach((e, i) => (answer.names[1 + i] = `${e} ${answer.names[1 + i]}`));
    return answer;
  };
  await open(`?service=${APP}`);
  await drawn();
  const svg = await parsed((await saved("export-svg")).data.toString("utf8"));
  assert.equal(svg.error, "");
  assert.ok(svg.titles.some((t) => t.startsWith(evil[0])));
  assert.ok(svg.titles.some((t) => t.startsWith("a\ufffdb\ufffdc & <d>")));
  assert.ok(!svg.elements.includes("script"));
});

pageTest("a PNG has all rows of the graph", {}, async () => {
  await open(`?service=${APP}`, { width: 1024, height: 480, colorScheme: "dark" });
  await drawn();
  const rows = await page.evaluate(() => document.querySelector(".flame-scroll").scrollHeight);
  const { name, data } = await saved("export-png");
  assert.match(name, /\.png$/);
  assert.equal(data.subarray(1, 4).toString(), "PNG");
  const [width, height] = [data.readUInt32BE(16), data.readUInt32BE(20)];
  const canvas = await id("flame").boundingBox();
  assert.equal(width, Math.round(canvas.width));
  assert.ok(height >= rows, `${height} ${rows}`);
  await id("view-table").click();
  await id("export").click();
  assert.ok(await id("export-png").isDisabled(), "nothing is drawn");
});

pageTest("files come from the server, of the whole selection", {}, async () => {
  const some = `instance=4f1d2c9ab310 · node-b&where=version%3D"1.5.0"`;
  await open(`?service=${APP}&${some}&base=previous`);
  await drawn();
  await id("export").click();
  for (const format of ["pprof", "folded", "speedscope"]) {
    const href = await id(`export-${format}`).getAttribute("href");
    const params = new URLSearchParams(href.slice(href.indexOf("?")));
    assert.ok(href.startsWith(`api/${format}?`));
    assert.equal(params.get("service"), APP);
    assert.equal(params.get("type"), "go:profile_cpu:nanoseconds");
    assert.equal(params.get("instance"), "4f1d2c9ab310 · node-b");
    assert.equal(params.get("where"), 'version="1.5.0"');
    assert.equal(Number(params.get("to")) - Number(params.get("from")), 900_000);
    assert.equal(Number(params.get("from")) - Number(params.get("baseTo")), 0);
  }
  await page.close();
  await open(`?service=${APP}`);
  await drawn();
  const folded = (await saved("export-folded")).data.toString("utf8").trim().split("\n");
  const sum = folded.reduce((s, l) => s + Number(l.slice(l.lastIndexOf(" ") + 1)), 0);
  assert.equal(sum, (await frame("total")).total);
});

pageTest("a link and the command for pprof are copied, with fixed times", {}, async () => {
  await open(`?service=${APP}&search=gc&range=1h`);
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await drawn();
  const copied = async (testId) => {
    await id(testId).click();
    await eventually(async () => assert.match(await id(testId).innerText(), /copied/));
    return page.evaluate(() => navigator.clipboard.readText());
  };
  // one click, and the range on show is fixed
  await id("header-link").click();
  await eventually(async () => assert.match(await id("link-said").innerText(), /copied/));
  const short = new URL(await page.evaluate(() => navigator.clipboard.readText()));
  assert.ok(short.searchParams.get("zone"));
  assert.match(short.searchParams.get("range"), /^\d{13}-\d{13}$/);
  assert.equal(new URL(page.url()).searchParams.get("range"), "1h", "the page stays live");
  await id("export").click();
  const link = new URL(await copied("copy-link"));
  assert.equal(link.searchParams.get("search"), "gc");
  const [from, to] = link.searchParams.get("range").split("-").map(Number);
  assert.equal(to - from, 3_600_000);
  assert.ok(Math.abs(Date.now() - to) < 600_000);
  const command = await copied("copy-pprof");
  assert.match(command, /^go tool pprof 'http:\/\/127\.0\.0\.1:\d+\/api\/pprof\?service=[^']*'$/);
  assert.match(command, /&from=\d{13}&to=\d{13}/);
  await page.goto(link.href);
  await drawn();
  await eventually(async () => assert.equal(await id("live").count(), 0));
});
