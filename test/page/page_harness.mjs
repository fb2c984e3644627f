// A page in a browser for each test, with a server of its own. PAGE_DIST: folder of the built page.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import wait from "../e2e/lib/wait.js";
import { openBrowser } from "./page_browser.mjs";
import { createFixture } from "./page_fixture.mjs";
import { servePage } from "./page_server.mjs";

let browser;
let complaints;
/** Of the running test. */
export let fixture;
export let server;
export let page;

before(async () => {
  browser = await openBrowser();
});
after(() => browser?.close());

async function start(options = {}) {
  fixture = createFixture({ samples: 6000, ...options });
  server = await servePage(process.env.PAGE_DIST, fixture);
}

/**
 * `touch`: a phone or a tablet, whose fingers cannot hover. `clock`: page.clock can skip time,
 * which passes as usual otherwise. `timezoneId`: the browser's zone.
 */
export async function open(query = "", options = {}) {
  const { width = 1440, height = 860, colorScheme = "light", touch = false, timezoneId } = options;
  const viewport = { width, height };
  const device = { hasTouch: touch, isMobile: touch, timezoneId };
  page = await browser.newPage({ viewport, colorScheme, ...device });
  page.setDefaultTimeout(180_000);
  if (options.clock) await page.clock.install();
  page.on("pageerror", (e) => complaints.push(e.message));
  page.on(
    "console",
    (m) =>
      m.type() === "error" &&
      !(fixture.options.refusals && /status of 400/.test(m.text())) &&
      !/status of (401|404|503)|net::ERR_/.test(m.text()) &&
      complaints.push(m.text()),
  );
  await page.goto(server.url + query);
}

/** What the page and its server are doing, for the message of a test that failed. */
async function situation() {
  const requests = (list) => list.map((r) => r.name).join(" ") || "none";
  const lines = [
    `  requests under way: ${requests(server.requests.filter((r) => !r.ended))}`,
    `  requests before: ${requests(server.requests.filter((r) => r.ended).slice(-12))}`,
    `  complaints: ${complaints.join(" | ") || "none"}`,
  ];
  if (page && !page.isClosed()) {
    const shown = page.evaluate(() => ({
      url: location.href,
      theme: document.documentElement.dataset.theme,
      text: document.body.innerText.replace(/\s+/g, " ").slice(0, 600),
      frames: window.__flame?.frames().length,
    }));
    const late = new Promise((done) => setTimeout(done, 20_000, "the page does not answer"));
    const state = await Promise.race([shown, late]).catch((e) => e.message);
    lines.push(`  page: ${JSON.stringify(state)}`);
  }
  return lines.join("\n");
}

/**
 * A test with a server and a page of its own. Fails on any error in the console, violations of the
 * content security policy included; with `refusals` the server may refuse requests.
 */
export function pageTest(name, options, run) {
  test(name, { timeout: 600_000 }, async () => {
    complaints = [];
    await start(options);
    try {
      await run();
      assert.deepEqual(complaints, []);
    } catch (e) {
      // the stack is what the reporter prints
      if (e instanceof Error) e.stack += `\n\nwhen it failed:\n${await situation()}\n`;
      throw e;
    } finally {
      await page?.close();
      await server.close();
    }
  });
}

export const id = (testId) => page.getByTestId(testId);
export const query = () => new URLSearchParams(new URL(page.url()).search);
/** There is a graph, and it is no longer the one of before. */
export const drawn = () =>
  page.waitForFunction(
    () => window.__flame?.frames().length > 3 && !document.querySelector("main[inert]"),
  );

export async function frame(name) {
  await drawn();
  const found = await page.evaluate(
    (n) =>
      window.__flame
        .frames()
        .filter((f) => f.name === n)
        .sort((a, b) => b.w - a.w)[0],
    name,
  );
  assert.ok(found, `no frame ${name}`);
  return { ...found, cx: found.x + found.w / 2, cy: found.y + found.h / 2 };
}

/** Once it throws no more. */
export const eventually = (check) => wait.retried(check);
