// Functions of PHP by name, file and line: Debian's php, interpreted, and compiled while it runs.
"use strict";

const assert = require("node:assert");
const { spawn } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const { test } = require("node:test");
const { checkPhp } = require("../php/php_frames");
const { freePort, nodeAgent, scratch } = require("./lib/daemon");
const { eventually } = require("./lib/wait");

const PHP = "/usr/bin/php8.2";

test("each frame of PHP has its function, file and line, and stands where it runs", () => {
  checkPhp(nodeAgent, "/", PHP);
});

function opcacheOptions() {
  const modules = "/usr/lib/php";
  const files = fs.readdirSync(modules).map((d) => path.join(modules, d, "opcache.so"));
  const opcache = files.find((f) => fs.existsSync(f));
  const set = ["enable_cli=1", "file_update_protection=0"];
  const options = [`zend_extension=${opcache}`, ...set.map((s) => `opcache.${s}`)];
  return options.flatMap((o) => ["-d", o]);
}

// The compiled code says nothing of its native frames; those of PHP are whole.
test("so it is with the compiler of PHP", () => {
  const jit = ["jit=tracing", "jit_buffer_size=64M"].flatMap((s) => ["-d", `opcache.${s}`]);
  checkPhp(nodeAgent, "/", PHP, [...opcacheOptions(), ...jit]);
});

const served = `<?php
function burn($n) { for ($x = 1, $i = 0; $i < $n; $i++) $x = ($x * 48271) % 2147483647; return $x; }
echo burn(1000000);
`;

const exited = (child) => new Promise((resolve) => child.once("exit", resolve));

// What a request executes is freed at its end, often before a sample of it is looked at.
test("scripts of short requests have their names", async () => {
  const dir = scratch("php");
  fs.mkdirSync(dir, { recursive: true });
  fs.writeFileSync(path.join(dir, "served.php"), served);
  const port = await freePort();
  const url = `http://127.0.0.1:${port}/served.php`;
  const server = spawn(PHP, ["-n", ...opcacheOptions(), "-S", `127.0.0.1:${port}`, "-t", dir], {
    stdio: "ignore",
  });
  try {
    await eventually("it serves", async () => (await fetch(url)).ok);
    let n = 0;
    let named = 0;
    for (let seconds = 5; n < 100 && seconds < 1000; seconds *= 2) {
      const to = path.join(dir, "folded");
      const what = ["-p", String(server.pid), "-d", `${seconds}s`, "--format", "folded", "-o", to];
      const record = spawn(nodeAgent, ["record", ...what], { stdio: "ignore" });
      const ended = exited(record);
      while (record.exitCode === null) await (await fetch(url)).text();
      assert.strictEqual(await ended, 0);
      for (const line of fs.readFileSync(to, "utf8").trimEnd().split("\n")) {
        if (!/;burn[; ]/.test(line)) continue;
        const count = Number(line.slice(line.lastIndexOf(" ")));
        n += count;
        if (/;served.php;burn[; ]/.test(line)) named += count;
      }
    }
    assert.ok(n >= 100 && named >= n * 0.9, `${named} of ${n} stacks have the script's name`);
  } finally {
    server.kill("SIGKILL");
  }
});
