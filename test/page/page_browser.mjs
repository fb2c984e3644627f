// Chromium for the tests of the page, without any request of its own.

import { createRequire } from "node:module";
import * as path from "node:path";
import { fileURLToPath } from "node:url";

const deps = process.env.DEPS_WEB;
if (!deps) throw new Error('DEPS_WEB names the folder with node_modules; run "make check-page"');
const { chromium } = createRequire(path.join(deps, "package.json"))("playwright-core");

/** `more`: options of Chromium beside the usual ones. */
export function openBrowser(more = []) {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    env: {
      ...process.env,
      FONTCONFIG_FILE: fileURLToPath(new URL("fonts.conf", import.meta.url)),
    },
    args: [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      ...more,
    ],
  });
}
