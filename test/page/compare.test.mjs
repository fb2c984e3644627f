// Comparison, labels as filters, and the timeline by label, in a browser on made-up answers.

import assert from "node:assert/strict";
import {
  drawn,
  eventually,
  fixture,
  id,
  open,
  page,
  pageTest,
  query,
  server,
} from "./page_harness.mjs";
import { known } from "./page_stacks.mjs";

const APP = "/docker/4f1d2c9ab310";

/** Drags over the timeline, from and to in pixels of the window. */
async function drag(from, to) {
  const box = await id("timeline").boundingBox();
  await page.mouse.move(from, box.y + 40);
  await page.mouse.down();
  await page.mouse.move(to, box.y + 40, { steps: 6 });
  await page.mouse.up();
}

const span = (text) => text.split("-").map(Number);
const lastFlame = () => server.requests.filter((r) => r.name === "flamegraph").pop().params;
const rows = () =>
  page.evaluate(() =>
    [...document.querySelectorAll("[data-testid=function]")].map((r) => [
      r.dataset.name,
      r.dataset.change,
      [...r.querySelectorAll("td.num")].map((c) => c.innerText.replace(/\s+/g, " ").trim()),
    ]),
  );

pageTest("a dragged part is compared with the time before it in one click", {}, async () => {
  await open(`?service=${APP}&range=1h`);
  await drawn();
  await drag(700, 1000);
  await id("selection-compare").click();
  const [from, to] = await eventually(() => span(query().get("select")));
  await eventually(() => {
    const { baseFrom, baseTo, ...p } = lastFlame();
    assert.deepEqual([p.from, p.to], [from, to]);
    assert.deepEqual([Number(baseFrom), Number(baseTo)], [2 * from - to, from]);
  });
  // both ranges stand on the timeline, side by side
  const [a, b] = [await id("box-a").boundingBox(), await id("box-b").boundingBox()];
  assert.ok(Math.abs(b.x + b.width - a.x) < 2 && Math.abs(a.width - b.width) < 2);
  assert.ok(Math.abs(a.x - 700) < 2 && Math.abs(a.width - 300) < 3);
  await eventually(async () => assert.match(await id("side-b").innerText(), /the \d+ min before/));
  assert.match(await id("side-a").innerText(), /\d\d:\d\d.*[\d.]+ cores/s);
  assert.match(await id("live").getAttribute("title"), /Paused/);

  // the largest growth is on top, and what is new is marked
  const all = await eventually(async () => {
    const list = await rows();
    assert.ok(list.some(([name, change]) => name === known.appeared && change === "new"));
    return list;
  });
  const change = (r) => parseFloat(r[2][2].replace(/^\D*?([+−])/, "$1").replace("−", "-"));
  const points = all.slice(0, 8).map(change);
  assert.deepEqual(
    points,
    [...points].sort((x, y) => y - x),
  );
  assert.match(all.find((r) => r[0] === known.appeared)[2].join(" "), /^new [\d.]+ % \+/);
  await id("changed-gone").click();
  await eventually(async () =>
    assert.deepEqual(
      (await rows()).map((r) => r.slice(0, 2)),
      [[known.vanished, "vanished"]],
    ),
  );
  await eventually(() => assert.equal(query().get("changed"), "gone"));

  // the other figures, and the other way to compare
  await id("changed-all").click();
  await id("measure-total").click();
  await id("diff-absolute").click();
  await eventually(async () =>
    assert.match(
      (await rows())[0][2].join(" "),
      /\d (s|min) [\d.]+ (s|min) .*\+[\d.]+ (s|min) [+−][\d.]+ pp$/,
    ),
  );
  await id("sort-change").click();
  await eventually(async () => assert.match((await rows())[0][2][2], /−/));
});

