// Servers that run PHP, php-fpm and Apache with its module, in a root folder that has their
// packages (test/interpreters/tree.sh).
"use strict";

const { spawn } = require("node:child_process");
const fs = require("node:fs");
const http = require("node:http");
const net = require("node:net");
const path = require("node:path");

const NOBODY = 65534;
const MODULES = "/usr/lib/apache2/modules";

// ---- FastCGI, as much of it as one request needs ----

const BEGIN = 1, END = 3, PARAMS = 4, STDIN = 5;
const record = (type, body) => {
  const head = Buffer.from([1, type, 0, 1, body.length >> 8, body.length & 255, 0, 0]);
  return Buffer.concat([head, body]);
};
const param = ([name, value]) =>
  Buffer.concat([Buffer.from([name.length, value.length]), Buffer.from(name + value)]);

// Resolves when the script has ended.
function askFpm(port, script) {
  const params = { SCRIPT_FILENAME: script, SCRIPT_NAME: script, REQUEST_METHOD: "GET" };
  return new Promise((resolve, reject) => {
    const socket = net.connect(port, "127.0.0.1");
    let data = Buffer.alloc(0);
    socket.on("data", (more) => {
      data = Buffer.concat([data, more]);
      while (data.length >= 8 && data.length >= 8 + data.readUInt16BE(4) + data[6]) {
        if (data[1] === END) resolve();
        data = data.subarray(8 + data.readUInt16BE(4) + data[6]);
      }
    });
    socket.on("error", reject);
    socket.on("close", () => reject(new Error("php-fpm has closed the connection")));
    socket.write(
      Buffer.concat([
        record(BEGIN, Buffer.from([0, 1, 0, 0, 0, 0, 0, 0])),
        record(PARAMS, Buffer.concat(Object.entries(params).map(param))),
        record(PARAMS, Buffer.alloc(0)),
        record(STDIN, Buffer.alloc(0)),
      ]),
    );
  });
}

function askApache(port, script) {
  return new Promise((resolve, reject) => {
    http
      .get({ port, host: "127.0.0.1", path: `/${path.basename(script)}` }, (response) => {
        response.resume();
        if (response.statusCode === 200) response.on("end", resolve);
        else reject(new Error(`Apache answers ${response.statusCode}`));
      })
      .on("error", reject);
  });
}

// ---- servers ----

const fpm = {
  program: "/usr/sbin/php-fpm8.2",
  ask: askFpm,
  args: (config) => ["-n", "-F", "-R", "-y", config],
  config: (port, dir, workers) => `[global]
error_log = ${dir}/error.log
[www]
user = ${NOBODY}
group = ${NOBODY}
listen = 127.0.0.1:${port}
pm = static
pm.max_children = ${workers}
`,
};

const modules = { mpm_prefork: "mod_mpm_prefork", authz_core: "mod_authz_core", php: "libphp8.2" };
const apache = {
  program: "/usr/sbin/apache2",
  ask: askApache,
  args: (config) => ["-D", "FOREGROUND", "-f", config],
  config: (port, dir, workers) => `ServerName localhost
ServerRoot ${dir}
PidFile ${dir}/pid
ErrorLog ${dir}/error.log
Mutex fcntl:${dir}
User #${NOBODY}
Group #${NOBODY}
Listen 127.0.0.1:${port}
${Object.entries(modules).map(([m, f]) => `LoadModule ${m}_module ${MODULES}/${f}.so`).join("\n")}
StartServers ${workers}
MinSpareServers ${workers}
MaxRequestWorkers ${workers}
DocumentRoot ${dir}
SetHandler application/x-httpd-php
PHPINIDir ${dir}
`,
};

// Starts one, as a process of this name, with a copy of the script, and asks for it all the time.
// settings: lines of php.ini. Returns { pid, dir, port, stop() }; what it needs is in dir, inside
// the root.
function serve(server, { root, comm, script, port, settings: more = [], workers = 2 }) {
  const settings = ["display_startup_errors=0", ...more]; // there are no time zones
  const dir = `/tmp/${comm}.d`;
  const outside = path.join(root, dir);
  const file = path.join(root, "tmp", comm);
  const copy = path.join(dir, path.basename(script));
  fs.rmSync(outside, { recursive: true, force: true });
  fs.rmSync(file, { force: true });
  fs.mkdirSync(outside, { recursive: true });
  fs.chmodSync(outside, 0o777);
  fs.symlinkSync(server.program, file);
  fs.copyFileSync(script, path.join(root, copy));
  fs.writeFileSync(path.join(outside, "config"), server.config(port, dir, workers));
  fs.writeFileSync(path.join(outside, "php.ini"), settings.join("\n"));
  const options = server === fpm ? settings.flatMap((s) => ["-d", s]) : [];
  const command = [`/tmp/${comm}`, ...server.args(`${dir}/config`), ...options];
  // Apache ends its whole process group
  const child = spawn("chroot", [root, ...command], { stdio: "ignore", detached: true });
  let ends = false;
  const load = async () => {
    while (!ends && child.exitCode === null)
      await server.ask(port, copy).catch(() => new Promise((resolve) => setTimeout(resolve, 200)));
  };
  for (let i = 0; i < workers; i++) load();
  const stop = () => {
    ends = true;
    if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid, "SIGKILL");
    fs.rmSync(file, { force: true });
  };
  return { pid: child.pid, child, dir: outside, port, stop };
}

module.exports = { apache, fpm, serve };
