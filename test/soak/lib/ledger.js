// Senders that write down what they were answered, and the comparison with the tables.
//
// Upload number i has a service of a few, the value i in each of its stacks, and frames that no
// other upload has beside some that all have. So the tables say by themselves which uploads they
// hold, how often, and whether all of each. An upload that got no answer, or one that asks to
// wait, is sent again with the same key and body until it gets 200, which is what every sender
// does that loses nothing. Some that got 200 are sent again all the same, as if the answer had
// been lost on its way. Each attempt says if an earlier one may have been accepted, as that of our
// agents does.
"use strict";

const crypto = require("node:crypto");
const http = require("node:http");
const zlib = require("node:zlib");
const { encode } = require("../../e2e/lib/pprof");
const { sql } = require("../../e2e/lib/query");
const { eventually, sleep } = require("../../e2e/lib/wait");

const SERVICES = 8;
const REFUSED_FOR_GOOD = new Set([400, 411, 413, 415, 422]);
const CHUNK = 20000; // uploads per query
const SHOWN = 10; // of those that are wrong

const pick = (list) => list[Math.floor(Math.random() * list.length)];

class Ledger {
  // agents(): the ports to which uploads may go at this moment. keyed: whether uploads have an
  // Idempotency-Key. wander: whether an upload may be sent again to another agent. The others:
  // how often an upload is large, and what that is; lose: the share of uploads whose first answer
  // is not waited for.
  constructor({
    agents,
    keyed = true,
    wander = false,
    lose = 0,
    largeEvery = 100,
    largeStacks = 2000,
  }) {
    Object.assign(this, { agents, run: "run", keyed, wander, lose, largeEvery, largeStacks });
    this.uploads = []; // by number, from 1 on
    this.waiting = []; // to be sent again
    this.counts = { answered: 0, resent: 0, repeated: 0, unanswered: 0, refused: 0 };
    this.latenciesMs = [];
    this.wrong = []; // answers that must not be
    this.stopping = false;
    this.senders = [];
  }

  service(i) {
    return `/soak/${this.run}/${i % SERVICES}`;
  }