pageTest("both sides live in the address; Back and Forward, swap and leave", {}, async () => {
  const now = Date.now() - 60_000;
  const range = `${now - 3_600_000}-${now}`;
  const select = `${now - 1_800_000}-${now - 900_000}`;
  const base = `${now - 3_000_000}-${now - 2_400_000}`;
  await open(`?service=${APP}&range=${range}&select=${select}&base=${base}`);
  await drawn();
  await id("compare-bar").waitFor();
  await eventually(() => assert.equal(`${lastFlame().baseFrom}-${lastFlame().baseTo}`, base));
  // ranges of different length: absolute values are scaled, and the page says so
  await id("diff-absolute").click();
  await eventually(async () =>
    assert.match(await id("diff-legend").getAttribute("title"), /Baseline × 1\.50/),
  );
  assert.match(await id("side-b").innerText(), /values × 1\.50/);
  await id("swap").click();
  await eventually(() => assert.equal(query().get("select"), base));
  await eventually(() => assert.equal(query().get("base"), select));
  await page.goBack();
  await eventually(() => assert.equal(query().get("base"), base));
  await page.goForward();
  await eventually(() => assert.equal(query().get("base"), select));
  await page.reload();
  await drawn();
  await eventually(() => assert.equal(`${lastFlame().baseFrom}-${lastFlame().baseTo}`, select));

  // edges move by keyboard and by mouse
  await id("edge-b-to").focus();
  await page.keyboard.press("ArrowRight");
  await eventually(() => assert.equal(span(query().get("base"))[1], span(select)[1] + 36_000));
  const edge = await id("edge-a-from").boundingBox();
  await page.mouse.move(edge.x + 4, edge.y + 20);
  await page.mouse.down();
  await page.mouse.move(edge.x - 60, edge.y + 20, { steps: 4 });
  await page.mouse.up();
  await eventually(() => assert.ok(span(query().get("select"))[0] < span(base)[0] - 60_000));
  await eventually(() => assert.equal(span(query().get("select"))[1], span(base)[1]));

  await id("leave-comparison").click();
  await eventually(async () => assert.equal(await id("compare-bar").count(), 0));
  await eventually(() => assert.equal(query().get("base"), null));
  await eventually(() => assert.equal(lastFlame().baseFrom, undefined));
});

pageTest("any two ranges: a baseline is set, then the other is dragged", {}, async () => {
  await open(`?service=${APP}&range=1h`);
  await drawn();
  await drag(300, 500);
  await id("selection-baseline").click();
  await id("drag-hint").waitFor();
  const base = await eventually(() => span(query().get("base")));
  await eventually(() => assert.equal(query().get("select"), null));
  await eventually(async () =>
    assert.match(await id("live").getAttribute("title"), /fixed range is compared/),
  );
  await drag(800, 1000);
  await eventually(() => {
    const p = lastFlame();
    assert.deepEqual([Number(p.baseFrom), Number(p.baseTo)], base);
    assert.ok(p.from > base[1]);
  });
  const before = await eventually(() => span(query().get("select")));
  // a new baseline leaves the other side alone
  await drag(500, 700);
  await id("selection-baseline").click();
  await eventually(() => assert.ok(span(query().get("base"))[0] > base[0]));
  await eventually(() => assert.deepEqual(span(query().get("select")), before));
});

pageTest("a comparison with the time before follows the live range", {}, async () => {
  await open(`?service=${APP}&range=15m`);
  await drawn();
  await id("compare").click();
  await id("compare-previous").click();
  await eventually(async () => assert.equal(await id("live").innerText(), "Live"));
  const first = await eventually(() => {
    assert.ok(lastFlame().baseTo);
    return lastFlame();
  });
  await id("live").click(); // at once, instead of after the pause
  await eventually(() => {
    const p = lastFlame();
    assert.ok(p.to > first.to);
    assert.equal(Number(p.baseTo), p.from);
  });
  // a day before has a line of its own on the timeline
  await id("compare").click();
  await id("compare-day").click();
  await eventually(() => {
    const spans = server.requests.filter((r) => r.name === "timeline").map((r) => r.params);
    assert.ok(spans.some((p) => Date.now() - p.to > 80_000_000));
  });
  await eventually(async () => assert.match(await id("side-b").innerText(), /a day before/));
});

