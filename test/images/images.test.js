// The container images that "make images" has built: what is in them, and whether the agents run on
// that alone, without rights.
"use strict";

const assert = require("node:assert");
const { execFileSync, spawnSync } = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { test } = require("node:test");
const { Daemon, freePort, root, scratch } = require("../e2e/lib/daemon");
const { encode, upload } = require("../e2e/lib/pprof");
const { flame } = require("../e2e/lib/query");
const { eventually } = require("../e2e/lib/wait");
const { ImageArchive, directory } = require("./image_archive");

const NOBODY = 65534;
const names = ["coroot-node-agent", "coroot-cluster-agent", "coroot-cluster-agent-store"];
const images = Object.fromEntries(names.map((name) => [name, new ImageArchive(name)]));
const arm64 = names.slice(0, 2).map((name) => new ImageArchive(name, "arm64"));

const ownLibrary = "usr/lib/coroot/libchdb.so";
const sbomOf = (image) =>
  JSON.parse(fs.readFileSync(path.join(image.root, `usr/share/sbom/${image.name}.spdx.json`)));

test("a second build gives the same archives, byte for byte, to the user of sudo", () => {
  const again = path.join(directory, "again");
  const ofKilled = path.join(process.env.DEPS, "images/tmp/left");
  const engine = fs.statSync(path.join(root, "build/release/libchdb.so"));
  try {
    fs.mkdirSync(ofKilled, { recursive: true });
    const env = { ...process.env, SUDO_UID: "54321", SUDO_GID: "54321" };
    const args = ["-s", "images", `IMAGE_DIR=${again}`];
    execFileSync("make", args, { cwd: root, env, stdio: "inherit" });
    for (const { name, file } of Object.values(images)) {
      const archive = path.join(root, again, `${name}.tar`);
      execFileSync("cmp", [file, archive], { stdio: "inherit" });
      assert.strictEqual(fs.statSync(archive).uid, 54321);
    }
    assert.ok(!fs.existsSync(ofKilled));
    // of which a build has a link
    assert.strictEqual(fs.statSync(path.join(root, "build/release/libchdb.so")).uid, engine.uid);
  } finally {
    fs.rmSync(path.join(root, again), { recursive: true, force: true });
  }
});

test("a library for JVMs with another checksum is refused; a known one needs no network", () => {
  const script = path.join(root, "node-agent/java/install-async-profiler.sh");
  const [sum, jar] = fs
    .readFileSync(path.join(root, "node-agent/java/async-profiler.sha256"), "utf8")
    .trim()
    .split("  ");
  const repository = scratch("maven");
  const deps = scratch("deps");
  const install = (env) =>
    spawnSync(script, ["--print", "x86_64"], {
      encoding: "utf8",
      env: { ...process.env, MAVEN_REPOSITORY: `file://${repository}`, ...env },
    });
  fs.mkdirSync(path.dirname(path.join(repository, jar)), { recursive: true });
  fs.writeFileSync(path.join(repository, jar), "not the jar");

  const refused = install({ DEPS: deps });
  assert.strictEqual(refused.status, 1);
  const line = /^install-async-profiler: .* has the SHA-256 [0-9a-f]{64}, not ([0-9a-f]{64}) .*\n$/;
  assert.strictEqual(line.exec(refused.stderr)?.[1], sum);
  assert.deepStrictEqual(fs.readdirSync(deps), []);

  const known = install({});
  assert.deepStrictEqual([known.status, known.stderr], [0, ""]);
  const used = fs.readFileSync(path.join(root, "build/release/libasyncProfiler.so"));
  assert.ok(fs.readFileSync(known.stdout.trim()).equals(used));
});

