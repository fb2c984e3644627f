// What "make release" makes of the images that were built, in a version that exists nowhere: the
// files, the same twice; charts in a registry; packages in a fresh Debian.
"use strict";

const assert = require("node:assert");
const { execFileSync, spawnSync } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const { test } = require("node:test");
const { Daemon, freePort, root, scratch } = require("../e2e/lib/daemon");
const { eventually } = require("../e2e/lib/wait");

const directory = process.env.IMAGE_DIR || "build/images";
const changelog = path.join(scratch("changelog"), "CHANGELOG.md");
fs.mkdirSync(path.dirname(changelog), { recursive: true });
fs.writeFileSync(
  changelog,
  "# Changes\n\n## Next\n\nnot yet\n\n## v1.2.4-rc.1\n\nsoon\n\n## v1.2.3 (a day)\n\nIt is here.\n",
);
const environment = (version, archs) => ({
  ...process.env,
  VERSION: version,
  SOURCE_DATE_EPOCH: "1700000000",
  IMAGE_DIRS: archs.map((a) => (a === "amd64" ? directory : `${directory}/${a}`)).join(" "),
  CHANGELOG: changelog,
  RELEASE_DIRTY: "1",
  NO_ENGINE: "1",
  DEB_LEVEL: "0",
});
const makeFiles = (folder, version, archs) =>
  execFileSync("charts/release/make-files.sh", [folder], {
    cwd: root,
    env: environment(version, archs),
    stdio: ["ignore", "ignore", "inherit"],
  });
const text = (command, args) => execFileSync(command, args, { encoding: "utf8" });

test("a release needs a version and a section of the changelog", () => {
  const check = (version) =>
    spawnSync("charts/release/check-version.sh", [version], {
      cwd: root,
      env: environment(version, []),
      encoding: "utf8",
    });
  assert.match(check("main").stderr, /"main" is no version/);
  assert.match(check("v1.2").stderr, /is no version/);
  assert.match(check("v1.2.5").stderr, /CHANGELOG\.md has no section "## v1\.2\.5"/);
  for (const version of ["v1.2.3", "1.2.3"])
    assert.strictEqual(check(version).stdout.trim(), "It is here.");
});

test("the files of a release, the same twice", () => {
  const [a, b] = [scratch("release"), scratch("release")];
  makeFiles(a, "v1.2.3", ["amd64", "arm64"]);
  makeFiles(b, "v1.2.3", ["amd64", "arm64"]);
  const sums = fs.readFileSync(path.join(a, "SHA256SUMS"), "utf8");
  assert.strictEqual(fs.readFileSync(path.join(b, "SHA256SUMS"), "utf8"), sums);
  execFileSync("sha256sum", ["-c", "--quiet", "SHA256SUMS"], { cwd: a });
  const expected = ["SHA256SUMS", "artifacthub-repo.yml", "release-notes.txt"];
  for (const name of ["coroot-node-agent", "coroot-cluster-agent"]) {
    for (const arch of ["amd64", "arm64"]) {
      const base = `${name}-v1.2.3-linux-${arch}`;
      const deb = `${name}_1.2.3_${arch}.deb`;
      expected.push(`${base}.tar.gz`, `${base}.spdx.json`, deb);
      const inside = text("tar", ["-tzf", path.join(a, `${base}.tar.gz`)]).split("\n");
      assert.ok(inside.includes(`${base}/bin/${name}`));
      assert.ok(inside.includes(`${base}/lib/systemd/system/${name}.service`));
      const sbom = JSON.parse(fs.readFileSync(path.join(a, `${base}.spdx.json`)));
      assert.strictEqual(sbom.spdxVersion, "SPDX-2.3");
      assert.ok(sbom.packages.some((p) => p.name === "libcurl4"));
      const field = (f) => text("dpkg-deb", ["-f", path.join(a, deb), f]).trim();
      assert.strictEqual(field("Architecture"), arch);
      assert.strictEqual(field("Version"), "1.2.3");
      assert.match(field("Depends"), /(^|, )libc6 \(>= 2\.36\)(,|$)/);
      assert.match(field("Depends"), /(^|, )libcurl4(,|$)/);
    }
  }
  assert.deepStrictEqual(fs.readdirSync(a).sort(), expected.sort());
});

test("charts go to a registry, with its name as their default", async (t) => {
  const registry = new Daemon(path.join(root, directory, "registry"), []);
  t.after(() => registry.stop("SIGKILL"));
  const address = await eventually("the registry's address", () => registry.log().trim());
  const folder = scratch("charts");
  const make = ["-s", "charts", `CHART_DIR=${folder}`, "VERSION=v1.2.3"];
  execFileSync("make", [...make, `IMAGE_REGISTRY=${address}/coroot`], { cwd: root });
  const go = text(path.join(root, "test/setup/go.sh"), []).trim();
  const tools = text(path.join(root, "test/kubernetes/build.sh"), [go]).trim();
  const env = { ...process.env, HELM: path.join(tools, "helm"), HELM_PUSH_FLAGS: "--plain-http" };
  const pushed = execFileSync(
    path.join(root, "charts/release/push-charts.sh"),
    [folder, `oci://${address}/coroot/charts`],
    { env, encoding: "utf8" },
  );
  for (const chart of ["coroot-operator", "coroot-ce", "profiling"]) {
    assert.match(pushed, new RegExp(`/coroot/charts/${chart}:1\\.2\\.3$`, "m"));
    const of = `oci://${address}/coroot/charts/${chart}`;
    const values = execFileSync(
      env.HELM,
      ["show", "values", of, "--version", "1.2.3", "--plain-http"],
      { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] },
    );
    assert.match(values, new RegExp(`^ *registry: "${address}/coroot"$`, "m"));
  }
});

test("packages in a fresh Debian: install, upgrade, remove, purge", async () => {
  const shared = path.join(process.env.DEPS, "release-test");
  fs.rmSync(shared, { recursive: true, force: true });
  try {
    makeFiles(path.join(shared, "old"), "v1.2.3", ["amd64"]);
    makeFiles(path.join(shared, "new"), "v1.2.4-rc.1", ["amd64"]);
    fs.copyFileSync(path.join(root, "test/images/deb_life.sh"), path.join(shared, "life.sh"));
    const inside = "/root/.cache/coroot-agents/release-test";
    const said = execFileSync(
      path.join(root, "test/setup/debian-tree.sh"),
      [
        ...["--cached", "release", "bash", `${inside}/life.sh`],
        ...[`${inside}/old`, `${inside}/new`, String(await freePort())],
      ],
      { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] },
    );
    assert.match(said, /^deb: all as it should be$/m);
  } finally {
    fs.rmSync(shared, { recursive: true, force: true });
  }
});
