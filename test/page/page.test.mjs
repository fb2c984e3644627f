// The built page in a browser, on made-up answers: everything that a person can do with profiles.
// PAGE_DIST: folder of the built page; DEPS_WEB: folder with node_modules.

import assert from "node:assert/strict";
import * as fs from "node:fs";
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

pageTest("the start page lists applications by CPU and opens one by click", {}, async () => {
  await open();
  const rows = id("application");
  await rows.first().waitFor();
  await eventually(async () => assert.equal(await rows.count(), 8));
  await eventually(async () =>
    assert.match(await rows.nth(0).innerText(), /4f1d2c9ab310[\s\S]*1\.310/),
  );
  await id("application-filter").fill("burn");
  await eventually(async () => assert.equal(await rows.count(), 1));
  await rows.first().click();
  await drawn();
  await eventually(() => assert.equal(query().get("service"), "/process/burn"));
  await eventually(async () => assert.equal(await id("picker").innerText(), "burn process"));
  await page.goBack();
  await rows.first().waitFor();
});

pageTest(
  "a long name leaves room for the numbers beside it",
  { more: [[`/system.slice/${"very-long-".repeat(30)}.service`, 0.5]] },
  async () => {
    await open("", { width: 1280, height: 720 });
    const row = id("application").filter({ hasText: "very-long-" });
    // the bar has no room on such a screen
    const cells = row.locator("td:visible");
    await eventually(async () => {
      const boxes = await cells.evaluateAll((list) =>
        list.map((td) => [td.className, td.getBoundingClientRect().toJSON()]),
      );
      assert.equal(boxes.length, 6, JSON.stringify(boxes));
      for (const [name, box] of boxes)
        assert.ok(box.width > 40 && box.right <= 1280, `${name}: ${JSON.stringify(box)}`);
    });
  },
);

pageTest("the picker finds an application by its name", {}, async () => {
  await open(`?service=${APP}`);
  await id("picker").click();
  await page.keyboard.type("kubelet");
  await eventually(async () => assert.equal(await id("picker-item").count(), 1));
  await page.keyboard.press("Enter");
  await eventually(() => assert.equal(query().get("service"), "/system.slice/kubelet.service"));
});

pageTest("nothing scrolls the page, at any size", {}, async () => {
  for (const [width, height] of [
    [1440, 860],
    [1280, 720],
    [1024, 600],
  ]) {
    await open(`?service=${APP}`, { width, height });
    await drawn();
    const over = () =>
      page.evaluate(() => [
        document.documentElement.scrollHeight - innerHeight,
        document.documentElement.scrollWidth - innerWidth,
        [
          ...document.querySelectorAll(
            ".header > *, .header-right > *, .toolbar > *, .toolbar-right > *",
          ),
        ].filter((e) => e.getBoundingClientRect().right > innerWidth + 0.5).length,
      ]);
    await eventually(async () => assert.deepEqual(await over(), [0, 0, 0], `${width}×${height}`));
    if (width !== 1024) await page.close();
  }
});

pageTest(
  "a click zooms, Escape and a click on an ancestor go back, the address keeps it",
  {},
  async () => {
    await open(`?service=${APP}`);
    const python = await frame("python3");
    await page.mouse.click(python.cx, python.cy);
    await eventually(async () => assert.ok((await frame("python3")).w > 900));
    await eventually(() => assert.match(query().get("zoom"), /^[0-9a-f]{16}$/));
    await eventually(async () => assert.match(await id("reset-zoom").innerText(), /python3/));

    await page.reload();
    await drawn();
    await eventually(async () =>
      assert.equal(await page.evaluate(() => window.__flame.zoom()), "python3"),
    );

    const total = await frame("total");
    await page.mouse.click(total.cx, total.cy);
    await eventually(() => assert.equal(query().get("zoom"), null));
    await page.goBack();
    await eventually(async () =>
      assert.equal(await page.evaluate(() => window.__flame.zoom()), "python3"),
    );
    await page.keyboard.press("Escape");
    await eventually(async () =>
      assert.equal(await page.evaluate(() => window.__flame.zoom()), "total"),
    );
  },
);

