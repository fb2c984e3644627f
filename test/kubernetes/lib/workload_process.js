// test/kubernetes/workload as a process beside the test, behind fake pods: it listens on all
// addresses, so that any 127.x.y.z is a pod.
"use strict";

const path = require("node:path");
const { Daemon, freePort, root } = require("../../e2e/lib/daemon");
const { goVersions } = require("./workload_pods");

const program = path.join(root, "build/kubernetes", `go${goVersions.at(-1)}`, "workload");

// port: the one it had before, for one that comes back.
async function startWorkload(args = [], port) {
  port = port || (await freePort());
  const w = new Daemon(program, [`-http=:${port}`, ...args], { url: `http://127.0.0.1:${port}` });
  w.port = port;
  w.ask = async (what = "truth") => (await fetch(`${w.url}/${what}`)).json();
  return w.ready("/truth");
}

// What createPods() takes for a pod at that address which wants to be scraped there.
function scrapedPod({ name, ip, port, types = "heap", ...annotations }) {
  const own = { scrape: "true", port: `${port}`, types, ...annotations };
  return {
    name,
    ips: [ip],
    annotations: Object.fromEntries(
      Object.entries(own).map(([k, v]) => [`coroot.com/profile-${k}`, v]),
    ),
  };
}

module.exports = { startWorkload, scrapedPod };
