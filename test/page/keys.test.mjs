// Keys, focus and what is spoken; the back button.

import assert from "node:assert/strict";
import { drawn, eventually, id, open, page, pageTest, query } from "./page_harness.mjs";

const APP = "/docker/4f1d2c9ab310";

pageTest("an invalid regular expression says so in its field, with the reason", {}, async () => {
  await open(`?service=${APP}`);
  await drawn();
  const field = id("search");
  await field.fill("/run(/");
  await eventually(async () => assert.equal(await field.getAttribute("aria-invalid"), "true"));
  const message = page.locator(`#${await field.getAttribute("aria-describedby")}`);
  assert.match(await message.innerText(), /not a regular expression: .*(unterminated|group)/i);
  const [at, below] = [await field.boundingBox(), await message.boundingBox()];
  assert.ok(below.y >= at.y + at.height && below.y < at.y + at.height + 20, "at the field");
  await field.fill("/run/");
  await eventually(async () => assert.equal(await field.getAttribute("aria-invalid"), null));
  await eventually(async () => assert.match(await id("matched").innerText(), /matched \d/));
});

pageTest("Back undoes a search as a whole, and a selection", {}, async () => {
  await open(`?service=${APP}`);
  await drawn();
  const length = () => page.evaluate(() => history.length);
  const before = await length();
  await page.keyboard.press("/");
  await page.keyboard.type("malloc");
  await eventually(() => assert.equal(query().get("search"), "malloc"));
  assert.equal(await length(), before + 1);
  await page.keyboard.press("Enter");
  await page.keyboard.type("gc");
  await eventually(() => assert.equal(query().get("search"), "mallocgc"));
  assert.equal(await length(), before + 2);
  await page.goBack();
  await eventually(async () => assert.equal(await id("search").inputValue(), "malloc"));
  await page.goBack();
  await eventually(async () => assert.equal(await id("search").inputValue(), ""));
  await eventually(() => assert.equal(query().get("search"), null));

  const row = page.locator('[data-testid=function][data-name="PyLong_FromString"]');
  await row.click();
  await eventually(async () => assert.equal(await row.getAttribute("aria-current"), "true"));
  await page.goBack();
  await eventually(async () => assert.equal(await row.getAttribute("aria-current"), "false"));

  const box = await id("timeline").boundingBox();
  await page.mouse.move(box.x + 500, box.y + 40);
  await page.mouse.down();
  await page.mouse.move(box.x + 800, box.y + 40, { steps: 4 });
  await page.mouse.up();
  await eventually(() => assert.ok(query().get("select")));
  await page.goBack();
  await eventually(() => assert.equal(query().get("select"), null));
});

pageTest("moves of the flame graph's cursor are spoken", {}, async () => {
  await open(`?service=${APP}`);
  await drawn();
  await id("flame").focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  const spoken = id("spoken");
  assert.equal(await spoken.getAttribute("aria-live"), "polite");
  await eventually(async () =>
    assert.match(await spoken.innerText(), /^compile, \d+(\.\d+)? % of total, depth 1$/),
  );
  await page.keyboard.press("ArrowDown");
  await eventually(async () => assert.match(await spoken.innerText(), /depth 2$/));
});

pageTest("? lists the keys, and the focus is always seen", {}, async () => {
  await open(`?service=${APP}`);
  await drawn();
  await page.keyboard.press("?");
  await eventually(async () => assert.match(await id("keys").innerText(), /Search functions/));
  await page.keyboard.press("Escape");
  await eventually(async () => assert.equal(await id("keys").count(), 0));
  await page.evaluate(() => document.activeElement?.blur());
  const seen = new Set();
  for (let i = 0; i < 40; i++) {
    await page.keyboard.press("Tab");
    const at = await page.evaluate(() => {
      const e = document.activeElement;
      if (!e || e === document.body) return null;
      const shows = (x) => {
        const s = getComputedStyle(x);
        return (s.outlineStyle !== "none" && s.outlineWidth !== "0px") || s.boxShadow !== "none";
      };
      const name = e.dataset.testid || e.getAttribute("aria-label") || e.textContent;
      return [name, shows(e) || shows(e.parentElement), e.checkVisibility()];
    });
    if (!at) break;
    assert.ok(at[1] && at[2], `the focus is seen on ${at[0]}`);
    seen.add(at[0]);
  }
  for (const name of ["picker", "type-memory", "range", "search", "flame", "export", "function"])
    assert.ok(seen.has(name), `${name} is reached: ${[...seen].join()}`);
});
