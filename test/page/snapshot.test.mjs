// Pixels of three flame graphs against test/page/snapshots. After a change that is meant:
//   UPDATE_SNAPSHOTS=1 make check-page
// and look at what changed before it is committed.

import assert from "node:assert/strict";
import * as fs from "node:fs";
import * as path from "node:path";
import { fileURLToPath } from "node:url";
import { drawn, id, open, page, pageTest } from "./page_harness.mjs";

const folder = fileURLToPath(new URL("snapshots/", import.meta.url));
const TO = 1700000900000;
const address = (more) =>
  `?service=/docker/4f1d2c9ab310&type=ebpf:cpu:nanoseconds&view=flame&range=${TO - 900000}-${TO}` +
  more;
const size = { width: 900, height: 560 };
const fixed = { lastSeen: TO + 1000 };

const FAR = 60; // of 255 in a channel; less is how fonts are smoothed
const MOST = 0.01; // of all pixels

/** Share of the pixels that differ by much; 1 if the sizes differ. */
const differing = (a, b) =>
  page.evaluate(
    async ([one, other, far]) => {
      const pixels = async (base64) => {
        const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
        const image = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
        const ctx = new OffscreenCanvas(image.width, image.height).getContext("2d");
        ctx.drawImage(image, 0, 0);
        return ctx.getImageData(0, 0, image.width, image.height);
      };
      const [x, y] = [await pixels(one), await pixels(other)];
      if (x.width !== y.width || x.height !== y.height) return 1;
      let n = 0;
      for (let i = 0; i < x.data.length; i += 4)
        if ([0, 1, 2].some((k) => Math.abs(x.data[i + k] - y.data[i + k]) > far)) n++;
      return (n * 4) / x.data.length;
    },
    [a.toString("base64"), b.toString("base64"), FAR],
  );

async function compare(name) {
  await drawn();
  await page.evaluate(
    () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
  );
  await page.mouse.move(1, 1);
  const now = await id("flame").screenshot();
  const file = path.join(folder, `${name}.png`);
  if (process.env.UPDATE_SNAPSHOTS) return fs.writeFileSync(file, now);
  const share = await differing(now, fs.readFileSync(file));
  if (share > MOST) fs.writeFileSync(path.join(process.env.PAGE_DIST, `../${name}.png`), now);
  assert.ok(share <= MOST, `${name}: ${(share * 100).toFixed(2)} % of the pixels differ`);
}

pageTest("pixels: processes of several languages", fixed, async () => {
  await open(address(""), size);
  await compare("profile");
});

pageTest("pixels: a comparison in the dark", fixed, async () => {
  await open(address("&base=previous"), { ...size, colorScheme: "dark" });
  await compare("comparison");
});

const large = { ...fixed, nodes: 8000, maxNodes: 1500, samples: 20_000 };
pageTest("pixels: a cut tree with a search, root at the bottom", large, async () => {
  await open(address("&search=Index&direction=flame"), size);
  await compare("cut");
});
