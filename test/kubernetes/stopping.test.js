// A cluster-agent that is told to end while what it has scraped cannot be sent.
"use strict";

const assert = require("node:assert");
const http = require("node:http");
const { after, before, test } = require("node:test");
const { encode } = require("../e2e/lib/pprof");
const { eventually, sleep } = require("../e2e/lib/wait");
const { createPods } = require("./lib/fake_pods");
const { KubeCluster } = require("./lib/kube_cluster");
const { startForwarder } = require("./lib/scraping_agents");

const PODS = 20;

let cluster, pods, refusing;
let asked = 0;

const serve = (answer) =>
  new Promise((resolve) => {
    const server = http.createServer(answer);
    server.listen(0, "0.0.0.0", () => resolve(server));
  });

before(async () => {
  cluster = await KubeCluster.start();
  pods = await serve((req, res) => {
    asked++;
    res.end(encode({ type: "inuse_objects", unit: "count", stacks: [{ frames: ["make", "main.main"], value: asked }] }));
  });
  refusing = await serve((req, res) => {
    req.resume();
    res.writeHead(503).end();
  });
  const list = Array.from({ length: PODS }, (_, i) => ({
    name: `pod-${i}`,
    ips: [`127.5.0.${i + 1}`],
    annotations: {
      "coroot.com/profile-scrape": "true",
      "coroot.com/profile-port": String(pods.address().port),
      "coroot.com/profile-types": "heap",
    },
  }));
  await createPods(cluster, list);
});
after(async () => {
  for (const server of [pods, refusing]) {
    server.closeAllConnections();
    server.close();
  }
  await cluster.down();
});

test("while it tries to send what it has, it scrapes nothing more; it ends in time, or at once when told twice", async () => {
  for (const twice of [false, true]) {
    const agent = await startForwarder({
      kubeconfig: cluster.kubeconfigFile("admin"),
      to: { url: `http://127.0.0.1:${refusing.address().port}` },
      interval: "1s",
    });
    const before = asked;
    await eventually("all pods asked twice", () => asked > before + 2 * PODS, 30000);
    process.kill(agent.pid, "SIGTERM");
    await eventually("the signal noticed", () => agent.log().includes('msg="stopping"'));
    await sleep(500); // requests that were on their way
    const then = asked;
    await sleep(1500);
    assert.ok(agent.running, agent.log());
    assert.strictEqual(asked, then);
    assert.strictEqual((await fetch(`${agent.url}/targets`)).status, 503);
    const told = Date.now();
    const ended = twice ? agent.stop("SIGTERM", 5000) : agent.exited;
    assert.deepStrictEqual(await ended, { code: 0, signal: null }, agent.log());
    assert.ok(Date.now() - told < 9000, `ended after ${Date.now() - told} ms`);
  }
});
