// A tree small enough to check by hand:
//
//   total 100
//   ├─ a 60 (self 10)
//   │  ├─ b 30 (self 5)
//   │  │  └─ a 25 (self 25)      recursion
//   │  └─ c 20 (self 20)
//   └─ d 40 (self 39.8)
//      ├─ e 0.1  ├─ f 0.1        narrow ones

import { buildTree, type Tree } from "../../../cluster-agent/web/src/model/tree";

export const columns = {
  names: ["total", "a", "b", "c", "d", "e", "f"],
  files: ["", "[lib]", "[kernel]"],
  nodes: {
    name: [0, 1, 2, 1, 3, 4, 5, 6],
    file: [0, 0, 1, 1, 2, 0, 1, 1],
    depth: [0, 1, 2, 3, 2, 1, 2, 2],
    total: [100, 60, 30, 25, 20, 40, 0.1, 0.1],
    self: [0, 10, 5, 25, 20, 39.8, 0.1, 0.1],
  },
};

export const smallTree = (): Tree => buildTree(columns);
