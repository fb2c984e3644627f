// Functions of JavaScript by name, script and line: the node that runs the tests.
"use strict";

const { test } = require("node:test");
const { checkNode } = require("../v8/v8_frames");
const { nodeAgent } = require("./lib/daemon");

test("each frame of JavaScript has its function, script and line, and stands where it runs", () => {
  checkNode(nodeAgent, "/", process.execPath);
});
