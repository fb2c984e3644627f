// The start page with few and with very many applications.

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
import { Refusal } from "./page_answers.mjs";

const names = () => id("application").evaluateAll((rows) => rows.map((r) => r.dataset.service));
const nodes = () => page.evaluate(() => document.querySelectorAll("*").length);

/** The fixture's list, changed by `change`, for requests of the present. */
function changeList(change) {
  const { applications } = fixture;
  fixture.applications = (p) => {
    const answer = applications(p);
    return p.to < Date.now() - 600_000 ? answer : change(answer);
  };
}

pageTest(
  "10,000 applications are all there, and few of them are drawn",
  { applications: 10_000 },
  async () => {
    await open("", { width: 1440, height: 860 });
    await id("application").first().waitFor();
    await eventually(async () =>
      assert.match(await id("application-count").innerText(), /^10,000 applications/),
    );
    assert.ok((await nodes()) < 1500, `${await nodes()}`);
    assert.ok((await id("application").count()) < 60);
    const rows = Number(await id("applications").getAttribute("aria-rowcount"));
    assert.ok(rows > 6000, "one-off commands are folded");
    await page.locator(".start-scroll").evaluate((e) => (e.scrollTop = e.scrollHeight));
    await eventually(async () =>
      assert.equal(
        Number(
          await page
            .locator(".applications tbody tr:not(.spacer)")
            .last()
            .getAttribute("aria-rowindex"),
        ),
        rows,
      ),
    );
    assert.ok((await nodes()) < 1500);
    // a filter looks at all of them, also at those in groups
    await id("application-filter").fill("job mail");
    await eventually(async () =>
      assert.match(await id("application-count").innerText(), /^\d+ of 10,000/),
    );
    await eventually(async () => {
      const found = await names();
      assert.ok(found.length > 5 && found.every((n) => /mail-job/.test(n)), found[0]);
    });
    await id("application-filter").fill("");

    await id("picker").click();
    await eventually(async () => assert.ok((await id("picker-item").count()) > 5));
    assert.ok((await nodes()) < 1700, `${await nodes()}`);
    await page.keyboard.type("team-c mail");
    await eventually(async () => {
      const all = await id("picker-item").evaluateAll((list) => list.map((e) => e.title));
      assert.ok(all.length > 0 && all.every((t) => t.startsWith("/k8s/team-c/mail")), all[0]);
    });
    const first = await id("picker-item").first().getAttribute("title");
    await page.keyboard.press("Enter");
    await eventually(() => assert.equal(query().get("service"), first));
  },
);

pageTest(
  "one-off commands fold into groups with sums, which open",
  { applications: 60 },
  async () => {
    await open("", { width: 1440, height: 2400 });
    const groups = id("application-group");
    await groups.first().waitFor();
    const all = fixture.applications({ from: Date.now() - 900_000, to: Date.now() }).applications;
    const mine = all.filter((a) => a.service.startsWith("/process/cart-job"));
    const group = page.locator('[data-testid=application-group][data-service^="cart-job-"]');
    await eventually(async () =>
      assert.match(
        await group.innerText(),
        new RegExp(`^▸?\\s*cart-job-… ${mine.length} commands`),
      ),
    );
    const sum = mine.reduce((s, a) => s + a.cores, 0);
    assert.equal(await group.locator(".a-cores").innerText(), sum.toFixed(3));
    assert.ok(!(await names()).some((n) => n.includes("cart-job")));
    await group.getByRole("button").click();
    assert.equal(await group.getByRole("button").getAttribute("aria-expanded"), "true");
    await eventually(async () =>
      assert.equal((await names()).filter((n) => n.includes("cart-job")).length, mine.length),
    );
    // what has run all the time is no such command
    assert.ok((await names()).includes("/process/burn"));
  },
);

pageTest(
  "columns sort by click and by keyboard, and filter and order are in the address",
  { applications: 40 },
  async () => {
    await open();
    await id("application").first().waitFor();
    await id("order-name").click();
    await eventually(() => assert.equal(query().get("order"), "name"));
    await eventually(async () => {
      const shown = await names();
      assert.deepEqual(shown, [...shown].sort());
    });
    const head = page.locator("th", { has: id("order-name") });
    assert.equal(await head.getAttribute("aria-sort"), "ascending");
    await id("order-name").press("Enter");
    await eventually(async () => assert.equal(await head.getAttribute("aria-sort"), "descending"));
    await id("order-seen").click();
    await eventually(() => assert.equal(query().get("order"), "-seen"));

    await id("namespaces").click();
    await id("namespace-team-b").click();
    await eventually(() => assert.equal(query().get("namespace"), "team-b"));
    await eventually(async () => {
      const shown = await names();
      assert.ok(shown.length > 0 && shown.every((n) => n.startsWith("/k8s/team-b/")), shown.join());
    });
    await id("application-filter").fill("search");
    await eventually(() => assert.equal(query().get("filter"), "search"));
    const before = await eventually(async () => {
      const shown = await names();
      assert.ok(shown.length > 0 && shown.every((n) => n.includes("search")));
      return shown;
    });
    await page.reload();
    await eventually(async () => assert.deepEqual(await names(), before));
    assert.equal(await id("application-filter").inputValue(), "search");
  },
);

