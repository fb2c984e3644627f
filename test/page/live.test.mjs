// The page and a server that is slow, fails or is away: what is drawn, what is said, what is asked.

import assert from "node:assert/strict";
import {
  eventually,
  drawn,
  fixture,
  id,
  open,
  page,
  pageTest,
  query,
  server,
} from "./page_harness.mjs";

const APP = "/docker/4f1d2c9ab310";
const asked = (name) => server.requests.filter((r) => r.name === name);

const TICK_MS = 10_000;

pageTest(
  "answers slower than the refresh are drawn, and no refresh aborts them",
  { hold: ["applications", "flamegraph"] },
  async () => {
    await open(`?service=${APP}&type=ebpf:cpu:nanoseconds`, { clock: true });
    await eventually(() => assert.equal(asked("flamegraph").length, 1));
    await page.clock.runFor(2.5 * TICK_MS);
    await eventually(async () => assert.match(await id("waiting").innerText(), /Loading profile/));
    assert.equal(asked("flamegraph").length, 1);
    fixture.options.hold = [];
    await drawn();
    // the next refresh, which takes as long
    fixture.options.hold = ["applications", "flamegraph"];
    await eventually(() => assert.equal(server.open(), 0));
    const before = asked("flamegraph").length;
    await page.clock.runFor(TICK_MS);
    await eventually(() => assert.ok(asked("flamegraph").length > before));
    await eventually(async () => assert.equal(await page.locator(".progress").count(), 1));
    // two more pass while that is under way
    await page.clock.runFor(2 * TICK_MS);
    assert.deepEqual(
      server.requests.filter((r) => r.aborted).map((r) => r.name),
      [],
    );
    assert.ok(asked("flamegraph").length <= before + 1, `${asked("flamegraph").length}`);
    assert.equal(await id("error").count(), 0);
  },
);

pageTest(
  "what the server refuses is not asked again until something is changed",
  { faults: { flamegraph: "the range is longer than 366 days" }, faultStatus: 400, refusals: true },
  async () => {
    await open(`?service=${APP}&type=ebpf:cpu:nanoseconds&where=version!="x"`, { clock: true });
    await eventually(async () => {
      const text = await id("failed").innerText();
      assert.match(text, /longer than 366 days/);
      assert.doesNotMatch(text, /recovers by itself/);
    });
    await eventually(() => assert.equal(server.open(), 0));
    // the order of releases is asked for in the background
    const before = asked("flamegraph").length;
    await page.clock.runFor(3.5 * TICK_MS);
    assert.equal(asked("flamegraph").length, before);
    fixture.options.faults = {};
    await id("retry").click();
    await drawn();
    await page.clock.runFor(TICK_MS);
    await eventually(() => assert.ok(asked("flamegraph").length >= 3));
  },
);

pageTest(
  "a question that nobody waits for any more is aborted, so that the server ends its query",
  { delay: { flamegraph: 20_000 } },
  async () => {
    await open(`?service=${APP}`);
    await eventually(() => assert.equal(asked("flamegraph").length, 1));
    await id("type-memory").click();
    await eventually(() => {
      const [first, second] = asked("flamegraph");
      assert.ok(first.aborted && second && !second.aborted);
    });
    // and the first load of what is wanted goes on when the page is refreshed by hand
    await id("live").click();
    await page.waitForTimeout(500);
    assert.equal(asked("flamegraph").length, 2);
    assert.equal(asked("flamegraph")[1].aborted, false);
  },
);

pageTest("the profile of before stays, dimmed, until another one is there", {}, async () => {
  await open(`?service=${APP}&range=1h`);
  const main = page.locator("main.profile");
  await drawn();
  fixture.options.hold = ["flamegraph"];
  const waits = async () => {
    await eventually(async () =>
      assert.match(await id("still-loading").innerText(), /Loading since [1-9]\d* s/),
    );
    assert.ok(await main.evaluate((m) => m.inert));
    await eventually(async () =>
      assert.ok(Number(await main.evaluate((m) => getComputedStyle(m).opacity)) < 0.5),
    );
    assert.ok(await page.evaluate(() => window.__flame.frames().length > 3));
  };
  await id("type-memory").click();
  await waits();
  // what is under way is given up, and nothing has changed
  const { length } = asked("flamegraph");
  await id("still-loading").getByRole("button", { name: "Cancel" }).click();
  await eventually(() => assert.ok(asked("flamegraph")[length - 1].aborted));
  assert.equal(query().get("type"), null);
  await eventually(async () => assert.equal(await id("still-loading").count(), 0));
  assert.equal(await main.evaluate((m) => m.inert), false);
  // another range
  await page.evaluate(() => {
    history.pushState(null, "", location.search.replace("range=1h", "range=3h"));
    dispatchEvent(new PopStateEvent("popstate"));
  });
  await waits();
  fixture.options.hold = [];
  await drawn();
  await eventually(async () => assert.equal(await main.evaluate((m) => m.inert), false));
  assert.equal(await id("still-loading").count(), 0);
  assert.equal(query().get("range"), "3h");
});

pageTest("an agent that is away is reported with the time, and asked again", {}, async () => {
  await open();
  await id("application").first().waitFor();
  fixture.options.down = true;
  await id("live").click();
  await eventually(async () =>
    assert.match(await id("live").innerText(), /^Not answering since \d\d:\d\d$/),
  );
  assert.ok((await id("application").count()) > 0, "what was loaded stays");
  await eventually(async () =>
    assert.match(await id("error").innerText(), /cluster-agent does not answer/),
  );
  fixture.options.down = false;
  await eventually(async () => assert.equal(await id("live").innerText(), "Live"));
  await eventually(async () => assert.equal(await id("error").count(), 0));
});

pageTest(
  "a failing first load says what failed and what to do, and recovers",
  { faults: { applications: "the store is busy" } },
  async () => {
    await open();
    await eventually(async () => {
      const text = await id("failed").innerText();
      assert.match(
        text,
        /Could not load applications[\s\S]*The store is busy[\s\S]*What to check[\s\S]*log/,
      );
    });
    assert.equal(await id("live").innerText(), "Failing");
    fixture.options.faults = {};
    await id("retry").click();
    await id("application").first().waitFor();
    assert.equal(await id("live").innerText(), "Live");

    fixture.options.faults = { flamegraph: "it took too long" };
    await page.goto(`${server.url}?service=${APP}&range=1h`);
    await eventually(async () =>
      assert.match(await id("failed").innerText(), /Could not load profile[\s\S]*It took too long/),
    );
    fixture.options.faults = {};
    await id("retry").click();
    await drawn();
  },
);

pageTest(
  "the last data of a type is that of the type, not of the application",
  { lastSeenOf: { "go:heap_inuse_space:bytes": Date.now() - 3 * 3_600_000 } },
  async () => {
    await open(`?service=${APP}&type=go:heap_inuse_space:bytes`);
    await eventually(async () => assert.match(await id("empty").innerText(), /3(\.\d)? h ago/));
    await id("jump").click();
    await drawn();
    const [, to] = query().get("range").split("-").map(Number);
    assert.ok(Math.abs(Date.now() - 3 * 3_600_000 - to) < 120_000, `${to}`);
    assert.equal(await id("jump").count(), 0);
  },
);

pageTest("an agent that hangs is not live", { delay: { flamegraph: 40_000 } }, async () => {
  await open("?service=/docker/4f1d2c9ab310&type=ebpf:cpu:nanoseconds&range=15m");
  await page.locator('[data-testid="live"]', { hasText: "Waiting" }).waitFor();
});
