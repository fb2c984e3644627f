// The wall clock of one process, stepped by test/soak/clock_step.c; seconds may be changed while it
// runs.
"use strict";

const fs = require("node:fs");
const path = require("node:path");
const { root, scratch } = require("../../e2e/lib/daemon");

class ClockStep {
  constructor(seconds = 0) {
    this.file = scratch("step");
    this.set(seconds);
    this.env = {
      LD_PRELOAD: path.join(root, "build/soak/clock_step.so"),
      CLOCK_STEP: this.file,
    };
    // a command that runs another one with that clock
    this.within = ["env", ...Object.entries(this.env).map(([k, v]) => `${k}=${v}`)];
  }
  set(seconds) {
    const ns = Buffer.alloc(8);
    ns.writeBigInt64LE(BigInt(Math.round(seconds)) * 1000000000n);
    // in place, because the process has mapped the file
    const fd = fs.openSync(this.file, fs.existsSync(this.file) ? "r+" : "w");
    fs.writeSync(fd, ns, 0, 8, 0);
    fs.closeSync(fd);
  }
}

module.exports = { ClockStep };
