// Functions of Lua by name, file and line: Debian's lua.
"use strict";

const { test } = require("node:test");
const { checkLua } = require("../lua/lua_frames");
const { nodeAgent } = require("./lib/daemon");

test("each frame of Lua has its function, file and line, and stands where it runs", () => {
  checkLua(nodeAgent, "/", "/usr/bin/lua5.4");
});
