// The gRPC port of the cluster agent under attack from one address, with a proper client at
// another. All attacks end by themselves.
"use strict";

const assert = require("node:assert");
const fs = require("node:fs");
const http2 = require("node:http2");
const { after, before, test } = require("node:test");
const zlib = require("node:zlib");
const { freePort, startCluster } = require("./lib/daemon");
const h2 = require("./lib/h2_raw");
const { eventually } = require("./lib/wait");

const { FRAME } = h2;
const METHOD = "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export";
const MIB = 1 << 20;
const MAX_CONNECTIONS = 512;
// far more than the server may take of a flood
const MUCH = 256 * MIB;

let cluster, port;

before(async () => {
  port = await freePort();
  cluster = await startCluster({ args: [`--otlp-grpc-listen=127.0.0.1:${port}`] });
});
after(() => cluster.stop());

const closed = (reason) =>
  cluster.metric("grpc_server_closed_connections_total", `reason="${reason}"`);
const openFiles = () => fs.readdirSync(`/proc/${cluster.pid}/fd`).length;
const memoryMiB = () =>
  Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${cluster.pid}/status`, "utf8"))[1]) / 1024;

function message(bytes, { compressed = 0, length = bytes.length } = {}) {
  const head = Buffer.alloc(5);
  head[0] = compressed;
  head.writeUInt32BE(length, 1);
  return Buffer.concat([head, bytes]);
}

const headers = (more = []) =>
  Buffer.concat(
    [
      [":method", "POST"],
      [":scheme", "http"],
      [":path", METHOD],
      [":authority", "localhost"],
      ["content-type", "application/grpc"],
      ["te", "trailers"],
      ...more,
    ].map(([name, value]) => h2.header(name, value)),
  );
const begin = (stream, more) =>
  h2.frame(FRAME.HEADERS, h2.END_HEADERS, stream, Buffer.concat([headers(), ...(more || [])]));
const data = (stream, bytes, flags = 0) => h2.frame(FRAME.DATA, flags, stream, bytes);
const cancel = (stream) => h2.frame(FRAME.RST_STREAM, 0, stream, Buffer.from([0, 0, 0, 8]));
const repeat = (n, bytes) => Buffer.concat(Array.from({ length: n }, () => bytes));

// A call by Node's own HTTP/2. Returns the status, or throws if there is no answer.
function call(body = message(Buffer.alloc(0)), encoding, more = {}) {
  return new Promise((resolve, reject) => {
    const client = http2.connect(`http://127.0.0.1:${port}`);
    const answer = {};
    const end = (e) => {
      client.destroy();
      if (answer.status === undefined) reject(e || new Error("no answer"));
      else resolve(answer);
    };
    client.on("error", end);
    const stream = client.request({
      ":method": "POST",
      ":path": METHOD,
      "content-type": "application/grpc",
      te: "trailers",
      ...(encoding ? { "grpc-encoding": encoding } : {}),
      ...more,
    });
    const take = (h) => {
      if (h["grpc-status"] === undefined) return;
      answer.status = Number(h["grpc-status"]);
      answer.text = h["grpc-message"];
    };
    stream.on("response", take);
    stream.on("trailers", take);
    stream.on("error", end);
    stream.on("close", end);
    stream.resume();
    stream.end(body);
  });
}

// while somebody else takes all he can: gRPC's clients try again, too
const served = (body) =>
  eventually("a proper client is served", async () => (await call(body)).status === 0);

const gone = (sockets) => {
  for (const s of sockets) s.destroy();
  return eventually("all have left", async () => {
    await served();
    return (await cluster.metric("grpc_server_connections")) <= 2;
  });
};

