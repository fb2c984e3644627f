// A function over all applications, from the start page to the flame graphs of these.

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

const services = () =>
  id("fleet-application").evaluateAll((rows) => rows.map((r) => r.dataset.service));
const chips = () => id("name-chip").evaluateAll((all) => all.map((c) => c.dataset.name));

pageTest("a function is typed and chosen, and leads to flame graphs", {}, async () => {
  await open("", { width: 1440, height: 860 });
  await id("application").first().waitFor();
  await id("application-filter").fill("mall");
  const names = await eventually(async () => {
    const all = await chips();
    assert.ok(all.length > 0 && all.every((n) => n.toLowerCase().includes("mall")), all.join());
    return all;
  });
  assert.match(await id("name-days").innerText(), /whole days: .*\d+ \w+ \(days? of UTC\)/);
  await id("name-chip").first().click();
  await eventually(() => assert.equal(query().get("function"), names[0]));
  assert.equal(query().get("filter"), null);
  const now = Date.now();
  const answer = fixture.fleet({ function: names[0], from: now - 6 * 86_400_000, to: now });
  await eventually(async () =>
    assert.deepEqual(
      await services(),
      answer.applications.map((a) => a.service),
    ),
  );
  assert.match(await id("fleet-count").innerText(), new RegExp(`^${answer.n} application`));
  assert.match(await id("fleet-note").innerText(), /days? of UTC.*1,000 largest/);
  const row = id("fleet-application").first();
  assert.match(await row.innerText(), /%/);
  assert.match(await row.innerText(), /1\.5\.0 .*1\.4\.2/);
  assert.ok((await row.locator("svg path").count()) > 0);

  // a copied address shows the same
  await page.reload();
  await eventually(async () => assert.equal((await services()).length, answer.n));
  // the figures are of the days of the range; the curve is of a week
  const DAY = 86_400_000;
  const asked = server.requests.filter((r) => r.name === "fleet").map((r) => r.params);
  for (const p of asked) assert.deepEqual([p.function, p.from % DAY], [names[0], 0]);
  const lengths = new Set(asked.map((p) => (p.to - p.from) / DAY));
  assert.ok(lengths.has(7) && Math.min(...lengths) <= 2, [...lengths].join());

  await id("fleet-application").first().getByRole("link").click();
  await drawn();
  assert.equal(query().get("service"), answer.applications[0].service);
  assert.equal(query().get("search"), `"${names[0]}"`);
  assert.equal(query().get("type"), answer.applications[0].type);
  assert.equal(query().get("function"), null);
  assert.match(query().get("range"), /^\d+-\d+$/);
  await page.goBack();
  await eventually(async () => assert.equal((await services()).length, answer.n));
});

pageTest("it is found by keyboard alone, on a phone, and by a name in quotes", {}, async () => {
  await open("", { width: 390, height: 844 });
  await id("application").first().waitFor();
  await id("application-filter").fill("malloc");
  await eventually(async () => assert.ok((await chips()).includes("malloc")));
  await id("application-filter").press("Enter");
  await eventually(() => assert.equal(query().get("function"), "malloc"));
  await id("fleet-application").first().waitFor();
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(wide <= 0, `${wide} px wider than the phone`);
  await id("fleet-close").click();
  await eventually(() => assert.equal(query().get("function"), null));
  await id("application").first().waitFor();
  await id("application-filter").fill('"no.such.function"');
  await id("application-filter").press("Enter");
  await eventually(() => assert.equal(query().get("function"), "no.such.function"));
  await page.getByText("No application has it among its largest functions").waitFor();
});

const refusing = { refusals: true };

pageTest("another type is a choice, and a store without sums says so", refusing, async () => {
  await open("?function=malloc", { width: 1440, height: 860 });
  await id("fleet-application").first().waitFor();
  await id("fleet-type").click();
  await id("fleet-type-java:lock_delay:nanoseconds").click();
  await eventually(() => assert.equal(query().get("type"), "java:lock_delay:nanoseconds"));
  await eventually(() =>
    assert.equal(
      server.requests.filter((r) => r.name === "fleet").at(-1).params.type,
      "java:lock_delay:nanoseconds",
    ),
  );
  fixture.options.noSums = true;
  await page.reload();
  await page.getByText("Not known: there are no sums by function.").waitFor();
});
