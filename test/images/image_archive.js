// An image in an archive as "docker save" writes it: its configuration and, unpacked, its files.
// Containers of it are run by runc alone.
"use strict";

const { execFileSync } = require("node:child_process");
const crypto = require("node:crypto");
const fs = require("node:fs");
const path = require("node:path");
const { Daemon, root, scratch } = require("../e2e/lib/daemon");

const directory = process.env.IMAGE_DIR || "build/images";

class ImageArchive {
  // folder: below that of the images
  constructor(name, folder = "") {
    this.name = name;
    this.file = path.join(root, directory, folder, `${name}.tar`);
    [this.manifest] = JSON.parse(this.read("manifest.json"));
    this.image = JSON.parse(this.read(this.manifest.Config));
    this.config = this.image.config;
    this.root = scratch(`root-${name}`);
    fs.mkdirSync(this.root);
    for (const layer of this.manifest.Layers) {
      const command = 'tar -xOf "$0" "$1" | tar -x -p --numeric-owner -C "$2"';
      execFileSync("bash", ["-o", "pipefail", "-c", command, this.file, layer, this.root]);
    }
  }

  read(entry) {
    return execFileSync("tar", ["-xOf", this.file, entry], { encoding: "utf8" });
  }

  // All that is below the root; type is find's.
  files() {
    const format = ["-mindepth", "1", "-printf", "%y %m %U %G %P\n"];
    const lines = execFileSync("find", [this.root, ...format], { encoding: "utf8" }).trimEnd();
    return lines
      .split("\n")
      .map((line) => /^(.) (\d+) (\d+) (\d+) (.+)$/.exec(line))
      .map(([, type, mode, uid, gid, name]) => ({
        name,
        type,
        mode: parseInt(mode, 8),
        uid: Number(uid),
        gid: Number(gid),
      }))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  // The program with the image's libraries alone, by qemu if it is for another architecture.
  version() {
    if (this.image.architecture === "amd64") return this.run(["--version"]);
    const [program] = this.config.Entrypoint;
    const args = ["-L", this.root, path.join(this.root, program), "--version"];
    return new Daemon("qemu-aarch64", args, { name: this.name });
  }

  // A container as a pod of Pod Security "restricted" has it: the image's user and entry point, no
  // capabilities, and a root that cannot be written, /tmp included. mounts: { inside: outside }
  run(args, { mounts = {}, url } = {}) {
    const bundle = scratch(`bundle-${this.name}`);
    fs.mkdirSync(bundle);
    const settings = this.settings(args, mounts);
    fs.writeFileSync(path.join(bundle, "config.json"), JSON.stringify(settings));
    const id = `images-${crypto.randomBytes(6).toString("hex")}`;
    const state = `--root=${bundle}/state`;
    const daemon = new Daemon("runc", [state, "run", "--bundle", bundle, id], {
      name: this.name,
      url,
    });
    // runc passes signals on; this is for a test that ends without having stopped it
    process.on("exit", () => {
      if (daemon.running) execFileSync("runc", [state, "delete", "--force", id]);
    });
    return daemon;
  }

  settings(args, mounts) {
    const [uid, gid] = this.config.User.split(":").map(Number);
    return {
      ociVersion: "1.0.2",
      root: { path: this.root, readonly: true },
      process: {
        user: { uid, gid },
        args: [...this.config.Entrypoint, ...args],
        env: this.config.Env,
        cwd: "/",
        capabilities: {},
        noNewPrivileges: true,
      },
      mounts: [
        { destination: "/proc", type: "proc", source: "proc" },
        { destination: "/dev", type: "tmpfs", source: "tmpfs", options: ["nosuid", "mode=755"] },
        ...Object.entries(mounts).map(([destination, source]) => ({
          destination,
          source,
          type: "bind",
          options: ["bind", "rw"],
        })),
      ],
      linux: { namespaces: ["pid", "mount", "ipc", "uts"].map((type) => ({ type })) },
    };
  }
}

module.exports = { ImageArchive, directory };
