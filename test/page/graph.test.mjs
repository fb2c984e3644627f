// The flame graph as a tool: menu, edits, sandwich, directions, legend, search lists, cut answers,
// names that try to deceive. PAGE_DIST: folder of the built page; DEPS_WEB: folder with
// node_modules.

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

/** All frames that one of the graphs draws. */
const frames = (graph = "__flame") => page.evaluate((g) => window[g]?.frames() ?? [], graph);
const names = async (graph) => (await frames(graph)).map((f) => f.name);

/** Opens the menu of a frame by a right click. */
async function menuOf(name) {
  const f = await frame(name);
  await page.mouse.click(f.cx, f.cy, { button: "right" });
  await id("frame-menu").waitFor();
  return f;
}

pageTest(
  "edits of the graph are chips that say what is shown and can be taken back",
  {},
  async () => {
    await open(`?service=${APP}`);
    await drawn();
    const whole = await frame("total");
    const python = await menuOf("python3");
    await id("menu-focus").click();
    await eventually(() => assert.match(query().get("edit"), /^focus:python3@/));
    const share = (python.total / whole.total) * 100;
    await eventually(async () =>
      assert.equal(await id("shown-share").innerText(), `${share.toFixed(1)} % of the total shown`),
    );
    await eventually(async () => assert.ok(!(await names()).includes("compile")));
    assert.equal((await frame("total")).total, python.total);

    // hiding keeps all values; what it called moves up
    const hidden = (await frames()).filter((f) => f.depth === 2).sort((a, b) => b.w - a.w)[0];
    await menuOf(hidden.name);
    await id("menu-hide").click();
    await eventually(async () => assert.equal(await id("edit-chip").count(), 2));
    await eventually(async () => assert.ok(!(await names()).includes(hidden.name)));
    assert.equal((await frame("total")).total, python.total);
    await eventually(async () =>
      assert.equal(await page.locator(`[data-name="${hidden.name}"]`).count(), 0),
    );

    await page.reload();
    await drawn();
    await eventually(async () => assert.ok(!(await names()).includes(hidden.name)));
    await page.goBack();
    await eventually(async () => assert.equal(await id("edit-chip").count(), 1));
    await id("edit-chip").click();
    await eventually(async () => assert.equal(await id("edit-chip").count(), 0));
    await eventually(async () => assert.equal((await frame("total")).total, whole.total));
  },
);

pageTest(
  "collapsing a library or recursion keeps the total, and keys reach all of it",
  {},
  async () => {
    await open(`?service=${APP}`);
    await drawn();
    const whole = await frame("total");
    const many = (await names()).filter((n) => n.startsWith("runtime.")).length;
    await id("flame").focus();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("m");
    await id("frame-menu").waitFor();
    await eventually(async () =>
      assert.equal(await page.evaluate(() => document.activeElement.dataset.testid), "menu-copy"),
    );
    await page.keyboard.press("End");
    await page.keyboard.press("Escape");
    await eventually(async () => assert.equal(await id("frame-menu").count(), 0));
    assert.equal(await page.evaluate(() => document.activeElement.dataset.testid), "flame");
    await page.keyboard.press("Shift+F10");
    await id("frame-menu").waitFor();
    await page.keyboard.press("Escape");

    await menuOf("runtime.main");
    await id("menu-library").click();
    await eventually(async () => {
      const left = (await names()).filter((n) => n.startsWith("runtime."));
      assert.ok(left.length > 0 && left.length < many, `${left.length} of ${many}`);
      assert.ok(
        left.every((n) => n === "runtime.…"),
        left.join(),
      );
    });
    assert.equal((await frame("total")).total, whole.total);
    assert.equal(await id("shown-share").innerText(), "100 % of the total shown");

    await id("graph-menu").click();
    await id("recursion-all").click();
    await eventually(async () => {
      // no function is below itself any more
      const all = (await frames()).sort((a, b) => a.depth - b.depth);
      const inside = (a, b) => b.x >= a.x - 0.01 && b.x + b.w <= a.x + a.w + 0.01;
      const again = all.find((a) =>
        all.some(
          (b) => b.depth > a.depth && b.name === a.name && b.file === a.file && inside(a, b),
        ),
      );
      assert.equal(again, undefined);
    });
    assert.equal((await frame("total")).total, whole.total);
  },
);

