// Times in the zone of the browser, in UTC, and in the zone of a link.

import assert from "node:assert/strict";
import * as fs from "node:fs";
import { drawn, eventually, id, open, page, pageTest, query, server } from "./page_harness.mjs";

const APP = "/docker/4f1d2c9ab310";
const TO = Date.UTC(2023, 10, 14, 22, 30);
const FIXED = `?service=${APP}&type=ebpf:cpu:nanoseconds&range=${TO - 3600_000}-${TO}`;
const fixed = { lastSeen: TO + 1000 };
const NEW_YORK = { timezoneId: "America/New_York" };
const TOKYO = { timezoneId: "Asia/Tokyo" };

const label = () => id("range").innerText();
const shows = (text) => eventually(async () => assert.ok((await label()).includes(text), text));

async function choose(zone) {
  await id("range").click();
  await id(zone).check();
  await page.keyboard.press("Escape");
}

async function openElsewhere(options) {
  const there = page.url().slice(server.url.length);
  await page.close();
  await open(there, options);
  await drawn();
}

pageTest("times name their zone, which can be UTC, here and in a link", fixed, async () => {
  await open(FIXED, NEW_YORK);
  await drawn();
  await shows("14 Nov 2023, 16:30 – 17:30 UTC−05:00");
  await choose("zone-utc");
  await shows("14 Nov 2023, 21:30 – 22:30 UTC");
  assert.equal(query().get("zone"), "utc");
  assert.equal(query().get("range"), `${TO - 3600_000}-${TO}`);
  await id("export").click();
  const [file] = await Promise.all([page.waitForEvent("download"), id("export-svg").click()]);
  assert.match(file.suggestedFilename(), /-20231114-2230\.svg$/);
  assert.match(fs.readFileSync(await file.path(), "utf8"), /21:30 – 22:30, 14 Nov 2023 UTC/);
  await openElsewhere(TOKYO);
  await shows("14 Nov 2023, 21:30 – 22:30 UTC");
  await choose("zone-own");
  await shows("15 Nov 2023, 06:30 – 07:30 UTC+09:00");
});

pageTest("a link with times shows those of its sender", fixed, async () => {
  await open(FIXED, NEW_YORK);
  await drawn();
  // any change of the address will do
  await id("range").click();
  await id("range-apply").click();
  await eventually(() => assert.equal(query().get("zone"), "America/New_York"));
  await openElsewhere(TOKYO);
  await shows("14 Nov 2023, 16:30 – 17:30 UTC−05:00");
  await id("range").click();
  assert.equal(await id("zone-link").isChecked(), true);
  assert.equal(await id("range-from").inputValue(), "2023-11-14 16:30:00");
});

pageTest("UTC stays chosen in this browser", fixed, async () => {
  await open(FIXED, TOKYO);
  await drawn();
  await choose("zone-utc");
  await shows("22:30 UTC");
  await page.goto(`${server.url}${FIXED}`);
  await drawn();
  await shows("14 Nov 2023, 21:30 – 22:30 UTC");
  await choose("zone-own");
  await page.goto(`${server.url}${FIXED}`);
  await shows("UTC+09:00");
});

pageTest("the fields, the timeline and a comparison are in the same zone", fixed, async () => {
  await open(`${FIXED}&base=previous`, TOKYO);
  await drawn();
  await eventually(async () =>
    assert.match(await id("side-b").innerText(), /15 Nov 2023, 05:30 – 06:30 UTC\+09:00/),
  );
  await id("range").click();
  await id("range-from").fill("2023-11-15T06:45");
  await id("zone-utc").check();
  assert.equal(await id("range-from").inputValue(), "2023-11-14 21:45:00");
  assert.equal(await id("range-to").inputValue(), "2023-11-14 22:30:00");
  await id("range-apply").click();
  await shows("21:45 – 22:30 UTC");
  assert.equal(query().get("range"), `${TO - 45 * 60_000}-${TO}`);
  await eventually(async () =>
    assert.match(await id("side-b").innerText(), /21:00 – 21:45 UTC$|21:00 – 21:45 UTC\n/),
  );
  const plot = await page.locator(".u-over").boundingBox();
  let x = plot.x + plot.width * 0.75;
  await eventually(async () => {
    await page.mouse.move(x++, plot.y + plot.height / 2, { steps: 3 });
    const text = await page.locator(".reading.num").innerText({ timeout: 1000 });
    assert.match(text, /^2[12]:\d\d:\d\d UTC /);
  });
});
