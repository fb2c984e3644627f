// Folders that are removed when the program ends.
"use strict";

const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");

const made = [];
process.on("exit", () => {
  for (const dir of made) {
    try {
      fs.rmSync(dir, { recursive: true, force: true, maxRetries: 3 });
    } catch (e) {
      console.error(`${dir} stays: ${e.message}`); // something of the test still runs
    }
  }
});

// base: /var/tmp for programs that have another /tmp; mode: 0o755 for those of other users.
function tempDir(name, { base = os.tmpdir(), mode = 0o700 } = {}) {
  const dir = fs.mkdtempSync(path.join(base, `${name}-`));
  made.push(dir);
  fs.chmodSync(dir, mode);
  return dir;
}

module.exports = { tempDir };
