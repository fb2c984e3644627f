// HTTP/2 frame by frame, for clients that no library plays: RFC 9113 and, for headers, RFC 7541
// without compression.
"use strict";

const net = require("node:net");

const FRAME = {
  ...{ DATA: 0, HEADERS: 1, PRIORITY: 2, RST_STREAM: 3, SETTINGS: 4, PING: 6 },
  ...{ GOAWAY: 7, WINDOW_UPDATE: 8, CONTINUATION: 9, UNKNOWN: 0x77 },
};
const END_STREAM = 1;
const END_HEADERS = 4;
const ACK = 1;

const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

function frame(type, flags, stream, payload = Buffer.alloc(0)) {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

function text(s) {
  const bytes = Buffer.from(s);
  const length = [];
  let n = bytes.length;
  if (n < 127) {
    length.push(n);
  } else {
    length.push(127);
    for (n -= 127; n >= 128; n >>>= 7) length.push((n & 127) | 128);
    length.push(n);
  }
  return Buffer.concat([Buffer.from(length), bytes]);
}

// how: 0x00 for a header that is not kept, 0x40 for one that becomes entry 62, of which 0xbe is a
// copy
const header = (name, value, how = 0x00) =>
  Buffer.concat([Buffer.from([how]), text(name), text(value)]);

const setting = (id, value) => {
  const b = Buffer.alloc(6);
  b.writeUInt16BE(id, 0);
  b.writeUInt32BE(value, 2);
  return b;
};

const hello = ({ settings = Buffer.alloc(0), ack = true } = {}) =>
  Buffer.concat([
    PREFACE,
    frame(FRAME.SETTINGS, 0, 0, settings),
    ...(ack ? [frame(FRAME.SETTINGS, ACK, 0)] : []),
  ]);

// A connection whose end the caller looks at: gone, and all frames of the server in received.
function connect(port, first, { from = "127.0.0.2", read = true } = {}) {
  const s = net.connect({ port, host: "127.0.0.1", localAddress: from });
  s.on("error", () => {});
  s.on("close", () => {
    s.gone = true;
  });
  s.received = Buffer.alloc(0);
  if (read)
    s.on("data", (d) => {
      s.received = Buffer.concat([s.received, d]).subarray(-4096);
    });
  if (first) s.write(first);
  return s;
}

// Writes what next() returns until the server closes the connection, as fast as it is taken. Ends
// with an error if that is more than limit bytes.
function press(socket, next, limit) {
  return new Promise((resolve, reject) => {
    socket.once("close", resolve);
    const more = () => {
      if (socket.gone) return;
      if (socket.bytesWritten > limit) {
        reject(new Error(`the server took ${limit} bytes`));
        return;
      }
      if (socket.write(next())) setImmediate(more);
      else socket.once("drain", more);
    };
    more();
  });
}

module.exports = {
  ...{ FRAME, END_STREAM, END_HEADERS, PREFACE },
  ...{ connect, frame, header, hello, press, setting },
};