pageTest(
  "the tooltip describes the frame, leaves it free and stays in the window",
  {},
  async () => {
    await open(`?service=${APP}`, { width: 1280, height: 720 });
    await drawn();
    const all = await page.evaluate(() =>
      window.__flame.frames().filter((f) => f.w > 8 && f.y < innerHeight - 60),
    );
    const step = Math.ceil(all.length / 60);
    for (let i = 0; i < all.length; i += step) {
      const f = all[i];
      await page.mouse.move(f.x + f.w / 2, f.y + f.h / 2);
      await eventually(async () =>
        assert.equal(await id("tooltip").locator("b").innerText(), f.name),
      );
      const box = await id("tooltip").boundingBox();
      assert.ok(
        box.x >= 0 && box.y >= 0 && box.x + box.width <= 1280 && box.y + box.height <= 720,
        `in the window: ${f.name}`,
      );
      assert.ok(box.y >= f.y + f.h || box.y + box.height <= f.y, `beside its frame: ${f.name}`);
    }
    const python = await frame("python3");
    await page.mouse.move(python.cx, python.cy);
    const share = (python.total / (await frame("total")).total) * 100;
    await eventually(async () =>
      assert.ok((await id("tooltip").innerText()).includes(`${share.toFixed(1)} %`)),
    );
    await eventually(async () => assert.match(await id("status").innerText(), /^python3/));
  },
);

pageTest(
  "a search shows its share of the whole, filters the table and is part of the address",
  {},
  async () => {
    await open(`?service=${APP}`);
    await drawn();
    await page.keyboard.press("/");
    await page.keyboard.type("/^python3$/");
    const python = await frame("python3");
    const share = (python.total / (await frame("total")).total) * 100;
    await eventually(async () =>
      assert.equal(await id("matched").innerText(), `matched ${share.toFixed(1)} %`),
    );
    await eventually(() => assert.equal(query().get("search"), "/^python3$/"));
    await id("search").fill("malloc");
    await eventually(async () => {
      const rows = await id("function").evaluateAll((list) => list.map((r) => r.dataset.name));
      assert.ok(rows.length > 1 && rows.every((n) => /malloc/i.test(n)), rows.join());
    });
    await id("search").fill("/(/");
    await eventually(async () =>
      assert.match(await id("matched").innerText(), /not a regular expression/),
    );
    await page.keyboard.press("Escape");
    await eventually(() => assert.equal(query().get("search"), null));
  },
);

pageTest("what is typed in the moment in which the search appears is not lost", {}, async () => {
  await open();
  await id("application").first().waitFor();
  await page.evaluate(() => {
    new MutationObserver((_, observer) => {
      const input = document.querySelector("[data-testid=search]");
      if (!input) return;
      observer.disconnect();
      input.value = "malloc";
      input.dispatchEvent(new Event("input", { bubbles: true }));
    }).observe(document, { childList: true, subtree: true });
  });
  await id("application").first().click();
  await drawn();
  await eventually(() => assert.equal(query().get("search"), "malloc"));
  await eventually(async () => assert.match(await id("matched").innerText(), /matched [1-9]/));
  assert.equal(await id("search").inputValue(), "malloc");
});

pageTest("a row of the table marks its function and frees it again", {}, async () => {
  await open(`?service=${APP}`);
  const row = page.locator('[data-testid=function][data-name="PyLong_FromString"]');
  await row.click();
  await eventually(() => assert.equal(query().get("search"), '"PyLong_FromString"'));
  await eventually(async () => assert.equal(await row.getAttribute("aria-current"), "true"));
  await eventually(async () => {
    const total = await row.locator("td").nth(2).innerText();
    const matched = await id("matched").innerText();
    assert.ok(
      Math.abs(parseFloat(total) - parseFloat(matched.replace("matched ", ""))) < 0.06,
      `${total} ${matched}`,
    );
  });
  await row.click();
  await eventually(() => assert.equal(query().get("search"), null));
});