pageTest("a sandwich has the function's total on both sides and leads on", {}, async () => {
  await open(`?service=${APP}`);
  await drawn();
  const row = id("function").nth(1);
  const name = await row.getAttribute("data-name");
  const total = await row.locator("td").nth(2).innerText();
  await row.click({ button: "right" });
  await id("menu-sandwich").click();
  await id("sandwich").waitFor();
  await eventually(async () => {
    const [up, down] = [await frames("__callers"), await frames("__callees")];
    assert.deepEqual([up[0].name, down[0].name], [name, name]);
    assert.equal(up[0].total, down[0].total);
    // the callers' root is right above the function's own frame
    assert.ok(up.every((f) => f.depth === 0 || f.y < up[0].y));
    assert.ok(down.every((f) => f.depth === 0 || f.y > down[0].y));
  });
  const share = Number(/total [^·]*? ([\d.]+) %/.exec(await id("sandwich-figures").innerText())[1]);
  assert.ok(Math.abs(share - Number.parseFloat(total)) < 0.06, `${share} and ${total}`);
  const caller = (await frames("__callers"))
    .filter((f) => f.depth === 1)
    .sort((a, b) => b.w - a.w)[0];
  await page.mouse.click(caller.x + caller.w / 2, caller.y + 8);
  await eventually(async () => assert.equal((await frames("__callees"))[0].name, caller.name));
  await page.goBack();
  await eventually(async () => assert.equal((await frames("__callees"))[0].name, name));
  await page.keyboard.press("Escape");
  await drawn();
  assert.equal(await id("sandwich").count(), 0);
});

pageTest("flame and icicle, leaf first, a legend that dims, counts of a search", {}, async () => {
  await open(`?service=${APP}`);
  const root = await frame("total");
  await id("graph-menu").click();
  await id("direction-flame").click();
  await eventually(async () => {
    const all = await frames();
    const bottom = all.find((f) => f.depth === 0);
    assert.ok(bottom.y > root.y && all.every((f) => f.depth === 0 || f.y < bottom.y));
  });
  await eventually(() => assert.equal(query().get("direction"), "flame"));
  await id("flame").focus();
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("ArrowUp");
  const first = (await frames()).filter((f) => f.depth === 1).sort((a, b) => b.w - a.w)[0];
  await eventually(async () =>
    assert.ok((await id("status").innerText()).startsWith(first.name), "up leads to a callee"),
  );

  await id("graph-menu").click();
  await id("invert").click();
  await eventually(async () => {
    const leaves = (await frames()).filter((f) => f.depth === 1);
    assert.ok(leaves.length > 5);
    for (const leaf of leaves.slice(0, 5)) {
      const shown = page.locator(`[data-testid=function][data-name="${leaf.name}"] td`).nth(1);
      if ((await shown.count()) === 0) continue;
      const self = Number.parseFloat(await shown.innerText());
      assert.ok(Math.abs((leaf.total / root.total) * 100 - self) < 0.02, leaf.name);
    }
  });
  await page.goBack();
  await page.goBack();

  // one pixel of two packages: that of the other one fades when a package is picked
  const color = async (f) =>
    page.evaluate(
      ([x, y]) => {
        const canvas = document.querySelector("[data-testid=flame]");
        const box = canvas.getBoundingClientRect();
        const scale = canvas.width / box.width;
        const at = [(x - box.left) * scale, (y - box.top) * scale].map(Math.round);
        return [...canvas.getContext("2d").getImageData(at[0], at[1], 1, 1).data].join();
      },
      [f.x + f.w - 4, f.y + 3],
    );
  const [go, py] = [await frame("runtime.main"), await frame("Py_RunMain")];
  const before = [await color(go), await color(py)];
  assert.notEqual(before[0], before[1]);
  await page.locator("[data-testid=legend-entry][data-package=runtime]").click();
  await eventually(async () => {
    assert.equal(await color(go), before[0]);
    assert.notEqual(await color(py), before[1]);
  });
  await page.locator("[data-testid=legend-entry][data-package=runtime]").click();
  await eventually(async () => assert.equal(await color(py), before[1]));

  // the largest packages differ, and keep their colours in another profile of the application
  const swatches = () =>
    id("legend-entry").evaluateAll((all) =>
      all.map((e) => [
        e.dataset.package,
        getComputedStyle(e.querySelector(".swatch")).backgroundColor,
      ]),
    );
  const largest = await swatches();
  assert.ok(largest.length > 12);
  const colors = largest.filter(([key]) => key !== "[kernel]").slice(0, 12);
  assert.equal(new Set(colors.map(([, c]) => c)).size, 12);
  const types = server.requests.length;
  await page.getByRole("button", { name: "Memory", exact: true }).click();
  await eventually(() => {
    const asked = server.requests.slice(types).find((r) => r.name === "flamegraph");
    assert.match(asked?.params.type ?? "", /heap/);
  });
  await eventually(async () => {
    const there = new Map(await swatches());
    for (const [key, c] of colors) if (there.has(key)) assert.equal(there.get(key), c, key);
  });
  await page.goBack();

  // what is found is listed with its figures
  await id("search").fill("/^runtime\\.gc/");
  await eventually(async () => {
    const listed = await id("function").evaluateAll((rows) => rows.map((r) => r.dataset.name));
    assert.ok(listed.length > 0 && listed.every((n) => /^runtime\.gc/i.test(n)), listed.join());
    const head = await id("sort-name").innerText();
    assert.match(head, new RegExp(`^${listed.length} of [\\d,]+ functions`));
    assert.match(await id("matched").getAttribute("title"), new RegExp(`^${listed.length} func`));
  });
});

