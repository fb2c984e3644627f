// Targets of the page's fixture: pods that are scraped, with every state they can have.

import { random } from "./page_stacks.mjs";

const kinds = ["cpu", "heap", "goroutine", "mutex", "block"];
const deployments = ["catalog", "checkout", "frontend", "payments", "search-indexer"];

/**
 * Pod i. Every 13th does not answer, every 17th has a wrong annotation, every 29th is new, and
 * every 31st belongs to another replica.
 */
export function makeTarget(i) {
  const rnd = random(i + 1);
  const name = deployments[i % deployments.length];
  const namespace = i % 3 ? "shop" : "platform";
  const replicaSet = (0x5c9f7 + i * 7919).toString(16);
  const pod = `${name}-${replicaSet}-${(i * 104729 + 1e6).toString(36).slice(-5)}`;
  const ip = `10.42.${i >> 8}.${i & 255}`;
  const state =
    i % 31 === 30
      ? "elsewhere"
      : i % 29 === 28
        ? "pending"
        : i % 17 === 16
          ? "invalid"
          : i % 13 === 12
            ? "down"
            : "up";
  const scraped = state === "up" || state === "down";
  const since = Math.floor(rnd() * 60_000);
  const fails = (k) => state === "down" && (i % 2 === 0 || k === 0);
  return {
    namespace,
    pod,
    node: `node-${i % 7}`,
    service: `/k8s/${namespace}/${name}`,
    ip,
    state,
    problem: state === "invalid" ? 'coroot.com/profile-port: "eighty" is not a port' : "",
    endpoints:
      state === "invalid" || state === "elsewhere"
        ? []
        : kinds.map((type, k) => ({
            type,
            url: `http://${ip}:8080/debug/pprof/${type === "cpu" ? "profile?seconds=10" : type}`,
            state: !scraped ? "pending" : fails(k) ? "down" : "up",
            lastScrape: scraped ? Date.now() - since : null,
            lastDurationMs: scraped ? (type === "cpu" ? 10_004 : 3 + rnd() * 40) : 0,
            lastBytes: scraped && !fails(k) ? Math.floor(900 + rnd() * 120_000) : 0,
            lastError: fails(k) ? "connection refused" : "",
            nextScrape: Date.now() + 60_000 - since,
          })),
  };
}