pageTest("the table sorts by its heads", {}, async () => {
  await open(`?service=${APP}&view=table`);
  await id("sort-total").click();
  const column = (k) =>
    id("function").evaluateAll(
      (rows, k) =>
        rows.map((r) => parseFloat(r.cells[k].innerText.replace(/.* (?=\d+\.\d+ %)/, ""))),
      k,
    );
  await eventually(async () => {
    const totals = await id("function").evaluateAll((rows) =>
      rows.map((r) => parseFloat(/([\d.]+) %/.exec(r.cells[2].innerText)[1])),
    );
    assert.deepEqual(
      totals,
      [...totals].sort((a, b) => b - a),
    );
  });
  await eventually(() => assert.equal(query().get("sort"), "-total"));
  await id("sort-name").click();
  await eventually(async () => assert.equal(query().get("sort"), "name"));
  await eventually(async () => assert.ok((await column(1)).length > 5));
});

pageTest("only the visible rows of a long table exist", {}, async () => {
  await open(`?service=${APP}`);
  await drawn();
  const all = await eventually(async () => {
    const n = Number(await id("functions").getAttribute("aria-rowcount"));
    assert.ok(n > 80, `${n}`);
    return n;
  });
  await eventually(async () => assert.ok((await id("function").count()) < 60));
  await page.locator(".table-scroll").evaluate((e) => (e.scrollTop = e.scrollHeight));
  await eventually(async () =>
    assert.equal(Number(await id("function").last().getAttribute("aria-rowindex")), all),
  );
});

pageTest(
  "dragging on the timeline narrows the flame graph at once, and Zoom makes it the range",
  {},
  async () => {
    await open(`?service=${APP}&range=1h`);
    await drawn();
    const box = await id("timeline").boundingBox();
    await page.mouse.move(box.x + 700, box.y + 40);
    await page.mouse.down();
    await page.mouse.move(box.x + 1000, box.y + 40, { steps: 6 });
    await page.mouse.up();
    await id("selection-zoom").waitFor();
    const [from, to] = await eventually(() => query().get("select").split("-").map(Number));
    assert.ok(to - from > 600_000 && to - from < 1_200_000);
    await eventually(() => {
      const last = server.requests.filter((r) => r.name === "flamegraph").pop();
      assert.deepEqual([last.params.from, last.params.to], [from, to]);
    });
    await eventually(async () => assert.match(await id("live").getAttribute("title"), /selected/));
    await id("selection-clear").click();
    await eventually(() => assert.equal(query().get("select"), null));
    await page.goBack();
    await id("selection-zoom").click();
    await eventually(() => assert.equal(query().get("range"), `${from}-${to}`));
    await eventually(() => assert.equal(query().get("select"), null));
    await eventually(async () => assert.equal(await id("live").count(), 0));
  },
);

pageTest("arrows walk through the frames and Enter zooms", {}, async () => {
  await open(`?service=${APP}`);
  await drawn();
  await page.keyboard.press("ArrowDown"); // nothing has the focus yet
  await page.keyboard.press("ArrowDown");
  await eventually(async () => assert.match(await id("status").innerText(), /^compile/));
  await page.keyboard.press("ArrowRight");
  await eventually(async () => assert.match(await id("status").innerText(), /^indexer/));
  await page.keyboard.press("Enter");
  await eventually(async () =>
    assert.equal(await page.evaluate(() => window.__flame.zoom()), "indexer"),
  );
  await page.keyboard.press("Escape");
  await eventually(async () =>
    assert.equal(await page.evaluate(() => window.__flame.zoom()), "total"),
  );
});