pageTest("labels filter, split the timeline, and are compared", {}, async () => {
  await open(`?service=${APP}&range=1h`);
  await drawn();
  await id("add-filter").click();
  await id("where").fill("version=1.4.2");
  await page.keyboard.press("Enter");
  await eventually(async () =>
    assert.match(await id("where-problem").innerText(), /value of version needs quotes/),
  );
  await id("label-version").click();
  await id("label-value").first().click();
  await eventually(() => assert.match(query().get("where"), /^version="[\d.]+"$/));
  await eventually(() => assert.equal(lastFlame().where, query().get("where")));
  await eventually(async () => assert.match(await id("chip").innerText(), /version = [\d.]+/));
  await id("chip").getByRole("button").click();
  await eventually(() => assert.equal(query().get("where"), null));

  await id("group-by").click();
  await id("by-version").click();
  const lines = id("legend-toggle");
  await eventually(async () => assert.ok((await lines.count()) >= 2));
  const [one, two] = await lines.evaluateAll((l) => l.map((x) => x.title.replace(/:.*/, "")));
  await lines.first().click();
  await eventually(async () =>
    assert.equal(await lines.first().getAttribute("aria-pressed"), "false"),
  );
  await id("legend-menu").first().click();
  await id("legend-compare").first().click();
  await eventually(() => {
    assert.equal(query().get("where"), `version="${one}"`);
    assert.equal(query().get("baseWhere"), `version="${two}"`);
    assert.equal(lastFlame().baseWhere, `version="${two}"`);
  });
  await eventually(async () =>
    assert.deepEqual(
      [await id("side-a").locator("b").innerText(), await id("side-b").locator("b").innerText()],
      [`version="${one}"`, `version="${two}"`],
    ),
  );
  // the rest of the panel: any two sides
  await id("compare").click();
  await id("where-b").fill("zone");
  await id("compare-apply").click();
  await eventually(async () =>
    assert.match(await id("compare-problem").innerText(), /^Baseline: expected =/),
  );
  await id("where-b").fill("");
  await id("base-service").fill("/process/burn");
  await id("compare-apply").click();
  await eventually(() => {
    assert.equal(query().get("baseWhere"), "");
    assert.equal(lastFlame().baseWhere, "");
    assert.equal(lastFlame().baseService, "/process/burn");
  });
  await eventually(async () => assert.match(await id("side-b").innerText(), /burn · any version/));
});

pageTest("a level is compared as it is, with both differences; shares by a click", {}, async () => {
  const mode = () =>
    page.locator("[data-testid^=diff-][aria-pressed=true],[data-testid^=diff-][aria-checked=true]");
  await open(`?service=${APP}&type=go:heap_inuse_space:bytes&base=previous`);
  await id("compare-bar").waitFor();
  await eventually(async () => assert.equal(await mode().innerText(), "Absolute"));
  await eventually(async () => assert.match((await rows())[0][2].at(-2), /^\+[\d.]+ [KMG]iB/));
  assert.match((await rows())[0][2].at(-1), /^[+−][\d.]+ pp$/);
  assert.equal(query().get("diff"), null);
  await id("sort-other").click();
  await eventually(async () => {
    const points = (await rows()).slice(0, 8).map((r) => parseFloat(r[2].at(-1)));
    assert.deepEqual(
      points,
      [...points].sort((x, y) => y - x),
    );
  });
  await id("diff-share").click();
  await eventually(() => assert.equal(query().get("diff"), "share"));
  // time that was used by as much as before is compared by shares
  await page.goto(`${server.url}?service=${APP}&base=previous`);
  await id("compare-bar").waitFor();
  await eventually(async () => assert.equal(await mode().innerText(), "Share"));
});

pageTest("a single sample makes a function neither new nor gone", {}, async () => {
  const { flamegraph } = fixture;
  fixture.flamegraph = (p) => {
    const g = flamegraph(p);
    if (!g.base) return g;
    const one = g.total / g.quality.samples;
    const add = (name, now, before) => {
      const values = { name: g.names.push(name) - 1, file: 0, self: now, total: now };
      const all = { ...values, baseSelf: before, baseTotal: before };
      for (const [column, v] of Object.entries(all)) g.functions[column].push(v);
    };
    add("one.more", one, 0);
    add("one.less", 0, one);
    add("twenty.more", 20 * one, 0);
    return g;
  };
  await open(`?service=${APP}&base=previous`);
  await id("compare-bar").waitFor();
  await id("changed-new").click();
  await eventually(async () =>
    assert.deepEqual(
      (await rows()).map((r) => r[0]),
      [known.appeared, "twenty.more"],
    ),
  );
  await id("changed-gone").click();
  await eventually(async () =>
    assert.deepEqual(
      (await rows()).map((r) => r[0]),
      [known.vanished],
    ),
  );
});

