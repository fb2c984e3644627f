// Figures beside the flame graph: points and axes of the timeline, and what "samples" are.

import assert from "node:assert/strict";
import { drawn, eventually, fixture, id, open, page, pageTest } from "./page_harness.mjs";

const APP = "/docker/4f1d2c9ab310";

/** Pixels of the chart's canvas that are nearly of the accent colour. */
const accented = () =>
  page.evaluate(() => {
    const canvas = document.querySelector(".uplot canvas");
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const [r, g, b] = [0x29, 0x62, 0xd9];
    let n = 0;
    for (let i = 0; i < data.length; i += 4)
      if (
        data[i + 3] > 200 &&
        Math.abs(data[i] - r) + Math.abs(data[i + 1] - g) + Math.abs(data[i + 2] - b) < 60
      )
        n++;
    return n;
  });

pageTest("a lone point of the timeline is seen", {}, async () => {
  const { timeline } = fixture;
  fixture.timeline = (p) => {
    const t = timeline(p);
    return { ...t, values: t.values.map((_, i) => (i === 40 ? 1 : null)) };
  };
  await open(`?service=${APP}`);
  await drawn();
  await eventually(async () => assert.ok((await accented()) > 5, `${await accented()}`));
});

pageTest("the axis of bytes has round binary values", {}, async () => {
  await open();
  await page.addInitScript(() => {
    const { fillText } = CanvasRenderingContext2D.prototype;
    window.__texts = new Set();
    CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
      window.__texts.add(text);
      return fillText.call(this, text, ...rest);
    };
  });
  await page.goto(`${page.url().split("?")[0]}?service=${APP}&type=go:heap_inuse_space:bytes`);
  await drawn();
  await eventually(async () => {
    const texts = await page.evaluate(() => [...window.__texts]);
    const bytes = texts.filter((t) => /^[\d.,]+ ([KMGT]i)?B$/.test(t) && t !== "0 B");
    assert.ok(bytes.length >= 1, texts.join());
    for (const t of bytes)
      assert.match(t, /^(1|2|3|4|6|8|16|32|48|64|96|128|192|256|384|512|768) /);
  });
});

pageTest(
  "samples are counted where they are a measure, else what the type counts",
  {},
  async () => {
    await open(`?service=${APP}&type=ebpf:cpu:nanoseconds`);
    await eventually(async () =>
      assert.match(await id("quality").innerText(), /^[\d,]+ samples.*complete stacks/),
    );
    await page.goto(`${page.url().split("?")[0]}?service=${APP}&type=go:heap_inuse_space:bytes`);
    await eventually(async () =>
      assert.match(await id("quality").innerText(), /^[\d.]+ % complete stacks/),
    );
    await id("quality").click();
    assert.doesNotMatch(await page.locator(".quality-panel dl").first().innerText(), /^Samples/m);
    await page.goto(`${page.url().split("?")[0]}?service=${APP}&type=go:goroutine_goroutine:count`);
    await eventually(async () =>
      assert.match(await id("quality").innerText(), /^[\d.,]+( [kMG])? goroutines · /),
    );
  },
);

pageTest(
  "JVMs without Java profiles are mentioned until that is hidden",
  { runtimes: { "java:profiled": 3, "java:loading_disabled": 2 } },
  async () => {
    await open(`?service=${APP}`);
    await drawn();
    const note = id("jvm-note");
    assert.match(await note.innerText(), /^3 of 5 JVMs have Java profiles\. 2 do not: dynamic/);
    await note.getByRole("button").click();
    await note.waitFor({ state: "detached" });
    await page.reload();
    await drawn();
    assert.equal(await note.count(), 0);
    await page.setViewportSize({ width: 390, height: 844 });
    await page.evaluate(() => sessionStorage.clear());
    await page.reload();
    await note.waitFor();
    const box = await note.boundingBox();
    assert.ok(box.x >= 0 && box.x + box.width <= 390, JSON.stringify(box));
    assert.ok(await note.evaluate((e) => e.scrollWidth <= e.clientWidth), "it is cut off");
  },
);
