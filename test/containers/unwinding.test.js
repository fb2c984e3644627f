// Unwinding tables of a file in an image: built once, for the first container that runs it, and
// used from the first sample on in all others. Their roots are overlay mounts of the same folder.
"use strict";

const assert = require("node:assert");
const fs = require("node:fs");
const path = require("node:path");
const { after, before, test } = require("node:test");
const { beginnings, chain } = require("../accuracy/chains");
const { faultLines, judge } = require("../accuracy/judge");
const { ProfileReceiver } = require("../accuracy/profile_receiver");
const { root, startNode } = require("../e2e/lib/daemon");
const { eventually } = require("../e2e/lib/wait");
const { ContainerNode, newId } = require("./lib/container_node");

const HZ = 499;
const CONTAINERS = 4; // of a round
const ROUNDS = 5; // programs of others on this machine may have tables built in some of them
const TICK_MS = 1000; // how often metrics of tables are set

// Static, without frame pointers: it is the only file that needs a table.
const PROGRAM = "chain";
const rules = { beginnings: beginnings(chain) };

let node, receiver, agent, image;

before(async () => {
  node = await ContainerNode.start();
  image = path.join(node.dir, "image");
  fs.mkdirSync(image);
  fs.copyFileSync(path.join(root, "build/kernels", PROGRAM), path.join(image, PROGRAM));
  receiver = await new ProfileReceiver([PROGRAM]).start();
  agent = await startNode({
    collector: receiver.url,
    interval: "1s",
    args: [
      `--host-root=${node.root}`,
      `--profile-frequency=${HZ}`,
      "--go-heap-profiler=disabled",
      "--profile-unmanaged=off", // no tables for programs that nothing asks for
    ],
  });
});
after(async () => {
  node?.stop();
  await agent?.stop();
  receiver?.stop();
});

// Starts a container of the image that uses so much CPU time; the name of its service.
async function start(seconds) {
  const id = newId();
  const merged = await node.overlay(image, id);
  await node.runc("docker/ID", [], id, (config) => {
    config.root.path = merged;
    config.process.args = [`/${PROGRAM}`, String(seconds)];
  });
  return `/docker/${id.slice(0, 12)}`;
}

const profilesOf = (service) => receiver.profiles.filter((p) => p.service === service);
const judged = (profiles) => judge(receiver.stacksOf(PROGRAM, profiles), rules);
const isWhole = ({ samples, good }) => samples > 0.2 * HZ && good === samples;

// Waits until all that was sampled so far is in profiles, and metrics are as late.
async function settled() {
  const from = Date.now() + TICK_MS;
  await eventually("a later profile", () => receiver.profiles.some((p) => p.startMs > from));
  return agent.metric("node_agent_unwind_tables_built_total");
}

test("later containers of an image are unwound by the tables of the first", async () => {
  const first = await start(3600);
  await eventually("whole stacks", () => profilesOf(first).some((p) => isWhole(judged([p]))));
  const gains = [];
  for (let built = await settled(); Math.min(...gains) >= CONTAINERS && gains.length < ROUNDS;) {
    const services = await Promise.all(Array.from({ length: CONTAINERS }, () => start(0.5)));
    for (const s of services) await eventually(s, () => profilesOf(s).length > 0);
    const now = await settled();
    gains.push(now - built);
    built = now;
    for (const s of services) {
      const profiles = profilesOf(s);
      const ends = profiles.flatMap((p) => p.comments.filter((c) => c.startsWith("unwind:")));
      const result = judged(profiles);
      const faults = faultLines(result).join("\n");
      assert.ok(result.good > 0.98 * result.samples, `${result.samples} samples:\n${faults}`);
      // its walks had a table from the first one on
      const missed = ends.filter((c) => c.startsWith(`unwind:no_table:${PROGRAM}=`));
      assert.deepStrictEqual(missed, [], ends.join(" "));
    }
  }
  assert.ok(Math.min(...gains) < CONTAINERS, `tables built: ${gains.join(", ")}`);
});