const HOUR = 3_600_000;
const released = { releasedAt: Date.now() - HOUR / 3 };
pageTest("the newest release is compared with the one before it", released, async () => {
  const sides = () => {
    assert.equal(query().get("where"), 'version="1.5.0"');
    assert.equal(query().get("baseWhere"), 'version="1.4.2"');
    assert.equal(lastFlame().where, 'version="1.5.0"');
    assert.equal(lastFlame().baseWhere, 'version="1.4.2"');
  };
  await open(`?service=${APP}&range=1h`);
  await drawn();
  // where it begins is a mark on the timeline
  const mark = id("release");
  await mark.waitFor();
  assert.equal(await mark.count(), 1);
  assert.equal(await mark.innerText(), "1.5.0");
  const [at, plot] = [await mark.boundingBox(), await page.locator(".u-over").boundingBox()];
  const share = (at.x - plot.x) / plot.width;
  const want = 1 - (Date.now() - released.releasedAt) / HOUR;
  assert.ok(Math.abs(share - want) < 0.03, `${share} ${want}`);
  await id("compare").click();
  await eventually(async () =>
    assert.deepEqual(
      [await id("compare-value-a").inputValue(), await id("compare-value-b").inputValue()],
      ["1.5.0", "1.4.2"],
    ),
  );
  await id("compare-releases").click();
  await eventually(sides);
  // while one of them is chosen, the mark is there as well: it compares the two
  await id("leave-comparison").click();
  await eventually(() => assert.equal(query().get("baseWhere"), null));
  await mark.getByRole("button").click();
  await eventually(sides);
});

pageTest("a baseline without data says so and offers others; colours are kept", {}, async () => {
  await open(`?service=${APP}&range=15m&base=-30d`);
  await id("empty-base").waitFor();
  await id("empty-base").getByText("The time right before").click();
  await eventually(() => assert.equal(query().get("base"), "previous"));
  await eventually(async () => assert.equal(await id("empty-base").count(), 0));
  const color = () =>
    page
      .locator(".scale span")
      .first()
      .evaluate((e) => e.style.background);
  const green = await color();
  await id("diff-legend").click();
  await eventually(async () => assert.notEqual(await color(), green));
  const blue = await color();
  await page.reload();
  await drawn();
  await eventually(async () => assert.equal(await color(), blue));
  // another application is not compared with this one's past
  await id("picker").click();
  await page.keyboard.type("kubelet");
  await page.keyboard.press("Enter");
  await eventually(() => assert.equal(query().get("base"), null));
});

pageTest("a filter that only the server can refuse is named", { refusals: true }, async () => {
  await open(`?service=${APP}&where=${encodeURIComponent('pod=~"("')}`);
  await eventually(async () =>
    assert.match(await id("filter-refused").innerText(), /filter is wrong[^]*regular expression/),
  );
  await id("filter-refused").getByRole("button").click();
  await drawn();
  await eventually(() => assert.equal(query().get("where"), null));
  await open(`?service=${APP}&where=pod`);
  await eventually(async () =>
    assert.match(await id("filter-error").innerText(), /expected =, !=, =~ or !~ after pod/),
  );
});

const few = { coveredMs: 60_000 };
pageTest("a baseline with few profiles is a warning that says how few", few, async () => {
  await open(`?service=${APP}&range=15m&base=previous`);
  await id("little-base").waitFor();
  assert.match(await id("little-base").innerText(), /^Only 60 s of 15 min of the baseline/);
  assert.match(await id("little-base").getAttribute("class"), /warn-strip/);
});

const old = { oldRelease: { until: Date.now() - 4 * HOUR } };
pageTest("a release before the range is compared with the newest, too", old, async () => {
  await open(`?service=${APP}&range=15m`);
  await drawn();
  await id("compare").click();
  await id("compare-releases").click();
  await eventually(() => {
    assert.equal(query().get("where"), 'version="1.5.0"');
    assert.equal(query().get("baseWhere"), 'version="1.4.2"');
    const [from, to] = query().get("base").split("-").map(Number);
    assert.ok(to <= old.oldRelease.until + HOUR && from < to, query().get("base"));
    assert.equal(query().get("range"), null); // it stays the last 15 minutes
  });
});

pageTest("yesterday is one click away, and so is the start of a level that grew", {}, async () => {
  const { timeline } = fixture;
  fixture.timeline = (p) => {
    const t = timeline(p);
    return { ...t, values: t.values.map((_, i) => 1000 + 20 * i) };
  };
  await open(`?service=${APP}&type=go:heap_inuse_space:bytes&range=15m`);
  await id("rise").waitFor();
  assert.match(await id("rise").innerText(), /since the start/);
  await id("rise").click();
  await eventually(() => {
    const [a, b] = ["select", "base"].map((name) => query().get(name).split("-").map(Number));
    assert.ok(b[1] < a[0] && a[1] - a[0] === b[1] - b[0], `${a} ${b}`);
  });
  await page.goto(`${server.url}?service=${APP}&range=15m`);
  await id("since-yesterday").click();
  await eventually(() => assert.equal(query().get("base"), "-1d"));
});
