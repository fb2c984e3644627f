// Figures beside the flame graph: points and axes of the timeline, and what "samples" are.

import assert from "node:assert/strict";
import { drawn, eventually, fixture, id, open, page, pageTest, query } from "./page_harness.mjs";

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

const guessing = { lossless: true, guessed: 0.25 };
pageTest("stacks, names and guessed steps are three figures", guessing, async () => {
  await open(`?service=${APP}`);
  await eventually(async () =>
    assert.match(
      await id("quality").innerText(),
      /99\.9\d % complete stacks · 9[5-9]\.\d+ % named · 25\.0 % guessed/,
    ),
  );
  assert.equal(await page.locator(".quality-label .dot.good").count(), 1);
  assert.equal(await id("names-note").count(), 0);
});

const unnamed = { lossless: true, loops: true };
pageTest("few names: the dot is amber, and a line says what to do", unnamed, async () => {
  await open(`?service=${APP}`);
  await drawn();
  assert.equal(await page.locator(".quality-label .dot.fair").count(), 1);
  const share = parseFloat(await id("named").innerText());
  assert.ok(share > 50 && share < 90, `${share}`);
  const note = id("names-note").first();
  assert.match(await note.innerText(), /^[\d.]+ % of the samples lack names of Python: .*py-spy/);
  // more about it, from the server itself
  const [help] = await Promise.all([
    page.context().waitForEvent("page"),
    note.getByRole("link").click(),
  ]);
  await help.locator("#frames-of-python").waitFor();
  assert.match(help.url(), /\/docs\/troubleshooting\.html#frames-of-python$/);
  await help.close();
  // of what is selected: the share is that of the filter
  await page.goto(`${page.url()}&where=${encodeURIComponent('version="1.4.2"')}`);
  await eventually(async () =>
    assert.notEqual(parseFloat(await id("named").innerText()), share),
  );
  await note.getByRole("button").click();
  await note.waitFor({ state: "detached" });
  await page.reload();
  await drawn();
  assert.doesNotMatch((await id("names-note").allInnerTexts()).join(), /Python/);
  // both sides of a comparison say so
  await page.goto(`${page.url()}&base=previous`);
  await eventually(async () =>
    assert.match(
      await id("side-b").locator(".dot.fair").getAttribute("title"),
      /samples, .* lost, [\d.]+ % named/,
    ),
  );
});

pageTest("a level says that it is a mean, and how much there was last", {}, async () => {
  await open(`?service=${APP}&type=go:heap_inuse_space:bytes`);
  await drawn();
  await eventually(async () =>
    assert.match(
      await id("status").innerText(),
      /^total\s*mean [\d.]+ [MG]iB 100 % · last [\d.]+ [MG]iB/,
    ),
  );
  await page.goto(`${page.url().split("?")[0]}?service=${APP}&base=previous`);
  await eventually(async () =>
    assert.match(
      await id("status").innerText(),
      /^total\s*total .* · widths: mean of both sides/,
    ),
  );
});

pageTest("a selection outside of the range moves the range to it", {}, async () => {
  const to = Date.now() - 86_400_000;
  await open(`?service=${APP}&select=${to - 240_000}-${to}`);
  await drawn();
  const [plot, box] = [
    await page.locator(".u-over").boundingBox(),
    await id("box-a").boundingBox(),
  ];
  assert.ok(box.x > plot.x && box.x + box.width < plot.x + plot.width, JSON.stringify(box));
  assert.match(await id("range").innerText(), /\d\d:\d\d – .*\d\d:\d\d/);
  await id("range").click();
  await id("range-yesterday").click();
  await eventually(() => {
    const [a, b] = query().get("range").split("-").map(Number);
    assert.equal(b - a, 86_400_000);
    assert.ok(b <= Date.now() && b > Date.now() - 86_400_000);
  });
  await id("range").click();
  await id("range-2592000").click();
  await eventually(() => assert.equal(query().get("range"), "30d"));
});

pageTest("a proxy that answers in place of the cluster-agent is named", {}, async () => {
  fixture.options.proxyLogin = true;
  await open(`?service=${APP}`);
  await eventually(async () =>
    assert.match(await id("failed").innerText(), /Something between .* login has expired: reload/),
  );
  assert.match(await id("failed").innerText(), /The login of the proxy or gateway/);
  assert.doesNotMatch(await id("failed").innerText(), /unreachable store/);
});
