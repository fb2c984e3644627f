// chart_manifests.js FOLDER: writes the manifests of charts/manifests that are made of the charts,
// for those who do not use Helm. What only Helm needs is taken out.
"use strict";

const { execFileSync } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const YAML = require("../e2e/lib/yaml.js");

const CHARTS = path.join(__dirname, "../../charts");

// A registry that cannot exist: kustomization.yaml says how to replace it.
const REGISTRY = "registry.invalid";

const MANIFESTS = [
  {
    file: "operator/coroot-operator.yaml",
    chart: "coroot-operator",
    // the sample is in a namespace of its own
    args: ["--set=crds.install=false,rbac.denyGlobalSecrets=false"],
  },
  {
    file: "sample/coroot.yaml",
    chart: "coroot-ce",
    release: "coroot",
    namespace: "coroot",
    args: [],
  },
  {
    file: "profiling/profiling.yaml",
    chart: "profiling",
    args: ["--set=keys.existingSecret=profiling-keys"],
  },
];

const OF_HELM = /^(helm\.sh\/|app\.kubernetes\.io\/managed-by$)/;

function withoutHelm(meta) {
  for (const part of ["labels", "annotations"]) {
    for (const name of Object.keys(meta[part] || {}))
      if (OF_HELM.test(name)) delete meta[part][name];
    if (meta[part] && Object.keys(meta[part]).length === 0) delete meta[part];
  }
}

function render({ chart, release = chart, namespace = chart, args }) {
  const text = execFileSync(
    process.env.HELM,
    [
      ...["template", release, path.join(CHARTS, chart)],
      ...["--skip-tests", `--namespace=${namespace}`],
      ...(chart === "coroot-ce" ? [] : [`--set=image.registry=${REGISTRY}`]),
      ...args,
    ],
    { encoding: "utf8", maxBuffer: 1 << 26 },
  );
  const objects = YAML.parseAllDocuments(text)
    .map((d) => d.toJS())
    .filter((o) => o);
  for (const object of objects) withoutHelm(object.metadata);
  return objects.map((o) => YAML.stringify(o, { lineWidth: 0 })).join("---\n");
}

const [folder] = process.argv.slice(2);
for (const manifest of MANIFESTS) {
  const file = path.join(folder, manifest.file);
  fs.mkdirSync(path.dirname(file), { recursive: true });
  const head = `# Made of charts/${manifest.chart} by "make manifests".\n`;
  fs.writeFileSync(file, head + render(manifest));
}