  #make() {
    const i = this.uploads.length + 1;
    const n = i % this.largeEvery === 0 ? this.largeStacks : 1;
    const stacks = [{ frames: [`shared${i % 50}`, "work", "main"], value: i }];
    for (let k = 0; k < n; k++)
      stacks.push({ frames: [`leaf${i}.${k}`, `caller${i % 7}`, "main"], value: i });
    const upload = {
      i,
      stacks: stacks.length,
      key: this.keyed ? crypto.randomBytes(16).toString("hex") : null,
      body: zlib.gzipSync(encode({ stacks }), { level: 1 }),
      answered: false,
    };
    this.uploads.push(upload);
    return upload;
  }

  #post(port, agent, upload) {
    const labels = new URLSearchParams({
      "service.name": this.service(upload.i),
      "host.name": "soak",
    });
    const headers = { "Content-Length": upload.body.length };
    if (upload.key) headers["Idempotency-Key"] = upload.key;
    if (upload.inDoubt) headers["Idempotency-Repeat"] = "1";
    return new Promise((resolve, reject) => {
      const request = http.request(
        {
          ...{ host: "127.0.0.1", port, agent, method: "POST", headers },
          path: `/v1/profiles?${labels}`,
        },
        (response) => {
          const parts = [];
          response.on("data", (d) => parts.push(d));
          response.on("error", reject);
          response.on("end", () =>
            resolve({ status: response.statusCode, text: Buffer.concat(parts).toString() }),
          );
        },
      );
      request.setTimeout(60000, () => request.destroy(new Error("no answer")));
      request.on("error", reject);
      if (upload.sent === 1 && Math.random() < this.lose)
        request.on("finish", () =>
          setTimeout(() => request.destroy(new Error("the answer is lost")), Math.random() * 300),
        );
      request.end(upload.body);
    });
  }

  // Sends it once. Returns whether to go on at once.
  async #send(upload, agent) {
    const ports = this.agents();
    const began = performance.now();
    let answer;
    upload.sent = (upload.sent ?? 0) + 1;
    if (upload.sent > 1) this.counts[upload.answered ? "repeated" : "resent"]++;
    try {
      if (ports.length === 0) throw new Error("no agent");
      if (this.wander || !upload.port) upload.port = pick(ports);
      answer = await this.#post(upload.port, agent, upload);
    } catch (e) {
      this.counts.unanswered++;
      if (e.code !== "ECONNREFUSED") upload.inDoubt = true;
      if (!upload.answered) this.waiting.push(upload);
      return false;
    }
    if (answer.status === 200) {
      this.latenciesMs.push(performance.now() - began);
      if (!upload.answered) this.counts.answered++;
      upload.answered = true;
      // as if the answer had been lost
      if (upload.sent === 1 && Math.random() < 0.05) {
        upload.inDoubt = true;
        this.waiting.push(upload);
      }
      return true;
    }
    if (REFUSED_FOR_GOOD.has(answer.status))
      this.wrong.push(`upload ${upload.i}: ${answer.status} ${answer.text.trim()}`);
    this.counts.refused++;
    if (!upload.answered && !REFUSED_FOR_GOOD.has(answer.status)) this.waiting.push(upload);
    return false;
  }

  // Sends with n connections, each as fast as it is answered but for a pause, until finish().
  start(n, pauseMs = 0) {
    const sender = async () => {
      const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
      while (!this.stopping || this.waiting.length > 0) {
        const old = this.waiting.length > 0 && (this.stopping || Math.random() < 0.5);
        const upload = old
          ? this.waiting.splice(Math.floor(Math.random() * this.waiting.length), 1)[0]
          : this.#make();
        if (!(await this.#send(upload, agent))) await sleep(30 + Math.random() * 50);
        else if (pauseMs) await sleep(pauseMs);
      }
      agent.destroy();
    };
    for (let s = 0; s < n; s++) this.senders.push(sender());
  }

  // Makes no new uploads, and returns once each of them has been answered with 200.
  async finish() {
    this.stopping = true;
    await Promise.all(this.senders);
  }

  // What the tables say about uploads from..to-1: { missing, partial, twice, foreign }
  async #compare(cluster, from, to) {
    const where = `ServiceName LIKE '/soak/${this.run}/%'`;
    const range = `Value >= ${from} AND Value < ${to}`;
    const stored = new Map(
      (
        await sql(
          cluster,
          `SELECT Value AS i, count() AS n, uniqExact(StackHash) AS stacks
           FROM profiling_samples WHERE ${where} AND ${range} GROUP BY i`,
        )
      ).map((r) => [r.i, r]),
    );
    const found = { missing: [], partial: [], twice: [], unanswered: 0 };
    for (let i = from; i < to; i++) {
      const upload = this.uploads[i - 1];
      const row = stored.get(i);
      if (!upload) break;
      if (!row) {
        if (upload.answered) found.missing.push(i);
      } else if (row.n > row.stacks) found.twice.push(i);
      else if (row.n < upload.stacks) found.partial.push(i);
      else if (!upload.answered) found.unanswered++;
    }
    return found;
  }

  async compare(cluster) {
    const sum = { missing: [], partial: [], twice: [], unanswered: 0 };
    for (let from = 1; from <= this.uploads.length; from += CHUNK) {
      const found = await this.#compare(cluster, from, from + CHUNK);
      for (const key of ["missing", "partial", "twice"]) sum[key].push(...found[key]);
      sum.unanswered += found.unanswered;
    }
    return sum;
  }

  // Rows of profiling_quality, and what they should be: one for each upload.
  async #compareQuality(cluster) {
    const there = this.uploads.filter((u) => u.answered);
    const [{ rows, total }] = await sql(
      cluster,
      `SELECT count() AS rows, sum(Value) AS total FROM profiling_quality
       WHERE ServiceName LIKE '/soak/${this.run}/%'`,
    );
    const expected = there.reduce((sum, u) => sum + u.i * u.stacks, 0);
    return { rows, total, uploads: there.length, expected };
  }

  // Waits until all that was answered can be queried, then checks everything; returns a list of
  // sentences about what is wrong.
  async verify(cluster, timeoutMs) {
    let last, quality;
    try {
      await eventually(
        "all uploads in the tables",
        async () => {
          last = await this.compare(cluster);
          quality = await this.#compareQuality(cluster);
          return last.missing.length + last.partial.length === 0 && quality.rows >= quality.uploads;
        },
        timeoutMs,
      );
    } catch (e) {
      if (!quality) throw e;
    }
    const wrong = [...this.wrong];
    const say = (list, what) =>
      list.length && wrong.push(`${list.length} uploads ${what}: ${list.slice(0, SHOWN)} …`);
    say(last.missing, "answered with 200 are missing");
    say(last.partial, "are there in part");
    say(last.twice, "are there more than once");
    const { rows, total, uploads, expected } = quality;
    if (last.unanswered === 0 && (rows !== uploads || total !== expected))
      wrong.push(
        `profiling_quality has ${rows} rows of value ${total}, not ${uploads} of ${expected}`,
      );
    const where = `ServiceName LIKE '/soak/${this.run}/%'`;
    const [{ orphans }] = await sql(
      cluster,
      `SELECT count() AS orphans FROM profiling_samples WHERE ${where} AND
       (ServiceName, StackHash) NOT IN
       (SELECT ServiceName, Hash FROM profiling_stacks WHERE ${where})`,
    );
    if (orphans) wrong.push(`${orphans} samples have a stack that is not in the tables`);
    return wrong;
  }

  report() {
    const sorted = this.latenciesMs.sort((a, b) => a - b);
    const at = (q) => Math.round(sorted[Math.floor(q * (sorted.length - 1))] * 10) / 10;
    const { answered, resent, repeated, unanswered, refused } = this.counts;
    return (
      `${this.uploads.length} uploads, ${answered} answered with 200, ${resent} sent again, ` +
      `${repeated} repeated, ${unanswered} without an answer, ${refused} refused for a while; ` +
      `200 after ${at(0.5)} ms (median), ${at(0.99)} ms (99 %)`
    );
  }
}

module.exports = { Ledger };