for (const image of [...Object.values(images), ...arm64]) {
  const program = image.name.replace(/-store$/, "");
  const { architecture } = image.image;
  const title = `${image.name}, ${architecture}`;

  test(`${title}: entry point, user and labels`, () => {
    assert.deepStrictEqual(image.config.Entrypoint, [`/usr/bin/${program}`]);
    assert.strictEqual(image.config.User, program === "coroot-node-agent" ? "0:0" : "65534:65534");
    const label = (key) => image.config.Labels[`org.opencontainers.image.${key}`];
    assert.strictEqual(label("title"), image.name);
    assert.strictEqual(architecture, arm64.includes(image) ? "arm64" : "amd64");
    assert.strictEqual(label("licenses"), "Apache-2.0");
    assert.match(label("source"), /^https:\/\//);
    assert.match(label("revision"), /^[0-9a-f]{40}$/);
    assert.ok(label("description") && label("version"));
    const built = JSON.stringify(image.image);
    assert.ok(!built.includes(os.hostname()) && !built.includes(root), "names this machine");
  });

  test(`${title}: nothing can be executed but the program; nothing is set-uid`, () => {
    const files = image.files();
    const special = files.filter((f) => f.mode & 0o6000).map((f) => f.name);
    assert.deepStrictEqual(special, []);
    const programs = files
      .filter((f) => f.type === "f" && f.mode & 0o111 && f.name !== ownLibrary)
      .map((f) => f.name);
    assert.strictEqual(programs.length, 2, `more than the program and the loader: ${programs}`);
    assert.strictEqual(programs[0], `usr/bin/${program}`);
    assert.match(programs[1], /^usr\/lib\/[^/]+\/ld-linux-[^/]+$/);
    const open = files.filter((f) => f.mode & 0o022 && f.type !== "l" && f.name !== "tmp");
    assert.deepStrictEqual(open, []);
    const writable = files.filter((f) => f.uid !== 0).map(({ name, uid, gid }) => [name, uid, gid]);
    const data = [[`var/lib/${program}`, NOBODY, NOBODY]];
    assert.deepStrictEqual(writable, program === "coroot-node-agent" ? [] : data);
  });

  test(`${title}: the SBOM names every library, its package and licence`, () => {
    const sbom = sbomOf(image);
    assert.strictEqual(sbom.spdxVersion, "SPDX-2.3");
    const listed = new Map(sbom.files.map((f) => [f.fileName.slice(2), f.SPDXID]));
    const packages = new Map(sbom.packages.map((p) => [p.SPDXID, p]));
    const unpacked = sbom.relationships.filter(
      (r) => r.relationshipType === "EXPANDED_FROM_ARCHIVE",
    );
    const libraries = image.files().filter((f) => f.type === "f" && /\.so(\.|$)/.test(f.name));
    assert.ok(libraries.length > 20);
    for (const { name } of libraries.filter((f) => f.name !== ownLibrary)) {
      const owner = unpacked.find((r) => r.spdxElementId === listed.get(name));
      const { versionInfo, licenseComments } = packages.get(owner?.relatedSpdxElement) ?? {};
      assert.ok(versionInfo, `${name} has a package`);
      const licence = fs.statSync(path.join(image.root, licenseComments));
      assert.ok(licence.size > 100, `${licenseComments} is there`);
    }
    const ids = new Set([sbom.SPDXID, ...packages.keys(), ...listed.values()]);
    for (const { spdxElementId, relatedSpdxElement } of sbom.relationships)
      assert.ok(ids.has(spdxElementId) && ids.has(relatedSpdxElement), relatedSpdxElement);
    const own = sbom.packages.find((p) => p.name === image.name);
    assert.strictEqual(own.versionInfo, image.config.Labels["org.opencontainers.image.version"]);
    const engine = sbom.packages.filter((p) => p.name.startsWith("@chdb/lib-"));
    assert.strictEqual(engine.length, image.name.endsWith("-store") ? 1 : 0);
  });

  test(`${title}: what is loaded into JVMs is for this architecture`, () => {
    const file = path.join(image.root, "usr/lib/coroot-node-agent/libasyncProfiler.so");
    assert.strictEqual(fs.existsSync(file), program === "coroot-node-agent");
    if (program !== "coroot-node-agent") return;
    const machine = fs.readFileSync(file).readUInt16LE(18); // e_machine
    assert.strictEqual(machine, { amd64: 62, arm64: 183 }[architecture]);
    const notice = path.join(image.root, "usr/share/doc/async-profiler/copyright");
    assert.match(fs.readFileSync(notice, "utf8"), /Copyright The async-profiler authors/);
    const licence = path.join(image.root, "usr/share/common-licenses/Apache-2.0");
    assert.match(fs.readFileSync(licence, "utf8"), /Apache License\s+Version 2\.0/);
    const { versionInfo } = sbomOf(image).packages.find((p) => p.name.endsWith(":async-profiler"));
    assert.ok(fs.readFileSync(file).includes(`async-profiler ${versionInfo}`));
  });

  const how = architecture === "amd64" ? "without capabilities on a read-only root" : "emulated";
  test(`${title}: runs ${how}`, async () => {
    const agent = image.version();
    assert.deepStrictEqual(await agent.exited, { code: 0, signal: null }, agent.log());
    const version = image.config.Labels["org.opencontainers.image.version"];
    assert.strictEqual(agent.log(), `${program} ${version}\n`);
  });
}

test("a registry has both architectures under one name, and the same digest again", async (t) => {
  const registry = new Daemon(path.join(root, directory, "registry"), []);
  t.after(() => registry.stop("SIGKILL"));
  const address = await eventually("the registry's address", () => registry.log().trim());
  const env = {
    ...process.env,
    IMAGE_DIRS: `${directory} ${directory}/arm64`,
    IMAGE_REGISTRY: address,
    IMAGE_TAG: "test",
    IMAGE_PUSH_FLAGS: "--tls-verify=false",
  };
  const script = path.join(root, "charts/images/push-images.sh");
  const push = () => execFileSync(script, ["cluster-agent"], { cwd: root, env, encoding: "utf8" });
  const first = push();
  const expected = new RegExp(`^${address}/coroot-cluster-agent:test@(sha256:[0-9a-f]{64})\n$`);
  const [, digest] = expected.exec(first);
  assert.strictEqual(push(), first);
  const url = `http://${address}/v2/coroot-cluster-agent/manifests`;
  const { manifests } = await (await fetch(`${url}/${digest}`)).json();
  const architectures = manifests.map((m) => m.platform.architecture).sort();
  assert.deepStrictEqual(architectures, ["amd64", "arm64"]);
});

async function startCluster(image, args) {
  const dataDir = scratch("data");
  fs.mkdirSync(dataDir, { mode: 0o700 });
  fs.chownSync(dataDir, NOBODY, NOBODY);
  const port = await freePort();
  return image.run([`--listen=127.0.0.1:${port}`, ...args], {
    mounts: { "/var/lib/coroot-cluster-agent": dataDir },
    url: `http://127.0.0.1:${port}`,
  });
}

test("the store's image starts the embedded engine, takes an upload and shows it", async (t) => {
  const cluster = await startCluster(images["coroot-cluster-agent-store"], []);
  t.after(() => cluster.stop());
  await cluster.ready("/readyz");
  const endMs = Date.now();
  const stacks = [{ frames: ["leaf_of_image", "main"], value: 2000000000 }];
  const answer = await upload(cluster, "/in/image", encode({ stacks, endMs }));
  assert.strictEqual(answer.status, 200, answer.text);
  const range = { from: endMs - 60000, to: endMs + 60000 };
  const graph = await flame(cluster, { service: "/in/image", ...range });
  assert.strictEqual(graph.find("leaf_of_image")[0]?.total, 2000000000);
  assert.deepStrictEqual(await cluster.stop(), { code: 0, signal: null }, cluster.log());
});

test("the image without the engine says so when it is to store", async () => {
  const cluster = await startCluster(images["coroot-cluster-agent"], ["--storage=embedded"]);
  const { code } = await cluster.exited;
  assert.notStrictEqual(code, 0);
  assert.match(cluster.log(), /libchdb\.so not found in /);
});
