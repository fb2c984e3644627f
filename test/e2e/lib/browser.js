// Debian's Chromium, driven by Playwright.
"use strict";

const path = require("node:path");
const { chromium } = require("playwright-core");
const { runDir } = require("./daemon");
const { LIMIT_MS } = require("./wait");

// A page that collects its errors (exceptions, console errors, failed requests) in page.errors.
// args: more of Chromium's own; env: its environment
async function openBrowser(args = [], env = process.env) {
  const browser = await chromium.launch({
    env,
    executablePath: "/usr/bin/chromium",
    args: [
      ...["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"],
      ...["--disable-background-networking", "--disable-component-update", "--disable-sync"],
      ...args,
    ],
  });
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  page.setDefaultTimeout(LIMIT_MS);
  page.errors = [];
  page.on("pageerror", (e) => page.errors.push(e.message));
  page.on("console", (m) => m.type() === "error" && page.errors.push(m.text()));
  page.on("response", (r) => r.status() >= 400 && page.errors.push(`${r.status()} ${r.url()}`));
  page.picture = (name) => page.screenshot({ path: path.join(runDir, `${name}.png`) });
  return { browser, page };
}

// Frames as drawn: { name, file, total, self, x, y, w, h } in pixels of the window.
// None while another graph than the one on the screen is under way.
const drawnFrames = (page) =>
  page.evaluate(() =>
    document.querySelector("main[inert]") ? [] : (window.__flame?.frames() ?? []),
  );

// The number of pixels of a canvas that are not transparent.
const inked = (page, selector) =>
  page.evaluate((s) => {
    const c = document.querySelector(s);
    const { data } = c.getContext("2d").getImageData(0, 0, c.width, c.height);
    let n = 0;
    for (let i = 3; i < data.length; i += 4) n += data[i] > 0;
    return n;
  }, selector);

module.exports = { openBrowser, drawnFrames, inked };