pageTest(
  "a cut answer is marked, the search is of the whole, and zoom asks for more",
  { maxNodes: 150 },
  async () => {
    await open(`?service=${APP}`);
    await drawn();
    assert.match(await id("cut").innerText(), /^[\d.]+ % in other$/);
    assert.equal(await id("quality").locator(".dot.good").count(), 0);
    const whole = (await frame("total")).total;
    const first = server.requests.find((r) => r.name === "flamegraph");
    assert.equal(first.params.maxNodes, undefined, "the server's own limit holds");

    await id("search").fill("runtime.");
    const asked = () => server.requests.filter((r) => r.name === "matches").at(-1);
    await eventually(() => assert.equal(asked()?.params.search, "runtime."));
    const share = (fixture.matches(asked().params).total / whole) * 100;
    await eventually(async () =>
      assert.equal(await id("matched").innerText(), `matched ${share.toFixed(1)} %`),
    );
    await id("search").fill("");

    const others = (await frames()).filter((f) => f.name === "other").length;
    assert.ok(others > 0);
    const go = await frame("runtime.main");
    const below = (await frames()).filter((f) => f.x >= go.x && f.x + f.w <= go.x + go.w).length;
    await page.mouse.click(go.cx, go.cy);
    await eventually(() =>
      assert.equal(
        server.requests.filter((r) => r.name === "flamegraph").at(-1).params.zoom,
        query().get("zoom"),
      ),
    );
    await eventually(async () => assert.ok((await frames()).length > below, "more than before"));
    assert.equal((await frame("total")).total, whole);

    // a sandwich of a cut tree is the server's: all stacks are in it
    await id("function").nth(2).click({ button: "right" });
    await id("menu-sandwich").click();
    await id("sandwich").waitFor();
    await eventually(async () => {
      const asked = server.requests.filter((r) => r.name === "function").at(-1);
      const [up, down] = [await frames("__callers"), await frames("__callees")];
      assert.equal(up[0].total, fixture.function(asked.params).total);
      assert.equal(down[0].total, up[0].total);
      assert.ok(!up.some((f) => f.name === "other"));
    });
    await id("sandwich-close").click();

    // the table is the server's until an edit makes it one of the cut tree
    assert.doesNotMatch(await id("function").first().innerText(), /≥/);
    await page.goto(`${server.url}?service=${APP}&edit=recursion:*@`);
    await drawn();
    await eventually(async () =>
      assert.match(await id("function").first().innerText(), /≥ [\d.]+ %\s.*≥ [\d.]+ %$/s),
    );
  },
);

