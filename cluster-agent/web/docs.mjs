// The documents of docs/ as pages of the cluster agent, so that the page's links lead to the text
// of the version that runs, also where nothing reaches the internet.

import * as fs from "node:fs";
import { createRequire } from "node:module";
import * as path from "node:path";

const escaped = (s) => s.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/"/g, "&quot;");

/** The anchor that forges make of a heading: links in the documents are written for it. */
const anchorOf = (text) =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replace(/\s/g, "-");

/** Counts equal headings of a page, as the forges do: "limits", "limits-1". */
function anchors() {
  const seen = new Map();
  return (text) => {
    const anchor = anchorOf(text);
    const n = seen.get(anchor) ?? 0;
    seen.set(anchor, n + 1);
    return n === 0 ? anchor : `${anchor}-${n}`;
  };
}

/** Where a link of a document leads to here; null if that is not served. */
function targetOf(href, known) {
  if (/^https?:/.test(href) || href.startsWith("#")) return href;
  const m = /^([a-z-]+|README)\.md(#.*)?$/.exec(href);
  return m && known.has(m[1]) ? `${m[1]}.html${m[2] ?? ""}` : null;
}

function rendererOf(known, anchor, said) {
  return {
    heading({ tokens, depth, text }) {
      if (depth === 1) said.title ??= text;
      const id = anchor(text);
      return `<h${depth} id="${escaped(id)}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
    },
    link({ href, tokens }) {
      const text = this.parser.parseInline(tokens);
      const target = targetOf(href, known);
      if (target === null) return text;
      said.links.push(target);
      return `<a href="${escaped(target)}">${text}</a>`;
    },
    image: ({ text }) => `<i>${escaped(text)}</i>`,
    html: ({ text }) => escaped(text),
  };
}

function pageOf(title, body, css) {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(title)}</title>
<link rel="stylesheet" href="../${css}">
<nav><a href="../">Profiles</a> <a href="README.html">Documentation</a></nav>
<main>
${body}</main>
</html>
`;
}

/** Every link leads to a page, and to a heading of it. */
function checkLinks(pages) {
  for (const { name, links } of pages.values())
    for (const link of links.filter((l) => !/^https?:/.test(l))) {
      const [file, id] = link.split("#");
      const to = file === "" ? name : file.replace(/\.html$/, "");
      if (id && !pages.get(to).html.includes(`id="${escaped(id)}"`))
        throw new Error(`docs/${name}.md: no heading for the link ${link}`);
    }
}

/** Returns [{name, html}] of all documents in dir; css is the path of the style sheet. */
export function renderDocs(deps, dir, css) {
  const { Marked } = createRequire(path.resolve(deps, "package.json"))("marked");
  const names = fs
    .readdirSync(dir)
    .filter((f) => f.endsWith(".md"))
    .map((f) => f.slice(0, -3))
    .sort();
  const known = new Set(names);
  const pages = new Map();
  for (const name of names) {
    const said = { title: null, links: [] };
    const marked = new Marked({ renderer: rendererOf(known, anchors(), said) });
    const body = marked.parse(fs.readFileSync(path.join(dir, `${name}.md`), "utf8"));
    pages.set(name, { name, links: said.links, html: pageOf(said.title ?? name, body, css) });
  }
  checkLinks(pages);
  return [...pages.values()];
}
