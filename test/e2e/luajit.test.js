// Functions of LuaJIT by name, file and line, with its compiler and without: Debian's luajit.
"use strict";

const { test } = require("node:test");
const { nodeAgent } = require("./lib/daemon");
const { checkLuaJit } = require("../luajit/luajit_frames");

test("functions of LuaJIT have name, file and line, and those that a trace began in", () => {
  checkLuaJit(nodeAgent, "/", "/usr/bin/luajit");
});
