// A program of .NET that is one file has its assemblies behind the runtime, with a list of them at
// the end. makeProgram() makes another program of one: the same runtime and framework, with other
// assemblies in place of some, and some more.
//
// Source: docs/design/bundler-design.md of dotnet/designs.
"use strict";

const assert = require("node:assert");
const fs = require("node:fs");

// In front of these bytes is where the list is.
const MARK = Buffer.from(
  "8b1202b96a612038727b930214d7a03213f5b9e6efae3318ee3b2dce24b36aae",
  "hex",
);
const ASSEMBLY = 1;
const PAGE_BYTES = 4096;

class Reader {
  constructor(bytes, at) {
    Object.assign(this, { bytes, at });
  }
  take(n) {
    this.at += n;
    return this.bytes.subarray(this.at - n, this.at);
  }
  u32 = () => this.take(4).readUInt32LE();
  u64 = () => Number(this.take(8).readBigInt64LE());
  text() {
    const low = this.take(1)[0];
    return this.take(low & 0x80 ? (low & 0x7f) | (this.take(1)[0] << 7) : low).toString();
  }
}

const u32 = (n) => Buffer.from(Uint32Array.of(n).buffer);
const u64 = (n) => Buffer.from(BigInt64Array.of(BigInt(n)).buffer);

function text(s) {
  const n = Buffer.byteLength(s);
  const head = n < 0x80 ? [n] : [(n & 0x7f) | 0x80, n >> 7];
  return Buffer.concat([Buffer.from(head), Buffer.from(s)]);
}

// files: { name: path of an assembly }
function makeProgram(from, to, files) {
  const program = fs.readFileSync(from), mark = program.indexOf(MARK);
  const list = new Reader(program, Number(program.readBigInt64LE(mark - 8)));
  const [major, minor, n, id] = [list.u32(), list.u32(), list.u32(), list.text()];
  assert.strictEqual(major, 6);
  const head = Array.from({ length: 5 }, list.u64); // two places in the file, and flags
  const entries = Array.from({ length: n }, () => ({
    at: list.u64(), bytes: list.u64(), packed: list.u64(), type: list.take(1)[0], name: list.text(),
  }));

  const pieces = [program];
  let end = program.length;
  const append = (bytes) => {
    const room = Buffer.alloc(-end & (PAGE_BYTES - 1));
    pieces.push(room, bytes);
    end += room.length + bytes.length;
    return end - bytes.length;
  };

  // what the host looks for is in a list of dependencies, too
  const json = program.subarray(head[0], head[0] + head[1]).toString().replace(/^\ufeff/, "");
  const dependencies = JSON.parse(json);
  const target = dependencies.targets[dependencies.runtimeTarget.name];
  const framework = Object.keys(target).find((name) => name.startsWith("runtimepack."));
  for (const [name, path] of Object.entries(files)) {
    const bytes = fs.readFileSync(path);
    const entry = { at: append(bytes), bytes: bytes.length, packed: 0, type: ASSEMBLY, name };
    const known = entries.find((e) => e.name === name);
    if (known) Object.assign(known, entry);
    else {
      entries.push(entry);
      target[framework].runtime[name] = { assemblyVersion: "4.0.0.0", fileVersion: "4.0.0.0" };
    }
  }
  const changed = Buffer.from(JSON.stringify(dependencies));
  const itself = entries.find((e) => e.at === head[0]);
  itself.at = head[0] = append(changed);
  itself.bytes = head[1] = changed.length;

  const listed = [u32(major), u32(minor), u32(entries.length), text(id), ...head.map(u64)];
  for (const e of entries)
    listed.push(u64(e.at), u64(e.bytes), u64(e.packed), Buffer.from([e.type]), text(e.name));
  program.writeBigInt64LE(BigInt(append(Buffer.concat(listed))), mark - 8);
  fs.writeFileSync(to, Buffer.concat(pieces), { mode: 0o755 });
}

module.exports = { makeProgram };