pageTest("the change against the time before is a column", {}, async () => {
  changeList((a) => ({
    ...a,
    applications: a.applications.map((x) =>
      x.service === "/process/burn" ? { ...x, cores: x.cores + 0.25 } : x,
    ),
  }));
  await open("?order=-change");
  await eventually(async () => assert.equal((await names())[0], "/process/burn"));
  await eventually(async () =>
    assert.equal(await id("application").first().locator(".a-change").innerText(), "+0.250"),
  );
});

pageTest("only what was there for long and then fell silent is amber", {}, async () => {
  const silent = 6 * 60_000;
  changeList((a) => {
    const [first] = a.applications;
    const lastSeen = Date.now() - silent;
    const spark = first.spark?.map((v, i) => (i < 14 ? 0.5 : null));
    const one = { ...first, types: [{ type: first.types[0].type, lastSeen }], lastSeen };
    const day = 86_400_000;
    const rare = spark?.map((v, i) => (i % 7 === 0 ? 0.5 : null));
    return {
      ...a,
      applications: [
        ...a.applications,
        { ...one, service: "/k8s/shop/gone", firstSeen: lastSeen - day, spark },
        { ...one, service: "/k8s/shop/cron", firstSeen: lastSeen - day, spark: rare },
        { ...one, service: "/k8s/shop/tried", firstSeen: lastSeen - 60_000, spark },
        { ...one, service: "/process/once", firstSeen: lastSeen - 700_000, spark },
      ],
    };
  });
  await open();
  const late = () =>
    page
      .locator("[data-testid=application]:has(.late)")
      .evaluateAll((rows) => rows.map((r) => r.dataset.service));
  await eventually(async () => assert.deepEqual(await late(), ["/k8s/shop/gone"]));
  assert.ok((await names()).includes("/process/once"));
  // a range of the past is not compared with the present
  await page.goto(`${server.url}?range=${Date.now() - 7_200_000}-${Date.now() - 3_700_000}`);
  await id("application").first().waitFor();
  assert.deepEqual(await late(), []);
});

pageTest("sparklines are not requested with every refresh", {}, async () => {
  const lists = (points) =>
    server.requests.filter(
      (r) => r.name === "applications" && r.params.points === points && isRecent(r),
    );
  const isRecent = ({ params }) => params.to > Date.now() - 600_000; // not what was before
  await open("", { clock: true });
  await page.locator(".spark").first().waitFor();
  for (let n = 2; n <= 4; n++) {
    await page.clock.runFor(10_000);
    await eventually(() => assert.ok(lists(undefined).length >= n));
  }
  // the clock may have passed a whole minute once
  assert.ok(lists(24).length <= 2, `${lists(24).length}`);
  assert.equal(lists(24)[0].params.to % 60_000, 0);
});

pageTest("without sparklines the applications are listed, and the error is shown", {}, async () => {
  const { applications } = fixture;
  fixture.applications = (p) => {
    if (p.points) throw new Refusal(503, "sparklines took too long");
    return applications(p);
  };
  await open();
  await id("application").first().waitFor();
  await eventually(async () => assert.match(await id("error").innerText(), /took too long/));
  assert.equal(await page.locator(".spark").count(), 0);
});

pageTest("top movers lead to the comparison of their function with yesterday", {}, async () => {
  await open("", { width: 1440, height: 860 });
  const mover = id("mover").first();
  await mover.waitFor();
  const name = await mover.getAttribute("data-name");
  assert.match(await mover.innerText(), /[+−]\d.*[\s\S]*→/);
  // "app" alone would be many; the whole name says which
  const service = new URL(await mover.evaluate((a) => a.href)).searchParams.get("service");
  const [, last, group] = /^(\S+) ?(.*)$/.exec(await mover.locator(".service-name").innerText());
  assert.equal(["", ...(group ? group.split(" / ") : []), last].join("/"), service);
  const { params } = server.requests.find((r) => r.name === "movers");
  assert.equal(params.baseFrom, undefined);
  assert.ok(params.to <= Date.now() && params.to > Date.now() - 600_000);
  await mover.click();
  await drawn();
  await eventually(() => assert.equal(query().get("base"), "-1d"));
  await eventually(() => assert.equal(query().get("search"), `"${name}"`));
  await eventually(() => assert.ok(query().get("fn").length > 1));
  await eventually(() => assert.ok(query().get("service")));
});

const HEAP = "go:heap_inuse_space:bytes";
const MIB = 1 << 20;
const levels = [
  { service: "/docker/4f1d2c9ab310", type: HEAP, value: 780 * MIB, base: 200 * MIB },
  { service: "/process/burn", type: HEAP, value: 90 * MIB, base: 60 * MIB, baseFrom: 1.8e12 },
  { service: "/kernel", type: HEAP, value: 4020 * MIB, base: 4000 * MIB },
  {
    service: "/process/burn",
    type: "go:goroutine_goroutine:count",
    value: 9000,
    base: 700,
  },
];

