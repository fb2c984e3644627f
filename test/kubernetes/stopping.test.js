// A cluster-agent that gets SIGTERM while it cannot send the profiles it has scraped.
"use strict";

const assert = require("node:assert");
const http = require("node:http");
const { after, before, test } = require("node:test");
const { encode } = require("../e2e/lib/pprof");
const { eventually } = require("../e2e/lib/wait");
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
    res.end(
      encode({
        type: "inuse_objects",
        unit: "count",
        stacks: [{ frames: ["make", "main.main"], value: asked }],
      }),
    );
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

test("it stops scraping, tries to send, and exits in time or at the second signal", async () => {
  for (const twice of [false, true]) {
    const agent = await startForwarder({
      kubeconfig: cluster.kubeconfigFile("admin"),
      to: { url: `http://127.0.0.1:${refusing.address().port}` },
      interval: "1s",
    });
    const before = asked;
    await eventually("all pods asked twice", () => asked > before + 2 * PODS);
    const signalled = Date.now();
    process.kill(agent.pid, "SIGTERM");
    await eventually("the signal noticed", () => agent.log().includes('msg="stopping"'));
    const then = asked;
    assert.strictEqual((await fetch(`${agent.url}/targets`)).status, 503);
    if (twice) process.kill(agent.pid, "SIGTERM");
    assert.deepStrictEqual(await agent.exited, { code: 0, signal: null }, agent.log());
    const tookMs = Date.now() - signalled;
    // it tries for eight seconds, in which an agent that kept scraping would send eight times
    // as many requests
    if (twice) assert.ok(tookMs < 7000, `ended after ${tookMs} ms`);
    else assert.ok(tookMs > 6000 && tookMs < 20000, `ended after ${tookMs} ms`);
    assert.ok(asked - then <= 2 * PODS, `${asked - then} requests after the signal`);
  }
});
