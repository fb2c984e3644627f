// Functions of JavaScript by name, script and line: the node that runs the tests.
"use strict";

const { execFileSync } = require("node:child_process");
const path = require("node:path");
const { test } = require("node:test");
const { checkNode } = require("../v8/v8_frames");
const { nodeAgent } = require("./lib/daemon");
const { tempDir } = require("./lib/temp_dir");

test("each frame of JavaScript has its function, script and line, and stands where it runs", () => {
  checkNode(nodeAgent, "/", process.execPath);
});

test("so it is in a stripped Node.js, where builtins of V8 have no names", () => {
  const node = path.join(tempDir("stripped"), "node");
  execFileSync("strip", ["-o", node, process.execPath]);
  checkNode(nodeAgent, "/", node);
});
