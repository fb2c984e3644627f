// The table of functions: groups, a copy of it, and edges that can be dragged.

import assert from "node:assert/strict";
import { drawn, eventually, id, open, page, pageTest, query } from "./page_harness.mjs";

const APP = "/docker/4f1d2c9ab310";

const groups = () =>
  page.evaluate(() =>
    [...document.querySelectorAll("[data-testid=group-row]")].map((r) => r.dataset.group),
  );
const widthOf = async (selector) => (await page.locator(selector).boundingBox()).width;

/** SHOTS: folder for images of what was tested. */
const shot = (name) =>
  process.env.SHOTS ? page.screenshot({ path: `${process.env.SHOTS}/${name}.png` }) : null;

async function drag(locator, by) {
  const box = await locator.boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + 8);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width / 2 + by / 2, box.y + 8);
  await page.mouse.move(box.x + box.width / 2 + by, box.y + 8);
  await page.mouse.up();
}

pageTest("rows are packages or files; a click lists the functions of one", {}, async () => {
  await open(`?service=${APP}`);
  await drawn();
  await id("function").first().waitFor();
  await id("group-package").click();
  await eventually(async () => assert.ok((await groups()).includes("runtime")));
  assert.equal(query().get("group"), "package");
  await shot("table-packages");
  const row = page.locator('[data-group="runtime"]');
  assert.match(await row.getAttribute("title"), /^runtime\nself .*, .* % · total .*, .* %$/);
  await row.click();
  await id("function").first().waitFor();
  assert.equal(query().get("in"), "runtime");
  const names = await page.evaluate(() =>
    [...document.querySelectorAll("[data-testid=function]")].map((r) => r.dataset.name),
  );
  assert.ok(names.length > 1 && names.every((n) => n.startsWith("runtime.")), names.join());
  await page.reload();
  await id("leave-group").click();
  await eventually(async () => assert.ok((await groups()).length > 1));
  await id("group-file").click();
  await eventually(async () => assert.ok((await groups()).some((g) => g.endsWith(".go"))));
  // the search finds groups, too
  await id("search").fill("zzz");
  await eventually(async () =>
    assert.match(await page.locator(".table .note").innerText(), /No file matches/),
  );
});

pageTest("a comparison has groups as well", {}, async () => {
  await open(`?service=${APP}&base=previous&group=package`);
  await drawn();
  await eventually(async () => assert.ok((await groups()).includes("runtime")));
  const title = await page.locator('[data-group="runtime"]').getAttribute("title");
  assert.match(title, /\nbaseline: self .*%$/);
  await shot("table-packages-compared");
});

pageTest("the table is copied as it is sorted", {}, async () => {
  await open(`?service=${APP}&search=runtime`);
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await drawn();
  await id("function").first().waitFor();
  await id("copy-table").click();
  await eventually(async () => assert.match(await id("copy-table").innerText(), /Copied/));
  const text = await page.evaluate(() => navigator.clipboard.readText());
  const [head, ...rows] = text.trim().split("\n").map((l) => l.split("\t"));
  assert.deepEqual(head.slice(0, 4), ["Function", "File", "Self (nanoseconds)", "Self %"]);
  assert.equal(rows[0][0], await id("function").first().getAttribute("data-name"));
  const selfs = rows.map((r) => Number(r[2]));
  assert.deepEqual(selfs, selfs.slice().sort((a, b) => b - a));
});

pageTest("the splitter and the columns can be dragged, and are remembered", {}, async () => {
  await open(`?service=${APP}`);
  await drawn();
  await id("function").first().waitFor();
  const cell = id("function").first().locator("td.num").first();
  assert.doesNotMatch(await cell.innerText(), /s\b/, "no room for absolute values");
  const before = await widthOf(".table.barred");
  await drag(id("splitter"), 150);
  await eventually(async () =>
    assert.ok(Math.abs((await widthOf(".table.barred")) - before - 150) < 3),
  );
  const column = await widthOf("th:has([data-testid=sort-self])");
  await drag(id("edge-self"), -80);
  await eventually(async () =>
    assert.ok(Math.abs((await widthOf("th:has([data-testid=sort-self])")) - column - 80) < 4),
  );
  await eventually(async () => assert.match(await cell.innerText(), /s\b.*%/s));
  await shot("table-wide");
  await page.reload();
  await id("function").first().waitFor();
  assert.ok(Math.abs((await widthOf(".table.barred")) - before - 150) < 3);
  await id("splitter").focus();
  await page.keyboard.press("ArrowLeft");
  await eventually(async () =>
    assert.ok(Math.abs((await widthOf(".table.barred")) - before - 126) < 3),
  );
  await page.keyboard.press("Home");
  await eventually(async () => assert.ok(Math.abs((await widthOf(".table.barred")) - before) < 3));
  await id("edge-self").dblclick();
  await eventually(async () =>
    assert.ok(Math.abs((await widthOf("th:has([data-testid=sort-self])")) - column) < 3),
  );
});

pageTest("the table on a phone", {}, async () => {
  await open(`?service=${APP}&group=package`, { width: 390, height: 800, touch: true });
  await id("pane-table").click();
  await eventually(async () => assert.ok((await groups()).length > 1));
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= 390, `${wide}`);
  await shot("table-390");
});
