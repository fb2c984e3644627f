// The page of targets in a browser, on made-up answers.

import assert from "node:assert/strict";
import { eventually, fixture, id, open, page, pageTest, query } from "./page_harness.mjs";

pageTest("targets are a page of their own, problems first", {}, async () => {
  await open();
  await id("to-targets").click();
  const rows = id("target");
  await rows.first().waitFor();
  await eventually(() => assert.equal(new URL(page.url()).pathname, "/targets"));
  await eventually(async () =>
    assert.match(
      await rows.first().innerText(),
      /Down[\s\S]*cpu[\s\S]*s ago[\s\S]*in \d+ s[\s\S]*connection refused/,
    ),
  );
  await eventually(async () => assert.match(await id("state-down").innerText(), /Down\s*3/));
  await eventually(async () => assert.match(await id("state-all").innerText(), /All\s*40/));
  await page.reload();
  await rows.first().waitFor();
  await id("to-profiles").click();
  await id("application").first().waitFor();
  await eventually(() => assert.equal(new URL(page.url()).pathname, "/"));
  await page.goBack();
  await rows.first().waitFor();
});

pageTest("targets are filtered by state and by text, and the address keeps both", {}, async () => {
  await open("targets");
  const rows = id("target");
  await rows.first().waitFor();
  await id("state-invalid").click();
  await eventually(async () => assert.equal(await rows.count(), 2));
  await eventually(async () =>
    assert.match(await rows.first().innerText(), /"eighty" is not a port|coroot.com\/profile-port/),
  );
  await id("state-all").click();
  await page.keyboard.press("/");
  await page.keyboard.type("checkout node-2");
  await eventually(async () => assert.ok((await rows.count()) < 5));
  await eventually(() => assert.equal(query().get("search"), "checkout node-2"));
  await page.reload();
  await eventually(async () => assert.ok((await rows.count()) > 0 && (await rows.count()) < 5));
  await id("target-filter").fill("no such pod");
  await eventually(async () =>
    assert.match(await page.locator(".note").innerText(), /No pod matches/),
  );
});

pageTest(
  "a target opens by click and by keys, and shows its endpoints and errors",
  {},
  async () => {
    await open("targets");
    const rows = id("target");
    await rows.first().click();
    await eventually(async () =>
      assert.equal(await rows.first().getAttribute("aria-expanded"), "true"),
    );
    await eventually(async () => assert.equal(await id("endpoint").count(), 5));
    await eventually(async () =>
      assert.match(
        await id("endpoint").first().innerText(),
        /http:\/\/10\.42\.\d+\.\d+:8080\/debug\/pprof\/profile\?seconds=10/,
      ),
    );
    await eventually(async () =>
      assert.equal((await id("note").first().innerText()).trim(), "connection refused"),
    );
    const right = (row) =>
      row.evaluate((tr) =>
        Math.max(...[...tr.cells].map((td) => td.getBoundingClientRect().right)),
      );
    for (const width of [1440, 1024]) {
      await page.setViewportSize({ width, height: 600 });
      for (const row of [rows.first(), id("endpoint").first(), id("note").first()])
        await eventually(async () => assert.equal(Math.round(await right(row)), width));
    }
    await rows.first().click();
    await eventually(async () => assert.equal(await id("endpoint").count(), 0));
    await rows.first().focus();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowRight");
    await eventually(async () =>
      assert.equal(await rows.nth(1).getAttribute("aria-expanded"), "true"),
    );
    await page.keyboard.press("ArrowLeft");
    await eventually(async () =>
      assert.equal(await rows.nth(1).getAttribute("aria-expanded"), "false"),
    );
  },
);

pageTest("the application of a target leads to its profiles", {}, async () => {
  await open("targets");
  await id("target").first().getByRole("link").click();
  await eventually(() => assert.match(query().get("service"), /^\/k8s\/(shop|platform)\/\w+$/));
  await eventually(() => assert.equal(new URL(page.url()).pathname, "/"));
});

