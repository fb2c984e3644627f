// Small file systems that outlive the daemons on them: a mount namespace that a process of ours
// holds, so that they end with the test, however it ends.
"use strict";

const { spawn } = require("node:child_process");
const fs = require("node:fs");
const { eventually } = require("../../e2e/lib/wait");

class SmallDisks {
  // sizes: by directory, e.g. { "/some/dir": "8m" }; outer directories first
  static async mount(sizes) {
    const disks = new SmallDisks();
    const mounts = Object.entries(sizes).map(
      ([dir, size]) => `mkdir -p ${dir} && mount -t tmpfs -o size=${size} tmpfs ${dir}`,
    );
    const script = `${mounts.join(" && ")} && echo ready && exec sleep infinity`;
    disks.holder = spawn("unshare", ["--mount", "--propagation=private", "sh", "-c", script], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    process.on("exit", () => disks.stop());
    let said = "";
    disks.holder.stdout.on("data", (d) => (said += d));
    await eventually("the mounts", () => said.includes("ready"));
    return disks;
  }

  // the command that runs another one there, and the place where this process sees a directory
  get within() {
    return ["nsenter", `--target=${this.holder.pid}`, "--mount", "--"];
  }
  path(dir) {
    return `/proc/${this.holder.pid}/root${dir}`;
  }

  // Writes into a file until not a byte is left.
  fill(dir) {
    const fd = fs.openSync(`${this.path(dir)}/filler`, "a");
    try {
      for (let size = 1 << 20; size > 0; size >>= 1)
        try {
          while (fs.writeSync(fd, Buffer.alloc(size)) === size);
        } catch (e) {
          if (e.code !== "ENOSPC") throw e;
        }
    } finally {
      fs.closeSync(fd);
    }
  }
  free(dir) {
    fs.rmSync(`${this.path(dir)}/filler`, { force: true });
  }

  stop() {
    this.holder.kill("SIGKILL");
  }
}

module.exports = { SmallDisks };
