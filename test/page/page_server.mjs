// The built page with made-up answers: to work on the page without agents, and for its tests.
//   node page_server.mjs DIST [PORT] ['{"delay": 3000, "nodes": 100000}']
// The options are those of createFixture() and of servePage().

import * as fs from "node:fs";
import * as http from "node:http";
import * as path from "node:path";
import { pathToFileURL } from "node:url";
import { Refusal } from "./page_answers.mjs";
import { columnsOf } from "./page_columns.mjs";
import { createFixture } from "./page_fixture.mjs";
import { createNotes } from "./page_notes.mjs";

const types = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".css": "text/css",
  ".png": "image/png",
};
// the policy under which cluster-agent serves the page
const policy =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; object-src 'none'; base-uri 'none'";

const endpoints = new Set(
  ("types applications labels timeline heatmap flamegraph functions function matches stacks " +
    "movers levels fleet names clocks backlog source pprof folded speedscope").split(" "),
);
const numbers = ["from", "to", "baseFrom", "baseTo", "points", "limit", "maxNodes"];

/** Of an answer that a browser saves. */
const saved = {
  pprof: ["application/octet-stream", "pb.gz"],
  folded: ["text/plain; charset=utf-8", "folded.txt"],
  speedscope: ["application/json", "speedscope.json"],
};

/**
 * Starts a server; `requests` collects the API requests that came, as
 * { name, params, ended, aborted };
 * open() says how many of them are under way.
 * Of the fixture's options it looks at these, which may change at any time:
 *   delay   ms before an answer; { flamegraph: 3000 }: only of these endpoints
 *   hold    ["flamegraph"]: these endpoints answer when they are no more in the list
 *   faults  { timeline: "store is busy" } answers 503 with this error, or the status faultStatus
 *   down    the server does not answer at all
 *   proxyLogin  a proxy answers in its place, with 200 and the page to log in at
 *   login   { key, loggedIn }: what --read-api-key does; given at the start
 */
export async function servePage(dist, fixture, port = 0) {
  const requests = [];
  let underWay = 0;
  const answerNotes = createNotes(fixture);
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
  const answer = async (url, req, res) => {
    const params = Object.fromEntries(url.searchParams);
    for (const name of numbers) if (params[name]) params[name] = Number(params[name]);
    const name = url.pathname.slice("/api/".length);
    const json = (status, body) => {
      res.writeHead(status, { "content-type": "application/json" });
      res.end(JSON.stringify(body));
    };
    if (answerLogin(name, req, res)) return;
    const { options } = fixture;
    const request = { name, params, ended: false, aborted: false };
    requests.push(request);
    underWay++;
    res.on("close", () => {
      underWay--;
      request.ended = true;
      request.aborted = !res.writableFinished;
    });
    const delay = typeof options.delay === "object" ? options.delay[name] : options.delay;
    if (delay) await new Promise((done) => setTimeout(done, delay));
    while (options.hold?.includes(name) && !res.destroyed)
      await new Promise((done) => setTimeout(done, 20));
    if (res.destroyed) return;
    if (options.proxyLogin) {
      res.writeHead(200, { "content-type": "text/html; charset=utf-8" });
      return res.end("<!doctype html><title>Log in</title><form></form>");
    }
    if (options.forwarding)
      return json(404, { error: "profiles are forwarded, nothing is stored here" });
    if (options.faults?.[name])
      return json(options.faultStatus ?? 503, { error: options.faults[name] });
    let text = "";
    if (req.method !== "GET") for await (const part of req) text += part;
    const noted = answerNotes(name, params, req.method, text, req.headers["x-api-key"]);
    if (noted) {
      if (noted.json) return json(noted.status, noted.json);
      res.writeHead(noted.status, { "content-type": "text/plain" });
      return res.end(noted.body);
    }
    if (!endpoints.has(name)) return json(404, { error: "no such endpoint" });
    try {
      if (!saved[name]) {
        const body = fixture[name](params);
        if (params.format !== "columns" || !body.functions) return json(200, body);
        res.writeHead(200, { "content-type": "application/vnd.coroot.columns" });
        return res.end(columnsOf(body));
      }
      const body = name === "pprof" ? "made up" : fixture[name](params);
      const [type, ending] = saved[name];
      res.writeHead(200, {
        "content-type": type,
        "content-disposition": `attachment; filename="cpu.${ending}"`,
      });
      res.end(typeof body === "string" ? body : JSON.stringify(body));
    } catch (e) {
      json(e instanceof Refusal ? e.status : 500, { error: e.message });
    }
  };
  const answerTargets = (res) => {
    const off = fixture.options.scrapingOff;
    res.writeHead(off ? 404 : 200, { "content-type": "application/json" });
    res.end(JSON.stringify(off ? { error: off } : fixture.targets()));
  };
  // connections that a busy browser opens and does not use yet are no error
  const patient = { headersTimeout: 0, requestTimeout: 0 };
  const server = http.createServer(patient, (req, res) => {
    if (fixture.options.down) return req.socket.destroy();
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
    open: () => underWay,
    close: () => new Promise((done) => (server.closeAllConnections(), server.close(done))),
  };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const [dist, port, options] = process.argv.slice(2);
  // as many samples as the cores of the first application make at 99 Hz
  const fixture = createFixture({ samples: 116_700, ...JSON.parse(options ?? "{}") });
  const { url } = await servePage(dist, fixture, Number(port ?? 8099));
  console.log(`the page on made-up data: ${url}`);
}