pageTest("types, instances, ranges and colours reach the server and the address", {}, async () => {
  await open(`?service=${APP}`);
  await drawn();
  await id("type-memory").click();
  await eventually(() =>
    assert.equal(
      server.requests.filter((r) => r.name === "flamegraph").pop().params.type,
      "go:heap_inuse_space:bytes",
    ),
  );
  await id("all-types").click();
  await id("type-item-ebpf:cpu:nanoseconds").click();
  await eventually(() => assert.equal(query().get("type"), "ebpf:cpu:nanoseconds"));
  await id("instances").click();
  await id("instance").nth(1).click();
  await eventually(() =>
    assert.equal(
      server.requests.filter((r) => r.name === "flamegraph").pop().params.instance,
      "4f1d2c9ab310 · node-b",
    ),
  );
  await id("range").click();
  await id("range-3600").click();
  await eventually(() => assert.equal(query().get("range"), "1h"));
  await eventually(() => {
    const { from, to } = server.requests
      .filter((r) => r.name === "timeline" && !r.params.by)
      .pop().params;
    assert.equal(to - from, 3_600_000);
  });
  await id("range").click();
  await id("range-from").fill("2026-01-02T03:04:05");
  await id("range-to").fill("2026-01-02T03:04:04");
  await id("range-apply").click();
  await eventually(async () => assert.match(await page.locator(".problem").innerText(), /before/));
  await id("range-to").fill("2026-01-02T04:04:05");
  await id("range-apply").click();
  await eventually(() => {
    const [from, to] = query().get("range").split("-").map(Number);
    assert.equal(to - from, 3_600_000);
  });
});

pageTest("quality that ignores the filter says so", { scope: "application" }, async () => {
  await open(`?service=${APP}&where=${encodeURIComponent('version="1.4.2"')}`);
  await eventually(async () =>
    assert.match(await id("quality").innerText(), /complete stacks.* of the whole application/),
  );
  await id("quality").click();
  await eventually(async () =>
    assert.match(
      await page.locator(".quality-panel").innerText(),
      /numbers are those of the whole application, not of the filter/,
    ),
  );
});

pageTest("quality is in sight, and says why samples are lost or stacks end", {}, async () => {
  await open(`?service=${APP}`);
  await eventually(async () =>
    assert.match(
      await id("quality").innerText(),
      /6,000 samples.*99\.96 % complete stacks.*12 lost/,
    ),
  );
  await id("quality").click();
  await eventually(async () =>
    assert.match(await page.locator(".quality-panel").innerText(), /ring full\s+9/),
  );
  const ends = await id("walk-ends").innerText();
  assert.match(ends, /2 of 6,000 stacks .* because: code without unwind info/);
  assert.match(ends, /libfoo\.so\.1\s+2\s+11\.1 %/);
});

pageTest("exports are a pprof and folded text of what is shown", {}, async () => {
  await open(`?service=${APP}`);
  await drawn();
  await id("export").click();
  const [pprof] = await Promise.all([page.waitForEvent("download"), id("export-pprof").click()]);
  assert.equal(pprof.suggestedFilename(), "cpu.pb.gz");
  await id("export").click();
  const [folded] = await Promise.all([page.waitForEvent("download"), id("export-folded").click()]);
  const lines = fs
    .readFileSync(await folded.path(), "utf8")
    .trim()
    .split("\n");
  const sum = lines.reduce((s, l) => s + Number(l.slice(l.lastIndexOf(" ") + 1)), 0);
  await eventually(async () => assert.equal(sum, (await frame("total")).total));
});

pageTest("without any data the page says how to start", { empty: true }, async () => {
  await open();
  await eventually(async () =>
    assert.match(
      await id("empty").innerText(),
      /coroot-node-agent --collector-endpoint=http:\/\/127\.0\.0\.1/,
    ),
  );
  await eventually(async () =>
    assert.match(
      await id("empty").innerText(),
      /kubectl annotate pod <pod> coroot.com\/profile-scrape=true coroot.com\/profile-port=8080/,
    ),
  );
});

