// lint-cleanup.mjs FILE...: a variable with a destructor (CLEANUP and the like) that has no value
// when it is declared must not be left before it is mentioned: its destructor would run on what the
// stack held. Release builds hide that, because the compiler zeroes variables there.
import fs from "node:fs";

const declared =
  /\n\t(?:CLEANUP\(\w+\)|AUTO_FREE|AUTO_CLOSE)\s+(?:const )?(?:struct )?\w+ \*?(\w+);\n/g;
let bad = 0;
for (const file of process.argv.slice(2)) {
  const text = fs.readFileSync(file, "utf8");
  for (const m of text.matchAll(declared)) {
    const from = m.index + m[0].length;
    const body = text.slice(from, text.indexOf("\n}\n", from));
    const left = body.search(/\breturn\b/);
    const mentioned = body.search(new RegExp(`\\b${m[1]}\\b`));
    if (left < 0 || (mentioned >= 0 && mentioned < left)) continue;
    const line = text.slice(0, m.index).split("\n").length + 1;
    console.log(`${file}:${line}: ${m[1]} is destroyed by a return before it has a value`);
    bad++;
  }
}
process.exit(bad > 0 ? 1 : 0);
