// Files that somebody drops on the page or chooses: opened in the browser, and sent nowhere.

import assert from "node:assert/strict";
import * as fs from "node:fs";
import pprof from "../e2e/lib/pprof.js";
import { drawn, eventually, frame, id, open, page, pageTest, server } from "./page_harness.mjs";

const APP = "/docker/4f1d2c9ab310";
const GO = fs.readFileSync("test/data/go_cpu.pb.gz");
const HEAP = fs.readFileSync("test/data/go_heap.pb.gz");

/** Drops files, [name, content, modified], at a place of the window: 0 is left, 1 right. */
async function drop(files, at = 0.2) {
  const list = files.map(([name, data, modified]) => ({
    name,
    data: Buffer.from(data).toString("base64"),
    modified: modified ?? 1_700_000_000_000,
  }));
  const transfer = await page.evaluateHandle((list) => {
    const t = new DataTransfer();
    for (const { name, data, modified } of list) {
      const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
      t.items.add(new File([bytes], name, { lastModified: modified }));
    }
    return t;
  }, list);
  const clientX = Math.round(at * page.viewportSize().width);
  const init = { dataTransfer: transfer, clientX, clientY: 300 };
  await page.dispatchEvent("body", "dragover", init);
  await id("drop").waitFor();
  await page.dispatchEvent("body", "drop", init);
  await eventually(async () => assert.equal(await id("drop").count(), 0));
}

/** SHOTS: folder for images of what was tested. */
const shot = (name) =>
  process.env.SHOTS ? page.screenshot({ path: `${process.env.SHOTS}/${name}.png` }) : null;

const shows = (name) =>
  eventually(async () => assert.equal(await id("file-name").innerText(), name));

const rows = () =>
  page.evaluate(() =>
    [...document.querySelectorAll("[data-testid=function]")].map((r) => r.dataset.name),
  );

pageTest("a pprof that is dropped is shown in every view, and sent nowhere", {}, async () => {
  await open(`?service=${APP}&range=1h`);
  await drawn();
  const address = page.url();
  const all = [];
  await drop([["cpu.pb.gz", GO]]);
  page.on("request", (r) => all.push(r.url()));
  await shows("cpu.pb.gz");
  assert.equal(await page.title(), "cpu.pb.gz");
  const strip = await id("file-strip").innerText();
  assert.match(strip, /nothing .* is sent.*\d\d:\d\d:\d\d – .* · 1 s/s);
  const total = await frame("total");
  assert.ok(total.total > 0);
  await eventually(async () => assert.ok((await rows()).length > 5));
  // search, zoom and the way back
  await id("search").fill("runtime");
  await eventually(async () => assert.match(await id("matched").innerText(), /matched .* %/));
  const found = (await page.evaluate(() => window.__flame.frames()))
    .filter((f) => f.name.startsWith("main.") && f.w > 20)
    .sort((a, b) => b.w - a.w)[0];
  await page.mouse.click(found.x + found.w / 2, found.y + found.h / 2);
  await eventually(async () =>
    assert.equal(await page.evaluate(() => window.__flame.zoom()), found.name),
  );
  await page.keyboard.press("Escape");
  await eventually(async () => assert.equal(await id("reset-zoom").count(), 0));
  await id("search").fill("");
  // callers and callees; lines, which this file has
  await page.locator(`[data-name="${found.name}"]`).click({ button: "right" });
  await id("menu-sandwich").click();
  await page.locator(".sandwich").waitFor();
  await page.keyboard.press("Escape");
  await page.locator(`[data-name="${found.name}"]`).click({ button: "right" });
  await id("menu-lines").click();
  await eventually(async () => assert.ok((await id("line").count()) > 0));
  await page.keyboard.press("Escape");
  assert.deepEqual(all, [], "requests");
  // and back to the page as it was
  assert.equal(page.url(), address);
  await id("close-file").click();
  await id("live").waitFor();
  await drawn();
  assert.equal(page.url(), address);
});