pageTest("a range without data leads to the last one", {}, async () => {
  await open(`?service=${APP}&range=1600000000000-1600003600000`);
  await id("jump").click();
  await drawn();
  await eventually(() => {
    const [, to] = query().get("range").split("-").map(Number);
    assert.ok(Date.now() - to < 600_000, `${to}`);
  });
});

pageTest(
  "a silent agent is reported with the time of its last word",
  { lastSeen: Date.now() - 20 * 60_000 },
  async () => {
    await open(`?service=${APP}&range=1h`);
    await eventually(async () =>
      assert.match(await id("silence").innerText(), /2\d min ago.*node agent/),
    );
    await drawn();
  },
);

pageTest(
  "cores do not change while nothing comes, and say of which time they are",
  { lastSeen: Date.now() - 5 * 60_000 },
  async () => {
    await open("?range=1h", { clock: true });
    await eventually(async () =>
      assert.match(await id("silence").innerText(), /No new profiles since .* of the time before/),
    );
    const lists = (r) => r.name === "applications" && !r.params.points;
    const asked = () => server.requests.filter(lists);
    const { lastSeen } = fixture.options;
    const of = (r) => [r.params.from, r.params.to];
    await eventually(() => assert.deepEqual(of(asked().at(-1)), [lastSeen - 3600_000, lastSeen]));
    const cores = () => page.locator("[data-testid=application] .a-cores").allInnerTexts();
    const before = await cores();
    const n = asked().length;
    await page.clock.fastForward(60_000);
    await eventually(() => assert.ok(asked().length > n, "it still asks whether something came"));
    assert.deepEqual(of(asked().at(-1)), [lastSeen - 3600_000, lastSeen]);
    assert.deepEqual(await cores(), before);
    // and when something comes, the range is the present one again
    fixture.options.lastSeen = Date.now() + 3600_000;
    await page.clock.fastForward(20_000);
    await eventually(() => assert.ok(asked().at(-1).params.to > lastSeen + 60_000));
    await eventually(async () => assert.equal(await id("silence").count(), 0));
  },
);

pageTest(
  "a store that is behind is said to be, in place of the node agent",
  {
    lastSeen: Date.now() - 20 * 60_000,
    backlog: { uploads: 1240, bytes: 7e6, oldestSeconds: 541, failingSeconds: 200 },
  },
  async () => {
    for (const query of ["", `?service=${APP}&range=1h`, `?service=${APP}&range=5m`]) {
      await open(query);
      await eventually(async () => {
        const text = await id("behind").innerText();
        assert.match(text, /store is 9 min behind: 1,240 uploads wait .*not taken for 3 min/);
      });
      assert.equal(await id("silence").count(), 0);
    }
    fixture.options.backlog = { oldestSeconds: 3 };
    await open(`?service=${APP}&range=1h`);
    await id("silence").waitFor();
    assert.equal(await id("behind").count(), 0);
  },
);

pageTest(
  "a request that takes long is not aborted by the next refresh",
  {},
  async () => {
    const held = [];
    await open();
    await id("application").first().waitFor();
    // sparklines and the list of the time before have times of their own
    await page.route("**/api/applications*", (route) => {
      const { searchParams: p } = new URL(route.request().url());
      const isList = !p.has("points") && Number(p.get("to")) > Date.now() - 600_000;
      return isList ? held.push(route) : route.continue();
    });
    await eventually(async () => assert.equal(held.length, 1));
    // the time of one more refresh, and a little
    await page.waitForTimeout(12_000);
    assert.equal(held.length, 1);
    await held[0].fulfill({ status: 503, json: { error: "the store does not answer" } });
    await id("error").waitFor();
    assert.match(await id("error").innerText(), /Applications: the store does not answer/);
    // and the refreshes continue
    await eventually(async () => assert.ok(held.length > 1));
    await page.unroute("**/api/applications*", { behavior: "ignoreErrors" });
  },
);

