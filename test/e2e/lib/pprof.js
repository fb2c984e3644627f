// Small pprof profiles of our own making, good and bad (proto/profile.proto), and their upload.
"use strict";

const zlib = require("node:zlib");

function varint(value) {
  let v = BigInt(value);
  const bytes = [];
  for (; v >= 128n; v >>= 7n) bytes.push(Number(v & 127n) | 128);
  bytes.push(Number(v));
  return Buffer.from(bytes);
}
const number = (field, value) => Buffer.concat([varint(field << 3), varint(value)]);
function bytes(field, value) {
  const body = Buffer.isBuffer(value) ? value : Buffer.from(value);
  return Buffer.concat([varint((field << 3) | 2), varint(body.length), body]);
}

// stacks: [{ frames: ["leaf", …, "root"], value }]; a function per name, a location per function
function encode({
  type = "ebpf:cpu:nanoseconds",
  unit = "nanoseconds",
  stacks = [{ frames: ["leaf", "main", "program"], value: 1000000000 }],
  endMs = Date.now(),
  durationMs = 1000,
  locationShift = 0, // makes samples name locations that do not exist
} = {}) {
  const strings = new Map([["", 0]]);
  const str = (s) => strings.get(s) ?? (strings.set(s, strings.size), strings.size - 1);
  const functions = new Map();
  const fn = (name) => functions.get(name) ?? (functions.set(name, functions.size + 1), functions.size);
  const parts = [bytes(1, Buffer.concat([number(1, str(type)), number(2, str(unit))]))];
  for (const { frames, value } of stacks) {
    const ids = Buffer.concat(frames.map((f) => varint(fn(f) + locationShift)));
    parts.push(bytes(2, Buffer.concat([bytes(1, ids), bytes(2, varint(value))])));
  }
  for (const [name, id] of functions) {
    parts.push(bytes(4, Buffer.concat([number(1, id), bytes(4, number(1, id))])));
    parts.push(bytes(5, Buffer.concat([number(1, id), number(2, str(name))])));
  }
  for (const s of strings.keys()) parts.push(bytes(6, s));
  parts.push(number(9, BigInt(endMs) * 1000000n), number(10, BigInt(durationMs) * 1000000n));
  return Buffer.concat(parts);
}

async function upload(cluster, service, body = zlib.gzipSync(encode()), headers = {}) {
  const labels = new URLSearchParams({ "host.name": "e2e" });
  if (service) labels.set("service.name", service);
  const r = await fetch(`${cluster.url}/v1/profiles?${labels}`, { method: "POST", body, headers });
  return { status: r.status, text: await r.text(), retryAfter: r.headers.get("retry-after") };
}

module.exports = { encode, upload };
