// lint-functions.mjs DEPS FILE...: functions of TypeScript have at most 70 lines, as those in C.
// DEPS: folder with the page's packages. What lies inside a function counts as lines of it.

import * as fs from "node:fs";
import { createRequire } from "node:module";
import * as path from "node:path";

const MAX = 70;
const [deps, ...files] = process.argv.slice(2);
const ts = createRequire(path.resolve(deps, "package.json"))("typescript");

const nameOf = (node) => node.name?.getText() ?? node.parent?.name?.getText() ?? "a function";

function check(file) {
  const kind = file.endsWith(".tsx") ? ts.ScriptKind.TSX : ts.ScriptKind.TS;
  const text = fs.readFileSync(file, "utf8");
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true, kind);
  const line = (at) => source.getLineAndCharacterOfPosition(at).line + 1;
  const found = [];
  const visit = (node) => {
    if (ts.isFunctionLike(node) && node.body) {
      const first = line(node.getStart());
      const lines = line(node.end) - first + 1;
      if (lines > MAX) found.push(`${file}:${first}: ${nameOf(node)}() has ${lines} lines`);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

const found = files.flatMap(check);
for (const message of found) console.log(message);
process.exitCode = found.length > 0 ? 1 : 0;
