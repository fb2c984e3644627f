// What axe finds on every screen in both themes: nothing.

import assert from "node:assert/strict";
import * as fs from "node:fs";
import * as path from "node:path";
import { drawn, eventually, fixture, id, open, page, pageTest, server } from "./page_harness.mjs";

const APP = "/docker/4f1d2c9ab310";
const axe = fs.readFileSync(
  path.join(process.env.DEPS_WEB, "node_modules/axe-core/axe.min.js"),
  "utf8",
);

/** All that axe objects to on the screen, as "rule: place: element: why"; by all rules or some. */
const findings = (rules) =>
  page.evaluate(async (runOnly) => {
    const options = { resultTypes: ["violations"], ...(runOnly && { runOnly }) };
    const { violations } = await window.axe.run(document, options);
    return violations.flatMap((v) =>
      v.nodes.map((n) => {
        const why = n.failureSummary.replace(/\s+/g, " ");
        return `${v.id}: ${n.target.join(" ")}: ${n.html.slice(0, 300)}: ${why}`;
      }),
    );
  }, rules);

/** Goes to another address as the back button does: without loading the page again. */
async function visit(address) {
  await page.keyboard.press("Escape"); // closes what a screen has opened
  await page.evaluate((url) => {
    history.pushState(null, "", url);
    dispatchEvent(new PopStateEvent("popstate"));
    return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  }, server.url + address);
}

const answered = () =>
  eventually(async () => {
    assert.equal(server.open(), 0);
    assert.equal(await page.locator(".progress").count(), 0);
  });

/** Screens of one server; ready() is called when all answers are there. */
async function check(screens, options = {}) {
  const all = [];
  const note = (what, list) => {
    if (list.length === 0) return;
    const open = server.requests.filter((r) => !r.ended).map((r) => r.name);
    const place = `${what}, ${page.url().slice(server.url.length)}, under way: ${open.join(" ")}`;
    all.push(...list.map((found) => `${place}: ${found}`));
  };
  const theme = async (name) => {
    await page.emulateMedia({ colorScheme: name });
    await page.locator(`html[data-theme=${name}]`).waitFor();
  };
  await open(screens[0][1], options);
  await page.evaluate(axe);
  for (const [what, address, ready] of screens) {
    try {
      await visit(address);
      await theme("light");
      await answered();
      await ready();
      note(what, await findings());
      assert.equal(await page.locator("h1").count(), 1, "headings of the page");
      // the other theme has other colours, and nothing else
      await theme("dark");
      note(`${what}, dark`, await findings(["color-contrast"]));
    } catch (e) {
      e.stack = `on the screen “${what}”: ${e.stack}`;
      throw e;
    }
  }
  assert.deepEqual(all, []);
  await page.close();
}

const sees = (testId) => async () => id(testId).first().waitFor();
const after = (testId, ...more) => async () => {
  await drawn();
  await id(testId).click();
  for (const next of more) await sees(next)();
};
const MALLOC = "fn=runtime.mallocgc@/usr/local/go/src/runtime/table.go";

const NOTES = [
  { service: APP, name: "Release 1.4", text: "Ticket 17", url: `?service=${APP}`, bytes: 9 },
];
const marked = async () => {
  await drawn();
  await id("note-mark").getByRole("button").first().click();
  await id("note-view").first().waitFor();
};

pageTest("axe: the profile and what opens on it", { notes: NOTES }, () =>
  check([
    ["profile", `?service=${APP}`, drawn],
    ["search", `?service=${APP}&search=malloc`, drawn],
    ["heatmap", `?service=${APP}&chart=heat`, sees("heat-plot")],
    ["invalid search", `?service=${APP}&search=/(/`, sees("matched")],
    ["comparison", `?service=${APP}&base=previous`, drawn],
    ["lines", `?service=${APP}&panel=lines&${MALLOC}`, sees("line")],
    ["compared lines", `?service=${APP}&base=previous&panel=lines&${MALLOC}`, sees("line")],
    ["sandwich", `?service=${APP}&panel=sandwich&${MALLOC}`, sees("sandwich")],
    ["series", `?service=${APP}&by=version`, drawn],
    ["details", `?service=${APP}&${MALLOC}`, sees("details-figures")],
    ["notes", `?service=${APP}`, after("notes", "note", "note-form")],
    ["note", `?service=${APP}`, marked],
    ["selection", `?service=${APP}&select=${Date.now() - 300_000}-${Date.now()}`, drawn],
  ]),
);

