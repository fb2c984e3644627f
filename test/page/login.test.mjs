// The login in front of the page, and the way out.

import assert from "node:assert/strict";
import { drawn, eventually, fixture, id, open, page, pageTest, query } from "./page_harness.mjs";

const APP = "/docker/4f1d2c9ab310";
const locked = () => ({ key: "the key", loggedIn: false });

async function logIn(key) {
  await page.getByLabel("Key").fill(key);
  await page.getByRole("button", { name: "Log in" }).click();
}

pageTest("without a key, nothing speaks of logging in or out", {}, async () => {
  await open();
  await id("application").first().waitFor();
  assert.equal(await id("login").count(), 0);
  assert.equal(await id("logout").count(), 0);
});

pageTest(
  "a right key opens the page at the address that was asked for",
  { login: locked() },
  async () => {
    await open(`?service=${APP}&search=main`);
    await id("login").waitFor();
    assert.equal(await page.getByLabel("Key").evaluate((e) => e === document.activeElement), true);
    await logIn("a wrong one");
    await eventually(async () =>
      assert.equal(await page.getByRole("alert").innerText(), "This key is wrong"),
    );
    await logIn("the key");
    await drawn();
    assert.equal(query().get("service"), APP);
    assert.equal(query().get("search"), "main");
  },
);

pageTest("the form fits on a phone", { login: locked() }, async () => {
  await open("", { width: 360, height: 640 });
  await id("login").waitFor();
  const wide = await page.evaluate(() => document.getElementById("app").scrollWidth);
  assert.ok(wide <= 360, `${wide}`);
  const box = await page.getByRole("button", { name: "Log in" }).boundingBox();
  assert.ok(box.y + box.height <= 640, JSON.stringify(box));
});

pageTest("who logs out sees nothing more", { login: { key: "k", loggedIn: true } }, async () => {
  await open();
  await id("application").first().waitFor();
  await id("logout").click();
  await id("login").waitFor();
  assert.equal(await id("application").count(), 0);
});

pageTest(
  "a session that ends brings the form, and the address stays",
  { login: { key: "k", loggedIn: true } },
  async () => {
    await open(`?service=${APP}`);
    await drawn();
    fixture.options.login.loggedIn = false;
    // what the page asks for in the background may have brought the form already
    await id("live").click({ timeout: 3000 }).catch(() => {});
    await id("login").waitFor();
    assert.equal(query().get("service"), APP);
    await logIn("k");
    await drawn();
  },
);

pageTest("the targets need a key, too", { login: locked() }, async () => {
  await open("targets");
  await id("login").waitFor();
  await logIn("the key");
  await page.getByRole("heading", { name: "Targets" }).waitFor();
  await id("logout").waitFor();
});
