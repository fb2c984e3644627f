// The heatmap of the timeline: rows of instances or values of a label, and the flame graph of some.

import assert from "node:assert/strict";
import { drawn, eventually, id, open, page, pageTest, query, server } from "./page_harness.mjs";

const APP = "/docker/4f1d2c9ab310";
const last = (name) => server.requests.filter((r) => r.name === name).at(-1)?.params;

async function plot() {
  const box = await id("heat-plot").boundingBox();
  return (x, y) => [box.x + box.width * x, box.y + box.height * y];
}
async function drag(a, b) {
  await page.mouse.move(...a);
  await page.mouse.down();
  await page.mouse.move(...b, { steps: 4 });
  await page.mouse.up();
}

pageTest("a rectangle is the flame graph of its rows and its time", { replicas: 8 }, async () => {
  await open(`?service=${APP}&range=1h`);
  await drawn();
  await id("chart-heat").click();
  await id("heat-plot").waitFor();
  assert.equal(query().get("chart"), "heat");
  assert.equal(await id("timeline").count(), 0);
  assert.match(await id("heat-legend").innerText(), /8 instances · columns of/);
  assert.match(await id("heat-limit").innerText(), /not finer, as a profile stands for 60 s/);
  const all = await id("status").innerText();

  const at = await plot();
  await page.mouse.move(...at(0.3, 0.01));
  await eventually(async () =>
    assert.match(await id("heat-reading").innerText(), /\d\d:\d\d.* {2}\S.+ {2}\S+ cores?$/),
  );
  // rows 2 and 3 of 8, from 25 % to 50 % of the hour
  await drag(at(0.25, 1.5 / 8), at(0.5, 2.5 / 8));
  await eventually(() => assert.match(query().get("where") ?? "", /^instance=~"[^|]+\|[^|]+"$/));
  const [from, to] = query().get("select").split("-").map(Number);
  // the page was live until then
  const asked = last("heatmap");
  const hour = asked.to - asked.from;
  assert.ok(Math.abs(from - asked.from - hour / 4) <= 120_000, `${from} of ${asked.from}`);
  assert.ok(Math.abs(to - asked.from - hour / 2) <= 120_000, `${to} of ${asked.from}`);
  await eventually(() => {
    const flame = last("flamegraph");
    assert.deepEqual([flame.from, flame.to, flame.where], [from, to, query().get("where")]);
  });
  await drawn();
  assert.notEqual(await id("status").innerText(), all);
  // all rows stay, and the picked ones are the strong ones
  assert.equal(last("heatmap").where, undefined);
  assert.match(await id("heat-legend").innerText(), /8 instances/);

  await page.goBack();
  await eventually(() => assert.equal(query().get("where"), null));
  await page.goForward();
  await id("heat-drop").click();
  const picked = () => [query().get("where"), query().get("select")];
  await eventually(() => assert.deepEqual(picked(), [null, null]));
  // one row is an instance
  const again = await plot();
  await drag(again(0.1, 0.5 / 8), again(0.9, 0.5 / 8));
  await eventually(() => assert.ok(query().get("instance")));
  assert.equal(query().get("where"), null);
});

pageTest("rows of a label, by keys alone, and lines again", {}, async () => {
  await open(`?service=${APP}&range=1h&chart=heat&by=version`);
  await id("heat-plot").focus();
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("Shift+ArrowLeft");
  await page.keyboard.press("Shift+ArrowLeft");
  await eventually(async () => assert.ok(await id("heat-reading").innerText()));
  await page.keyboard.press("Enter");
  await eventually(() => assert.match(query().get("where") ?? "", /^version="/));
  const [from, to] = query().get("select").split("-").map(Number);
  assert.ok(to - from >= 120_000 && to - from <= 240_000, `${to - from}`);
  await id("chart-heat").click();
  await id("timeline").waitFor();
  assert.equal(query().get("chart"), null);
});

pageTest("it fits a phone, and says that it cannot be loaded", {}, async () => {
  await open(`?service=${APP}&chart=heat`, { width: 390, height: 844, touch: true });
  await page.getByRole("button", { name: "Timeline" }).click();
  await id("heat-plot").waitFor();
  const box = await id("heat-plot").boundingBox();
  assert.ok(box.width > 200 && box.x + box.width <= 390, JSON.stringify(box));
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(wide <= 0, `${wide} px wider than the phone`);
});
