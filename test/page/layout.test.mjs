// How the page fits into a window: phones, tablets, long names.

import assert from "node:assert/strict";
import { drawn, eventually, frame, id, open, page, pageTest, query } from "./page_harness.mjs";

const APP = "/docker/4f1d2c9ab310";
const phone = { width: 390, height: 844, touch: true };

/** What is wider than the window, unless it scrolls within a part of the page. */
const tooWide = () =>
  page.evaluate(() => {
    const scrolls = (e) => {
      for (let p = e.parentElement; p && p !== document.body; p = p.parentElement)
        if (/auto|scroll|hidden/.test(getComputedStyle(p).overflowX)) return true;
      return false;
    };
    const wide = [...document.querySelectorAll("#app *")].filter(
      (e) => e.checkVisibility() && e.getBoundingClientRect().right > innerWidth + 1 && !scrolls(e),
    );
    const page = document.documentElement.scrollWidth - innerWidth;
    return [page, ...wide.map((e) => e.className || e.tagName)];
  });
const fits = (what) => eventually(async () => assert.deepEqual(await tooWide(), [0], what));

/** Pairs of controls of which one covers the other. */
const overlaps = () =>
  page.evaluate(() => {
    const controls = "header button, header a, .toolbar button, .search";
    const boxes = [...document.querySelectorAll(controls)]
      .filter((e) => e.checkVisibility() && !e.closest(".panel, .search button"))
      .map((e) => [e.dataset.testid || e.className, e.getBoundingClientRect()]);
    const out = [];
    for (const [a, x] of boxes)
      for (const [b, y] of boxes)
        if (a < b && x.left < y.right - 1 && y.left < x.right - 1)
          if (x.top < y.bottom - 1 && y.top < x.bottom - 1)
            if (!(b === "clear" || a === "clear")) out.push(`${a} ${b}`);
    return out;
  });

pageTest("a phone shows one pane at a time, each as wide as the window", {}, async () => {
  await open(`?service=${APP}`, phone);
  await drawn();
  await fits("flame");
  await eventually(async () => assert.deepEqual(await overlaps(), []));
  const graph = await id("flame").boundingBox();
  assert.ok(graph.width > 370 && graph.height > 380, JSON.stringify(graph));
  assert.equal(await id("functions").count(), 0);
  assert.equal(await id("timeline").count(), 0);
  await id("pane-table").tap();
  await id("function").first().waitFor();
  await fits("table");
  assert.equal(await id("flame").count(), 0);
  const row = await id("function").first().boundingBox();
  assert.ok(row.width > 370, JSON.stringify(row));
  await id("pane-timeline").tap();
  await id("timeline").waitFor();
  await fits("timeline");
  await id("pane-flame").tap();
  await drawn();
});

pageTest("a first tap describes a frame, a second one or the button zooms", {}, async () => {
  await open(`?service=${APP}`, phone);
  const zoomed = () => page.evaluate(() => window.__flame.zoom());
  const python = await frame("python3");
  await page.touchscreen.tap(python.cx, python.cy);
  await id("tooltip").waitFor();
  await eventually(async () => assert.match(await id("status").innerText(), /^python3/));
  assert.equal(await zoomed(), "total");
  await page.touchscreen.tap(python.cx, python.cy);
  await eventually(async () => assert.equal(await zoomed(), "python3"));
  const total = await frame("total");
  await page.touchscreen.tap(total.cx, total.cy);
  await page.touchscreen.tap(total.cx, total.cy);
  await eventually(async () => assert.equal(await zoomed(), "total"));
  const compile = await frame("compile");
  await page.touchscreen.tap(compile.cx, compile.cy);
  await id("touch-zoom").tap();
  await eventually(async () => assert.equal(await zoomed(), "compile"));
});

pageTest("menus are sheets on a phone, and the other pages fit, too", {}, async () => {
  await open(`?service=${APP}`, phone);
  await drawn();
  for (const name of ["picker", "instances", "range", "quality", "export"]) {
    await id(name).tap();
    const sheet = await page.locator(".panel").boundingBox();
    assert.ok(sheet.x === 0 && sheet.width === 390, `${name} ${JSON.stringify(sheet)}`);
    assert.ok(Math.round(sheet.y + sheet.height) === 844, `${name} ${JSON.stringify(sheet)}`);
    await fits(name);
    await page.keyboard.press("Escape");
    await eventually(async () => assert.equal(await page.locator(".panel").count(), 0));
  }
  for (const address of ["", "targets", `?service=${APP}&range=1600000000000-1600003600000`]) {
    await page.close();
    await open(address, phone);
    await page.locator("main").waitFor();
    await fits(address);
  }
});