test("more connections than there is room for, and calls that never end", async () => {
  const files = openFiles();
  const idle = await closed("idle");
  const half = (i) => (i % 2 ? h2.hello() : null);
  const silent = Array.from({ length: 1200 }, (_, i) => h2.connect(port, half(i)));
  await eventually("own ones are displaced", async () => (await closed("idle")) > idle + 500);
  for (let i = 0; i < 5; i++) await served();
  assert.ok(openFiles() <= files + MAX_CONNECTIONS + 40, `${openFiles()} files`);
  await gone(silent);

  const slow = await closed("slow");
  const taken = () => cluster.metric("grpc_server_connections");
  const part = Buffer.concat([h2.hello(), begin(1), data(1, Buffer.from([0, 0, 0, 1, 0]))]);
  const endless = Array.from({ length: 700 }, () => h2.connect(port, part));
  await eventually("all places are taken", async () => (await taken()) === MAX_CONNECTIONS);
  for (let i = 0; i < 5; i++) await served();
  // not because they were late, after which all of them would be gone
  assert.ok((await closed("slow")) < slow + MAX_CONNECTIONS / 2);
  assert.ok(openFiles() <= files + MAX_CONNECTIONS + 40, `${openFiles()} files`);
  await gone(endless);
});

// each of these writes until it is closed
const floods = {
  "calls that are cancelled": () => {
    let stream = -1;
    return () => {
      const frames = [];
      for (let i = 0; i < 50; i++) {
        stream += 2;
        frames.push(begin(stream), cancel(stream));
      }
      return Buffer.concat(frames);
    };
  },
  "complete calls that are cancelled": () => {
    let stream = -1;
    return () => {
      stream += 2;
      return Buffer.concat([
        begin(stream),
        data(stream, message(Buffer.alloc(0)), h2.END_STREAM),
        cancel(stream),
      ]);
    };
  },
  "headers without an end": (s) => {
    s.write(h2.frame(FRAME.HEADERS, 0, 1, headers()));
    return () => h2.frame(FRAME.CONTINUATION, 0, 1, h2.header("x-a", "a".repeat(16000)));
  },
  "empty parts of headers": (s) => {
    s.write(h2.frame(FRAME.HEADERS, 0, 1, headers()));
    return () => repeat(100, h2.frame(FRAME.CONTINUATION, 0, 1));
  },
  "headers that inflate": () => {
    let stream = -1;
    return () => {
      stream += 2;
      const big = stream === 1 ? [h2.header("x-a", "b".repeat(4000), 0x40)] : [];
      return begin(stream, [...big, Buffer.alloc(12000, 0xbe)]);
    };
  },
  PING: () => () => repeat(1000, h2.frame(FRAME.PING, 0, 0, Buffer.alloc(8))),
  SETTINGS: () => () => repeat(1000, h2.frame(FRAME.SETTINGS, 0, 0)),
  PRIORITY: () => () => repeat(1000, h2.frame(FRAME.PRIORITY, 0, 1, Buffer.from([0, 0, 0, 0, 1]))),
  "unknown frames": () => () => repeat(1000, h2.frame(FRAME.UNKNOWN, 0, 0)),
  "empty data": (s) => {
    s.write(begin(1));
    return () => repeat(1000, data(1, Buffer.alloc(0)));
  },
};

test("floods of frames are ended with GOAWAY, and counted", async () => {
  const before = await closed("excessive");
  const memory = memoryMiB();
  const flood = ([what, start]) => {
    const s = h2.connect(port, h2.hello());
    return h2.press(s, start(s), MUCH).catch((e) => assert.fail(`${what}: ${e.message}`));
  };
  const all = Promise.all(Object.entries(floods).map(flood));
  await served();
  await all;
  await served();
  const n = Object.keys(floods).length;
  await eventually("all are counted", async () => (await closed("excessive")) === before + n);

  // its SETTINGS are not acknowledged, so it is told of each refused call, but it does not read
  const deaf = h2.connect(port, h2.hello({ ack: false }), { read: false });
  let stream = -1;
  const next = () => repeat(1, begin((stream += 2)));
  await h2.press(deaf, next, MUCH);
  assert.ok(stream < 200000, `${stream / 2} calls`);

  const one = h2.connect(port, h2.hello());
  one.write(repeat(1020, h2.frame(FRAME.PRIORITY, 0, 1, Buffer.from([0, 0, 0, 0, 1]))));
  await eventually("it is closed", async () => one.gone);
  // the last frame: type 7, and 11 is ENHANCE_YOUR_CALM
  const last = one.received.subarray(-17);
  assert.deepStrictEqual([last[3], last.readUInt32BE(13)], [FRAME.GOAWAY, 11]);
  assert.ok(memoryMiB() < memory + 100, `${memory} → ${memoryMiB()} MiB`);
});

