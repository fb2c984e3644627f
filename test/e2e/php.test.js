// Functions of PHP by name, file and line: Debian's php, interpreted, and compiled while it runs.
"use strict";

const fs = require("node:fs");
const path = require("node:path");
const { test } = require("node:test");
const { checkPhp } = require("../php/php_frames");
const { nodeAgent } = require("./lib/daemon");

const PHP = "/usr/bin/php8.2";

test("each frame of PHP has its function, file and line, and stands where it runs", () => {
  checkPhp(nodeAgent, "/", PHP);
});

// The compiled code says nothing of its native frames; those of PHP are whole.
test("so it is with the compiler of PHP", () => {
  const modules = "/usr/lib/php";
  const files = fs.readdirSync(modules).map((d) => path.join(modules, d, "opcache.so"));
  const opcache = files.find((f) => fs.existsSync(f));
  const set = ["enable_cli=1", "jit=tracing", "jit_buffer_size=64M", "file_update_protection=0"];
  const options = [`zend_extension=${opcache}`, ...set.map((s) => `opcache.${s}`)];
  checkPhp(nodeAgent, "/", PHP, options.flatMap((o) => ["-d", o]));
});