pageTest("memory that grew is one click from its comparison", { levels }, async () => {
  await open("", { width: 1440, height: 860 });
  const rows = id("growth");
  await rows.first().waitFor();
  const texts = (await rows.allInnerTexts()).map((t) => t.replace(/\s+/g, " "));
  assert.equal(texts.length, 3); // half a per cent of a heap is not growth
  assert.match(texts[0], /^4f1d2c9ab310 docker \+580 MiB .*200 MiB → 780 MiB$/);
  assert.match(texts[1], /against \d\d:\d\d on/);
  assert.match(texts[2], /\+8,300 goroutines/);
  const list = page.getByRole("region", { name: "Growth of memory and threads" });
  assert.match(await list.innerText(), /^Growth since yesterday, in use/);
  const asked = server.requests.find((r) => r.name === "levels").params;
  assert.equal(asked.limit, 3);
  await rows.first().click();
  await drawn();
  await eventually(() => assert.equal(query().get("base"), "-1d"));
  assert.equal(query().get("type"), HEAP);
  // levels are compared as they are
  await eventually(async () => {
    const { baseFrom, baseTo } = server.requests.findLast((r) => r.name === "flamegraph").params;
    assert.ok(baseFrom && baseTo);
    assert.equal(await id("diff-absolute").getAttribute("aria-pressed"), "true");
  });
});

pageTest("without yesterday, growth is against the time before", {
  levels: levels.filter((g) => g.baseFrom),
}, async () => {
  await open("", { width: 1440, height: 860 });
  await id("growth").first().waitFor();
  const list = page.getByRole("region", { name: "Growth of memory and threads" });
  assert.match(await list.innerText(), /^Growth against the time before, in use/);
  await id("growth").first().click();
  await eventually(() => assert.equal(query().get("base"), "previous"));
});

pageTest("without yesterday, movers are those since the time right before", {
  youngerThanADay: true,
  withoutBase: 2,
}, async () => {
  await open("?range=15m", { width: 1440, height: 860 });
  await id("mover").first().waitFor();
  const panel = page.getByRole("complementary", { name: "Top movers against the 15 min before" });
  assert.match(await panel.innerText(), /against the 15 min before/);
  assert.match(await id("movers-without").innerText(), /compare with: 2 applications/);
  await id("mover").first().click();
  await drawn();
  await eventually(() => assert.equal(query().get("base"), "previous"));
});

pageTest("a mover of a young application says against what, others are since yesterday", {
  youngerThanADay: ["/process/burn"],
}, async () => {
  await open("?range=15m", { width: 1440, height: 860 });
  const young = page.locator('[data-testid="mover"][href*="burn"]').first();
  await young.waitFor();
  const since = /burn process\s+against its first profiles, (\d\d:\d\d) – (\d\d:\d\d)/;
  assert.match(await young.innerText(), since);
  const href = new URL(await young.evaluate((a) => a.href));
  const [from, to] = href.searchParams.get("base").split("-").map(Number);
  assert.equal(to - from, 900_000);
  assert.ok(Date.now() - from > 6 * 900_000);
  const other = page.locator('[data-testid="mover"]:not([href*="burn"])').first();
  assert.doesNotMatch(await other.innerText(), /against/);
  assert.match(await other.getAttribute("href"), /base=-1d/);
});

pageTest("movers say how much of their base has profiles, if it is little", {
  moversCovered: 120_000,
}, async () => {
  await open("?range=15m", { width: 1440, height: 860 });
  assert.match(await id("movers-little").innerText(), /Only 2 min of 15 min of the baseline have/);
  assert.ok((await id("mover").count()) > 0);
});

pageTest("on a phone there are changes and a link to copy", {}, async () => {
  await open("?range=15m", { width: 390, height: 844, touch: true });
  await id("application").first().waitFor();
  const inside = async (of) => {
    const box = await of.boundingBox();
    assert.ok(box && box.x >= 0 && box.x + box.width <= 390, JSON.stringify(box));
  };
  await inside(page.locator("td.a-change").first());
  await inside(id("header-link"));
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(wide <= 0, `${wide} px wider than the phone`);
});

const clocks = [
  { host: "node-7", skewSeconds: 7200, corrected: true, lastSeen: Date.now() },
  { host: "edge-1", skewSeconds: -2_592_000, corrected: false, lastSeen: Date.now() },
];

pageTest("hosts whose clock is wrong are named", { clocks }, async () => {
  await open("");
  await eventually(async () =>
    assert.match(
      await id("clocks").innerText(),
      /node-7 is 2 h ahead, edge-1 is 30 d behind\. .*when they arrived/,
    ),
  );
  const title = await id("clocks").getAttribute("title");
  assert.match(title, /node-7: 2 h ahead, corrected by its agent/);
});

pageTest("right clocks are not worth a word", {}, async () => {
  await open("");
  await id("application").first().waitFor();
  assert.equal(await id("clocks").count(), 0);
});
