// Functions of Ruby by name, file and line: Debian's ruby.
"use strict";

const { test } = require("node:test");
const { checkRuby } = require("../ruby/ruby_frames");
const { nodeAgent } = require("./lib/daemon");

test("each frame of Ruby has its function, file and line, and stands where it runs", () => {
  checkRuby(nodeAgent, "/", "/usr/bin/ruby3.1");
});