pageTest("the start page has a key to choose a file; types are a choice", {}, async () => {
  await open("");
  await id("open-file").waitFor();
  await id("open-file-input").setInputFiles("test/data/go_heap.pb.gz");
  await shows("go_heap.pb.gz");
  await drawn();
  const before = (await frame("total")).total;
  await id("file-types").click();
  const names = await id("file-type").allInnerTexts();
  assert.equal(names.length, 4, names.join());
  await id("file-type").first().click();
  await eventually(async () => assert.notEqual((await frame("total")).total, before));
  await page.goBack();
  await id("open-file").waitFor();
  // and forward opens it again
  await page.goForward();
  await shows("go_heap.pb.gz");
  await drawn();
});

pageTest("what cannot be opened is one sentence, and the page stays", {}, async () => {
  await open(`?service=${APP}`);
  await drawn();
  await drop([["notes.txt", "Dear all,\nsee you at 10\n"]]);
  await eventually(async () =>
    assert.match(await id("file-problem").innerText(), /^notes\.txt: It is no profile in a format/),
  );
  assert.equal(await id("file-name").count(), 0);
  await drawn();
  const one = ["a.txt", "a 1\n"];
  await drop([one, one, one]);
  await eventually(async () =>
    assert.match(await id("file-problem").innerText(), /3 files: the page opens one, or two/),
  );
  await id("file-problem").getByText("Close").click();
  assert.equal(await id("file-problem").count(), 0);
});

pageTest("two files are compared, the older one is the baseline", {}, async () => {
  await open("");
  await id("open-file").waitFor();
  await drop([
    ["before.txt", "main;work 10\nmain;old 10\n", 1_700_000_000_000],
    ["after.txt", "main;work 30\nmain;fresh 10\n", 1_700_000_900_000],
  ]);
  await id("compare-bar").waitFor();
  assert.match(await id("side-a").innerText(), /after\.txt\s+40/);
  assert.match(await id("side-b").innerText(), /before\.txt\s+20/);
  const all = ["fresh", "main", "old", "work"];
  await eventually(async () => assert.deepEqual((await rows()).sort(), all));
  await id("changed-new").click();
  await eventually(async () => assert.deepEqual(await rows(), ["fresh"]));
  await id("changed-all").click();
  await id("diff-absolute").click();
  await eventually(async () =>
    assert.match(await page.locator('[data-name="work"]').innerText(), /10.*30.*\+20/s),
  );
  await id("swap").click();
  await eventually(async () => assert.match(await id("side-a").innerText(), /before\.txt/));
  await id("leave-comparison").click();
  await eventually(async () => assert.equal(await id("compare-bar").count(), 0));
  // another one on the right half is the baseline, on the left half it is opened instead
  await drop([["third.txt", "main;work 5\n"]], 0.9);
  await eventually(async () => assert.match(await id("side-b").innerText(), /third\.txt\s+5/));
  await drop([["third.txt", "main;work 5\n"]], 0.1);
  await shows("third.txt");
  assert.equal(await id("compare-bar").count(), 0);
  // bytes cannot be compared with samples
  await drop([["heap.pb.gz", HEAP]]);
  await shows("heap.pb.gz");
  await id("file-types").click();
  assert.equal(await id("file-type").count(), 4);
  await page.keyboard.press("Escape");
  await drop([["cpu.pb.gz", GO]], 0.9);
  await eventually(async () => assert.match(await id("side-b").innerText(), /cpu\.pb\.gz/));
  assert.match(await id("side-a").innerText(), /heap\.pb\.gz/);
});

