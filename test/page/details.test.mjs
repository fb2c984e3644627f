// The pane with the details of the selected function, in a browser.

import assert from "node:assert/strict";
import {
  drawn,
  eventually,
  fixture,
  frame,
  id,
  open,
  page,
  pageTest,
  query,
  server,
} from "./page_harness.mjs";

const APP = "/docker/4f1d2c9ab310";
const heading = () => id("details").getByRole("heading", { level: 2 });
const list = (title) => id("details").getByRole("region", { name: title }).locator("li");
const shows = (name) =>
  eventually(async () => assert.equal(await heading().getAttribute("title"), name));

pageTest("a frame that is selected says who calls it and what it calls", {}, async () => {
  await open(`?service=${APP}`);
  const main = await frame("main.main");
  await page.mouse.click(main.cx, main.cy);
  await shows("main.main");
  await eventually(async () => assert.ok((await list("Callers").count()) > 0));
  const figures = await id("details-figures").innerText();
  assert.match(figures, /total [\d.]+ (s|min|h) [\d.]+ % · self/);
  await eventually(async () => assert.ok((await list("Lines").count()) > 0));
  // the way on: the largest of those that it calls is marked where it is
  const next = await list("Calls").first().getAttribute("title");
  await list("Calls").first().getByRole("button").click();
  await shows(next.split("\n")[0]);
  await eventually(() => assert.match(query().get("search"), /^".+"$/));
  // the address has it
  await page.reload();
  await shows(next.split("\n")[0]);
  // the trend is asked for in parts, one at a time
  await eventually(() => {
    const parts = server.requests.filter((r) => r.name === "matches");
    assert.ok(parts.filter((r) => r.ended).length >= 12);
    const { from, to, byShare } = parts[0].params;
    assert.equal(to - from, 75_000);
    // whole, a profile of a minute would count in two parts or three
    assert.equal(byShare, "1");
  });
  await eventually(async () => {
    const last = server.requests.filter((r) => r.name === "matches").at(-1);
    const { rate } = fixture.matches(last.params);
    const shown = /([\d.]+) (m?)cores?, \d\d:\d\d – \d\d:\d\d/.exec(
      await id("details").getByRole("region", { name: "Trend" }).innerText(),
    );
    assert.ok(Math.abs((Number(shown[1]) * (shown[2] ? 1e6 : 1e9)) / rate - 1) < 0.05, shown[0]);
  });
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  await eventually(async () => assert.equal(await id("details").count(), 0));
});

pageTest("by keys: D opens, goes there, and closes; closed is remembered", {}, async () => {
  await open(`?service=${APP}`);
  await drawn();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("d");
  await shows("compile");
  await eventually(async () =>
    assert.ok(await id("details").evaluate((e) => e === document.activeElement)),
  );
  await page.keyboard.press("Tab");
  await eventually(async () =>
    assert.ok(await id("details-sandwich").evaluate((e) => e === document.activeElement)),
  );
  await page.keyboard.press("d");
  await eventually(async () => assert.equal(await id("details").count(), 0));
  const python = await frame("python3");
  await page.mouse.click(python.cx, python.cy);
  await id("reset-zoom").waitFor();
  assert.equal(await id("details").count(), 0);
  await page.reload();
  await id("reset-zoom").waitFor();
  await drawn();
  assert.equal(await id("details").count(), 0);
  const again = await frame("python3");
  await page.mouse.click(again.cx, again.cy, { button: "right" });
  await id("menu-details").click();
  await shows("python3");
  await id("details-close").click();
  await eventually(async () => assert.equal(await id("details").count(), 0));
});

pageTest("on a phone the details are a sheet that is asked for", {}, async () => {
  await open(`?service=${APP}`, { width: 390, height: 844, touch: true });
  const python = await frame("python3");
  await page.touchscreen.tap(python.cx, python.cy);
  await id("touch-details").tap();
  await shows("python3");
  const box = await id("details").boundingBox();
  assert.ok(box.x === 0 && box.width === 390, JSON.stringify(box));
  assert.ok(Math.round(box.y + box.height) === 844, JSON.stringify(box));
  await id("details-close").tap();
  await eventually(async () => assert.equal(await id("details").count(), 0));
});

pageTest("a rise of the curve is marked, and a click compares it", {}, async () => {
  await open(`?service=${APP}`);
  await drawn();
  await eventually(async () => assert.match(await id("rise").innerText(), /▲ \+\d+ %/));
  await id("rise").click();
  await id("compare-bar").waitFor();
  await eventually(() => assert.equal(query().get("base"), "previous"));
  await eventually(() => assert.match(query().get("select"), /^\d+-\d+$/));
  assert.equal(await id("rise").count(), 0);
});

const newer = { newer: 1.3 };
pageTest("a line has its part of what the graph says, whatever came since", newer, async () => {
  await open(`?service=${APP}`);
  const main = await frame("main.main");
  await page.mouse.click(main.cx, main.cy);
  await shows("main.main");
  await eventually(async () => assert.ok((await list("Lines").count()) > 0));
  const total = parseFloat(/([\d.]+) % · self/.exec(await id("details-figures").innerText())[1]);
  const texts = await list("Lines").allInnerTexts();
  const lines = texts.map((t) => parseFloat(/([\d.]+) %/.exec(t)[1]));
  assert.ok(Math.max(...lines) <= total + 0.05, `${lines} of ${total}`);
  // of the range that the graph is of
  const graph = server.requests.filter((r) => r.name === "flamegraph").at(-1).params;
  const view = server.requests.filter((r) => r.name === "function").at(-1).params;
  assert.deepEqual([view.from, view.to], [graph.from, graph.to]);
});

const late = { completeTo: Date.now() - 120_000 };
pageTest("the trend ends where agents have yet to send what is newer", late, async () => {
  await open(`?service=${APP}`);
  const main = await frame("main.main");
  await page.mouse.click(main.cx, main.cy);
  await shows("main.main");
  await eventually(() => {
    const parts = server.requests.filter((r) => r.name === "matches" && r.ended);
    assert.ok(parts.length >= 12);
    const last = Math.max(...parts.map((r) => r.params.to));
    const open = late.completeTo - last;
    assert.ok(open >= 0 && open < 75_000, `${open}`);
  });
});
