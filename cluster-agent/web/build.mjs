// Builds the page, and turns it into C.
//   node build.mjs page DEPS OUT            bundle into OUT: index.html, app-HASH.js,
//                                           app-HASH.css, icon-HASH.png, and docs/ as pages
//   node build.mjs embed DIST FILE.c        write the files of DIST to FILE.c, compressed, as an
//                                           array of struct web_asset
//   node build.mjs file DEPS FILE.c         the flame graph as one file, compressed, as the array
//                                           that node-agent/record/record_page.h declares
//   node build.mjs test DEPS OUT FILE...    bundle unit tests for "node --test"
//   node build.mjs tsconfig DEPS FILE       write a tsconfig.json that finds its packages in DEPS

import { createHash } from "node:crypto";
import * as fs from "node:fs";
import { createRequire } from "node:module";
import * as path from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { renderDocs } from "./docs.mjs";

const here = path.dirname(fileURLToPath(import.meta.url));
const MAX_SCRIPT = 130 * 1024; // gzipped; the page must be quick over a port-forward
const MAX_FILE = 48 * 1024; // gzipped; it is part of the node-agent and of each recording

const digest = (data) => createHash("sha256").update(data).digest("hex");
const esbuildOf = (deps) => createRequire(path.resolve(deps, "package.json"))("esbuild");

/** Which labels name a release, as the sums of days have it. */
function versionLabels() {
  const header = fs.readFileSync(path.join(here, "../sums/version_labels.h"), "utf8");
  return `[${/#define VERSION_LABELS (.*)/.exec(header)[1]}]`;
}

const common = (deps) => ({
  define: { VERSION_LABELS: versionLabels() },
  bundle: true,
  nodePaths: [path.resolve(deps, "node_modules")],
  jsx: "automatic",
  jsxImportSource: "preact",
  logLevel: "warning",
});

function writeDocs(deps, out) {
  const css = fs.readFileSync(path.join(here, "docs.css"));
  const name = `assets/docs-${digest(css).slice(0, 8)}.css`;
  fs.writeFileSync(path.join(out, name), css);
  fs.mkdirSync(path.join(out, "docs"));
  for (const d of renderDocs(deps, path.join(here, "../../docs"), name))
    fs.writeFileSync(path.join(out, "docs", `${d.name}.html`), d.html);
}

/**
 * The page, with what is alike side by side in the script: gzip finds repetitions within 32 KB
 * only, and that is a hundredth of the script.
 */
function entry() {
  const pure = ["model", "state"].flatMap((folder) =>
    fs.readdirSync(path.join(here, "src", folder)).map((file) => `./src/${folder}/${file}`),
  );
  const modules = ["uplot", ...pure.sort(), "./src/page/main.tsx"];
  return { contents: modules.map((m) => `import "${m}";`).join("\n"), resolveDir: here };
}

/** uPlot without what it exports beside the chart: the page draws lines, no bars and no splines. */
const plainChart = {
  name: "plain-chart",
  setup: (build) =>
    build.onLoad({ filter: /uPlot\.esm\.js$/ }, ({ path: file }) => {
      const text = fs.readFileSync(file, "utf8");
      const end = text.indexOf("\nuPlot.assign = assign;");
      if (end < 0) throw new Error(`${file}: where its exports begin is not known`);
      const own = "uPlot.pxRatio = pxRatio;\nuPlot.tzDate = tzDate;\nexport { uPlot as default };";
      return { contents: `${text.slice(0, end)}\n${own}\n` };
    }),
};

async function page(deps, out) {
  const result = await esbuildOf(deps).build({
    ...common(deps),
    plugins: [plainChart],
    stdin: entry(),
    outfile: path.join(out, "app.js"),
    format: "esm",
    target: ["es2020"],
    minify: true,
    legalComments: "none",
    metafile: true,
    write: false,
  });
  fs.rmSync(out, { recursive: true, force: true });
  fs.mkdirSync(path.join(out, "assets"), { recursive: true });
  const names = {};
  const put = (name, data) => {
    fs.writeFileSync(path.join(out, "assets", name), data);
    names[path.extname(name)] = `assets/${name}`;
  };
  // esbuild's own hash depends on where its input is
  const putHashed = (file, data) => {
    const { name, ext } = path.parse(file);
    put(`${name}-${digest(data).slice(0, 8)}${ext}`, data);
  };
  for (const f of result.outputFiles) putHashed(f.path, f.contents);
  // no SVG: Chromium draws the icon again, as a document of its own, each time the address changes
  putHashed("icon.png", fs.readFileSync(path.join(here, "icon.png")));
  const html = fs
    .readFileSync(path.join(here, "index.html"), "utf8")
    .replace("__JS__", names[".js"])
    .replace("__CSS__", names[".css"])
    .replace("__ICON__", names[".png"]);
  fs.writeFileSync(path.join(out, "index.html"), html);
  writeDocs(deps, out);
  const size = gzipSync(fs.readFileSync(path.join(out, names[".js"])), { level: 9 }).length;
  if (size > MAX_SCRIPT)
    throw new Error(`the script has ${size} bytes compressed, more than ${MAX_SCRIPT}`);
}

