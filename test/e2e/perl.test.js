// Subs of Perl by name, file and line: Debian's perl.
"use strict";

const { test } = require("node:test");
const { checkPerl } = require("../perl/perl_frames");
const { nodeAgent } = require("./lib/daemon");

test("each frame of Perl has its sub, file and line, and stands where it runs", () => {
  checkPerl(nodeAgent, "/", "/usr/bin/perl");
});
