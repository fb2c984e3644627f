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

// stacks: [{ frames: ["leaf", …, "root"], value }]; a function per name, a location per function.
// A frame may also be { name, file, line }, then it has a function and a location of its own.
function encode({
  type = "ebpf:cpu:nanoseconds",
  unit = "nanoseconds",
  stacks = [{ frames: ["leaf", "main", "program"], value: 1000000000 }],
  endMs = Date.now(),
  durationMs = 1000,
  locationShift = 0, // makes samples name locations that do not exist
  comments = [],
} = {}) {
  const strings = new Map([["", 0]]);
  const str = (s) => strings.get(s) ?? (strings.set(s, strings.size), strings.size - 1);
  const functions = new Map(); // by name, or by a frame's JSON
  const fn = (frame) => {
    const key = typeof frame === "string" ? frame : JSON.stringify(frame);
    if (!functions.has(key)) {
      const whole = typeof frame === "string" ? { name: frame, file: "", line: 0 } : frame;
      functions.set(key, { id: functions.size + 1, ...whole });
    }
    return functions.get(key).id;
  };
  const parts = [bytes(1, Buffer.concat([number(1, str(type)), number(2, str(unit))]))];
  for (const { frames, value } of stacks) {
    const ids = Buffer.concat(frames.map((f) => varint(fn(f) + locationShift)));
    parts.push(bytes(2, Buffer.concat([bytes(1, ids), bytes(2, varint(value))])));
  }
  for (const { id, name, file, line } of functions.values()) {
    const at = Buffer.concat([number(1, id), number(2, line)]);
    parts.push(bytes(4, Buffer.concat([number(1, id), bytes(4, at)])));
    const named = [number(1, id), number(2, str(name)), number(4, str(file))];
    parts.push(bytes(5, Buffer.concat(named)));
  }
  for (const c of comments) parts.push(number(13, str(c)));
  for (const s of strings.keys()) parts.push(bytes(6, s));
  parts.push(number(9, BigInt(endMs) * 1000000n), number(10, BigInt(durationMs) * 1000000n));
  return Buffer.concat(parts);
}

// Reads varints one after the other.
function reader(bytes) {
  const r = { at: 0, more: () => r.at < bytes.length };
  r.next = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[r.at++];
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return Number(value);
    }
  };
  return r;
}
// Repeated numbers, packed or one by one.
function numbers(values = []) {
  return values.flatMap((v) => {
    if (typeof v === "number") return [v];
    const all = [];
    for (const r = reader(v); r.more();) all.push(r.next());
    return all;
  });
}
// Fields of a message, as { number: [values] }: numbers, or the bytes of what has a length.
function fields(message) {
  const found = {};
  for (const r = reader(message); r.more();) {
    const tag = r.next();
    let value = r.next();
    if ((tag & 7) === 2) {
      value = message.subarray(r.at, r.at + value);
      r.at += value.length;
    }
    (found[tag >> 3] ??= []).push(value);
  }
  return found;
}

// What a gzipped profile of the node-agent holds in sum: stacks, observations, and its comments.
function summary(body) {
  const p = fields(zlib.gunzipSync(body));
  const strings = p[6].map(String);
  const period = p[12][0];
  const samples = (p[2] ?? []).map((sample) => numbers(fields(sample)[2])[0] / period);
  return {
    stacks: samples.length,
    samples: Math.round(samples.reduce((sum, n) => sum + n, 0)),
    comments: numbers(p[13]).map((c) => strings[c]),
  };
}

// What a gzipped profile of the node-agent says: when it began, its comments, and its stacks with
// observations and values of each. Frames are in the order of a chain of calls, the root first, an
// inlined call after the one that it is in.
function contents(body) {
  const p = fields(zlib.gunzipSync(body));
  const strings = p[6].map(String);
  const first = (message, field) => message[field]?.[0] ?? 0;
  const byId = (field) => new Map((p[field] ?? []).map(fields).map((m) => [first(m, 1), m]));
  const [mappings, locations, functions] = [3, 4, 5].map(byId);
  const framesAt = (id) => {
    const location = locations.get(id);
    const mapping = mappings.get(first(location, 2));
    const file = mapping ? strings[first(mapping, 5)] : "";
    const frames = (location[4] ?? []).map(fields).map((line) => {
      const f = functions.get(first(line, 1));
      return {
        name: strings[first(f, 2)],
        file: strings[first(f, 4)],
        line: first(line, 2),
        startLine: first(f, 5),
        object: file,
        address: first(location, 3),
      };
    });
    return frames.reverse();
  };
  const period = first(p, 12);
  return {
    startMs: first(p, 9) / 1e6,
    comments: numbers(p[13]).map((c) => strings[c]),
    stacks: (p[2] ?? []).map(fields).map((sample) => ({
      frames: numbers(sample[1]).reverse().flatMap(framesAt),
      count: Math.round(numbers(sample[2])[0] / period),
      values: numbers(sample[2]),
    })),
  };
}

async function upload(
  cluster,
  service,
  body = zlib.gzipSync(encode()),
  headers = {},
  moreLabels = {},
) {
  const labels = new URLSearchParams({ "host.name": "e2e", ...moreLabels });
  if (service) labels.set("service.name", service);
  const r = await fetch(`${cluster.url}/v1/profiles?${labels}`, { method: "POST", body, headers });
  return { status: r.status, text: await r.text(), retryAfter: r.headers.get("retry-after") };
}

module.exports = { encode, fields, numbers, summary, contents, upload };