pageTest("files are written in the browser, too", {}, async () => {
  await open("");
  await id("open-file").waitFor();
  await drop([["a.txt", "main;work 10\nmain;a;b;c 2\n"]]);
  await drawn();
  const saved = async (format) => {
    await id("export").click();
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      id(`export-${format}`).click(),
    ]);
    return [file.suggestedFilename(), fs.readFileSync(await file.path())];
  };
  const [name, folded] = await saved("folded");
  assert.equal(name, "a.txt.folded.txt");
  assert.equal(folded.toString(), "main;work 10\nmain;a;b;c 2\n");
  const [, svg] = await saved("svg");
  assert.match(svg.toString(), /a\.txt · samples/);
  await drop([["again.pb", (await saved("pprof"))[1]]]);
  await shows("again.pb");
  await drawn();
  assert.equal((await frame("work")).total, 10);
});

pageTest("only Store sends a file, with the key for uploads", {}, async () => {
  await open("");
  await id("open-file").waitFor();
  const sent = [];
  await page.route("**/ingest?**", async (route) => {
    const r = route.request();
    sent.push({ url: r.url(), key: r.headers()["x-api-key"], body: r.postData() });
    const good = r.headers()["x-api-key"] === "secret";
    await route.fulfill({ status: good ? 200 : 401, body: good ? "" : "a key is needed\n" });
  });
  await drop([["cart.txt", "main;work 10\n"]]);
  await shows("cart.txt");
  await id("store").click();
  assert.equal(sent.length, 0);
  await id("store-send").click();
  await eventually(async () => assert.match(await id("store-said").innerText(), /key is needed/));
  await id("store-key").fill("secret");
  await id("store-send").click();
  await eventually(async () => assert.match(await id("store-said").innerText(), /Stored as cart/));
  assert.match(sent[1].url, /ingest\?name=cart&format=folded$/);
  assert.equal(sent[1].body, "main;work 10\n");
  assert.ok(!server.requests.some((r) => r.name === "ingest"));
});

for (const [width, colorScheme] of [
  [1280, "light"],
  [390, "light"],
  [1280, "dark"],
])
  pageTest(`a file fits into ${width} px, ${colorScheme}`, {}, async () => {
    await open("", { width, height: 800, colorScheme });
    await id("open-file").waitFor();
    await drop([["a-profile-with-a-rather-long-name.pb.gz", GO]]);
    await drawn();
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= width, `${wide}`);
    await shot(`file-${width}-${colorScheme}`);
    await drop([["b.txt", "main;work 10\n", 1]], 0.9);
    await id("compare-bar").waitFor();
    const compared = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(compared <= width, `${compared}`);
    await shot(`files-${width}-${colorScheme}`);
  });

pageTest("files are compared by what they have per second, and say so", {}, async () => {
  const at = (minute) => Date.UTC(2026, 10, 20, 10, minute);
  // a quarter of an hour each, of which profiles cover all, and a minute
  const file = (end, durationMs, cores) =>
    pprof.encode({
      stacks: [{ frames: ["work", "main"], value: Math.round(cores * durationMs * 1e6) }],
      ...{ endMs: at(end), durationMs },
      comments: [
        "/docker/app",
        `range ${new Date(at(end - 15)).toISOString()}/${new Date(at(end)).toISOString()}`,
      ],
    });
  await open("");
  await drop([
    ["now.pb", file(15, 900_000, 1.22)],
    ["before.pb", file(0, 60_000, 1)],
  ]);
  await shows("now.pb");
  assert.equal(await id("total-change").innerText(), "+22 %");
  assert.match(
    await id("little-base").innerText(),
    /Only 60 s of 15 min of the baseline .*multiplied by 15\.0\./,
  );
  assert.doesNotMatch(await id("side-b").innerText(), /values/);
  assert.match(await id("side-a").innerText(), / in \d+ (s|min)/);
  await id("diff-absolute").click();
  assert.match(await id("side-b").innerText(), /values × 15\.0/);
  assert.match(await id("diff-legend").getAttribute("title"), /^Baseline × 15\.0: as if it were/);
  await eventually(async () =>
    assert.match(await id("function").first().innerText(), /15\.0 min\s+18\.3 min\s+\+3\.3 min/),
  );
});
