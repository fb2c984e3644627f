import assert from "node:assert/strict";
import { test } from "node:test";
import { groupColumns, groupOf } from "../../../cluster-agent/web/src/model/groups";
import { tableText } from "../../../cluster-agent/web/src/model/table_text";
import { buildTree } from "../../../cluster-agent/web/src/model/tree";
import type { GroupBy } from "../../../cluster-agent/web/src/model/url_state";

// total 10
//   main.run 10
//     json.Encode 7
//       main.field 4
//         json.text 3
//     copy (kernel) 2
const tree = buildTree({
  names: ["total", "main.run", "json.Encode", "main.field", "json.text", "copy"],
  files: ["", "/app/main.go", "/go/json/encode.go", "[kernel]"],
  nodes: {
    name: [0, 1, 2, 3, 4, 5],
    file: [0, 1, 2, 1, 2, 3],
    depth: [0, 1, 2, 3, 4, 2],
    total: [10, 10, 7, 4, 3, 2],
    self: [0, 1, 3, 1, 3, 2],
  },
});

const figures = (by: GroupBy): Record<string, [number, number]> => {
  const g = groupColumns(tree, by);
  return Object.fromEntries(g.name.map((n, i) => [g.names[n], [g.self[i], g.total[i]]]));
};

test("own values add up, and a stack counts once for the total of a group", () => {
  assert.deepEqual(figures("package"), { main: [2, 10], json: [6, 7], "[kernel]": [2, 2] });
  assert.deepEqual(figures("file"), {
    "/app/main.go": [2, 10],
    "/go/json/encode.go": [6, 7],
    "[kernel]": [2, 2],
  });
});

test("the group of a function is the one that it is listed in", () => {
  for (const by of ["package", "file"] as const) {
    const g = groupColumns(tree, by);
    for (let fn = 1; fn < tree.fns.n; fn++) {
      const [name, file] = [tree.names[tree.fns.name[fn]], tree.files[tree.fns.file[fn]]];
      assert.ok(g.names.includes(groupOf(by, name, file)), name);
    }
  }
});

test("a table as text: numbers in full, and names that no spreadsheet takes for a formula", () => {
  const listed = {
    names: ["=cmd|' /C calc'!A0", "a\tb\nc"],
    files: ["", "x.c"],
    functions: { name: [0, 1], file: [0, 1], self: [1, 2.5], total: [4, 2.5] },
    unit: "bytes",
    total: 10,
  };
  const [head, ...rows] = tableText(listed, [1, 0], "Function").split("\n");
  assert.equal(head, "Function\tFile\tSelf (bytes)\tSelf %\tTotal (bytes)\tTotal %");
  assert.deepEqual(rows, [
    "a b c\tx.c\t2.5\t25\t2.5\t25",
    "'=cmd|' /C calc'!A0\t\t1\t10\t4\t40",
    "",
  ]);
});
