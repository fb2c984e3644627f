// A cluster-agent that gets SIGTERM while it cannot send the profiles it has scraped.
"use strict";

const assert = require("node:assert");
const http = require("node:http");
const { after, before, test } = require("node:test");
const { encode } = require("../e2e/lib/pprof");
const { scratch } = require("../e2e/lib/daemon");
const { eventually } = require("../e2e/lib/wait");
const { createPods } = require("./lib/fake_pods");
const { KubeCluster } = require("./lib/kube_cluster");
const { nothingIsUnsent, startForwarder, unsent } = require("./lib/scraping_agents");

const PODS = 20;

let cluster, pods;
let asked = 0;
const servers = [];

const serve = (answer) =>
  new Promise((resolve) => {
    const server = http.createServer(answer);
    server.listen(0, "0.0.0.0", () => resolve(server));
    servers.push(server);
  });

// Each test has its own: one may still get requests of an agent that has exited. offered and taken
// are keys of uploads.
async function startReceiver() {
  const receiver = { accepts: false, offered: new Set(), taken: new Set() };
  const server = await serve((req, res) => {
    const key = req.headers["idempotency-key"];
    req.resume();
    req.on("end", () => {
      if (key) (receiver.accepts ? receiver.taken : receiver.offered).add(key);
      res.writeHead(receiver.accepts ? 200 : 503).end();
    });
  });
  receiver.to = { url: `http://127.0.0.1:${server.address().port}` };
  return receiver;
}

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
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
  await cluster.down();
});

test("without a spool it tries to send, and exits in time or at the second signal", async () => {
  const { to } = await startReceiver();
  for (const twice of [false, true]) {
    const agent = await startForwarder({
      kubeconfig: cluster.kubeconfigFile("admin"),
      to,
      interval: "1s",
      args: ["--max-spool-size=0"],
    });
    const before = asked;
    await eventually("all pods asked twice", () => asked > before + 2 * PODS);
    const signalled = Date.now();
    process.kill(agent.pid, "SIGTERM");
    await eventually("the signal noticed", () => agent.log().includes('msg="stopping"'));
    const then = asked;
    // an idle connection may be closed just when it is used again
    const answer = await fetch(`${agent.url}/targets`).catch(() => fetch(`${agent.url}/targets`));
    assert.strictEqual(answer.status, 503);
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

test("what it cannot send is on disk when it exits, and sent after the next start", async () => {
  const receiver = await startReceiver();
  const { to, offered, taken } = receiver;
  const options = {
    kubeconfig: cluster.kubeconfigFile("admin"),
    to,
    dataDir: scratch("spool"),
    interval: "1s",
  };
  const agent = await startForwarder(options);
  await eventually("profiles wait", async () => (await unsent(agent)) > PODS);
  const kept = await unsent(agent);
  await agent.stop("SIGTERM");
  assert.doesNotMatch(agent.log(), /lost profiles/);
  receiver.accepts = true;
  const next = await startForwarder(options);
  await nothingIsUnsent(next);
  await next.stop("SIGTERM");
  assert.ok(offered.size > 0);
  assert.deepStrictEqual([...offered].filter((key) => !taken.has(key)), []);
  assert.ok(taken.size >= kept, `${taken.size} of ${kept}`);
});