const LONG = `/k8s/shop/${"a-very-long-name-".repeat(12)}`;
pageTest(
  "at every width nothing overlaps, and a long name can be read",
  { more: [[LONG, 0.5]] },
  async () => {
    await open(`?service=${LONG}`);
    for (const width of [375, 390, 480, 720, 768, 1024, 1280, 1600]) {
      await page.setViewportSize({ width, height: 800 });
      await drawn();
      await fits(`${width}`);
      await eventually(async () => assert.deepEqual(await overlaps(), [], `${width}`));
    }
    await id("picker").click();
    const name = page.locator(".picker .checked .service-name");
    await eventually(async () => {
      const [shown, whole] = await name.evaluate((e) => [e.clientHeight, e.scrollHeight]);
      assert.ok(shown >= whole && shown > 30, `${shown} of ${whole}`);
      assert.ok((await name.innerText()).includes("a-very-long-name-".repeat(12)));
    });
    await page.locator("[data-testid=picker-filter]").fill("burn");
    await page.keyboard.press("Enter");
    await eventually(() => assert.equal(query().get("service"), "/process/burn"));
  },
);

pageTest("the names of applications can be read in the narrowest window", {}, async () => {
  await open("", { width: 320, height: 640, touch: true });
  const name = id("application").first().locator(".a-name");
  await name.waitFor();
  const { width } = await name.boundingBox();
  assert.ok(width >= 120, `${width} pixels`);
  await fits("320");
});

pageTest("one line of context, and at 200 % zoom the graph has the room", {}, async () => {
  await open(`?service=${APP}`, { width: 1280, height: 800 });
  await drawn();
  const heightOf = (part) => page.locator(part).evaluate((e) => e.offsetHeight);
  await eventually(async () => assert.equal(await heightOf("header"), 44));
  const top = () => id("flame").evaluate((e) => e.getBoundingClientRect().top);
  await eventually(async () => assert.ok((await top()) < 185, `${await top()}`));
  await id("type-memory").waitFor(); // a tab has room
  // a window of 1440 × 900 at 200 %
  await page.setViewportSize({ width: 720, height: 450 });
  await eventually(async () => assert.equal(await heightOf("header"), 44));
  const rows = async () => Math.floor((await heightOf(".flame")) / 19);
  await eventually(async () => assert.ok((await rows()) >= 12, `${await rows()} rows`));
  await fits("200 %");
  await eventually(async () => assert.deepEqual(await overlaps(), []));
  // the types that have no room are in the menu, which names the present one
  await eventually(async () => assert.match(await id("all-types").innerText(), /CPU/));
  await id("all-types").click();
  await id("type-item-go:heap_inuse_space:bytes").click();
  await eventually(async () => assert.match(await id("all-types").innerText(), /Memory/));
  // a filter is never out of sight
  await page.goto(page.url().replace("?", "?where=version%3D%221.4.2%22&"));
  const chip = await id("chip").boundingBox();
  assert.ok(chip.width > 70 && chip.x >= 0 && chip.x + chip.width <= 720, JSON.stringify(chip));
});

pageTest("targets of a finger are large enough", {}, async () => {
  await open(`?service=${APP}`, phone);
  await drawn();
  for (const pane of ["flame", "table", "timeline"]) {
    await id(`pane-${pane}`).tap();
    const small = () =>
      page.evaluate(() =>
        [...document.querySelectorAll("#app button, #app a")]
          .filter((e) => e.checkVisibility() && !e.closest(".u-over"))
          .map((e) => [e.dataset.testid || e.className || e.innerText, e.getBoundingClientRect()])
          .filter(([, r]) => r.width > 0 && r.height < 24)
          .map(([name, r]) => `${name} ${Math.round(r.height)}`),
      );
    await eventually(async () => assert.deepEqual(await small(), [], pane));
  }
});

/** Pixels with text below the plot of the timeline, where the times are. */
const timePixels = () =>
  page.evaluate(() => {
    const canvas = document.querySelector(".uplot canvas");
    const plot = document.querySelector(".u-over").getBoundingClientRect();
    const box = canvas.getBoundingClientRect();
    const scale = canvas.height / box.height;
    const from = Math.ceil((plot.bottom - box.top + 2) * scale);
    const left = Math.ceil((plot.left - box.left) * scale);
    const size = [canvas.width - left, canvas.height - from];
    const { data } = canvas.getContext("2d").getImageData(left, from, ...size);
    let n = 0;
    for (let i = 3; i < data.length; i += 4) if (data[i] > 128) n++;
    return n;
  });

pageTest("a comparison has names and times in small windows", {}, async () => {
  await open(`?service=${APP}&range=1h&base=-1d`, { width: 720, height: 450 });
  await drawn();
  await eventually(async () => assert.ok((await timePixels()) > 100));
  const nameWidth = () =>
    page.evaluate(() => document.querySelector("[data-testid=function] td").clientWidth);
  await eventually(async () => assert.ok((await nameWidth()) > 120));
  await open(`?service=${APP}&range=1h&base=-1d&view=table`, phone);
  await id("pane-table").tap();
  await eventually(async () => assert.ok((await nameWidth()) > 180));
  await fits("table");
});