test("what is not HTTP/2 is closed, and counted", async () => {
  const before = await closed("invalid");
  const hello = Buffer.from("16030100c8010000c40303", "hex"); // of TLS
  const web = h2.connect(port, Buffer.from("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
  const others = [
    Buffer.concat([hello, Buffer.alloc(200, 7)]),
    Buffer.alloc(100, 255),
    Buffer.concat([h2.PREFACE, Buffer.alloc(200, 0xab)]),
    Buffer.concat([h2.hello(), h2.frame(FRAME.WINDOW_UPDATE, 0, 0, Buffer.alloc(4))]),
  ].map((bytes) => h2.connect(port, bytes));
  await eventually("all are closed", async () => [web, ...others].every((s) => s.gone));
  assert.match(web.received.toString(), /^HTTP\/1\.1 426 [^]*This port speaks gRPC/);
  assert.strictEqual(await closed("invalid"), before + 1 + others.length);
  await served();
});

test("bombs and huge messages are refused early; memory for the others remains", async () => {
  const memory = memoryMiB();
  const zipped = zlib.gzipSync(Buffer.alloc(200 * MIB));
  const bomb = await call(message(zipped, { compressed: 1 }), "gzip");
  assert.deepStrictEqual(bomb, {
    status: 8,
    text: "the body inflates to more than 134217728 bytes",
  });

  // 64 MiB, of which the first bytes are enough
  const huge = await call(message(Buffer.alloc(100), { length: 64 * MIB }));
  assert.deepStrictEqual(huge, { status: 8, text: "the message is too large" });
  const talkative = Object.fromEntries("abcde".split("").map((x) => [x, x.repeat(4000)]));
  const refused = await call(message(Buffer.alloc(0)), undefined, talkative);
  assert.deepStrictEqual(refused, { status: 8, text: "the headers are larger than 16 KiB" });

  // answers that may not be sent
  const calls = Array.from({ length: 32 }, (_, i) =>
    Buffer.concat([begin(2 * i + 1), data(2 * i + 1, message(Buffer.alloc(0)), h2.END_STREAM)]),
  );
  const shut = h2.hello({ settings: h2.setting(4, 0) });
  const deaf = Array.from({ length: 40 }, () =>
    h2.connect(port, Buffer.concat([shut, ...calls]), { read: false }),
  );
  await served();
  await gone(deaf);

  // 300 MiB of messages that do not end; all together may have 256
  const slow = await closed("slow");
  const used = memoryMiB();
  const endless = Buffer.concat(
    Array.from({ length: 4 }, (_, i) =>
      Buffer.concat([
        begin(2 * i + 1),
        data(2 * i + 1, message(Buffer.alloc(0), { length: 16 * MIB })),
        repeat(60, data(2 * i + 1, Buffer.alloc(16384))),
      ]),
    ),
  );
  const greedy = Array.from({ length: 80 }, () =>
    h2.connect(port, Buffer.concat([h2.hello(), endless])),
  );
  await eventually("memory is used up", async () => memoryMiB() > used + 200);
  // a field that nobody knows
  const unknown = Buffer.concat([Buffer.from([0x7a, 0x80, 0x80, 0x40]), Buffer.alloc(MIB)]);
  for (let i = 0; i < 3; i++) await served(message(unknown));
  assert.ok((await closed("slow")) > slow);
  assert.ok((await closed("slow")) < slow + greedy.length / 2, "they were not late");
  await gone(greedy);
  assert.ok(memoryMiB() < memory + 600, `${memory} → ${memoryMiB()} MiB`);
  assert.ok(cluster.running);
});
