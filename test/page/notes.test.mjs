// Notes, saved views and snapshots: written, listed, marked on the timeline, opened and deleted.

import assert from "node:assert/strict";
import {
  drawn,
  eventually,
  fixture,
  frame,
  id,
  open,
  page,
  pageTest,
  query,
  server,
} from "./page_harness.mjs";

const APP = "/docker/4f1d2c9ab310";
const HOSTILE = `<img src=x onerror="document.title='hit'"> "'; DROP`;

const write = async (name, text = "") => {
  if (!(await id("note-form").isVisible())) await id("notes").click();
  await id("note-name").fill(name);
  if (text) await id("note-text").fill(text);
  await id("note-save").click();
};
const saved = () =>
  eventually(async () => assert.equal(await id("note-said").innerText(), "Saved."));

pageTest("a note has these times, is marked on the timeline, and leads back", {}, async () => {
  await open(`?service=${APP}&range=1h`);
  await drawn();
  assert.equal(await id("note-mark").count(), 0);
  await write(HOSTILE, `line one\nline two ${HOSTILE}`);
  await saved();
  const [note] = fixture.notes;
  assert.equal(note.name, HOSTILE);
  assert.equal(note.service, APP);
  assert.match(note.url, /^\?service=\/docker\/4f1d2c9ab310&range=\d+-\d+&zone=/);
  assert.ok(Math.abs(note.at - Date.now()) < 600_000);
  await eventually(async () => assert.match(await id("notes").innerText(), /Notes 1/));
  await page.keyboard.press("Escape");

  const mark = id("note-mark").getByRole("button").first();
  await eventually(async () => assert.equal(await mark.innerText(), HOSTILE));
  await mark.click();
  assert.match(await id("note").locator("p").innerText(), /line one\nline two/);
  assert.equal(await page.locator("img").count(), 0);
  await id("note-view").click();
  await eventually(() => assert.match(query().get("range"), /^\d+-\d+$/));
  await drawn();
  assert.doesNotMatch(await page.title(), /hit/);
});

pageTest("a name has 100 characters, as the server counts them", {}, async () => {
  await open("");
  await id("application").first().waitFor();
  await write("🔥".repeat(120));
  await saved();
  assert.equal(fixture.notes[0].name, "🔥".repeat(100));
});

pageTest("a live view stays live, and a selected part is where the mark is", {}, async () => {
  const now = Date.now();
  await open(`?service=${APP}`);
  await drawn();
  await id("notes").click();
  await id("note-live").check();
  await write("live");
  await saved();
  assert.equal(fixture.notes[0].url, `?service=${APP}`);
  await open(`?service=${APP}&select=${now - 400_000}-${now - 300_000}`);
  await drawn();
  await id("notes").click();
  assert.equal(await id("note-live").count(), 0);
  await write("part");
  await saved();
  assert.equal(fixture.notes[1].at, now - 400_000);
  assert.match(fixture.notes[1].url, /select=/);
});

pageTest("the start page has all notes, and writes those about all", {}, async () => {
  const { notes } = fixture;
  notes.push({ ...base, id: "00000000000000aa", service: "/other", name: "of another" });
  await open("");
  await id("application").first().waitFor();
  await write("all of us");
  await saved();
  await eventually(async () => assert.equal(await id("note").count(), 2));
  assert.equal(fixture.notes.at(-1).service, "");
  await open(`?service=${APP}`);
  await drawn();
  await id("notes").click();
  await eventually(async () => assert.equal(await id("note").count(), 1));
  assert.match(await id("note").first().innerText(), /all of us/);
});

const base = { type: "", at: Date.now(), created: 0, text: "", url: "", bytes: 0, compared: false };

pageTest("the key is asked for once, and two clicks delete", { notesKey: "n" }, async () => {
  await open(`?service=${APP}`);
  await drawn();
  await write("needs a key");
  await eventually(async () => assert.match(await id("note-said").innerText(), /missing key/));
  assert.equal(fixture.notes.length, 0);
  await id("notes-key").fill("n");
  await id("note-save").click();
  await saved();
  await id("note-delete").click();
  assert.match(await id("note-delete").innerText(), /for everybody/);
  assert.equal(fixture.notes.length, 1);
  await id("note-delete").click();
  await eventually(async () => assert.equal(await id("note").count(), 0));
  assert.equal(fixture.notes.length, 0);
});

pageTest("a snapshot has both sides, and shows them without profiles", {}, async () => {
  await open(`?service=${APP}&base=previous&search=malloc`);
  await drawn();
  await id("notes").click();
  await id("note-keep").check();
  await write("before the fix", "two sides");
  await saved();
  const [note] = fixture.notes;
  assert.equal(note.compared, true);
  fixture.options.empty = true;
  const asked = server.requests.length;
  await id("note-snapshot").click();
  await eventually(() => assert.equal(query().get("snapshot"), note.id));
  await frame("main.main");
  assert.equal(await id("file-name").innerText(), "before the fix");
  assert.match(await id("file-strip").innerText(), /Snapshot of \/docker\/4f1d2c9ab310.*two sides/);
  assert.match(await id("side-b").innerText(), /Baseline/);
  // the other way round, it is still the snapshot
  await id("swap").click();
  await eventually(async () => assert.match(await id("side-a").innerText(), /Baseline/));
  assert.match(await id("file-strip").innerText(), /Snapshot of/);
  assert.equal(await id("store").count(), 0);
  await id("swap").click();
  assert.equal(await page.locator("input[data-slash]").inputValue(), "malloc");
  assert.equal(await id("store").count(), 0);
  const names = server.requests.slice(asked).map((r) => r.name);
  assert.ok(names.includes("snapshot") && !names.includes("flamegraph"), names.join());
  await page.reload(); // the link works by itself
  await frame("main.main");
  await id("close-file").click();
  await eventually(() => assert.equal(query().get("service"), APP));
});

pageTest("a snapshot that is gone says so", {}, async () => {
  await open("?snapshot=0123456789abcdef");
  await id("failed").waitFor();
  assert.match(await id("failed").innerText(), /deleted, or its time was up/);
});

pageTest("a note that somebody else deleted goes when the list is opened", {
  notes: [{ name: "theirs" }, { name: "mine" }],
}, async () => {
  await open(`?service=${APP}&range=1700000000000-1700000900000`);
  await eventually(async () => assert.match(await id("notes").innerText(), /Notes 2/));
  fixture.notes = fixture.notes.filter((n) => n.name !== "theirs");
  await id("notes").click();
  await eventually(async () => assert.equal(await id("note").count(), 1));
  // or when it is to be deleted again
  fixture.notes = [];
  await id("note-delete").click();
  await id("note-delete").click();
  await eventually(async () => assert.equal(await id("note").count(), 0));
});

pageTest("a snapshot is kept as long as is said, and its note says until when", {}, async () => {
  await open(`?service=${APP}&range=1h`);
  await drawn();
  await id("notes").click();
  await id("note-name").fill("before");
  assert.equal(await id("note-ttl").count(), 0);
  await id("note-keep").check();
  await id("note-ttl").selectOption("7d");
  await id("note-save").click();
  await saved();
  assert.equal(server.requests.find((r) => r.name === "snapshots").params.ttl, "7d");
  const until = new Date(Date.now() + 7 * 86_400_000).getDate();
  await eventually(async () =>
    assert.match(await id("note-expires").innerText(), new RegExp(`kept until ${until} `)),
  );
});
