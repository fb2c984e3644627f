// Kills a daemon and starts it again, again and again.
"use strict";

const { startCluster, freePort, scratch } = require("../../e2e/lib/daemon");
const { eventually, sleep } = require("../../e2e/lib/wait");

const LONG = process.env.SOAK === "long";

// A cluster-agent that keeps its ports and directories over its lives.
class Victim {
  // as startCluster()
  constructor(config = {}) {
    Object.assign(this, { dataDir: scratch("data"), lives: 0, killedEarly: 0 }, config);
  }
  async start(wait = true) {
    this.port ??= await freePort();
    this.sqlPort ??= await freePort();
    this.daemon = await startCluster({ ...this, wait });
    this.lives++;
    return this;
  }
  get url() {
    return this.daemon.url;
  }
  get running() {
    return Boolean(this.daemon?.running);
  }
  async ready() {
    await this.daemon.ready("/readyz");
    return this;
  }
  // Until all that it has taken is in the store, what it holds back, too.
  async emptyLog(timeoutMs) {
    const bytes = async () => {
      const text = await (await fetch(`${this.url}/metrics`)).text();
      return Number(/^coroot_cluster_agent_wal_bytes (\S+)$/m.exec(text)[1]);
    };
    await eventually("an empty log", async () => (await bytes()) === 0, timeoutMs);
  }
  // Some die while they recover, most while they work.
  async liveAndDie(signal = "SIGKILL") {
    const early = Math.random() < 0.2;
    if (!early) await this.ready();
    await sleep(Math.random() * (early ? 800 : 1500));
    const { result } = this.daemon;
    if (result) throw new Error(`it ended: ${JSON.stringify(result)} ${this.daemon.log()}`);
    if (early) this.killedEarly++;
    await this.daemon.stop(signal);
  }
  async stop(signal) {
    if (this.running) await this.daemon.stop(signal);
  }
}

module.exports = { LONG, Victim };