const types = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".png": "image/png",
};

/** Lines of the elements of an array in C. */
function bytesOf(data) {
  const lines = [];
  for (let k = 0; k < data.length; k += 24)
    lines.push(`${[...data.subarray(k, k + 24)].join(",")},`);
  return lines;
}

function embed(dist, file) {
  const found = ["assets", "docs"].flatMap((folder) =>
    fs
      .readdirSync(path.join(dist, folder))
      .sort()
      .map((name) => `/${folder}/${name}`),
  );
  const list = ["/index.html", ...found].map((name) => {
    const raw = fs.readFileSync(path.join(dist, name));
    const data = gzipSync(raw, { level: 9 });
    data[9] = 255; // "made on": unknown, so that the output does not depend on the machine
    return {
      url: name === "/index.html" ? "/" : name,
      type: types[path.extname(name)],
      etag: digest(raw).slice(0, 16),
      data,
    };
  });
  const lines = ['#include "cluster-agent/web/web_assets.h"', ""];
  list.forEach((a, i) => {
    lines.push(`static const unsigned char data_${i}[] = {`);
    lines.push(...bytesOf(a.data), "};");
  });
  lines.push("const struct web_asset web_assets[] = {");
  list.forEach((a, i) =>
    lines.push(
      `\t{ .path = "${a.url}", .content_type = "${a.type}", .etag = "\\"${a.etag}\\"", ` +
        `.gzip = data_${i}, .len = sizeof(data_${i}), ` +
        `.immutable = ${a.url.startsWith("/assets/")} },`,
    ),
  );
  lines.push("};", "const size_t n_web_assets = sizeof(web_assets) / sizeof(web_assets[0]);", "");
  fs.writeFileSync(file, lines.join("\n"));
}

/** A file without requests: styles and script are in it, each allowed by its hash. */
async function file(deps, out) {
  const result = await esbuildOf(deps).build({
    ...common(deps),
    entryPoints: { recording: path.join(here, "src/file/recording.tsx") },
    outdir: path.dirname(out),
    format: "iife",
    target: ["es2020"],
    minify: true,
    legalComments: "none",
    write: false,
  });
  const textOf = (ext) => result.outputFiles.find((f) => f.path.endsWith(ext)).text.trim();
  const hashOf = (text) => createHash("sha256").update(text).digest("base64");
  const js = textOf(".js").replaceAll("</script", "<\\/script");
  const css = textOf(".css");
  const parts = { JS_HASH: hashOf(js), CSS_HASH: hashOf(css), JS: js, CSS: css };
  const html = fs
    .readFileSync(path.join(here, "file.html"), "utf8")
    .replace(/__(JS_HASH|CSS_HASH|JS|CSS)__/g, (_, name) => parts[name]);
  const data = gzipSync(html, { level: 9 });
  data[9] = 255;
  if (data.length > MAX_FILE)
    throw new Error(`the file has ${data.length} bytes compressed, more than ${MAX_FILE}`);
  const lines = ['#include "node-agent/record/record_page.h"', ""];
  lines.push("const unsigned char record_page_gzip[] = {", ...bytesOf(data), "};");
  lines.push("const size_t record_page_len = sizeof(record_page_gzip);", "");
  fs.writeFileSync(out, lines.join("\n"));
}

async function test(deps, out, files) {
  fs.rmSync(out, { recursive: true, force: true });
  await esbuildOf(deps).build({
    ...common(deps),
    entryPoints: files,
    outdir: out,
    outExtension: { ".js": ".mjs" },
    platform: "node",
    target: ["node18"],
    format: "esm",
    sourcemap: "inline",
  });
}

function tsconfig(deps, file) {
  const modules = path.resolve(deps, "node_modules");
  const config = {
    extends: path.join(here, "tsconfig.json"),
    compilerOptions: {
      paths: {
        "preact/jsx-runtime": [`${modules}/preact/jsx-runtime/src/index.d.ts`],
        "preact/hooks": [`${modules}/preact/hooks/src/index.d.ts`],
        preact: [`${modules}/preact/src/index.d.ts`],
        "*": [`${modules}/*`],
      },
      typeRoots: [`${modules}/@types`],
    },
    include: [path.join(here, "src"), path.join(here, "../../test/page/unit")],
  };
  fs.writeFileSync(file, JSON.stringify(config));
}

const [what, ...args] = process.argv.slice(2);
const commands = {
  page,
  embed,
  file,
  test: (deps, out, ...files) => test(deps, out, files),
  tsconfig,
};
if (!commands[what]) throw new Error(`no such command: ${what}`);
await commands[what](...args);
