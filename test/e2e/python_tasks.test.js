// Coroutines of asyncio that await the running task stand above it, in Debian's newest CPython.
"use strict";

const assert = require("node:assert");
const { spawnSync } = require("node:child_process");
const path = require("node:path");
const { test } = require("node:test");
const { nodeAgent, root } = require("./lib/daemon");

test("what awaits a task is above it, as the program says it itself", () => {
  const script = path.join(root, "test/python/python-tasks.sh");
  // under load, some samples are from before the program's tables are there
  const env = { ...process.env, PYTHONS: "debian-sid-python3.15", SHARE: "0.95" };
  const { status, stdout, stderr } = spawnSync(script, [nodeAgent], { env, encoding: "utf8" });
  assert.strictEqual(status, 0, stdout + stderr);
  assert.match(stdout, /debian-sid-python3\.15, tasks: \d+ of \d+ samples/);
});
