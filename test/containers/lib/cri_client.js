// A client of container runtimes' CRI (runtime.v1) for tests, which makes pods as the kubelet does.
// Field numbers are those of k8s.io/cri-api pkg/apis/runtime/v1/api.proto.
"use strict";

const crypto = require("node:crypto");
const http2 = require("node:http2");
const net = require("node:net");
const { LIMIT_MS, eventually } = require("../../e2e/lib/wait");

const NODE = 2; // enum NamespaceMode: the host's network needs no CNI

// ---- protobuf: an object of field number → value; arrays are repeated, objects messages ----

function varint(value) {
  const out = [];
  let left = BigInt.asUintN(64, BigInt(value));
  for (; left >= 128n; left >>= 7n) out.push(Number(left & 127n) | 128);
  out.push(Number(left));
  return Buffer.from(out);
}

function field(number, value) {
  if (typeof value === "number") return Buffer.concat([varint(number << 3), varint(value)]);
  const bytes = typeof value === "string" ? Buffer.from(value) : encode(value);
  return Buffer.concat([varint((number << 3) | 2), varint(bytes.length), bytes]);
}

function encode(message) {
  const parts = [];
  for (const [number, value] of Object.entries(message)) {
    if (value === undefined) continue;
    for (const v of Array.isArray(value) ? value : [value]) parts.push(field(Number(number), v));
  }
  return Buffer.concat(parts);
}

const map = (object = {}) => Object.entries(object).map(([key, value]) => ({ 1: key, 2: value }));

// The values of each field, as numbers or buffers.
function decode(bytes) {
  const fields = {};
  let at = 0;
  const number = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++];
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return Number(value);
    }
  };
  while (at < bytes.length) {
    const tag = number();
    let value = number();
    if ((tag & 7) === 2) {
      at += value;
      value = bytes.subarray(at - value, at);
    } else if ((tag & 7) !== 0) throw new Error(`protobuf: type ${tag & 7} is not expected`);
    (fields[tag >>> 3] ||= []).push(value);
  }
  return fields;
}

const text = (values) => (values ? values[0].toString() : "");

// ---- the client ----

class CriClient {
  constructor(socket) {
    this.session = http2.connect("http://localhost", {
      createConnection: () => net.connect(socket),
    });
    this.session.on("error", () => {}); // each call has it too
  }

  close() {
    this.session.destroy();
  }

  // Returns the fields of the answer.
  call(method, message = {}, service = "RuntimeService") {
    const body = encode(message);
    const head = Buffer.alloc(5);
    head.writeUInt32BE(body.length, 1);
    return new Promise((resolve, reject) => {
      const stream = this.session.request({
        ":method": "POST",
        ":path": `/runtime.v1.${service}/${method}`,
        "content-type": "application/grpc",
        te: "trailers",
      });
      const chunks = [];
      let status;
      const keep = (headers) => {
        status = headers["grpc-status"] ?? status;
        if (status && status !== "0")
          reject(new Error(`${method}: ${status} ${decodeURIComponent(headers["grpc-message"])}`));
      };
      stream.setTimeout(LIMIT_MS, () => stream.destroy(new Error(`${method}: no answer`)));
      stream.on("response", keep).on("trailers", keep).on("error", reject);
      stream.on("data", (chunk) => chunks.push(chunk));
      stream.on("end", () => {
        if (status === "0") resolve(decode(Buffer.concat(chunks).subarray(5)));
        else reject(new Error(`${method}: the answer has no status`));
      });
      stream.end(Buffer.concat([head, body]));
    });
  }

  // containerd listens, and tells its version, before its CRI plugin has read what there is.
  async ready() {
    await eventually("the CRI plugin", async () => {
      await this.call("ListPodSandbox");
      return true;
    });
  }

  async version() {
    const answer = await this.call("Version");
    return { runtime: text(answer[2]), version: text(answer[3]) };
  }

  // Makes a pod's sandbox with the host's network. Returns it, for createContainer().
  async runPod({
    name,
    namespace = "default",
    uid = crypto.randomUUID(),
    labels = {},
    annotations = {},
    cgroupParent,
    runtimeHandler,
  }) {
    const config = {
      1: { 1: name, 2: uid, 3: namespace },
      6: map({
        "io.kubernetes.pod.name": name,
        "io.kubernetes.pod.namespace": namespace,
        "io.kubernetes.pod.uid": uid,
        ...labels,
      }),
      7: map(annotations),
      8: { 1: cgroupParent, 2: { 1: { 1: NODE, 2: 1 /* CONTAINER */, 3: NODE } } },
    };
    const answer = await this.call("RunPodSandbox", { 1: config, 2: runtimeHandler });
    return { id: text(answer[1]), name, namespace, uid, config };
  }

  // Makes and starts a container as the kubelet does, which passes on the id of the image. Returns
  // its id.
  async runContainer(pod, { name, image, command = [], args = [], env = {}, attempt = 0 }) {
    const answer = await this.call("CreateContainer", {
      1: pod.id,
      2: {
        1: { 1: name, 2: attempt },
        2: { 1: image },
        3: command,
        4: args,
        6: map(env),
        9: map({
          "io.kubernetes.container.name": name,
          "io.kubernetes.pod.name": pod.name,
          "io.kubernetes.pod.namespace": pod.namespace,
          "io.kubernetes.pod.uid": pod.uid,
        }),
        15: { 2: { 3: { 1: NODE, 2: 1, 3: NODE } } },
      },
      3: pod.config,
    });
    const id = text(answer[1]);
    await this.call("StartContainer", { 1: id });
    return id;
  }

  async stopContainer(id, timeoutS = 0) {
    await this.call("StopContainer", { 1: id, 2: timeoutS });
  }

  async removeContainer(id) {
    await this.call("RemoveContainer", { 1: id });
  }

  // With all its containers.
  async removePod(pod) {
    await this.call("StopPodSandbox", { 1: pod.id });
    await this.call("RemovePodSandbox", { 1: pod.id });
  }

  async listPods() {
    const answer = await this.call("ListPodSandbox");
    return (answer[1] || []).map((bytes) => ({ id: text(decode(bytes)[1]) }));
  }

  async listImages() {
    const answer = await this.call("ListImages", {}, "ImageService");
    return (answer[1] || []).map((bytes) => {
      const image = decode(bytes);
      return { id: text(image[1]), names: (image[2] || []).map(String) };
    });
  }
}

module.exports = { CriClient };
