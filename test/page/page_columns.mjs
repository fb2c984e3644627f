// Writes an answer as cluster-agent does with "format=columns" (docs/api.md): JSON, and behind it
// the columns of numbers.

const HEAD = 16;
const ALIGNED = 8;
const up = (n) => Math.ceil(n / ALIGNED) * ALIGNED;

/** The functions of nodes, each once: a node's column of names and files becomes one of numbers. */
function numbered({ name, file }) {
  const ids = new Map();
  const pairs = { name: [], file: [] };
  const fn = name.map((n, i) => {
    const key = `${n} ${file[i]}`;
    let id = ids.get(key);
    if (id === undefined) {
      ids.set(key, (id = ids.size));
      pairs.name.push(n);
      pairs.file.push(file[i]);
    }
    return id;
  });
  return { fn, pairs };
}

const integers = new Set(["name", "file", "function", "depth", "inlined"]);

export function columnsOf(answer) {
  const { name, file, ...values } = answer.nodes;
  const { fn, pairs } = numbered(answer.nodes);
  const columns = [];
  let size = 0;
  const placed = (members) =>
    Object.fromEntries(
      Object.entries(members).map(([key, list]) => {
        const type = integers.has(key) ? "i32" : "f64";
        const bytes = Buffer.from((type === "i32" ? Int32Array : Float64Array).from(list).buffer);
        const place = { at: size, type, n: list.length };
        columns.push(bytes, Buffer.alloc(up(bytes.length) - bytes.length));
        size += up(bytes.length);
        return [key, place];
      }),
    );
  const json = Buffer.from(
    JSON.stringify({
      ...answer,
      nodes: placed({ function: fn, ...values }),
      pairs: placed(pairs),
      functions: placed(answer.functions),
    }),
  );
  const head = Buffer.alloc(HEAD);
  head.write("columns1", "latin1");
  head.writeUInt32LE(json.length, 8);
  const gap = Buffer.alloc(up(HEAD + json.length) - HEAD - json.length, " ");
  return Buffer.concat([head, json, gap, ...columns]);
}
