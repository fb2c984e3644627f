// Serves the three programs that bench-ui compares, each with the same profile, gzipped as a server
// would send it:
//   /                our page; what is not the flame graph is test/page's fixture
//   /speedscope/     its release
//   /d3/             a page around d3-flame-graph
//   /data/NAME.json  the profile for the latter two

import * as fs from "node:fs";
import * as http from "node:http";
import * as path from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { createFixture } from "../../page/page_fixture.mjs";
import { servePage } from "../../page/page_server.mjs";

const here = path.dirname(fileURLToPath(import.meta.url));
const types = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".css": "text/css",
  ".json": "application/json",
  ".woff2": "font/woff2",
};

const NAME = "/docker/4f1d2c9ab310"; // of the large application

/** What d3-flame-graph reads: objects in objects. */
function nested({ names, nodes }) {
  const path = [];
  nodes.name.forEach((name, i) => {
    const node = { name: names[name], value: nodes.total[i] };
    path.length = nodes.depth[i];
    if (path.length > 0) (path[path.length - 1].children ??= []).push(node);
    path.push(node);
  });
  return path[0];
}

/** dist: the built page; deps: the folder with npm's packages; size: nodes of the profile. */
export async function serveSubjects(dist, deps, size) {
  const fixture = createFixture({ nodes: size });
  const now = Date.now();
  const range = { service: NAME, type: "ebpf:cpu:nanoseconds", from: now - 900_000, to: now };
  const answer = fixture.flamegraph(range);
  const profile = { d3: nested(answer), speedscope: fixture.speedscope(range) };
  fixture.flamegraph = () => answer;
  const page = await servePage(dist, fixture);
  const folder = (name) => path.join(deps, "node_modules", name);
  const folders = {
    "/speedscope/": folder("speedscope/dist/release"),
    "/d3/lib/": folder("d3/dist"),
    "/d3/flame/": folder("d3-flame-graph/dist"),
    "/d3/": here,
  };
  // compressed once, so that the server is never what is waited for
  const kept = new Map();
  const packed = (key, make) => {
    if (!kept.has(key)) kept.set(key, gzipSync(make(), { level: 6 }));
    return kept.get(key);
  };
  const send = (res, type, body, headers = {}) => {
    res.writeHead(200, { "content-type": type, "content-encoding": "gzip", ...headers });
    res.end(body);
  };
  const forward = async (req, res) => {
    const got = await fetch(new URL(req.url, page.url));
    const body = Buffer.from(await got.arrayBuffer());
    if (!got.ok) return res.writeHead(got.status).end(body);
    const policy = got.headers.get("content-security-policy");
    const headers = policy ? { "content-security-policy": policy } : {};
    const key = `${req.url.split("?")[0]} ${body.length}`;
    return send(res, got.headers.get("content-type"), packed(key, () => body), headers);
  };
  const server = http.createServer((req, res) => {
    const { pathname } = new URL(req.url, "http://localhost");
    const data = /^\/data\/(speedscope|d3)\.json$/.exec(pathname);
    if (data)
      return send(res, types[".json"], packed(pathname, () => JSON.stringify(profile[data[1]])));
    const under = Object.keys(folders).find((f) => pathname.startsWith(f));
    if (!under) return forward(req, res);
    const start = under === "/d3/" ? "d3_page.html" : "index.html";
    const rest = path.normalize(pathname.slice(under.length) || start);
    const file = path.join(folders[under], rest);
    if (!fs.existsSync(file)) return res.writeHead(404).end();
    const type = types[path.extname(file)] ?? "application/octet-stream";
    return send(res, type, packed(file, () => fs.readFileSync(file)));
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return {
    nodes: answer.nodes.name.length,
    stacks: profile.speedscope.profiles[0].samples.length,
    url: `http://127.0.0.1:${server.address().port}/`,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await page.close();
    },
  };
}
