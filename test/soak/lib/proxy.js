// A TCP proxy that does what networks and load balancers do on bad days.
"use strict";

const net = require("node:net");
const { freePort } = require("../../e2e/lib/daemon");

// pass    forwards
// refuse  ends connections as soon as they are made, and those that are open
// stall   accepts and forwards nothing in either direction
// lose    forwards requests, and ends the connection when the answer begins
// half    ends the connection in the middle of a request
// 500     answers everything with 500 and a body that no database would send
const ERROR = "<html>upstream</html>";
const ERROR_ANSWER =
  "HTTP/1.1 500 Internal Server Error\r\nContent-Type: text/html\r\nConnection: close\r\n" +
  `Content-Length: ${ERROR.length}\r\n\r\n${ERROR}`;

class Proxy {
  // to(): the port that it forwards to at this moment
  constructor(to) {
    Object.assign(this, { to, mode: "pass", open: new Set(), counts: {} });
  }

  async start() {
    this.port = await freePort();
    this.server = net.createServer((client) => this.#serve(client));
    await new Promise((resolve) => this.server.listen(this.port, "127.0.0.1", resolve));
    return this;
  }

  // Connections of before end, so that nobody waits for one that stalls.
  set(mode) {
    this.mode = mode;
    for (const s of this.open) s.resetAndDestroy();
  }

  #serve(client) {
    const { mode } = this;
    this.counts[mode] = (this.counts[mode] ?? 0) + 1;
    this.open.add(client);
    client.on("error", () => {});
    client.on("close", () => this.open.delete(client));
    if (mode === "refuse") return client.resetAndDestroy();
    if (mode === "stall") return client.pause();
    if (mode === "500") {
      client.once("data", () => client.end(ERROR_ANSWER));
      return client.resume();
    }
    const server = net.connect(this.to(), "127.0.0.1");
    const both = () => (client.destroy(), server.destroy());
    server.on("error", both).on("close", both);
    client.on("close", both);
    let bytes = 0;
    client.on("data", (data) => {
      bytes += data.length;
      if (mode === "half" && bytes > 400) {
        server.end(data.subarray(0, data.length / 2), () => client.resetAndDestroy());
        return;
      }
      if (!server.write(data)) client.pause();
    });
    server.on("drain", () => client.resume());
    server.on("data", (data) => {
      if (mode === "lose") return client.resetAndDestroy();
      if (!client.write(data)) {
        server.pause();
        client.once("drain", () => server.resume());
      }
    });
  }

  stop() {
    for (const s of this.open) s.destroy();
    this.server.close();
  }
}

module.exports = { Proxy };
