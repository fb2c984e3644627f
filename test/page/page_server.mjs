// The built page with made-up answers: to work on the page without agents, and for its tests.
//   node page_server.mjs DIST [PORT]

import * as fs from "node:fs";
import * as http from "node:http";
import * as path from "node:path";
import { pathToFileURL } from "node:url";
import { createFixture } from "./page_fixture.mjs";

const types = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
};
// the policy under which cluster-agent serves the page
const policy = "default-src 'self'; style-src 'self' 'unsafe-inline'";

/** Starts a server; `requests` collects the API requests that came. */
export async function servePage(dist, fixture, port = 0) {
  const requests = [];
  // what --read-api-key does: { key, loggedIn }
  const { login } = fixture.options;
  const answerLogin = (name, req, res) => {
    const json = (status, body) => {
      res.writeHead(status, { "content-type": "application/json" });
      res.end(JSON.stringify(body));
      return true;
    };
    const mayRead = !login || login.loggedIn;
    if (name === "session") return json(200, { mayRead, loggedIn: Boolean(login?.loggedIn) });
    if (name === "logout" && req.method === "POST") {
      login.loggedIn = false;
      return json(200, {});
    }
    if (name === "login" && req.method === "POST") {
      let given = "";
      req.on("data", (d) => (given += d));
      req.on("end", () => {
        login.loggedIn = given === login.key;
        if (login.loggedIn) json(200, {});
        else json(401, { error: "This key is wrong" });
      });
      return true;
    }
    if (mayRead) return false;
    res.writeHead(401, { "content-type": "text/plain" });
    res.end("wrong or missing key\n");
    return true;
  };
  const answer = (url, req, res) => {
    const params = Object.fromEntries(url.searchParams);
    for (const name of ["from", "to", "points"])
      if (params[name]) params[name] = Number(params[name]);
    const name = url.pathname.slice("/api/".length);
    if (answerLogin(name, req, res)) return;
    requests.push({ name, params });
    const fault = fixture.options.faults?.[name];
    if (fixture.options.forwarding) {
      res.writeHead(404, { "content-type": "application/json" });
      return res.end(JSON.stringify({ error: "profiles are forwarded, nothing is stored here" }));
    }
    if (fault) {
      res.writeHead(503, { "content-type": "application/json" });
      return res.end(JSON.stringify({ error: fault }));
    }
    if (name === "pprof") {
      res.writeHead(200, {
        "content-type": "application/octet-stream",
        "content-disposition": 'attachment; filename="cpu.pb.gz"',
      });
      return res.end("made up");
    }
    if (!(name in fixture)) {
      res.writeHead(404, { "content-type": "application/json" });
      return res.end(JSON.stringify({ error: "no such endpoint" }));
    }
    res.writeHead(200, { "content-type": "application/json" });
    res.end(JSON.stringify(fixture[name](params)));
  };
  const answerTargets = (res) => {
    const off = fixture.options.scrapingOff;
    res.writeHead(off ? 404 : 200, { "content-type": "application/json" });
    res.end(JSON.stringify(off ? { error: off } : fixture.targets()));
  };
  const server = http.createServer((req, res) => {
    const url = new URL(req.url, "http://localhost");
    if (url.pathname.startsWith("/api/")) return answer(url, req, res);
    const page = url.pathname === "/" || url.pathname === "/targets";
    if (url.pathname === "/targets" && (req.headers.accept ?? "").includes("application/json"))
      return answerTargets(res);
    const file = path.join(dist, page ? "index.html" : path.normalize(url.pathname));
    if (!fs.existsSync(file)) {
      res.writeHead(404);
      return res.end();
    }
    res.writeHead(200, {
      "content-type": types[path.extname(file)] ?? "application/octet-stream",
      "content-security-policy": policy,
    });
    res.end(fs.readFileSync(file));
  });
  await new Promise((done) => server.listen(port, "127.0.0.1", done));
  const { port: actual } = server.address();
  return {
    url: `http://127.0.0.1:${actual}/`,
    requests,
    close: () => new Promise((done) => (server.closeAllConnections(), server.close(done))),
  };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const [dist, port] = process.argv.slice(2);
  const { url } = await servePage(dist, createFixture(), Number(port ?? 8099));
  console.log(`the page on made-up data: ${url}`);
}
