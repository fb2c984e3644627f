// Takes the node-agent's CPU profiles and keeps the stacks of the programs that are asked for.
"use strict";

const http = require("node:http");
const { contents } = require("../e2e/lib/pprof");

// Programs are known by the frame at the root of their stacks, which is the name of the process.
class ProfileReceiver {
  constructor(processes) {
    this.profiles = [];
    this.server = http.createServer((request, response) => {
      const chunks = [];
      request.on("data", (chunk) => chunks.push(chunk));
      request.on("end", () => {
        // the agent first asks who the receiver is
        if (request.method === "POST" && chunks.length > 0) {
          const service = new URL(request.url, this.url).searchParams.get("service.name");
          const { stacks, ...rest } = contents(Buffer.concat(chunks));
          const isWanted = ({ frames }) => processes.includes(frames[0]?.name);
          this.profiles.push({ service, ...rest, stacks: stacks.filter(isWanted) });
        }
        response.end();
      });
    });
  }
  async start() {
    await new Promise((resolve) => this.server.listen(0, "127.0.0.1", resolve));
    this.url = `http://127.0.0.1:${this.server.address().port}`;
    return this;
  }
  stop() {
    this.server.close();
    this.server.closeAllConnections();
  }
  // [{ frames, count, startMs }]; frames without the name of the process
  stacksOf(process, profiles = this.profiles) {
    return profiles.flatMap(({ startMs, stacks }) =>
      stacks
        .filter(({ frames }) => frames[0]?.name === process)
        .map(({ frames, count }) => ({ frames: frames.slice(1), count, startMs })),
    );
  }
}

module.exports = { ProfileReceiver };
