// Certificates made for one test, and requests by Node.js that trust them.
"use strict";

const { execFileSync } = require("node:child_process");
const fs = require("node:fs");
const https = require("node:https");
const path = require("node:path");
const { scratch } = require("./daemon");

const openssl = (...args) => execFileSync("openssl", args, { stdio: ["ignore", "pipe", "pipe"] });

// An authority whose certificates are for localhost and 127.0.0.1.
class Authority {
  constructor(name) {
    this.dir = scratch(name);
    fs.mkdirSync(this.dir);
    this.file = path.join(this.dir, "ca.pem");
    this.key = path.join(this.dir, "ca.key");
    openssl(
      ...["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj", `/CN=${name}`],
      ...["-keyout", this.key, "-out", this.file],
    );
  }

  // The texts of a new certificate and its key: { cert, key }.
  make(kind = "ec") {
    const key = path.join(this.dir, "new.key");
    const cert = path.join(this.dir, "new.pem");
    const algorithm =
      kind === "ec" ? ["ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"] : ["rsa:2048"];
    openssl(
      ...["req", "-x509", "-newkey", ...algorithm, "-nodes", "-days", "30", "-subj", "/CN=e2e"],
      ...["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
      ...["-addext", "basicConstraints=critical,CA:FALSE"],
      ...["-CA", this.file, "-CAkey", this.key, "-keyout", key, "-out", cert],
    );
    return { cert: fs.readFileSync(cert, "utf8"), key: fs.readFileSync(key, "utf8") };
  }
}

// The files of a server; replace() writes one after the other, as certbot does.
class ServerFiles {
  constructor() {
    const dir = scratch("tls");
    fs.mkdirSync(dir);
    this.cert = path.join(dir, "cert.pem");
    this.key = path.join(dir, "key.pem");
    this.args = [`--tls-cert=${this.cert}`, `--tls-key=${this.key}`];
  }
  replace({ cert, key }) {
    fs.writeFileSync(this.cert, cert);
    fs.writeFileSync(this.key, key);
  }
}

// A fetch() for https that trusts these files, with a connection for each request.
const fetchTrusting =
  (...files) =>
  (url, { method = "GET", headers = {}, body } = {}) =>
    new Promise((resolve, reject) => {
      const ca = files.map((f) => fs.readFileSync(f));
      const request = https.request(url, { method, headers, ca, agent: false }, (r) => {
        const parts = [];
        r.on("data", (part) => parts.push(part));
        r.on("error", reject);
        r.on("end", () => {
          const text = Buffer.concat(parts).toString();
          resolve({
            ok: r.statusCode >= 200 && r.statusCode < 300,
            status: r.statusCode,
            headers: new Headers(Object.entries(r.headers).map(([k, v]) => [k, String(v)])),
            text: async () => text,
            json: async () => JSON.parse(text),
            serial: r.socket.getPeerCertificate?.().serialNumber,
          });
        });
      });
      request.on("error", reject);
      request.end(body);
    });

module.exports = { Authority, ServerFiles, fetchTrusting };
