// The text of source files beside the figures of lines.

import assert from "node:assert/strict";
import { known } from "./page_fixture.mjs";
import { drawn, eventually, fixture, id, open, page, pageTest, query } from "./page_harness.mjs";
import { server } from "./page_harness.mjs";

const APP = "/docker/4f1d2c9ab310";
const MALLOC = "runtime.mallocgc";
const FORGE = "https://git.example/go/blob/v1/malloc.go#L{line}";
const row = (name) => page.locator(`[data-testid=function][data-name="${name}"]`);
const numbered = (n) => Array.from({ length: n }, (_, i) => `\ttext of line ${i + 1}`).join("\n");
const withText = { source: () => ({ text: numbered(3000), url: FORGE }) };
const figures = (v, all) => `${((v / all) * 100).toFixed(2)} %`;

const answer = () => {
  const last = server.requests.filter((r) => r.name === "function").pop();
  return fixture.function(last.params);
};

/** The function as an address names it. */
const mallocOf = () => {
  const to = Date.now();
  const all = { service: APP, type: "ebpf:cpu:nanoseconds", from: to - 900_000, to };
  const { functions } = fixture.functions({ ...all, search: MALLOC });
  return `${encodeURIComponent(MALLOC)}@${functions.find((f) => f.name === MALLOC).file}`;
};

pageTest("two clicks lead from an application to the line that runs", withText, async () => {
  await open(`?service=${APP}&search=${MALLOC}`);
  await drawn();
  await row(MALLOC).click({ button: "right" });
  await id("menu-lines").click();
  await id("source-line").first().waitFor();
  const { lines } = answer();
  const hottest = [...lines].sort((a, b) => b.self - a.self || b.total - a.total)[0];
  const line = page.locator(`[data-testid=source-line][data-line="${hottest.line}"]`);
  await eventually(async () => assert.equal(await line.getAttribute("aria-current"), "true"));
  const [box, view] = [await line.boundingBox(), await id("lines").boundingBox()];
  assert.ok(box.y > view.y && box.y + box.height < view.y + view.height, "it is in view");
  const text = await line.innerText();
  assert.match(text, new RegExp(`text of line ${hottest.line}$`));
  const frames = await page.evaluate(() => window.__flame.frames());
  const whole = frames.find((f) => f.name === "total");
  assert.ok(text.includes(figures(hottest.self, whole.total)), text);
  assert.ok(text.includes(figures(hottest.total, whole.total)), text);
  // the file of the function, of the same selection
  const { params } = server.requests.filter((r) => r.name === "source").pop();
  assert.equal(params.file, query().get("fn").split("@").pop());
  assert.equal(params.service, APP);
});

pageTest("a line opens at the forge, and the table is one click away", withText, async () => {
  await open(`?service=${APP}&search=${MALLOC}`);
  await drawn();
  await row(MALLOC).focus();
  await page.keyboard.press("l");
  await id("source-line").first().waitFor();
  const line = id("source-line").first();
  const n = await line.getAttribute("data-line");
  const link = line.locator("a");
  assert.equal(await link.getAttribute("href"), FORGE.replace("{line}", n));
  assert.equal(await link.getAttribute("rel"), "noopener noreferrer");
  assert.equal(await id("source-link").innerText(), "Open at git.example");
  await id("lines-as-table").click();
  await id("line").first().waitFor();
  assert.equal(await id("source-line").count(), 0);
  const at = await id("line").first().locator("a").getAttribute("href");
  assert.ok(at.startsWith("https://git."), at);
});

pageTest("a comparison has both sides at each line", withText, async () => {
  const search = encodeURIComponent(known.doubled);
  await open(`?service=${APP}&base=previous&search=${search}`);
  await drawn();
  await row(known.doubled).focus();
  await page.keyboard.press("l");
  await id("source-line").first().waitFor();
  const heads = await id("source").locator("thead th").allInnerTexts();
  assert.deepEqual(heads, ["Line", "Self", "Total", "Before", "Change", "Source"]);
  await eventually(async () =>
    assert.match(await id("source-line").first().innerText(), /\+\d+(\.\d)? %|new/),
  );
});

pageTest(
  "a text of another version, or none, is said",
  { source: () => ({ text: "one\ntwo" }) },
  async () => {
    await open(`?service=${APP}&panel=lines&fn=${mallocOf()}`);
    await eventually(async () =>
      assert.match(await id("source-other").innerText(), /only 2: it is of another version/),
    );
    fixture.options.source = () => ({ why: '"runtime/main.go" is not in the folders' });
    await page.reload();
    await id("line").first().waitFor();
    await eventually(async () =>
      assert.match(await id("source-bar").innerText(), /is not in the folders/),
    );
    fixture.options.source = () => ({ text: "<img src=x onerror=alert(1)>\n\u202eevil" });
    await page.reload();
    await eventually(async () =>
      assert.match(await id("source").innerText(), /<img src=x onerror[^]*\\u\{202e\}evil/),
    );
  },
);

pageTest("Lines cannot be chosen where there are none, and says why", withText, async () => {
  await open(`?service=${APP}&search=do_syscall_64`);
  await drawn();
  await row("do_syscall_64").click({ button: "right" });
  const item = id("menu-lines");
  assert.equal(await item.getAttribute("aria-disabled"), "true");
  assert.match(await item.innerText(), /the kernel has none/);
  await item.click({ force: true });
  assert.equal(query().get("panel"), null);
  assert.ok(await id("frame-menu").isVisible());
  await page.keyboard.press("Escape");
  // nothing is asked about a file that has no name
  await row("do_syscall_64").focus();
  await page.keyboard.press("l");
  await id("no-lines").waitFor();
  assert.equal(server.requests.filter((r) => r.name === "source").length, 0);
});

pageTest("on a phone the source fills the window", withText, async () => {
  const phone = { width: 390, height: 844, touch: true };
  await open(`?service=${APP}&panel=lines&fn=${mallocOf()}`, phone);
  await id("source-line").first().waitFor();
  const box = await id("lines").boundingBox();
  assert.ok(box.width > 380, JSON.stringify(box));
});