pageTest("five thousand targets scroll without drawing all of them", { pods: 5000 }, async () => {
  await open("targets", { width: 1280, height: 720 });
  const rows = id("target");
  await rows.first().waitFor();
  await eventually(async () => assert.match(await id("state-all").innerText(), /5,000/));
  await eventually(async () => assert.ok((await rows.count()) < 60));
  await eventually(async () =>
    assert.equal(await id("targets").getAttribute("aria-rowcount"), "5001"),
  );
  const scroller = page.locator(".start-scroll");
  await scroller.evaluate((e) => (e.scrollTop = e.scrollHeight));
  await eventually(async () =>
    assert.equal(await rows.last().getAttribute("aria-rowindex"), "5001"),
  );
  const over = await page.evaluate(() => [
    document.documentElement.scrollHeight - innerHeight,
    document.documentElement.scrollWidth - innerWidth,
  ]);
  assert.deepEqual(over, [0, 0]);
});

pageTest("targets count down by themselves and are loaded anew", {}, async () => {
  await open("targets");
  const next = () => id("target").first().locator("td").nth(8).innerText();
  await id("target").first().waitFor();
  const before = await next();
  await eventually(async () => assert.notEqual(await next(), before));
  fixture.targets = () => ({
    now: Date.now(),
    intervalMs: 60000,
    discovery: { synced: true, problem: "" },
    targets: [],
  });
  await id("live").click();
  await eventually(async () =>
    assert.match(
      await id("no-targets").innerText(),
      /kubectl annotate pod[\s\S]*kubectl patch deployment/,
    ),
  );
});

pageTest("a profile that was refused is shown with the answer to it", {}, async () => {
  await open("targets");
  const refusal = "the receiver refused the profile: HTTP 413: too large";
  const endpoint = (type, state, lastError) => ({
    type,
    url: `http://10.42.0.1:8080/debug/pprof/${type}`,
    state,
    lastScrape: Date.now(),
    lastDurationMs: 3,
    lastBytes: 900,
    lastError,
    nextScrape: Date.now() + 60_000,
  });
  fixture.targets = () => ({
    now: Date.now(),
    intervalMs: 60000,
    discovery: { synced: true, problem: "" },
    targets: [
      {
        namespace: "shop",
        pod: "catalog-1",
        node: "node-1",
        service: "/k8s/shop/catalog",
        ip: "10.42.0.1",
        state: "up",
        problem: "",
        endpoints: [endpoint("goroutine", "up", ""), endpoint("heap", "refused", refusal)],
      },
    ],
  });
  await id("live").click();
  await eventually(async () =>
    assert.match(await id("target").first().innerText(), /Refused[\s\S]*HTTP 413: too large/),
  );
  await eventually(async () => assert.match(await id("state-refused").innerText(), /Refused\s*1/));
  await id("target").first().click();
  const note = id("note").first();
  await eventually(async () => assert.equal((await note.innerText()).trim(), refusal));
});

pageTest(
  "what keeps pods from being found is said",
  { discoveryProblem: "HTTP 403: pods is forbidden", synced: false, pods: 0 },
  async () => {
    await open("targets");
    await eventually(async () =>
      assert.match(await id("discovery-problem").innerText(), /pods is forbidden/),
    );
    await eventually(async () =>
      assert.match(await id("no-targets").innerText(), /Reading the pods/),
    );
  },
);

pageTest(
  "where nothing is scraped the page says how to change that",
  { scrapingOff: "not in a pod, and no --kubeconfig" },
  async () => {
    await open("targets");
    await eventually(async () =>
      assert.match(
        await id("scraping-off").innerText(),
        /no --kubeconfig[^]*--kubeconfig=[^]*--scrape-config=[^]*--scrape-docker-socket=/,
      ),
    );
  },
);

pageTest(
  "an agent that forwards shows its targets alone",
  { forwarding: "https://coroot.example.com" },
  async () => {
    await open();
    await eventually(async () =>
      assert.match(await id("forwarding").innerText(), /https:\/\/coroot\.example\.com/),
    );
    await eventually(() => assert.equal(new URL(page.url()).pathname, "/targets"));
    await eventually(async () => assert.equal(await id("to-profiles").count(), 0));
    await eventually(async () =>
      assert.equal(await id("target").first().getByRole("link").count(), 0),
    );
  },
);