pageTest(
  "an error is one line, and the rest goes on",
  { faults: { timeline: "store is busy" } },
  async () => {
    await open(`?service=${APP}`);
    await drawn();
    await eventually(async () =>
      assert.match(await id("error").innerText(), /Timeline: store is busy/),
    );
    fixture.options.faults = {};
    await page.getByRole("button", { name: "Retry" }).click();
    await eventually(async () => assert.equal(await id("error").count(), 0));
  },
);

pageTest("the theme follows the system until it is chosen", {}, async () => {
  await open(`?service=${APP}`, { colorScheme: "dark" });
  const theme = () => page.evaluate(() => document.documentElement.dataset.theme);
  await drawn();
  await eventually(async () => assert.equal(await theme(), "dark"));
  await id("theme").click();
  await eventually(async () => assert.equal(await theme(), "light"));
  await page.reload();
  await drawn();
  await eventually(async () => assert.equal(await theme(), "light"));
});

pageTest("views show the table, the flame graph or both", {}, async () => {
  await open(`?service=${APP}`);
  await drawn();
  await id("view-flame").click();
  await eventually(async () => assert.equal(await id("functions").count(), 0));
  await eventually(async () => assert.ok((await frame("total")).w > 1400));
  await id("view-table").click();
  await eventually(async () => assert.equal(await id("flame").count(), 0));
  await eventually(() => assert.equal(query().get("view"), "table"));
});

pageTest("a deep graph scrolls inside itself", {}, async () => {
  await open(`?service=${APP}`, { width: 1280, height: 480 });
  await drawn();
  const before = await frame("total");
  await page.mouse.move(before.cx, before.cy);
  await page.mouse.wheel(0, 190);
  await eventually(async () => assert.ok((await frame("total")).y < before.y - 100));
});

pageTest(
  "a refresh brings new data, keeps the scroll, and waits while a frame is under the mouse",
  {},
  async () => {
    await open(`?service=${APP}`, { width: 1280, height: 480 });
    await drawn();
    const asked = () => server.requests.filter((r) => r.name === "flamegraph").length;
    await page.locator(".flame-scroll").evaluate((e) => (e.scrollTop = 95));
    const before = asked();
    await id("live").click();
    await eventually(() => assert.ok(asked() > before)); // it may be time for one anyway
    await eventually(async () => assert.equal(await page.locator(".progress").count(), 0));
    await eventually(async () =>
      assert.equal(await page.locator(".flame-scroll").evaluate((e) => e.scrollTop), 95),
    );
    await eventually(async () => assert.equal(await id("live").innerText(), "Live"));
    const box = await id("flame").boundingBox();
    await page.mouse.move(box.x + box.width / 2, box.y + 9);
    await eventually(async () => assert.equal(await id("live").innerText(), "Paused"));
  },
);

pageTest("an answer that is no tree is reported and does not break the page", {}, async () => {
  const flamegraph = fixture.flamegraph;
  fixture.flamegraph = (p) => {
    const answer = flamegraph(p);
    return { ...answer, nodes: { ...answer.nodes, depth: answer.nodes.depth.map(() => 7) } };
  };
  await open(`?service=${APP}`);
  await eventually(async () =>
    assert.match(await page.locator(".error-strip").innerText(), /no tree/),
  );
  await eventually(async () => assert.equal(await id("timeline").count(), 1));
});

pageTest("an answer that lacks a part is an error that says which part", {}, async () => {
  const { flamegraph } = fixture;
  const failed = (what) =>
    eventually(async () => assert.match(await id("failed").innerText(), what));
  fixture.flamegraph = (p) => ({ ...flamegraph(p), functions: undefined });
  await open(`?service=${APP}`);
  await failed(/incomplete: its functions are missing/);
  fixture.flamegraph = (p) => ({ ...flamegraph(p), quality: null });
  await id("retry").click();
  await failed(/incomplete: “quality” is missing/);
  fixture.flamegraph = flamegraph;
  await id("retry").click();
  await drawn();
  assert.equal(await id("failed").count(), 0);
});
