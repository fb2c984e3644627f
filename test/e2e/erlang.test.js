// Functions of Erlang by name, file and line: that of Debian 12, whose emulator compiles.
"use strict";

const { execFileSync } = require("node:child_process");
const path = require("node:path");
const { test } = require("node:test");
const { checkErlang } = require("../erlang/erlang_frames");
const { nodeAgent, root } = require("./lib/daemon");

const dir = path.join(process.env.DEPS, "interpreters/bookworm-erlang");

test("each frame of Erlang has its function, file and line, below those in C", () => {
  const tree = path.join(root, "test/interpreters/tree.sh");
  execFileSync(tree, [dir, "bookworm", "erlang-base", "erlang-crypto"]);
  checkErlang(nodeAgent, dir);
});