pageTest("axe: while answers are under way", {}, async () => {
  const asking = (...names) => async () => {
    await sees("live")();
    fixture.options.hold = names;
    await id("live").click();
    await page.locator(".progress").waitFor({ state: "attached" });
    await eventually(() => assert.ok(server.requests.some((r) => !r.ended)));
  };
  // what is held would keep the next screen waiting
  const refreshed = (address, ...names) => check([["refresh", address, asking(...names)]]);
  await refreshed(`?service=${APP}`, "flamegraph");
  fixture.options.hold = [];
  await refreshed("", "applications");
  fixture.options.hold = ["flamegraph"];
  await open(`?service=${APP}`);
  await page.evaluate(axe);
  await id("waiting").locator("[role=status]").waitFor(); // which says what is loading
  assert.deepEqual(await findings(), []);
});

pageTest("axe: menus and dialogs", {}, () =>
  check([
    ["picker", `?service=${APP}`, after("picker", "picker-item")],
    ["types", `?service=${APP}`, after("all-types")],
    ["range", `?service=${APP}`, after("range", "range-from")],
    ["export", `?service=${APP}`, after("export", "export-svg")],
    ["quality", `?service=${APP}`, after("quality")],
    [
      "keys",
      `?service=${APP}`,
      async () => {
        await drawn();
        await page.keyboard.press("?");
        await id("keys").waitFor();
      },
    ],
  ]),
);

pageTest("axe: applications and targets", {}, () =>
  check([
    ["start", "", sees("application")],
    ["targets", "targets", sees("target")],
    [
      "open target",
      "targets",
      async () => {
        await id("target").first().click();
        await id("endpoint").first().waitFor();
      },
    ],
    ["nothing in range", `?service=${APP}&range=1600000000000-1600003600000`, sees("empty")],
  ]),
);

const opened = async () => {
  await id("application-group").first().getByRole("button").click();
  await page.locator("[data-testid=application].inside").first().waitFor();
};
const START_ROWS = [
  ["rows", "", sees("application")],
  ["groups", "?order=cores", sees("application-group")],
  ["rows of a group", "?order=cores", opened],
  ["by change", "?order=-change", sees("application")],
  ["names of functions", "?filter=mall", sees("name-chip")],
  ["no row", "?filter=nothing-has-this-name", sees("applications")],
];
const FLEET = [
  ["a function in all applications", "?function=runtime.mallocgc", sees("fleet-application")],
  ["a function that is nowhere", "?function=nowhere", sees("fleet-note")],
];

pageTest("axe: rows of the start page, and a function in all", { applications: 60 }, () =>
  check([...START_ROWS, ...FLEET]),
);

pageTest("axe: the same on a phone", { applications: 60 }, () =>
  check([...START_ROWS, ...FLEET], { width: 390, height: 844, touch: true }),
);

pageTest("axe: nothing stored, and errors", { empty: true }, async () => {
  await check([["empty", "", sees("empty")]]);
  fixture.options.faults = { applications: "the store is busy", flamegraph: "the store is busy" };
  await check([["error", `?service=${APP}&type=ebpf:cpu:nanoseconds`, sees("failed")]]);
});

pageTest("axe: login", { login: { key: "key", loggedIn: false } }, () =>
  check([["login", "", sees("login")]]),
);

pageTest("axe: a phone", {}, () =>
  check(
    [
      ["profile", `?service=${APP}`, drawn],
      ["comparison", `?service=${APP}&base=previous`, drawn],
      ["start", "", sees("application")],
      ["table", `?service=${APP}`, after("pane-table", "function")],
      ["compared table", `?service=${APP}&base=previous`, sees("function")],
    ],
    { width: 390, height: 844, touch: true },
  ),
);
