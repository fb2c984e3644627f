// clickhouse-test-server as a process: the real engine behind ClickHouse's HTTP interface.
"use strict";

const path = require("node:path");
const { Daemon, freePort, scratch, root } = require("../../e2e/lib/daemon");

const bin = process.env.BIN || path.join(root, "build/release");
const program = path.join(bin, "test/store/clickhouse-test-server");

// sql() of query.js can ask it.
async function startStore({
  dataDir = scratch("store"),
  listen = "127.0.0.1",
  port,
  args = [],
  wait = true,
} = {}) {
  port = port || (await freePort());
  const d = new Daemon(program, [`--data=${dataDir}`, `--listen=${listen}:${port}`, ...args], {
    url: `http://127.0.0.1:${port}`,
  });
  Object.assign(d, { dataDir, port, sqlPort: port, database: "coroot" });
  return wait ? d.ready("/ping") : d;
}

// Arguments of a cluster-agent that stores there, or behind a proxy in front of it.
const storeArgs = (port, more = []) => [
  `--clickhouse-address=127.0.0.1:${port}`,
  ...more,
];

module.exports = { startStore, storeArgs };
