// The source lines of a function.

import assert from "node:assert/strict";
import { known } from "./page_fixture.mjs";
import { drawn, eventually, fixture, frame, id, open, page, pageTest } from "./page_harness.mjs";
import { query, server } from "./page_harness.mjs";

const APP = "/docker/4f1d2c9ab310";
const MALLOC = "runtime.mallocgc";
const row = (name) => page.locator(`[data-testid=function][data-name="${name}"]`);

/** What the server said last about a function, computed again from the stacks. */
const answer = () => {
  const last = server.requests.filter((r) => r.name === "function").pop();
  return fixture.function(last.params);
};
const percent = (v, all) => `${((v / all) * 100).toFixed(2)} %`;

pageTest("L on a row shows the lines of its function, with the true figures", {}, async () => {
  await open(`?service=${APP}&range=1700000000000-1700000900000&search=${MALLOC}`);
  // a fixed range: the answers of the test are those of the page
  fixture.options.lastSeen = 1700000901000;
  await page.reload();
  await drawn();
  await row(MALLOC).focus();
  await page.keyboard.press("l");
  await id("line").first().waitFor();
  const { lines, total, file } = answer();
  const whole = (await frame("total")).total;
  assert.equal(await id("line").count(), lines.length);
  assert.ok(lines.length > 2);
  assert.match(await id("lines-file").innerText(), new RegExp(`${file}$`));
  for (const l of lines) {
    const text = await page.locator(`[data-testid=line][data-line="${l.line}"]`).innerText();
    assert.ok(text.includes(percent(l.self, whole)), `${l.line}: ${text}`);
    assert.ok(text.includes(percent(l.total, whole)), `${l.line}: ${text}`);
  }
  const shown = await id("line").evaluateAll((list) => list.map((e) => Number(e.dataset.line)));
  const hottest = [...lines].sort((a, b) => b.self - a.self || a.line - b.line);
  assert.deepEqual(
    shown,
    hottest.map((l) => l.line),
  );
  await id("lines-by-line").click();
  const sorted = await id("line").evaluateAll((list) => list.map((e) => Number(e.dataset.line)));
  assert.deepEqual(
    sorted,
    [...sorted].sort((a, b) => a - b),
  );
  assert.ok(total > 0);
  await eventually(() => assert.equal(query().get("panel"), "lines"));
  await page.reload();
  await id("line").first().waitFor();
  await page.keyboard.press("Escape");
  await eventually(async () => assert.equal(await id("lines").count(), 0));
});

pageTest("lines say what is inlined, and why there are none", {}, async () => {
  const at = (name, file) => `?service=${APP}&panel=lines&fn=${encodeURIComponent(name)}@${file}`;
  const to = Date.now();
  const all = { service: APP, type: "ebpf:cpu:nanoseconds", from: to - 900_000, to };
  const { functions } = fixture.functions({ ...all, search: known.inlined });
  await open(at(known.inlined, functions[0].file));
  await id("line").first().waitFor();
  assert.match(await id("line").first().innerText(), /inlined/);
  await page.goto(server.url + at("do_syscall_64", "[kernel]"));
  await eventually(async () =>
    assert.match(await id("no-lines").innerText(), /kernel has no lines/),
  );
  assert.match(await id("lines-file").innerText(), /kernel/i);
  await page.goto(server.url + at("malloc", "[libc.so.6]"));
  await eventually(async () =>
    assert.match(await id("no-lines").innerText(), /libc\.so\.6 was built without line tables/),
  );
  fixture.options.faults = { function: "the store is busy" };
  await page.reload();
  await eventually(async () =>
    assert.match(await id("lines").innerText(), /the store is busy/),
  );
});

pageTest("a comparison shows both sides of a line; a frame's key opens it, too", {}, async () => {
  await open(`?service=${APP}&base=previous&search=${encodeURIComponent(known.doubled)}`);
  await drawn();
  await row(known.doubled).focus();
  await page.keyboard.press("l");
  await id("line").first().waitFor();
  const { lines } = answer();
  assert.ok(lines.every((l) => l.baseTotal !== undefined));
  await eventually(async () =>
    assert.match(await id("line").first().innerText(), /\+\d+(\.\d)? %|new/),
  );
  await page.close();
  await open(`?service=${APP}`);
  await drawn();
  for (let i = 0; i < 4; i++) await page.keyboard.press("ArrowDown");
  const name = await page.locator("[data-testid=status] b").innerText();
  await page.keyboard.press("l");
  await eventually(async () => assert.ok(query().get("fn").startsWith(`${name}@`)));
  await id("lines").waitFor();
});

pageTest("on a phone the lines are a pane of their own", {}, async () => {
  const fn = `${encodeURIComponent(MALLOC)}@/usr/local/go/src/runtime/main.go`;
  await open(`?service=${APP}&panel=lines&fn=${fn}`, { width: 390, height: 844, touch: true });
  await eventually(async () =>
    assert.equal(await id("pane-panel").getAttribute("aria-pressed"), "true"),
  );
  const box = await id("lines").boundingBox();
  assert.ok(box.width > 380, JSON.stringify(box));
  await id("lines-close").tap();
  await drawn();
});