pageTest(
  "all answers about a cut tree scale the baseline, and one that fails is named",
  { maxNodes: 150 },
  async () => {
    const to = Date.now() - 60_000;
    const select = `${to - 1_800_000}-${to - 900_000}`;
    const base = `${to - 3_000_000}-${to - 2_400_000}`; // two thirds as long
    const ranges = `range=${to - 3_600_000}-${to}&select=${select}&base=${base}`;
    await open(`?service=${APP}&${ranges}&diff=absolute`);
    await drawn();
    const close = (a, b) => assert.ok(Math.abs(a - b) <= 1e-9 * Math.abs(b), `${a} is not ${b}`);
    const asked = (name) => server.requests.filter((r) => r.name === name).at(-1)?.params;
    const whole = await frame("total");
    close(whole.base, fixture.flamegraph(asked("flamegraph")).base.total * 1.5);
    const go = await frame("runtime.main");
    const below = (await frames()).filter((f) => f.x >= go.x && f.x + f.w <= go.x + go.w).length;
    await page.mouse.click(go.cx, go.cy);
    await eventually(async () => assert.ok((await frames()).length > below, "more than before"));
    close((await frame("total")).base, whole.base);
    close((await frame("runtime.main")).base, go.base);

    const f = { name: go.name, file: go.file };
    const exact = fixture.function({ ...asked("flamegraph"), ...f });
    await page.mouse.click(go.cx, (await frame(go.name)).cy, { button: "right" });
    await id("menu-sandwich").click();
    await eventually(async () => {
      assert.equal(asked("function")?.name, go.name);
      assert.doesNotMatch(await id("sandwich-figures").innerText(), /≥/);
      close((await frames("__callees"))[0].base, exact.baseTotal * 1.5);
      close((await frames("__callers"))[0].base, exact.baseTotal * 1.5);
    });
    await id("sandwich-close").click();

    // the deeper answer fails: the first one is shown, and why is said
    fixture.options.faults = { flamegraph: "the store is busy" };
    await page.goBack();
    await eventually(async () => assert.equal(await id("sandwich").count(), 1));
    await id("sandwich-close").click();
    await drawn();
    const inside = (await frames()).filter((f) => f.depth === go.depth + 1 && f.name !== "other");
    const next = inside.sort((a, b) => b.w - a.w)[0];
    await page.mouse.click(next.x + next.w / 2, next.y + next.h / 2);
    await eventually(async () =>
      assert.match(await id("shallow").innerText(), /could not be loaded: the store is busy/),
    );
    assert.equal(await page.evaluate(() => window.__flame.zoom()), next.name);
    fixture.options.faults = {};
    await id("shallow").getByRole("button").click();
    await eventually(async () => assert.equal(await id("shallow").count(), 0));
  },
);

pageTest("a finger that rests on a frame opens its menu", {}, async () => {
  await open(`?service=${APP}`, { width: 390, height: 844, touch: true });
  const f = await frame("python3");
  const cdp = await page.context().newCDPSession(page);
  const touch = (type, touchPoints) => cdp.send("Input.dispatchTouchEvent", { type, touchPoints });
  await touch("touchStart", [{ x: f.cx, y: f.cy }]);
  await id("frame-menu").waitFor();
  await touch("touchEnd", []);
  await id("menu-focus").tap();
  await eventually(() => assert.match(query().get("edit"), /^focus:python3@/));
  await eventually(() => assert.equal(query().get("zoom"), null));

  // the sandwich has the whole pane
  await eventually(async () => assert.ok(!(await names()).includes("compile")));
  const again = await frame("python3");
  await touch("touchStart", [{ x: again.cx, y: again.cy }]);
  await id("frame-menu").waitFor();
  await touch("touchEnd", []);
  await id("menu-sandwich").tap();
  await eventually(async () => assert.equal((await frames("__callees"))[0]?.name, "python3"));
  const box = await id("callees").boundingBox();
  assert.ok(box.width > 370 && box.height > 150, JSON.stringify(box));
  assert.equal(await id("flame").count(), 0);
});

// as other languages and other people may name a function
const DECEITFUL = [
  "pay\u202ednufer.Refund",
  "zero\u200bwidth.Name",
  `very::${"long_part_".repeat(400)}::end`,
  "std::map<int, Foo<Bar<Baz<int, 3>>>>::operator[](int const&)",
  "<img src=x onerror=alert(1)>.f",
];

pageTest(
  "names are shown as they are, and never push figures away",
  { names: DECEITFUL },
  async () => {
    await open(`?service=${APP}`);
    await drawn();
    for (const name of DECEITFUL) {
      const f = await frame(name);
      await page.mouse.move(f.cx, f.cy);
      const shown = await id("tooltip").locator("b").innerText();
      const row = page.locator(`[data-testid=function][data-name=${JSON.stringify(name)}]`);
      for (const text of [shown, await id("status").innerText(), await row.innerText()])
        assert.ok(!/[\u200b\u202e]/.test(text), JSON.stringify(text));
      const [tip, total] = [
        await id("tooltip").boundingBox(),
        await id("tooltip").locator("dd").first().boundingBox(),
      ];
      assert.ok(total.y + total.height < tip.y + tip.height && tip.height < 300, name.slice(0, 30));
      assert.ok(tip.y + tip.height <= 860 && (tip.y >= f.y + f.h || tip.y + tip.height <= f.y));
    }
    const text = (n) =>
      page
        .locator(`[data-testid=function][data-name=${JSON.stringify(DECEITFUL[n])}] .mono`)
        .innerText();
    assert.equal(await text(0), "pay\\u{202e}dnufer.Refund");
    assert.equal(await text(1), "zero\\u{200b}width.Name");
    assert.equal(await text(3), "map<…>::operator[]");
  },
);
